/* AVX-512 kernel (BW + VL): 64 bytes are one register, a comparison is a mask. */
#include "json/json_kernels.h"

#ifdef PAUCIS_JSON_AVX512
#include <immintrin.h>

static inline __m512i block_load(const uint8_t *p) { return _mm512_loadu_si512((const void *)p); }

static inline __m512i lookup(const uint8_t *table, __m512i index) {
    __m512i t = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table));
    return _mm512_shuffle_epi8(t, index);
}

static inline __m512i low_nibble(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
static inline __m512i high_nibble(__m512i v) { return low_nibble(_mm512_srli_epi16(v, 4)); }

/* A mask in a general register, at once: left to itself gcc does the bit arithmetic that follows in
 * mask registers, each step of which costs three cycles more. */
static inline uint64_t bits(__mmask64 k) {
    uint64_t x = _cvtmask64_u64(k);
    __asm__("" : "+r"(x));
    return x;
}

static inline void block_classes(const uint8_t *p, struct block_classes *c) {
    __m512i v = block_load(p);
    c->quote = bits(_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"')));
    c->slash = bits(_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\')));
    c->low = bits(_mm512_cmplt_epi8_mask(v, _mm512_set1_epi8(0x20)));
    c->letter = bits(_mm512_cmpeq_epi8_mask(v, lookup(json_letters, v)));
}

static inline uint64_t block_high(const uint8_t *p) {
    return bits(_mm512_movepi8_mask(block_load(p)));
}

static inline uint64_t block_utf8_errors(const uint8_t *p) {
    __m512i v = block_load(p), p1 = block_load(p - 1);
    __m512i pairs = _mm512_and_si512(_mm512_and_si512(lookup(utf8_first_high, high_nibble(p1)),
                                                      lookup(utf8_first_low, low_nibble(p1))),
                                     lookup(utf8_second_high, high_nibble(v)));
    __m512i third = _mm512_subs_epu8(block_load(p - 2), _mm512_set1_epi8(UTF8_THIRD));
    __m512i fourth = _mm512_subs_epu8(block_load(p - 3), _mm512_set1_epi8(UTF8_FOURTH));
    __m512i more = _mm512_and_si512(_mm512_or_si512(third, fourth), _mm512_set1_epi8((char)0x80));
    return _mm512_test_epi8_mask(_mm512_xor_si512(pairs, more), _mm512_set1_epi8((char)0xff));
}

#include "json/json_block.h"
#include "json/json_reader.h"

static inline bool window_look(const uint8_t *p, struct window *w) {
    __m512i v = block_load(p);
    w->quote = bits(_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"')));
    w->stop = w->quote | bits(_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\'))) |
              bits(_mm512_cmplt_epi8_mask(v, _mm512_set1_epi8(0x20)));
    return true;
}

static bool avx512_usable(void) { /* all that CMakeLists.txt lets the compiler use here */
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

const struct json_kernel paucis__json_avx512 = {.name = "avx512",
                                                .summary = "64 bytes a step, x86-64 with AVX-512BW",
                                                .usable = avx512_usable,
                                                .string_end = kernel_string_end,
                                                .read = reader_document};
#endif
