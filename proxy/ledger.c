/* What happened: sums for the metrics and the receipt, the newest requests and conversations for
 * the page, one line a request for the log. No texts, no credentials: there is no place to put
 * them. Fixed tables; where one is full, the row that was quiet longest makes room. */
#include "proxy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT = 200, CONVS = 64, MODELS = 24, REASONS = 24, BUCKETS = 8 };

/* Upper bounds of the decision's time, in microseconds; the last row is for all. */
static const int64_t bounds[BUCKETS - 1] = {100, 300, 1000, 3000, 10000, 30000, 100000};

struct sums {
    uint64_t requests, rewritten, failed;
    uint64_t recalls; /* visible in the conversation; their cost is taken off what was saved */
    uint64_t bytes_in, bytes_out;
    uint64_t fresh, cached, written, output;
    double cost, saved;
};

struct conv_row {
    int64_t id, at;
    char model[64], stop[STOP_TEXT];
    uint64_t messages, prompt, raw, window, attach, cuts;
    struct sums sums;
};

struct model_row {
    char name[64];
    int64_t at;
    struct sums sums;
};

struct reason_row {
    const char *reason;
    uint64_t n;
};

struct event {
    uint64_t id, messages, bytes_in, bytes_out, edits, cuts, prompt, cached;
    int64_t at, conv, work_us, head_us, total_us;
    int status;
    bool rewritten;
    double saved;
    const char *reason;
    char model[64], path[48], what[200];
};

struct ledger {
    pthread_mutex_t lock;
    int64_t since;
    struct sums all;
    uint64_t buckets[BUCKETS], forwarded, stops, cuts;
    int64_t work_sum;
    struct conv_row convs[CONVS];
    struct model_row models[MODELS];
    struct reason_row reasons[REASONS], refused[REASONS];
    struct event recent[RECENT];
    size_t next;
};

struct ledger *ledger_new(void) {
    struct ledger *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    pthread_mutex_init(&l->lock, NULL);
    l->since = (int64_t)time(NULL);
    return l;
}

void ledger_free(struct ledger *l) {
    if (!l) return;
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static void sum(struct sums *s, const struct xfer *x) {
    s->requests++;
    s->rewritten += x->rewritten;
    s->recalls += x->status == 200 ? x->stats.recalls : 0;
    s->failed += x->status >= 400 || x->error != NULL;
    s->bytes_in += x->stats.bytes_in;
    s->bytes_out += x->stats.bytes_out;
    s->fresh += x->usage.fresh;
    s->cached += x->usage.cached;
    s->written += x->usage.written;
    s->output += x->usage.output;
    s->cost += x->cost;
    s->saved += x->saved;
}

static void add_conv(struct ledger *l, const struct xfer *x, int64_t now) {
    struct conv_row *row = &l->convs[0];
    for (size_t i = 0; i < CONVS; i++) {
        if (l->convs[i].id == x->conv.id) {
            row = &l->convs[i];
            break;
        }
        if (l->convs[i].at < row->at) row = &l->convs[i];
    }
    if (row->id != x->conv.id) *row = (struct conv_row){.id = x->conv.id};
    row->at = now;
    memcpy(row->model, x->model, sizeof row->model);
    memcpy(row->stop, x->conv.stop, sizeof row->stop);
    row->messages = x->scan.n;
    row->attach = x->conv.attach;
    row->cuts = x->stats.cuts;
    row->window = x->stats.budget == PAUCIS_NO_BUDGET ? 0 : x->stats.budget;
    row->raw = x->conv.raw;
    if (usage_prompt(&x->usage)) row->prompt = usage_prompt(&x->usage);
    sum(&row->sums, x);
}

static void add_model(struct ledger *l, const struct xfer *x, int64_t now) {
    struct model_row *row = &l->models[0];
    const char *name = x->model[0] ? x->model : providers[x->route.provider].name;
    for (size_t i = 0; i < MODELS; i++) {
        if (strcmp(l->models[i].name, name) == 0) {
            row = &l->models[i];
            break;
        }
        if (l->models[i].at < row->at) row = &l->models[i];
    }
    if (strcmp(row->name, name) != 0) {
        *row = (struct model_row){0};
        snprintf(row->name, sizeof row->name, "%s", name);
    }
    row->at = now;
    sum(&row->sums, x);
}

static void add_reason(struct reason_row *rows, const char *reason) {
    for (size_t i = 0; i < REASONS; i++) {
        struct reason_row *r = &rows[i];
        if (r->reason && strcmp(r->reason, reason) != 0) continue;
        r->reason = reason;
        r->n++;
        return;
    }
}

static void add_time(struct ledger *l, int64_t us) {
    size_t i = 0;
    while (i < BUCKETS - 1 && us > bounds[i]) i++;
    l->buckets[i]++;
    l->work_sum += us;
}

static int64_t span(int64_t from, int64_t to) { return from && to > from ? to - from : 0; }

static void add_event(struct ledger *l, const struct xfer *x, int64_t now) {
    struct event *e = &l->recent[l->next++ % RECENT];
    *e = (struct event){.id = x->id,
                        .at = now,
                        .conv = x->conv.id,
                        .messages = x->scan.n,
                        .bytes_in = x->stats.bytes_in,
                        .bytes_out = x->stats.bytes_out,
                        .edits = x->stats.edits,
                        .cuts = x->stats.cuts,
                        .prompt = usage_prompt(&x->usage),
                        .cached = x->usage.cached,
                        .work_us = x->work_us,
                        .head_us = span(x->t_sent, x->t_head),
                        .total_us = span(x->t_begin, x->t_end),
                        .status = x->status,
                        .rewritten = x->rewritten,
                        .saved = x->saved,
                        .reason = x->reason};
    memcpy(e->model, x->model, sizeof e->model);
    memcpy(e->what, x->what, sizeof e->what);
    snprintf(e->path, sizeof e->path, "%.*s", (int)strcspn(x->uri, "?"), x->uri);
}

/* One JSON object a line. */
static void log_line(const struct xfer *x) {
    struct buf b = {0};
    buf_fmt(&b,
            "{\"time\":%lld,\"id\":\"%" PRIx64 "\",\"provider\":\"%s\",\"status\":%d,\"model\":",
            (long long)time(NULL), x->id, providers[x->route.provider].name, x->status);
    json_cstr(&b, x->model);
    buf_fmt(&b,
            ",\"conversation\":%" PRId64 ",\"messages\":%zu,\"bytes_in\":%" PRIu64
            ",\"bytes_out\":%" PRIu64 ",\"edits\":%" PRIu64 ",\"reason\":",
            x->conv.id, x->scan.n, x->stats.bytes_in, x->stats.bytes_out, x->stats.edits);
    json_cstr(&b, x->error ? x->error : x->reason);
    buf_fmt(
        &b,
        ",\"prompt\":%" PRIu64 ",\"cached\":%" PRIu64 ",\"written\":%" PRIu64 ",\"output\":%" PRIu64
        ",\"body_us\":%" PRId64 ",\"queue_us\":%" PRId64 ",\"work_us\":%" PRId64
        ",\"head_us\":%" PRId64 ",\"total_us\":%" PRId64 ",\"gone\":%s}\n",
        usage_prompt(&x->usage), x->usage.cached, x->usage.written, x->usage.output,
        span(x->t_begin, x->t_body), span(x->t_body + x->work_us, x->t_sent), x->work_us,
        span(x->t_sent, x->t_head), span(x->t_begin, x->t_end), x->client_gone ? "true" : "false");
    if (!b.failed) fwrite(b.data, 1, b.len, stderr);
    buf_free(&b);
}

void ledger_add(struct ledger *l, struct xfer *x) {
    int64_t now = (int64_t)time(NULL);
    pthread_mutex_lock(&l->lock);
    if (x->route.format) {
        sum(&l->all, x);
        if (x->conv.id) add_conv(l, x, now);
        add_model(l, x, now);
        add_event(l, x, now);
        add_time(l, x->work_us);
        if (!x->rewritten) add_reason(l->reasons, x->reason ? x->reason : "nothing-to-save");
        if (x->rung != RUNG_COMPACTED && x->conv.mode != x->before.mode) l->stops++;
        if (x->rewritten) l->cuts += x->stats.cut_now;
    } else {
        l->forwarded++;
    }
    pthread_mutex_unlock(&l->lock);
    if (!x->config->quiet) log_line(x);
    if (x->serve->record && x->route.format) record_turn(x->serve->record, x);
}

void ledger_refuse(struct ledger *l, const char *why) {
    pthread_mutex_lock(&l->lock);
    add_reason(l->refused, why);
    pthread_mutex_unlock(&l->lock);
}

/* ---- telling --------------------------------------------------------------------------------- */

static void sums_json(struct buf *b, const struct sums *s) {
    buf_fmt(b,
            "{\"requests\":%" PRIu64 ",\"rewritten\":%" PRIu64 ",\"failed\":%" PRIu64
            ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64 ",\"fresh\":%" PRIu64
            ",\"cached\":%" PRIu64 ",\"written\":%" PRIu64 ",\"output\":%" PRIu64
            ",\"recalls\":%" PRIu64 ",\"cost\":%.0f,\"saved\":%.0f}",
            s->requests, s->rewritten, s->failed, s->bytes_in, s->bytes_out, s->fresh, s->cached,
            s->written, s->output, s->recalls, s->cost, s->saved);
}

static void event_json(struct buf *b, const struct event *e) {
    buf_fmt(b,
            "{\"id\":\"%" PRIx64 "\",\"at\":%" PRId64 ",\"conv\":%" PRId64 ",\"messages\":%" PRIu64
            ",\"in\":%" PRIu64 ",\"out\":%" PRIu64 ",\"edits\":%" PRIu64 ",\"cuts\":%" PRIu64
            ",\"prompt\":%" PRIu64 ",\"cached\":%" PRIu64 ",\"work\":%" PRId64 ",\"head\":%" PRId64
            ",\"total\":%" PRId64 ",\"status\":%d,\"rewritten\":%s,\"saved\":%.0f,\"reason\":",
            e->id, e->at, e->conv, e->messages, e->bytes_in, e->bytes_out, e->edits, e->cuts,
            e->prompt, e->cached, e->work_us, e->head_us, e->total_us, e->status,
            e->rewritten ? "true" : "false", e->saved);
    json_cstr(b, e->reason);
    buf_str(b, ",\"model\":");
    json_cstr(b, e->model);
    buf_str(b, ",\"path\":");
    json_cstr(b, e->path);
    buf_str(b, ",\"what\":");
    json_cstr(b, e->what);
    buf_str(b, "}");
}

static void conv_json(struct buf *b, const struct conv_row *c) {
    buf_fmt(b,
            "{\"id\":%" PRId64 ",\"at\":%" PRId64 ",\"messages\":%" PRIu64 ",\"prompt\":%" PRIu64
            ",\"raw\":%" PRIu64 ",\"window\":%" PRIu64 ",\"attach\":%" PRIu64 ",\"cuts\":%" PRIu64
            ",\"model\":",
            c->id, c->at, c->messages, c->prompt, c->raw, c->window, c->attach, c->cuts);
    json_cstr(b, c->model);
    buf_str(b, ",\"stop\":");
    json_cstr(b, c->stop[0] ? c->stop : NULL);
    buf_str(b, ",\"sums\":");
    sums_json(b, &c->sums);
    buf_str(b, "}");
}

static void reasons_json(struct buf *b, const struct reason_row *rows) {
    buf_str(b, "{");
    for (size_t i = 0; i < REASONS && rows[i].reason; i++) {
        buf_str(b, i ? "," : "");
        json_cstr(b, rows[i].reason);
        buf_fmt(b, ":%" PRIu64, rows[i].n);
    }
    buf_str(b, "}");
}

void ledger_json(struct ledger *l, struct buf *b) {
    const char *comma = "";
    pthread_mutex_lock(&l->lock);
    buf_fmt(b,
            "{\"version\":\"%s\",\"since\":%" PRId64 ",\"now\":%lld,\"forwarded\":%" PRIu64
            ",\"stops\":%" PRIu64 ",\"all\":",
            paucis_version_string(), l->since, (long long)time(NULL), l->forwarded, l->stops);
    sums_json(b, &l->all);
    buf_str(b, ",\"models\":[");
    for (size_t i = 0; i < MODELS; i++) {
        if (!l->models[i].name[0]) continue;
        buf_fmt(b, "%s{\"name\":", comma);
        json_cstr(b, l->models[i].name);
        buf_str(b, ",\"sums\":");
        sums_json(b, &l->models[i].sums);
        buf_str(b, "}");
        comma = ",";
    }
    buf_str(b, "],\"conversations\":[");
    comma = "";
    for (size_t i = 0; i < CONVS; i++) {
        if (!l->convs[i].id) continue;
        buf_str(b, comma);
        conv_json(b, &l->convs[i]);
        comma = ",";
    }
    buf_str(b, "],\"reasons\":");
    reasons_json(b, l->reasons);
    buf_str(b, ",\"refused\":");
    reasons_json(b, l->refused);
    buf_str(b, ",\"recent\":[");
    size_t n = l->next < RECENT ? l->next : RECENT;
    for (size_t i = 0; i < n; i++) {
        buf_str(b, i ? "," : "");
        event_json(b, &l->recent[(l->next - 1 - i) % RECENT]);
    }
    buf_str(b, "]}\n");
    pthread_mutex_unlock(&l->lock);
}

static void metric(struct buf *b, const char *name, const char *help, const char *type, double v) {
    buf_fmt(b, "# HELP paucis_%s %s\n# TYPE paucis_%s %s\npaucis_%s %.15g\n", name, help, name,
            type, name, v);
}

static void by_reason(struct buf *b, const char *name, const char *help,
                      const struct reason_row *rows) {
    buf_fmt(b, "# HELP paucis_%s %s\n# TYPE paucis_%s counter\n", name, help, name);
    for (size_t i = 0; i < REASONS && rows[i].reason; i++)
        buf_fmt(b, "paucis_%s{reason=\"%s\"} %" PRIu64 "\n", name, rows[i].reason, rows[i].n);
}

void ledger_metrics(struct ledger *l, struct buf *b) {
    pthread_mutex_lock(&l->lock);
    const struct sums *s = &l->all;
    metric(b, "requests_total", "conversation requests", "counter", (double)s->requests);
    metric(b, "rewritten_total", "of these, shortened", "counter", (double)s->rewritten);
    metric(b, "failed_total", "of these, answered with an error", "counter", (double)s->failed);
    metric(b, "recalls_total", "removed texts that models asked for again", "counter",
           (double)s->recalls);
    metric(b, "forwarded_total", "other requests", "counter", (double)l->forwarded);
    metric(b, "stops_total", "conversations stopped after a refusal", "counter", (double)l->stops);
    metric(b, "body_bytes_in_total", "bytes of bodies as they came", "counter",
           (double)s->bytes_in);
    metric(b, "body_bytes_out_total", "bytes of bodies as sent", "counter", (double)s->bytes_out);
    metric(b, "prompt_tokens_fresh_total", "uncached, by the provider", "counter",
           (double)s->fresh);
    metric(b, "prompt_tokens_cached_total", "read from the cache", "counter", (double)s->cached);
    metric(b, "prompt_tokens_written_total", "put in the cache", "counter", (double)s->written);
    metric(b, "output_tokens_total", "by the provider", "counter", (double)s->output);
    metric(b, "prompt_cost_base_tokens", "what prompts cost, in uncached tokens", "gauge", s->cost);
    metric(b, "saved_net_base_tokens", "saved net, in uncached tokens", "gauge", s->saved);
    by_reason(b, "passed_total", "bodies passed on unchanged", l->reasons);
    by_reason(b, "refused_total", "requests refused at the door", l->refused);
    buf_str(b,
            "# HELP paucis_decision_seconds time to decide what is sent\n"
            "# TYPE paucis_decision_seconds histogram\n");
    uint64_t n = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        n += l->buckets[i];
        if (i < BUCKETS - 1)
            buf_fmt(b, "paucis_decision_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                    (double)bounds[i] / 1e6, n);
    }
    buf_fmt(b, "paucis_decision_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n", n);
    buf_fmt(b, "paucis_decision_seconds_sum %g\n", (double)l->work_sum / 1e6);
    buf_fmt(b, "paucis_decision_seconds_count %" PRIu64 "\n", n);
    pthread_mutex_unlock(&l->lock);
}

/* Savings are what the prompts would have cost less what they did cost, by the provider's own
 * counts: a loss is shown as one. */
void ledger_receipt(struct ledger *l, const struct config *c, struct buf *b) {
    pthread_mutex_lock(&l->lock);
    const struct sums *s = &l->all;
    double before = s->cost + s->saved, share = before > 0 ? s->saved / before * 100 : 0;
    buf_fmt(b,
            "paucis: %" PRIu64 " requests, %" PRIu64 " shortened, %" PRIu64 " cuts, %" PRIu64
            " stopped after a refusal; %" PRIu64 " other requests passed on\n",
            s->requests, s->rewritten, l->cuts, l->stops, l->forwarded);
    buf_fmt(b,
            "paucis: %" PRIu64 " prompt tokens by the provider's count, %" PRIu64
            " of them from its cache, %" PRIu64 " written to it; %" PRIu64 " output\n",
            s->fresh + s->cached + s->written, s->cached, s->written, s->output);
    if (s->requests > 0 && s->cost > 0)
        buf_fmt(b,
                "paucis: the prompts cost %.0f uncached tokens, without paucis about %.0f: "
                "%s %.0f net (%.1f %%)\n",
                s->cost, before, s->saved < 0 ? "lost" : "saved",
                s->saved < 0 ? -s->saved : s->saved, s->saved < 0 ? -share : share);
    if (s->recalls > 0)
        buf_fmt(b, "paucis: %" PRIu64 " removed texts were recalled, at a cost that is taken off\n",
                s->recalls);
    if (c->price > 0)
        buf_fmt(b, "paucis: in money %.4f for the prompts, %s %.4f net\n", s->cost * c->price / 1e6,
                s->saved < 0 ? "lost" : "saved",
                (s->saved < 0 ? -s->saved : s->saved) * c->price / 1e6);
    if (c->observe && s->bytes_in > 0)
        buf_fmt(b, "paucis: observed only; %.1f %% of the bytes would not have been sent\n",
                (double)(s->bytes_in - s->bytes_out) * 100 / (double)s->bytes_in);
    if (c->record) buf_fmt(b, "paucis: written to %s (no texts)\n", c->record);
    if (config_store(c) && s->rewritten > 0)
        buf_fmt(b, "paucis: removed texts are kept in %s; see paucis store, paucis recall\n",
                config_store(c));
    pthread_mutex_unlock(&l->lock);
}
