/* Proven staleness: which earlier results a new one makes out of date. The same call made again
 * does: a listing, a status, a test run; and a file read again, if the lines that were read are
 * among those that are read now:
 *
 *     {"file_path":"a.c","offset":40,"limit":20}     superseded by {"file_path":"a.c"}
 *     sed -n '40,60p' a.c                            superseded by head -n 80 a.c
 *
 * A call is known by its name and all of its arguments but those that say which lines. Where a
 * shell puts something in ("cat $F", "cat *.c"), the same words may ask for something else. */
#ifndef PAUCIS_SUPERSEDE_H
#define PAUCIS_SUPERSEDE_H

#include "json/json.h"
#include "stable/tools.h"

struct subject {
    uint64_t what;     /* a hash; 0: nothing that could be asked for again */
    uint32_t from, to; /* lines, both counted; all of them if it does not say */
};

/* What a call asks for. `j` is used to read the arguments. */
paucis_err paucis__subject_of(struct json *j, struct mem *m, enum tool tool, struct span name,
                              struct span arguments, struct subject *out);

static inline bool subject_has(const struct subject *s, const struct subject *other) {
    return s->what && s->what == other->what && s->from <= other->from && s->to >= other->to;
}

#endif
