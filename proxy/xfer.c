/* One request, from its first header to the last byte of its answer. It is counted by whoever holds
 * it: the client's connection, the loop, a worker's queue. */
#include "proxy.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

struct xfer *xfer_new(struct serve *s, const char *uri) {
    struct xfer *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    atomic_init(&x->refs, 1);
    x->serve = s;
    x->config = atomic_load(&s->config);
    x->id = atomic_fetch_add(&s->next_id, 1) + 1;
    x->fd = -1;
    x->length = x->stream_len = -1;
    x->stats.size = sizeof x->stats;
    x->t_begin = now_us();
    x->uri = strdup(uri);
    if (!x->uri || pthread_mutex_init(&x->lock, NULL) != 0) {
        free(x->uri);
        free(x);
        return NULL;
    }
    atomic_fetch_add(&s->active, 1);
    return x;
}

void xfer_hold(struct xfer *x) { atomic_fetch_add(&x->refs, 1); }

void xfer_drop(struct xfer *x) {
    if (atomic_fetch_sub(&x->refs, 1) != 1) return;
    if (x->serve->record) record_release(x->serve->record, &x->claim);
    atomic_fetch_sub(&x->serve->active, 1);
    headers_free(&x->in);
    headers_free(&x->out);
    spare_give(&x->body);
    spare_give(&x->plain);
    spare_give(&x->edited);
    scan_free(&x->scan);
    pipe_free(&x->up);
    pipe_free(&x->down);
    listener_free(x->listener);
    pthread_mutex_destroy(&x->lock);
    free(x->route.url);
    free(x->uri);
    free(x);
}

void xfer_resume(struct xfer *x) {
    if (!x->suspended) return;
    x->suspended = false;
    MHD_resume_connection(x->con);
}
