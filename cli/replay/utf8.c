/* Characters: the measure counts code points, not bytes, and its patterns know the white space and
 * the digits of all scripts. A lone surrogate, which decoded JSON may hold in three bytes, is one
 * character. */
#define _GNU_SOURCE /* memmem */
#include "replay/replay.h"

#include <string.h>

bool str_eq(struct str a, struct str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

struct str str_of(const char *s) {
    return (struct str){s, s ? strlen(s) : 0};
}

bool str_is(struct str a, const char *b) { return str_eq(a, str_of(b)); }

const char *str_find(struct str in, struct str what) {
    return in.len < what.len ? NULL : memmem(in.at, in.len, what.at, what.len);
}

static bool begins(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

size_t utf8_count(struct str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += begins(s.at[i]);
    return n;
}

size_t utf8_offset(struct str s, size_t chars) {
    size_t i = 0;
    for (; i < s.len; i++)
        if (begins(s.at[i]) && chars-- == 0) break;
    return i;
}

size_t utf8_offset_back(struct str s, size_t chars) {
    size_t i = s.len;
    while (i > 0 && chars > 0)
        if (begins(s.at[--i])) chars--;
    return i;
}

bool utf8_at_least(struct str s, size_t chars) {
    if (s.len < chars) return false;
    return s.len >= 4 * chars || utf8_count(s) >= chars;
}

unsigned utf8_at(const char *s, const char *end, size_t *len) {
    const unsigned char *p = (const unsigned char *)s;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n > (size_t)(end - s)) n = 1;
    *len = n;
    switch (n) {
    case 2: return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    case 3: return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    case 4:
        return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
    default: return p[0];
    }
}

bool is_space(unsigned c) {
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* The zeros of all scripts; nine digits follow each. The mathematical digits are five rows. */
static const unsigned zeros[] = {
    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,   0xc66,
    0xce6,   0xd66,   0xde6,   0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,  0x1810,
    0x1946,  0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,  0xa8d0,
    0xa900,  0xa9d0,  0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066, 0x110f0,
    0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
    0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec,
    0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0};

bool is_digit(unsigned c) {
    if (c < 0x80) return c >= '0' && c <= '9';
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros && zeros[i] <= c; i++)
        if (c - zeros[i] < 10) return true;
    return false;
}

/* Letters, digits and the underscore. Beyond Latin this takes whole blocks: it only matters for
 * file names in front of a line number. */
bool is_word(unsigned c) {
    if (c < 0x80) return c == '_' || is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z');
    if (c < 0xc0)
        return c == 0xaa || c == 0xb2 || c == 0xb3 || c == 0xb5 || c == 0xb9 || c == 0xba ||
               (c >= 0xbc && c <= 0xbe);
    if (c == 0xd7 || c == 0xf7) return false;
    if (c >= 0x2000 && c < 0x2c00) return false; /* punctuation, arrows, boxes, symbols */
    if (c >= 0x3000 && c < 0x3005) return false;
    if (c >= 0x3008 && c < 0x3021) return false;
    return c < 0xd800 || (c >= 0xf900 && c < 0xfe00) ||
           (c >= 0xff10 && c < 0x1f000 && !(c >= 0xff1a && c <= 0xff20)) ||
           (c >= 0x20000 && c < 0x32000);
}

struct str strip(struct str s) {
    const char *from = s.at, *end = s.at + s.len;
    size_t n;
    while (from < end && is_space(utf8_at(from, end, &n))) from += n;
    while (end > from) {
        const char *last = end - 1;
        while (last > from && !begins(*last)) last--;
        if (!is_space(utf8_at(last, end, &n))) break;
        end = last;
    }
    return (struct str){from, (size_t)(end - from)};
}
