/* See quote.h. Whoever uses this compares the result with what really stood there, so a style that
 * does not fit costs space and never truth. */
#include "quote.h"

#include <string.h>

/* The character at p, written in *n bytes; 0xffffffff if there is none. */
static uint32_t character(const unsigned char *p, size_t left, size_t *n) {
    unsigned char c = p[0];
    *n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (*n == 1) return c;
    if (*n == 0 || *n > left) {
        *n = 1;
        return UINT32_MAX;
    }
    uint32_t v = c & (0x7fu >> *n);
    for (size_t i = 1; i < *n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *n = 1;
            return UINT32_MAX;
        }
        v = v << 6 | (p[i] & 0x3fu);
    }
    return v;
}

/* What stands behind the backslash where two bytes are enough, else 0. */
static char letter(uint32_t c) {
    switch (c) {
    case '"':
    case '\\': return (char)c;
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
    }
}

static void escape(struct buf *b, uint32_t c) {
    if (letter(c))
        buf_add(b, (const char[]){'\\', letter(c)}, 2);
    else if (c >= 0x10000)
        buf_fmt(b, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
                (unsigned)(0xdc00 + ((c - 0x10000) & 0x3ff)));
    else
        buf_fmt(b, "\\u%04x", (unsigned)c);
}

static bool plain(uint32_t c, enum quote_style style) {
    if (c < 0x20 || c == '"' || c == '\\') return false;
    if (c < 0x80 || c == UINT32_MAX) return true;
    return style == QUOTE_RAW && (c & ~0x7ffu) != 0xd800;
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Eight bytes; the one that comes first is the lowest. */
static uint64_t load(const char *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* A mark in each byte that is below n. One above the lowest may be wrong, because of a carry. */
static uint64_t below(uint64_t v, unsigned n) {
    const uint64_t ones = 0x0101010101010101u;
    return (v - ones * n) & ~v & ones << 7;
}

/* How many bytes of a piece of JSON, from its beginning on, stand for themselves and are the same
 * in the text; n of both are there. */
static size_t same_plain(const char *was, const char *at, size_t n, enum quote_style style) {
    const uint64_t ones = 0x0101010101010101u, high = style == QUOTE_ASCII ? ones << 7 : 0;
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t w = load(was + i), stop = w ^ load(at + i);
        stop |= below(w, 0x20) | below(w ^ ones * '"', 1) | below(w ^ ones * '\\', 1) | (w & high);
        if (stop) return i + (unsigned)__builtin_ctzll(stop) / 8;
    }
    while (i < n && was[i] == at[i] && plain((unsigned char)was[i], style)) i++;
    return i;
}

bool quote_is(const char *at, size_t len, enum quote_style style, const char *was, size_t n) {
    char room[16];
    while (n > 0 && len > 0) {
        size_t same = same_plain(was, at, len < n ? len : n, style), wide;
        was += same, n -= same, at += same, len -= same;
        if (n == 0 || len == 0) break;
        if (n > 1 && was[0] == '\\' && was[1] == letter((unsigned char)at[0])) { /* nearly all */
            was += 2, n -= 2, at++, len--;
            continue;
        }
        struct buf one = {.data = room, .cap = sizeof room};
        uint32_t c = character((const unsigned char *)at, len, &wide);
        if (plain(c, style)) return false;
        escape(&one, c);
        if (one.len > n || memcmp(one.data, was, one.len) != 0) return false;
        was += one.len, n -= one.len, at += wide, len -= wide;
    }
    return n == 0 && len == 0;
}

void quote(struct buf *b, const char *at, size_t len, enum quote_style style) {
    const unsigned char *p = (const unsigned char *)at;
    size_t from = 0, i = 0, n;
    while (i < len) {
        if (p[i] < 0x80 && plain(p[i], style)) { /* nearly all of it */
            i++;
            continue;
        }
        uint32_t c = character(p + i, len - i, &n);
        if (!plain(c, style)) {
            buf_add(b, at + from, i - from);
            escape(b, c);
            from = i + n;
        }
        i += n;
    }
    buf_add(b, at + from, len - from);
}
