/* Shortening with a store: what goes is kept first. */
#ifndef PAUCIS_KEEP_H
#define PAUCIS_KEEP_H

#include "cli.h"

#ifdef PAUCIS_STORE
#include "pledge.h"

/* --store and its companions. *out is NULL for "none". `only_asked`: none unless asked for;
 * otherwise the user's own. Returns an exit code; anything but 0 is reported. */
int keep_open(const struct args *a, bool only_asked, bool must_exist, struct store **out);

/* The same for who has the values from elsewhere; NULL = not given. */
struct keep_flags {
    const char *url, *most, *days, *key;
};
int keep_open_with(const struct keep_flags *f, bool must_exist, struct store **out);

/* One for each thread. */
struct keep {
    struct store *store; /* NULL = it could not be opened */
    const char *conv;    /* --conversation; NULL = known by how the body begins */
    struct pledge pledge;
};

/* Like paucis_compact, but what the shortened body lacks is in the store before it returns. If the
 * store fails, why has the reason (STORE_WHY bytes) and *out is what may be sent all the same: what
 * an earlier request was sent as, if the store confirms that it has all that this lacks, else the
 * body as it came. */
paucis_err keep_compact(struct keep *k, paucis_ctx *ctx, const char *in, size_t n,
                        const paucis_opts *opts, const char **out, size_t *outn, paucis_stats *st,
                        paucis_error *e, char *why);
void keep_free(struct keep *k);

/* What is said when `why` is not empty. */
#define KEEP_FAILED "the store failed: %s; what is not kept there was not cut"

#else /* a build without a store */

enum { STORE_WHY = 1 };
struct store;
struct keep {
    struct store *store;
    const char *conv;
};

static inline paucis_err keep_compact(struct keep *k, paucis_ctx *ctx, const char *in, size_t n,
                                      const paucis_opts *opts, const char **out, size_t *outn,
                                      paucis_stats *st, paucis_error *e, char *why) {
    (void)k;
    *why = '\0';
    return paucis_compact(ctx, in, n, opts, out, outn, st, e);
}
static inline void keep_free(struct keep *k) { (void)k; }
#define KEEP_FAILED "%s"
#endif

#endif
