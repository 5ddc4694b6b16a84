/* Settings: the caller's options, checked and resolved to what the library works with. Every option
 * has a row in options.def; members of paucis_opts are the same options by another door. */
#ifndef PAUCIS_SETTINGS_H
#define PAUCIS_SETTINGS_H

#include "format/format.h"
#include "plan/policy.h"

struct settings {
    const struct json_kernel *kernel; /* NULL = the best */
    const struct format *format;      /* NULL = detect */
    const struct policy *policy;
    uint32_t flags;
};

/* *e gets the reason on PAUCIS_E_ARG. */
paucis_err paucis__settings_read(struct settings *s, const paucis_opts *o, paucis_error *e);

#endif
