/* AVX2 kernel: 64 bytes are two registers. */
#include "token/kernels.h"

#ifdef PAUCIS_TOKEN_X86
#include <immintrin.h>

struct lanes {
    __m256i a, b;
};
static inline __m256i eight(const int32_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
static inline struct lanes lanes_load(const int32_t *p) {
    return (struct lanes){eight(p), eight(p + 8)};
}
static inline struct lanes lanes_less(struct lanes a, struct lanes b) {
    return (struct lanes){_mm256_min_epi32(a.a, b.a), _mm256_min_epi32(a.b, b.b)};
}
static inline int32_t lanes_min(struct lanes l) {
    __m256i v = _mm256_min_epi32(l.a, l.b);
    __m128i x = _mm_min_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    x = _mm_min_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    x = _mm_min_epi32(x, _mm_shuffle_epi32(x, 0xb1));
    return _mm_cvtsi128_si32(x);
}
static inline uint32_t lanes_find(struct lanes l, int32_t x) {
    __m256i v = _mm256_set1_epi32(x);
    __m256 a = _mm256_castsi256_ps(_mm256_cmpeq_epi32(l.a, v));
    __m256 b = _mm256_castsi256_ps(_mm256_cmpeq_epi32(l.b, v));
    return (uint32_t)_mm256_movemask_ps(a) | (uint32_t)_mm256_movemask_ps(b) << 8;
}

static inline unsigned two_find(const uint64_t *line, __m256i key, __m256i bits) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)line);
    __m256i other = _mm256_and_si256(_mm256_xor_si256(v, key), bits);
    __m256i same = _mm256_cmpeq_epi64(other, _mm256_setzero_si256());
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(same));
}
static inline unsigned line_find(const uint64_t *line, uint64_t lo, uint64_t hi, uint64_t mask) {
    __m256i key = _mm256_set_epi64x((int64_t)hi, (int64_t)lo, (int64_t)hi, (int64_t)lo);
    __m256i bits = _mm256_set_epi64x((int64_t)mask, -1, (int64_t)mask, -1);
    unsigned same = two_find(line, key, bits) | two_find(line + 4, key, bits) << 4;
    return same & same >> 1 & 0x55;
}

static inline unsigned four_find(const uint64_t *line, __m256i key) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)line);
    __m256i same = _mm256_cmpeq_epi64(_mm256_srli_epi64(v, PAIR_BITS), key);
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(same));
}
static inline uint64_t pair_look(const uint64_t *line, uint64_t key) {
    __m256i k = _mm256_set1_epi64x((int64_t)key);
    unsigned same = four_find(line, k) | four_find(line + 4, k) << 4;
    return same ? line[__builtin_ctz(same)] : 0;
}

#include "token/count.h"

static inline uint64_t both(__m256i a, __m256i b) {
    return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}
static inline __m256i is_byte(__m256i v, char c) {
    return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}
/* Bytes first .. first + count - 1: moved to the low end of the signed range. */
static inline __m256i between(__m256i v, int first, int count) {
    __m256i moved = _mm256_sub_epi8(v, _mm256_set1_epi8((char)(first + 128)));
    return _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(count - 128)), moved);
}
static inline __m256i is_line(__m256i v) {
    return _mm256_or_si256(is_byte(v, '\n'), is_byte(v, '\r'));
}

static inline void window_look(const uint8_t *p, struct look *k) {
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    k->line = both(is_line(a), is_line(b));
    k->tab = both(between(a, '\t', 5), between(b, '\t', 5)) & ~k->line;
    k->space = both(is_byte(a, ' '), is_byte(b, ' '));
    k->upper = both(between(a, 'A', 26), between(b, 'A', 26));
    k->lower = both(between(a, 'a', 26), between(b, 'a', 26));
    k->digit = both(between(a, '0', 10), between(b, '0', 10));
    k->high = both(a, b);
    k->slash = both(is_byte(a, '/'), is_byte(b, '/'));
    k->quote = both(is_byte(a, '\''), is_byte(b, '\''));
}

/* All that CMakeLists.txt lets the compiler use here. */
static bool avx2_usable(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

TOKEN_KERNEL(paucis__token_avx2, "avx2", "64 bytes a step, x86-64 with AVX2", avx2_usable);
#endif
