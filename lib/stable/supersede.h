/* Proven staleness: which earlier result a new one makes out of date. The same call made again,
 * with the same arguments, does: a file read again, a listing, a status, a test run. */
#ifndef PAUCIS_SUPERSEDE_H
#define PAUCIS_SUPERSEDE_H

#include "stable/items.h"

/* Remembers a call by its name and arguments. */
uint64_t paucis__subject_of(struct span name, struct span arguments);

/* The part whose result is now superseded by that of `part`, or SIZE_MAX. NOMEM or OK. */
paucis_err paucis__supersede(struct item_set *subjects, uint64_t subject, size_t part,
                             size_t *older);

#endif
