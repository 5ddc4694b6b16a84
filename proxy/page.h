/* Answers that paucis gives itself: the live page, the metrics, health. */
#ifndef PAUCIS_PROXY_PAGE_H
#define PAUCIS_PROXY_PAGE_H

#include "proxy.h"

struct own {
    int status;
    const char *type, *why, *policy;
    bool close, upgrade;
};

/* False: the path is not ours. */
bool page_local(struct xfer *x, struct own *o, struct buf *body);

/* Is a removed text asked for? The store may take its time, so a worker gets it: the answer is then
 * in x as if it were the provider's. */
bool page_recalls(const struct xfer *x);
void page_recall(struct xfer *x);

#endif
