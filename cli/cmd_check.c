/* paucis check: the rules a body breaks, alone or compared with an earlier one. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct bodies {
    const char *in, *before, *sent; /* before and sent: NULL = not given */
    size_t in_len, before_len, sent_len;
};

struct check {
    paucis_ctx *ctx;
    const paucis_opts *opts;
    bool json;
};

static void break_json(struct buf *b, const paucis_break *k) {
    buf_str(b, "{\"rule\":");
    json_cstr(b, k->rule);
    buf_str(b, ",\"pointer\":");
    json_cstr(b, k->pointer);
    buf_fmt(b, ",\"position\":%zu,\"text\":", k->pos);
    json_cstr(b, k->text);
    buf_str(b, "}");
}

/* A pointer may hold any character of a key; a line of text must stay one line. */
static void break_text(struct buf *b, const paucis_break *k) {
    buf_fmt(b, "%s ", k->rule);
    if (*k->pointer == '\0') buf_str(b, "\"\"");
    for (const char *p = k->pointer; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            buf_fmt(b, "\\u%04x", (unsigned)(unsigned char)*p);
        else
            buf_add(b, p, 1);
    }
    buf_fmt(b, " byte %zu: %s\n", k->pos, k->text);
}

/* One body; line is 0 outside --jsonl. */
static paucis_err check_one(const struct check *c, const struct bodies *in, uint64_t line,
                            struct buf *b, size_t *nbreaks, paucis_error *e) {
    paucis_check_with with = {in->before, in->before_len, in->sent, in->sent_len};
    const paucis_break *breaks = NULL;
    paucis_err err = paucis_check(c->ctx, in->in, in->in_len, c->opts, &with, &breaks, nbreaks, e);
    e->code = err;
    if (err != PAUCIS_OK) return err;
    if (c->json) buf_str(b, "[");
    for (size_t i = 0; i < *nbreaks; i++) {
        if (!c->json) {
            if (line) buf_fmt(b, "%" PRIu64 ": ", line);
            break_text(b, &breaks[i]);
            continue;
        }
        buf_str(b, i ? "," : "");
        break_json(b, &breaks[i]);
    }
    if (c->json) buf_str(b, "]");
    return PAUCIS_OK;
}

/* Which of the files cannot be read as a body? The library says only that one of them cannot. */
static const char *culprit(const struct check *c, const struct bodies *all, const char *file,
                           const char *before_file, const char *sent_file) {
    const paucis_break *breaks;
    size_t n;
    if (paucis_check(c->ctx, all->in, all->in_len, c->opts, NULL, &breaks, &n, NULL) != PAUCIS_OK)
        return file ? file : "stdin";
    if (before_file && paucis_check(c->ctx, all->before, all->before_len, c->opts, NULL, &breaks,
                                    &n, NULL) != PAUCIS_OK)
        return before_file;
    return sent_file ? sent_file : before_file;
}

static int check_body(const struct args *a, const struct check *c, const char *file) {
    struct buf in = {0}, before = {0}, sent = {0}, b = {0};
    const char *before_file = a->value[FLAG_BEFORE], *sent_file = a->value[FLAG_SENT];
    int code = EXIT_USAGE;
    size_t nbreaks = 0;
    paucis_error e = {PAUCIS_OK, "", 0};
    if (input_file(file, &in) && (!before_file || input_file(before_file, &before)) &&
        (!sent_file || input_file(sent_file, &sent))) {
        struct bodies all = {in.data,
                             before_file ? before.data : NULL,
                             sent_file ? sent.data : NULL,
                             in.len,
                             before.len,
                             sent.len};
        paucis_err err = check_one(c, &all, 0, &b, &nbreaks, &e);
        if (c->json) buf_str(&b, "\n");
        if (a->count[FLAG_QUIET]) b.len = 0;
        code = err == PAUCIS_OK ? output_text(a, &b)
                                : complain_body(culprit(c, &all, file, before_file, sent_file), &e);
        if (code == EXIT_DONE && nbreaks) code = EXIT_INVALID;
    }
    buf_free(&in);
    buf_free(&before);
    buf_free(&sent);
    buf_free(&b);
    return code;
}

/* ---- one body a line ------------------------------------------------------------------------ */

struct check_lines {
    struct lines in, before, sent; /* before and sent: .in NULL = not given */
    uint64_t line;
    size_t broken, bad;
};

/* The line of the same number in a file to compare with. */
static bool partner(struct check_lines *l, struct lines *from, const char **p, size_t *n) {
    size_t end;
    bool failed = false;
    if (!from->in || lines_next(from, p, n, &end, &failed)) return true;
    if (!failed) complain("'%s' has no line %" PRIu64, from->in->name, l->line);
    return false;
}

/* False: no more lines, or reported and *failed. */
static bool check_line(const struct check *c, struct check_lines *l, struct buf *b, bool *failed) {
    struct bodies all = {0};
    size_t end = 0, nbreaks = 0;
    paucis_error e = {PAUCIS_OK, "", 0};
    if (!lines_next(&l->in, &all.in, &all.in_len, &end, failed)) return false;
    l->line++;
    *failed = !partner(l, &l->before, &all.before, &all.before_len) ||
              !partner(l, &l->sent, &all.sent, &all.sent_len);
    if (*failed) return false;
    if (!line_blank(all.in, all.in_len)) {
        if (check_one(c, &all, l->line, b, &nbreaks, &e) != PAUCIS_OK) {
            struct buf text = {0};
            l->bad++;
            error_text(&text, &e);
            complain("'%s' line %" PRIu64 ": %.*s", l->in.in->name, l->line, (int)text.len,
                     text.data ? text.data : "");
            buf_free(&text);
        }
        l->broken += nbreaks > 0;
    }
    if (c->json) buf_str(b, "\n");
    return true;
}

static int check_all_lines(const struct args *a, const struct check *c, struct check_lines *l) {
    struct output o;
    struct buf b = {0};
    bool failed = false;
    if (!output_open(&o, a->value[FLAG_OUTPUT], STDOUT_FILENO)) return EXIT_USAGE;
    while (check_line(c, l, &b, &failed)) {
        if (a->count[FLAG_QUIET]) b.len = 0;
        if (!output_buf(&o, &b)) {
            failed = true;
            break;
        }
    }
    buf_free(&b);
    failed = failed || !output_commit(&o);
    output_abort(&o);
    if (failed) return EXIT_USAGE;
    if (l->bad && !a->count[FLAG_KEEP_GOING]) return EXIT_INPUT;
    return l->broken ? EXIT_INVALID : EXIT_DONE;
}

static int check_lines(const struct args *a, const struct check *c, const char *file) {
    const char *files[] = {file, a->value[FLAG_BEFORE], a->value[FLAG_SENT]};
    struct check_lines l = {0};
    struct lines *streams[] = {&l.in, &l.before, &l.sent};
    struct input inputs[3];
    bool ok = true;
    for (size_t i = 0; i < 3 && ok; i++) {
        if (i > 0 && !files[i]) continue;
        ok = input_open(&inputs[i], files[i]);
        if (ok) streams[i]->in = &inputs[i];
    }
    int code = ok ? check_all_lines(a, c, &l) : EXIT_USAGE;
    for (size_t i = 0; i < 3; i++) {
        if (streams[i]->in) input_close(streams[i]->in);
        buf_free(&streams[i]->buf);
    }
    return code;
}

int cmd_check(const struct args *a) {
    struct settings s;
    struct check c = {NULL, &s.opts, a->count[FLAG_JSON] > 0};
    const char *file;
    if (!settings_read(&s, a) || !args_file(a, &file)) return EXIT_USAGE;
    if (a->count[FLAG_KEEP_GOING] && !a->count[FLAG_JSONL])
        return usage_error("--keep-going needs --jsonl");
    if (paucis_ctx_new(&c.ctx, NULL) != PAUCIS_OK) {
        complain("out of memory");
        return EXIT_USAGE;
    }
    int code = a->count[FLAG_JSONL] ? check_lines(a, &c, file) : check_body(a, &c, file);
    paucis_ctx_free(c.ctx);
    return code;
}
