/* Rent or buy: for every part, what cutting there would bring now. The gain of a cut at p is the
 * rent that the stale parts from p on have paid, less the price of writing again what follows. It
 * is a line in the turn number: rents grow by a fixed amount each turn.
 *
 * A plain scan looks at all parts at every request, and a history holds all its requests. This tree
 * gives the same answer for less: each node knows the best line below it and how long that one
 * stays best, so that a turn touches only nodes whose answer changes (a kinetic segment tree). */
#ifndef PAUCIS_RENT_H
#define PAUCIS_RENT_H

#include <stdbool.h>

#include "core/mem.h"

struct line {
    int64_t slope, at_zero; /* gain at turn t: slope * t + at_zero */
};

struct rent_node {
    struct line best; /* of all leaves below, with what this node adds */
    struct line add;  /* to all leaves below */
    int64_t until;    /* last turn at which `best` is known to be the best */
};

struct rent {
    struct mem *mem;
    struct rent_node *nodes; /* a heap: children of i are 2i and 2i + 1, leaves from `leaves` on */
    size_t leaves;           /* a power of two, 0 at first */
    int64_t turn;
};

/* Makes room for n parts. A new part has no gain and is no candidate. */
paucis_err paucis__rent_room(struct rent *r, size_t n);

/* Adds a line to the gain of every part in [from, to). */
void paucis__rent_add(struct rent *r, size_t from, size_t to, struct line line);

/* Only a candidate can be the place of a cut. Call once for each change. */
void paucis__rent_candidate(struct rent *r, size_t part, bool is);

/* The turn may only grow. */
void paucis__rent_turn(struct rent *r, int64_t turn);

/* Of the candidates from `from` on the one with the largest gain, the last of them if there are
 * several; SIZE_MAX if no gain is at least `least`. */
size_t paucis__rent_best(struct rent *r, size_t from, int64_t least, int64_t *gain);

void paucis__rent_free(struct rent *r);

#endif
