/* Which body is sent.
 *
 * In any doubt it is the one that is safe now: the original if nothing was ever changed in this
 * conversation, else the exit body, or the forms as they are where that one does not fit the window
 * or is not legal yet. What is changed for the first time is recorded before it is sent. Everything
 * the library needs to know of the record goes through `record_options`. */
#include "proxy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER = 24 };

/* ---- the candidates -------------------------------------------------------------------------- */

/* The body as the library reads it. */
static const struct buf *plain_of(const struct xfer *x) {
    return x->plain.data ? &x->plain : &x->body;
}

void rewrite_send_original(struct xfer *x, const char *reason) {
    x->send = x->body.data;
    x->send_len = x->body.len;
    x->send_plain = x->rewritten = false;
    x->reason = reason;
    if (x->config->observe && !x->conv.first_edit) return; /* what would have been sent is wanted */
    x->stats.bytes_out = x->stats.bytes_in;
    x->stats.edits = 0;
    x->what[0] = '\0';
}

void rewrite_send_edited(struct xfer *x) {
    x->send = x->edited.data;
    x->send_len = x->edited.len;
    x->send_plain = x->rewritten = true;
}

/* ---- options --------------------------------------------------------------------------------- */

/* What the library is told of the record. */
struct extra {
    paucis_kv kv[8];
    char attach[NUMBER], stop[NUMBER], edited[NUMBER], learnt[NUMBER], learnt_at[NUMBER];
    size_t n;
};

/* Where the first message that was ever changed begins in this body. */
static size_t edited_from(const struct xfer *x) {
    uint64_t before = x->conv.first_edit - 1; /* messages */
    if (before > x->scan.n) before = x->scan.n;
    return before > 0 ? x->scan.end[before - 1] : 0;
}

static void record_options(const struct xfer *x, bool leaving, struct extra *e) {
    e->kv[e->n++] = (paucis_kv){"grow", "no"};
    snprintf(e->attach, NUMBER, "%" PRIu64, x->conv.attach);
    if (x->conv.attach) e->kv[e->n++] = (paucis_kv){"attach", e->attach};
    snprintf(e->stop, NUMBER, "%" PRIu64, x->conv.stopped_at);
    bool frozen = x->conv.mode == MODE_FROZEN || x->conv.mode == MODE_LEAVING;
    if (leaving ? x->conv.mode == MODE_EXIT : frozen) e->kv[e->n++] = (paucis_kv){"stop", e->stop};
    snprintf(e->learnt, NUMBER, "%" PRIu64, x->conv.budget);
    snprintf(e->learnt_at, NUMBER, "%" PRIu64, x->conv.budget_at);
    if (x->conv.budget) {
        e->kv[e->n++] = (paucis_kv){"learnt", e->learnt};
        e->kv[e->n++] = (paucis_kv){"learnt_at", e->learnt_at};
    }
    if (x->conv.still[0]) e->kv[e->n++] = (paucis_kv){"still", x->conv.still};
    if (x->conv.cold[0]) e->kv[e->n++] = (paucis_kv){"cold", x->conv.cold};
    if (!leaving || !x->conv.first_edit) return;
    snprintf(e->edited, NUMBER, "%zu", edited_from(x));
    e->kv[e->n++] = (paucis_kv){"edited", e->edited};
}

static void note_saving(void *ud, const char *strategy, uint64_t hits, uint64_t bytes) {
    struct xfer *x = ud;
    size_t n = strlen(x->what);
    snprintf(x->what + n, sizeof x->what - n, "%s%s: %" PRIu64 " times, %" PRIu64 " bytes",
             n ? "; " : "", strategy, hits, bytes);
}

/* A conversation met in mid-session begins behind what it brought along. */
static void record_attach(struct xfer *x) {
    if (x->conv.attach != ATTACH_NOW || !x->conv.id || !x->stats.messages_in) return;
    x->conv.attach = x->stats.messages_in;
    (void)record_put(x->serve->record, &x->conv);
}

static bool render(struct xfer *x, paucis_ctx *ctx, bool leaving, paucis_err *err) {
    const struct buf *in = plain_of(x);
    struct begun begun;
    const paucis_opts *base = begun_read(x, &begun);
    paucis_opts o = *base;
    struct extra e = {0};
    record_options(x, leaving, &e);
    paucis_kv *kv = malloc((base->nkv + e.n + 1) * sizeof *kv);
    spare_give(&x->edited);
    x->what[0] = '\0';
    *err = PAUCIS_E_NOMEM;
    if (!ctx || !kv || !spare_take(&x->edited, in->len)) {
        free(kv);
        return false;
    }
    if (base->nkv > 0) memcpy(kv, base->kv, base->nkv * sizeof *kv);
    memcpy(kv + base->nkv, e.kv, e.n * sizeof *kv);
    o.kv = kv;
    o.nkv = base->nkv + e.n;
    o.format = x->route.format;
    if (leaving) o.policy = "exit", o.strategies = NULL;
    if (!o.price && providers[x->route.provider].forced)
        o.price = provider_price(x->route.provider);
    o.log = note_saving;
    o.log_ud = x;
    if (!leaving) keeper_options(x, &o);
    bool whole = !options_are_stable(&o) && !leaving; /* these know no more than the body */
    if (whole && x->conv.budget && x->conv.budget < o.budget_tokens)
        o.budget_tokens = x->conv.budget;
    if (x->forced) o.flags |= PAUCIS_WITH_TOKENS;
    if (x->conv.id) o.flags |= PAUCIS_REMEMBER;
    paucis_stats st = {.size = sizeof st};
    *err = paucis_compact_into(ctx, in->data, in->len, &o, x->edited.data, in->len, &x->edited.len,
                               &st, NULL);
    free(kv);
    if (*err == PAUCIS_OK) {
        x->stats = st;
        record_attach(x);
        if (x->serve->inspect && st.edits > 0) inspect_keep(x->serve->inspect, x, ctx, in->data);
    }
    return *err == PAUCIS_OK && st.edits > 0 && x->edited.len < in->len;
}

bool rewrite_render(struct xfer *x, paucis_ctx *ctx, paucis_err *err) {
    return render(x, ctx, false, err);
}

bool rewrite_send_exit(struct xfer *x, paucis_ctx *ctx, const char *reason) {
    paucis_err err;
    rewrite_send_original(x, reason);
    if (!render(x, ctx, true, &err)) return false;
    rewrite_send_edited(x);
    x->reason = reason;
    return true;
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* Conversations of different users are kept apart by what names them. Tokens that a login renews
 * every hour would cut a conversation in two, so only lasting keys and account ids count. */
static struct chain seed_of(const struct xfer *x) {
    static const char *const names[] = {"x-api-key", "api-key", "x-goog-api-key",
                                        "chatgpt-account-id", "openai-organization"};
    const char *texts[2 + sizeof names / sizeof *names] = {providers[x->route.provider].name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        texts[i + 2] = headers_get(&x->in, names[i]);
    const char *bearer = headers_get(&x->in, "authorization");
    if (bearer && strncasecmp(bearer, "Bearer sk-", 10) == 0 &&
        strncasecmp(bearer, "Bearer sk-ant-oat", 17) != 0)
        texts[1] = bearer;
    return scan_seed(texts, sizeof texts / sizeof *texts);
}

/* A signature over the body would no longer fit it. */
static bool is_signed(const struct headers *h) {
    const char *a = headers_get(h, "Authorization");
    return (a && strncasecmp(a, "AWS4-", 5) == 0) || headers_get(h, "x-amz-content-sha256") ||
           headers_get(h, "Signature") || headers_get(h, "Signature-Input");
}

static bool decode(struct xfer *x) {
    const char *coding = headers_get(&x->in, "Content-Encoding");
    if (!coding || name_is(coding, "identity")) return true;
    if (headers_count(&x->in, "Content-Encoding") > 1) return false;
    struct codec *c = codec_open(coding);
    bool ok = c && codec_feed(c, x->body.data, x->body.len, &x->plain, x->config->max_body) &&
              codec_done(c);
    codec_close(c);
    return ok;
}

/* NULL: the body was understood and belongs to x->conv. */
static const char *understand(struct xfer *x) {
    struct chain seed = seed_of(x);
    if (is_signed(&x->in)) return "signed";
    if (!decode(x)) return "coding";
    const struct buf *in = plain_of(x);
    if (!scan_body(&x->scan, in->data, in->len, &seed)) return "not-understood";
    if (x->scan.model)
        snprintf(x->model, sizeof x->model, "%.*s",
                 (int)(x->scan.model_len < 63 ? x->scan.model_len : 63), x->scan.model);
    if (!x->serve->record) return NULL; /* --record=none: every request is on its own */
    bool found = record_find(x->serve->record, &x->scan, x->route.counts, &x->conv, &x->claim);
    return found ? NULL : "record";
}

/* The library's count of messages, which `attach` and `stop` are in; a body it refused has none. */
static uint64_t count_messages(const struct xfer *x) {
    return x->stats.messages_in ? x->stats.messages_in : x->scan.n;
}

static void put(struct xfer *x) {
    if (x->conv.id && !x->route.counts) (void)record_put(x->serve->record, &x->conv);
}

static bool is_stable(const struct xfer *x) {
    struct begun begun;
    return options_are_stable(begun_read(x, &begun));
}

/* What is safe when nothing more may be changed: the original, or, once something was changed, the
 * exit body. Where that one does not fit the window, or a rule of the present loop keeps thinking
 * in that is bound to what was sent, the forms stay as they are for now. */
void rewrite_send_safe(struct xfer *x, paucis_ctx *ctx, const char *reason) {
    struct conv *c = &x->conv;
    paucis_err err, other;
    rewrite_send_original(x, reason);
    if (!c->first_edit) return;
    bool ok = render(x, ctx, true, &err);
    bool wait = err == PAUCIS_E_INVARIANT || (err == PAUCIS_OK && !x->stats.budget_met);
    if (!c->id) wait = false; /* which forms were sent would be a guess, another at each request */
    if (wait && c->mode == MODE_LEAVING && is_stable(x)) {
        ok = render(x, ctx, false, &other);
        /* then nothing that this request brings is shortened; before that nothing changes */
        if (ok && !rewrite_keep(x, ctx) && c->stopped_at >= count_messages(x)) {
            c->stopped_at = count_messages(x) - 1;
            put(x);
            ok = render(x, ctx, false, &other);
        }
        ok = ok || render(x, ctx, true, &err);
    } else if (c->mode == MODE_LEAVING && err == PAUCIS_OK) {
        c->mode = MODE_EXIT;
        c->stopped_at = count_messages(x);
        put(x);
    }
    if (!ok) return;
    rewrite_send_edited(x);
    x->reason = reason;
}

/* From here on the conversation is left to itself. */
static void stop(struct xfer *x, const char *why) {
    if (!x->conv.id) return;
    x->conv.mode = MODE_LEAVING;
    x->conv.stopped_at = count_messages(x);
    if (why) snprintf(x->conv.stop, sizeof x->conv.stop, "%s", why);
    put(x);
}

static const char *error_reason(paucis_err err) {
    switch (err) {
    case PAUCIS_OK: return "nothing-to-save";
    case PAUCIS_E_PARSE: return "not-json";
    case PAUCIS_E_FORMAT: return "format";
    case PAUCIS_E_NOSPACE: return "nothing-to-save";
    case PAUCIS_E_LIMIT: return "limit";
    case PAUCIS_E_NOMEM: return "memory";
    case PAUCIS_E_ARG: return "options";
    case PAUCIS_E_INVARIANT:
    case PAUCIS_E_CALLBACK: break;
    }
    return "internal";
}

/* The library's number of its rendering, and a hash of the options that decide with it: a
 * conversation that began under others is not rendered anew in its middle. */
static uint64_t rendering(const struct xfer *x) {
    struct begun begun;
    const paucis_opts *o = begun_read(x, &begun);
    const char *texts[5 + 2 * 32] = {o->policy, o->strategies, o->level,
                                     o->price ? o->price->name : NULL};
    size_t n = 4;
    if (x->serve->keep) texts[n++] = "handles";
    for (size_t i = 0; i < o->nkv && i < 32; i++) {
        texts[n++] = o->kv[i].key;
        texts[n++] = o->kv[i].val;
    }
    return (scan_seed(texts, n).lo & INT32_MAX) << 16 | (x->stats.render & 0xffff);
}

bool rewrite_record_edit(struct xfer *x) {
    size_t first = scan_message_at(&x->scan, (size_t)x->stats.first_changed_byte) + 1;
    struct conv *c = &x->conv;
    if (x->route.counts) return true;
    bool known = c->first_edit && c->first_edit <= first;
    if (known && !x->forced) return true;
    bool was = c->first_edit != 0;
    if (!known) c->first_edit = first;
    if (!c->id) return true; /* no record: the ladder of this request wants to know */
    if (!was) begun_write(&x->config->opts, c->begun);
    if (!was) c->render = rendering(x);
    return record_put(x->serve->record, c) || was;
}

static bool asked_off(const struct xfer *x) {
    const char *h = headers_get(&x->in, "x-paucis");
    return h && name_is(h, "off");
}

/* Why a conversation that may be shortened is not from now on; NULL: it may be. */
static const char *leaves(struct xfer *x, bool rendered) {
    if (x->conv.mode == MODE_LEAVING) { /* by hand, since the last request */
        stop(x, NULL);
        return "stopped";
    }
    if (asked_off(x)) {
        stop(x, "switched off by the client");
        return "off";
    }
    if (x->conv.first_edit && rendered && x->conv.render != rendering(x)) {
        stop(x, "it began under other options or another version");
        return "version";
    }
    bool none = x->config->opts.policy && strcmp(x->config->opts.policy, "none") == 0;
    const char *why = x->config->observe ? "observe" : none ? "off" : NULL;
    if (why && x->conv.first_edit) stop(x, "the proxy was started to change nothing");
    return why;
}

bool rewrite_keep(struct xfer *x, paucis_ctx *ctx) {
    const struct buf *in = plain_of(x);
    return keeper_keep(x, ctx, in->data, in->len);
}

/* One more number in an ascending list of the record, if it is not there already. */
static bool add_number(char list[LIST_TEXT], uint64_t n) {
    size_t len = strlen(list);
    const char *last = strrchr(list, ',');
    if (len && strtoull(last ? last + 1 : list, NULL, 10) >= n) return true;
    int more = snprintf(list + len, LIST_TEXT - len, "%s%" PRIu64, len ? "," : "", n);
    if (more > 0 && (size_t)more < LIST_TEXT - len) return true;
    list[len] = '\0';
    return false;
}

/* The store failed: what was cut before is cut again, since it was acknowledged then, and nothing
 * else. The record remembers that this request was sent so. If that happens too often, the
 * conversation stays as it is. If turns went past us meanwhile, what their requests would have cut
 * is not there: then the conversation is left. */
static void withhold(struct xfer *x, paucis_ctx *ctx) {
    struct conv *c = &x->conv;
    const struct buf *in = plain_of(x);
    uint64_t now = count_messages(x);
    paucis_err err;
    if (!is_stable(x)) {
        rewrite_send_safe(x, ctx, "store");
        return;
    }
    if (c->mode == MODE_RUNS && !add_number(c->still, now)) {
        c->mode = MODE_FROZEN;
        c->stopped_at = now - 1;
        snprintf(c->stop, sizeof c->stop, "the store failed too often");
    }
    put(x);
    if (!c->first_edit || !rewrite_render(x, ctx, &err)) {
        rewrite_send_original(x, "store");
    } else if (keeper_has(x, ctx, in->data, in->len)) {
        rewrite_send_edited(x);
    } else {
        stop(x, "the store failed, and does not have all that is left out");
        rewrite_send_safe(x, ctx, "store");
    }
    x->reason = "store";
}

/* Is the provider's cache surely cold? A client may have asked for an hour. */
static bool is_idle(const struct xfer *x) {
    static const char hour[] = "\"ttl\":\"1h\"", spaced[] = "\"ttl\": \"1h\"";
    const struct buf *in = plain_of(x);
    int64_t ttl = provider_price(x->route.provider)->ttl_s;
    int64_t idle = (int64_t)time(NULL) - x->conv.last;
    if (!x->conv.id || x->route.counts || !x->conv.last || !ttl || idle <= ttl) return false;
    bool long_lived = memmem(in->data, in->len, hour, sizeof hour - 1) ||
                      memmem(in->data, in->len, spaced, sizeof spaced - 1);
    return idle > (long_lived ? 3600 : ttl);
}

/* All is written anew in any case, so a cut costs nothing. It is recorded first: every later
 * request and every replica makes it again. */
static void cut_now(struct xfer *x, paucis_ctx *ctx) {
    struct conv *c = &x->conv;
    char old[LIST_TEXT];
    paucis_err err;
    memcpy(old, c->cold, sizeof old);
    (void)rewrite_render(x, ctx, &err);
    size_t before = x->edited.len;
    if (err || !add_number(c->cold, count_messages(x)) || strcmp(old, c->cold) == 0) return;
    (void)rewrite_render(x, ctx, &err);
    bool shorter = !err && x->edited.len < before;
    if (shorter && record_put(x->serve->record, c)) return;
    memcpy(c->cold, old, sizeof old);
}

static void cut_if_idle(struct xfer *x, paucis_ctx *ctx) {
    if (!is_idle(x) || x->config->observe || x->conv.mode != MODE_RUNS || !is_stable(x)) return;
    cut_now(x, ctx);
    record_warm(x->serve->record, x->conv.id);
}

static void choose(struct xfer *x, paucis_ctx *ctx) {
    paucis_err err;
    enum mode mode = (enum mode)x->conv.mode;
    if (!asked_off(x)) cut_if_idle(x, ctx);
    if (mode == MODE_ORIGINAL) {
        rewrite_send_original(x, "stopped");
    } else if (mode == MODE_EXIT || (mode == MODE_LEAVING && x->conv.stopped_at) ||
               (mode == MODE_FROZEN && !is_stable(x))) {
        rewrite_send_safe(x, ctx, asked_off(x) ? "off" : "stopped");
    } else {
        bool rendered = rewrite_render(x, ctx, &err);
        const char *why = leaves(x, rendered);
        if (why || !rendered)
            rewrite_send_safe(x, ctx, why ? why : error_reason(err));
        else if (!rewrite_keep(x, ctx))
            withhold(x, ctx);
        else if (!rewrite_record_edit(x))
            rewrite_send_original(x, "record");
        else
            rewrite_send_edited(x);
    }
}

struct desk *rewrite_decide(struct xfer *x) {
    struct desk *d = NULL;
    int64_t from = now_us();
    const char *doubt = understand(x);
    x->stats.bytes_in = x->stats.bytes_out = plain_of(x)->len;
    if (doubt) {
        rewrite_send_original(x, doubt);
    } else {
        d = contexts_take(x->serve, x->conv.id);
        x->keeper = d ? d->keeper : NULL;
        choose(x, d ? d->ctx : NULL);
        if (d && x->stats.peak_alloc) d->held = x->stats.peak_alloc;
    }
    x->work_us = now_us() - from;
    return d;
}

/* ---- after the turn: is the provider's cache as it should be? -------------------------------- */

enum { BAD_TURNS = 3, SLACK = 1024 };

/* Tokens that this turn should have found in the cache, by what the turn before read and wrote. */
static uint64_t expected(const struct conv *c) {
    return c->written ? c->cached + c->written : c->cached ? c->prompt : 0;
}

/* What the prompt cost, and what it would have cost without paucis: the whole conversation, of
 * which the turn before was cached if anything was. In base prices of a token. */
static void reckon(struct xfer *x, bool warm) {
    const paucis_price *p =
        x->config->opts.price ? x->config->opts.price : provider_price(x->route.provider);
    const struct usage *u = &x->usage;
    double read = p->read / 1000.0, wrote = p->write / 1000.0;
    double prompt = (double)usage_prompt(u), in = (double)x->stats.bytes_in;
    double out = (double)(x->rewritten ? x->stats.bytes_out : x->stats.bytes_in);
    double raw = out > 0 ? prompt * in / out : prompt;
    double write = u->written ? wrote : 1;
    x->cost = (double)u->fresh + (double)u->cached * read + (double)u->written * wrote;
    double old = warm && u->cached ? (double)x->conv.raw : 0;
    double kept = old < raw ? old : raw;
    if (x->conv.id && x->conv.first_edit && !x->config->observe)
        x->saved = kept * read + (raw - kept) * write - x->cost;
    /* A recall is the price of a cut: without it the text would not have been sent once more. */
    double recalled = out > 0 ? prompt * (double)x->stats.recalled_bytes / out : 0;
    if (x->saved != 0) x->saved -= recalled * write;
    x->conv.raw = (uint64_t)raw;
}

void rewrite_watch(struct xfer *x) {
    const struct usage *u = &x->usage;
    struct conv *c = &x->conv;
    if (!u->seen || x->status != 200 || x->route.counts) return;
    int64_t now = (int64_t)time(NULL);
    unsigned ttl = provider_price(x->route.provider)->ttl_s;
    bool warm =
        c->last && (ttl == 0 || now - c->last < (int64_t)ttl) && strcmp(c->model, x->model) == 0;
    reckon(x, warm);
    if (!c->id) return;
    if (warm && x->rewritten && u->has_cache && !x->stats.cut_now)
        c->bad_turns = u->cached + SLACK < expected(c) / 4 * 3 ? c->bad_turns + 1 : 0;
    c->prompt = usage_prompt(u);
    c->cached = u->cached;
    c->written = u->written;
    c->last = now;
    memcpy(c->model, x->model, sizeof c->model);
    if (c->bad_turns < BAD_TURNS || c->mode != MODE_RUNS) return;
    c->mode = MODE_FROZEN;
    c->stopped_at = count_messages(x);
    snprintf(c->stop, sizeof c->stop, "fewer cached tokens than expected, %d turns in a row",
             BAD_TURNS);
    (void)record_put(x->serve->record, c);
}
