/* Arguments of old calls, shortened. What a call was asked to write stands in a file once it has
 * succeeded, and the text that it replaced stands nowhere any more; what has to stay is which call
 * it was, and of what. So keys, numbers and short strings stay as they are, and long strings are
 * cut to their heads:
 *
 *     {"path":"a.c","old_string":"int depth[... 12 lines, 431 bytes left out]","all":false}
 *
 * What was an object is one of the same keys, spelled as it was. Plain text is cut like a string.
 */
#ifndef PAUCIS_ARGUMENTS_H
#define PAUCIS_ARGUMENTS_H

#include "json/json.h"

struct arguments { /* memory for one at a time */
    struct json json;
    VEC(char) text;
};

struct arguments_limits {
    size_t head;      /* bytes that stay of a long string, about ... */
    size_t old_head;  /* ... and of one that the call has replaced by another */
    struct span note; /* behind the first string that is cut */
};

/* *out: the arguments cut to these limits, valid until the next call; the text itself if that would
 * not be shorter. */
paucis_err paucis__arguments_cut(struct arguments *a, struct mem *m, struct span text,
                                 const struct arguments_limits *limits, struct span *out);

/* Does the result of an edit say that it was made? Silence is no answer. */
bool paucis__tells_success(struct span result);

void paucis__arguments_free(struct arguments *a, struct mem *m);

#endif
