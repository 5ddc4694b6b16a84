/* Policies and strategies: the tables of who decides what goes. */
#ifndef PAUCIS_POLICY_H
#define PAUCIS_POLICY_H

#include "view/view.h"

struct settings;

struct policy {
    TABLE_ROW; /* name, summary */
    /* Edits the view; NULL changes nothing. */
    paucis_err (*run)(struct view *v, const struct settings *s, paucis_stats *st);
};

extern const struct policy paucis__policies[]; /* a NULL name ends; the first is the default */

const struct policy *paucis__policy_named(const char *name);

#endif
