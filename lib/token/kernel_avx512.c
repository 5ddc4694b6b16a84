/* AVX-512 kernel: 64 bytes are one register, and a comparison gives the mask. */
#include "token/kernels.h"

#ifdef PAUCIS_TOKEN_X86
#include <immintrin.h>

struct lanes {
    __m512i v;
};
static inline struct lanes lanes_load(const int32_t *p) {
    return (struct lanes){_mm512_loadu_si512(p)};
}
static inline struct lanes lanes_less(struct lanes a, struct lanes b) {
    return (struct lanes){_mm512_min_epi32(a.v, b.v)};
}
static inline int32_t lanes_min(struct lanes l) { return _mm512_reduce_min_epi32(l.v); }
static inline uint32_t lanes_find(struct lanes l, int32_t x) {
    return _mm512_cmpeq_epi32_mask(l.v, _mm512_set1_epi32(x));
}

static inline unsigned line_find(const uint64_t *line, uint64_t lo, uint64_t hi, uint64_t mask) {
    __m512i key = _mm512_broadcast_i32x4(_mm_set_epi64x((int64_t)hi, (int64_t)lo));
    __m512i bits = _mm512_broadcast_i32x4(_mm_set_epi64x((int64_t)mask, -1));
    unsigned other = _mm512_test_epi64_mask(_mm512_xor_si512(_mm512_loadu_si512(line), key), bits);
    return ~(other | other >> 1) & 0x55;
}

static inline uint64_t pair_look(const uint64_t *line, uint64_t key) {
    __m512i v = _mm512_loadu_si512(line);
    __mmask8 same =
        _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(v, PAIR_BITS), _mm512_set1_epi64((int64_t)key));
    return (uint64_t)_mm_cvtsi128_si64(
        _mm512_castsi512_si128(_mm512_maskz_compress_epi64(same, v)));
}

#include "token/count.h"

static inline uint64_t between(__m512i v, char first, char count) {
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(first)),
                                  _mm512_set1_epi8(count));
}
static inline uint64_t is_byte(__m512i v, char c) {
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(c));
}

static inline void window_look(const uint8_t *p, struct look *k) {
    __m512i v = _mm512_loadu_si512(p);
    uint64_t control = between(v, '\t', 5);
    k->line = is_byte(v, '\n') | is_byte(v, '\r');
    k->tab = control & ~k->line;
    k->space = is_byte(v, ' ');
    k->upper = between(v, 'A', 26);
    k->lower = between(v, 'a', 26);
    k->digit = between(v, '0', 10);
    k->high = _mm512_movepi8_mask(v);
    k->slash = is_byte(v, '/');
    k->quote = is_byte(v, '\'');
}

/* All that CMakeLists.txt lets the compiler use here. */
static bool avx512_usable(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

TOKEN_KERNEL(paucis__token_avx512, "avx512", "64 bytes a step, x86-64 with AVX-512 BW",
             avx512_usable);
#endif
