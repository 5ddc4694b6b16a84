/* Workers: they decide what is sent, so that the threads which move bytes never wait for it. */
#include "page.h"
#include "proxy.h"

#include <stdlib.h>

struct work {
    struct serve *serve;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct xfer *first, **last;
    bool stopping;
    unsigned threads;
    pthread_t thread[];
};

void work_add(struct work *w, struct xfer *x, enum job job) {
    if (job != JOB_LEDGER) {
        pthread_mutex_lock(&x->lock);
        x->busy = true;
        pthread_mutex_unlock(&x->lock);
    }
    xfer_hold(x);
    pthread_mutex_lock(&w->lock);
    x->job = job;
    x->next_job = NULL;
    *w->last = x;
    w->last = &x->next_job;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
}

static struct xfer *take(struct work *w) {
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->stopping) pthread_cond_wait(&w->more, &w->lock);
    struct xfer *x = w->first;
    if (x) w->first = x->next_job;
    if (!w->first) w->last = &w->first;
    pthread_mutex_unlock(&w->lock);
    return x;
}

/* What there is goes to the client: a refused answer after all, or one of our own. */
static void let_stand(struct xfer *x) {
    pthread_mutex_lock(&x->lock);
    x->hold = false;
    x->t_end = now_us();
    x->down.eof = x->head_ready = true;
    xfer_resume(x);
    pthread_mutex_unlock(&x->lock);
    loop_post(x->serve->loop, x, POST_STANDS);
}

/* The answer is forgotten and the next body sent. */
static void send_again(struct xfer *x) {
    pthread_mutex_lock(&x->lock);
    pipe_free(&x->down);
    headers_free(&x->out);
    x->status = 0;
    x->hold = false;
    x->length = -1;
    pthread_mutex_unlock(&x->lock);
    listener_free(x->listener);
    x->listener = NULL;
    loop_post(x->serve->loop, x, POST_START);
}

static void *run(void *ud) {
    struct work *w = ud;
    struct xfer *x;
    while ((x = take(w))) {
        struct desk *d = NULL;
        int64_t conv = x->conv.id;
        switch (x->job) {
        case JOB_REWRITE:
            d = rewrite_decide(x);
            conv = x->conv.id;
            loop_post(w->serve->loop, x, POST_START);
            break;
        case JOB_LADDER:
            d = contexts_take(w->serve, conv);
            if (ladder_again(x, d))
                send_again(x);
            else
                let_stand(x);
            break;
        case JOB_RECALL:
            page_recall(x);
            let_stand(x);
            break;
        case JOB_LEDGER:
            ladder_end(x);
            rewrite_watch(x);
            ledger_add(w->serve->ledger, x);
            break;
        }
        contexts_give(w->serve, d, conv);
        xfer_drop(x);
    }
    return NULL;
}

struct work *work_start(struct serve *s, unsigned threads) {
    struct work *w = calloc(1, sizeof *w + threads * sizeof *w->thread);
    if (!w) return NULL;
    w->serve = s;
    w->last = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    while (w->threads < threads && pthread_create(&w->thread[w->threads], NULL, run, w) == 0)
        w->threads++;
    if (w->threads > 0) return w;
    free(w);
    return NULL;
}

void work_stop(struct work *w) {
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_broadcast(&w->more);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->threads; i++) pthread_join(w->thread[i], NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->more);
    free(w);
}
