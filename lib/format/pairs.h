/* Calls and answers as the rules count them, on one walk over the live messages: a result
 * answers the newest call before it that has its id. (part.mate says the same for the body as it
 * came, but calls may have been dropped since.) */
#ifndef PAUCIS_FORMAT_PAIRS_H
#define PAUCIS_FORMAT_PAIRS_H

#include "view/view.h"

enum pair_mark {
    PAIR_ANSWERED = 1,
    PAIR_SHADOWED = 2 /* a later call of the same turn has the same id and takes its answers */
};

struct pairs {
    uint32_t *newest; /* for the first call with an id: the newest so far, NO_INDEX if none came */
    uint8_t *marks;   /* for each part */
};

/* False if memory ran out; v->failed is then set. */
bool paucis__pairs_init(struct pairs *p, struct view *v);

/* Meets a call; returns the newest earlier call with the same id, NO_INDEX if there is none. */
size_t paucis__pairs_call(struct pairs *p, const struct view *v, size_t call);

/* The call that a result answers, NO_INDEX if there is none. */
size_t paucis__pairs_answered(const struct pairs *p, const struct view *v, size_t result);

#endif
