/* Sums over a growing list of numbers, each of which may change (a Fenwick tree): adding, changing
 * and summing take the logarithm of its length. */
#ifndef PAUCIS_SUMS_H
#define PAUCIS_SUMS_H

#include <stdbool.h>

#include "core/mem.h"

struct sums {
    VEC(int64_t) tree; /* at[i] is the sum of the numbers i & (i + 1) ... i */
    int64_t total;
};

static inline bool sums_append(struct sums *s, struct mem *m, int64_t value) {
    if (!VEC_ROOM(m, s->tree, 1)) return false;
    size_t i = s->tree.count++, from = i & (i + 1);
    s->total += value;
    for (size_t k = i; k > from; k = (k - 1) & k) value += s->tree.at[k - 1];
    s->tree.at[i] = value;
    return true;
}

static inline void sums_change(struct sums *s, size_t i, int64_t by) {
    s->total += by;
    for (; i < s->tree.count; i |= i + 1) s->tree.at[i] += by;
}

/* Of the numbers before i. */
static inline int64_t sums_before(const struct sums *s, size_t i) {
    int64_t sum = 0;
    for (; i; i &= i - 1) sum += s->tree.at[i - 1];
    return sum;
}

#endif
