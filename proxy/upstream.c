/* The back: one event loop with libcurl's transfers.
 *
 * The loop owns the transfers; other threads leave notes (loop_post) and wake it. The same epoll
 * set holds the sockets of the clients that wait, armed for nothing but their leaving, so that a
 * client that goes away ends its transfer at once. Answers stream through the `down` pipe: when
 * it is full the transfer is paused, and libcurl stops reading.
 *
 * An xfer is in the loop's hands from loop_watch to POST_GONE, and notes are read only between
 * two rounds of events: so an event never meets an xfer that has been let go. */
#include "conns.h"
#include "late.h"
#include "proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS = 64 };
#define CURL_TAG ((uint64_t)1 << 63) /* an event of libcurl's socket; else a client's xfer */

struct loop {
    struct serve *serve;
    CURLM *multi;
    int epoll, wake;
    int64_t timer; /* when libcurl wants to be called, -1 never */
    pthread_t thread;
    bool stopping;
    pthread_mutex_t lock; /* the notes, stopping */
    struct xfer *notes, **notes_end;
    struct xfer *all; /* in the loop's hands */
    bool cancel;
};

/* ---- notes ----------------------------------------------------------------------------------- */

void loop_post(struct loop *l, struct xfer *x, enum post post) {
    pthread_mutex_lock(&l->lock);
    x->posts |= post;
    bool add = !x->queued;
    if (add) {
        x->queued = true;
        x->next_post = NULL;
        xfer_hold(x);
        *l->notes_end = x;
        l->notes_end = &x->next_post;
    }
    pthread_mutex_unlock(&l->lock);
    uint64_t one = 1;
    if (add) (void)!write(l->wake, &one, sizeof one);
}

static struct xfer *next_note(struct loop *l, unsigned *posts) {
    pthread_mutex_lock(&l->lock);
    struct xfer *x = l->notes;
    if (x) {
        l->notes = x->next_post;
        if (!l->notes) l->notes_end = &l->notes;
        *posts = x->posts;
        x->posts = 0;
        x->queued = false;
    }
    pthread_mutex_unlock(&l->lock);
    return x;
}

void loop_watch(struct loop *l, struct xfer *x) {
    pthread_mutex_lock(&l->lock);
    x->link = &l->all;
    x->next = l->all;
    if (x->next) x->next->link = &x->next;
    l->all = x;
    pthread_mutex_unlock(&l->lock);
    struct epoll_event e = {.events = EPOLLRDHUP | EPOLLONESHOT};
    e.data.u64 = (uint64_t)(uintptr_t)x;
    if (x->fd >= 0) epoll_ctl(l->epoll, EPOLL_CTL_ADD, x->fd, &e);
}

void loop_unwatch(struct loop *l, struct xfer *x) {
    if (x->fd >= 0) epoll_ctl(l->epoll, EPOLL_CTL_DEL, x->fd, NULL);
}

/* ---- the answer, as it comes ----------------------------------------------------------------- */

static void add_line(struct xfer *x, const char *line, size_t n) {
    const char *colon = memchr(line, ':', n);
    if (!colon) return;
    const char *value = colon + 1, *end = line + n;
    while (end > value && strchr("\r\n \t", end[-1])) end--;
    while (value < end && (*value == ' ' || *value == '\t')) value++;
    headers_add(&x->out, line, (size_t)(colon - line), value, (size_t)(end - value));
}

/* The bodies are kept for the ladder; once the answer stands they are only weight. */
static void forget_bodies(struct xfer *x) {
    spare_give(&x->body);
    spare_give(&x->plain);
    spare_give(&x->edited);
    x->send = NULL;
    size_t n = x->scan.n;
    scan_free(&x->scan);
    x->scan.n = n; /* the number is still wanted */
}

/* An answer that refuses what we changed is first shown to the ladder. */
static bool must_hold(const struct xfer *x) {
    bool about_body = x->status == 400 || x->status == 413 || x->status == 422 || x->status == 500;
    return about_body && x->route.format && !x->streamed && x->scan.n > 0;
}

static void head_done(struct xfer *x) {
    curl_off_t length = -1;
    x->headed = true;
    /* The answer may take minutes; setting its size makes libcurl let go of the buffer. */
    if (!x->streamed && x->sent == x->send_len)
        curl_easy_setopt(x->easy, CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
    curl_easy_getinfo(x->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    pthread_mutex_lock(&x->lock);
    x->length = strcmp(x->method, "HEAD") == 0 && length < 0 ? 0 : length;
    x->t_head = now_us();
    x->hold = must_hold(x);
    if (!x->hold) {
        x->head_ready = true;
        xfer_resume(x);
    }
    pthread_mutex_unlock(&x->lock);
    if (x->route.format && !x->listener)
        x->listener = listener_new(headers_get(&x->out, "Content-Encoding"));
}

static size_t on_header(char *line, size_t one, size_t n, void *ud) {
    struct xfer *x = ud;
    (void)one;
    if (x->headed) return n; /* trailers are left out: others read the head by now */
    if (n > 5 && memcmp(line, "HTTP/", 5) == 0) {
        const char *space = memchr(line, ' ', n);
        headers_free(&x->out);
        x->out_bytes = 0;
        x->status = space ? (int)strtol(space, NULL, 10) : 0;
        if (x->status < 100 || x->status > 999) return 0;
    } else if (line[0] == '\r' || line[0] == '\n') {
        if (x->status >= 200) head_done(x);
    } else if (x->status >= 200) {
        add_line(x, line, n);
        x->out_bytes += n;
    }
    return x->out.failed || x->out_bytes > ANSWER_HEAD ? 0 : n;
}

static size_t on_data(char *data, size_t one, size_t n, void *ud) {
    struct xfer *x = ud;
    (void)one;
    pthread_mutex_lock(&x->lock);
    if (x->hold && pipe_len(&x->down) + n > HELD_MAX) {
        x->hold = false;
        x->head_ready = true;
    }
    bool full = !x->hold && pipe_len(&x->down) >= PIPE_HIGH;
    if (full)
        x->down.writer_waits = true;
    else
        buf_add(&x->down.b, data, n);
    bool failed = x->down.b.failed;
    if (x->head_ready) xfer_resume(x);
    pthread_mutex_unlock(&x->lock);
    if (full) return CURL_WRITEFUNC_PAUSE;
    if (!x->hold && x->send && x->sent == x->send_len && !x->streamed) forget_bodies(x);
    if (x->listener) listener_feed(x->listener, data, n);
    return failed ? 0 : n;
}

/* A collected body. */
static size_t on_body(char *to, size_t one, size_t n, void *ud) {
    struct xfer *x = ud;
    size_t left = x->send_len - x->sent, take = left < one * n ? left : one * n;
    if (take > 0) memcpy(to, x->send + x->sent, take);
    x->sent += take;
    return take;
}

/* A kept connection turned out to be dead: the body is sent from its start on another. */
static int on_seek(void *ud, curl_off_t offset, int origin) {
    struct xfer *x = ud;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > x->send_len || !x->send)
        return CURL_SEEKFUNC_FAIL;
    x->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* A body that streams through. */
static size_t on_upload(char *to, size_t one, size_t n, void *ud) {
    struct xfer *x = ud;
    pthread_mutex_lock(&x->lock);
    size_t got = pipe_take(&x->up, to, one * n);
    bool end = x->up.eof, gone = x->client_gone;
    if (x->up.writer_waits && pipe_len(&x->up) < PIPE_LOW) {
        x->up.writer_waits = false;
        xfer_resume(x);
    }
    pthread_mutex_unlock(&x->lock);
    if (gone) return CURL_READFUNC_ABORT;
    return got > 0 || end ? got : CURL_READFUNC_PAUSE;
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool add_header(struct curl_slist **list, const char *name, const char *value) {
    struct buf b = {0};
    if (value && *value)
        buf_fmt(&b, "%s: %s", name, value);
    else
        buf_fmt(&b, "%s%s", name, value ? ";" : ":"); /* libcurl: empty, or not at all */
    struct curl_slist *more = b.failed ? NULL : curl_slist_append(*list, b.data);
    buf_free(&b);
    if (more) *list = more;
    return more != NULL;
}

/* Digests and codings speak of the body as it was. */
static bool stale(const struct xfer *x, const char *name) {
    static const char *const of_body[] = {"Content-Encoding", "Content-MD5", "Digest",
                                          "Content-Digest", "Repr-Digest"};
    for (size_t i = 0; x->send_plain && i < sizeof of_body / sizeof *of_body; i++)
        if (name_is(name, of_body[i])) return true;
    return false;
}

static struct curl_slist *request_headers(const struct xfer *x) {
    static const char *const ours[] = {"Host", "Content-Length", "Expect"};
    static const char *const added[] = {"Accept", "Content-Type", "User-Agent"}; /* by libcurl */
    struct curl_slist *list = NULL;
    bool ok = add_header(&list, "Expect", NULL);
    for (size_t i = 0; ok && i < x->in.n; i++) {
        const char *name = x->in.at[i].name;
        bool skip =
            headers_hop(&x->in, name) || stale(x, name) || strncasecmp(name, "x-paucis", 8) == 0;
        for (size_t k = 0; k < sizeof ours / sizeof *ours; k++) skip |= name_is(name, ours[k]);
        if (!skip) ok = add_header(&list, name, x->in.at[i].value);
    }
    for (size_t k = 0; ok && k < sizeof added / sizeof *added; k++)
        if (!headers_get(&x->in, added[k])) ok = add_header(&list, added[k], NULL);
    if (ok && x->streamed && x->stream_len < 0)
        ok = add_header(&list, "Transfer-Encoding", "chunked");
    if (ok && x->streamed && x->stream_len == 0 && headers_get(&x->in, "Content-Length"))
        ok = add_header(&list, "Content-Length", "0"); /* servers want it with an empty POST */
    if (ok) return list;
    curl_slist_free_all(list);
    return NULL;
}

static void set_body(struct xfer *x, CURL *e) {
    if (!x->streamed) {
        x->sent = 0;
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->send_len);
        curl_easy_setopt(e, CURLOPT_READFUNCTION, on_body);
        curl_easy_setopt(e, CURLOPT_READDATA, x);
        curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, on_seek);
        curl_easy_setopt(e, CURLOPT_SEEKDATA, x);
    } else if (x->stream_len != 0) {
        curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(e, CURLOPT_READFUNCTION, on_upload);
        curl_easy_setopt(e, CURLOPT_READDATA, x);
        curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L); /* it cannot be sent a second time */
        if (x->stream_len > 0)
            curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, (curl_off_t)x->stream_len);
    }
    if (strcmp(x->method, "HEAD") == 0) curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, x->method);
}

static void set_common(const struct config *c, CURL *e, const char *url) {
    curl_easy_setopt(e, CURLOPT_URL, url);
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT, 20L);
    curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, (long)c->idle);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (c->ca) curl_easy_setopt(e, CURLOPT_CAINFO, c->ca);
    if (strncmp(url, "http://127.", 11) == 0 || strncmp(url, "http://localhost", 16) == 0)
        curl_easy_setopt(e, CURLOPT_PROXY, ""); /* a proxy would be asked for itself */
}

/* The error is told to the client, or breaks its stream off. */
static void fail(struct xfer *x, const char *error) {
    pthread_mutex_lock(&x->lock);
    x->t_end = now_us();
    x->broken = true;
    x->hold = false;
    if (!x->head_ready) x->error = error;
    x->head_ready = true;
    xfer_resume(x);
    pthread_mutex_unlock(&x->lock);
}

/* A collected body goes out in few pieces: each costs a turn of the loop. */
static long upload_buffer(const struct xfer *x) {
    long least = 16 * 1024, most = 256 * 1024;
    if (x->streamed || x->send_len < (size_t)least) return least;
    return x->send_len > (size_t)most ? most : (long)x->send_len;
}

static void start(struct loop *l, struct xfer *x) {
    CURL *e = curl_easy_init();
    x->headed = false;
    x->easy = e;
    x->list = e ? request_headers(x) : NULL;
    if (x->list) {
        set_common(x->config, e, x->route.url);
        curl_easy_setopt(e, CURLOPT_HTTPHEADER, x->list);
        curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 16384L);
        curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, upload_buffer(x));
        curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
        curl_easy_setopt(e, CURLOPT_HEADERDATA, x);
        curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_data);
        curl_easy_setopt(e, CURLOPT_WRITEDATA, x);
        curl_easy_setopt(e, CURLOPT_PRIVATE, x);
        set_body(x, e);
        x->t_sent = now_us();
        if (curl_multi_add_handle(l->multi, e) == CURLM_OK) {
            x->active = true;
            return;
        }
    }
    curl_slist_free_all(x->list);
    if (e) curl_easy_cleanup(e);
    x->easy = x->list = NULL;
    fail(x, "out of memory");
}

static void end(struct loop *l, struct xfer *x) {
    if (!x->active) return;
    x->active = false;
    curl_multi_remove_handle(l->multi, x->easy);
    curl_easy_cleanup(x->easy);
    curl_slist_free_all(x->list);
    x->easy = x->list = NULL;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void finished(struct xfer *x, CURLcode code) {
    pthread_mutex_lock(&x->lock);
    bool held = x->hold && code == CURLE_OK;
    pthread_mutex_unlock(&x->lock);
    if (held) {
        work_add(x->serve->work, x, JOB_LADDER);
    } else if (code == CURLE_OK) {
        pthread_mutex_lock(&x->lock);
        x->t_end = now_us();
        x->down.eof = true;
        x->head_ready = true;
        xfer_resume(x);
        pthread_mutex_unlock(&x->lock);
    } else {
        fail(x, code == CURLE_OPERATION_TIMEDOUT ? "timeout" : "unreachable");
    }
}

static void reap(struct loop *l) {
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(l->multi, &left))) {
        if (m->msg != CURLMSG_DONE) continue;
        CURLcode code = m->data.result;
        struct xfer *x = NULL;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&x);
        end(l, x);
        finished(x, code);
    }
}

/* Both sides are over and no worker has it. */
static void let_go(struct loop *l, struct xfer *x) {
    end(l, x);
    if (x->listener) listener_usage(x->listener, &x->usage);
    forget_bodies(x);
    pthread_mutex_lock(&l->lock);
    *x->link = x->next;
    if (x->next) x->next->link = x->link;
    pthread_mutex_unlock(&l->lock);
    if (!x->recalls) work_add(l->serve->clerk, x, JOB_LEDGER);
    xfer_drop(x); /* the hold that came with loop_watch */
}

static void take_note(struct loop *l, struct xfer *x, unsigned posts) {
    if (posts & POST_GONE) x->gone = true;
    pthread_mutex_lock(&x->lock);
    if (posts & (POST_START | POST_STANDS)) x->busy = false;
    bool busy = x->busy, gone = x->gone || x->client_gone;
    pthread_mutex_unlock(&x->lock);
    if ((posts & POST_START) && !gone && !x->active) start(l, x);
    if ((posts & POST_START) && gone) fail(x, "unreachable");
    if (x->active && (posts & (POST_SEND | POST_RECEIVE))) curl_easy_pause(x->easy, CURLPAUSE_CONT);
    if (x->gone && !busy) let_go(l, x);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int on_socket(CURL *e, curl_socket_t fd, int what, void *ud, void *known) {
    struct loop *l = ud;
    struct epoll_event ev = {0};
    (void)e;
    ev.data.u64 = CURL_TAG | (uint64_t)(unsigned)fd;
    if (what & CURL_POLL_IN) ev.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) ev.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
        curl_multi_assign(l->multi, fd, NULL);
    } else if (epoll_ctl(l->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) == 0) {
        curl_multi_assign(l->multi, fd, l);
    } else if (errno == EEXIST) {
        epoll_ctl(l->epoll, EPOLL_CTL_MOD, fd, &ev);
        curl_multi_assign(l->multi, fd, l);
    }
    return 0;
}

static int on_timer(CURLM *m, long ms, void *ud) {
    struct loop *l = ud;
    (void)m;
    l->timer = ms < 0 ? -1 : now_us() + (int64_t)ms * 1000;
    return 0;
}

static void client_left(struct loop *l, struct xfer *x) {
    pthread_mutex_lock(&x->lock);
    bool served = x->down.eof && pipe_len(&x->down) == 0;
    if (!served) x->client_gone = true;
    pthread_mutex_unlock(&x->lock);
    if (served) return; /* it has all it wanted */
    end(l, x);
    fail(x, "unreachable"); /* wakes its connection, which then sees for itself */
}

static void on_event(struct loop *l, const struct epoll_event *e) {
    int running, bits = 0;
    if (e->data.u64 == 0) {
        uint64_t n;
        (void)!read(l->wake, &n, sizeof n);
    } else if (e->data.u64 & CURL_TAG) {
        if (e->events & (EPOLLIN | EPOLLHUP)) bits |= CURL_CSELECT_IN;
        if (e->events & EPOLLOUT) bits |= CURL_CSELECT_OUT;
        if (e->events & EPOLLERR) bits |= CURL_CSELECT_ERR;
        curl_socket_t fd = (curl_socket_t)(e->data.u64 & ~CURL_TAG);
        curl_multi_socket_action(l->multi, fd, bits, &running);
    } else {
        client_left(l, (struct xfer *)(uintptr_t)e->data.u64);
    }
}

static int wait_ms(const struct loop *l) {
    if (l->timer < 0) return 1000;
    int64_t left = (l->timer - now_us() + 999) / 1000;
    return left < 0 ? 0 : left > 1000 ? 1000 : (int)left;
}

/* Breaks off all that is under way; their connections then end. Only the loop lets go of an
 * xfer, so the list does not shrink meanwhile. */
static void cancel_all(struct loop *l) {
    pthread_mutex_lock(&l->lock);
    struct xfer *x = l->all;
    l->cancel = false;
    pthread_mutex_unlock(&l->lock);
    for (; x; x = x->next) client_left(l, x);
}

static bool stopping(struct loop *l) {
    pthread_mutex_lock(&l->lock);
    bool yes = l->stopping, cancel = l->cancel;
    pthread_mutex_unlock(&l->lock);
    if (cancel) cancel_all(l);
    return yes;
}

void loop_cancel(struct loop *l) {
    uint64_t one = 1;
    pthread_mutex_lock(&l->lock);
    l->cancel = true;
    pthread_mutex_unlock(&l->lock);
    (void)!write(l->wake, &one, sizeof one);
}

static void read_notes(struct loop *l) {
    struct xfer *x;
    unsigned posts;
    while ((x = next_note(l, &posts))) {
        take_note(l, x, posts);
        xfer_drop(x);
    }
}

static void *run(void *ud) {
    struct loop *l = ud;
    struct epoll_event events[EVENTS];
    int running;
    int64_t swept = now_us();
    while (!stopping(l)) {
        int n = epoll_wait(l->epoll, events, EVENTS, wait_ms(l));
        for (int i = 0; i < n; i++) on_event(l, &events[i]);
        if (l->timer >= 0 && now_us() >= l->timer) {
            l->timer = -1;
            curl_multi_socket_action(l->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        reap(l);
        if (now_us() - swept > 1000000) {
            conns_sweep(l->serve->conns);
            spare_tick();
            contexts_tick(l->serve->contexts);
            swept = now_us();
        }
        read_notes(l);
    }
    read_notes(l); /* of the workers' last */
    return NULL;
}

struct loop *loop_start(struct serve *s) {
    struct loop *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->serve = s;
    l->timer = -1;
    l->notes_end = &l->notes;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->multi = curl_multi_init();
    struct epoll_event ev = {.events = EPOLLIN};
    bool ok = l->multi && l->epoll >= 0 && l->wake >= 0 &&
              epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &ev) == 0 &&
              pthread_mutex_init(&l->lock, NULL) == 0;
    if (ok) {
        curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
        curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, on_timer);
        curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
        curl_multi_setopt(l->multi, CURLMOPT_MAXCONNECTS, 256L);
        ok = pthread_create(&l->thread, NULL, run, l) == 0;
    }
    if (ok) return l;
    curl_multi_cleanup(l->multi);
    free(l);
    return NULL;
}

void loop_stop(struct loop *l) {
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_mutex_unlock(&l->lock);
    uint64_t one = 1;
    (void)!write(l->wake, &one, sizeof one);
    pthread_join(l->thread, NULL);
    curl_multi_cleanup(l->multi);
    close(l->epoll);
    close(l->wake);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- a question of our own ------------------------------------------------------------------- */

static size_t collect(char *data, size_t one, size_t n, void *ud) {
    struct buf *b = ud;
    if (b->len + one * n > HELD_MAX) return 0;
    buf_add(b, data, one * n);
    return b->failed ? 0 : one * n;
}

bool upstream_ask(struct xfer *x, const char *path, struct buf *answer) {
    struct route r;
    struct headers none = {0};
    char uri[128];
    snprintf(uri, sizeof uri, "/%s%s", providers[x->route.provider].name, path);
    if (!route_find(&r, x->config, uri, &none)) return false;
    CURL *e = curl_easy_init();
    struct curl_slist *list = NULL;
    const char *key = headers_get(&x->in, "Authorization");
    bool ok = e && (!key || add_header(&list, "Authorization", key));
    if (ok) {
        set_common(x->config, e, r.url);
        curl_easy_setopt(e, CURLOPT_TIMEOUT, 5L);
        curl_easy_setopt(e, CURLOPT_HTTPHEADER, list);
        curl_easy_setopt(e, CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, collect);
        curl_easy_setopt(e, CURLOPT_WRITEDATA, answer);
        ok = curl_easy_perform(e) == CURLE_OK;
    }
    curl_slist_free_all(list);
    if (e) curl_easy_cleanup(e);
    free(r.url);
    return ok;
}

int upstream_reach(const struct config *c, const char *url, int64_t *us) {
    struct buf b = {0};
    long status = 0;
    int64_t from = now_us();
    CURL *e = curl_easy_init();
    if (!e) return 0;
    set_common(c, e, url);
    curl_easy_setopt(e, CURLOPT_TIMEOUT, 5L);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, &b);
    if (curl_easy_perform(e) == CURLE_OK) curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(e);
    buf_free(&b);
    *us = now_us() - from;
    return (int)status;
}
