/* Who may ask, and with what: checked before anything else is done with a request. */
#ifndef PAUCIS_PROXY_GUARD_H
#define PAUCIS_PROXY_GUARD_H

#include "proxy.h"

struct verdict {
    int status; /* 0: fine */
    const char *why;
    int64_t length; /* of the body; -1 not known, 0 none */
};

/* May shorten x->uri by the access token in front. */
struct verdict guard_request(struct xfer *x);

#endif
