/* A pipe: bytes that one thread adds and another takes. Locking and waking are the callers', so
 * that one lock covers a pipe together with what is known about its ends. Memory goes back as
 * soon as the pipe is empty: most streams are idle most of the time. */
#include "proxy.h"

#include <string.h>

size_t pipe_len(const struct pipe *p) { return p->b.len - p->pos; }

size_t pipe_take(struct pipe *p, char *to, size_t max) {
    size_t n = pipe_len(p) < max ? pipe_len(p) : max;
    if (n > 0) memcpy(to, p->b.data + p->pos, n);
    p->pos += n;
    if (p->pos < p->b.len) return n;
    p->pos = p->b.len = 0;
    if (p->b.cap > PIPE_LOW) pipe_free(p);
    return n;
}

void pipe_free(struct pipe *p) {
    buf_free(&p->b);
    p->b = (struct buf){0};
    p->pos = 0;
}
