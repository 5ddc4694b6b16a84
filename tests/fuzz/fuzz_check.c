/* Check by comparison: body, the body before, the body sent earlier, with a record separator
 * (0x1e, which no JSON holds) between them; a missing one is not given. The last byte picks the
 * format.
 *
 * Comparing adds breaks and takes none away, compared with itself a body gains none, and the
 * answer is the same in a fresh context. */
#include "fuzz.h"

struct bodies {
    const char *at[3];
    size_t len[3];
};

static struct bodies split(struct fuzz_input in) {
    struct bodies b = {{NULL}, {0}};
    const char *at = (const char *)in.data, *end = at + in.size;
    for (size_t i = 0; i < 3; i++) {
        const char *cut = i < 2 && at < end ? memchr(at, 0x1e, (size_t)(end - at)) : NULL;
        b.at[i] = at;
        b.len[i] = (size_t)((cut ? cut : end) - at);
        if (!cut) break;
        at = cut + 1;
    }
    return b;
}

static paucis_err ask(paucis_ctx *c, const struct bodies *b, const paucis_opts *o, size_t *n) {
    const paucis_check_with with = {b->at[1], b->len[1], b->at[2], b->len[2]};
    const paucis_break *breaks;
    paucis_error e;
    paucis_err err = paucis_check(c, b->at[0], b->len[0], o, &with, &breaks, n, &e);
    FUZZ_CHECK(e.code == err && e.msg);
    for (size_t i = 0; i < *n; i++) {
        FUZZ_CHECK(breaks[i].pos < b->len[0] && breaks[i].pointer && breaks[i].rule);
        FUZZ_CHECK(!i || breaks[i].pos >= breaks[i - 1].pos);
    }
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_input in = {data, size};
    const paucis_info *format = paucis_format_at(fuzz_byte(&in));
    struct fuzz_heap heap = {0};
    paucis_alloc alloc = {&heap, fuzz_resize};
    paucis_ctx *c, *fresh;
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    if (format) o.format = format->name;
    FUZZ_CHECK(paucis_ctx_new(&c, &alloc) == PAUCIS_OK);
    FUZZ_CHECK(paucis_ctx_new(&fresh, &alloc) == PAUCIS_OK);

    struct bodies b = split(in);
    struct bodies alone = {{b.at[0]}, {b.len[0]}};
    struct bodies itself = {{b.at[0], b.at[0], b.at[0]}, {b.len[0], b.len[0], b.len[0]}};
    size_t n, n_alone, n_itself, n_fresh;
    paucis_err err = ask(c, &b, &o, &n), err_alone = ask(c, &alone, &o, &n_alone);
    FUZZ_CHECK(ask(c, &itself, &o, &n_itself) == err_alone && n_itself == n_alone);
    FUZZ_CHECK(ask(fresh, &b, &o, &n_fresh) == err && n_fresh == n);
    FUZZ_CHECK(err ? !n : n >= n_alone);
    paucis_ctx_free(c);
    paucis_ctx_free(fresh);
    FUZZ_CHECK(heap.held == 0);
    return 0;
}

/* The first body is changed by values, the rest by bytes. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    const uint8_t *cut = size ? memchr(data, 0x1e, size) : NULL;
    return fuzz_mutate(data, size, max, seed, cut ? size - (size_t)(cut - data) : 1);
}
