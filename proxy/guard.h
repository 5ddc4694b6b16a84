/* Who may ask, and with what: checked before anything else is done with a request. */
#ifndef PAUCIS_PROXY_GUARD_H
#define PAUCIS_PROXY_GUARD_H

#include "proxy.h"

#include <sys/socket.h>

struct verdict {
    int status; /* 0: fine */
    const char *why;
    int64_t length; /* of the body; -1 not known, 0 none */
};

/* May shorten x->uri by the access token in front. */
struct verdict guard_request(struct xfer *x);

/* Compares in a time that does not depend on where the texts differ. */
bool guard_same(const char *a, size_t n, const char *secret);

/* ADDRESS:PORT or PORT. False: reported. */
bool guard_address(const char *text, struct sockaddr_storage *to, socklen_t *len, bool *loopback);

#endif
