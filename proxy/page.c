/* /paucis/ (the live page and its data), /metrics, /healthz. The page is one file, compiled in; it
 * asks for /paucis/data, with --inspect for /paucis/texts, and nothing else. */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#define RECALL "/paucis/recall/"

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
    if (b->failed) return;
    b->len -= strlen("}\n");
    buf_fmt(b, ",\"inspect\":%s}\n", x->config->inspect ? "true" : "false");
}

/* "texts?id=ID&token=TOKEN" */
static void add_texts(struct xfer *x, struct own *o, struct buf *b) {
    const char *query = strchr(x->uri, '?'), *id = query ? strstr(query, "id=") : NULL;
    bool may = inspect_allows(x);
    o->type = "application/json";
    if (may && id && inspect_show(x->serve->inspect, strtoull(id + 3, NULL, 16), b)) return;
    o->status = may ? 404 : 403;
    buf_fmt(b, "{\"error\":\"%s\"}\n", may ? "not kept" : "not allowed");
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

bool page_recalls(const struct xfer *x) { return strncmp(x->uri, RECALL, strlen(RECALL)) == 0; }

static void add_header(struct headers *h, const char *name, const char *value) {
    headers_add(h, name, strlen(name), value, strlen(value));
}

/* A removed text, for who may have it. */
void page_recall(struct xfer *x) {
    struct buf text = {0};
    int status = keep_recall(x, x->uri + strlen(RECALL), &text);
    if (text.failed) {
        buf_free(&text);
        status = 503;
    }
    pthread_mutex_lock(&x->lock);
    x->status = status;
    x->length = (int64_t)text.len;
    x->down.b = text;
    add_header(&x->out, "Content-Type", "text/plain; charset=utf-8");
    add_header(&x->out, "Cache-Control", "no-store");
    pthread_mutex_unlock(&x->lock);
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
