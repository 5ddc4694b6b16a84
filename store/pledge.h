/* What a shortened body lacks is in the store before the body is used: the one mechanism of
 * `compact --store` and of the proxy.
 *
 *   pledge_begin   the options, with handles in markers
 *   paucis_compact
 *   pledge_take    everything the result relies on
 *   pledge_keep    written and acknowledged; only then is the result to be used
 *
 * With `known`, what was acknowledged before for this conversation is neither hashed nor asked for
 * again, so a request that cuts nothing does not touch the store. */
#ifndef PAUCIS_PLEDGE_H
#define PAUCIS_PLEDGE_H

#include "store.h"

struct pledge { /* one for each thread */
    struct store *store;
    bool quick;          /* texts are compressed by pledge_squeeze */
    struct known *known; /* shared; NULL = nothing is remembered */
    struct undo undo;
    struct store_batch batch; /* all that the body relies on, but for what is surely safe */
    struct store_batch todo;  /* what of it is put */
    unsigned safe;            /* kinds that were acknowledged for the last body ... */
    int64_t since;            /* ... and when the oldest of it was */
    uint64_t gone;            /* what store_gone said */
};

paucis_opts pledge_begin(struct pledge *p, const paucis_opts *opts);

/* After a call that decided; in and what the context holds must stay until pledge_keep. False: no
 * memory, and pledge_keep fails. */
bool pledge_take(struct pledge *p, const char *conv, paucis_ctx *ctx, const char *in, size_t n,
                 const char *out, size_t outn);

/* Puts the items of these kinds (KEPT_...). Lists alone need not be on the disk at once: all they
 * refer to is. */
enum store_err pledge_keep(struct pledge *p, unsigned kinds);

/* Were all items of these kinds acknowledged before, as far as is remembered? Asks nobody. */
bool pledge_is_kept(struct pledge *p, unsigned kinds);

/* When nobody waits any more, and before the lists are kept: what was kept in a hurry takes less
 * room. */
void pledge_squeeze(struct pledge *p);

void pledge_free(struct pledge *p);

#endif
