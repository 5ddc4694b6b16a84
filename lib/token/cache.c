/* Memory of the piece cache. It grows with what is counted: a short text must not pay for clearing
 * megabytes. What was in a smaller one is counted again. */
#include <string.h>

#include "core/os.h"
#include "token/token.h"

enum { LOG_LEAST = 9, LOG_MOST = 16, LOG_STEP = 2, BYTES_A_BUCKET = 64 };

static size_t buckets_size(unsigned log) { return sizeof(struct cache_bucket) << log; }
static size_t longs_size(unsigned log) { return (sizeof(struct cache_long) << log) / 4; }

static void cache_free(struct token_run *r) {
    struct cache *c = &r->cache;
    if (c->log) {
        paucis__mem_resize(r->mem, c->buckets, buckets_size(c->log), 0);
        paucis__mem_resize(r->mem, c->longs, longs_size(c->log), 0);
    }
    c->buckets = NULL;
    c->longs = NULL;
    c->log = 0;
}

static paucis_err cache_new(struct token_run *r, unsigned log) {
    struct cache *c = &r->cache;
    struct cache_bucket *buckets = paucis__mem_resize(r->mem, NULL, 0, buckets_size(log));
    struct cache_long *longs = paucis__mem_resize(r->mem, NULL, 0, longs_size(log));
    if (!buckets || !longs) { /* the old one still does */
        paucis__mem_resize(r->mem, buckets, buckets ? buckets_size(log) : 0, 0);
        paucis__mem_resize(r->mem, longs, longs ? longs_size(log) : 0, 0);
        return c->log ? PAUCIS_OK : PAUCIS_E_NOMEM;
    }
    cache_free(r);
    c->buckets = buckets;
    c->longs = longs;
    c->log = log;
    c->key = 0;
    return PAUCIS_OK;
}

paucis_err paucis__cache_ready(struct token_run *r, const struct vocab *v, size_t n) {
    struct cache *c = &r->cache;
    unsigned want = LOG_LEAST;
    if (!c->seed) c->seed = paucis__os_seed() | 1;
    c->fed += n;
    while (want < LOG_MOST && c->fed >> want > BYTES_A_BUCKET) want++;
    if (!c->log || want >= c->log + LOG_STEP || (want == LOG_MOST && c->log < want))
        PAUCIS_TRY(cache_new(r, want));
    if (c->key == v->key) return PAUCIS_OK;
    memset(c->buckets, 0, buckets_size(c->log));
    memset(c->longs, 0, longs_size(c->log));
    c->key = v->key;
    return PAUCIS_OK;
}

void paucis__token_run_free(struct token_run *r) {
    cache_free(r);
    paucis__mem_resize(r->mem, r->scratch, r->scratch_size * sizeof *r->scratch, 0);
    r->scratch = NULL;
    r->scratch_size = 0;
}
