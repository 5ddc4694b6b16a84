/* The portable kernel: 8 bytes of plain text at a time in a 64-bit word, everything else by the
 * scalar steps. Also home of the list of kernels. */
#include "json/json_kernels.h"
#include "json/json_scalar.h"

#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL

/* High bit set in each byte that is zero; exact up to the first one, which is all that is asked. */
static inline uint64_t zero_bytes(uint64_t w) { return (w - ONES) & ~w & HIGHS; }

/* Bytes that are not plain text: quote, backslash, control, non-ASCII. Exact up to the first. */
static inline uint64_t special_bytes(uint64_t w) {
    uint64_t control = (w - ONES * 0x20) & ~w;
    return (zero_bytes(w ^ ONES * '"') | zero_bytes(w ^ ONES * '\\') | control | w) & HIGHS;
}

static size_t portable_string_end(const uint8_t *body, size_t from, size_t size, unsigned *flags) {
    const char *why;
    size_t i = from;
    for (;;) {
        while (size - i >= 8) {
            uint64_t w;
            memcpy(&w, body + i, 8);
            w = special_bytes(w);
            if (w) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
                i += (size_t)__builtin_ctzll(w) / 8;
#endif
                break;
            }
            i += 8;
        }
        if (i >= size) return size;
        if (body[i] == '"') return i;
        size_t step = json_step(body + i, size - i, flags, &why);
        if (!step) return size;
        i += step;
    }
}

static bool portable_usable(void) { return true; }

const struct json_kernel paucis__json_portable = {.name = "portable",
                                              .summary = "8 bytes a step, any machine",
                                              .usable = portable_usable,
                                              .string_end = portable_string_end};

const struct json_kernel *const paucis__json_kernels[] = {
#ifdef PAUCIS_JSON_AVX512
    &paucis__json_avx512,
#endif
#ifdef PAUCIS_JSON_AVX2
    &paucis__json_avx2,
#endif
#ifdef PAUCIS_JSON_NEON
    &paucis__json_neon,
#endif
    &paucis__json_portable, NULL};

const struct json_kernel *paucis__json_best_kernel(void) {
    const struct json_kernel *const *k = paucis__json_kernels;
    while (!(*k)->usable()) k++;
    return *k;
}
