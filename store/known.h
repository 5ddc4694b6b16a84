/* What a process has seen already, so that it neither hashes nor asks for it again.
 *
 * A conversation sends nearly the same again at every step, and SHA-256 of all of it would cost as
 * much as shortening it. So contents are remembered by a fast keyed hash of 128 bits, which leads
 * to their SHA-256; long bodies by their pages, with the state that SHA-256 had behind each; and
 * for an hour what a store has acknowledged for a conversation. The key is random and of this
 * process: nobody can make contents that are taken for one another.
 *
 * Fixed tables; what is pushed out is hashed or asked for once more. Any thread may use it. */
#ifndef PAUCIS_KNOWN_H
#define PAUCIS_KNOWN_H

#include "store.h"

struct known *known_new(void); /* NULL: no memory */
void known_free(struct known *k);

/* SHA-256, of a text and of a whole body. With k == NULL it is just calculated. */
void known_hash(struct known *k, const char *at, size_t len, struct hash *out);
void known_body(struct known *k, const char *at, size_t len, struct hash *out);

/* How a range of a body is kept: a tag and a hash of undo.c. */
bool known_range(struct known *k, const char *at, size_t len, char *tag, struct hash *out);
void known_note_range(struct known *k, const char *at, size_t len, char tag, const struct hash *h);

/* Has a store acknowledged it for this conversation, within the hour? */
bool known_kept(struct known *k, const char *conv, const struct hash *h, int64_t now);
void known_note_kept(struct known *k, const char *conv, const struct hash *h, int64_t now);

#endif
