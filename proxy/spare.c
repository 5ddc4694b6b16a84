/* Large buffers, kept for the next body. A fresh one of some megabytes costs as much time in
 * page faults as reading it does; a handful of old ones, warm in the cache, costs none. What is
 * more than a little goes back to the system. */
#include "proxy.h"

#include <stdlib.h>

enum { SPARES = 8, WORTH = 512 * 1024, LARGEST = 16 * 1024 * 1024, TOTAL = 48 * 1024 * 1024 };

static struct {
    pthread_mutex_t lock;
    struct buf at[SPARES];
    size_t n, bytes;
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool spare_take(struct buf *b, size_t size) {
    *b = (struct buf){0};
    pthread_mutex_lock(&spare.lock);
    for (size_t i = spare.n; i-- > 0 && size >= WORTH;) {
        if (spare.at[i].cap < size || spare.at[i].cap / 8 > size) continue;
        *b = spare.at[i];
        b->len = 0;
        spare.bytes -= b->cap;
        spare.at[i] = spare.at[--spare.n];
        break;
    }
    pthread_mutex_unlock(&spare.lock);
    return b->data || buf_reserve(b, size);
}

void spare_give(struct buf *b) {
    pthread_mutex_lock(&spare.lock);
    bool keep = b->data && !b->failed && b->cap >= WORTH && b->cap <= LARGEST && spare.n < SPARES &&
                spare.bytes + b->cap <= TOTAL;
    if (keep) {
        spare.at[spare.n++] = *b;
        spare.bytes += b->cap;
        *b = (struct buf){0};
    }
    pthread_mutex_unlock(&spare.lock);
    buf_free(b);
}

void spare_free(void) {
    while (spare.n > 0) free(spare.at[--spare.n].data);
    spare.bytes = 0;
}
