/* Counting any bytes: every kernel cuts and merges as the plain rules do, pieces cover the text, a
 * count is the same with a cold and a warm cache; a tokenizer.json of any content is read or
 * refused. The first byte chooses. */
#include "fuzz.h"
#include "token/hf.h"
#include "token/token.h"

enum { ENDS = 160 };

static void check_split(const struct split *s, const uint8_t *p, size_t n) {
    for (const struct token_kernel *const *k = paucis__token_kernels; *k; k++) {
        size_t ends[ENDS], at = 0, from = 0;
        if (!(*k)->usable()) continue;
        while (at < n) {
            size_t pieces = (*k)->split(s, p, n, &at, ends, ENDS);
            for (size_t i = 0; i < pieces; from = ends[i++])
                FUZZ_CHECK(from + paucis__split_one(s, p + from, p + n) == ends[i]);
        }
        FUZZ_CHECK(at == n && from == n);
    }
}

static void check_counts(const char *name, const uint8_t *p, size_t n) {
    struct paucis_tokenizer t = {0};
    struct mem mem = {0};
    uint64_t first = UINT64_MAX;
    if (!paucis__token_named(&t, name)) return;
    for (const struct token_kernel *const *k = paucis__token_kernels; *k; k++) {
        struct token_run r = {.mem = &mem};
        if (!(*k)->usable()) continue;
        for (int again = 0; again < 2; again++) {
            uint64_t count = 0;
            FUZZ_CHECK((*k)->count(&r, &t.vocab, p, n, &count) == PAUCIS_OK);
            if (first == UINT64_MAX) first = count;
            FUZZ_CHECK(count == first && count <= n);
        }
        paucis__token_run_free(&r);
    }
    FUZZ_CHECK(mem.held == 0);
}

static void check_file(const uint8_t *p, size_t n) {
    struct paucis_tokenizer t = {0};
    paucis_error e = {PAUCIS_OK, NULL, 0};
    paucis_err err = paucis__hf_read(&t, (const char *)p, n, &e);
    FUZZ_CHECK(err == PAUCIS_OK || (e.code == err && e.msg));
    paucis__hf_free(&t);
    FUZZ_CHECK(t.mem.held == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    if (data[0] % 8 == 7) {
        check_file(data + 1, size - 1);
        return 0;
    }
    for (const struct split *s = paucis__splits; s->name; s++) check_split(s, data + 1, size - 1);
    check_counts(data[0] % 2 ? "o200k_base" : "cl100k_base", data + 1, size - 1);
    return 0;
}
