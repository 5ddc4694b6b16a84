/* The library's contexts. One remembers what it worked out for its last body, and a request that
 * continues that costs little more than what is new in it; so a conversation gets the context that
 * it had the last time. The result is the same with any other. The least used make room: first
 * their memory is used again, and what is more than enough, or was not wanted for some minutes,
 * goes back to the system.
 *
 * A desk that has something to write for the store, which nobody waits for, is given back by way of
 * a thread of its own that does so. */
#include "proxy.h"

#include <stdlib.h>

enum { SLOTS = 64, MEMORY = 160 * 1024 * 1024, IDLE = 300 }; /* contexts, bytes, seconds */

struct contexts {
    pthread_mutex_t lock;
    struct desk at[SLOTS];
    pthread_t lister;
    pthread_cond_t more, freed;
    struct desk *first, **last; /* to be listed */
    bool stopping;
};

static void drop(struct desk *s) {
    keeper_free(s->keeper);
    paucis_ctx_free(s->ctx);
    *s = (struct desk){0};
}

/* In order; none is lost when the proxy ends. */
static void *list(void *ud) {
    struct contexts *c = ud;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->first && !c->stopping) pthread_cond_wait(&c->more, &c->lock);
        struct desk *d = c->first;
        if (!d) break;
        c->first = d->next;
        if (!c->first) c->last = &c->first;
        pthread_mutex_unlock(&c->lock);
        keeper_list(d->keeper);
        pthread_mutex_lock(&c->lock);
        d->taken = false;
        pthread_cond_signal(&c->freed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

struct contexts *contexts_new(void) {
    struct contexts *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    pthread_cond_init(&c->freed, NULL);
    c->last = &c->first;
    if (pthread_create(&c->lister, NULL, list, c) == 0) return c;
    free(c);
    return NULL;
}

void contexts_free(struct contexts *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->lister, NULL);
    for (size_t i = 0; i < SLOTS; i++) drop(&c->at[i]);
    pthread_cond_destroy(&c->more);
    pthread_cond_destroy(&c->freed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- lock held ------------------------------------------------------------------------------- */

static struct desk *free_slot(struct contexts *c) {
    for (size_t i = 0; i < SLOTS; i++)
        if (!c->at[i].ctx) return &c->at[i];
    return NULL;
}

static struct desk *slot_of(struct contexts *c, int64_t conv) {
    for (size_t i = 0; conv && i < SLOTS; i++)
        if (c->at[i].ctx && !c->at[i].taken && c->at[i].conv == conv) return &c->at[i];
    return NULL;
}

/* The one that was not wanted for the longest time. */
static struct desk *oldest(struct contexts *c) {
    struct desk *s = NULL;
    for (size_t i = 0; i < SLOTS; i++) {
        struct desk *t = &c->at[i];
        if (t->ctx && !t->taken && (!s || t->used < s->used)) s = t;
    }
    return s;
}

static uint64_t memory(const struct contexts *c) {
    uint64_t sum = 0;
    for (size_t i = 0; i < SLOTS; i++) sum += c->at[i].ctx ? c->at[i].bytes : 0;
    return sum;
}

/* ---------------------------------------------------------------------------------------------- */

struct desk *contexts_take(struct serve *serve, int64_t conv) {
    struct contexts *c = serve->contexts;
    pthread_mutex_lock(&c->lock);
    while (!free_slot(c) && !oldest(c)) pthread_cond_wait(&c->freed, &c->lock);
    struct desk *s = slot_of(c, conv), *empty = free_slot(c);
    if (!s && (!empty || memory(c) >= MEMORY / 4 * 3)) s = oldest(c);
    if (!s && empty && paucis_ctx_new(&empty->ctx, NULL) == PAUCIS_OK) s = empty;
    if (s) s->taken = true;
    pthread_mutex_unlock(&c->lock);
    if (s && !s->keeper) s->keeper = keeper_new(serve->keep);
    return s;
}

void contexts_give(struct serve *serve, struct desk *s, int64_t conv) {
    struct contexts *c = serve->contexts;
    if (!s) return;
    pthread_mutex_lock(&c->lock);
    s->conv = conv;
    s->bytes = s->held;
    s->used = now_us();
    if (keeper_waits(s->keeper)) {
        s->next = NULL;
        *c->last = s;
        c->last = &s->next;
        pthread_cond_signal(&c->more);
    } else {
        s->taken = false;
        pthread_cond_signal(&c->freed);
    }
    for (struct desk *o = oldest(c); o && o != s && memory(c) > MEMORY; o = oldest(c)) drop(o);
    pthread_mutex_unlock(&c->lock);
}

void contexts_tick(struct contexts *c) {
    pthread_mutex_lock(&c->lock);
    for (struct desk *o = oldest(c); o && now_us() - o->used > IDLE * (int64_t)1000000;
         o = oldest(c))
        drop(o);
    pthread_mutex_unlock(&c->lock);
}
