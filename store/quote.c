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
        buf_fmt(b, "\\%c", names[at - values]);
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

void quote(struct buf *b, const char *at, size_t len, enum quote_style style) {
    const unsigned char *p = (const unsigned char *)at;
    size_t from = 0, i = 0, n;
    while (i < len) {
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
