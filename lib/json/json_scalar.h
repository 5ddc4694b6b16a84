/* Strings one byte at a time: the definition that every kernel is measured against, and the one
 * that knows what is wrong with a bad string. */
#ifndef PAUCIS_JSON_SCALAR_H
#define PAUCIS_JSON_SCALAR_H

#include "json/json.h"

/* ---- eight bytes in a word ----------------------------------------------------------------- */

#define WORD_ONES 0x0101010101010101ULL
#define WORD_HIGHS 0x8080808080808080ULL

/* High bit set in each byte that is zero; exact up to the first one, which is all that is asked. */
static inline uint64_t word_zeroes(uint64_t w) { return (w - WORD_ONES) & ~w & WORD_HIGHS; }

/* Bytes that a JSON string must escape: quote, backslash, control. Exact up to the first. */
static inline uint64_t word_quotable(uint64_t w) {
    uint64_t control = (w - WORD_ONES * 0x20) & ~w & WORD_HIGHS;
    return word_zeroes(w ^ WORD_ONES * '"') | word_zeroes(w ^ WORD_ONES * '\\') | control;
}

/* How many bytes come before the first marked one; a big-endian machine looks at each. */
static inline size_t word_first(uint64_t marks) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll(marks) / 8;
#else
    (void)marks;
    return 0;
#endif
}

/* ---- bytes --------------------------------------------------------------------------------- */

static inline int json_hex(uint8_t c) {
    if ((uint8_t)(c - '0') < 10) return c - '0';
    c |= 0x20;
    return (uint8_t)(c - 'a') < 6 ? c - 'a' + 10 : -1;
}

/* Four hex digits at p, or -1. */
static inline int json_hex4(const uint8_t *p) {
    int a = json_hex(p[0]), b = json_hex(p[1]), c = json_hex(p[2]), d = json_hex(p[3]);
    return (a | b | c | d) < 0 ? -1 : a << 12 | b << 8 | c << 4 | d;
}

/* Length of the UTF-8 sequence at p with n bytes left, 0 if it is not one (RFC 3629). */
static inline size_t utf8_len(const uint8_t *p, size_t n) {
    uint8_t c = p[0];
    if (c < 0x80) return 1;
    size_t len = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (!len || n < len) return 0;
    if (c == 0xe0 && p[1] < 0xa0) return 0; /* overlong */
    if (c == 0xed && p[1] > 0x9f) return 0; /* surrogate */
    if (c == 0xf0 && p[1] < 0x90) return 0; /* overlong */
    if (c == 0xf4 && p[1] > 0x8f) return 0; /* above U+10FFFF */
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return len;
}

/* Steps over what stands at p inside a string: one character or one escape. Returns its length, or
 * 0 and the reason. */
static inline size_t json_step(const uint8_t *p, size_t n, unsigned *flags, const char **why) {
    if (p[0] != '\\') {
        if (p[0] < 0x20) return *why = "control character in a string", 0;
        size_t len = utf8_len(p, n);
        if (!len) *why = "invalid UTF-8";
        return len;
    }
    *flags |= STRING_ESCAPED;
    if (n < 2) return *why = "unterminated string", 0;
    switch (p[1]) {
    case '"':
    case '\\':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': return 2;
    case '/': *flags |= STRING_UNUSUAL; return 2;
    case 'u':
        *flags |= STRING_UNUSUAL;
        if (n >= 6 && json_hex4(p + 2) >= 0) return 6;
        return *why = "invalid \\u escape", 0;
    default: return *why = "invalid escape", 0;
    }
}

/* First defect of the string whose inside begins at `from`, and what it is. */
static inline size_t json_string_defect(const uint8_t *body, size_t from, size_t size,
                                        const char **why) {
    unsigned flags = 0;
    size_t i = from;
    while (i < size && body[i] != '"') {
        size_t step = json_step(body + i, size - i, &flags, why);
        if (!step) return i;
        i += step;
    }
    *why = "unterminated string";
    return i;
}

#endif
