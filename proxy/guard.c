/* What is refused at the door:
 *   - a body with two lengths, or a length and a transfer coding: the next hop might read it
 *     otherwise (request smuggling);
 *   - a Host that is not this machine while listening on loopback only: a web page can make a
 *     browser ask a name that it has pointed at 127.0.0.1 (DNS rebinding);
 *   - on any other address, a request without the access token, in the header x-paucis-token or
 *     as the first segment "/~TOKEN/";
 *   - a WebSocket upgrade: 426, on which clients fall back to plain requests. */
#include "guard.h"

#include "door.h"

#include <stdlib.h>
#include <string.h>

static struct verdict no(int status, const char *why) {
    return (struct verdict){.status = status, .why = why};
}

/* In either place; a path with it is made one without, lest the provider be told. */
static bool token_given(struct xfer *x, const char *token) {
    const char *h = headers_get(&x->in, "x-paucis-token");
    bool given = h && same_secret(h, strlen(h), token);
    if (strncmp(x->uri, "/~", 2) != 0) return given;
    size_t n = strcspn(x->uri + 2, "/");
    if (x->uri[2 + n] != '/' || !same_secret(x->uri + 2, n, token)) return given;
    memmove(x->uri, x->uri + 2 + n, strlen(x->uri + 2 + n) + 1);
    return true;
}

/* Names of token characters only: "Transfer-Encoding :" is one header here and another there. */
static bool names_are_tokens(const struct headers *h) {
    for (size_t i = 0; i < h->n; i++) {
        const char *p = h->at[i].name;
        if (!*p) return false;
        for (; *p; p++)
            if (*p <= ' ' || *p >= 127 || strchr("()<>@,;:\\\"/[]?={}", *p)) return false;
    }
    return true;
}

static struct verdict framing(const struct xfer *x) {
    struct verdict v = {.length = 0};
    const char *length = headers_get(&x->in, "Content-Length");
    const char *coding = headers_get(&x->in, "Transfer-Encoding");
    if (length && coding) return no(400, "both Content-Length and Transfer-Encoding");
    if (headers_count(&x->in, "Content-Length") > 1) return no(400, "two Content-Length headers");
    if (headers_count(&x->in, "Transfer-Encoding") > 1 || (coding && !name_is(coding, "chunked")))
        return no(400, "a Transfer-Encoding other than chunked");
    if (coding) v.length = -1;
    if (length) {
        size_t n = strspn(length, "0123456789");
        if (n == 0 || n > 18 || length[n] != '\0') return no(400, "Content-Length is not a number");
        v.length = strtoll(length, NULL, 10);
    }
    return v;
}

struct verdict guard_request(struct xfer *x) {
    const struct config *c = x->config;
    if (x->in.failed) return no(503, "out of memory");
    if (x->in.n > MAX_HEADERS) return no(431, "too many headers");
    if (!names_are_tokens(&x->in)) return no(400, "a header's name is not a token");
    struct verdict v = framing(x);
    if (v.status) return v;
    const char *host = headers_get(&x->in, "Host");
    if (headers_count(&x->in, "Host") > 1) return no(400, "two Host headers");
    if (x->serve->loopback && host && !host_is_here(host))
        return no(421, "the Host header does not name this machine");
    if (c->token && !token_given(x, c->token) && strcmp(x->uri, "/healthz") != 0)
        return no(401, "the access token is missing or wrong");
    if (x->uri[0] != '/') return no(400, "the target is not a path");
    const char *upgrade = headers_get(&x->in, "Upgrade");
    if (upgrade && list_has(upgrade, "websocket"))
        return no(426, "WebSockets are not relayed; the same request over HTTP is");
    if (strcmp(x->method, "CONNECT") == 0 || strcmp(x->method, "TRACE") == 0)
        return no(405, "this method is not relayed");
    return v;
}
