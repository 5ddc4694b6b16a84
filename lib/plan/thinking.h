/* The rules about thinking that are seen only by comparing two bodies: FORMATS.md B-R13 to B-R16
 * and E-R6 for Anthropic's models. */
#ifndef PAUCIS_THINKING_H
#define PAUCIS_THINKING_H

#include "plan/align.h"
#include "plan/check.h"

enum against {
    AGAINST_BEFORE, /* the same request before compaction: what is kept is as it was there */
    AGAINST_SENT    /* the request before this one: what is new is the reply to it */
};

struct thinking_rules {
    const char *sealed; /* broken by altered thinking */
    const char *latest; /* the same in the latest assistant message */
};

/* Reports against x->now, whose view is c->v. Errors: NOMEM. */
paucis_err paucis__check_thinking(struct check *c, const struct alignment *x, enum against against,
                                  struct thinking_rules rules);

#endif
