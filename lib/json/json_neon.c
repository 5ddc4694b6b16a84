/* NEON kernel: 64 bytes are four registers; a mask is made by keeping one bit of each byte and
 * adding neighbours three times. */
#include "json/json_kernels.h"

#ifdef PAUCIS_JSON_NEON
#include <arm_neon.h>

static inline uint64_t mask_of(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    const uint8x16_t bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t ab = vpaddq_u8(vandq_u8(a, bit), vandq_u8(b, bit));
    uint8x16_t cd = vpaddq_u8(vandq_u8(c, bit), vandq_u8(d, bit));
    uint8x16_t all = vpaddq_u8(ab, cd);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

#define MASK(p, test)                                                              \
    mask_of(test(vld1q_u8(p)), test(vld1q_u8((p) + 16)), test(vld1q_u8((p) + 32)), \
            test(vld1q_u8((p) + 48)))

static inline uint8x16_t is_quote(uint8x16_t v) { return vceqq_u8(v, vdupq_n_u8('"')); }
static inline uint8x16_t is_slash(uint8x16_t v) { return vceqq_u8(v, vdupq_n_u8('\\')); }
static inline uint8x16_t is_control(uint8x16_t v) { return vcltq_u8(v, vdupq_n_u8(0x20)); }
static inline uint8x16_t is_high(uint8x16_t v) { return vcgeq_u8(v, vdupq_n_u8(0x80)); }

static inline uint8x16_t lookup(const uint8_t *table, uint8x16_t index) {
    return vqtbl1q_u8(vld1q_u8(table), index);
}
static inline uint8x16_t low_nibble(uint8x16_t v) { return vandq_u8(v, vdupq_n_u8(15)); }
static inline uint8x16_t high_nibble(uint8x16_t v) { return vshrq_n_u8(v, 4); }

static inline uint8x16_t is_letter(uint8x16_t v) {
    return vtstq_u8(lookup(json_letter_low, low_nibble(v)),
                    lookup(json_letter_high, high_nibble(v)));
}

static inline void block_classes(const uint8_t *p, struct block_classes *c) {
    c->quote = MASK(p, is_quote);
    c->slash = MASK(p, is_slash);
    c->control = MASK(p, is_control);
    c->high = MASK(p, is_high);
    c->letter = MASK(p, is_letter);
}

static inline uint8x16_t utf8_error(const uint8_t *p) {
    uint8x16_t v = vld1q_u8(p), p1 = vld1q_u8(p - 1);
    uint8x16_t pairs = vandq_u8(
        vandq_u8(lookup(utf8_first_high, high_nibble(p1)), lookup(utf8_first_low, low_nibble(p1))),
        lookup(utf8_second_high, high_nibble(v)));
    uint8x16_t third = vqsubq_u8(vld1q_u8(p - 2), vdupq_n_u8(UTF8_THIRD));
    uint8x16_t fourth = vqsubq_u8(vld1q_u8(p - 3), vdupq_n_u8(UTF8_FOURTH));
    uint8x16_t wrong = veorq_u8(pairs, vandq_u8(vorrq_u8(third, fourth), vdupq_n_u8(0x80)));
    return vtstq_u8(wrong, wrong);
}

static inline uint64_t block_utf8_errors(const uint8_t *p) {
    return mask_of(utf8_error(p), utf8_error(p + 16), utf8_error(p + 32), utf8_error(p + 48));
}

#include "json/json_block.h"

static bool neon_usable(void) { return true; } /* part of every AArch64 machine */

const struct json_kernel paucis__json_neon = {.name = "neon",
                                              .summary = "64 bytes a step, AArch64",
                                              .usable = neon_usable,
                                              .string_end = block_string_end};
#endif
