/* The store: where removed texts lie, so that nothing is lost (DESIGN.md, section 12).
 *
 * Everything in it is a text under its SHA-256, kept once however often it is put, compressed and,
 * with a key, encrypted. Three kinds of text: those a marker names (by a handle, the first digits
 * of the hash), pieces of bodies, and lists that say how a shortened body is turned back. A note
 * leads from the hash of a shortened body to its list. Texts belong to conversations, by which they
 * can be purged.
 *
 *   store.c    the front: URL to kind, compression, hashes tested on the way out
 *   batch.c    what one request relies on, put in one go: all of it is safe or nothing is promised
 *   crypt.c    SHA-256, AES-256-GCM
 *   undo.c     a shortened body back to the original, through a list
 *   pledge.c   what a shortened body lacks is safe before the body is used
 *   known.c    what this process has seen, so that it need not be hashed and asked for again
 *   sqlite.c, redis.c   the kinds, one file and one row in kinds.def each; kind.h is what they do
 *
 * A store may be used by several threads and several processes at once. */
#ifndef PAUCIS_STORE_H
#define PAUCIS_STORE_H

#include "cli.h"

#include <string.h>

enum {
    HASH_SIZE = 32,
    HASH_DIGITS = 64,
    HANDLE_DIGITS = 16, /* 64 bits: short, and no two texts of a user's share them by chance */
    KEY_SIZE = 32,
    CONV_MAX = 64 /* bytes of a conversation's name, with its NUL */
};

struct hash {
    unsigned char at[HASH_SIZE];
};

enum store_err {
    STORE_OK,
    STORE_ABSENT,    /* never kept here, or purged */
    STORE_EVICTED,   /* was kept here once; too old, or one too many */
    STORE_DAMAGED,   /* what lies here is not what was kept */
    STORE_AMBIGUOUS, /* the names of several texts begin like this */
    STORE_CONFLICT,  /* something else stands there already */
    STORE_FAILED     /* the store does not work; store_why says more */
};
const char *store_err_text(enum store_err err);

enum { KEPT_TEXT = 1, KEPT_PIECE = 2, KEPT_LIST = 4 };

struct store_opts {
    const char *url;          /* "sqlite:PATH", "sqlite:" for the user's own, "redis://..." */
    uint64_t max_bytes;       /* as stored; 0 = 2 GB */
    uint32_t days;            /* after the last use; 0 = 30 */
    const unsigned char *key; /* KEY_SIZE bytes: what is put is encrypted; NULL = it is not */
    bool must_exist;          /* nothing is created */
    int64_t (*now)(void);     /* seconds; NULL = the clock */
};

struct store;

/* False: *why, which has room for STORE_WHY bytes, says the reason. */
enum { STORE_WHY = 400 };
bool store_open(struct store **out, const struct store_opts *o, char *why);
bool store_known(const char *url); /* is it of a kind that this build has? */
void store_close(struct store *s); /* NULL is fine */

/* What the last STORE_FAILED was about; of several threads' faults one of them. */
void store_why(struct store *s, char *why);

/* ---- batch.c: putting ----------------------------------------------------------------------- */

struct store_item {
    struct hash hash;
    unsigned kind;
    const char *at; /* borrowed until the batch is put, or `own` */
    size_t len;
    char *own;
    struct buf blob;   /* as it will lie in the store; empty for what is there already */
    bool there, fresh; /* kept already; and marked as used a short while ago */
};

struct store_batch {
    char conv[CONV_MAX]; /* the conversation it all belongs to */
    struct store_item *items;
    size_t count, cap;
    uint32_t *slots; /* item + 1, by hash: each text is there once */
    size_t mask;
    bool has_note; /* body -> list */
    struct hash body, list;
    bool lazy;   /* need not survive a power cut: lists, when all they refer to is safe */
    bool quick;  /* somebody waits: texts may lie there as they are until store_squeeze */
    bool failed; /* out of memory, sticky; the put then fails */
    void *zstd;  /* kept from one put to the next */
};

/* Each returns the item's place; the text is borrowed, except by batch_take, which empties b. */
size_t batch_add(struct store_batch *b, unsigned kind, const char *at, size_t len);
size_t batch_add_hashed(struct store_batch *b, unsigned kind, const char *at, size_t len,
                        const struct hash *h);
size_t batch_take(struct store_batch *b, unsigned kind, struct buf *text);
bool batch_has(const struct store_batch *b, const struct hash *h);
void batch_clear(struct store_batch *b); /* memory is kept for the next */
void batch_free(struct store_batch *b);

/* When it returns STORE_OK everything is acknowledged; otherwise nothing may be relied on. Then old
 * texts may be evicted. CONFLICT: another original was shortened to the very same body, so this one
 * could not be told from it. A body that nothing was taken from gives way to one that was shortened
 * to it. */
enum store_err store_put(struct store *s, struct store_batch *b);

/* After a quick put, with its batch as it was: compresses what lies there as it is. If this fails
 * or never comes, texts take more room and nothing else. */
enum store_err store_squeeze(struct store *s, struct store_batch *b);

/* Are all items of these kinds there already? Nothing is written. */
enum store_err store_has(struct store *s, struct store_batch *b, unsigned kinds);

/* ---- getting -------------------------------------------------------------------------------- */

/* Appends the text; it is what was put, or there is an error and out is as it was. */
enum store_err store_get(struct store *s, const struct hash *h, struct buf *out);

/* The text whose hash begins with these hexadecimal digits, at least HANDLE_DIGITS of them; with a
 * conversation, only if it was given the handle; with "NAME*", if one whose name begins like this
 * was. */
enum store_err store_find(struct store *s, const char *digits, const char *conv, struct hash *out);

/* Counts a recall and marks the text as used. */
enum store_err store_recalled(struct store *s, const struct hash *h);

/* ---- records: a few bytes a conversation, for those who decide from more than the body ------ */

/* version is 0 for a record that is not there yet. */
enum store_err store_record_get(struct store *s, const char *conv, struct buf *out,
                                uint64_t *version);
/* Only if the record still has that version. */
enum store_err store_record_put(struct store *s, const char *conv, const char *at, size_t len,
                                uint64_t version);

/* ---- looking after it ----------------------------------------------------------------------- */

struct store_row {
    struct hash hash;
    unsigned kind;
    uint64_t size, stored; /* bytes of text, and of what lies in the store; 0 = evicted */
    int64_t used;
    uint64_t recalls;
};
typedef bool store_row_fn(void *ud, const struct store_row *row); /* false = enough */

struct store_conv {
    const char *id;
    uint64_t texts;
    int64_t used;
};
typedef bool store_conv_fn(void *ud, const struct store_conv *conv);

struct store_sums {
    uint64_t texts, pieces, lists, evicted, conversations, notes, recalls;
    uint64_t bytes, stored; /* of what is not evicted */
};

/* Newest first; conv may be NULL for all. max 0 = no limit. */
enum store_err store_each(struct store *s, const char *conv, uint64_t max, store_row_fn *fn,
                          void *ud);
enum store_err store_convs(struct store *s, store_conv_fn *fn, void *ud);
enum store_err store_sums(struct store *s, struct store_sums *out);
/* What belongs to no other conversation goes without a trace; *count texts. */
enum store_err store_purge(struct store *s, const char *conv, uint64_t *count);
/* Keeps to the limits now. */
enum store_err store_evict(struct store *s);
/* A number that is another one when texts that were used within the hour have gone, by whoever's
 * hand; and when that cannot be found out. Where asking costs too much (Redis) it is `last`. */
uint64_t store_gone(struct store *s, uint64_t last);

/* ---- crypt.c -------------------------------------------------------------------------------- */

void hash_of(const char *at, size_t len, struct hash *out);
void hash_hex(const struct hash *h, char out[HASH_DIGITS + 1]);
bool hash_read(const char *hex, struct hash *out);  /* HASH_DIGITS digits */
bool hash_begin(const char *hex, struct hash *out); /* HANDLE_DIGITS of them; the rest is 0 */
static inline bool hash_same(const struct hash *a, const struct hash *b) {
    return memcmp(a->at, b->at, HASH_SIZE) == 0;
}

/* ---- undo.c --------------------------------------------------------------------------------- */

/* A text that a marker may name: what the library asked a handle for. */
struct undo_named {
    struct hash hash;
    const char *at;
    size_t len;
};

struct known;

struct undo {
    struct known *known; /* NULL = nothing is remembered */
    struct undo_named *named;
    size_t count, cap;
    uint32_t *slots; /* named + 1, by hash */
    size_t mask;
    bool failed;
    bool unnamed;  /* a marker names what is not among these ... */
    bool complete; /* ... and cannot be, since everything was named */
    struct undo_past *past;
};

/* For paucis_opts.handle; ud is a struct undo. Texts must stay until undo_batch. */
size_t undo_handle(void *ud, const char *text, size_t n, char *handle);
void undo_clear(struct undo *u);
void undo_free(struct undo *u);

/* After a call that decided: makes the batch of what turns `out` back into `in`. Texts may have
 * been named by calls before this one (PAUCIS_NAME_NEW). False: no memory.
 *
 * With u->known the list of the last body is remembered. If all of it is safe still (`safe`), the
 * ranges that this body has in common with that are not looked at again, and what they rely on is
 * not in the batch. */
bool undo_batch(struct undo *u, paucis_ctx *ctx, const char *in, size_t n, const char *out,
                size_t outn, bool safe, struct store_batch *b);

/* The original of a shortened body. On ABSENT, EVICTED and DAMAGED *which is what is missing: the
 * body itself if its list is not known. */
enum store_err undo_restore(struct store *s, const char *body, size_t n, struct buf *out,
                            struct hash *which);

#endif
