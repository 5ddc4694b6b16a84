/* paucis bench: how fast this build is on this machine, on the user's own bodies or a made-up one.
 * One thread; a row is run again and again for a while, and the best time counts. */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, LEAST_MS = 400, STEPS = 300, LINES = 40 };

struct body {
    const char *at;
    size_t len;
};

struct bodies {
    struct buf text;
    struct body *at;
    size_t count, bytes;
};

/* ---- what is measured on -------------------------------------------------------------------- */

/* An agent that reads files, about a megabyte. */
static void make_up(struct buf *b) {
    buf_str(b,
            "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1000,\"messages\":["
            "{\"role\":\"user\",\"content\":\"Find the fault and mend it.\"}");
    for (unsigned i = 0; i < STEPS; i++) {
        buf_fmt(b,
                ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"call_%u\","
                "\"name\":\"Read\",\"input\":{\"file_path\":\"src/module_%u.py\"}}]},{\"role\":"
                "\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"call_%u\","
                "\"content\":\"",
                i, i % 50, i);
        for (unsigned k = 0; k < LINES; k++)
            buf_fmt(b, "%6u\\u2192    %s = compute_%u(%s, limit=%u)\\n", k + 1,
                    k % 3 ? "result" : "self.total", (i * 7 + k * k) % 900,
                    k % 2 ? "request.headers" : "options", i * k);
        buf_str(b, "\"}]}");
    }
    buf_str(b, "]}");
}

/* The whole file if that is a body, else its lines. */
static bool split(struct bodies *b) {
    paucis_ctx *ctx = NULL;
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    o.policy = "none";
    const char *out, *end = b->text.data + b->text.len;
    size_t n, lines = 1;
    if (paucis_ctx_new(&ctx, NULL)) return false;
    bool one = !paucis_compact(ctx, b->text.data, b->text.len, &o, &out, &n, NULL, NULL);
    paucis_ctx_free(ctx);
    for (const char *p = b->text.data; p < end; p++) lines += *p == '\n';
    b->at = malloc(lines * sizeof *b->at);
    if (!b->at) return false;
    for (const char *p = b->text.data, *to; p < end; p = to + 1) {
        to = one ? NULL : memchr(p, '\n', (size_t)(end - p));
        if (!to) to = end;
        if (to == p) continue;
        b->at[b->count++] = (struct body){p, (size_t)(to - p)};
        b->bytes += (size_t)(to - p);
    }
    return true;
}

/* ---- what is measured ----------------------------------------------------------------------- */

static const struct row {
    const char *name, *summary, *policy, *form;
    bool again;  /* after the same body went through the same context, which remembers it */
    bool counts; /* tokens, instead of compacting */
} rows[] = {
    {"read", "read and copied (-p none)", "none", NULL, false, false},
    {"classic", "classic strategies (-p classic)", "classic", NULL, false, false},
    {"stable", "stable policy", "stable", NULL, false, false},
    {"snippet", "stable policy with snippets", "stable", "snippet", false, false},
    {"remembered", "stable policy, next request", "stable", NULL, true, false},
    {"tokens", "exact tokens (o200k_base)", NULL, NULL, false, true},
};
enum { ROWS = sizeof rows / sizeof *rows };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static paucis_err once(const struct row *r, paucis_ctx *ctx, const paucis_opts *o,
                       const struct body *b, paucis_error *e) {
    const char *out;
    size_t n;
    paucis_counts counts = {.size = sizeof counts};
    if (r->counts) return paucis_count(ctx, b->at, b->len, o, &counts, e);
    return paucis_compact(ctx, b->at, b->len, o, &out, &n, NULL, e);
}

/* Seconds for all bodies, the best of some rounds; negative if a body is not understood. */
static double measure(const struct row *r, const struct bodies *b, const paucis_opts *o,
                      paucis_ctx *ctx, paucis_error *e) {
    double best = -1, spent = 0;
    for (int round = 0; round < ROUNDS || spent * 1000 < LEAST_MS; round++) {
        double took = 0;
        for (size_t i = 0; i < b->count; i++) {
            if (r->again && (e->code = once(r, ctx, o, &b->at[i], e))) return -1;
            double from = now();
            if ((e->code = once(r, ctx, o, &b->at[i], e))) return -1;
            took += now() - from;
        }
        spent += took;
        if (best < 0 || took < best) best = took;
    }
    return best;
}

static int report(const struct args *a, const struct bodies *b, const char *file,
                  const double seconds[ROWS]) {
    struct buf t = {0};
    bool json = a->count[FLAG_JSON] > 0;
    double size = (double)b->bytes / 1e6;
    if (json)
        buf_fmt(&t, "{\"bodies\":%zu,\"bytes\":%zu,\"rows\":[", b->count, b->bytes);
    else
        buf_fmt(&t, "%s, %zu bod%s, %.1f MB, one thread, best of at least %d rounds\n\n%-36s%8s\n",
                file ? file : "a made-up conversation", b->count, b->count == 1 ? "y" : "ies", size,
                ROUNDS, "", "MB/s");
    for (size_t i = 0; i < ROWS; i++) {
        double speed = seconds[i] > 0 ? size / seconds[i] : 0;
        if (seconds[i] <= 0) continue; /* built without the vocabulary */
        if (json)
            buf_fmt(&t, "%s{\"name\":\"%s\",\"mb_per_s\":%.1f}", i ? "," : "", rows[i].name, speed);
        else
            buf_fmt(&t, "%-36s%8.0f\n", rows[i].summary, speed);
    }
    if (json) buf_str(&t, "]}\n");
    return output_text(a, &t);
}

static int bench(const struct args *a, const struct bodies *b, const char *file) {
    double seconds[ROWS];
    paucis_error e = {PAUCIS_OK, "", 0};
    for (size_t i = 0; i < ROWS; i++) {
        paucis_ctx *ctx = NULL;
        paucis_opts o;
        paucis_opts_init(&o, sizeof o);
        paucis_kv kv = {"form", rows[i].form};
        o.policy = rows[i].policy;
        o.kv = &kv;
        o.nkv = rows[i].form ? 1 : 0;
        if (rows[i].again) o.flags |= PAUCIS_REMEMBER;
        paucis_tokenizer *t = NULL;
        seconds[i] = 0;
        if (rows[i].counts && paucis_tokenizer_open(&t, "o200k_base", NULL, NULL)) continue;
        o.tokenizer = t;
        if (paucis_ctx_new(&ctx, NULL)) {
            paucis_tokenizer_free(t);
            complain("out of memory");
            return EXIT_USAGE;
        }
        seconds[i] = measure(&rows[i], b, &o, ctx, &e);
        paucis_ctx_free(ctx);
        paucis_tokenizer_free(t);
        if (seconds[i] < 0) return complain_body(file, &e);
    }
    return report(a, b, file, seconds);
}

int cmd_bench(const struct args *a) {
    struct bodies b = {0};
    if (a->noperands > 1) return usage_error("too many operands: '%s'", a->operands[1]);
    const char *file = a->noperands ? a->operands[0] : NULL;
    int code = EXIT_USAGE;
    bool ready = !file || input_file(file, &b.text);
    if (!file) make_up(&b.text);
    if (ready && (b.text.failed || !split(&b)))
        complain("out of memory");
    else if (ready && !b.count)
        code = usage_error("nothing in '%s'", file);
    else if (ready)
        code = bench(a, &b, file);
    buf_free(&b.text);
    free(b.at);
    return code;
}
