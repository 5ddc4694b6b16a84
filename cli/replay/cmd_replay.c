/* paucis replay: reads the options, hands sessions to threads, and reports. Threads take sessions
 * in order and put what they found in its place, so the report does not depend on their number. */
#include "replay/replay.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 256, MAX_COMPLAINTS = 10 };

struct work {
    struct results *r;
    struct feed feed;
    uint64_t min_messages, max;
    bool progress, failed, quiet;
    size_t taken;
    bool wants_course;
    char *longest; /* the line of the session with most requests */
    size_t longest_len, longest_order, longest_turns;
    pthread_mutex_t lock;
};

/* ---- one session ---------------------------------------------------------------------------- */

static char *copy_text(struct str s) {
    char *p = heap_get(s.len + 1);
    if (s.len) memcpy(p, s.at, s.len);
    return p;
}

static void run_policies(const struct results *r, struct trace *t, struct jdoc *doc,
                         paucis_ctx *ctx, struct trace_row *row) {
    struct evidence e;
    const char *why;
    evidence_find(&e, t, doc);
    size_t n = r->npolicies * r->nprices;
    row->figures = heap_get(n * sizeof *row->figures);
    row->ran = heap_get(r->npolicies * sizeof *row->ran);
    for (size_t i = 0; i < r->npolicies; i++)
        row->ran[i] = replay_run(&r->policies[i], t, &e, r->prices, r->nprices, ctx,
                                 row->figures + i * r->nprices, NULL, &why);
    evidence_free(&e);
    row->id = copy_text(t->id);
    row->agent = copy_text(t->agent);
    row->messages = t->nmsgs;
    row->turns = t->nturns;
    row->has_billed = t->has_billed;
    row->billed = t->billed;
    row->fit = fit_trace(t);
}

/* The longest session is shown in the page; of two the one that came first. */
static void keep_longest(struct work *w, struct trace *t, size_t len, size_t order) {
    bool first = t->nturns == w->longest_turns && order < w->longest_order;
    if (t->nturns <= w->longest_turns && !first) return;
    free(w->longest);
    w->longest = t->line;
    w->longest_len = len;
    w->longest_order = order;
    w->longest_turns = t->nturns;
    t->line = NULL;
}

/* Its course under every policy, at the first price. */
static void find_course(struct work *w) {
    struct shown *s = &w->r->shown;
    struct trace t;
    struct evidence e;
    struct jdoc doc = {0};
    struct figures unused;
    paucis_ctx *ctx = NULL;
    const char *why;
    if (!w->longest || paucis_ctx_new(&ctx, NULL) != PAUCIS_OK) return;
    if (trace_load(&t, w->longest, w->longest_len, ctx, &doc, &why)) {
        evidence_find(&e, &t, &doc);
        s->turns = t.nturns;
        s->course = heap_get(w->r->npolicies * t.nturns * sizeof *s->course);
        s->ran = heap_get(w->r->npolicies * sizeof *s->ran);
        s->id = copy_text(t.id);
        for (size_t i = 0; i < w->r->npolicies; i++)
            s->ran[i] = replay_run(&w->r->policies[i], &t, &e, w->r->prices, 1, ctx, &unused,
                                   s->course + i * t.nturns, &why);
        evidence_free(&e);
    }
    trace_free(&t);
    jdoc_free(&doc);
    paucis_ctx_free(ctx);
    tokens_end();
    w->longest = NULL;
}

/* True if a row came of it. */
static bool one_session(struct work *w, char *line, size_t len, const char *name, uint64_t number,
                        paucis_ctx *ctx, struct jdoc *doc, struct trace_row *row) {
    struct trace t;
    const char *why = "";
    bool ok = trace_load(&t, line, len, ctx, doc, &why);
    bool enough = ok && t.nmsgs >= w->min_messages;
    if (enough) run_policies(w->r, &t, doc, ctx, row);
    pthread_mutex_lock(&w->lock);
    if (enough && w->wants_course) keep_longest(w, &t, len, row->order);
    if (!ok && !w->quiet && w->r->bad < MAX_COMPLAINTS)
        complain("'%s' line %llu: %s", name, (unsigned long long)number, why);
    w->r->bad += !ok;
    if (!ok && !w->quiet && w->r->bad == MAX_COMPLAINTS) complain("and more like this");
    w->r->too_short += ok && !enough;
    pthread_mutex_unlock(&w->lock);
    trace_free(&t);
    return enough;
}

/* ---- threads -------------------------------------------------------------------------------- */

static void put_row(struct work *w, const struct trace_row *row) {
    pthread_mutex_lock(&w->lock);
    *PUSH(w->r->rows, w->r->nrows, w->r->rows_cap) = *row;
    if (w->progress) fprintf(stderr, "\r%zu sessions ", w->r->nrows);
    pthread_mutex_unlock(&w->lock);
}

static void *thread(void *ud) {
    struct work *w = ud;
    struct jdoc doc = {0};
    paucis_ctx *ctx = NULL;
    if (paucis_ctx_new(&ctx, NULL) != PAUCIS_OK) exit(EXIT_USAGE);
    for (;;) {
        struct trace_row row = {0};
        char *line;
        size_t len;
        const char *name;
        uint64_t number;
        pthread_mutex_lock(&w->lock);
        bool more = !w->failed && w->r->nrows < w->max &&
                    feed_next(&w->feed, &line, &len, &name, &number, &w->failed);
        row.order = w->taken++;
        pthread_mutex_unlock(&w->lock);
        if (!more) break;
        if (one_session(w, line, len, name, number, ctx, &doc, &row)) put_row(w, &row);
    }
    jdoc_free(&doc);
    paucis_ctx_free(ctx);
    tokens_end();
    return NULL;
}

static int by_order(const void *a, const void *b) {
    size_t x = ((const struct trace_row *)a)->order, y = ((const struct trace_row *)b)->order;
    return x < y ? -1 : x > y;
}

static bool run_all(struct work *w, unsigned jobs) {
    pthread_t threads[MAX_THREADS];
    unsigned started = 0;
    pthread_mutex_init(&w->lock, NULL);
    while (started + 1 < jobs && pthread_create(&threads[started], NULL, thread, w) == 0) started++;
    thread(w);
    while (started > 0) pthread_join(threads[--started], NULL);
    pthread_mutex_destroy(&w->lock);
    feed_close(&w->feed);
    if (w->progress) fputs("\r                    \r", stderr);
    if (w->r->nrows) qsort(w->r->rows, w->r->nrows, sizeof *w->r->rows, by_order);
    for (; w->r->nrows > w->max; w->r->nrows--) row_free(&w->r->rows[w->r->nrows - 1]);
    return !w->failed;
}

/* ---- options -------------------------------------------------------------------------------- */

/* Rows of a file are the report's own; those of the table are only pointed to. */
static bool add_price(struct results *r, const char *name, size_t *cap) {
    const paucis_price *row;
    paucis_price *own = heap_get(sizeof *own);
    bool ok = price_find(name, &row, own);
    if (ok) *PUSH(r->prices, r->nprices, *cap) = row;
    if (!ok || row != own) return free(own), ok;
    own->name = copy_text(str_of(own->name));
    *PUSH(r->own_prices, r->nown_prices, r->own_prices_cap) = own;
    return true;
}

static bool read_prices(struct results *r, const struct args *a, size_t *cap) {
    for (size_t i = 0; i < a->ngiven; i++) {
        if (a->given[i].flag != FLAG_PRICE) continue;
        for (const char *p = a->given[i].value; *p;) {
            size_t n = strcspn(p, ",");
            char *name = copy_text((struct str){p, n});
            bool ok = add_price(r, name, cap);
            free(name);
            if (!ok) return false;
            p += n + (p[n] != '\0');
        }
    }
    if (r->nprices == 0) *PUSH(r->prices, r->nprices, *cap) = paucis_price_at(0);
    return true;
}

/* `none` always runs, and first: everything else is measured against it. */
static bool read_policies(struct results *r, const struct args *a, size_t *cap) {
    if (!policies_add(&r->policies, &r->npolicies, cap, "none")) return false;
    for (size_t i = 0; i < a->ngiven; i++)
        if (a->given[i].flag == FLAG_POLICY &&
            !policies_add(&r->policies, &r->npolicies, cap, a->given[i].value))
            return false;
    return a->count[FLAG_POLICY] || policies_add(&r->policies, &r->npolicies, cap, "default");
}

static bool read_number(const struct args *a, enum flag_id flag, uint64_t standard, uint64_t *out) {
    *out = standard;
    if (!a->value[flag] || parse_count(a->value[flag], out)) return true;
    usage_error("'%s' is not a number", a->value[flag]);
    return false;
}

static bool read_options(struct work *w, const struct args *a, unsigned *jobs) {
    size_t cap = 0, prices_cap = 0;
    uint64_t n;
    if (!read_prices(w->r, a, &prices_cap) || !read_policies(w->r, a, &cap) ||
        !read_number(a, FLAG_MIN_MESSAGES, 40, &w->min_messages) ||
        !read_number(a, FLAG_MAX, UINT64_MAX, &w->max) || !read_number(a, FLAG_JOBS, 0, &n))
        return false;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (n == 0) n = cores < 1 ? 1 : (uint64_t)cores;
    *jobs = n < MAX_THREADS ? (unsigned)n : MAX_THREADS;
    w->wants_course = a->count[FLAG_HTML] > 0;
    w->quiet = a->count[FLAG_QUIET] > 0;
    w->progress = !w->quiet && isatty(STDERR_FILENO);
    w->feed.files = a->operands;
    w->feed.nfiles = a->noperands;
    if (a->noperands || feed_find(&w->feed)) return true;
    usage_error("no file was named, and there are no session logs of Claude Code or Codex");
    return false;
}

static int write_page(const struct results *r, const char *file) {
    struct buf b = {0};
    struct output o;
    bool ok = output_open(&o, file, STDOUT_FILENO);
    if (ok) {
        report_html(&b, r);
        output_buf(&o, &b);
        ok = output_commit(&o);
    }
    buf_free(&b);
    return ok ? EXIT_DONE : EXIT_USAGE;
}

static int report(const struct args *a, struct work *w) {
    struct buf b = {0};
    bool more = a->count[FLAG_VERBOSE] > 0;
    const char *page = a->value[FLAG_HTML];
    results_sum(w->r);
    if (page) {
        find_course(w);
        int code = write_page(w->r, page);
        if (code != EXIT_DONE || strcmp(page, "-") == 0) return code;
    }
    if (a->count[FLAG_JSON])
        report_json(&b, w->r, more ? DETAIL_SESSIONS : DETAIL_AGENTS);
    else
        report_table(&b, w->r, more);
    int code = output_text(a, &b);
    return code == EXIT_DONE && w->r->bad && !w->r->nrows ? EXIT_INPUT : code;
}

int cmd_replay(const struct args *a) {
    struct results r = {0};
    struct work w = {.r = &r};
    unsigned jobs = 1;
    int code = EXIT_USAGE;
    const char *name = a->value[FLAG_TOKENIZER];
    paucis_tokenizer *tokenizer = NULL;
    r.tokens = name ? name : "characters/4";
    bool counts = (!name || tokenizer_find(name, &tokenizer)) && tokens_by(tokenizer);
    if (counts && read_options(&w, a, &jobs) && run_all(&w, jobs)) code = report(a, &w);
    free(w.longest);
    results_free(&r);
    tokens_free();
    paucis_tokenizer_free(tokenizer);
    return code;
}
