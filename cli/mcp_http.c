/* paucis mcp --http: the streamable HTTP transport in its plainest form. Every POST to /mcp holds
 * one message and is answered by one JSON object, or by 202 if there is nothing to say. There are
 * no sessions and no streams of our own, so GET and DELETE are 405.
 *
 * A page in the user's browser must not get at the store: requests whose Origin or Host is not this
 * machine are refused. Other addresses than loopback need a token ($PAUCIS_MCP_TOKEN). */
#include "mcp.h"

#if defined PAUCIS_STORE && defined PAUCIS_MCP_HTTP
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BODY = 1000000, IDLE_S = 60, TOO_LARGE = 413 }; /* its name differs by version */

struct server {
    struct store *store;
    const char *token; /* NULL = none is needed */
    bool loopback;
};

/* ---- who may ask --------------------------------------------------------------------------- */

/* "localhost:8000", "[::1]", "127.0.0.1:1" */
static bool is_here(const char *host) {
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(host, names[i], n) == 0 && (host[n] == '\0' || host[n] == ':')) return true;
    }
    return false;
}

static bool same_text(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    unsigned char differ = n != m;
    for (size_t i = 0; i < n; i++) differ |= (unsigned char)(a[i] ^ b[m ? i % m : 0]);
    return !differ;
}

static unsigned refusal(const struct server *s, struct MHD_Connection *c, const char *url,
                        const char *method) {
    const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    const char *auth = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    const char *at = origin ? strstr(origin, "://") : NULL;
    if (origin && (!at || !is_here(at + 3))) return MHD_HTTP_FORBIDDEN;
    if (s->loopback && (!host || !is_here(host))) return MHD_HTTP_FORBIDDEN;
    if (s->token && (!auth || strncmp(auth, "Bearer ", 7) != 0 || !same_text(auth + 7, s->token)))
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

/* HOST:PORT, [HOST]:PORT or PORT, which is on this machine only. */
static struct addrinfo *find_address(const char *text, char *host, size_t cap) {
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (n > 1 && text[0] == '[' && text[n - 1] == ']') text++, n -= 2;
    if (n >= cap) return NULL;
    memcpy(host, text, n);
    host[n] = '\0';
    if (n == 0) snprintf(host, cap, "127.0.0.1");
    return getaddrinfo(host, port, &hints, &found) == 0 ? found : NULL;
}

static bool is_loopback(const struct sockaddr *a) {
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static int serve(struct server *s, const struct addrinfo *at, const char *host) {
    unsigned mode = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO |
                    (at->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    sigset_t stops;
    int got;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stops, NULL); /* before the thread, which then has it too */
    struct MHD_Daemon *d =
        MHD_start_daemon(mode, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, at->ai_addr,
                         MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_CONNECTION_TIMEOUT,
                         (unsigned)IDLE_S, MHD_OPTION_END);
    const union MHD_DaemonInfo *info = d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (!info) {
        complain("cannot listen on '%s'", host);
        if (d) MHD_stop_daemon(d);
        return EXIT_USAGE;
    }
    complain("serving http://%s:%u/mcp", host, (unsigned)info->port);
    sigwait(&stops, &got);
    MHD_stop_daemon(d);
    return EXIT_DONE;
}

int mcp_http(struct store *s, const char *address) {
    char host[256];
    const char *token = getenv("PAUCIS_MCP_TOKEN");
    struct server server = {.store = s, .token = token && *token ? token : NULL};
    struct addrinfo *at = find_address(address, host, sizeof host);
    if (!at) return usage_error("'%s' is not an address to listen on", address);
    server.loopback = is_loopback(at->ai_addr);
    int code = EXIT_USAGE;
    if (server.loopback || server.token)
        code = serve(&server, at, host);
    else
        usage_error("anybody could reach '%s': set PAUCIS_MCP_TOKEN", host);
    freeaddrinfo(at);
    return code;
}
#endif
