/* See known.h. */
#define OPENSSL_SUPPRESS_DEPRECATED /* the old interface has a state that can be copied */
#include "known.h"

#include "kind.h"

#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    WAYS = 4,
    SETS = 16384, /* 64K contents: 5 MB */
    PAGES = 4096, /* 128 MB of bodies: 0.6 MB */
    PAGE = 32 * 1024,
    LEAST = 256 /* bytes: what is shorter is as quickly hashed as looked up */
};

enum about { ABOUT_TEXT = 1, ABOUT_RANGE, ABOUT_KEPT, ABOUT_PAGE, ABOUT_TAIL }; /* seeds apart */

struct slot {
    XXH128_hash_t key;
    struct hash hash;
    int64_t when; /* 0 = free */
    char tag;
};

struct page {
    struct known_key key;
    SHA256_CTX state;
};

struct known {
    pthread_mutex_t lock;
    uint64_t seed;
    int64_t clock; /* counts what is noted, to know which of a set is oldest */
    struct slot slots[SETS][WAYS];
    struct page pages[PAGES];
};

struct known *known_new(void) {
    struct known *k = calloc(1, sizeof *k);
    if (!k || RAND_bytes((unsigned char *)&k->seed, sizeof k->seed) != 1) {
        free(k);
        return NULL;
    }
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

void known_free(struct known *k) {
    if (!k) return;
    pthread_mutex_destroy(&k->lock);
    free(k);
}

/* ---- contents ------------------------------------------------------------------------------- */

static XXH128_hash_t key_of(const struct known *k, enum about about, const char *at, size_t len) {
    return XXH3_128bits_withSeed(at, len, k->seed ^ (uint64_t)about << 56);
}

static bool slot_get(struct known *k, XXH128_hash_t key, struct slot *out) {
    struct slot *set = k->slots[key.low64 % SETS];
    bool found = false;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < WAYS && !found; i++) {
        found = set[i].when && XXH128_isEqual(set[i].key, key);
        if (found) *out = set[i];
    }
    pthread_mutex_unlock(&k->lock);
    return found;
}

static void slot_put(struct known *k, const struct slot *new) {
    struct slot *set = k->slots[new->key.low64 % SETS];
    size_t place = 0;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].when && XXH128_isEqual(set[i].key, new->key)) {
            place = i;
            break;
        }
        if (set[i].when < set[place].when) place = i;
    }
    set[place] = *new;
    set[place].when = ++k->clock;
    pthread_mutex_unlock(&k->lock);
}

void known_hash(struct known *k, const char *at, size_t len, struct hash *out) {
    struct slot s = {0};
    if (!k || len < LEAST) {
        hash_of(at, len, out);
        return;
    }
    s.key = key_of(k, ABOUT_TEXT, at, len);
    if (!slot_get(k, s.key, &s)) {
        hash_of(at, len, &s.hash);
        slot_put(k, &s);
    }
    *out = s.hash;
}

bool known_range(struct known *k, const char *at, size_t len, char *tag, struct hash *out) {
    struct slot s;
    if (!k || !slot_get(k, key_of(k, ABOUT_RANGE, at, len), &s)) return false;
    *tag = s.tag;
    *out = s.hash;
    return true;
}

void known_note_range(struct known *k, const char *at, size_t len, char tag, const struct hash *h) {
    if (!k) return;
    struct slot s = {.key = key_of(k, ABOUT_RANGE, at, len), .hash = *h, .tag = tag};
    slot_put(k, &s);
}

/* ---- what is acknowledged ------------------------------------------------------------------- */

static XXH128_hash_t kept_key(const struct known *k, const char *conv, uint64_t gone,
                              const struct hash *h) {
    char text[CONV_MAX + HASH_SIZE + sizeof gone] = {0};
    memcpy(text, conv, strnlen(conv, CONV_MAX));
    memcpy(text + CONV_MAX, h->at, HASH_SIZE);
    memcpy(text + CONV_MAX + HASH_SIZE, &gone, sizeof gone);
    return key_of(k, ABOUT_KEPT, text, sizeof text);
}

int64_t known_kept(struct known *k, const char *conv, uint64_t gone, const struct hash *h) {
    struct slot s;
    int64_t when = INT64_MIN / 2;
    if (k && slot_get(k, kept_key(k, conv, gone, h), &s)) memcpy(&when, s.hash.at, sizeof when);
    return when;
}

void known_note_kept(struct known *k, const char *conv, uint64_t gone, const struct hash *h,
                     int64_t now) {
    if (!k) return;
    struct slot s = {.key = kept_key(k, conv, gone, h)};
    memcpy(s.hash.at, &now, sizeof now);
    slot_put(k, &s);
}

/* ---- bodies --------------------------------------------------------------------------------- */

static struct known_key key_from(XXH128_hash_t h) { return (struct known_key){h.low64, h.high64}; }

static bool same_key(struct known_key a, struct known_key b) {
    return a.low == b.low && a.high == b.high;
}

/* The key of a page holds those before it. */
static struct known_key page_key(const struct known *k, struct known_key before, const char *at) {
    XXH128_hash_t key = key_of(k, ABOUT_PAGE, at, PAGE);
    key.low64 = XXH3_64bits_withSeed(&before, sizeof before, key.low64);
    key.high64 ^= before.high;
    return key_from(key);
}

static struct known_key tail_key(const struct known *k, size_t pages, const char *at, size_t len) {
    return key_from(key_of(k, ABOUT_TAIL, at + pages * PAGE, len - pages * PAGE));
}

/* Keys of all pages of a body; how many of them were there before. */
static size_t read_pages(const struct known *k, struct known_start *s, const char *at,
                         size_t count) {
    struct known_key key = {0, 0};
    size_t same = 0;
    for (size_t i = 0; i < count; i++) {
        key = page_key(k, key, at + i * PAGE);
        if (same == i && i < s->count && same_key(s->pages[i], key)) same++;
        s->pages[i] = key;
    }
    return same;
}

static size_t read_start(const struct known *k, struct known_start *s, const char *at, size_t len) {
    size_t had = s->len / PAGE, count = len / PAGE;
    if (s->count > had) s->count = had; /* what is behind is not what was asked to be remembered */
    bool tail = s->len && s->len <= len && same_key(s->tail, tail_key(k, had, at, s->len));
    size_t same = read_pages(k, s, at, count);
    size_t bytes = tail && same == had ? s->len : same * PAGE;
    s->count = count;
    s->len = 0;
    return bytes;
}

/* The state of SHA-256 behind the last page that is known; the number of pages before it. */
static size_t find_state(struct known *k, const struct known_start *s, SHA256_CTX *state) {
    size_t i = s->count;
    bool there = false;
    SHA256_Init(state);
    pthread_mutex_lock(&k->lock);
    for (; i > 0 && !there; i -= !there) {
        const struct page *p = &k->pages[s->pages[i - 1].low % PAGES];
        there = same_key(p->key, s->pages[i - 1]);
        if (there) *state = p->state;
    }
    pthread_mutex_unlock(&k->lock);
    return i;
}

bool known_body(struct known *k, const char *at, size_t len, struct known_start *start,
                size_t *same, struct hash *out) {
    SHA256_CTX state;
    *same = 0;
    if (!k) {
        hash_of(at, len, out);
        return true;
    }
    if (len / PAGE > start->cap) {
        size_t cap = 2 * (len / PAGE);
        struct known_key *pages = realloc(start->pages, cap * sizeof *pages);
        if (!pages) return false;
        start->pages = pages;
        start->cap = cap;
    }
    *same = read_start(k, start, at, len);
    size_t i = find_state(k, start, &state);
    for (; i < start->count; i++) {
        struct page *p = &k->pages[start->pages[i].low % PAGES];
        SHA256_Update(&state, at + i * PAGE, PAGE);
        pthread_mutex_lock(&k->lock);
        *p = (struct page){start->pages[i], state};
        pthread_mutex_unlock(&k->lock);
    }
    SHA256_Update(&state, at + i * PAGE, len - i * PAGE);
    SHA256_Final(out->at, &state);
    return true;
}

void known_start_is(struct known *k, struct known_start *start, const char *at, size_t len) {
    start->len = len;
    if (k) start->tail = tail_key(k, len / PAGE, at, len);
}

void known_start_free(struct known_start *start) {
    free(start->pages);
    *start = (struct known_start){0};
}
