/* The splice writer: what the edits changed becomes a list of byte ranges of the body with their
 * replacements, in order; the output is everything else plus these. */
#ifndef PAUCIS_WRITE_H
#define PAUCIS_WRITE_H

#include "view/view.h"

struct splice {
    size_t from, to;  /* bytes of the body that go */
    struct span text; /* what stands there instead, already JSON */
};

struct splices {
    VEC(struct splice) list; /* ascending, not overlapping */
    size_t size;             /* of the output */
};

/* Refuses with PAUCIS_E_INVARIANT what would leave an array empty. */
paucis_err paucis__write_plan(struct view *v, struct splices *s);

/* The first byte at which the output differs from the body, PAUCIS_NO_BYTE if nowhere. */
uint64_t paucis__write_first_change(const struct json *j, const struct splices *s);

/* dst holds s->size bytes. */
void paucis__write_apply(const struct json *j, const struct splices *s, char *dst);

#endif
