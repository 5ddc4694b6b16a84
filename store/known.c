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

enum about { ABOUT_TEXT = 1, ABOUT_RANGE, ABOUT_KEPT, ABOUT_PAGE }; /* seeds apart */

struct slot {
    XXH128_hash_t key;
    struct hash hash;
    int64_t when; /* 0 = free */
    char tag;
};

struct page {
    XXH128_hash_t key;
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

static XXH128_hash_t kept_key(const struct known *k, const char *conv, const struct hash *h) {
    char text[CONV_MAX + HASH_SIZE] = {0};
    memcpy(text, conv, strnlen(conv, CONV_MAX));
    memcpy(text + CONV_MAX, h->at, HASH_SIZE);
    return key_of(k, ABOUT_KEPT, text, sizeof text);
}

bool known_kept(struct known *k, const char *conv, const struct hash *h, int64_t now) {
    struct slot s;
    if (!k || !slot_get(k, kept_key(k, conv, h), &s)) return false;
    int64_t since;
    memcpy(&since, s.hash.at, sizeof since);
    return now - since < FRESH_S;
}

void known_note_kept(struct known *k, const char *conv, const struct hash *h, int64_t now) {
    if (!k) return;
    struct slot s = {.key = kept_key(k, conv, h)};
    memcpy(s.hash.at, &now, sizeof now);
    slot_put(k, &s);
}

/* ---- bodies --------------------------------------------------------------------------------- */

/* The key of a page holds those before it. */
static XXH128_hash_t page_key(const struct known *k, XXH128_hash_t before, const char *at) {
    XXH128_hash_t key = key_of(k, ABOUT_PAGE, at, PAGE);
    key.low64 = XXH3_64bits_withSeed(&before, sizeof before, key.low64);
    key.high64 ^= before.high64;
    return key;
}

void known_body(struct known *k, const char *at, size_t len, struct hash *out) {
    XXH128_hash_t key = {0, 0};
    SHA256_CTX state;
    size_t done = 0;
    if (!k) {
        hash_of(at, len, out);
        return;
    }
    SHA256_Init(&state);
    for (; len - done >= PAGE; done += PAGE) {
        key = page_key(k, key, at + done);
        struct page *p = &k->pages[key.low64 % PAGES];
        pthread_mutex_lock(&k->lock);
        bool there = XXH128_isEqual(p->key, key);
        if (there) state = p->state;
        pthread_mutex_unlock(&k->lock);
        if (there) continue;
        SHA256_Update(&state, at + done, PAGE);
        pthread_mutex_lock(&k->lock);
        *p = (struct page){key, state};
        pthread_mutex_unlock(&k->lock);
    }
    SHA256_Update(&state, at + done, len - done);
    SHA256_Final(out->at, &state);
}
