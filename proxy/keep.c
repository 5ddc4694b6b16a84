/* The store in the proxy: what a body lacks is written and acknowledged before the body is sent.
 *
 * Each worker has a keeper. What was acknowledged once is remembered (store/known.h), so a request
 * that cuts nothing new does not touch the store. How a body is turned back is written after the
 * request is on its way: everything it refers to is safe by then.
 *
 * A text belongs to conversations, and the name of one is that of its credential and its own:
 * "CREDENTIAL-CONVERSATION". Who asks for a handle gets the text only if a conversation under the
 * same credential was given it. A store that has failed is left alone for a few seconds: waiting
 * for it again at every request would cost more than the cuts. */
#include "proxy.h"

#ifdef PAUCIS_STORE
#include "keep.h"
#include "known.h"
#include "recall.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PAUSE_US = 5 * 1000 * 1000 };

struct keep_all {
    struct store *store;
    struct known *known;
    _Atomic int64_t failed_at; /* microseconds, 0: it works */
};

struct keeper {
    struct keep_all *all;
    struct pledge pledge;
    bool taken; /* a list waits to be written */
};

bool keep_start(struct config *c, struct keep_all **out) {
    struct keep_flags f = {c->store.url, c->store.most, c->store.days, c->store.key};
    struct store *store = NULL;
    *out = NULL;
    if (!c->store.url) return true;
    int code = keep_open_with(&f, false, &store);
    if (code == EXIT_STORE && !c->store.asked) {
        complain("so nothing can be recalled, and only what is safe is left out");
        config_without_store(c);
        return true;
    }
    if (code) return false;
    *out = calloc(1, sizeof **out);
    if (*out) **out = (struct keep_all){.store = store, .known = known_new()};
    if (*out && (*out)->known) return true;
    complain("out of memory");
    if (*out)
        keep_stop(*out);
    else
        store_close(store);
    *out = NULL;
    return false;
}

void keep_stop(struct keep_all *k) {
    if (!k) return;
    store_close(k->store);
    known_free(k->known);
    free(k);
}

struct store *keep_shared(const struct config *c, struct keep_all *k) {
    return k && strncmp(c->store.url, "redis", 5) == 0 ? k->store : NULL;
}

struct keeper *keeper_new(struct keep_all *k) {
    struct keeper *new = k ? calloc(1, sizeof *new) : NULL;
    if (!new) return NULL;
    new->all = k;
    new->pledge.store = k->store;
    new->pledge.quick = true;
    new->pledge.known = k->known;
    return new;
}

void keeper_free(struct keeper *k) {
    if (k) pledge_free(&k->pledge);
    free(k);
}

/* ---- whose it is ---------------------------------------------------------------------------- */

/* A hash of the lasting keys and account ids of a request, in hexadecimal; false if it has none. */
static bool credential(const struct headers *h, char out[NAME_TEXT]) {
    static const char *const names[] = {"authorization", "x-api-key", "api-key", "x-goog-api-key",
                                        "chatgpt-account-id"};
    struct buf b = {0};
    struct hash hash;
    char hex[HASH_DIGITS + 1];
    bool any = false;
    buf_str(&b, "paucis credential");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *v = headers_get(h, names[i]);
        /* what a login renews every hour does not last */
        if (v && i == 0 && strncasecmp(v, "Bearer sk-", 10) != 0) v = NULL;
        if (v && i == 0 && strncasecmp(v, "Bearer sk-ant-oat", 17) == 0) v = NULL;
        if (v && i == 0) v += strlen("Bearer ");
        if (!v) continue;
        buf_str(&b, " ");
        buf_str(&b, v);
        any = true;
    }
    if (b.failed) any = false;
    hash_of(any ? b.data : "", any ? b.len : 0, &hash);
    hash_hex(&hash, hex);
    snprintf(out, NAME_TEXT, "%.16s", hex);
    buf_free(&b);
    return any;
}

static void name_of(const struct xfer *x, char conv[CONV_MAX]) {
    char who[NAME_TEXT];
    (void)credential(&x->in, who);
    if (x->conv.name[0])
        snprintf(conv, CONV_MAX, "%s-%s", who, x->conv.name);
    else /* no record: known by how it begins */
        snprintf(conv, CONV_MAX, "%s-%016" PRIx64, who, x->scan.n ? x->scan.at[0].lo : 0);
}

/* ---- keeping -------------------------------------------------------------------------------- */

void keeper_options(struct xfer *x, paucis_opts *o) {
    if (!x->keeper) return;
    x->keeper->taken = false;
    *o = pledge_begin(&x->keeper->pledge, o);
}

bool keeper_keep(struct xfer *x, paucis_ctx *ctx, const char *in, size_t n) {
    struct keeper *k = x->keeper;
    char conv[CONV_MAX], why[STORE_WHY];
    if (!k) return !x->serve->keep; /* without a store nothing is promised */
    int64_t failed = atomic_load(&k->all->failed_at), now = now_us();
    name_of(x, conv);
    if (!pledge_take(&k->pledge, conv, ctx, in, n, x->edited.data, x->edited.len)) return false;
    if (failed && now - failed < PAUSE_US)
        return pledge_is_kept(&k->pledge, KEPT_TEXT | KEPT_PIECE);
    enum store_err err = pledge_keep(&k->pledge, KEPT_TEXT | KEPT_PIECE);
    atomic_store(&k->all->failed_at, err ? now_us() : 0);
    k->taken = !err;
    if (!err) return true;
    store_why(k->all->store, why);
    complain("the store failed: %s; what is not kept there is not cut", why);
    return false;
}

bool keeper_has(struct xfer *x, paucis_ctx *ctx, const char *in, size_t n) {
    struct keeper *k = x->keeper;
    char conv[CONV_MAX];
    if (!k) return !x->serve->keep;
    name_of(x, conv);
    if (!pledge_take(&k->pledge, conv, ctx, in, n, x->edited.data, x->edited.len)) return false;
    return store_has(k->all->store, &k->pledge.batch, KEPT_TEXT | KEPT_PIECE) != STORE_ABSENT;
}

bool keeper_waits(const struct keeper *k) { return k && k->taken; }

void keeper_list(struct keeper *k) {
    if (!k || !k->taken) return;
    k->taken = false;
    pledge_squeeze(&k->pledge);
    (void)pledge_keep(&k->pledge, KEPT_LIST); /* the texts are safe; only `restore` needs this */
}

/* ---- recalling ------------------------------------------------------------------------------ */

/* The value of a query parameter, decoded, in at most cap bytes; NULL: there is none. */
static const char *query(const char *uri, const char *name, char *to, size_t cap) {
    const char *p = strchr(uri, '?');
    size_t n = strlen(name), len = 0;
    for (p = p ? p + 1 : NULL; p; p = strchr(p, '&') ? strchr(p, '&') + 1 : NULL) {
        if (strncmp(p, name, n) != 0 || p[n] != '=') continue;
        for (p += n + 1; *p && *p != '&' && len + 1 < cap; p++) {
            unsigned code;
            bool coded = *p == '%' && sscanf(p + 1, "%2x", &code) == 1 && p[2];
            to[len++] = coded ? (char)code : *p == '+' ? ' ' : *p;
            if (coded) p += 2;
        }
        to[len] = '\0';
        return to;
    }
    return NULL;
}

int keep_recall(struct xfer *x, const char *handle, struct buf *out) {
    char digits[HASH_DIGITS + 1], who[NAME_TEXT], conv[NAME_TEXT + 1], why[STORE_WHY] = "";
    char lines[64], grep[256];
    struct keep_all *k = x->serve->keep;
    size_t n = strcspn(handle, "?");
    if (!k || n >= sizeof digits || n == 0) {
        buf_str(out, k ? "not a handle\n" : "there is no store\n");
        return 404;
    }
    int64_t failed = atomic_load(&k->failed_at);
    if (failed && now_us() - failed < PAUSE_US) {
        buf_str(out, "the store does not answer\n");
        return 503;
    }
    memcpy(digits, handle, n);
    digits[n] = '\0';
    bool lasting = credential(&x->in, who);
    bool all = inspect_allows(x);
    if (!all && !lasting && !x->serve->loopback) {
        buf_str(out, "a handle is redeemed under the credential it was given to\n");
        return 401;
    }
    snprintf(conv, sizeof conv, "%s*", who);
    struct recall r = {.handle = digits,
                       .conv = all ? NULL : conv,
                       .lines = query(x->uri, "lines", lines, sizeof lines),
                       .grep = query(x->uri, "grep", grep, sizeof grep),
                       .numbers = true};
    int code = recall(k->store, &r, out, why);
    if (code == EXIT_DONE) return 200;
    buf_fmt(out, "%s\n", why);
    return code == EXIT_USAGE ? 400 : code == EXIT_STORE ? 503 : 404;
}

#else /* a build without a store */

bool keep_start(struct config *c, struct keep_all **out) {
    (void)c;
    *out = NULL;
    return true;
}
void keep_stop(struct keep_all *k) { (void)k; }
struct store *keep_shared(const struct config *c, struct keep_all *k) {
    (void)c, (void)k;
    return NULL;
}
bool shared_find(struct store *store, const struct scan *s, bool peek, struct conv *c) {
    (void)store, (void)s, (void)peek, (void)c;
    return false;
}
bool shared_put(struct store *store, const struct conv *c) {
    (void)store, (void)c;
    return false;
}
bool shared_turn(struct store *store, const struct conv *c) {
    (void)store, (void)c;
    return false;
}
bool shared_off(struct store *store, int64_t id, const char *why) {
    (void)store, (void)id, (void)why;
    return false;
}
struct keeper *keeper_new(struct keep_all *k) {
    (void)k;
    return NULL;
}
void keeper_free(struct keeper *k) { (void)k; }
void keeper_options(struct xfer *x, paucis_opts *o) { (void)x, (void)o; }
bool keeper_keep(struct xfer *x, paucis_ctx *ctx, const char *in, size_t n) {
    (void)x, (void)ctx, (void)in, (void)n;
    return true;
}
bool keeper_has(struct xfer *x, paucis_ctx *ctx, const char *in, size_t n) {
    (void)x, (void)ctx, (void)in, (void)n;
    return true;
}
bool keeper_waits(const struct keeper *k) { return k != NULL; }
void keeper_list(struct keeper *k) { (void)k; }
int keep_recall(struct xfer *x, const char *handle, struct buf *out) {
    (void)x, (void)handle;
    buf_str(out, "there is no store\n");
    return 404;
}
#endif
