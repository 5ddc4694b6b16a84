/* One hash for every table: XXH3, seeded so that nobody can prepare collisions. What it finds is
 * always confirmed by comparing bytes. */
#ifndef PAUCIS_HASH_H
#define PAUCIS_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/mem.h"

static inline uint64_t hash_bytes(struct span s, uint64_t seed) {
    return XXH3_64bits_withSeed(s.at, s.len, seed);
}

#endif
