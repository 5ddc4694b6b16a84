/* Contexts in parallel: each thread has its own and works through all bodies in another order;
 * every answer is the one that a single thread got. A thread sanitizer sees any shared state. */
#include "paucis/paucis.h"

#include <pthread.h>

#include "support.h"
#include "test.h"

enum { THREADS = 8 };

static struct files bodies;
static uint64_t *expected; /* for each body */

static uint64_t mix(uint64_t h, const char *at, size_t len) {
    for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)at[i]) * 0x100000001b3ULL;
    return h ^ len;
}

/* Everything the library says about a body, in one number. */
static uint64_t answers(paucis_ctx *ctx, const struct bytes *b) {
    uint64_t h = 0xcbf29ce484222325ULL;
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    o.flags = PAUCIS_PASS_THROUGH | PAUCIS_WITH_BREAKS;
    o.budget_tokens = 80;
    for (size_t p = 0; paucis_policy_at(p); p++) {
        const char *out = NULL;
        size_t n = 0;
        paucis_error e = {PAUCIS_OK, NULL, 0};
        paucis_stats st = {.size = sizeof st};
        o.policy = paucis_policy_at(p)->name;
        h = h * 31 + (uint64_t)paucis_compact(ctx, b->at, b->len, &o, &out, &n, &st, &e);
        h = mix(h, out, n) + e.pos + st.breaks + st.edits;
    }
    const paucis_break *list = NULL;
    size_t n = 0;
    paucis_check_with with = {b->at, b->len, b->at, b->len};
    h = h * 31 + (uint64_t)paucis_check(ctx, b->at, b->len, NULL, &with, &list, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        h = mix(h, list[i].rule, strlen(list[i].rule));
        h = mix(h, list[i].pointer, strlen(list[i].pointer)) + list[i].pos;
    }
    return h;
}

struct worker {
    pthread_t id;
    size_t first, wrong;
};

static void *work(void *arg) {
    struct worker *w = arg;
    paucis_ctx *ctx = NULL;
    if (paucis_ctx_new(&ctx, NULL) != PAUCIS_OK) return NULL;
    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < bodies.count; i++) {
            size_t k = (w->first + i * (round + 1)) % bodies.count;
            w->wrong += answers(ctx, &bodies.at[k].body) != expected[k];
        }
    paucis_ctx_free(ctx);
    return NULL;
}

static void parallel(void) {
    struct worker workers[THREADS];
    paucis_ctx *ctx = NULL;
    bodies = files_bodies();
    expected = must_malloc(bodies.count * sizeof *expected);
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    for (size_t i = 0; i < bodies.count; i++) expected[i] = answers(ctx, &bodies.at[i].body);
    paucis_ctx_free(ctx);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.first = i * 17 % bodies.count};
        if (!CHECK_EQ(pthread_create(&workers[i].id, NULL, work, &workers[i]), 0)) return;
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(workers[i].id, NULL), 0);
        CHECK_EQ(workers[i].wrong, 0);
    }
    free(expected);
    files_free(&bodies);
}

int main(void) { return TEST_RUN(CASE(parallel)); }
