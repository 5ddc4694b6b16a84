/* See rent.h. Depth of recursion: the logarithm of the number of parts. */
#include "stable/rent.h"

#include <string.h>

/* What a part that is no candidate lacks. Far below every real gain, and far from overflow: gains
 * stay under 2^62, see the bounds of prices in price.c. */
#define NO_CANDIDATE (-((int64_t)1 << 62))

static const struct rent_node empty_leaf = {.best = {0, NO_CANDIDATE}, .until = INT64_MAX};

static int64_t gain_at(struct line line, int64_t turn) { return line.slope * turn + line.at_zero; }

static struct line line_sum(struct line a, struct line b) {
    return (struct line){a.slope + b.slope, a.at_zero + b.at_zero};
}

static void node_add(struct rent_node *n, struct line line) {
    n->best = line_sum(n->best, line);
    n->add = line_sum(n->add, line);
}

/* The first turn after `turn` at which `slow`, now behind or level, is ahead of `lead`. */
static int64_t overtakes(struct line lead, struct line slow, int64_t turn, bool level_is_enough) {
    int64_t faster = slow.slope - lead.slope;
    if (faster <= 0) return INT64_MAX;
    int64_t behind = gain_at(lead, turn) - gain_at(slow, turn);
    int64_t turns = level_is_enough ? (behind + faster - 1) / faster : behind / faster + 1;
    return turns > INT64_MAX - turn ? INT64_MAX : turn + turns;
}

/* The answer for a node from those of its children. The right child wins a tie. */
static void pull(struct rent *r, size_t i) {
    struct rent_node *n = &r->nodes[i];
    const struct rent_node *a = &r->nodes[2 * i], *b = &r->nodes[2 * i + 1];
    bool right = gain_at(b->best, r->turn) >= gain_at(a->best, r->turn);
    n->best = line_sum(right ? b->best : a->best, n->add);
    int64_t next = right ? overtakes(b->best, a->best, r->turn, false)
                         : overtakes(a->best, b->best, r->turn, true);
    n->until = next == INT64_MAX ? next : next - 1;
    if (a->until < n->until) n->until = a->until;
    if (b->until < n->until) n->until = b->until;
}

static void advance(struct rent *r, size_t i) {
    if (r->nodes[i].until >= r->turn) return;
    advance(r, 2 * i);
    advance(r, 2 * i + 1);
    pull(r, i);
}

/* The lowest node that has leaves on both sides of this place; 0 if there is none. */
static size_t straddles(const struct rent *r, size_t leaf) {
    size_t i = leaf + r->leaves;
    if (!leaf || leaf == r->leaves) return 0;
    while (!(i & 1)) i /= 2;
    return i / 2;
}

/* Nodes that lie wholly in the range take the line; those that it cuts through look again at their
 * children, from below: a deeper node has a larger number. */
void paucis__rent_add(struct rent *r, size_t from, size_t to, struct line line) {
    for (size_t a = from + r->leaves, b = to + r->leaves; a < b; a /= 2, b /= 2) {
        if (a & 1) node_add(&r->nodes[a++], line);
        if (b & 1) node_add(&r->nodes[--b], line);
    }
    size_t a = straddles(r, from), b = straddles(r, to);
    while (a || b) {
        size_t i = a > b ? a : b;
        pull(r, i);
        if (a == i) a /= 2;
        if (b == i) b /= 2;
    }
}

void paucis__rent_candidate(struct rent *r, size_t part, bool is) {
    paucis__rent_add(r, part, part + 1, (struct line){0, is ? -NO_CANDIDATE : NO_CANDIDATE});
}

void paucis__rent_turn(struct rent *r, int64_t turn) {
    r->turn = turn;
    if (r->leaves) advance(r, 1);
}

/* The best leaf of node i, which covers [first, first + width), from `from` on; `above` is what the
 * nodes above add, *gain the best so far, and the leaf must be at least as good. */
static size_t best(const struct rent *r, size_t i, size_t first, size_t width, size_t from,
                   int64_t above, int64_t *gain) {
    const struct rent_node *n = &r->nodes[i];
    int64_t mine = gain_at(n->best, r->turn) + above;
    if (from >= first + width || mine < *gain) return SIZE_MAX;
    if (width == 1) {
        *gain = mine;
        return first;
    }
    above += gain_at(n->add, r->turn);
    width /= 2;
    size_t right = best(r, 2 * i + 1, first + width, width, from, above, gain);
    int64_t ahead = right == SIZE_MAX ? *gain : *gain + 1; /* the later one wins a tie */
    size_t left = best(r, 2 * i, first, width, from, above, &ahead);
    if (left == SIZE_MAX) return right;
    *gain = ahead;
    return left;
}

size_t paucis__rent_best(struct rent *r, size_t from, int64_t least, int64_t *gain) {
    *gain = least;
    return r->leaves ? best(r, 1, 0, r->leaves, from, 0, gain) : SIZE_MAX;
}

/* The tree for twice as many parts has the old one as its left half. */
static void grow(const struct rent *r, struct rent_node *to, size_t leaves) {
    for (size_t i = 1; i < 2 * leaves; i++) to[i] = empty_leaf;
    for (size_t row = 1; row <= r->leaves; row *= 2) {
        size_t up = leaves / r->leaves; /* the old root stands so many rows further down */
        memcpy(&to[row * up], &r->nodes[row], row * sizeof *to);
    }
}

paucis_err paucis__rent_room(struct rent *r, size_t n) {
    if (n <= r->leaves) return PAUCIS_OK;
    size_t leaves = r->leaves ? r->leaves : 64;
    while (leaves < n) leaves *= 2;
    struct rent_node *nodes = paucis__mem_resize(r->mem, NULL, 0, 2 * leaves * sizeof *nodes);
    if (!nodes) return PAUCIS_E_NOMEM;
    grow(r, nodes, leaves);
    size_t old_root = r->leaves ? leaves / r->leaves : 0;
    paucis__mem_resize(r->mem, r->nodes, 2 * r->leaves * sizeof *nodes, 0);
    r->nodes = nodes;
    r->leaves = leaves;
    for (size_t i = old_root / 2; i; i /= 2) pull(r, i);
    return PAUCIS_OK;
}

void paucis__rent_free(struct rent *r) {
    paucis__mem_resize(r->mem, r->nodes, 2 * r->leaves * sizeof *r->nodes, 0);
    *r = (struct rent){.mem = r->mem};
}
