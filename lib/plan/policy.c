/* The policies there are. */
#include "plan/policy.h"

static const char *const classic[] = {"apply_all", NULL};
static const char *const budget[] = {"compact_to_budget", NULL};

const struct policy paucis__policies[] = {
    {.name = "stable",
     .summary = "what was sent stays as it was sent, until a cut pays for itself",
     .fold = true},
    {.name = "exit",
     .summary = "leaving stable: the original texts, without thinking bound to what was cut",
     .fold = true,
     .leave = true},
    {.name = "none", .summary = "change nothing: the output is the input"},
    {.name = "classic",
     .summary = "apply_all; with a budget, compact_to_budget after it",
     .sequence = classic,
     .then_budget = true},
    {.name = "budget", .summary = "compact_to_budget", .sequence = budget},
    {.name = NULL},
};

const struct policy *paucis__policy_named(const char *name) {
    for (const struct policy *p = paucis__policies; p->name; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}
