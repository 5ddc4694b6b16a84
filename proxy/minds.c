/* Contexts that remember. The next request of a conversation goes to the context that had the last
 * one, which then works only on what is new; which context it is changes the time and nothing else.
 * What they remember is several times as large as the bodies, so only so much of it is kept. */
#include "proxy.h"

enum { MINDS = MOST_WORKERS, QUIET = 600 }; /* seconds after which a conversation is forgotten */
#define MOST_BYTES ((uint64_t)128 << 20)    /* that idle contexts may hold, together */

struct mind {
    paucis_ctx *ctx;
    struct chain tip;     /* of the body it had last, ... */
    size_t messages;      /* ... and how many it had */
    uint64_t used, bytes; /* when it was last used; memory, about */
    unsigned quiet;       /* seconds since then */
    bool busy;
};

static struct {
    pthread_mutex_t lock;
    struct mind at[MINDS];
    uint64_t uses;
} minds = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Does the body continue the one that this context had last? */
static bool knows(const struct mind *m, const struct scan *s) {
    size_t n = m->messages;
    return n && n <= s->n && m->tip.lo == s->at[n - 1].lo && m->tip.hi == s->at[n - 1].hi;
}

/* Of those that are idle the one that knows most of the body, else one without a context, else the
 * one unused for longest. */
static struct mind *choose(const struct scan *s) {
    struct mind *best = NULL, *oldest = NULL;
    for (size_t i = 0; i < MINDS; i++) {
        struct mind *m = &minds.at[i];
        if (m->busy) continue;
        if (knows(m, s) && (!best || m->messages > best->messages)) best = m;
        if (!oldest || m->used < oldest->used) oldest = m;
    }
    return best ? best : oldest;
}

struct mind *mind_take(const struct scan *s) {
    pthread_mutex_lock(&minds.lock);
    struct mind *m = choose(s);
    if (m) {
        m->busy = true;
        m->messages = s->n;
        if (s->n) m->tip = s->at[s->n - 1];
    }
    pthread_mutex_unlock(&minds.lock);
    if (m && !m->ctx) paucis_ctx_new(&m->ctx, NULL);
    return m;
}

paucis_ctx *mind_ctx(struct mind *m) { return m ? m->ctx : NULL; }

/* Lock held: of what has been unused for long, or is too much, the oldest. */
static paucis_ctx *forget_one(void) {
    struct mind *oldest = NULL;
    uint64_t bytes = 0;
    for (size_t i = 0; i < MINDS; i++) {
        struct mind *m = &minds.at[i];
        if (m->busy || !m->ctx) continue;
        bytes += m->bytes;
        if (!oldest || m->used < oldest->used) oldest = m;
    }
    if (!oldest || (bytes <= MOST_BYTES && oldest->quiet < QUIET)) return NULL;
    paucis_ctx *ctx = oldest->ctx;
    *oldest = (struct mind){0};
    return ctx;
}

/* Lock held, and again at the end. */
static void forget(void) {
    paucis_ctx *ctx;
    while ((ctx = forget_one())) {
        pthread_mutex_unlock(&minds.lock);
        paucis_ctx_free(ctx);
        pthread_mutex_lock(&minds.lock);
    }
}

void mind_give(struct mind *m, uint64_t bytes) {
    if (!m) return;
    pthread_mutex_lock(&minds.lock);
    m->busy = false;
    m->used = ++minds.uses;
    m->quiet = 0;
    if (bytes > m->bytes) m->bytes = bytes;
    forget();
    pthread_mutex_unlock(&minds.lock);
}

void minds_tick(void) {
    pthread_mutex_lock(&minds.lock);
    for (size_t i = 0; i < MINDS; i++) minds.at[i].quiet++;
    forget();
    pthread_mutex_unlock(&minds.lock);
}

void minds_free(void) {
    for (size_t i = 0; i < MINDS; i++) {
        paucis_ctx_free(minds.at[i].ctx);
        minds.at[i] = (struct mind){0};
    }
}
