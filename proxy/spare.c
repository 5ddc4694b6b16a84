/* Large buffers, kept for the next body. A fresh one of some megabytes costs as much time in
 * page faults as reading it does; a handful of old ones, warm in the cache, costs none. What is
 * more than a little goes back to the system, and all of it when nobody has asked for a while. */
#include "proxy.h"

#include <malloc.h>
#include <string.h>

enum { SPARES = 8, WORTH = 512 * 1024, LARGEST = 16 * 1024 * 1024, TOTAL = 32 * 1024 * 1024 };

enum { QUIET = 3 }; /* seconds */

static struct {
    pthread_mutex_t lock;
    struct buf at[SPARES]; /* the newest last */
    size_t n, bytes;
    unsigned quiet; /* seconds since one was wanted */
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Lock held. */
static struct buf take_out(size_t i) {
    struct buf b = spare.at[i];
    spare.n--;
    memmove(&spare.at[i], &spare.at[i + 1], (spare.n - i) * sizeof b);
    spare.bytes -= b.cap;
    return b;
}

bool spare_take(struct buf *b, size_t size) {
    *b = (struct buf){0};
    pthread_mutex_lock(&spare.lock);
    if (size >= WORTH) spare.quiet = 0;
    for (size_t i = spare.n; i-- > 0 && size >= WORTH;) {
        if (spare.at[i].cap < size || spare.at[i].cap / 8 > size) continue;
        *b = take_out(i);
        b->len = 0;
        break;
    }
    pthread_mutex_unlock(&spare.lock);
    return b->data || buf_reserve(b, size);
}

void spare_give(struct buf *b) {
    if (!b->data || b->failed || b->cap < WORTH || b->cap > LARGEST) {
        buf_free(b);
        return;
    }
    pthread_mutex_lock(&spare.lock);
    while (spare.n == SPARES || spare.bytes + b->cap > TOTAL) {
        struct buf oldest = take_out(0);
        buf_free(&oldest);
    }
    spare.at[spare.n++] = *b;
    spare.bytes += b->cap;
    pthread_mutex_unlock(&spare.lock);
    *b = (struct buf){0};
}

void spare_free(void) {
    pthread_mutex_lock(&spare.lock);
    while (spare.n > 0) {
        struct buf b = take_out(0);
        buf_free(&b);
    }
    pthread_mutex_unlock(&spare.lock);
}

void spare_tick(void) {
    pthread_mutex_lock(&spare.lock);
    bool idle = ++spare.quiet == QUIET;
    pthread_mutex_unlock(&spare.lock);
    if (!idle) return;
    spare_free();
    malloc_trim(0);
}
