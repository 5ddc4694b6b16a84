/* The portable kernel: each byte's class is looked up, one bit a class, and a square of 8 by 8 bits
 * is turned at a time. Also home of the list of kernels. */
#include <string.h>

#include "token/kernels.h"

struct lanes {
    int32_t v[16];
};
static inline struct lanes lanes_load(const int32_t *p) {
    struct lanes l;
    memcpy(&l, p, sizeof l);
    return l;
}
static inline struct lanes lanes_less(struct lanes a, struct lanes b) {
    for (size_t i = 0; i < 16; i++) a.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
    return a;
}
static inline int32_t lanes_min(struct lanes l) {
    int32_t low = l.v[0];
    for (size_t i = 1; i < 16; i++) low = l.v[i] < low ? l.v[i] : low;
    return low;
}
static inline uint32_t lanes_find(struct lanes l, int32_t x) {
    uint32_t mask = 0;
    for (unsigned i = 0; i < 16; i++) mask |= (uint32_t)(l.v[i] == x) << i;
    return mask;
}

static inline unsigned line_find(const uint64_t *line, uint64_t lo, uint64_t hi, uint64_t mask) {
    unsigned same = 0;
    for (unsigned i = 0; i < 8; i += 2)
        same |= (unsigned)(((line[i] ^ lo) | ((line[i + 1] ^ hi) & mask)) == 0) << i;
    return same;
}

static inline uint64_t pair_look(const uint64_t *line, uint64_t key) {
    for (unsigned i = 0; i < PAIR_LINE && line[i]; i++)
        if (line[i] >> PAIR_BITS == key) return line[i];
    return 0;
}

#include "token/count.h"

/* Bits of a class. A blank other than the space has the bits of a space and of a line end. */
enum { UPPER = 1, LOWER = 2, DIGIT = 4, SPACE = 8, LINE = 16, HIGH = 32, SLASH = 64, QUOTE = 128 };

#define R4(x) x, x, x, x
#define R16(x) R4(x), R4(x), R4(x), R4(x)
static const uint8_t classes[256] = {['\t'] = SPACE | LINE,
                                     ['\v'] = SPACE | LINE,
                                     ['\f'] = SPACE | LINE,
                                     ['\n'] = LINE,
                                     ['\r'] = LINE,
                                     [' '] = SPACE,
                                     ['/'] = SLASH,
                                     ['\''] = QUOTE,
                                     ['0'] = R4(DIGIT),
                                     R4(DIGIT),
                                     DIGIT,
                                     DIGIT,
                                     ['A'] = R16(UPPER),
                                     R4(UPPER),
                                     R4(UPPER),
                                     UPPER,
                                     UPPER,
                                     ['a'] = R16(LOWER),
                                     R4(LOWER),
                                     R4(LOWER),
                                     LOWER,
                                     LOWER,
                                     [128] = R16(HIGH),
                                     R16(HIGH),
                                     R16(HIGH),
                                     R16(HIGH),
                                     R16(HIGH),
                                     R16(HIGH),
                                     R16(HIGH),
                                     R16(HIGH)};

/* Byte i of x becomes bit i of every byte: Hacker's Delight's three swaps. */
static inline uint64_t turn(uint64_t x) {
    uint64_t t = (x ^ x >> 7) & UINT64_C(0x00aa00aa00aa00aa);
    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & UINT64_C(0x0000cccc0000cccc);
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & UINT64_C(0x00000000f0f0f0f0);
    return x ^ t ^ t << 28;
}

static inline void window_look(const uint8_t *p, struct look *k) {
    uint64_t m[8] = {0};
    for (size_t i = 0; i < WINDOW; i += 8) {
        uint64_t x = 0;
        for (size_t b = 0; b < 8; b++) x |= (uint64_t)classes[p[i + b]] << 8 * b;
        x = turn(x);
        for (size_t b = 0; b < 8; b++) m[b] |= (x >> 8 * b & 255) << i;
    }
    *k = (struct look){.upper = m[0],
                       .lower = m[1],
                       .digit = m[2],
                       .space = m[3] & ~m[4],
                       .tab = m[3] & m[4],
                       .line = m[4] & ~m[3],
                       .high = m[5],
                       .slash = m[6],
                       .quote = m[7]};
}

static bool portable_usable(void) { return true; }

TOKEN_KERNEL(paucis__token_portable, "portable", "one byte a step, any machine", portable_usable);

const struct token_kernel *const paucis__token_kernels[] = {
#ifdef PAUCIS_TOKEN_X86
    &paucis__token_avx512, &paucis__token_avx2,
#endif
#ifdef PAUCIS_TOKEN_NEON
    &paucis__token_neon,
#endif
    &paucis__token_portable, NULL};

const struct token_kernel *paucis__token_best_kernel(void) {
    const struct token_kernel *const *k = paucis__token_kernels;
    while (!(*k)->usable()) k++;
    return *k;
}
