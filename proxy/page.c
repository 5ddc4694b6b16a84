/* /paucis/ (the live page and its data), /metrics, /healthz. The page is one file, compiled in; it
 * asks for /paucis/data, with --inspect for /paucis/texts, and nothing else. */
#include "page.h"

#include "guard.h"

#include <stdlib.h>
#include <string.h>

extern const unsigned char paucis_page[];
extern const unsigned paucis_page_len;

static void add_page(struct xfer *x, struct own *o, struct buf *b) {
    (void)x;
    o->type = "text/html; charset=utf-8";
    o->policy =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
        "connect-src 'self'; img-src data:; frame-ancestors 'none'";
    buf_add(b, (const char *)paucis_page, paucis_page_len);
}

static void add_data(struct xfer *x, struct own *o, struct buf *b) {
    o->type = "application/json";
    ledger_json(x->serve->ledger, b);
}

/* "texts?id=ID&token=TOKEN" */
static void add_texts(struct xfer *x, struct own *o, struct buf *b) {
    const char *query = strchr(x->uri, '?'), *id = query ? strstr(query, "id=") : NULL;
    const char *token = query ? strstr(query, "token=") : NULL;
    struct inspect *in = x->serve->inspect;
    o->type = "application/json";
    bool may = in && token && guard_same(token + 6, strcspn(token + 6, "&"), inspect_token(in));
    bool found = may && id && inspect_show(in, strtoull(id + 3, NULL, 16), b);
    if (!found) o->status = may ? 404 : 403;
    if (!found) buf_str(b, may ? "{\"error\":\"not kept\"}\n" : "{\"error\":\"not allowed\"}\n");
}

static void add_metrics(struct xfer *x, struct own *o, struct buf *b) {
    o->type = "text/plain; version=0.0.4";
    ledger_metrics(x->serve->ledger, b);
    buf_fmt(b, "# TYPE paucis_active gauge\npaucis_active %u\n", atomic_load(&x->serve->active));
}

static void add_health(struct xfer *x, struct own *o, struct buf *b) {
    bool draining = atomic_load(&x->serve->draining);
    o->type = "application/json";
    o->status = draining ? 503 : 200;
    buf_fmt(b, "{\"status\":\"%s\",\"version\":\"%s\",\"active\":%u}\n",
            draining ? "draining" : "ok", paucis_version_string(), atomic_load(&x->serve->active));
}

bool page_local(struct xfer *x, struct own *o, struct buf *body) {
    static const struct {
        const char *path;
        void (*add)(struct xfer *x, struct own *o, struct buf *b);
    } pages[] = {{"/paucis/", add_page},     {"/paucis", add_page},
                 {"/paucis/data", add_data}, {"/paucis/texts", add_texts},
                 {"/metrics", add_metrics},  {"/healthz", add_health}};
    size_t n = strcspn(x->uri, "?");
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strlen(pages[i].path) != n || memcmp(x->uri, pages[i].path, n) != 0) continue;
        o->status = 200;
        pages[i].add(x, o, body);
        return !body->failed;
    }
    return false;
}
