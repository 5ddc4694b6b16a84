/* The front: libmicrohttpd takes requests and gives answers.
 *
 * A POST to a conversation's path is collected and handed to a worker; everything else streams
 * through as it comes. While the provider is asked, the connection is suspended. Debian's 0.9.75
 * has two gaps, closed here: it takes a request with two lengths, so the first callback refuses
 * those; and a suspended connection does not notice that its client left, so the loop watches
 * the socket. */
#include "conns.h"
#include "door.h"
#include "guard.h"
#include "page.h"
#include "proxy.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- answers of our own ---------------------------------------------------------------------- */

static enum MHD_Result queue_own(struct xfer *x, const struct own *o, struct buf *body) {
    struct MHD_Response *r =
        MHD_create_response_from_buffer(body->len, body->data, MHD_RESPMEM_MUST_COPY);
    buf_free(body);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", o->type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    if (o->policy) MHD_add_response_header(r, "Content-Security-Policy", o->policy);
    if (o->why) MHD_add_response_header(r, "x-paucis", o->why);
    if (o->upgrade) MHD_add_response_header(r, "Upgrade", "HTTP/1.1");
    if (o->close || atomic_load(&x->serve->draining))
        MHD_add_response_header(r, "Connection", "close");
    enum MHD_Result ok = MHD_queue_response(x->con, (unsigned)o->status, r);
    MHD_destroy_response(r);
    x->stage = STAGE_ANSWER;
    x->status = o->status;
    return ok;
}

/* An error in the shape that the provider's clients know. */
static enum MHD_Result refuse(struct xfer *x, int status, const char *why, bool close) {
    struct buf b = {0};
    struct own o = {.status = status, .type = "application/json", .why = "error", .close = close};
    o.upgrade = status == MHD_HTTP_UPGRADE_REQUIRED;
    buf_str(&b, "{\"type\":\"error\",\"error\":{\"type\":\"paucis_error\",\"message\":");
    json_cstr(&b, why);
    buf_fmt(&b, ",\"code\":%d,\"param\":null}}\n", status);
    x->reason = why;
    return b.failed ? MHD_NO : queue_own(x, &o, &b);
}

/* ---- the answer of the provider -------------------------------------------------------------- */

static ssize_t read_answer(void *cls, uint64_t pos, char *to, size_t max) {
    struct xfer *x = cls;
    (void)pos;
    pthread_mutex_lock(&x->lock);
    size_t n = pipe_take(&x->down, to, max);
    ssize_t result = (ssize_t)n;
    if (n == 0 && x->broken) {
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (n == 0 && x->down.eof) {
        result = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (n == 0) {
        x->suspended = true;
        MHD_suspend_connection(x->con);
    }
    bool more = x->down.writer_waits && pipe_len(&x->down) < PIPE_LOW;
    if (more) x->down.writer_waits = false;
    pthread_mutex_unlock(&x->lock);
    if (more) loop_post(x->serve->loop, x, POST_RECEIVE);
    return result;
}

static void say_what_happened(const struct xfer *x, struct MHD_Response *r) {
    char text[160];
    if (!x->route.format) return;
    if (x->rewritten)
        snprintf(text, sizeof text, "saved=%llu; bytes=%zu; id=%llx%s%s",
                 (unsigned long long)(x->stats.bytes_in - x->stats.bytes_out), x->send_len,
                 (unsigned long long)x->id, x->reason ? "; reason=" : "",
                 x->reason ? x->reason : "");
    else
        snprintf(text, sizeof text, "passthrough; reason=%s; id=%llx",
                 x->reason ? x->reason : "nothing-to-save", (unsigned long long)x->id);
    MHD_add_response_header(r, "x-paucis", text);
}

static enum MHD_Result answer(struct xfer *x) {
    if (x->error) {
        bool late = strcmp(x->error, "timeout") == 0;
        return refuse(x, late ? MHD_HTTP_GATEWAY_TIMEOUT : MHD_HTTP_BAD_GATEWAY,
                      late ? "the provider did not answer in time"
                           : "the provider could not be reached, or broke off",
                      false);
    }
    uint64_t size = x->length >= 0 ? (uint64_t)x->length : MHD_SIZE_UNKNOWN;
    struct MHD_Response *r =
        MHD_create_response_from_callback(size, ANSWER_PIECE, read_answer, x, NULL);
    if (!r) return MHD_NO;
    for (size_t i = 0; i < x->out.n; i++)
        if (!headers_hop(&x->out, x->out.at[i].name) &&
            !name_is(x->out.at[i].name, "Content-Length"))
            MHD_add_response_header(r, x->out.at[i].name, x->out.at[i].value);
    say_what_happened(x, r);
    if (atomic_load(&x->serve->draining)) MHD_add_response_header(r, "Connection", "close");
    enum MHD_Result ok = MHD_queue_response(x->con, (unsigned)x->status, r);
    MHD_destroy_response(r);
    x->stage = STAGE_ANSWER;
    return ok;
}

/* ---- the request ----------------------------------------------------------------------------- */

static enum MHD_Result add_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                  const char *value) {
    struct xfer *x = cls;
    (void)kind;
    headers_add(&x->in, name, strlen(name), value ? value : "", value ? strlen(value) : 0);
    return x->in.n > MAX_HEADERS || x->in.failed ? MHD_NO : MHD_YES;
}

/* From here on the loop has it too, and sees the client leave. False: too late, all that the loop
 * has is being broken off; whoever is told otherwise is among those. */
static bool watch(struct xfer *x) {
    if (!x->watched) {
        x->watched = true;
        xfer_hold(x);
        loop_watch(x->serve->loop, x);
    }
    return !atomic_load(&x->serve->ending);
}

static enum MHD_Result refuse_late(struct xfer *x) {
    return refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "the proxy is ending", true);
}

static void wait_for_answer(struct xfer *x) {
    x->stage = STAGE_WAIT;
    pthread_mutex_lock(&x->lock);
    if (!x->head_ready) {
        x->suspended = true;
        MHD_suspend_connection(x->con);
    }
    pthread_mutex_unlock(&x->lock);
}

/* A collected body comes at 16 KB a second or more; one that streams through may have to wait for
 * the provider, and only silence ends it. */
static void expect_body(struct xfer *x, int64_t length) {
    uint64_t most = x->config->max_body;
    bool streamed = !x->route.format || (length > 0 && (uint64_t)length > most);
    uint64_t bytes = length < 0 ? most : (uint64_t)length;
    conns_expect(x->con, streamed ? 0 : x->config->slow + bytes / (16 * 1024));
}

static enum MHD_Result begin(struct xfer *x, const char *method) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->con, MHD_CONNECTION_INFO_CONNECTION_FD);
    x->fd = info ? info->connect_fd : -1;
    snprintf(x->method, sizeof x->method, "%s", method);
    MHD_get_connection_values(x->con, MHD_HEADER_KIND, add_header, x);
    struct verdict v = guard_request(x);
    if (v.status) {
        ledger_refuse(x->serve->ledger, v.why);
        return refuse(x, v.status, v.why, true);
    }
    if (page_recalls(x)) {
        if (v.length != 0) return refuse(x, MHD_HTTP_BAD_REQUEST, "no body belongs here", true);
        x->recalls = true;
        x->stage = STAGE_BODY;
        return MHD_YES;
    }
    struct own o = {0};
    struct buf page = {0};
    if (page_local(x, &o, &page)) return queue_own(x, &o, &page);
    if (!route_find(&x->route, x->config, x->uri, &x->in))
        return refuse(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory", true);
    x->stage = STAGE_BODY;
    x->stream_len = v.length;
    expect_body(x, v.length);
    if (strcmp(method, "POST") != 0) x->route.format = NULL;
    bool large = v.length > 0 && (uint64_t)v.length > x->config->max_body;
    if (large) x->reason = "size";
    x->streamed = !x->route.format || large;
    if (!x->streamed && v.length > 0 && !spare_take(&x->body, (size_t)v.length))
        return refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory", true);
    if (x->streamed) {
        if (!watch(x)) return refuse_late(x);
        loop_post(x->serve->loop, x, POST_START);
    }
    return MHD_YES;
}

/* A body of unknown length that grows too large goes on unread. */
static void take_collected(struct xfer *x, const char *data, size_t *n) {
    buf_add(&x->body, data, *n);
    *n = 0;
    if (x->body.len <= x->config->max_body) return;
    pthread_mutex_lock(&x->lock);
    x->up.b = x->body;
    x->body = (struct buf){0};
    pthread_mutex_unlock(&x->lock);
    x->reason = "size";
    x->streamed = true;
    (void)watch(x); /* it is refused when its body is done */
    loop_post(x->serve->loop, x, POST_START);
}

static enum MHD_Result take_streamed(struct xfer *x, const char *data, size_t *n) {
    pthread_mutex_lock(&x->lock);
    /* an early answer, or none: the rest is of no use */
    bool over = x->head_ready || x->client_gone || atomic_load(&x->serve->ending);
    bool full = !over && pipe_len(&x->up) >= PIPE_HIGH;
    if (full) {
        x->up.writer_waits = x->suspended = true;
        MHD_suspend_connection(x->con);
    } else {
        if (!over) buf_add(&x->up.b, data, *n);
        *n = 0;
    }
    bool failed = x->up.b.failed;
    pthread_mutex_unlock(&x->lock);
    if (!full) loop_post(x->serve->loop, x, POST_SEND);
    return failed ? MHD_NO : MHD_YES; /* a body with a gap is not to end as if it were whole */
}

static enum MHD_Result body_done(struct xfer *x) {
    x->t_body = now_us();
    conns_expect(x->con, 0);
    if (x->body.failed) return refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory", true);
    if (!watch(x)) return refuse_late(x);
    if (x->streamed) {
        pthread_mutex_lock(&x->lock);
        x->up.eof = true;
        pthread_mutex_unlock(&x->lock);
        loop_post(x->serve->loop, x, POST_SEND);
    }
    wait_for_answer(x);
    if (!x->streamed) work_add(x->serve->work, x, x->recalls ? JOB_RECALL : JOB_REWRITE);
    return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *con, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *n, void **own) {
    struct xfer *x = *own;
    (void)cls, (void)url, (void)version;
    if (!x) return MHD_NO;
    x->con = con;
    switch (x->stage) {
    case STAGE_HEAD: return begin(x, method);
    case STAGE_BODY:
        if (*n == 0) return body_done(x);
        if (x->streamed) return take_streamed(x, data, n);
        take_collected(x, data, n);
        return MHD_YES;
    case STAGE_WAIT: {
        pthread_mutex_lock(&x->lock);
        bool gone = x->client_gone, ready = x->head_ready;
        pthread_mutex_unlock(&x->lock);
        if (gone || !ready) return MHD_NO;
        return answer(x);
    }
    case STAGE_ANSWER: break;
    }
    return MHD_NO;
}

static void *on_uri(void *cls, const char *uri, struct MHD_Connection *con) {
    (void)con;
    return xfer_new(cls, uri);
}

static void on_completed(void *cls, struct MHD_Connection *con, void **own,
                         enum MHD_RequestTerminationCode code) {
    struct xfer *x = *own;
    (void)cls;
    if (!x) return;
    *own = NULL;
    if (x->stage == STAGE_HEAD && code == MHD_REQUEST_TERMINATED_WITH_ERROR)
        ledger_refuse(x->serve->ledger, "the headers are malformed or too large");
    conns_expect(con, 2 * (uint64_t)x->config->slow); /* idle for once, then the next request */
    pthread_mutex_lock(&x->lock);
    x->suspended = false;
    if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK) x->client_gone = true;
    pthread_mutex_unlock(&x->lock);
    if (x->watched) {
        loop_unwatch(x->serve->loop, x);
        loop_post(x->serve->loop, x, POST_GONE);
    }
    xfer_drop(x);
}

static void on_log(void *cls, const char *fmt, va_list ap) {
    const struct serve *s = cls;
    char text[256];
    const struct config *c = atomic_load(&s->config);
    if (!c->verbose) return;
    vsnprintf(text, sizeof text, fmt, ap);
    text[strcspn(text, "\r\n")] = '\0';
    complain("http: %s", text);
}

/* ---- start and stop -------------------------------------------------------------------------- */

/* New clients are turned away while draining. (To take the socket from libmicrohttpd instead may
 * abort: its threads and the one that asks both take it out of the same epoll set.) */
static enum MHD_Result admit(void *cls, const struct sockaddr *from, socklen_t len) {
    const struct serve *s = cls;
    (void)from, (void)len;
    return atomic_load(&s->draining) ? MHD_NO : MHD_YES;
}

bool listen_start(struct serve *s) {
    const struct config *c = atomic_load(&s->config);
    struct address where;
    if (!address_read(&where, c->listen)) return false;
    s->loopback = where.loopback;
    if (!s->loopback && !c->token) {
        usage_error("'%s' is not a loopback address: it needs --token", c->listen);
        return false;
    }
    unsigned how = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
                   MHD_USE_ERROR_LOG | (where.at.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = cores > 2 ? (unsigned)cores / 2 + 1 : 2;
    s->daemon = MHD_start_daemon(
        how, 0, admit, s, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, (void *)s,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&where.at, MHD_OPTION_URI_LOG_CALLBACK, on_uri,
        (void *)s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, (void *)s,
        MHD_OPTION_NOTIFY_CONNECTION, conns_notify, (void *)s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEAD_POOL, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)PIPE_LOW,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        c->slow, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_END);
    if (!s->daemon) {
        complain("cannot listen on '%s': %s", c->listen, strerror(errno));
        return false;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    s->port = info ? info->port : 0;
    return true;
}

void listen_stop(struct serve *s) {
    MHD_stop_daemon(s->daemon);
    s->daemon = NULL;
}
