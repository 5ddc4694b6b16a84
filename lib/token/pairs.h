/* The pairs of tokens that merge, as an open hash table. A vocabulary of byte pair encoding is
 * nothing but this: the first 256 tokens are the bytes, every other is made of two before it, and
 * a lower number merges first.
 *
 * An entry is one word: left token, right token, result, 20 bits each; 0 is an empty slot. A pair
 * stands in the line of 8 slots that its hash names, or, if that was full, in one behind it. A line
 * fills from its first slot, so an empty last slot ends every search. */
#ifndef PAUCIS_PAIRS_H
#define PAUCIS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIR_BITS 20
#define PAIR_MAX ((uint32_t)1 << PAIR_BITS) /* tokens in one vocabulary */
#define PAIR_LINE 8                         /* slots of one line, 64 bytes */

struct pair_table {
    const uint64_t *slots;
    const uint64_t *filter; /* 4 bits a slot; 0: no pair with this hash. Most lookups end here, and
                               it stays near */
    const int32_t *bytes;   /* what two bytes make: the first lookups of every piece, from a table
                             that stays near */
    unsigned log;           /* of the number of slots, which is at least twice the pairs */
    uint32_t tokens;        /* in all, with the bytes */
};

static inline uint64_t pair_entry(uint32_t left, uint32_t right, uint32_t id) {
    return ((uint64_t)left << PAIR_BITS | right) << PAIR_BITS | id;
}

static inline uint64_t pair_hash(uint64_t key) { return key * UINT64_C(0x9e3779b97f4a7c15); }

/* The first slot of the line of a pair. */
static inline size_t pair_home(unsigned log, uint64_t key) {
    return (size_t)(pair_hash(key) >> (64 - log)) & ~(size_t)(PAIR_LINE - 1);
}

/* Words of the filter. */
static inline size_t pair_filter_size(unsigned log) { return (size_t)1 << (log + 2 - 6); }

static inline bool pair_may(const struct pair_table *t, uint64_t key) {
    uint64_t bit = pair_hash(key) >> (62 - t->log);
    return t->filter[bit >> 6] >> (bit & 63) & 1;
}

/* The slot of this pair, or the empty one where it belongs, which is then to be filled. */
static inline uint64_t *pair_slot(uint64_t *slots, uint64_t *filter, unsigned log, uint32_t left,
                                  uint32_t right) {
    uint64_t key = (uint64_t)left << PAIR_BITS | right, bit = pair_hash(key) >> (62 - log);
    size_t i = pair_home(log, key), mask = ((size_t)1 << log) - 1;
    filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
    while (slots[i] && slots[i] >> PAIR_BITS != key) i = (i + 1) & mask;
    return &slots[i];
}

/* Made by gen/tables.c, if the build has them. */
extern const struct pair_table paucis__o200k_base_pairs, paucis__cl100k_base_pairs;

#define NO_MERGE (((int32_t)1 << 25) - 1) /* so that merge.h has 6 bits for a place below it */

/* The token that two make, or NO_MERGE. */
static inline int32_t pair_merge(const struct pair_table *t, uint32_t left, uint32_t right) {
    uint64_t key = (uint64_t)left << PAIR_BITS | right;
    size_t mask = ((size_t)1 << t->log) - 1;
    for (size_t i = pair_home(t->log, key);; i = (i + 1) & mask) {
        uint64_t entry = t->slots[i];
        if (!entry) return NO_MERGE; /* first: the pair of two tokens 0 has key 0 */
        if (entry >> PAIR_BITS == key) return (int32_t)(entry & (PAIR_MAX - 1));
    }
}

/* Printable Latin-1 first, then the others: the order in which GPT-2 numbered its bytes. */
static inline void pair_byte_order(uint8_t token[256]) {
    unsigned shown = 0, hidden = 188;
    for (unsigned b = 0; b < 256; b++) {
        int is_shown = (b > 32 && b < 127) || (b > 160 && b != 173);
        token[b] = (uint8_t)(is_shown ? shown++ : hidden++);
    }
}

static inline int32_t pair_bytes(const struct pair_table *t, uint8_t left, uint8_t right) {
    return t->bytes[left << 8 | right];
}

#endif
