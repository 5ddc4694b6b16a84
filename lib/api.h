/* What the files that implement paucis.h share. */
#ifndef PAUCIS_API_H
#define PAUCIS_API_H

#include "plan/settings.h"

/* The caller's options as this version knows them, and what they mean. */
paucis_err paucis__api_settings(struct settings *s, paucis_opts *mine, const paucis_opts *given,
                                paucis_error *e);

#endif
