/* paucis compact: one body, or with --jsonl one a line. Nothing is written before a body was
 * understood, so on an error stdout stays empty. */
#include "keep.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { MAX_JOBS = 256 };

static void say_sizes(uint64_t in, uint64_t out) {
    complain("%" PRIu64 " bytes in, %" PRIu64 " bytes out", in, out);
}

static int compact_body(const struct args *a, struct settings *s, const char *name,
                        const struct buf *body) {
    paucis_ctx *ctx = NULL;
    paucis_stats st = {.size = sizeof st};
    paucis_error e = {PAUCIS_OK, "", 0};
    struct tally tallies[TALLIES] = {0};
    struct buf json = {0};
    struct keep keep = {.store = s->store, .conv = s->conv};
    char why[STORE_WHY] = "";
    const char *out = NULL;
    size_t outn = 0;
    if (s->verbose) {
        s->opts.log = tally_log;
        s->opts.log_ud = tallies;
    }
    e.code = paucis_ctx_new(&ctx, NULL);
    if (e.code == PAUCIS_OK && s->keeps)
        e.code =
            keep_compact(&keep, ctx, body->data, body->len, &s->opts, &out, &outn, &st, &e, why);
    else if (e.code == PAUCIS_OK)
        e.code = paucis_compact(ctx, body->data, body->len, &s->opts, &out, &outn, &st, &e);
    if (*why && s->store) complain(KEEP_FAILED, why); /* else it was said already */
    int code = e.code == PAUCIS_OK ? EXIT_DONE : complain_body(name, &e);
    if (s->stats) { /* first: if they cannot be written, stdout stays empty */
        stats_json(&json, s, &st, e.code == PAUCIS_OK ? NULL : &e, 0);
        if (!stats_write(a, &json)) code = EXIT_USAGE;
    }
    struct output o;
    if (code == EXIT_DONE) {
        bool ok = output_open(&o, a->value[FLAG_OUTPUT], STDOUT_FILENO);
        if (ok) {
            output_write(&o, out, outn);
            ok = output_commit(&o);
        }
        code = !ok                                  ? EXIT_USAGE
               : *why                               ? EXIT_STORE
               : s->strict_budget && !st.budget_met ? EXIT_BUDGET
                                                    : EXIT_DONE;
    }
    if (s->verbose && e.code == PAUCIS_OK) {
        tally_print(tallies);
        say_sizes(st.bytes_in, st.bytes_out);
    }
    paucis_ctx_free(ctx);
    keep_free(&keep);
    return code;
}

static int compact_lines(const struct args *a, const struct settings *s, const char *file,
                         unsigned jobs) {
    struct input in;
    struct output out, stats;
    struct batch_result r = {0};
    if (!input_open(&in, file)) return EXIT_USAGE;
    bool ok = output_open(&out, a->value[FLAG_OUTPUT], STDOUT_FILENO);
    if (ok && !output_open(&stats, a->value[FLAG_STATS], STDERR_FILENO)) {
        output_abort(&out);
        ok = false;
    }
    if (!ok) {
        input_close(&in);
        return EXIT_USAGE;
    }
    bool progress = a->count[FLAG_QUIET] == 0 && isatty(STDERR_FILENO);
    ok = batch_run(&in, &out, s->stats ? &stats : NULL, s, jobs, progress, &r);
    ok = ok && output_commit(&out);
    ok = ok && output_commit(&stats);
    output_abort(&out);
    output_abort(&stats);
    input_close(&in);
    if (!ok) return EXIT_USAGE;
    if (s->verbose) {
        tally_print(r.tallies);
        complain("%" PRIu64 " bodies, %" PRIu64 " not understood", r.lines, r.bad);
        say_sizes(r.bytes_in, r.bytes_out);
    }
    if (r.unkept) return EXIT_STORE;
    if (r.bad && !s->keep_going) return EXIT_INPUT;
    return s->strict_budget && r.missed ? EXIT_BUDGET : EXIT_DONE;
}

static bool read_jobs(const struct args *a, unsigned *jobs) {
    const char *text = a->value[FLAG_JOBS];
    uint64_t n = 1;
    if (text && (!parse_count(text, &n) || n > MAX_JOBS)) {
        usage_error("'%s' is not a number of threads up to %d", text, MAX_JOBS);
        return false;
    }
    if (n == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        n = cores < 1 ? 1 : cores > MAX_JOBS ? MAX_JOBS : (uint64_t)cores;
    }
    *jobs = (unsigned)n;
    return true;
}

static int compact(const struct args *a, struct settings *s, const char *file, unsigned jobs) {
    struct buf body = {0};
    int code = EXIT_USAGE;
    if (a->count[FLAG_JSONL]) return compact_lines(a, s, file, jobs);
    if (a->count[FLAG_JOBS] || a->count[FLAG_KEEP_GOING])
        return usage_error("--jobs and --keep-going need --jsonl");
    if (input_file(file, &body)) code = compact_body(a, s, file ? file : "stdin", &body);
    buf_free(&body);
    return code;
}

#ifdef PAUCIS_STORE
/* A store that cannot be opened is reported here; the body then passes as it is. */
static bool open_store(const struct args *a, struct settings *s) {
    const char *url = a->value[FLAG_STORE];
    s->conv = a->value[FLAG_CONVERSATION];
    if (s->conv && (!*s->conv || strlen(s->conv) >= CONV_MAX))
        return usage_error("the conversation's name is empty or too long"), false;
    int code = keep_open(a, true, false, &s->store);
    s->keeps = url && strcmp(url, "none") != 0;
    return code != EXIT_USAGE;
}
#endif

int cmd_compact(const struct args *a) {
    struct settings s;
    const char *file;
    unsigned jobs;
    int code = EXIT_USAGE;
    bool ready = settings_read(&s, a) && read_jobs(a, &jobs) && args_file(a, &file);
#ifdef PAUCIS_STORE
    ready = ready && open_store(a, &s);
#endif
    if (ready) code = compact(a, &s, file, jobs);
#ifdef PAUCIS_STORE
    store_close(s.store);
#endif
    settings_free(&s);
    return code;
}
