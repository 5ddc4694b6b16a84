/* What a JSON value says, as one number: equal for two values that differ only in whitespace, in
 * the order of keys, in the spelling of strings or in cache marks. Comparing two bodies then means
 * comparing numbers. The hash is seeded and 64 bits wide: equal numbers are taken for equal values.
 *
 *   {"a":"x","b":[1]}  =  { "b":[1], "a":"\u0078", "cache_control":{...} }
 *
 * A string under "content" or "system" counts as an array with one text block, which it is short
 * for. */
#ifndef PAUCIS_CANON_H
#define PAUCIS_CANON_H

#include "core/hash.h"
#include "view/view.h"

struct canon {
    struct view *v;
    uint64_t *at; /* for each node: the value, or the text of a key; closing nodes have none */
};

/* With `no_thinking`, an array that holds thinking says the same as one without it. The thinking
 * itself still has its number. Errors: NOMEM. */
paucis_err paucis__canon_read(struct canon *c, struct view *v, bool no_thinking);

static inline uint64_t canon_mix(uint64_t h, uint64_t x) {
    h = (h << 23 | h >> 41) * 0x9fb21c651e98df25u + x;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

/* The number of a string with this text. */
static inline uint64_t canon_word(const struct view *v, struct span text) {
    return hash_bytes(text, v->seed);
}

/* The number of {"type":"text","text":string}. */
uint64_t paucis__canon_text_block(const struct view *v, uint64_t string);

/* The number of {}, also of an object with nothing but a cache mark in it. */
#define CANON_NOTHING canon_mix('{', 0)

#endif
