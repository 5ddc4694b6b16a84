/* See reference.h. */
#include "reference.h"

#include <stdlib.h>

#include "limits.h"

size_t reference_utf8(const uint8_t *p, size_t n) {
    static const struct {
        uint8_t mask, mark;
        uint32_t least; /* code point that needs this form */
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t len = 1; len <= 4; len++) {
        if ((p[0] & forms[len - 1].mask) != forms[len - 1].mark) continue;
        uint32_t code = p[0] & (uint32_t)~forms[len - 1].mask;
        if (n < len) return 0;
        for (size_t i = 1; i < len; i++) {
            if (p[i] < 0x80 || p[i] > 0xbf) return 0;
            code = code * 64 + (p[i] - 0x80u);
        }
        if (code < forms[len - 1].least || code > 0x10ffff) return 0;
        return code >= 0xd800 && code <= 0xdfff ? 0 : len;
    }
    return 0;
}

static bool is_hex(uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static size_t escape_len(const uint8_t *p, size_t n, unsigned *flags) {
    *flags |= STRING_ESCAPED;
    if (n < 2 || !p[1] || !strchr("\"\\/bfnrtu", p[1])) return 0;
    if (p[1] == '/' || p[1] == 'u') *flags |= STRING_UNUSUAL;
    if (p[1] != 'u') return 2;
    if (n < 6) return 0;
    return is_hex(p[2]) && is_hex(p[3]) && is_hex(p[4]) && is_hex(p[5]) ? 6 : 0;
}

size_t reference_string(const uint8_t *p, size_t from, size_t size, unsigned *flags, size_t *bad) {
    size_t i = from;
    while (i < size && p[i] != '"') {
        size_t len = 0;
        if (p[i] == '\\')
            len = escape_len(p + i, size - i, flags);
        else if (p[i] >= 0x20)
            len = reference_utf8(p + i, size - i);
        if (!len) {
            *bad = i;
            return size;
        }
        i += len;
    }
    *bad = i;
    return i;
}

static bool fail(struct reference *r, paucis_err code, size_t pos) {
    r->code = code;
    r->pos = pos;
    return false;
}

static bool fail_here(struct reference *r) { return fail(r, PAUCIS_E_PARSE, r->at); }

static int peek(const struct reference *r) { return r->at < r->size ? r->body[r->at] : -1; }

static bool take(struct reference *r, int c) {
    if (peek(r) != c) return false;
    r->at++;
    return true;
}

static void space(struct reference *r) {
    while (take(r, ' ') || take(r, '\t') || take(r, '\n') || take(r, '\r')) continue;
}

static size_t push(struct reference *r, enum node_kind kind, size_t at, size_t end,
                   unsigned flags) {
    if (r->count == r->cap) {
        r->cap = r->cap * 2 + 64;
        r->nodes = realloc(r->nodes, r->cap * sizeof *r->nodes);
        if (!r->nodes) exit(2);
    }
    struct node n = {.at = (uint32_t)at & PAUCIS_MAX_BODY,
                     .kind = kind & 3,
                     .end = (uint32_t)end & PAUCIS_MAX_BODY,
                     .escaped = (flags & STRING_ESCAPED) != 0,
                     .unusual = (flags & STRING_UNUSUAL) != 0};
    r->nodes[r->count] = n;
    return r->count++;
}

static bool read_string(struct reference *r) {
    unsigned flags = 0;
    size_t bad, from = r->at, end = reference_string(r->body, from + 1, r->size, &flags, &bad);
    if (end == r->size) return fail(r, PAUCIS_E_PARSE, bad);
    r->at = end + 1;
    push(r, NODE_STRING, from, r->at, flags);
    return true;
}

static bool digits(struct reference *r) {
    if (peek(r) < '0' || peek(r) > '9') return fail_here(r);
    while (peek(r) >= '0' && peek(r) <= '9') r->at++;
    return true;
}

static bool read_number(struct reference *r) {
    size_t from = r->at;
    take(r, '-');
    if (!take(r, '0') && !digits(r)) return false;
    if (take(r, '.') && !digits(r)) return false;
    if (take(r, 'e') || take(r, 'E')) {
        if (!take(r, '+')) take(r, '-');
        if (!digits(r)) return false;
    }
    push(r, NODE_OTHER, from, r->at, 0);
    return true;
}

static bool read_word(struct reference *r, const char *word) {
    size_t from = r->at;
    for (; *word; word++)
        if (!take(r, *word)) return fail_here(r);
    push(r, NODE_OTHER, from, r->at, 0);
    return true;
}

static bool read_value(struct reference *r, size_t depth);

static bool read_member(struct reference *r, int open, size_t depth) {
    if (open == '{') {
        space(r);
        if (peek(r) != '"') return fail_here(r);
        if (!read_string(r)) return false;
        space(r);
        if (!take(r, ':')) return fail_here(r);
    }
    return read_value(r, depth);
}

static bool read_container(struct reference *r, size_t depth) {
    int open = peek(r), close = open == '{' ? '}' : ']';
    if (depth == PAUCIS_MAX_DEPTH) return fail(r, PAUCIS_E_LIMIT, r->at);
    size_t first = push(r, open == '{' ? NODE_OBJECT : NODE_ARRAY, r->at++, 0, 0);
    space(r);
    if (peek(r) != close) {
        do {
            if (!read_member(r, open, depth + 1)) return false;
            space(r);
        } while (take(r, ','));
        if (peek(r) != close) return fail_here(r);
    }
    size_t last = push(r, NODE_OTHER, r->at++, first, 0);
    r->nodes[first].end = (uint32_t)last & PAUCIS_MAX_BODY;
    return true;
}

static bool read_value(struct reference *r, size_t depth) {
    space(r);
    int c = peek(r);
    if (c == '{' || c == '[') return read_container(r, depth);
    if (c == '"') return read_string(r);
    if (c == 't') return read_word(r, "true");
    if (c == 'f') return read_word(r, "false");
    if (c == 'n') return read_word(r, "null");
    if (c == '-' || (c >= '0' && c <= '9')) return read_number(r);
    return fail_here(r);
}

void reference_read(struct reference *r, const char *body, size_t size) {
    r->body = (const uint8_t *)body;
    r->size = size;
    r->at = r->count = r->pos = 0;
    r->code = PAUCIS_OK;
    if (!read_value(r, 0)) return;
    space(r);
    if (r->at < size) fail_here(r);
}

void reference_free(struct reference *r) { free(r->nodes); }
