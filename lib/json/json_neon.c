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
static inline uint8x16_t is_low(uint8x16_t v) {
    return vcltq_s8(vreinterpretq_s8_u8(v), vdupq_n_s8(0x20));
}
static inline uint8x16_t is_high(uint8x16_t v) { return vcgeq_u8(v, vdupq_n_u8(0x80)); }

static inline uint8x16_t lookup(const uint8_t *table, uint8x16_t index) {
    return vqtbl1q_u8(vld1q_u8(table), index);
}
static inline uint8x16_t low_nibble(uint8x16_t v) { return vandq_u8(v, vdupq_n_u8(15)); }
static inline uint8x16_t high_nibble(uint8x16_t v) { return vshrq_n_u8(v, 4); }

static inline uint8x16_t is_letter(uint8x16_t v) {
    return vceqq_u8(v, lookup(json_letters, low_nibble(v)));
}

static inline void block_classes(const uint8_t *p, struct block_classes *c) {
    c->quote = MASK(p, is_quote);
    c->slash = MASK(p, is_slash);
    c->low = MASK(p, is_low);
    c->letter = MASK(p, is_letter);
}

static inline uint64_t block_high(const uint8_t *p) { return MASK(p, is_high); }

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
#include "json/json_reader.h"

static inline uint8x16_t is_stop(uint8x16_t v) { return vorrq_u8(is_slash(v), is_low(v)); }

static inline bool window_look(const uint8_t *p, struct window *w) {
    w->quote = MASK(p, is_quote);
    w->stop = w->quote | MASK(p, is_stop);
    return true;
}

static bool neon_usable(void) { return true; } /* part of every AArch64 machine */

const struct json_kernel paucis__json_neon = {.name = "neon",
                                              .summary = "64 bytes a step, AArch64",
                                              .usable = neon_usable,
                                              .string_end = kernel_string_end,
                                              .read = reader_document};
#endif
