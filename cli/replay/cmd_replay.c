/* paucis replay: reads the options, hands sessions to threads, and reports. Threads take sessions
 * in order and put what they found in its place, so the report does not depend on their number. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/replay.h"

enum { MAX_THREADS = 256 };

struct work {
    struct results *r;
    struct feed feed;
    uint64_t min_messages, max;
    bool progress, failed, quiet;
    size_t taken;
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
}

/* True if a row came of it. */
static bool one_session(struct work *w, char *line, size_t len, const char *name, uint64_t number,
                        paucis_ctx *ctx, struct jdoc *doc, struct trace_row *row) {
    struct trace t;
    const char *why = "";
    bool ok = trace_load(&t, line, len, ctx, doc, &why);
    bool enough = ok && t.nmsgs >= w->min_messages;
    if (!ok && !w->quiet) complain("'%s' line %llu: %s", name, (unsigned long long)number, why);
    if (enough) run_policies(w->r, &t, doc, ctx, row);
    trace_free(&t);
    pthread_mutex_lock(&w->lock);
    w->r->bad += !ok;
    w->r->too_short += ok && !enough;
    pthread_mutex_unlock(&w->lock);
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
    return NULL;
}

static int by_order(const void *a, const void *b) {
    size_t x = ((const struct trace_row *)a)->order, y = ((const struct trace_row *)b)->order;
    return x < y ? -1 : x > y;
}

static void free_row(struct trace_row *row) {
    free(row->id);
    free(row->agent);
    free(row->figures);
    free(row->ran);
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
    while (w->r->nrows > w->max) free_row(&w->r->rows[--w->r->nrows]);
    return !w->failed;
}

/* ---- options -------------------------------------------------------------------------------- */

static bool read_prices(struct results *r, const struct args *a, size_t *cap) {
    for (size_t i = 0; i < a->ngiven; i++) {
        if (a->given[i].flag != FLAG_PRICE) continue;
        for (const char *p = a->given[i].value; *p;) {
            char name[128];
            const paucis_price *row;
            static paucis_price from_file;
            size_t n = strcspn(p, ",");
            snprintf(name, sizeof name, "%.*s", (int)(n < 127 ? n : 127), p);
            if (!price_find(name, &row, &from_file)) return false;
            *PUSH(r->prices, r->nprices, *cap) = row;
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
    w->quiet = a->count[FLAG_QUIET] > 0;
    w->progress = !w->quiet && isatty(STDERR_FILENO);
    w->feed.files = a->operands;
    w->feed.nfiles = a->noperands;
    return true;
}

int cmd_replay(const struct args *a) {
    struct results r = {0};
    struct work w = {.r = &r};
    struct buf b = {0};
    unsigned jobs = 1;
    int code = EXIT_USAGE;
    if (read_options(&w, a, &jobs) && run_all(&w, jobs)) {
        if (a->count[FLAG_JSON])
            report_json(&b, &r);
        else
            report_table(&b, &r, a->count[FLAG_VERBOSE] > 0);
        code = output_text(a, &b);
    }
    while (r.nrows > 0) free_row(&r.rows[--r.nrows]);
    free(r.rows);
    free((void *)r.prices);
    policies_free(r.policies, r.npolicies);
    return code;
}
