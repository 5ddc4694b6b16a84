/* Classes of code points, as far as split patterns tell them apart, and reading one code point. The
 * tables are made from data/unicode.txt by gen/tables.c. */
#ifndef PAUCIS_UNICODE_H
#define PAUCIS_UNICODE_H

#include <stddef.h>
#include <stdint.h>

enum unicode_class {                 /* in the order of scripts/token-unicode */
                     CLASS_OTHER,    /* unassigned, control, private */
                     CLASS_SIGN,     /* P, S */
                     CLASS_UPPER,    /* Lu, Lt */
                     CLASS_LOWER,    /* Ll */
                     CLASS_CASELESS, /* Lm, Lo */
                     CLASS_MARK,     /* M */
                     CLASS_NUMBER,   /* N */
                     CLASS_SPACE     /* White_Space */
};

#define UNICODE_BLOCK 128
extern const uint8_t paucis__unicode_index[0x110000 / UNICODE_BLOCK];
extern const uint8_t paucis__unicode_blocks[][UNICODE_BLOCK / 2];

/* Four bits of a code point: its class, and above it whether it may change or join what stands
 * before it in normalisation form C. */
static inline unsigned unicode_bits(uint32_t c) {
    uint8_t two =
        paucis__unicode_blocks[paucis__unicode_index[c / UNICODE_BLOCK]][c % UNICODE_BLOCK / 2];
    return two >> c % 2 * 4 & 15;
}
static inline enum unicode_class unicode_class(uint32_t c) {
    return (enum unicode_class)(unicode_bits(c) & 7);
}
static inline int unicode_may_combine(uint32_t c) { return (int)(unicode_bits(c) >> 3); }

/* A code point and its length. Bytes that are not UTF-8 stand for themselves, one at a time. */
struct point {
    uint32_t c;
    uint8_t len;
    uint8_t class;
};

#define POINT_END UINT32_MAX /* c past the end of the text; its class is OTHER and its length 0 */

/* Length of the well-formed sequence at p, 0 if there is none. */
static inline size_t utf8_len(const uint8_t *p, size_t n) {
    static const uint8_t least[] = {0, 0, 0x80, 0xa0, 0x90}; /* of the second byte, after e0, f0 */
    uint8_t c = p[0];
    if (c < 0x80) return 1;
    size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || n < len) return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((c == 0xe0 || c == 0xf0) && p[1] < least[len]) return 0;
    if ((c == 0xed && p[1] > 0x9f) || (c == 0xf4 && p[1] > 0x8f)) return 0;
    return len;
}

static inline struct point point_at(const uint8_t *p, const uint8_t *end) {
    if (p >= end) return (struct point){POINT_END, 0, CLASS_OTHER};
    if (*p < 0x80) return (struct point){*p, 1, (uint8_t)unicode_class(*p)};
    size_t len = utf8_len(p, (size_t)(end - p));
    if (!len) return (struct point){UINT32_MAX - 1, 1, CLASS_OTHER};
    uint32_t c = *p & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) c = c << 6 | (p[i] & 0x3f);
    return (struct point){c, (uint8_t)len, (uint8_t)unicode_class(c)};
}

#endif
