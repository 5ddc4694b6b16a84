/* The grammar, written once: the including file gives kernel_string_end (see struct json_kernel)
 * and window_look, and gets reader_document. It is compiled into every kernel because a body has a
 * string every hundred bytes and most are short: calls would cost more than the strings.
 *
 * Short strings of plain ASCII, above all keys, are read without kernel_string_end. One look at 64
 * bytes, the window, tells the ends of all that lie in it:
 *
 *   {"role":"user","content":"Hallo, ...    window from the r on
 *     ....^.^....^.^.......^.^              quote
 *     ....^.^....^.^.......^.^     ^        stop: also backslashes, control and non-ASCII bytes
 *
 * A string ends at the first stop if that is a quote; if not, or if there is none, it is left to
 * kernel_string_end. */
#include "json/json_scalar.h"
#include "limits.h"

#define WINDOW 64

struct window {
    size_t from; /* its place in the body */
    uint64_t quote, stop;
};

/* 64 bytes at p may be read. False: this kernel has no window. */
static inline bool window_look(const uint8_t *p, struct window *w);

struct reader {
    struct json *j;
    struct mem *m;
    const uint8_t *body;
    size_t size;
    paucis_error *e;
};

/* Apart from the reader, and by value wherever a function is not inlined, so that it lives in
 * registers. */
struct cursor {
    size_t at;
    size_t open, depth; /* innermost open container (only if depth > 0) and how many there are */
    uint8_t type;       /* of that container: '{' or '[' */
    bool tag;           /* the next string may be one of the names */
    struct window window;
};

static paucis_err reader_fail(const struct reader *r, paucis_err code, const char *msg,
                              size_t pos) {
    *r->e = (paucis_error){code, msg, pos};
    return code;
}

static paucis_err reader_unexpected(const struct reader *r, const char *msg, size_t at) {
    return reader_fail(r, PAUCIS_E_PARSE, at < r->size ? msg : "unexpected end of input", at);
}

/* The byte at `at`, or 0 at the end: 0 fits nowhere in the grammar, so it stops every loop. */
static inline uint8_t reader_peek(const struct reader *r, size_t at) {
    return at < r->size ? r->body[at] : 0;
}

static inline size_t reader_skip_space(const struct reader *r, size_t at) {
    for (uint8_t c; (c = reader_peek(r, at)) <= ' '; at++)
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r') break;
    return at;
}

static inline paucis_err reader_push(const struct reader *r, enum node_kind kind, size_t at,
                                     size_t end, unsigned flags) {
    struct json *j = r->j;
    if (!VEC_ROOM(r->m, j->nodes, 1)) return reader_fail(r, PAUCIS_E_NOMEM, "out of memory", at);
    if (j->nodes.count >= PAUCIS_MAX_TOKENS)
        return reader_fail(r, PAUCIS_E_LIMIT, "too many values", at);
    struct node *n = &j->nodes.at[j->nodes.count++];
    n->at = (uint32_t)at & PAUCIS_MAX_BODY;
    n->kind = kind & 3;
    n->end = (uint32_t)end & PAUCIS_MAX_BODY;
    n->escaped = flags & 1;      /* STRING_ESCAPED */
    n->unusual = flags >> 1 & 1; /* STRING_UNUSUAL */
    return PAUCIS_OK;
}

static paucis_err reader_bad_string(const struct reader *r, size_t from) {
    const char *msg = "invalid string";
    size_t pos = json_string_defect(r->body, from, r->size, &msg);
    return reader_fail(r, PAUCIS_E_PARSE, msg, pos);
}

/* The end of the string whose inside begins at `from`, if the window shows it; else 0. */
static inline size_t window_string_end(struct window *w, const struct reader *r, size_t from) {
    if (from - w->from >= WINDOW) {
        if (r->size - from < WINDOW || !window_look(r->body + from, w)) return 0;
        w->from = from;
    }
    uint64_t quote = w->quote >> (from - w->from), stop = w->stop >> (from - w->from);
    uint64_t first = stop & (0 - stop);
    return quote & first ? from + (size_t)__builtin_ctzll(first) : 0;
}

static inline paucis_err reader_string(const struct reader *r, struct cursor *c) {
    unsigned flags = 0;
    size_t from = c->at + 1, end = window_string_end(&c->window, r, from);
    if (!end && (end = kernel_string_end(r->body, from, r->size, &flags)) == r->size)
        return reader_bad_string(r, from);
    c->at = end + 1;
    if (c->tag && !flags && r->j->names) {
        size_t name = json_name_of(r->j->names, r->j->body + from, end - from, r->size - from);
        c->tag = name == NAME_role || name == NAME_type;
        if (name != JSON_NAMES) return reader_push(r, NODE_STRING, from - 1, name, STRING_UNUSUAL);
    }
    return reader_push(r, NODE_STRING, from - 1, end + 1, flags);
}

static inline bool is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }

static paucis_err reader_digits(const struct reader *r, size_t *at) {
    if (!is_digit(reader_peek(r, *at))) return reader_unexpected(r, "expected a digit", *at);
    while (is_digit(reader_peek(r, *at))) ++*at;
    return PAUCIS_OK;
}

static paucis_err reader_number(const struct reader *r, size_t from, size_t *to) {
    size_t at = from;
    if (reader_peek(r, at) == '-') at++;
    if (reader_peek(r, at) == '0')
        at++;
    else
        PAUCIS_TRY(reader_digits(r, &at));
    if (reader_peek(r, at) == '.') {
        at++;
        PAUCIS_TRY(reader_digits(r, &at));
    }
    if ((reader_peek(r, at) | 0x20) == 'e') {
        at++;
        if (reader_peek(r, at) == '+' || reader_peek(r, at) == '-') at++;
        PAUCIS_TRY(reader_digits(r, &at));
    }
    *to = at;
    return reader_push(r, NODE_OTHER, from, at, 0);
}

static paucis_err reader_literal(const struct reader *r, const char *word, size_t from,
                                 size_t *to) {
    size_t at = from;
    for (; *word; word++, at++)
        if (reader_peek(r, at) != (uint8_t)*word)
            return reader_unexpected(r, "invalid literal", at);
    *to = at;
    return reader_push(r, NODE_OTHER, from, at, 0);
}

/* A number, true, false or null. */
static paucis_err reader_scalar(const struct reader *r, size_t from, size_t *to) {
    uint8_t c = reader_peek(r, from);
    switch (c) {
    case 't': return reader_literal(r, "true", from, to);
    case 'f': return reader_literal(r, "false", from, to);
    case 'n': return reader_literal(r, "null", from, to);
    default:
        if (c == '-' || is_digit(c)) return reader_number(r, from, to);
        return reader_unexpected(r, "expected a value", from);
    }
}

static inline paucis_err reader_open(const struct reader *r, struct cursor *c) {
    if (c->depth == PAUCIS_MAX_DEPTH)
        return reader_fail(r, PAUCIS_E_LIMIT, "nested too deeply", c->at);
    c->type = r->body[c->at];
    PAUCIS_TRY(reader_push(r, c->type == '{' ? NODE_OBJECT : NODE_ARRAY, c->at++, c->open, 0));
    c->open = r->j->nodes.count - 1;
    c->depth++;
    return PAUCIS_OK;
}

static inline paucis_err reader_close(const struct reader *r, struct cursor *c) {
    size_t open = c->open;
    PAUCIS_TRY(reader_push(r, NODE_OTHER, c->at++, open, 0));
    struct node *nodes = r->j->nodes.at;
    c->open = nodes[open].end;
    c->type = nodes[c->open].kind == NODE_OBJECT ? '{' : '[';
    nodes[open].end = (uint32_t)(r->j->nodes.count - 1) & PAUCIS_MAX_BODY;
    c->depth--;
    return PAUCIS_OK;
}

/* The key of the next member, and its colon. */
static inline paucis_err reader_key(const struct reader *r, struct cursor *c) {
    c->at = reader_skip_space(r, c->at);
    if (reader_peek(r, c->at) != '"') return reader_unexpected(r, "expected a key", c->at);
    c->tag = true;
    PAUCIS_TRY(reader_string(r, c));
    c->at = reader_skip_space(r, c->at);
    if (reader_peek(r, c->at) != ':') return reader_unexpected(r, "expected ':'", c->at);
    c->at++;
    return PAUCIS_OK;
}

/* Reads one scalar, or opens a container; *inside: that container is not empty. */
static inline paucis_err reader_value(const struct reader *r, struct cursor *c, bool *inside) {
    c->at = reader_skip_space(r, c->at);
    uint8_t first = reader_peek(r, c->at);
    *inside = false;
    if (first == '"') return reader_string(r, c);
    if (first == '{' || first == '[') {
        PAUCIS_TRY(reader_open(r, c));
        c->at = reader_skip_space(r, c->at);
        *inside = reader_peek(r, c->at) != first + 2; /* '{' + 2 is '}', '[' + 2 is ']' */
        return PAUCIS_OK;
    }
    size_t to = 0;
    PAUCIS_TRY(reader_scalar(r, c->at, &to));
    c->at = to;
    return PAUCIS_OK;
}

/* After a value: closes what ends here and steps over the comma before the next value. The document
 * is done when nothing is open any more. */
static inline paucis_err reader_after_value(const struct reader *r, struct cursor *c) {
    while (c->depth) {
        c->at = reader_skip_space(r, c->at);
        uint8_t next = reader_peek(r, c->at);
        if (next == ',') {
            c->at++;
            return PAUCIS_OK;
        }
        if (next != c->type + 2)
            return reader_unexpected(
                r, c->type == '{' ? "expected ',' or '}'" : "expected ',' or ']'", c->at);
        PAUCIS_TRY(reader_close(r, c));
    }
    return PAUCIS_OK;
}

static paucis_err reader_document(struct json *j, struct mem *m, paucis_error *e) {
    const struct reader r = {j, m, (const uint8_t *)j->body, j->size, e};
    struct cursor c = {.window = {.from = SIZE_MAX / 2}}; /* out of reach: no window yet */
    do {
        bool inside;
        if (c.depth && c.type == '{') PAUCIS_TRY(reader_key(&r, &c));
        PAUCIS_TRY(reader_value(&r, &c, &inside));
        if (!inside) PAUCIS_TRY(reader_after_value(&r, &c));
    } while (c.depth);
    c.at = reader_skip_space(&r, c.at);
    if (c.at < r.size) return reader_unexpected(&r, "expected the end of the body", c.at);
    return PAUCIS_OK;
}
