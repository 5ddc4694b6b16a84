/* The report for a terminal: for each price the pooled figures, then how they spread over sessions
 * and agents, then where ours stands beside each of the others at the others' own evidence. */
#include "replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct summary *summary(const struct results *r, size_t policy, size_t price) {
    return &r->summaries[policy * r->nprices + price];
}

bool is_shown(const struct results *r, size_t i, size_t price, bool more) {
    return more || !r->policies[i].grid || summary(r, i, price)->best;
}

/* As wide as the longest name that is shown, with a mark behind it. */
static int name_width(const struct results *r, size_t price, bool more) {
    size_t width = 24;
    for (size_t i = 0; i < r->npolicies; i++) {
        size_t n = strlen(r->policies[i].name) + 3;
        if (is_shown(r, i, price, more) && n > width) width = n;
    }
    return (int)width;
}

static void name_column(struct buf *b, const struct results *r, size_t i, size_t price, int width) {
    char name[128];
    bool best = summary(r, i, price)->best;
    snprintf(name, sizeof name, "%s%s", r->policies[i].name, best ? " *" : "");
    buf_fmt(b, "%-*s", width, name);
}

/* ---- pooled ---------------------------------------------------------------------------------- */

static void pooled_table(struct buf *b, const struct results *r, size_t k, bool more) {
    int width = name_width(r, k, more);
    buf_fmt(b, "%-*s%7s%7s%7s%7s%7s%7s%6s |%6s%6s%6s%6s%6s%6s |%8s%6s\n", width, "policy", "tokens",
            "cost", "full", "bill", "cost+r", "full+r", "hits", "items", "code", "lines", "spans",
            "fresh", "edits", "peak", "cuts");
    for (size_t i = 0; i < r->npolicies; i++) {
        const struct summary *s = summary(r, i, k);
        if (!is_shown(r, i, k, more)) continue;
        name_column(b, r, i, k, width);
        for (int c = 0; c < S_HITS; c++) buf_fmt(b, "%7.1f", s->pooled[c]);
        buf_fmt(b, "%6.1f |", s->pooled[S_HITS]);
        for (int c = S_ITEMS; c < SHARES; c++) buf_fmt(b, "%6.1f", s->pooled[c]);
        buf_fmt(b, " |%8" PRIu64 "%6" PRIu64 "\n", s->sum.peak, s->sum.cuts);
    }
}

/* ---- spread ---------------------------------------------------------------------------------- */

static void spread_cell(struct buf *b, const struct summary *s, enum share c) {
    buf_fmt(b, " |%6.1f %5.1f..%-5.1f%7.1f%7.1f%7.1f", s->pooled[c], s->low[c], s->high[c],
            s->agents[c], s->median[c], s->worst[c]);
}

static void spread_table(struct buf *b, const struct results *r, size_t k, bool more) {
    static const enum share columns[] = {S_COST, S_FULL, S_LINES, S_SPANS, S_FRESH};
    size_t n = more ? sizeof columns / sizeof *columns : 2;
    int width = name_width(r, k, more);
    buf_fmt(b, "\n%-*s", width, "spread");
    for (size_t c = 0; c < n; c++)
        buf_fmt(b, " |%6s %-12s%7s%7s%7s", share_names[columns[c]], " 95 %", "agents", "median",
                "worst");
    buf_str(b, "\n");
    for (size_t i = 1; i < r->npolicies; i++) {
        if (!is_shown(r, i, k, more)) continue;
        name_column(b, r, i, k, width);
        for (size_t c = 0; c < n; c++) spread_cell(b, summary(r, i, k), columns[c]);
        buf_str(b, "\n");
    }
}

/* ---- agents ---------------------------------------------------------------------------------- */

static void agent_table(struct buf *b, const struct results *r, size_t k, bool more) {
    static const enum share columns[] = {S_COST, S_FULL, S_LINES, S_SPANS, S_FRESH};
    enum { N = sizeof columns / sizeof *columns };
    if (r->nagents < 2) return;
    int width = name_width(r, k, more);
    buf_fmt(b, "\n%-*s%-36s%9s", width, "by agent", "", "sessions");
    for (size_t c = 0; c < N; c++) buf_fmt(b, "%7s", share_names[columns[c]]);
    buf_str(b, "\n");
    for (size_t i = 1; i < r->npolicies; i++) {
        bool ours = strcmp(r->policies[i].family->name, "stable") == 0;
        if (!is_shown(r, i, k, more) || (!more && !ours)) continue;
        for (size_t a = 0; a < r->nagents; a++) {
            struct figures sum, none;
            double s[SHARES];
            size_t n = 0;
            if (!agent_figures(r, a, i, k, &sum, &none)) continue;
            shares_of(s, &sum, &none, r->prices[k]);
            for (size_t t = 0; t < r->nrows; t++) n += r->rows[t].agent_number == a;
            buf_fmt(b, "%-*s%-36.35s%9zu", width, r->policies[i].name,
                    r->agents[a].len ? r->agents[a].at : "-", n);
            for (size_t c = 0; c < N; c++) buf_fmt(b, "%7.1f", s[columns[c]]);
            buf_str(b, "\n");
        }
    }
}

/* ---- side by side ---------------------------------------------------------------------------- */

static void match_table(struct buf *b, const struct results *r, size_t k, bool more) {
    bool any = false;
    int width = name_width(r, k, more);
    for (size_t i = 1; i < r->npolicies; i++) {
        size_t m = match_of(r, i, k);
        bool ours = strcmp(r->policies[i].family->name, "stable") == 0;
        if (ours || !is_shown(r, i, k, more)) continue;
        if (!any)
            buf_fmt(b, "\n%-*s%7s%7s%7s%7s   %s\n", width, "at the same evidence", "cost", "ours",
                    "full", "ours",
                    "(cheapest setting that keeps as many lines, spans and fresh items)");
        any = true;
        const double *peer = summary(r, i, k)->pooled;
        name_column(b, r, i, k, width);
        if (m == NONE) {
            buf_fmt(b, "%7.1f%7s%7.1f%7s   no setting keeps as much\n", peer[S_COST], "-",
                    peer[S_FULL], "-");
            continue;
        }
        const double *best = summary(r, m, k)->pooled;
        bool dearer = best[S_COST] > peer[S_COST] || best[S_FULL] > peer[S_FULL];
        buf_fmt(b, "%7.1f%7.1f%7.1f%7.1f   %s%s\n", peer[S_COST], best[S_COST], peer[S_FULL],
                best[S_FULL], r->policies[m].name, dearer ? "  (dearer)" : "");
    }
}

/* ---- what was billed ------------------------------------------------------------------------- */

static void billed_line(struct buf *b, const struct results *r, size_t k) {
    struct usage log = {0};
    struct figures f = {0};
    size_t n = 0;
    for (size_t i = 0; i < r->nrows; i++) {
        const struct trace_row *t = &r->rows[i];
        if (!t->has_billed) continue;
        figures_add(&f, &t->figures[k]);
        log.fresh += t->billed.fresh;
        log.written += t->billed.written;
        log.read += t->billed.read;
        n++;
    }
    if (!n) {
        buf_str(b, "The files hold no billed usage to compare with.\n");
        return;
    }
    const paucis_price *p = r->prices[k];
    double predicted = (double)f.row / 1000;
    double billed =
        (double)(log.read * p->read + log.written * p->write + log.fresh * p->base) / 1000;
    buf_fmt(b,
            "Input of %zu sessions with a billed usage: predicted %.0f (read %" PRIu64
            ", written %" PRIu64 ", uncached %" PRIu64 "), billed %.0f (read %" PRIu64
            ", written %" PRIu64 ", uncached %" PRIu64 "): %+.1f %%\n",
            n, predicted, f.row_read, f.row_written, f.row_fresh, billed, log.read, log.written,
            log.fresh, billed > 0 ? 100 * (predicted / billed - 1) : 0);
}

/* Tokens by another count than the provider's can be set right by a factor, in reports. */
static void calibration_line(struct buf *b, const struct results *r) {
    struct fit fit = fit_sum(r->rows, r->nrows);
    double factor = fit_factor(&fit);
    if (factor <= 0) return;
    buf_fmt(b,
            "Calibration: for each token by %s, %.3f were billed, by %zu requests of %zu sessions",
            r->tokens, factor, fit.requests, fit.sessions);
    if (strcmp(r->tokens, "estimate") == 0) buf_fmt(b, "; -t estimate:%.3f counts so", factor);
    buf_str(b, "\n");
}

void report_table(struct buf *b, const struct results *r, bool more) {
    if (!r->nrows) {
        buf_fmt(b, "No session to replay: %" PRIu64 " left out as too short (--min-messages).\n",
                r->too_short);
        return;
    }
    for (size_t k = 0; k < r->nprices; k++) {
        const struct figures *none = &summary(r, 0, k)->sum;
        buf_fmt(b,
                "%sPrice %s: %zu sessions, %" PRIu64 " requests; needed: %" PRIu64
                " items, %" PRIu64 " of them code, %" PRIu64 " spans, %" PRIu64 " fresh\n",
                k ? "\n" : "", r->prices[k]->name, r->nrows, none->turns, none->needed,
                none->cneeded, none->sneeded, none->nneeded);
        billed_line(b, r, k);
        if (!k) calibration_line(b, r);
        buf_str(b, "\n");
        pooled_table(b, r, k, more);
        if (r->npolicies > 1) {
            spread_table(b, r, k, more);
            agent_table(b, r, k, more);
            match_table(b, r, k, more);
        }
    }
    buf_fmt(b,
            "\nIn per cent of none, tokens by %s; +r: a re-read is charged where a needed span was "
            "lost. * best of its settings.\n",
            r->tokens);
}
