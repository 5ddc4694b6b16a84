/* What a kind of store does. It keeps blobs it does not understand; the front gives it nothing but
 * complete work and tests what comes back. Every function may be called by several threads. */
#ifndef PAUCIS_STORE_KIND_H
#define PAUCIS_STORE_KIND_H

#include "store.h"

#include <pthread.h>

/* Last use is noted to the hour, so that a request that relies on a hundred old texts does not
 * write a hundred times. */
enum {
    FRESH_S = 3600,
    DAY_S = 86400,
    TOMBS = 10 /* times `days` that an eviction is remembered */
};

struct store_kind {
    const char *scheme; /* with its colon */
    const char *summary;
    bool (*open)(struct store *s, const char *rest, const struct store_opts *o);
    void (*close)(struct store *s);
    /* Sets there and fresh of every item. */
    enum store_err (*look)(struct store *s, struct store_batch *b);
    /* Keeps items that have a blob, marks the others as used; ABSENT if one of those has gone
     * meanwhile, CONFLICT as store_put says. OK means acknowledged. */
    enum store_err (*put)(struct store *s, const struct store_batch *b);
    /* Items that were kept as they are have shorter blobs now; may be NULL, and then they never
     * are. */
    enum store_err (*shrink)(struct store *s, const struct store_batch *b);
    enum store_err (*get)(struct store *s, const struct hash *h, struct buf *blob);
    enum store_err (*find)(struct store *s, const char *digits, const char *conv, struct hash *out);
    enum store_err (*recalled)(struct store *s, const struct hash *h);
    /* Notes: small values by name. version NULL = whatever was there before; else only if it is
     * still that one (0 = none), or CONFLICT. */
    enum store_err (*note_get)(struct store *s, const char *key, struct buf *out,
                               uint64_t *version);
    enum store_err (*note_put)(struct store *s, const char *conv, const char *key, const char *at,
                               size_t len, const uint64_t *version);
    enum store_err (*each)(struct store *s, const char *conv, uint64_t max, store_row_fn *fn,
                           void *ud);
    enum store_err (*convs)(struct store *s, store_conv_fn *fn, void *ud);
    enum store_err (*sums)(struct store *s, struct store_sums *out);
    enum store_err (*purge)(struct store *s, const char *conv, uint64_t *count);
    enum store_err (*evict)(struct store *s);
    uint64_t (*gone)(struct store *s, uint64_t last); /* see store_gone; may be NULL */
};

#define STORE_KIND(name) extern const struct store_kind paucis__store_##name;
#include "kinds.def"
#undef STORE_KIND

struct store {
    const struct store_kind *kind;
    void *state; /* the kind's own */
    uint64_t max_bytes;
    uint32_t days;
    bool has_key;
    unsigned char key[KEY_SIZE];
    int64_t (*now)(void);
    pthread_mutex_t lock; /* of the kind's state and of why */
    char why[STORE_WHY];
};

int64_t store_clock_ms(void); /* for waiting: it only goes forward */

/* Notes why, without the lock; STORE_FAILED. */
enum store_err store_fail(struct store *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The note that leads from a shortened body to its list. */
enum { NOTE_KEY = 5 + HASH_DIGITS + 1 };
void note_key(const struct hash *body, char key[NOTE_KEY]);

/* ---- crypt.c: encryption -------------------------------------------------------------------- */

enum { SEAL_EXTRA = 12 + 16 }; /* nonce in front, tag behind */

/* Appends the sealed text, which opens only with the same key and name. False: no memory. */
bool seal(const unsigned char *key, const struct hash *name, const char *at, size_t len,
          struct buf *out);
bool unseal(const unsigned char *key, const struct hash *name, const char *at, size_t len,
            struct buf *out);

#endif
