/* Clients that take too long. libmicrohttpd ends a connection on which nothing happens; one that
 * sends a byte now and then would stay for ever. So every connection has a time by which its
 * request must be there, and the loop looks over them once a second. */
#include "conns.h"

#include <stdlib.h>
#include <sys/socket.h>

struct conn {
    int fd;
    _Atomic int64_t due; /* microseconds; 0: nothing is expected of it now */
    struct conn *next, **link;
};

struct conns {
    pthread_mutex_t lock; /* the list; a socket is not closed while it is held */
    struct conn *first;
};

struct conns *conns_new(void) {
    struct conns *c = calloc(1, sizeof *c);
    if (c) pthread_mutex_init(&c->lock, NULL);
    return c;
}

void conns_free(struct conns *c) {
    if (c) pthread_mutex_destroy(&c->lock);
    free(c);
}

static void opened(struct serve *s, struct MHD_Connection *con, void **context) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(con, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct conn *c = info ? calloc(1, sizeof *c) : NULL;
    *context = c;
    if (!c) return; /* it is served without a watch */
    c->fd = info->connect_fd;
    atomic_init(&c->due, now_us() + (int64_t)atomic_load(&s->config)->slow * 1000000);
    pthread_mutex_lock(&s->conns->lock);
    c->link = &s->conns->first;
    c->next = *c->link;
    if (c->next) c->next->link = &c->next;
    *c->link = c;
    pthread_mutex_unlock(&s->conns->lock);
}

static void closed(struct serve *s, struct conn *c) {
    if (!c) return;
    pthread_mutex_lock(&s->conns->lock);
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    pthread_mutex_unlock(&s->conns->lock);
    free(c);
}

void conns_notify(void *serve, struct MHD_Connection *con, void **context,
                  enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        opened(serve, con, context);
    else
        closed(serve, *context);
}

void conns_expect(struct MHD_Connection *con, uint64_t seconds) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(con, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct conn *c = info ? info->socket_context : NULL;
    if (c) atomic_store(&c->due, seconds ? now_us() + (int64_t)seconds * 1000000 : 0);
}

void conns_sweep(struct conns *all) {
    int64_t now = now_us();
    pthread_mutex_lock(&all->lock);
    for (struct conn *c = all->first; c; c = c->next) {
        int64_t due = atomic_load(&c->due);
        if (due == 0 || now < due) continue;
        atomic_store(&c->due, 0);
        shutdown(c->fd, SHUT_RDWR); /* libmicrohttpd sees its end and closes it */
    }
    pthread_mutex_unlock(&all->lock);
}
