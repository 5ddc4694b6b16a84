/* paucis mcp --http: the streamable HTTP transport in its plainest form. Every POST to /mcp holds
 * one message and is answered by one JSON object, or by 202 if there is nothing to say. There are
 * no sessions and no streams of our own, so GET and DELETE are 405.
 *
 * A page in the user's browser must not get at the store: requests whose Origin or Host is not this
 * machine are refused. Other addresses than loopback need a token ($PAUCIS_MCP_TOKEN). */
#include "mcp.h"

#if defined PAUCIS_STORE && defined PAUCIS_MCP_HTTP
#include "door.h"

#include <microhttpd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BODY = 1000000, IDLE_S = 60, TOO_LARGE = 413 }; /* its name differs by version */

struct server {
    struct store *store;
    const char *token; /* NULL = none is needed */
    bool loopback;
};

/* ---- who may ask --------------------------------------------------------------------------- */

static unsigned refusal(const struct server *s, struct MHD_Connection *c, const char *url,
                        const char *method) {
    const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    const char *auth = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    const char *at = origin ? strstr(origin, "://") : NULL;
    if (origin && (!at || !host_is_here(at + 3))) return MHD_HTTP_FORBIDDEN;
    if (s->loopback && (!host || !host_is_here(host))) return MHD_HTTP_FORBIDDEN;
    if (s->token && (!auth || strncmp(auth, "Bearer ", 7) != 0 ||
                     !same_secret(auth + 7, strlen(auth + 7), s->token)))
        return MHD_HTTP_UNAUTHORIZED;
    if (strcmp(url, "/mcp") != 0) return MHD_HTTP_NOT_FOUND;
    return strcmp(method, "POST") != 0 ? MHD_HTTP_METHOD_NOT_ALLOWED : 0;
}

/* ---- requests ------------------------------------------------------------------------------ */

static enum MHD_Result respond(struct MHD_Connection *c, unsigned status, struct buf *body) {
    struct MHD_Response *r =
        MHD_create_response_from_buffer(body->len, body->data, MHD_RESPMEM_MUST_COPY);
    if (!r) return MHD_NO;
    if (body->len) MHD_add_response_header(r, "Content-Type", "application/json");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(r, "Allow", "POST");
    enum MHD_Result result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

/* Called once with the headers, then with pieces of the body, then without any. */
static enum MHD_Result on_request(void *ud, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state) {
    const struct server *s = ud;
    struct buf *body = *state, out = {0};
    (void)version;
    if (!body) {
        *state = calloc(1, sizeof *body);
        return *state ? MHD_YES : MHD_NO;
    }
    if (*size) {
        if (body->len <= MOST_BODY) buf_add(body, data, *size);
        *size = 0;
        return MHD_YES;
    }
    unsigned status = refusal(s, c, url, method);
    if (!status && body->len > MOST_BODY) status = TOO_LARGE;
    if (!status && body->failed) status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    if (!status) {
        mcp_answer(s->store, body->data ? body->data : "", body->len, &out);
        status = out.failed ? MHD_HTTP_INTERNAL_SERVER_ERROR
                 : out.len  ? MHD_HTTP_OK
                            : MHD_HTTP_ACCEPTED;
        if (out.failed) out.len = 0;
    }
    enum MHD_Result result = respond(c, status, &out);
    buf_free(&out);
    return result;
}

static void on_end(void *ud, struct MHD_Connection *c, void **state,
                   enum MHD_RequestTerminationCode code) {
    (void)ud;
    (void)c;
    (void)code;
    if (*state) buf_free(*state);
    free(*state);
    *state = NULL;
}

/* ---- the server ---------------------------------------------------------------------------- */

static int serve(struct server *s, const struct address *at, const char *text) {
    unsigned mode = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO |
                    (at->at.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    sigset_t stops;
    int got;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stops, NULL); /* before the thread, which then has it too */
    struct MHD_Daemon *d =
        MHD_start_daemon(mode, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, &at->at,
                         MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_CONNECTION_TIMEOUT,
                         (unsigned)IDLE_S, MHD_OPTION_END);
    const union MHD_DaemonInfo *info = d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (!info) {
        complain("cannot listen on '%s'", text);
        if (d) MHD_stop_daemon(d);
        return EXIT_USAGE;
    }
    const char *colon = strrchr(text, ':');
    bool named = colon && colon > text;
    complain("serving http://%.*s:%u/mcp", named ? (int)(colon - text) : 9,
             named ? text : "127.0.0.1", (unsigned)info->port);
    sigwait(&stops, &got);
    MHD_stop_daemon(d);
    return EXIT_DONE;
}

int mcp_http(struct store *s, const char *text) {
    struct address at;
    const char *token = getenv("PAUCIS_MCP_TOKEN");
    struct server server = {.store = s, .token = token && *token ? token : NULL};
    if (!address_read(&at, text)) return EXIT_USAGE;
    server.loopback = at.loopback;
    if (server.loopback || server.token) return serve(&server, &at, text);
    return usage_error("anybody could reach '%s': set PAUCIS_MCP_TOKEN", text);
}
#endif
