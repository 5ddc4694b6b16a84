/* The loop that counts, compiled into each kernel: pieces in batches, each looked up in the cache,
 * merged only if it is not there. A batch is small enough for its keys to stay in the first-level
 * cache, and large enough to fetch the lines of the table ahead.
 *
 * The including file gives line_find(line, lo, hi, mask): which of four pairs of words are lo and
 * hi, the latter under a mask; bit 2 * i for pair i. */
#include <string.h>

#include "core/hash.h"
#include "token/merge.h"
#include "token/window.h"

#define BATCH 160

/* Byte 15 of a key: length in its low half, number of tokens in its high half. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define KEY_SHIFT 0
#else
#define KEY_SHIFT 56
#endif
#define KEY_COUNT ((uint64_t)0xf0 << KEY_SHIFT)

struct key {
    uint64_t lo, hi;
};

/* The bytes of a short piece; 16 may be read at p. */
static inline struct key key_load(const uint8_t *p, size_t n) {
    static const uint8_t ones[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                     255, 255, 255, 255, 255, 255, 255};
    struct key k, mask;
    memcpy(&k, p, sizeof k);
    memcpy(&mask, ones + CACHE_SHORT - n, sizeof mask);
    k.lo &= mask.lo;
    k.hi = (k.hi & mask.hi) | (uint64_t)n << KEY_SHIFT;
    return k;
}

static inline struct cache_bucket *key_bucket(const struct cache *c, struct key k) {
    uint64_t h = (k.lo ^ c->seed) * UINT64_C(0x9e3779b97f4a7c15) + k.hi;
    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return &c->buckets[h >> (64 - c->log)];
}

/* How many tokens, 0 if the piece is not there. */
static inline unsigned bucket_find(const struct cache_bucket *b, struct key k) {
    unsigned same = line_find(b->word[0], k.lo, k.hi, ~KEY_COUNT);
    if (!same) return 0;
    return (unsigned)(b->word[__builtin_ctz(same) / 2][1] >> (KEY_SHIFT + 4)) & 15;
}

static inline void bucket_add(struct cache_bucket *b, struct key k, uint64_t count) {
    memmove(b->word[1], b->word[0], 3 * sizeof b->word[0]);
    b->word[0][0] = k.lo;
    b->word[0][1] = k.hi | count << (KEY_SHIFT + 4);
}

/* Where a long piece belongs, and what it is compared by: its bytes if they fit, else a keyed hash
 * of 128 bits. */
struct long_key {
    struct cache_long *slot;
    size_t len;
    uint8_t bytes[CACHE_LONG];
};

static inline void long_key(const struct cache *c, const uint8_t *p, size_t n, struct long_key *k) {
    k->len = n <= CACHE_LONG ? n : sizeof(XXH128_hash_t);
    if (n > CACHE_LONG) {
        XXH128_hash_t h = XXH3_128bits_withSeed(p, n, c->seed);
        memcpy(k->bytes, &h, sizeof h);
    } else {
        memcpy(k->bytes, p, n);
    }
    uint64_t h = hash_bytes(span_of((const char *)k->bytes, k->len), c->seed);
    k->slot = &c->longs[h >> (66 - c->log)];
}

/* How many tokens, 0 if the piece is not there. */
static inline uint32_t long_find(const struct long_key *k, size_t n) {
    return k->slot->len == n && memcmp(k->slot->key, k->bytes, k->len) == 0 ? k->slot->count : 0;
}

static inline void long_add(const struct long_key *k, size_t n, uint64_t count) {
    if (n > UINT32_MAX) return;
    k->slot->len = (uint32_t)n;
    k->slot->count = (uint32_t)count;
    memcpy(k->slot->key, k->bytes, k->len);
}

/* Pieces that were not in the cache and wait to be merged side by side. */
struct waiting {
    const uint8_t *text[BATCH];
    uint8_t size[BATCH], count[BATCH];
    uint8_t index[BATCH]; /* in the batch */
    size_t n;
};

static inline void count_waiting(const struct vocab *v, struct waiting *w, bool some) {
    for (size_t i = 0; i < w->n; i += SHORTS) {
        unsigned k = w->n - i < SHORTS ? (unsigned)(w->n - i) : SHORTS;
        merge_side(v, w->text + i, w->size + i, k, w->count + i, some);
    }
}

/* Pieces of a batch that are looked up. */
struct batch {
    const uint8_t *at[BATCH];
    size_t size[BATCH], n;
    struct key keys[BATCH];
    struct cache_bucket *bucket[BATCH]; /* NULL: not among the short ones */
};

/* Takes the pieces of a text from `from` on that end at `ends`. Those of one or two bytes need no
 * cache: how many tokens they are is added to *sum. */
static inline void batch_take(const struct vocab *v, const uint8_t *text, size_t from,
                              const size_t *ends, size_t pieces, struct batch *b, uint64_t *sum) {
    size_t tiny = v->nwholes ? 0 : 2, start = from, n = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < pieces; start = ends[i++]) {
        size_t len = ends[i] - start;
        const uint8_t *p = text + start;
        unsigned two = (len == 2) & (pair_bytes(&v->pairs, p[0], p[len - 1]) == NO_MERGE);
        total += (1 + two) & (0 - (uint64_t)(len <= tiny));
        b->at[n] = p;
        b->size[n] = len;
        n += len > tiny;
    }
    b->n = n;
    *sum += total;
}

static inline void wait_for(struct waiting *w, const struct batch *b, size_t i) {
    w->text[w->n] = b->at[i];
    w->size[w->n] = (uint8_t)b->size[i];
    w->index[w->n++] = (uint8_t)i;
}

/* Piece i of a batch, not in a bucket: counted, or left to wait with the short or the long ones. */
static inline paucis_err count_missing(struct token_run *r, const struct vocab *v, struct batch *b,
                                       size_t i, struct waiting w[2], uint64_t *count) {
    const uint8_t *p = b->at[i];
    size_t n = b->size[i];
    struct tokens out = {0};
    struct long_key k;
    if (b->bucket[i] && !v->nwholes) {
        if (n != 3) {
            wait_for(&w[0], b, i);
            return PAUCIS_OK;
        }
        out.count = merge_three(v, p);
    } else {
        if (n > CACHE_SHORT) {
            long_key(&r->cache, p, n, &k);
            out.count = long_find(&k, n);
            if (!out.count && n <= MERGE_WORD && !v->nwholes) {
                wait_for(&w[1], b, i);
                return PAUCIS_OK;
            }
        }
        if (!out.count) {
            PAUCIS_TRY(merge_piece(r, v, p, n, &out));
            if (n > CACHE_SHORT) long_add(&k, n, out.count);
        }
    }
    if (b->bucket[i]) bucket_add(b->bucket[i], b->keys[i], out.count);
    *count += out.count;
    return PAUCIS_OK;
}

/* Counts those that wait, and keeps the counts. */
static inline uint64_t count_waited(struct token_run *r, const struct vocab *v, struct batch *b,
                                    struct waiting w[2]) {
    uint64_t sum = 0;
    struct long_key key;
    count_waiting(v, &w[0], true);
    count_waiting(v, &w[1], false);
    for (size_t k = 0; k < w[0].n; k++) {
        size_t i = w[0].index[k];
        if (!bucket_find(b->bucket[i], b->keys[i]))
            bucket_add(b->bucket[i], b->keys[i], w[0].count[k]);
        sum += w[0].count[k];
    }
    for (size_t k = 0; k < w[1].n; k++) {
        long_key(&r->cache, w[1].text[k], w[1].size[k], &key);
        long_add(&key, w[1].size[k], w[1].count[k]);
        sum += w[1].count[k];
    }
    return sum;
}

/* The pieces from `from` on that end at `ends`; the text ends at `end`. */
static inline paucis_err count_batch(struct token_run *r, const struct vocab *v,
                                     const uint8_t *text, const uint8_t *end, size_t from,
                                     const size_t *ends, size_t pieces, uint64_t *count) {
    static const struct cache_bucket nowhere; /* empty: for pieces that are not short */
    struct batch b;
    struct waiting w[2];
    uint8_t missing[BATCH];
    size_t nmissing = 0;
    uint64_t sum = 0;
    batch_take(v, text, from, ends, pieces, &b, &sum);
    for (size_t i = 0; i < b.n; i++) {
        if (b.size[i] > CACHE_SHORT ||
            (size_t)(end - b.at[i]) < sizeof *b.keys) { /* no room to load */
            b.bucket[i] = NULL;
            b.keys[i] = (struct key){0, 1};
            continue;
        }
        b.keys[i] = key_load(b.at[i], b.size[i]);
        b.bucket[i] = key_bucket(&r->cache, b.keys[i]);
        __builtin_prefetch(b.bucket[i]);
    }
    for (size_t i = 0; i < b.n; i++) {
        unsigned known = bucket_find(b.bucket[i] ? b.bucket[i] : &nowhere, b.keys[i]);
        sum += known;
        missing[nmissing] = (uint8_t)i;
        nmissing += known == 0;
    }
    w[0].n = w[1].n = 0;
    for (size_t k = 0; k < nmissing; k++) PAUCIS_TRY(count_missing(r, v, &b, missing[k], w, &sum));
    *count += sum + count_waited(r, v, &b, w);
    return PAUCIS_OK;
}

static paucis_err kernel_count(struct token_run *r, const struct vocab *v, const uint8_t *text,
                               size_t n, uint64_t *count) {
    size_t ends[BATCH], at = 0;
    PAUCIS_TRY(paucis__cache_ready(r, v, n));
    while (at < n) {
        size_t from = at, pieces = window_split(v->split, text, n, &at, ends, BATCH);
        PAUCIS_TRY(count_batch(r, v, text, text + n, from, ends, pieces, count));
    }
    return PAUCIS_OK;
}

static size_t kernel_split(const struct split *s, const uint8_t *text, size_t n, size_t *at,
                           size_t *ends, size_t most) {
    return window_split(s, text, n, at, ends, most);
}

static paucis_err kernel_piece(struct token_run *r, const struct vocab *v, const uint8_t *piece,
                               size_t n, struct tokens *out) {
    return merge_piece(r, v, piece, n, out);
}

#define TOKEN_KERNEL(kernel, title, about, test)               \
    const struct token_kernel kernel = {.name = title,         \
                                        .summary = about,      \
                                        .usable = test,        \
                                        .split = kernel_split, \
                                        .count = kernel_count, \
                                        .piece = kernel_piece}
