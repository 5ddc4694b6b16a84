/* NEON kernel: 64 bytes are four registers; a mask is made by keeping one bit of each byte and
 * adding neighbours three times. */
#include "token/kernels.h"

#ifdef PAUCIS_TOKEN_NEON
#include <arm_neon.h>

struct lanes {
    int32x4_t v[4];
};
static inline struct lanes lanes_load(const int32_t *p) {
    return (struct lanes){{vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)}};
}
static inline struct lanes lanes_less(struct lanes a, struct lanes b) {
    for (unsigned k = 0; k < 4; k++) a.v[k] = vminq_s32(a.v[k], b.v[k]);
    return a;
}
static inline int32_t lanes_min(struct lanes l) {
    return vminvq_s32(vminq_s32(vminq_s32(l.v[0], l.v[1]), vminq_s32(l.v[2], l.v[3])));
}
static inline uint32_t lanes_find(struct lanes l, int32_t x) {
    const uint32x4_t bit = {1, 2, 4, 8};
    uint32_t mask = 0;
    for (unsigned k = 0; k < 4; k++)
        mask |= vaddvq_u32(vandq_u32(vceqq_s32(l.v[k], vdupq_n_s32(x)), bit)) << 4 * k;
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

static inline uint64_t mask_of(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    const uint8x16_t bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t ab = vpaddq_u8(vandq_u8(a, bit), vandq_u8(b, bit));
    uint8x16_t cd = vpaddq_u8(vandq_u8(c, bit), vandq_u8(d, bit));
    uint8x16_t all = vpaddq_u8(ab, cd);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

struct four {
    uint8x16_t v[4];
};

static inline uint64_t between(const struct four *f, uint8_t first, uint8_t count) {
    uint8x16_t from = vdupq_n_u8(first), n = vdupq_n_u8(count);
    return mask_of(vcltq_u8(vsubq_u8(f->v[0], from), n), vcltq_u8(vsubq_u8(f->v[1], from), n),
                   vcltq_u8(vsubq_u8(f->v[2], from), n), vcltq_u8(vsubq_u8(f->v[3], from), n));
}

static inline void window_look(const uint8_t *p, struct look *k) {
    struct four f = {{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
    k->line = between(&f, '\n', 1) | between(&f, '\r', 1);
    k->tab = between(&f, '\t', 5) & ~k->line;
    k->space = between(&f, ' ', 1);
    k->upper = between(&f, 'A', 26);
    k->lower = between(&f, 'a', 26);
    k->digit = between(&f, '0', 10);
    k->high = between(&f, 0x80, 0x80);
    k->slash = between(&f, '/', 1);
    k->quote = between(&f, '\'', 1);
}

static bool neon_usable(void) { return true; } /* part of every AArch64 machine */

TOKEN_KERNEL(paucis__token_neon, "neon", "64 bytes a step, AArch64", neon_usable);
#endif
