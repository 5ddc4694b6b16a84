/* The budget: the most tokens a request may have. Where the fold would send more, a cut is forced,
 * deep enough that the next one is far away, weakest loss first:
 *
 *   superseded and old results take their short form; old results become one line; then old
 *   arguments, old prose, and whole old steps; at last the newest results are capped harder.
 *
 * Sinks, what users and system say, and the window stay. */
#ifndef PAUCIS_BUDGET_H
#define PAUCIS_BUDGET_H

#include "stable/fold.h"

/* Does the request as it stands keep to the budget? */
bool paucis__budget_is_met(const struct fold *f);
/* And with so many bytes more? */
bool paucis__budget_has_room(const struct fold *f, size_t bytes);

/* Cuts until the low-water mark is reached or nothing is left to cut; *first is the first part that
 * was sent before and has changed, SIZE_MAX if none. Parts from `fresh` on are sent for the first
 * time. */
paucis_err paucis__budget_force(struct fold *f, size_t fresh, size_t *first);

#endif
