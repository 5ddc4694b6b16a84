/* What follows a refusal. The provider is the judge: a body that we changed and that it does not
 * take is followed by the original, and that by the exit body, each once; what then is said is
 * said to the client. A prompt that does not fit teaches the window, and a shorter one is sent
 * once. */
#include "proxy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading the refusal --------------------------------------------------------------------- */

struct history_row {
    const char *text, *also, *rule;
};
static const struct history_row history[] = {
#define HISTORY(text, also, rule) {text, also, rule},
#include "errors.def"
#undef HISTORY
};
static const char *const too_long[] = {
#define LONG(text) text,
#include "errors.def"
#undef LONG
    NULL};
static const char *const limits[] = {
#define LIMIT(text) text,
#include "errors.def"
#undef LIMIT
    NULL};
static const char *const actuals[] = {
#define ACTUAL(text) text,
#include "errors.def"
#undef ACTUAL
    NULL};

/* The answer held back: decoded, in lower case, as a string. */
static bool read_refusal(struct xfer *x, struct buf *text) {
    const char *coding = headers_get(&x->out, "Content-Encoding");
    const char *p = x->down.b.data + x->down.pos;
    size_t n = pipe_len(&x->down);
    if (coding && !name_is(coding, "identity")) {
        struct codec *c = codec_open(coding);
        bool ok = c && codec_feed(c, p, n, text, HELD_MAX);
        codec_close(c);
        if (!ok) return false;
    } else if (n > 0) {
        buf_add(text, p, n);
    }
    for (size_t i = 0; i < text->len; i++) {
        text->data[i] = (char)tolower((unsigned char)text->data[i]);
        if (text->data[i] == '\0') text->data[i] = ' ';
    }
    buf_add(text, "", 1);
    return !text->failed;
}

static const char *history_rule(const char *text) {
    for (size_t i = 0; i < sizeof history / sizeof *history; i++)
        if (strstr(text, history[i].text) && strstr(text, history[i].also)) return history[i].rule;
    return NULL;
}

static bool any_of(const char *text, const char *const *rows) {
    for (; *rows; rows++)
        if (strstr(text, *rows)) return true;
    return false;
}

/* The number behind the first phrase that is there; 0: none. "32,768" and " 32768" are read too. */
static uint64_t number_after(const char *text, const char *const *rows) {
    for (; *rows; rows++) {
        const char *p = strstr(text, *rows);
        if (!p) continue;
        uint64_t n = 0;
        for (p += strlen(*rows) + strspn(p + strlen(*rows), " ");
             isdigit((unsigned char)*p) || *p == ','; p++)
            if (*p != ',' && n < UINT32_MAX) n = n * 10 + (uint64_t)(*p - '0');
        if (n > 0) return n;
    }
    return 0;
}

/* ---- too long -------------------------------------------------------------------------------- */

/* Local servers tell their window when asked. */
static uint64_t ask_window(struct xfer *x) {
    static const char *const paths[] = {"/props", "/v1/models"};
    uint64_t limit = 0;
    for (size_t i = 0; limit == 0 && i < sizeof paths / sizeof *paths; i++) {
        struct buf b = {0};
        if (upstream_ask(x, paths[i], &b)) {
            buf_add(&b, "", 1);
            if (!b.failed) limit = number_after(b.data, limits);
        }
        buf_free(&b);
    }
    return limit;
}

/* A budget in the library's own tokens. The refusal tells how many the provider counted where we
 * counted `ours`; without that an estimate must leave more room. */
static uint64_t learn_budget(uint64_t limit, uint64_t actual, uint64_t ours) {
    if (actual > 0 && ours > 0)
        return (uint64_t)((double)limit * 0.9 * (double)ours / (double)actual);
    return limit / 10 * 7;
}

static bool shorten(struct xfer *x, paucis_ctx *ctx, const char *text) {
    paucis_err err;
    if (x->forced || (x->config->observe && !x->conv.first_edit)) return false;
    x->forced = true;
    bool runs = x->conv.mode == MODE_RUNS, was_rewritten = x->rewritten && runs;
    uint64_t limit = number_after(text, limits), actual = number_after(text, actuals);
    if (limit == 0) limit = ask_window(x);
    if (limit == 0) return false;
    (void)rewrite_render(x, ctx, &err); /* now with a count of the tokens */
    if (err != PAUCIS_OK) return false;
    if (x->conv.attach >= x->stats.messages_in) /* met just now: this request may cut already */
        x->conv.attach = x->stats.messages_in - 1;
    if (!x->conv.budget) x->conv.budget_at = x->stats.messages_in;
    x->conv.budget =
        learn_budget(limit, actual, was_rewritten ? x->stats.tokens_out : x->stats.tokens_in);
    if (!runs) { /* no new cut; but if it was left just now, what was sent before may fit */
        if (x->conv.mode != MODE_EXIT || x->conv.stopped_at != x->stats.messages_in) return false;
        x->conv.mode = MODE_LEAVING;
        rewrite_send_safe(x, ctx, "window");
        if (x->conv.id) (void)record_put(x->serve->record, &x->conv);
        return x->conv.mode == MODE_LEAVING;
    }
    if (!rewrite_render(x, ctx, &err) || !rewrite_keep(x, ctx)) return false;
    if (!rewrite_record_edit(x)) return false;
    rewrite_send_edited(x);
    x->reason = "window";
    return true;
}

/* ---- refused --------------------------------------------------------------------------------- */

static void stop(struct xfer *x, enum mode mode, const char *rule) {
    x->conv.mode = mode;
    x->conv.stopped_at = x->stats.messages_in ? x->stats.messages_in : x->scan.n;
    snprintf(x->conv.stop, sizeof x->conv.stop, "the provider refused the history (%s)", rule);
    if (x->conv.id) (void)record_put(x->serve->record, &x->conv);
}

static void remember(struct xfer *x) {
    x->before.mode = x->conv.mode;
    x->before.stopped_at = x->conv.stopped_at;
    memcpy(x->before.stop, x->conv.stop, sizeof x->before.stop);
}

/* Not even what the client sent is taken: the fault is not ours, and all is as it was. */
static void start_again(struct xfer *x) {
    x->conv.mode = x->before.mode;
    x->conv.stopped_at = x->before.stopped_at;
    memcpy(x->conv.stop, x->before.stop, sizeof x->conv.stop);
    if (x->conv.id) (void)record_put(x->serve->record, &x->conv);
}

/* A limit or a fault at the last try says nothing about the body either. */
void ladder_end(struct xfer *x) {
    bool taken = !x->error && x->status >= 200 && x->status < 300;
    if (x->rung != RUNG_COMPACTED && !taken && x->conv.mode != x->before.mode) start_again(x);
}

/* Thinking is refused as bound to another prefix, and we know of none: the record was lost, or
 * cannot be read now, and it is we who have sent that prefix. Which, the history tells, unless it
 * was for something that only the record knew; then it may be any. */
static bool was_edited(struct xfer *x, paucis_ctx *ctx, const char *rule) {
    paucis_err err;
    if (strcmp(rule, "B-R14") != 0 && strcmp(rule, "B-R15") != 0) return false;
    bool lost = !x->conv.id || x->conv.attach; /* else it was seen from its start, and whole */
    x->conv.attach = 0;
    if (!rewrite_render(x, ctx, &err)) {
        if (err != PAUCIS_OK || !lost) return false;
        x->stats.first_changed_byte = 0;
    }
    return rewrite_record_edit(x);
}

static bool climb(struct xfer *x, paucis_ctx *ctx, const char *rule) {
    if (x->rung == RUNG_COMPACTED && x->rewritten) {
        x->rung = RUNG_ORIGINAL;
        rewrite_send_original(x, "history-error");
        stop(x, MODE_ORIGINAL, rule);
        return true;
    }
    if (x->rung != RUNG_EXIT && x->conv.first_edit) {
        x->rung = RUNG_EXIT;
        if (rewrite_send_exit(x, ctx, "history-error")) {
            stop(x, MODE_EXIT, rule);
            return true;
        }
    }
    if (x->rung == RUNG_COMPACTED && !x->conv.first_edit && was_edited(x, ctx, rule)) {
        x->rung = RUNG_EXIT;
        stop(x, MODE_LEAVING, rule);
        rewrite_send_safe(x, ctx, "history-error");
        return x->rewritten;
    }
    if (x->rung != RUNG_COMPACTED) start_again(x);
    return false;
}

bool ladder_again(struct xfer *x, struct desk *d) {
    struct buf text = {0};
    bool again = false;
    paucis_ctx *ctx = d ? d->ctx : NULL;
    x->keeper = d ? d->keeper : NULL;
    if (x->rung == RUNG_COMPACTED) remember(x);
    if (read_refusal(x, &text)) {
        const char *rule = history_rule(text.data);
        if (any_of(text.data, too_long))
            again = shorten(x, ctx, text.data);
        else if (x->status == 400 || rule)
            again = climb(x, ctx, rule ? rule : "400");
    }
    buf_free(&text);
    return again;
}
