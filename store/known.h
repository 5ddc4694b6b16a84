/* What a process has seen already, so that it neither hashes nor asks for it again.
 *
 * A conversation sends nearly the same again at every step, and SHA-256 of all of it would cost as
 * much as shortening it. So contents are remembered by a fast keyed hash of 128 bits, which leads
 * to their SHA-256; long bodies by their pages, with the state that SHA-256 had behind each; and
 * what a store has acknowledged for a conversation, which counts for an hour. The key is random and
 * of this process: nobody can make contents that are taken for one another.
 *
 * Fixed tables; what is pushed out is hashed or asked for once more. Any thread may use it. */
#ifndef PAUCIS_KNOWN_H
#define PAUCIS_KNOWN_H

#include "store.h"

struct known *known_new(void); /* NULL: no memory */
void known_free(struct known *k);

/* SHA-256. With k == NULL it is just calculated. */
void known_hash(struct known *k, const char *at, size_t len, struct hash *out);

/* How a body begins: keys of its pages, each of which holds those before it, and of what is behind
 * the last of them. */
struct known_start {
    struct known_key {
        uint64_t low, high;
    } * pages, tail;
    size_t count, cap;
    size_t len; /* bytes that all this is about */
};

/* SHA-256 of a whole body. *same: so many bytes at its beginning are those that *start was about.
 * How far it is about this one from now on is for known_start_is to say. False: no memory. */
bool known_body(struct known *k, const char *at, size_t len, struct known_start *start,
                size_t *same, struct hash *out);
void known_start_is(struct known *k, struct known_start *start, const char *at, size_t len);
void known_start_free(struct known_start *start);

/* How a range of a body is kept: a tag and a hash of undo.c. */
bool known_range(struct known *k, const char *at, size_t len, char *tag, struct hash *out);
void known_note_range(struct known *k, const char *at, size_t len, char tag, const struct hash *h);

/* When a store has acknowledged it for this conversation; INT64_MIN / 2: as far as known, never. It
 * is forgotten when the number `gone` becomes another (store_gone). */
int64_t known_kept(struct known *k, const char *conv, uint64_t gone, const struct hash *h);
void known_note_kept(struct known *k, const char *conv, uint64_t gone, const struct hash *h,
                     int64_t now);

#endif
