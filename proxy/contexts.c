/* The library's contexts. One remembers what it worked out for its last body, and a request that
 * continues that costs little more than what is new in it; so a conversation gets the context that
 * it had the last time. The result is the same with any other. The least used make room: first
 * their memory is used again, and what is more than enough, or was not wanted for some minutes,
 * goes back to the system. */
#include "proxy.h"

#include <stdlib.h>

enum { SLOTS = 64, MEMORY = 128 * 1024 * 1024, IDLE = 300 }; /* contexts, bytes, seconds */

struct slot {
    paucis_ctx *ctx; /* NULL: free */
    int64_t conv;    /* its last body is of this one, 0: of none */
    uint64_t bytes;
    int64_t used; /* microseconds */
    bool taken;
};

struct contexts {
    pthread_mutex_t lock;
    struct slot at[SLOTS];
};

struct contexts *contexts_new(void) {
    struct contexts *c = calloc(1, sizeof *c);
    if (c) pthread_mutex_init(&c->lock, NULL);
    return c;
}

void contexts_free(struct contexts *c) {
    if (!c) return;
    for (size_t i = 0; i < SLOTS; i++) paucis_ctx_free(c->at[i].ctx);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- lock held ------------------------------------------------------------------------------- */

static struct slot *free_slot(struct contexts *c) {
    for (size_t i = 0; i < SLOTS; i++)
        if (!c->at[i].ctx) return &c->at[i];
    return NULL;
}

static struct slot *slot_of(struct contexts *c, int64_t conv) {
    for (size_t i = 0; conv && i < SLOTS; i++)
        if (c->at[i].ctx && !c->at[i].taken && c->at[i].conv == conv) return &c->at[i];
    return NULL;
}

/* The one that was not wanted for the longest time. */
static struct slot *oldest(struct contexts *c) {
    struct slot *s = NULL;
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *t = &c->at[i];
        if (t->ctx && !t->taken && (!s || t->used < s->used)) s = t;
    }
    return s;
}

static uint64_t memory(const struct contexts *c) {
    uint64_t sum = 0;
    for (size_t i = 0; i < SLOTS; i++) sum += c->at[i].ctx ? c->at[i].bytes : 0;
    return sum;
}

static void drop(struct slot *s) {
    paucis_ctx_free(s->ctx);
    *s = (struct slot){0};
}

/* ---------------------------------------------------------------------------------------------- */

paucis_ctx *contexts_take(struct contexts *c, int64_t conv) {
    paucis_ctx *ctx = NULL;
    pthread_mutex_lock(&c->lock);
    struct slot *s = slot_of(c, conv), *empty = free_slot(c);
    if (!s && (!empty || memory(c) >= MEMORY / 2)) s = oldest(c);
    if (!s && empty && paucis_ctx_new(&empty->ctx, NULL) == PAUCIS_OK) s = empty;
    if (s) s->taken = true;
    if (s) ctx = s->ctx;
    pthread_mutex_unlock(&c->lock);
    if (!s) (void)paucis_ctx_new(&ctx, NULL); /* all are at work */
    return ctx;
}

void contexts_give(struct contexts *c, paucis_ctx *ctx, int64_t conv, uint64_t bytes) {
    if (!ctx) return;
    pthread_mutex_lock(&c->lock);
    struct slot *s = NULL;
    for (size_t i = 0; i < SLOTS && !s; i++)
        if (c->at[i].ctx == ctx) s = &c->at[i];
    if (s) *s = (struct slot){.ctx = ctx, .conv = conv, .bytes = bytes, .used = now_us()};
    for (struct slot *o = oldest(c); o && o != s && memory(c) > MEMORY; o = oldest(c)) drop(o);
    pthread_mutex_unlock(&c->lock);
    if (!s) paucis_ctx_free(ctx);
}

void contexts_tick(struct contexts *c) {
    pthread_mutex_lock(&c->lock);
    for (struct slot *o = oldest(c); o && now_us() - o->used > IDLE * (int64_t)1000000;
         o = oldest(c))
        drop(o);
    pthread_mutex_unlock(&c->lock);
}
