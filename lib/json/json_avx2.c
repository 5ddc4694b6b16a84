/* AVX2 kernel: 64 bytes are two registers. */
#include "json/json_kernels.h"

#ifdef PAUCIS_JSON_AVX2
#include <immintrin.h>

static inline __m256i half(const uint8_t *p, int i) {
    return _mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * i));
}
static inline uint64_t both(__m256i a, __m256i b) {
    return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

static inline __m256i lookup(const uint8_t *table, __m256i index) {
    __m256i t = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
    return _mm256_shuffle_epi8(t, index);
}

static inline __m256i low_nibble(__m256i v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
static inline __m256i high_nibble(__m256i v) { return low_nibble(_mm256_srli_epi16(v, 4)); }
static inline __m256i is_zero(__m256i v) { return _mm256_cmpeq_epi8(v, _mm256_setzero_si256()); }
static inline __m256i is_byte(__m256i v, char c) {
    return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}

static inline __m256i is_low(__m256i v) { return _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), v); }
static inline __m256i is_letter(__m256i v) { return _mm256_cmpeq_epi8(v, lookup(json_letters, v)); }

static inline void block_classes(const uint8_t *p, struct block_classes *c) {
    __m256i a = half(p, 0), b = half(p, 1);
    c->quote = both(is_byte(a, '"'), is_byte(b, '"'));
    c->slash = both(is_byte(a, '\\'), is_byte(b, '\\'));
    c->low = both(is_low(a), is_low(b));
    c->letter = both(is_letter(a), is_letter(b));
}

static inline uint64_t block_high(const uint8_t *p) { return both(half(p, 0), half(p, 1)); }

static inline __m256i utf8_ok(const uint8_t *p, int i) {
    __m256i v = half(p, i), p1 = half(p - 1, i);
    __m256i pairs = _mm256_and_si256(_mm256_and_si256(lookup(utf8_first_high, high_nibble(p1)),
                                                      lookup(utf8_first_low, low_nibble(p1))),
                                     lookup(utf8_second_high, high_nibble(v)));
    __m256i third = _mm256_subs_epu8(half(p - 2, i), _mm256_set1_epi8(UTF8_THIRD));
    __m256i fourth = _mm256_subs_epu8(half(p - 3, i), _mm256_set1_epi8(UTF8_FOURTH));
    __m256i more = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return is_zero(_mm256_xor_si256(pairs, more));
}

static inline uint64_t block_utf8_errors(const uint8_t *p) {
    return ~both(utf8_ok(p, 0), utf8_ok(p, 1));
}

#include "json/json_block.h"
#include "json/json_reader.h"

static inline __m256i is_stop(__m256i v) { return _mm256_or_si256(is_byte(v, '\\'), is_low(v)); }

static inline bool window_look(const uint8_t *p, struct window *w) {
    __m256i a = half(p, 0), b = half(p, 1);
    w->quote = both(is_byte(a, '"'), is_byte(b, '"'));
    w->stop = w->quote | both(is_stop(a), is_stop(b));
    return true;
}

/* All that CMakeLists.txt lets the compiler use here. */
static bool avx2_usable(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

const struct json_kernel paucis__json_avx2 = {.name = "avx2",
                                              .summary = "64 bytes a step, x86-64 with AVX2",
                                              .usable = avx2_usable,
                                              .string_end = kernel_string_end,
                                              .read = reader_document};
#endif
