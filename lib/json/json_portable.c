/* The portable kernel: 8 bytes of plain text at a time in a 64-bit word, everything else by the
 * scalar steps. Also home of the list of kernels. */
#include "json/json_kernels.h"
#include "json/json_scalar.h"

static size_t kernel_string_end(const uint8_t *body, size_t from, size_t size, unsigned *flags) {
    const char *why;
    size_t i = from;
    for (;;) {
        while (size - i >= 8) {
            uint64_t w;
            memcpy(&w, body + i, 8);
            w = (word_quotable(w) | w) & WORD_HIGHS;
            if (w) {
                i += word_first(w);
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

#include "json/json_reader.h"

static inline bool window_look(const uint8_t *p, struct window *w) {
    (void)p;
    (void)w;
    return false;
}

static bool portable_usable(void) { return true; }

const struct json_kernel paucis__json_portable = {.name = "portable",
                                                  .summary = "8 bytes a step, any machine",
                                                  .usable = portable_usable,
                                                  .string_end = kernel_string_end,
                                                  .read = reader_document};

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
