/* The front of the store: see store.h. */
#include "blob.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const struct store_kind *const kinds[] = {
#define STORE_KIND(name) &paucis__store_##name,
#include "kinds.def"
#undef STORE_KIND
};

const char *store_err_text(enum store_err err) {
    static const char *const texts[] = {
        [STORE_OK] = "found",
        [STORE_ABSENT] = "not in the store",
        [STORE_EVICTED] = "evicted from the store",
        [STORE_DAMAGED] = "damaged in the store",
        [STORE_AMBIGUOUS] = "several texts have this handle; give more digits of the hash",
        [STORE_CONFLICT] = "something else stands there already",
        [STORE_FAILED] = "the store failed",
    };
    return texts[err];
}

int64_t store_clock_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

enum store_err store_fail(struct store *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->why, sizeof s->why, fmt, ap);
    va_end(ap);
    return STORE_FAILED;
}

void store_why(struct store *s, char *why) {
    pthread_mutex_lock(&s->lock);
    memcpy(why, s->why, STORE_WHY);
    pthread_mutex_unlock(&s->lock);
}

void note_key(const struct hash *body, char key[NOTE_KEY]) {
    memcpy(key, "body:", 5);
    hash_hex(body, key + 5);
}

/* ---- open ----------------------------------------------------------------------------------- */

static int64_t clock_now(void) { return (int64_t)time(NULL); }

/* A note that only the right key opens; made when a key is first used here. */
static bool key_fits(struct store *s, bool may_write) {
    static const char name[] = "meta:key", text[] = "paucis";
    struct buf note = {0}, plain = {0};
    struct hash h;
    uint64_t version = 0;
    hash_of(name, sizeof name, &h);
    enum store_err err = s->kind->note_get(s, name, &note, &version);
    bool fits = !err || err == STORE_ABSENT;
    if (!err && !s->has_key) {
        store_fail(s, "it is encrypted and needs its key (--store-key)");
        fits = false;
    } else if (!err && !unseal(s->key, &h, note.data, note.len, &plain)) {
        store_fail(s, "the key is not the one it was encrypted with");
        fits = false;
    } else if (err == STORE_ABSENT && s->has_key && may_write) {
        note.len = 0;
        fits = seal(s->key, &h, text, sizeof text, &note) &&
               s->kind->note_put(s, "", name, note.data, note.len, &version) == STORE_OK;
    }
    buf_free(&note);
    buf_free(&plain);
    return fits;
}

static const struct store_kind *kind_of(const char *url) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(url, kinds[i]->scheme, strlen(kinds[i]->scheme)) == 0) return kinds[i];
    return NULL;
}

bool store_known(const char *url) { return kind_of(url) != NULL; }

static bool open_kind(struct store *s, const struct store_opts *o) {
    s->kind = kind_of(o->url);
    if (s->kind)
        return s->kind->open(s, o->url + strlen(s->kind->scheme), o) && key_fits(s, !o->must_exist);
    struct buf known = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        buf_fmt(&known, "%s%s", i ? ", " : "", kinds[i]->summary);
    store_fail(s, "no such kind of store; this build knows %.*s", (int)known.len,
               known.data ? known.data : "");
    buf_free(&known);
    return false;
}

bool store_open(struct store **out, const struct store_opts *o, char *why) {
    struct store *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) {
        snprintf(why, STORE_WHY, "out of memory");
        return false;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->max_bytes = o->max_bytes ? o->max_bytes : 2000000000;
    s->days = o->days ? o->days : 30;
    s->now = o->now ? o->now : clock_now;
    s->has_key = o->key != NULL;
    if (o->key) memcpy(s->key, o->key, KEY_SIZE);
    if (open_kind(s, o)) {
        *out = s;
        return true;
    }
    memcpy(why, s->why, STORE_WHY);
    store_close(s);
    return false;
}

void store_close(struct store *s) {
    if (!s) return;
    if (s->kind && s->state) s->kind->close(s);
    pthread_mutex_destroy(&s->lock);
    memset(s->key, 0, sizeof s->key);
    free(s);
}

/* ---- get ------------------------------------------------------------------------------------ */

enum store_err store_get(struct store *s, const struct hash *h, struct buf *out) {
    struct buf blob = {0};
    enum store_err err = s->kind->get(s, h, &blob);
    if (!err && blob.failed) err = STORE_FAILED;
    if (!err) err = blob_open(s->has_key ? s->key : NULL, h, &blob, out);
    buf_free(&blob);
    return err;
}

enum store_err store_find(struct store *s, const char *digits, const char *conv, struct hash *out) {
    char lower[HASH_DIGITS + 1];
    size_t n = strlen(digits);
    if (n < HANDLE_DIGITS || n > HASH_DIGITS) return STORE_ABSENT;
    for (size_t i = 0; i <= n; i++) {
        char c = digits[i];
        lower[i] = c >= 'A' && c <= 'F' ? (char)(c + 32) : c;
        if (i < n && !strchr("0123456789abcdef", lower[i])) return STORE_ABSENT;
    }
    return s->kind->find(s, lower, conv, out);
}

enum store_err store_recalled(struct store *s, const struct hash *h) {
    return s->kind->recalled(s, h);
}

/* ---- records -------------------------------------------------------------------------------- */

enum { RECORD_KEY = 5 + CONV_MAX };

static bool record_key(const char *conv, char key[RECORD_KEY]) {
    return snprintf(key, RECORD_KEY, "conv:%s", conv) < RECORD_KEY;
}

enum store_err store_record_get(struct store *s, const char *conv, struct buf *out,
                                uint64_t *version) {
    char key[RECORD_KEY];
    *version = 0;
    return record_key(conv, key) ? s->kind->note_get(s, key, out, version) : STORE_ABSENT;
}

enum store_err store_record_put(struct store *s, const char *conv, const char *at, size_t len,
                                uint64_t version) {
    char key[RECORD_KEY];
    if (!record_key(conv, key)) return store_fail(s, "the conversation's name is too long");
    return s->kind->note_put(s, conv, key, at, len, &version);
}

/* ---- looking after it ----------------------------------------------------------------------- */

enum store_err store_each(struct store *s, const char *conv, uint64_t max, store_row_fn *fn,
                          void *ud) {
    return s->kind->each(s, conv, max, fn, ud);
}

enum store_err store_convs(struct store *s, store_conv_fn *fn, void *ud) {
    return s->kind->convs(s, fn, ud);
}

enum store_err store_sums(struct store *s, struct store_sums *out) {
    *out = (struct store_sums){0};
    return s->kind->sums(s, out);
}

enum store_err store_purge(struct store *s, const char *conv, uint64_t *count) {
    *count = 0;
    return s->kind->purge(s, conv, count);
}

enum store_err store_evict(struct store *s) { return s->kind->evict(s); }

uint64_t store_gone(struct store *s, uint64_t last) {
    return s->kind->gone ? s->kind->gone(s, last) : last;
}
