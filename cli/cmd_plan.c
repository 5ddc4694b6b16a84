/* paucis plan: what compact would do and why. As JSON lines in the order of the decisions, or with
 * --human by message, showing the bytes that go and the bytes that come. */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- JSON lines ----------------------------------------------------------------------------- */

static void edit_json(struct buf *b, const paucis_edit *e) {
    buf_str(b, "{\"op\":");
    json_cstr(b, e->op);
    buf_str(b, ",\"strategy\":");
    json_cstr(b, e->strategy);
    buf_str(b, ",\"reason\":");
    json_cstr(b, e->reason);
    buf_fmt(b, ",\"message\":%zu,\"part\":", e->message);
    if (e->part == SIZE_MAX)
        buf_str(b, "null");
    else
        buf_fmt(b, "%zu", e->part);
    buf_str(b, ",\"role\":");
    json_cstr(b, e->role);
    buf_str(b, ",\"kind\":");
    json_cstr(b, e->kind);
    buf_fmt(b, ",\"pos\":%zu,\"len\":%zu,\"before\":%zu,\"after\":%zu,\"text\":", e->pos, e->len,
            e->before, e->after);
    json_str(b, e->text, e->text_len);
    buf_str(b, "}\n");
}

static void cut_json(struct buf *b, const paucis_cut *c) {
    buf_fmt(b, "{\"op\":\"%s\",\"message\":%zu,\"messages\":%zu,\"forced\":%s",
            c->planned ? "next-cut" : "cut", c->message, c->messages, c->forced ? "true" : "false");
    buf_fmt(b, ",\"rent\":%" PRIu64 ",\"price\":%" PRIu64 ",\"saved\":%" PRIu64 ",\"break_even\":",
            c->rent / 1000, c->price / 1000, c->saved);
    if (c->break_even == UINT64_MAX)
        buf_str(b, "null}\n");
    else
        buf_fmt(b, "%" PRIu64 "}\n", c->break_even);
}

/* ---- for people ----------------------------------------------------------------------------- */

enum { SHOWN_HEAD = 3, SHOWN_TAIL = 1, SHOWN_WIDTH = 96 };

struct paint {
    const char *head, *cut, *add, *dim, *off;
};
static const struct paint paint_on = {"\033[1m", "\033[31m", "\033[32m", "\033[2m", "\033[0m"};
static const struct paint paint_off = {"", "", "", "", ""};

static unsigned hex4(const char *p) {
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = (unsigned char)p[i];
        v = v << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
}

static void add_utf8(struct buf *b, unsigned c) {
    char s[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6) s[i] = (char)(0x80 | (c & 0x3f));
    s[0] = (char)(lead[n] | c);
    buf_add(b, s, n);
}

/* Of a block or a message, the string that an edit of a text of `before` bytes is about: the
 * shortest that can hold it (escapes only add bytes), or the longest if none can. */
static void find_text(const char **p, size_t *n, size_t before) {
    const char *best = NULL, *end = *p + *n;
    size_t best_len = 0;
    for (const char *q = *p; q < end; q++) {
        if (*q != '"') continue;
        const char *from = q++;
        while (q < end && *q != '"') q += *q == '\\' ? 2 : 1;
        if (q >= end) break;
        size_t len = (size_t)(q - from) - 1;
        bool better = best_len < before ? len > best_len : len >= before && len < best_len;
        if (!best || better) {
            best = from;
            best_len = len;
        }
    }
    if (!best) return;
    *p = best;
    *n = best_len + 2;
}

/* The text of a JSON value. The library has read the body, so every escape is whole. */
static void decode(struct buf *b, const char *p, size_t n, size_t before) {
    find_text(&p, &n, before);
    if (n < 2 || p[0] != '"') {
        buf_add(b, p, n);
        return;
    }
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    for (size_t i = 1; i < n - 1; i++) {
        if (p[i] != '\\') {
            buf_add(b, p + i, 1);
            continue;
        }
        char c = p[++i];
        const char *at = memchr(from, c, sizeof from - 1);
        if (c != 'u' || i + 4 >= n - 1) {
            buf_add(b, at ? &to[at - from] : &c, 1);
            continue;
        }
        unsigned unit = hex4(p + i + 1);
        i += 4;
        if (unit >= 0xd800 && unit < 0xdc00 && i + 6 < n - 1 && p[i + 1] == '\\' &&
            p[i + 2] == 'u' && (hex4(p + i + 3) & 0xfc00) == 0xdc00) {
            unit = 0x10000 + ((unit - 0xd800) << 10) + (hex4(p + i + 3) - 0xdc00);
            i += 6;
        }
        add_utf8(b, unit);
    }
}

/* One line of foreign text, cut to the width and free of control characters, which could command
 * the terminal. */
static void safe_line(struct buf *b, const char *p, size_t n) {
    size_t shown = n < SHOWN_WIDTH + 16 ? n : SHOWN_WIDTH; /* no cut for a few bytes */
    while (shown < n && shown > 0 && ((unsigned char)p[shown] & 0xc0) == 0x80) shown--;
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c == '\t')
            buf_str(b, "    ");
        else if (c < 0x20 || c == 0x7f)
            buf_fmt(b, "^%c", c ^ 0x40);
        else if (c == 0xc2 && i + 1 < shown && (unsigned char)p[i + 1] < 0xa0)
            i++, buf_str(b, "?"); /* a C1 control */
        else
            buf_add(b, p + i, 1);
    }
    if (shown < n) buf_fmt(b, " [+%zu]", n - shown);
}

/* The first lines and the last one, each behind a sign. */
static void sample(struct buf *b, const char *sign, const char *color, const char *off,
                   const char *p, size_t n) {
    size_t lines = 1;
    for (size_t i = 0; i + 1 < n; i++) lines += p[i] == '\n';
    size_t skip_to = lines > SHOWN_HEAD + SHOWN_TAIL + 1 ? lines - SHOWN_TAIL : 0;
    for (size_t i = 0; n > 0; i++) {
        const char *nl = memchr(p, '\n', n);
        size_t len = nl ? (size_t)(nl - p) : n;
        if (i == SHOWN_HEAD && skip_to)
            buf_fmt(b, "      %s... %zu more lines%s\n", color, skip_to - i, off);
        if (i < SHOWN_HEAD || i >= skip_to) {
            buf_fmt(b, "    %s%s ", color, sign);
            safe_line(b, p, len);
            buf_fmt(b, "%s\n", off);
        }
        len += nl != NULL;
        p += len;
        n -= len;
    }
}

/* What differs between the texts: the common start and end are left out. */
static void difference(struct buf *b, const struct paint *c, struct buf *old,
                       const paucis_edit *e) {
    const char *a = old->data ? old->data : "", *z = e->text ? e->text : "";
    size_t n = old->len, m = e->text ? e->text_len : 0, min = n < m ? n : m;
    size_t head = 0, tail = 0;
    while (head < min && a[head] == z[head]) head++;
    while (head > 0 && head < n && ((unsigned char)a[head] & 0xc0) == 0x80) head--;
    while (tail < min - head && a[n - tail - 1] == z[m - tail - 1]) tail++;
    while (tail > 0 && ((unsigned char)a[n - tail] & 0xc0) == 0x80) tail--;
    sample(b, "-", c->cut, c->off, a + head, n - head - tail);
    sample(b, "+", c->add, c->off, z + head, m - head - tail);
}

static void edit_human(struct buf *b, const struct paint *c, const char *body,
                       const paucis_edit *e) {
    struct buf old = {0};
    buf_fmt(b, "  %s%s%s%s by %s: %s\n", e->op, e->kind && e->part != SIZE_MAX ? " " : "",
            e->kind && e->part != SIZE_MAX ? e->kind : "", c->off, e->strategy,
            e->reason ? e->reason : "");
    buf_fmt(b, "    %s%zu -> %zu bytes of text%s\n", c->dim, e->before, e->after, c->off);
    if (strcmp(e->op, "insert") != 0) decode(&old, body + e->pos, e->len, e->before);
    difference(b, c, &old, e);
    b->failed = b->failed || old.failed;
    buf_free(&old);
}

struct place {
    size_t message, edit;
};

static int by_message(const void *x, const void *y) {
    const struct place *a = x, *b = y;
    if (a->message != b->message) return a->message < b->message ? -1 : 1;
    return a->edit < b->edit ? -1 : a->edit > b->edit;
}

/* Money as tokens at the base price. */
static void cuts_human(struct buf *b, const struct paint *c, const paucis_ctx *ctx) {
    paucis_cut cut;
    for (size_t i = 0; paucis_plan_cut(ctx, i, &cut) == PAUCIS_OK; i++) {
        buf_fmt(b, "%s%s at message %zu%s", c->head, cut.planned ? "next cut" : "cut", cut.message,
                c->off);
        if (!cut.planned) buf_fmt(b, ", made by the request of %zu messages", cut.messages);
        if (cut.forced) buf_str(b, ", forced by the budget");
        buf_fmt(b,
                "\n    rent so far %" PRIu64 ", price %" PRIu64 ", saves %" PRIu64
                " tokens a request",
                cut.rent / 1000, cut.price / 1000, cut.saved);
        if (cut.break_even != UINT64_MAX)
            buf_fmt(b, ", pays for itself in %" PRIu64 " requests", cut.break_even);
        buf_str(b, "\n");
    }
}

static void plan_human(struct buf *b, const struct paint *c, const paucis_ctx *ctx, size_t nedits,
                       const char *body, const paucis_stats *st) {
    struct place *order = calloc(nedits + 1, sizeof *order);
    paucis_edit e;
    if (!order) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < nedits; i++) {
        paucis_plan_get(ctx, i, &e);
        order[i] = (struct place){e.message, i};
    }
    qsort(order, nedits, sizeof *order, by_message);
    for (size_t i = 0; i < nedits; i++) {
        paucis_plan_get(ctx, order[i].edit, &e);
        if (i == 0 || order[i].message != order[i - 1].message)
            buf_fmt(b, "%smessage %zu%s%s%s\n", c->head, e.message, e.role ? ", " : "",
                    e.role ? e.role : "", c->off);
        edit_human(b, c, body, &e);
    }
    free(order);
    cuts_human(b, c, ctx);
    buf_fmt(b, "%s%zu edits, %" PRIu64 " -> %" PRIu64 " bytes%s\n", c->head, nedits, st->bytes_in,
            st->bytes_out, c->off);
}

/* ---- command -------------------------------------------------------------------------------- */

/* Colours on a terminal only, unless asked for. */
static const struct paint *read_color(const struct args *a) {
    const char *when = a->value[FLAG_COLOR], *no_color = getenv("NO_COLOR");
    bool on = isatty(STDOUT_FILENO) && !a->value[FLAG_OUTPUT] && !(no_color && *no_color);
    if (a->count[FLAG_COLOR] && !when) on = true;
    if (when && strcmp(when, "auto") != 0) on = strcmp(when, "always") == 0;
    return on ? &paint_on : &paint_off;
}

static int plan_body(const struct args *a, const struct settings *s, const struct paint *c,
                     const char *name, const struct buf *body) {
    paucis_ctx *ctx = NULL;
    paucis_stats st = {.size = sizeof st};
    paucis_error e = {PAUCIS_OK, "", 0};
    struct buf b = {0}, json = {0};
    size_t nedits = 0;
    e.code = paucis_ctx_new(&ctx, NULL);
    if (e.code == PAUCIS_OK)
        e.code = paucis_plan(ctx, body->data, body->len, &s->opts, &nedits, &st, &e);
    int code = e.code == PAUCIS_OK ? EXIT_DONE : complain_body(name, &e);
    if (s->stats) { /* first: if they cannot be written, stdout stays empty */
        stats_json(&json, s, &st, e.code == PAUCIS_OK ? NULL : &e, 0);
        if (!stats_write(a, &json)) code = EXIT_USAGE;
    }
    if (code == EXIT_DONE) {
        paucis_edit edit;
        if (a->count[FLAG_HUMAN]) plan_human(&b, c, ctx, nedits, body->data, &st);
        for (size_t i = 0; i < nedits && !a->count[FLAG_HUMAN]; i++) {
            paucis_plan_get(ctx, i, &edit);
            edit_json(&b, &edit);
        }
        paucis_cut cut;
        for (size_t i = 0; !a->count[FLAG_HUMAN] && !paucis_plan_cut(ctx, i, &cut); i++)
            cut_json(&b, &cut);
        code = output_text(a, &b);
    }
    paucis_ctx_free(ctx);
    return code;
}

int cmd_plan(const struct args *a) {
    struct settings s;
    const struct paint *c = read_color(a);
    const char *file;
    struct buf body = {0};
    int code = EXIT_USAGE;
    if (settings_read(&s, a) && args_file(a, &file) && input_file(file, &body))
        code = plan_body(a, &s, c, file ? file : "stdin", &body);
    buf_free(&body);
    settings_free(&s);
    return code;
}
