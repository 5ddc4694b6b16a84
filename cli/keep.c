/* See keep.h. */
#include "keep.h"

#ifdef PAUCIS_STORE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- flags to a store ----------------------------------------------------------------------- */

/* 32 bytes, or 64 hexadecimal digits. */
static bool key_text(const char *at, size_t n, unsigned char *key) {
    struct hash h;
    while (n > KEY_SIZE && (at[n - 1] == '\n' || at[n - 1] == '\r')) n--;
    if (n == KEY_SIZE) {
        memcpy(key, at, KEY_SIZE);
        return true;
    }
    if (n != HASH_DIGITS || !hash_read(at, &h)) return false;
    memcpy(key, h.at, KEY_SIZE);
    return true;
}

/* From a file, or the environment; *some says whether there is one. */
static bool read_key(const char *file, unsigned char *key, bool *some) {
    const char *text = getenv("PAUCIS_STORE_KEY");
    struct buf b = {0};
    *some = file || (text && *text);
    if (file && !input_file(file, &b)) return false;
    bool ok = !*some || (file ? key_text(b.data ? b.data : "", b.len, key)
                              : key_text(text, strlen(text), key));
    if (!ok) usage_error("the key of the store is not 32 bytes or 64 hexadecimal digits");
    if (b.data) memset(b.data, 0, b.len);
    buf_free(&b);
    return ok;
}

static bool read_limits(const char *most, const char *days, struct store_opts *o) {
    uint64_t n = 0;
    if (most && (!parse_count(most, &o->max_bytes) || !o->max_bytes))
        return usage_error("'%s' is not a number of bytes", most), false;
    if (days && (!parse_count(days, &n) || !n || n > 36500))
        return usage_error("'%s' is not a number of days", days), false;
    o->days = (uint32_t)n;
    return true;
}

int keep_open_with(const struct keep_flags *f, bool must_exist, struct store **out) {
    unsigned char key[KEY_SIZE];
    char why[STORE_WHY];
    bool has_key = false;
    struct store_opts o = {.url = f->url, .must_exist = must_exist};
    *out = NULL;
    if (!read_limits(f->most, f->days, &o) || !read_key(f->key, key, &has_key)) return EXIT_USAGE;
    if (strcmp(f->url, "none") == 0) return EXIT_DONE;
    if (has_key) o.key = key;
    bool ok = store_open(out, &o, why);
    if (!ok) complain("cannot open the store '%s': %s", f->url, why);
    memset(key, 0, sizeof key);
    return ok ? EXIT_DONE : store_known(f->url) ? EXIT_STORE : EXIT_USAGE;
}

int keep_open(const struct args *a, bool only_asked, bool must_exist, struct store **out) {
    const char *url = a->value[FLAG_STORE];
    if (!url && !only_asked) url = getenv("PAUCIS_STORE");
    if (!url || !*url) url = only_asked ? "none" : "sqlite:";
    struct keep_flags f = {url, a->value[FLAG_STORE_MAX], a->value[FLAG_STORE_DAYS],
                           a->value[FLAG_STORE_KEY]};
    return keep_open_with(&f, must_exist, out);
}

/* ---- a body --------------------------------------------------------------------------------- */

/* A conversation is known by how it begins: everything up to the first text of the user. Also
 * finds where the last request before this one ended. */
static paucis_err look_back(struct keep *k, paucis_ctx *ctx, const char *in, size_t n,
                            const paucis_opts *opts, char conv[CONV_MAX], size_t *boundary) {
    size_t parts = 0;
    struct buf start = {0};
    bool begun = false, was_assistant = false;
    paucis_part p;
    paucis_err err = paucis_read(ctx, in, n, opts, &parts, NULL);
    *boundary = 0;
    for (size_t i = 0; !err && i < parts && paucis_read_get(ctx, i, &p) == PAUCIS_OK; i++) {
        bool assistant = strcmp(p.role, "assistant") == 0;
        if (assistant && !was_assistant) *boundary = p.message;
        was_assistant = assistant;
        if (begun) continue;
        buf_str(&start, p.role);
        buf_add(&start, "", 1);
        buf_add(&start, p.text, p.text_len);
        buf_add(&start, "", 1);
        begun = strcmp(p.role, "user") == 0;
    }
    if (k->conv) {
        snprintf(conv, CONV_MAX, "%s", k->conv);
    } else {
        struct hash h;
        char hex[HASH_DIGITS + 1];
        hash_of(start.data ? start.data : "", start.len, &h);
        hash_hex(&h, hex);
        snprintf(conv, CONV_MAX, "%.*s", HANDLE_DIGITS, hex);
    }
    if (start.failed) err = PAUCIS_E_NOMEM;
    buf_free(&start);
    return err;
}

/* What an earlier request was sent as, into the batch. */
static bool as_before(struct keep *k, const char *conv, paucis_ctx *ctx, const char *in, size_t n,
                      const paucis_opts *opts, size_t boundary, const char **out, size_t *outn,
                      paucis_stats *st) {
    char text[32];
    paucis_opts stopped = pledge_begin(&k->pledge, opts);
    bool folds = !opts->strategies && (!opts->policy || strcmp(opts->policy, "stable") == 0);
    paucis_kv *kv = folds && boundary ? calloc(opts->nkv + 1, sizeof *kv) : NULL;
    if (!kv) return false;
    if (opts->nkv) memcpy(kv, opts->kv, opts->nkv * sizeof *kv);
    snprintf(text, sizeof text, "%zu", boundary);
    kv[opts->nkv] = (paucis_kv){"stop", text};
    stopped.kv = kv;
    stopped.nkv = opts->nkv + 1;
    bool ok = paucis_compact(ctx, in, n, &stopped, out, outn, st, NULL) == PAUCIS_OK &&
              pledge_take(&k->pledge, conv, ctx, in, n, *out, *outn);
    free(kv);
    return ok;
}

static paucis_err as_it_came(paucis_ctx *ctx, const char *in, size_t n, const paucis_opts *opts,
                             const char **out, size_t *outn, paucis_stats *st, paucis_error *e) {
    paucis_opts none = *opts;
    none.policy = "none";
    none.strategies = NULL;
    none.kv = NULL;
    none.nkv = 0;
    return paucis_compact(ctx, in, n, &none, out, outn, st, e);
}

paucis_err keep_compact(struct keep *k, paucis_ctx *ctx, const char *in, size_t n,
                        const paucis_opts *opts, const char **out, size_t *outn, paucis_stats *st,
                        paucis_error *e, char *why) {
    size_t boundary = 0;
    *why = '\0';
    if (!k->store) {
        snprintf(why, STORE_WHY, "it could not be opened");
        return as_it_came(ctx, in, n, opts, out, outn, st, e);
    }
    char conv[CONV_MAX] = "";
    const unsigned all = KEPT_TEXT | KEPT_PIECE | KEPT_LIST;
    k->pledge.store = k->store;
    paucis_err err = look_back(k, ctx, in, n, opts, conv, &boundary);
    if (err == PAUCIS_E_NOMEM) return e->code = err;
    paucis_opts with = pledge_begin(&k->pledge, opts);
    err = paucis_compact(ctx, in, n, &with, out, outn, st, e);
    if (err) return err;
    pledge_take(&k->pledge, conv, ctx, in, n, *out, *outn);
    enum store_err kept = pledge_keep(&k->pledge, all);
    if (kept == STORE_OK) return PAUCIS_OK;
    if (kept == STORE_CONFLICT) { /* shortened it could not be told from another: it stays whole */
        err = as_it_came(ctx, in, n, opts, out, outn, st, e);
        if (!err) pledge_take(&k->pledge, conv, ctx, in, n, *out, *outn);
        if (err || pledge_keep(&k->pledge, all) == STORE_OK) return err;
    }
    store_why(k->store, why);
    /* Lists are this request's own, and could not be kept now. */
    if (as_before(k, conv, ctx, in, n, opts, boundary, out, outn, st) &&
        store_has(k->store, &k->pledge.batch, KEPT_TEXT | KEPT_PIECE) == STORE_OK)
        return PAUCIS_OK;
    return as_it_came(ctx, in, n, opts, out, outn, st, e);
}

void keep_free(struct keep *k) { pledge_free(&k->pledge); }
#endif
