/* Clients that take too long; see conns.c. */
#ifndef PAUCIS_PROXY_CONNS_H
#define PAUCIS_PROXY_CONNS_H

#include "proxy.h"

#include <microhttpd.h>

struct conns *conns_new(void);
void conns_free(struct conns *c);
void conns_notify(void *serve, struct MHD_Connection *con, void **context,
                  enum MHD_ConnectionNotificationCode code);
/* What is expected of this client now must be there in so many seconds; 0: nothing is. */
void conns_expect(struct MHD_Connection *con, uint64_t seconds);
void conns_sweep(struct conns *all);

#endif
