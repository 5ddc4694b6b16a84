/* Items: the words of a text that a reader may come back to. Names, paths, identifiers and numbers:
 * a letter or one of _ ~ / . and 5 to 79 of letters, digits and _ . / : - behind it; or four digits
 * and more. And the set of those that a conversation has, by a number for each.
 *
 * A text is looked at 64 bytes at a time: what each byte can be becomes a bit in a few words, in
 * which items are then found by shifting and counting. */
#ifndef PAUCIS_ITEMS_H
#define PAUCIS_ITEMS_H

#include <stdbool.h>

#include "core/hash.h"

struct item {
    const char *at;
    uint32_t len;
    bool is_code; /* it looks like code: see paucis__item_is_code */
};

enum item_bit { ITEM_BEGINS, ITEM_GOES_ON, ITEM_DIGIT, ITEM_NEWLINE, ITEM_BITS };
struct item_block { /* of 64 bytes, the lowest bit of each word for the first */
    uint64_t bits[ITEM_BITS];
};

/* A text made ready: one block for every 64 bytes, and two empty ones behind. */
struct item_text {
    struct mem *mem;
    const char *at;
    size_t len;
    VEC(struct item_block) blocks;
};

/* Makes a text ready; it must stay where it is. */
paucis_err paucis__item_text(struct item_text *t, struct span text);
/* The next item at or after *at that ends at `end` or before; false if there is none. *at moves
 * behind it. is_code is not filled in. */
bool paucis__item_next(const struct item_text *t, size_t *at, size_t end, struct item *out);
/* Where the line that begins here ends, with its newline. */
size_t paucis__item_line_end(const struct item_text *t, size_t at);

/* Does it look like code: a digit, _ / or ~, an inner capital, an inner . or :, three capitals in
 * front? */
bool paucis__item_is_code(const char *at, size_t len);

/* A set of texts under their 64-bit hashes, each with a number that the user of the set may change.
 * The hash is the same everywhere, since what is kept depends on it; where it lies in the table is
 * not, so that nobody can prepare long probes. */
struct item_entry {
    uint64_t hash;
    uint64_t value;
};
struct item_set {
    struct mem *mem;
    VEC(struct item_entry) entries; /* in the order of coming */
    uint64_t *slots; /* 0 = free; else the upper half of a hash, and the entry's place plus 1 */
    size_t size;     /* a power of two, or 0 */
    uint64_t seed;
};

static inline uint64_t item_hash(const char *at, size_t len) { return XXH3_64bits(at, len); }

/* The text's entry, with value 0 if it was not there. NULL: out of memory. Good until the next. */
struct item_entry *paucis__item_add(struct item_set *s, uint64_t hash);
void paucis__items_clear(struct item_set *s); /* keeps memory, if it is not far too much */
void paucis__items_free(struct item_set *s);

#endif
