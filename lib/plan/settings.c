/* See settings.h. */
#include "plan/settings.h"

#include <stdlib.h>

static paucis_err wrong(paucis_error *e, const char *msg) {
    *e = (paucis_error){PAUCIS_E_ARG, msg, 0};
    return PAUCIS_E_ARG;
}

static const struct json_kernel *kernel_named(const char *name) {
    for (const struct json_kernel *const *k = paucis__json_kernels; *k; k++)
        if (strcmp((*k)->name, name) == 0 && (*k)->usable()) return *k;
    return NULL;
}

static paucis_err set_option(struct settings *s, const char *key, const char *val,
                             paucis_error *e) {
    if (!key || !val) return wrong(e, "an option without a name or a value");
    if (strcmp(key, "format") == 0) {
        s->format = paucis__format_named(val);
        return s->format ? PAUCIS_OK : wrong(e, "unknown format");
    }
    if (strcmp(key, "policy") == 0) {
        s->policy = paucis__policy_named(val);
        return s->policy ? PAUCIS_OK : wrong(e, "unknown policy");
    }
    if (strcmp(key, "kernel") == 0) {
        s->kernel = kernel_named(val);
        return s->kernel ? PAUCIS_OK : wrong(e, "no such kernel on this machine");
    }
    return wrong(e, "unknown option");
}

paucis_err paucis__settings_read(struct settings *s, const paucis_opts *o, paucis_error *e) {
    *s = (struct settings){.policy = &paucis__policies[0], .flags = o->flags};
    if (o->format) PAUCIS_TRY(set_option(s, "format", o->format, e));
    if (o->policy) PAUCIS_TRY(set_option(s, "policy", o->policy, e));
    if (o->strategies) return wrong(e, "unknown strategy");
    for (size_t i = 0; i < o->nkv; i++)
        PAUCIS_TRY(set_option(s, o->kv[i].key, o->kv[i].val, e));
    return PAUCIS_OK;
}
