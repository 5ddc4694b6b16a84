/* Everything in the proxy that reads bytes from outside: content codings, the listener that
 * walks over answers, the scanner of bodies, target and headers of a request at the door and on
 * their way to a provider. The first byte chooses. What must hold: the same
 * bytes in other pieces give the same result, bounds are kept, positions are in order. */
#include "guard.h"
#include "proxy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CAP = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool decode(const char *name, const char *p, size_t n, size_t piece, struct buf *out) {
    struct codec *c = codec_open(name);
    assert(c);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i += piece)
        ok = codec_feed(c, p + i, n - i < piece ? n - i : piece, out, CAP);
    ok = ok && codec_done(c);
    codec_close(c);
    return ok;
}

static void try_codec(unsigned which, const char *p, size_t n) {
    static const char *const names[] = {"gzip", "deflate", "zstd", "br"};
    struct buf whole = {0}, pieces = {0};
    const char *name = names[which % 4];
    bool a = decode(name, p, n, n ? n : 1, &whole), b = decode(name, p, n, 7, &pieces);
    assert(a == b);
    if (a) assert(whole.len == pieces.len && whole.len <= CAP);
    if (a && whole.len) assert(memcmp(whole.data, pieces.data, whole.len) == 0);
    buf_free(&whole);
    buf_free(&pieces);
}

static void try_listener(const char *p, size_t n) {
    struct usage a = {0}, b = {0};
    struct listener *l = listener_new(NULL), *m = listener_new("identity");
    if (n) listener_feed(l, p, n);
    for (size_t i = 0; i < n; i++) listener_feed(m, p + i, 1);
    listener_usage(l, &a);
    listener_usage(m, &b);
    assert(a.seen == b.seen && a.fresh == b.fresh && a.cached == b.cached);
    assert(a.written == b.written && a.output == b.output && a.has_cache == b.has_cache);
    listener_free(l);
    listener_free(m);
}

static void try_scan(const char *p, size_t n) {
    struct scan s = {0}, again = {0};
    struct chain seed = {1, 2}, other = {2, 1};
    bool ok = scan_body(&s, p, n, &seed);
    for (size_t i = 0; ok && i < s.n; i++) {
        assert(s.end[i] <= n && (i == 0 || s.end[i - 1] < s.end[i]));
        assert(scan_message_at(&s, s.end[i] - 1) == i);
    }
    if (ok && s.model) assert(s.model >= p && s.model + s.model_len <= p + n);
    assert(scan_body(&again, p, n, &other) == ok && again.n == s.n);
    if (ok) assert(memcmp(&s.at[s.n - 1], &again.at[s.n - 1], sizeof *s.at) != 0);
    scan_free(&s);
    scan_free(&again);
}

/* What the guard wants of the command when it reads an address; no request makes it. */
int usage_error(const char *fmt, ...) {
    (void)fmt;
    return 2;
}

/* A line of "name:value"; the first line of all is the target. */
static char *add_line(struct headers *h, const char *p, size_t n) {
    const char *colon = memchr(p, ':', n);
    if (colon && h) {
        size_t name = (size_t)(colon - p);
        headers_add(h, p, name, colon + 1, n - name - 1);
    }
    return h ? NULL : strndup(p, n);
}

static void try_request(const char *p, size_t n, bool loopback) {
    struct config config = {.token = loopback ? NULL : "sesame"};
    struct serve serve = {.loopback = loopback};
    struct xfer x = {.config = &config, .serve = &serve, .method = "POST"};
    struct route r = {0};
    for (size_t i = 0; i <= n;) {
        const char *nl = i < n ? memchr(p + i, '\n', n - i) : NULL;
        size_t len = nl ? (size_t)(nl - p) - i : n - i;
        if (memchr(p + i, '\0', len)) break; /* libmicrohttpd lets none through */
        if (!x.uri)
            x.uri = add_line(NULL, p + i, len);
        else
            (void)add_line(&x.in, p + i, len);
        i += len + 1;
    }
    if (!x.uri) return;
    struct verdict v = guard_request(&x);
    if (v.status == 0) {
        assert(x.uri[0] == '/' && headers_count(&x.in, "Content-Length") < 2);
        assert(!headers_get(&x.in, "Content-Length") || !headers_get(&x.in, "Transfer-Encoding"));
        assert(route_find(&r, &config, x.uri, &x.in));
        const char *base = providers[r.provider].url, *rest = r.url + strlen(base);
        assert(strncmp(r.url, base, strlen(base)) == 0 && (!*rest || strchr("/?", *rest)));
        for (size_t i = 0; i < x.in.n; i++) (void)headers_hop(&x.in, x.in.at[i].name);
        free(r.url);
    }
    headers_free(&x.in);
    free(x.uri);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n == 0) return 0;
    char *copy = malloc(n > 1 ? n - 1 : 1); /* exact, so that a read behind the end is seen */
    if (!copy) return 0;
    memcpy(copy, data + 1, n - 1);
    switch (data[0] % 8) {
    case 4: try_listener(copy, n - 1); break;
    case 5: try_scan(copy, n - 1); break;
    case 6: try_request(copy, n - 1, true); break;
    case 7: try_request(copy, n - 1, false); break;
    default: try_codec(data[0] % 8, copy, n - 1); break;
    }
    free(copy);
    return 0;
}
