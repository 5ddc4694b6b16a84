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
    size_t len;
};

enum item_bit { ITEM_BEGINS, ITEM_GOES_ON, ITEM_DIGIT, ITEM_NEWLINE, ITEM_BITS };
struct item_block { /* of 64 bytes, the lowest bit of each word for the first */
    uint64_t bits[ITEM_BITS];
};

struct item_spot {
    uint32_t at, len; /* in its text */
};

/* A text made ready: one block for every 64 bytes, and an empty one behind. */
struct item_text {
    struct mem *mem;
    struct span text;
    VEC(struct item_block) blocks;
    VEC(struct item_spot) items; /* found so far */
};

/* Makes a text ready; it must stay where it is. */
paucis_err paucis__item_text(struct item_text *t, struct span text);
/* Finds its items. */
paucis_err paucis__item_scan(struct item_text *t);
static inline unsigned item_first_bit(uint64_t bits) { /* of one that is not 0 */
#ifdef __GNUC__
    return (unsigned)__builtin_ctzll(bits);
#else
    unsigned n = 0;
    for (; !(bits & 1); bits >>= 1) n++;
    return n;
#endif
}
/* The bits of 64 places from `at` on. */
static inline uint64_t item_window(const struct item_text *t, enum item_bit bit, size_t at) {
    const struct item_block *b = &t->blocks.at[at / 64];
    return b[0].bits[bit] >> at % 64 | b[1].bits[bit] << 1 << (63 - at % 64);
}
/* The first place from `at` on that has this bit, or has it not; `end` if there is none before. */
size_t paucis__item_seek(const struct item_text *t, enum item_bit bit, bool has, size_t at,
                         size_t end);

/* Does it look like code: a digit, _ / or ~, an inner capital, an inner . or :, three capitals in
 * front? */
bool paucis__item_is_code(const char *at, size_t len);

/* A set of texts under their 64-bit hashes. Each has a place, counted in the order of coming, and a
 * number there that the user of the set may change. The hash is the same everywhere, since what is
 * kept depends on it; where it lies in the table is not, so that nobody can prepare long probes. */
struct item_set {
    struct mem *mem;
    VEC(uint64_t) hashes; /* by place; there is room for half as many as there are slots */
    VEC(uint32_t) values;
    uint64_t *slots; /* 0 = free; else the upper half of a hash, and its place plus 1 */
    size_t size;     /* of them in use: a power of two, or 0 */
    size_t room;     /* for so many there is memory */
    uint64_t seed;
};

#define NO_ITEM UINT32_MAX

static inline uint64_t item_hash(const char *at, size_t len) { return XXH3_64bits(at, len); }

static inline size_t item_first_slot(const struct item_set *s, uint64_t hash) {
    return (size_t)(((hash ^ s->seed) * 0x9E3779B97F4A7C15u) >> 32);
}

/* It will be looked for soon. */
static inline void item_fetch(const struct item_set *s, uint64_t hash) {
#ifdef __GNUC__
    if (s->size) __builtin_prefetch(&s->slots[item_first_slot(s, hash) & (s->size - 1)]);
#else
    (void)s, (void)hash;
#endif
}

static inline uint64_t item_tag(uint64_t hash, size_t place) {
    return (hash >> 32 << 32) | (place + 1);
}

/* The slot that has it, or a free one where it would lie. There must be slots. */
static inline uint64_t *item_slot(const struct item_set *s, uint64_t hash) {
    for (size_t i = item_first_slot(s, hash);; i++) {
        uint64_t *slot = &s->slots[i & (s->size - 1)];
        if (!*slot) return slot;
        if ((*slot ^ hash) >> 32 == 0 && s->hashes.at[(uint32_t)*slot - 1] == hash) return slot;
    }
}

/* Its place; NO_ITEM if it is not there. */
static inline uint32_t item_find(const struct item_set *s, uint64_t hash) {
    return s->size ? (uint32_t)*item_slot(s, hash) - 1 : NO_ITEM;
}

bool paucis__items_grow(struct item_set *s);

/* Its place, with number 0 there if it is new. NO_ITEM: out of memory. */
static inline uint32_t item_add(struct item_set *s, uint64_t hash) {
    size_t count = s->values.count;
    if (2 * (count + 1) > s->size && !paucis__items_grow(s)) return NO_ITEM;
    uint64_t *slot = item_slot(s, hash);
    if (*slot) return (uint32_t)*slot - 1;
    *slot = item_tag(hash, count);
    s->hashes.at[s->hashes.count++] = hash;
    s->values.at[s->values.count++] = 0;
    return (uint32_t)count;
}

void paucis__items_clear(struct item_set *s); /* keeps memory */
void paucis__items_free(struct item_set *s);

#endif
