/* The report for programs. */
#include "replay/replay.h"

#include <inttypes.h>
#include <string.h>

#define COUNTER(name) \
    { #name, offsetof(struct figures, name) }
static const struct {
    const char *name;
    size_t at;
} counters[] = {COUNTER(turns),   COUNTER(tokens),   COUNTER(cached),      COUNTER(peak),
                COUNTER(cuts),    COUNTER(fixed),    COUNTER(plain),       COUNTER(full),
                COUNTER(row),     COUNTER(row_read), COUNTER(row_written), COUNTER(row_fresh),
                COUNTER(reread),  COUNTER(needed),   COUNTER(kept),        COUNTER(cneeded),
                COUNTER(ckept),   COUNTER(xkept),    COUNTER(sneeded),     COUNTER(skept),
                COUNTER(nneeded), COUNTER(nkept),    COUNTER(edits),       COUNTER(edits_kept)};

static void counters_json(struct buf *b, const struct figures *f) {
    buf_str(b, "{");
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        buf_fmt(b, "%s\"%s\":%" PRIu64, i ? "," : "", counters[i].name,
                *(const uint64_t *)((const char *)f + counters[i].at));
    buf_str(b, "}");
}

static void shares_json(struct buf *b, const char *key, const double *s) {
    buf_fmt(b, ",\"%s\":{", key);
    for (size_t i = 0; i < SHARES; i++)
        buf_fmt(b, "%s\"%s\":%.3f", i ? "," : "", share_names[i], s[i]);
    buf_str(b, "}");
}

static void agents_json(struct buf *b, const struct results *r, size_t policy, size_t price) {
    struct figures sum, none;
    double s[SHARES];
    bool any = false;
    buf_str(b, ",\"agents\":[");
    for (size_t a = 0; a < r->nagents; a++) {
        if (!agent_figures(r, a, policy, price, &sum, &none)) continue;
        shares_of(s, &sum, &none, r->prices[price]);
        buf_fmt(b, "%s{\"agent\":", any ? "," : "");
        any = true;
        json_str(b, r->agents[a].at, r->agents[a].len);
        buf_str(b, ",\"counters\":");
        counters_json(b, &sum);
        shares_json(b, "percent", s);
        buf_str(b, "}");
    }
    buf_str(b, "]");
}

static void policy_json(struct buf *b, const struct results *r, size_t i, size_t k, bool agents) {
    const struct summary *s = &r->summaries[i * r->nprices + k];
    const struct policy *p = &r->policies[i];
    buf_fmt(b, "%s\n {\"policy\":", i ? "," : "");
    json_cstr(b, p->name);
    buf_str(b, ",\"source\":");
    json_cstr(b, p->family->source);
    buf_fmt(b, ",\"sessions\":%zu,\"grid\":%s,\"best\":%s,\"counters\":", s->sessions,
            p->grid ? "true" : "false", s->best ? "true" : "false");
    counters_json(b, &s->sum);
    shares_json(b, "percent", s->pooled);
    shares_json(b, "mean_of_agents", s->agents);
    shares_json(b, "median_session", s->median);
    shares_json(b, "worst_session", s->worst);
    shares_json(b, "low_95", s->low);
    shares_json(b, "high_95", s->high);
    buf_str(b, ",\"dearest_session\":");
    json_cstr(b, r->nrows ? r->rows[s->dearest].id : NULL);
    size_t match = match_of(r, i, k);
    buf_str(b, ",\"ours_at_its_evidence\":");
    json_cstr(b, match == NONE ? NULL : r->policies[match].name);
    if (agents) agents_json(b, r, i, k);
    buf_str(b, "}");
}

static void sessions_json(struct buf *b, const struct results *r, size_t k) {
    buf_str(b, ",\"sessions\":[");
    for (size_t t = 0; t < r->nrows; t++) {
        const struct trace_row *row = &r->rows[t];
        bool any = false;
        buf_fmt(b, "%s\n {\"id\":", t ? "," : "");
        json_cstr(b, row->id);
        buf_str(b, ",\"agent\":");
        json_cstr(b, row->agent);
        buf_fmt(b, ",\"messages\":%zu,\"policies\":{", row->messages);
        for (size_t i = 0; i < r->npolicies; i++) {
            if (!row->ran[i]) continue;
            buf_str(b, any ? ",\n  " : "\n  ");
            any = true;
            json_cstr(b, r->policies[i].name);
            buf_str(b, ":");
            counters_json(b, &row->figures[i * r->nprices + k]);
        }
        buf_str(b, "}}");
    }
    buf_str(b, "]");
}

static void billed_json(struct buf *b, const struct results *r) {
    struct usage u = {0};
    size_t n = 0;
    for (size_t i = 0; i < r->nrows; i++) {
        if (!r->rows[i].has_billed) continue;
        u.fresh += r->rows[i].billed.fresh;
        u.written += r->rows[i].billed.written;
        u.read += r->rows[i].billed.read;
        n++;
    }
    buf_fmt(b,
            ",\"billed\":{\"sessions\":%zu,\"read\":%" PRIu64 ",\"written\":%" PRIu64
            ",\"uncached\":%" PRIu64 "}",
            n, u.read, u.written, u.fresh);
    struct fit fit = fit_sum(r->rows, r->nrows);
    buf_fmt(b, ",\"calibration\":{\"sessions\":%zu,\"requests\":%zu,\"factor\":", fit.sessions,
            fit.requests);
    if (fit_factor(&fit) > 0)
        buf_fmt(b, "%.3f}", fit_factor(&fit));
    else
        buf_str(b, "null}");
}

void report_json(struct buf *b, const struct results *r, enum detail detail) {
    buf_fmt(b,
            "{\"schema\":1,\"sessions\":%zu,\"too_short\":%" PRIu64 ",\"not_understood\":%" PRIu64
            ",\"tokens\":",
            r->nrows, r->too_short, r->bad);
    json_cstr(b, r->tokens);
    buf_str(b, ",\"prices_as_of\":");
    json_cstr(b, paucis_prices_as_of());
    billed_json(b, r);
    buf_str(b, ",\"prices\":[");
    for (size_t k = 0; k < r->nprices; k++) {
        buf_fmt(b, "%s\n{\"price\":", k ? "," : "");
        json_cstr(b, r->prices[k]->name);
        buf_str(b, ",\"policies\":[");
        for (size_t i = 0; i < r->npolicies; i++) policy_json(b, r, i, k, detail != DETAIL_PAGE);
        buf_str(b, "]");
        if (detail == DETAIL_SESSIONS) sessions_json(b, r, k);
        buf_str(b, "}");
    }
    buf_str(b, "]}\n");
}
