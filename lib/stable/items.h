/* Items: the words of a text that a reader may come back to. Names, paths, identifiers and numbers:
 * a letter or one of _ ~ / . and 5 to 79 of letters, digits and _ . / : - behind it; or four digits
 * and more. And the set of those that a conversation has, by a number for each. */
#ifndef PAUCIS_ITEMS_H
#define PAUCIS_ITEMS_H

#include <stdbool.h>

#include "core/hash.h"

struct item {
    const char *at;
    size_t len;
};

/* The next item at or after *at and before end; false if there is none. *at moves behind it. */
bool paucis__item_next(const char **at, const char *end, struct item *out);

/* Does it look like code: a digit, _ / or ~, an inner capital, an inner . or :, three capitals in
 * front? */
bool paucis__item_is_code(const struct item *i);

/* A set of texts under their 64-bit hashes, each with a number that the user of the set may change.
 * The hash is the same everywhere, since what is kept depends on it; where it lies in the table is
 * not, so that nobody can prepare long probes. */
struct item_slot {
    uint64_t hash; /* 0 = free */
    uint64_t value;
};
struct item_set {
    struct mem *mem;
    struct item_slot *slots;
    size_t size, count; /* size is a power of two, or 0 */
    uint64_t seed;
};

static inline uint64_t item_hash(const char *at, size_t len) {
    uint64_t h = XXH3_64bits(at, len);
    return h ? h : 1;
}

/* The text's slot, with value 0 if it was not there. NULL: out of memory. Good until the next. */
struct item_slot *paucis__item_add(struct item_set *s, uint64_t hash);
/* NULL if it is not there. */
struct item_slot *paucis__item_find(const struct item_set *s, uint64_t hash);
void paucis__items_clear(struct item_set *s); /* keeps memory */
void paucis__items_free(struct item_set *s);

#endif
