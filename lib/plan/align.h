/* Which part of one body is which part of another: two versions of the same conversation, one of
 * them with texts replaced, units dropped or messages added. */
#ifndef PAUCIS_ALIGN_H
#define PAUCIS_ALIGN_H

#include "plan/canon.h"

enum found {
    FOUND_NOT,   /* new, or too different */
    FOUND_FIRM,  /* by its id or content, or by its place between such */
    FOUND_MOVED, /* by its id or content, but not in its order */
    FOUND_SOFT   /* the next of its kind; around it parts came or went */
};

struct side {
    struct canon canon;
    uint32_t *mate; /* for each part: the same part on the other side, or NO_INDEX */
    uint32_t *twin; /* for each message: likewise; found by its first part that has a mate */
};

struct alignment {
    struct side old, now;
    uint8_t *found; /* for each part of `now` */
    /* Thinking is an element by itself and says nothing about the message it is counted to
     * (Responses). */
    bool thinking_apart;
};

/* Both canons must have been read. Linear. Errors: NOMEM. */
paucis_err paucis__align(struct alignment *x);

#endif
