/* The pairs of tokens that merge, as an open hash table. A vocabulary of byte pair encoding is
 * nothing but this: the first 256 tokens are the bytes, every other is made of two before it, and
 * a lower number merges first.
 *
 * An entry is one word: left token, right token, result, 20 bits each; 0 is an empty slot. */
#ifndef PAUCIS_PAIRS_H
#define PAUCIS_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#define PAIR_BITS 20
#define PAIR_MAX ((uint32_t)1 << PAIR_BITS) /* tokens in one vocabulary */

struct pair_table {
    const uint64_t *slots;
    const int32_t *bytes; /* what two bytes make: the first lookups of every piece, from a table
                             that stays near */
    unsigned log;         /* of the number of slots, which is at least twice the pairs */
    uint32_t tokens;      /* in all, with the bytes */
};

static inline uint64_t pair_entry(uint32_t left, uint32_t right, uint32_t id) {
    return ((uint64_t)left << PAIR_BITS | right) << PAIR_BITS | id;
}

static inline size_t pair_home(unsigned log, uint32_t left, uint32_t right) {
    uint64_t key = (uint64_t)left << PAIR_BITS | right;
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - log));
}

/* The slot of this pair, or the empty one where it belongs. */
static inline uint64_t *pair_slot(uint64_t *slots, unsigned log, uint32_t left, uint32_t right) {
    uint64_t key = (uint64_t)left << PAIR_BITS | right;
    size_t i = pair_home(log, left, right), mask = ((size_t)1 << log) - 1;
    while (slots[i] && slots[i] >> PAIR_BITS != key) i = (i + 1) & mask;
    return &slots[i];
}

/* Made by gen/tables.c, if the build has them. */
extern const struct pair_table paucis__o200k_base_pairs, paucis__cl100k_base_pairs;

#define NO_MERGE INT32_MAX

/* The token that two make, or NO_MERGE. */
static inline int32_t pair_merge(const struct pair_table *t, uint32_t left, uint32_t right) {
    uint64_t key = (uint64_t)left << PAIR_BITS | right;
    size_t mask = ((size_t)1 << t->log) - 1;
    for (size_t i = pair_home(t->log, left, right);; i = (i + 1) & mask) {
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
