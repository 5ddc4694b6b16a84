/* Policies: who decides what goes. A policy is a row here; the classic ones are sequences of
 * strategies. */
#ifndef PAUCIS_POLICY_H
#define PAUCIS_POLICY_H

#include "strategy/strategy.h"

struct policy {
    TABLE_ROW;                   /* name, summary */
    const char *const *sequence; /* strategies, NULL ends; NULL: nothing changes */
    bool fold, leave;            /* the stable policy instead; or what it falls back to */
    bool then_budget;            /* and compact_to_budget after them, if there is a budget */
};

extern const struct policy paucis__policies[]; /* a NULL name ends; the first is the default */

const struct policy *paucis__policy_named(const char *name);

#endif
