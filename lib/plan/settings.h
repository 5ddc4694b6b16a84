/* Settings: the caller's options, checked and resolved to what the library works with. Members of
 * paucis_opts are the same options by another door. */
#ifndef PAUCIS_SETTINGS_H
#define PAUCIS_SETTINGS_H

#include "format/format.h"
#include "plan/policy.h"
#include "stable/price.h"
#include "stable/stable.h"

#define MAX_STRATEGIES 16 /* in the table, and in one list */

struct settings {
    const struct json_kernel *kernel;            /* NULL = the best */
    const struct format *format;                 /* NULL = detect */
    const struct policy *policy;                 /* NULL = strategies were named */
    const struct strategy *list[MAX_STRATEGIES]; /* what runs, in order; sequences unrolled */
    size_t count;
    uint64_t budget;      /* PAUCIS_NO_BUDGET = none */
    struct stable stable; /* for the policy of that name */
    uint32_t flags;
    uint64_t common[COMMON_OPTIONS];
    uint64_t own[MAX_STRATEGIES][MAX_OPTIONS]; /* by place in paucis__strategies */
};

/* *e gets the reason on PAUCIS_E_ARG. */
paucis_err paucis__settings_read(struct settings *s, const paucis_opts *o, paucis_error *e);

/* Is it the stable policy that decides? */
static inline bool settings_fold(const struct settings *s) { return s->policy && s->policy->fold; }

/* Does anything run at all? */
static inline bool settings_edit(const struct settings *s) { return s->count || settings_fold(s); }

/* The values of a strategy's options. */
const uint64_t *paucis__settings_of(const struct settings *s, const struct strategy *st);

/* Every option by number, NULL past the end: names, then what all strategies share, then their
 * own. */
const paucis_info *paucis__settings_option(size_t i);

#endif
