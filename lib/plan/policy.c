/* The policies there are. */
#include "plan/policy.h"

const struct policy paucis__policies[] = {
    {.name = "none", .summary = "change nothing: the output is the input"},
    {.name = NULL},
};

const struct policy *paucis__policy_named(const char *name) {
    for (const struct policy *p = paucis__policies; p->name; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}
