/* paucis count: tokens of a body by message, role and tool, or of a plain text with its ids. */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 40, MEMO_ENTRIES = 1 << 16 };

struct counting {
    paucis_ctx *ctx;
    const paucis_opts *opts;
    bool text, ids, json, lines, bars;
};

/* ---- sums over parts ------------------------------------------------------------------------ */

struct sum {
    const char *name;
    uint64_t tokens;
};

struct sums { /* in the order of their first part */
    struct sum *at;
    size_t count, cap;
    bool failed;
};

static void sums_add(struct sums *s, const char *name, uint64_t tokens) {
    size_t i = 0;
    while (i < s->count && strcmp(s->at[i].name, name) != 0) i++;
    if (i == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 16;
        struct sum *at = realloc(s->at, cap * sizeof *at);
        if (!at) {
            s->failed = true;
            return;
        }
        s->at = at;
        s->cap = cap;
    }
    if (i == s->count) s->at[s->count++] = (struct sum){name, 0};
    s->at[i].tokens += tokens;
}

/* By role, or by tool; what has none is left out. */
static struct sums sums_of(const paucis_counts *c, bool tools) {
    struct sums s = {0};
    for (size_t i = 0; i < c->nparts; i++) {
        const char *name = tools ? c->parts[i].tool : c->parts[i].role;
        if (name) sums_add(&s, name, c->parts[i].tokens);
    }
    return s;
}

/* The parts of one message, from part *i on, which moves behind them. */
static paucis_part_count message_sum(const paucis_counts *c, size_t *i) {
    paucis_part_count sum = c->parts[*i];
    while (++*i < c->nparts && c->parts[*i].message == sum.message) {
        sum.tokens += c->parts[*i].tokens;
        sum.bytes += c->parts[*i].bytes;
    }
    return sum;
}

/* ---- a body as JSON ------------------------------------------------------------------------- */

static bool sums_json(struct buf *b, const char *key, struct sums s) {
    buf_fmt(b, ",\"%s\":{", key);
    for (size_t i = 0; i < s.count; i++) {
        buf_str(b, i ? "," : "");
        json_cstr(b, s.at[i].name);
        buf_fmt(b, ":%" PRIu64, s.at[i].tokens);
    }
    buf_str(b, "}");
    free(s.at);
    return !s.failed;
}

static bool body_json(struct buf *b, const paucis_counts *c) {
    uint64_t outside = 0;
    bool first = true;
    buf_fmt(b, "{\"schema\":1,\"tokens\":%" PRIu64 ",\"exact\":%s,\"tokenizer\":", c->tokens,
            c->exact ? "true" : "false");
    json_cstr(b, c->tokenizer);
    buf_str(b, ",\"format\":");
    json_cstr(b, c->format);
    buf_fmt(b, ",\"upper\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"bytes_tokenized\":%" PRIu64,
            c->upper, c->bytes, c->bytes_tokenized);
    buf_str(b, ",\"messages\":[");
    for (size_t i = 0; i < c->nparts;) {
        paucis_part_count m = message_sum(c, &i);
        if (m.message == SIZE_MAX) {
            outside += m.tokens;
            continue;
        }
        buf_fmt(b, "%s{\"message\":%zu,\"role\":", first ? "" : ",", m.message);
        json_cstr(b, m.role);
        buf_fmt(b, ",\"tokens\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", m.tokens, m.bytes);
        first = false;
    }
    buf_fmt(b, "],\"outside\":%" PRIu64, outside);
    bool ok = sums_json(b, "roles", sums_of(c, false));
    ok = sums_json(b, "tools", sums_of(c, true)) && ok;
    buf_str(b, "}\n");
    return ok;
}

/* ---- a body for people ---------------------------------------------------------------------- */

static void bar(struct buf *b, uint64_t tokens, uint64_t most) {
    uint64_t eighths = most ? tokens * BAR * 8 / most : 0;
    static const char *const part[] = {"",       "\u258f", "\u258e", "\u258d",
                                       "\u258c", "\u258b", "\u258a", "\u2589"};
    buf_str(b, "  ");
    for (; eighths >= 8; eighths -= 8) buf_str(b, "\u2588");
    buf_str(b, part[eighths]);
}

static bool sums_text(struct buf *b, const char *title, struct sums s) {
    for (size_t i = 0; i < s.count; i++) {
        buf_fmt(b, "%s%s", i ? ", " : title, i ? "" : ": ");
        for (const char *p = s.at[i].name; *p; p++) /* a name may hold anything */
            buf_add(b, (unsigned char)*p < 0x20 || *p == 0x7f ? "?" : p, 1);
        buf_fmt(b, " %" PRIu64, s.at[i].tokens);
    }
    if (s.count) buf_str(b, "\n");
    free(s.at);
    return !s.failed;
}

static bool body_text(struct buf *b, const struct counting *w, const paucis_counts *c) {
    uint64_t most = 0;
    for (size_t i = 0; i < c->nparts;) {
        uint64_t tokens = message_sum(c, &i).tokens;
        most = tokens > most ? tokens : most;
    }
    for (size_t i = 0; i < c->nparts;) {
        paucis_part_count m = message_sum(c, &i);
        if (m.message == SIZE_MAX)
            buf_fmt(b, "%8s  %-10s %8" PRIu64, "", "outside", m.tokens);
        else
            buf_fmt(b, "%8zu  %-10s %8" PRIu64, m.message, m.role, m.tokens);
        if (w->bars) bar(b, m.tokens, most);
        buf_str(b, "\n");
    }
    bool ok = sums_text(b, "roles", sums_of(c, false));
    ok = sums_text(b, "tools", sums_of(c, true)) && ok;
    buf_fmt(b, "total: %" PRIu64 " tokens by %s, ", c->tokens, c->tokenizer);
    if (c->exact)
        buf_str(b, "exact\n");
    else
        buf_fmt(b, "estimated; at most %" PRIu64 " in 95 of 100 cases\n", c->upper);
    return ok;
}

/* ---- one input ------------------------------------------------------------------------------ */

static paucis_err count_body(const struct counting *w, const char *p, size_t n, struct buf *b,
                             paucis_error *e) {
    paucis_counts c = {.size = sizeof c};
    paucis_err err = paucis_count(w->ctx, p, n, w->opts, &c, e);
    bool ok = true;
    if (err) return err;
    if (w->json || w->lines)
        ok = body_json(b, &c);
    else
        ok = body_text(b, w, &c);
    if (!ok) b->failed = true;
    return PAUCIS_OK;
}

static paucis_err count_text(const struct counting *w, const char *p, size_t n, struct buf *b,
                             paucis_error *e) {
    uint64_t tokens;
    const uint32_t *ids = NULL;
    paucis_err err = paucis_count_text(w->ctx, p, n, w->opts, &tokens, w->ids ? &ids : NULL, e);
    if (err) return err;
    buf_fmt(b, w->json ? "{\"tokens\":%" PRIu64 : "%" PRIu64, tokens);
    if (w->ids) buf_str(b, w->json ? ",\"ids\":[" : ":");
    for (uint64_t i = 0; w->ids && i < tokens; i++)
        buf_fmt(b, "%s%" PRIu32, !w->json ? " " : i ? "," : "", ids[i]);
    if (w->ids && w->json) buf_str(b, "]");
    buf_str(b, w->json ? "}\n" : "\n");
    return PAUCIS_OK;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static bool hex4(const char *p, const char *end, unsigned *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, p++) {
        if (p >= end) return false;
        unsigned c = (unsigned char)*p, digit = c - '0', letter = (c | 0x20) - 'a';
        if (digit > 9 && letter > 5) return false;
        *out = *out * 16 + (digit <= 9 ? digit : letter + 10);
    }
    return true;
}

static void add_point(struct buf *b, unsigned c) {
    char u[4] = {(char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 63)),
                 (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63))};
    if (c < 0x80) {
        u[3] = (char)c;
        buf_add(b, u + 3, 1);
    } else if (c < 0x800) {
        u[2] = (char)(0xc0 | c >> 6);
        buf_add(b, u + 2, 2);
    } else if (c < 0x10000) {
        u[1] = (char)(0xe0 | c >> 12);
        buf_add(b, u + 1, 3);
    } else {
        buf_add(b, u, 4);
    }
}

/* One escape behind its backslash; returns what follows, NULL if it is none. A lone surrogate
 * becomes its three bytes, as in bodies. */
static const char *unescape(const char *p, const char *end, struct buf *out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found = p < end && *p ? strchr(from, *p) : NULL;
    unsigned c, low;
    if (found) {
        buf_add(out, to + (found - from), 1);
        return p + 1;
    }
    if (p >= end || *p != 'u' || !hex4(p + 1, end, &c)) return NULL;
    p += 5;
    if (c >> 10 == 0x36 && end - p > 5 && p[0] == '\\' && p[1] == 'u' && hex4(p + 2, end, &low) &&
        low >> 10 == 0x37) {
        c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
        p += 6;
    }
    add_point(out, c);
    return p;
}

/* A line that is a JSON string, decoded. */
static bool string_of(const char *p, size_t n, struct buf *out) {
    const char *end = p + n;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    while (p < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    if (end - p < 2 || *p++ != '"' || *--end != '"') return false;
    while (p < end) {
        size_t plain = 0;
        while (p + plain < end && (unsigned char)p[plain] >= 0x20 && p[plain] != '"' &&
               p[plain] != '\\')
            plain++;
        buf_add(out, p, plain);
        p += plain;
        if (p < end && (*p != '\\' || !(p = unescape(p + 1, end, out)))) return false;
    }
    return true;
}

static paucis_err count_line(const struct counting *w, const char *p, size_t n, struct buf *text,
                             struct buf *b, paucis_error *e) {
    if (!w->text) return count_body(w, p, n, b, e);
    text->len = 0;
    if (!string_of(p, n, text)) {
        *e = (paucis_error){PAUCIS_E_PARSE, "not a JSON string", 0};
        return PAUCIS_E_PARSE;
    }
    b->failed = b->failed || text->failed;
    return count_text(w, text->data, text->len, b, e);
}

static int count_lines(const struct args *a, const struct counting *w, const char *file) {
    struct input in;
    struct output out;
    struct buf b = {0}, text = {0}, why = {0};
    const char *p;
    size_t n, end;
    bool failed = false, bad = false;
    uint64_t line = 0;
    if (!input_open(&in, file)) return EXIT_USAGE;
    struct lines l = {.in = &in};
    failed = !output_open(&out, a->value[FLAG_OUTPUT], STDOUT_FILENO);
    while (!failed && lines_next(&l, &p, &n, &end, &failed)) {
        paucis_error e = {PAUCIS_OK, "", 0};
        line++;
        if (line_blank(p, n) || count_line(w, p, n, &text, &b, &e) != PAUCIS_OK) buf_str(&b, "\n");
        if (e.code) {
            bad = true;
            error_text(&why, &e);
            complain("'%s' line %" PRIu64 ": %.*s", in.name, line, (int)why.len, why.data);
            why.len = 0;
        }
        failed = !output_buf(&out, &b);
    }
    if (!failed) failed = !output_commit(&out);
    output_abort(&out);
    input_close(&in);
    buf_free(&l.buf);
    buf_free(&b);
    buf_free(&text);
    buf_free(&why);
    return failed ? EXIT_USAGE : bad ? EXIT_INPUT : EXIT_DONE;
}

static int count_file(const struct args *a, const struct counting *w, const char *file) {
    struct buf in = {0}, b = {0};
    paucis_error e = {PAUCIS_OK, "", 0};
    int code = EXIT_USAGE;
    if (input_file(file, &in)) {
        paucis_err err = w->text ? count_text(w, in.data, in.len, &b, &e)
                                 : count_body(w, in.data, in.len, &b, &e);
        code = err ? complain_body(file ? file : "stdin", &e) : output_text(a, &b);
    }
    buf_free(&in);
    buf_free(&b);
    return code;
}

static bool use_bars(const struct args *a) {
    const char *when = a->value[FLAG_COLOR];
    if (!a->count[FLAG_COLOR] || !when || strcmp(when, "auto") == 0)
        return !a->value[FLAG_OUTPUT] && isatty(STDOUT_FILENO);
    return strcmp(when, "always") == 0;
}

int cmd_count(const struct args *a) {
    struct settings s;
    const char *file;
    struct counting w = {.text = a->count[FLAG_TEXT] > 0,
                         .ids = a->count[FLAG_IDS] > 0,
                         .json = a->count[FLAG_JSON] > 0,
                         .lines = a->count[FLAG_JSONL] > 0,
                         .bars = use_bars(a)};
    paucis_memo *memo = NULL;
    int code = EXIT_USAGE;
    if (w.ids && !w.text) return usage_error("--ids needs --text");
    bool ready = settings_read(&s, a) && args_file(a, &file);
    if (ready && w.ids && !s.opts.tokenizer) {
        usage_error("--ids needs a --tokenizer: an estimate has no token ids");
        ready = false;
    }
    if (ready && w.lines && !w.text) paucis_memo_new(&memo, MEMO_ENTRIES, NULL);
    s.opts.memo = memo; /* without one it only takes longer */
    w.opts = &s.opts;
    if (ready && paucis_ctx_new(&w.ctx, NULL) != PAUCIS_OK)
        complain("out of memory");
    else if (ready)
        code = w.lines ? count_lines(a, &w, file) : count_file(a, &w, file);
    paucis_ctx_free(w.ctx);
    paucis_memo_free(memo);
    settings_free(&s);
    return code;
}
