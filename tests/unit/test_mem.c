/* Memory: the running total, the arena, growing arrays, and all of them when memory runs out. */
#include "core/mem.h"

#include "support.h"
#include "test.h"

static void totals(void) {
    struct counter c;
    counter_init(&c);
    struct mem m = {.alloc = counter_alloc(&c)};
    CHECK(!paucis__mem_resize(&m, NULL, 0, 0));
    CHECK_EQ(c.calls, 0);
    char *p = paucis__mem_resize(&m, NULL, 0, 100);
    CHECK(p && m.held == 100 && m.peak == 100);
    memset(p, 7, 100);
    p = paucis__mem_resize(&m, p, 100, 300);
    CHECK(p && m.held == 300 && m.peak == 300 && p[99] == 7);
    c.fail_from = 0;
    CHECK(!paucis__mem_resize(&m, p, 300, 400)); /* the old block stays as it was */
    CHECK(p[99] == 7 && m.held == 300 && c.held == 300);
    c.fail_from = SIZE_MAX;
    p = paucis__mem_resize(&m, p, 300, 50);
    CHECK(p && m.held == 50 && m.peak == 300 && p[49] == 7);
    CHECK(!paucis__mem_resize(&m, p, 50, 0));
    CHECK_EQ(m.held, 0);
    CHECK_EQ(c.blocks, 0);
    CHECK_EQ(c.wrong_sizes, 0);
}

static void libc_by_default(void) {
    struct mem m = {.held = 0};
    char *p = paucis__mem_resize(&m, NULL, 0, 10);
    CHECK(p != NULL);
    p = paucis__mem_resize(&m, p, 10, 20);
    CHECK(p && m.held == 20);
    CHECK(!paucis__mem_resize(&m, p, 20, 0));
    CHECK_EQ(m.held, 0);
}

/* Many blocks of many sizes, each filled; none may touch another, all are aligned. */
static void arena_blocks(void) {
    struct counter c;
    counter_init(&c);
    struct mem m = {.alloc = counter_alloc(&c)};
    struct arena a = {.mem = &m};
    uint64_t seed = 4;
    enum { N = 3000 };
    static char *block[N];
    static size_t size[N];
    for (int round = 0; round < 3; round++) {
        size_t sum = 0;
        for (size_t i = 0; i < N; i++) {
            size[i] = random_below(&seed, i % 100 == 99 ? 50000 : 40);
            sum += size[i];
            block[i] = paucis__arena_alloc(&a, size[i]);
            if (!CHECK(block[i] && (uintptr_t)block[i] % 16 == 0)) return;
            memset(block[i], (int)(i & 0xff), size[i]);
        }
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < size[i]; k++)
                if (!CHECK_EQ((unsigned char)block[i][k], i & 0xff)) return;
        CHECK(m.held < 4 * sum + 100000);
        CHECK(c.calls < 60); /* chunks double */
        paucis__arena_reset(&a);
        CHECK(c.blocks <= 1); /* the next round gets one chunk that holds it all */
    }
    paucis__arena_free(&a);
    CHECK(!a.chunk && !m.held && !c.blocks && !c.wrong_sizes);
}

static void arena_edges(void) {
    struct counter c;
    counter_init(&c);
    struct mem m = {.alloc = counter_alloc(&c)};
    struct arena a = {.mem = &m};
    paucis__arena_reset(&a);
    paucis__arena_free(&a);
    CHECK_EQ(c.calls, 0);
    void *p = paucis__arena_alloc(&a, 0), *q = paucis__arena_alloc(&a, 0);
    CHECK(p && q && p != q);
    CHECK(!paucis__arena_alloc(&a, SIZE_MAX));
    CHECK(!paucis__arena_alloc(&a, SIZE_MAX - 15));
    CHECK(!paucis__arena_alloc(&a, SIZE_MAX / 2 + 1));
    c.fail_from = c.calls;
    CHECK(!paucis__arena_alloc(&a, 1 << 20));
    c.fail_from = SIZE_MAX;
    p = paucis__arena_alloc(&a, 1 << 20);
    CHECK(p != NULL);
    memset(p, 1, 1 << 20);
    CHECK(paucis__arena_alloc(&a, 10) != NULL);
    paucis__arena_free(&a);
    CHECK_EQ(c.blocks, 0);
}

static void arrays(void) {
    struct counter c;
    counter_init(&c);
    struct mem m = {.alloc = counter_alloc(&c)};
    VEC(uint32_t) v = {NULL, 0, 0};
    enum { N = 100000 };
    for (uint32_t i = 0; i < N; i++) {
        if (!CHECK(VEC_ROOM(&m, v, 1))) return;
        v.at[v.count++] = i;
    }
    for (uint32_t i = 0; i < N; i++)
        if (!CHECK_EQ(v.at[i], i)) return;
    CHECK(c.calls < 40 && m.held < 2 * N * sizeof *v.at);
    CHECK(VEC_ROOM(&m, v, N * 10) && v.cap >= v.count + N * 10);
    size_t cap = v.cap;
    uint32_t *at = v.at;
    size_t none = 0;
    CHECK(VEC_ROOM(&m, v, none) && v.at == at);
    CHECK(!VEC_ROOM(&m, v, SIZE_MAX));
    CHECK(!VEC_ROOM(&m, v, SIZE_MAX / 4));
    CHECK(!VEC_ROOM(&m, v, SIZE_MAX / 2 / sizeof *v.at - v.count + 1));
    c.fail_from = 0;
    CHECK(!VEC_ROOM(&m, v, cap + 1));
    CHECK(v.at == at && v.cap == cap && v.count == N && v.at[N - 1] == N - 1);
    VEC_FREE(&m, v);
    CHECK(!v.at && !v.count && !v.cap && !m.held && !c.blocks && !c.wrong_sizes);
    VEC_FREE(&m, v); /* an empty one may be freed too */
}

/* The counting allocator itself: what the other tests rely on. */
static void counter_counts(void) {
    struct counter c;
    counter_init(&c);
    paucis_alloc a = counter_alloc(&c);
    void *p = a.resize(a.ud, NULL, 0, 10);
    void *q = a.resize(a.ud, p, 9, 20);
    CHECK(p && q && c.wrong_sizes == 1 && c.held == 20 && c.blocks == 1 && c.calls == 2);
    c.fail_from = 2;
    c.fail_to = 3;
    CHECK(!a.resize(a.ud, NULL, 0, 1));
    void *r = a.resize(a.ud, NULL, 0, 1);
    CHECK(r && c.blocks == 2 && c.peak == 21);
    CHECK(!a.resize(a.ud, q, 20, 0) && !a.resize(a.ud, r, 1, 0));
    CHECK(c.blocks == 0 && c.held == 0);
}

int main(void) {
    return TEST_RUN(CASE(totals), CASE(libc_by_default), CASE(arena_blocks), CASE(arena_edges),
                    CASE(arrays), CASE(counter_counts));
}
