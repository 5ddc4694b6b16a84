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

static void escape(struct buf *b, uint32_t c) {
    static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    const char *at = c && c < 0x80 ? strchr(values, (int)c) : NULL;
    if (at)
        buf_add(b, (const char[]){'\\', names[at - values]}, 2);
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

/* Goes along the escapes of `was`; between them both must be the same. */
bool quote_is(const char *at, size_t len, enum quote_style style, const char *was, size_t n) {
    char room[16];
    while (n > 0) {
        const char *next = memchr(was, '\\', n);
        size_t same = next ? (size_t)(next - was) : n, wide;
        if (same > len || memcmp(was, at, same) != 0) return false;
        unsigned char odd = 0, high = style == QUOTE_ASCII ? 0x80 : 0;
        for (size_t i = 0; i < same; i++) { /* what would have been escaped; without a branch */
            unsigned char c = (unsigned char)was[i];
            odd |= (unsigned char)((c < 0x20) | (c == '"') | (c & high));
        }
        if (odd) return false;
        was += same, n -= same, at += same, len -= same;
        if (n == 0) break;
        struct buf one = {.data = room, .cap = sizeof room};
        if (len == 0) return false;
        uint32_t c = character((const unsigned char *)at, len, &wide);
        if (plain(c, style)) return false;
        escape(&one, c);
        if (one.len > n || memcmp(one.data, was, one.len) != 0) return false;
        was += one.len, n -= one.len, at += wide, len -= wide;
    }
    return len == 0;
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
