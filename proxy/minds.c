/* Contexts that remember. The next request of a conversation goes to the context that had the last
 * one, which then works only on what is new; which context it is changes the time and nothing else.
 * What they remember is several times as large as the bodies, so only so much of it is kept. */
#include "proxy.h"

enum { MINDS = MOST_WORKERS };
#define MOST_BYTES ((uint64_t)128 << 20) /* that idle contexts may hold, together */

struct mind {
    paucis_ctx *ctx;
    uint64_t key, used, bytes; /* the conversation; when it was last used; memory, about */
    bool busy;
};

static struct {
    pthread_mutex_t lock;
    struct mind at[MINDS];
    uint64_t uses;
} minds = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The idle one of this conversation, else an empty place, else the one unused for longest. */
static struct mind *choose(uint64_t key) {
    struct mind *best = NULL;
    for (size_t i = 0; i < MINDS; i++) {
        struct mind *m = &minds.at[i];
        if (m->busy) continue;
        if (m->ctx && m->key == key) return m;
        if (!best || m->used < best->used) best = m;
    }
    return best;
}

struct mind *mind_take(uint64_t key) {
    pthread_mutex_lock(&minds.lock);
    struct mind *m = choose(key);
    if (m) {
        m->busy = true;
        m->key = key;
    }
    pthread_mutex_unlock(&minds.lock);
    if (m && !m->ctx) paucis_ctx_new(&m->ctx, NULL);
    return m;
}

paucis_ctx *mind_ctx(struct mind *m) { return m ? m->ctx : NULL; }

/* Lock held: what is unused for longest, until the rest is small enough. */
static paucis_ctx *forget_one(void) {
    struct mind *oldest = NULL;
    uint64_t bytes = 0;
    for (size_t i = 0; i < MINDS; i++) {
        struct mind *m = &minds.at[i];
        if (m->busy || !m->ctx) continue;
        bytes += m->bytes;
        if (!oldest || m->used < oldest->used) oldest = m;
    }
    if (bytes <= MOST_BYTES) return NULL;
    paucis_ctx *ctx = oldest->ctx;
    *oldest = (struct mind){0};
    return ctx;
}

void mind_give(struct mind *m, uint64_t bytes) {
    paucis_ctx *ctx;
    if (!m) return;
    pthread_mutex_lock(&minds.lock);
    m->busy = false;
    m->used = ++minds.uses;
    if (bytes > m->bytes) m->bytes = bytes;
    do {
        ctx = forget_one();
        pthread_mutex_unlock(&minds.lock);
        paucis_ctx_free(ctx);
        pthread_mutex_lock(&minds.lock);
    } while (ctx);
    pthread_mutex_unlock(&minds.lock);
}

void minds_free(void) {
    for (size_t i = 0; i < MINDS; i++) {
        paucis_ctx_free(minds.at[i].ctx);
        minds.at[i] = (struct mind){0};
    }
}
