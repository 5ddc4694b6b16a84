/* The library's contexts. One remembers what it worked out for its last body, and a request that
 * continues that costs little more than what is new in it; so a conversation gets the context that
 * it had the last time. The result is the same with any other. The least used make room: first
 * their memory is used again, and what is more than enough, or was not wanted for some minutes,
 * goes back to the system. */
#include "proxy.h"

#include <stdlib.h>

enum { SLOTS = 64, MEMORY = 160 * 1024 * 1024, IDLE = 300 }; /* contexts, bytes, seconds */

struct contexts {
    pthread_mutex_t lock;
    struct desk at[SLOTS];
};

static void drop(struct desk *s) {
    keeper_free(s->keeper);
    paucis_ctx_free(s->ctx);
    *s = (struct desk){0};
}

struct contexts *contexts_new(void) {
    struct contexts *c = calloc(1, sizeof *c);
    if (c) pthread_mutex_init(&c->lock, NULL);
    return c;
}

void contexts_free(struct contexts *c) {
    if (!c) return;
    for (size_t i = 0; i < SLOTS; i++) drop(&c->at[i]);
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
    s->used = now_us();
    s->taken = false;
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
