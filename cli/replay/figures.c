/* Figures of all sessions: sums, what they say in per cent of `none`, and how far that can be
 * trusted. Costs fall on a few long sessions, so beside the pooled figures there are the mean over
 * agents, the median and the worst session, and an interval from resampling the sessions
 * (bootstrap, fixed seed, the same resamples for every policy). */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

void figures_add(struct figures *sum, const struct figures *f) {
    uint64_t peak = sum->peak > f->peak ? sum->peak : f->peak;
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)f;
    for (size_t i = 0; i < sizeof *f / sizeof *to; i++) to[i] += from[i];
    sum->peak = peak;
}

const char *const share_names[SHARES] = {[S_TOKENS] = "tokens",
                                         [S_COST] = "cost",
                                         [S_FULL] = "full",
                                         [S_BILL] = "bill",
                                         [S_COST_REREAD] = "cost_reread",
                                         [S_FULL_REREAD] = "full_reread",
                                         [S_HITS] = "hits",
                                         [S_ITEMS] = "items",
                                         [S_CODE] = "code",
                                         [S_LINES] = "lines",
                                         [S_SPANS] = "spans",
                                         [S_FRESH] = "fresh",
                                         [S_EDITS] = "edits"};

static double percent(uint64_t a, uint64_t b) { return b > 0 ? 100 * (double)a / (double)b : 100; }

void shares_of(double *out, const struct figures *f, const struct figures *none,
               const paucis_price *p) {
    uint64_t reread = f->reread * p->write;
    out[S_TOKENS] = percent(f->tokens, none->tokens);
    out[S_COST] = percent(f->plain, none->plain);
    out[S_FULL] = percent(f->full, none->full);
    out[S_BILL] = percent(f->row, none->row);
    out[S_COST_REREAD] = percent(f->plain + reread, none->plain);
    out[S_FULL_REREAD] = percent(f->full + reread, none->full);
    out[S_HITS] = percent(f->cached, f->tokens);
    out[S_ITEMS] = percent(f->kept, f->needed);
    out[S_CODE] = percent(f->ckept, f->cneeded);
    out[S_LINES] = percent(f->xkept, f->cneeded);
    out[S_SPANS] = percent(f->skept, f->sneeded);
    out[S_FRESH] = percent(f->nkept, f->nneeded);
    out[S_EDITS] = percent(f->edits_kept, f->edits);
}

/* ---- agents ---------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct str *)a)->at, ((const struct str *)b)->at);
}

static size_t agent_of(const struct results *r, const char *name) {
    struct str key = str_of(name);
    const struct str *at = bsearch(&key, r->agents, r->nagents, sizeof *r->agents, by_name);
    return at ? (size_t)(at - r->agents) : 0;
}

static void find_agents(struct results *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->nrows; i++)
        *PUSH(r->agents, r->nagents, r->agents_cap) = str_of(r->rows[i].agent);
    if (r->nagents) qsort(r->agents, r->nagents, sizeof *r->agents, by_name);
    for (size_t i = 0; i < r->nagents; i++)
        if (i == 0 || !str_eq(r->agents[i], r->agents[n - 1])) r->agents[n++] = r->agents[i];
    r->nagents = n;
    for (size_t i = 0; i < r->nrows; i++) r->rows[i].agent_number = agent_of(r, r->rows[i].agent);
}

static const struct figures *cell(const struct results *r, size_t row, size_t policy,
                                  size_t price) {
    return &r->rows[row].figures[policy * r->nprices + price];
}

bool agent_figures(const struct results *r, size_t agent, size_t policy, size_t price,
                   struct figures *sum, struct figures *none) {
    bool any = false;
    *sum = *none = (struct figures){0};
    for (size_t i = 0; i < r->nrows; i++) {
        if (r->rows[i].agent_number != agent || !r->rows[i].ran[policy]) continue;
        figures_add(sum, cell(r, i, policy, price));
        figures_add(none, cell(r, i, 0, price));
        any = true;
    }
    return any;
}

static void mean_of_agents(const struct results *r, size_t policy, size_t price, double *out) {
    struct figures sum, none;
    double s[SHARES];
    size_t n = 0;
    for (int k = 0; k < SHARES; k++) out[k] = 0;
    for (size_t a = 0; a < r->nagents; a++) {
        if (!agent_figures(r, a, policy, price, &sum, &none)) continue;
        shares_of(s, &sum, &none, r->prices[price]);
        for (int k = 0; k < SHARES; k++) out[k] += s[k];
        n++;
    }
    for (int k = 0; k < SHARES; k++) out[k] = n ? out[k] / (double)n : 100;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v, size_t n) {
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void by_session(const struct results *r, size_t policy, size_t price, struct summary *s) {
    double *v = heap_get(SHARES * r->nrows * sizeof *v), one[SHARES];
    size_t n = 0;
    for (size_t i = 0; i < r->nrows; i++) {
        if (!r->rows[i].ran[policy]) continue;
        shares_of(one, cell(r, i, policy, price), cell(r, i, 0, price), r->prices[price]);
        for (int k = 0; k < SHARES; k++) {
            bool worse = k < S_HITS ? one[k] > s->worst[k] : one[k] < s->worst[k];
            if (n == 0 || worse) s->worst[k] = one[k];
            if (k == S_FULL && (n == 0 || worse)) s->dearest = i;
            v[(size_t)k * r->nrows + n] = one[k];
        }
        n++;
    }
    for (int k = 0; n && k < SHARES; k++) s->median[k] = median(v + (size_t)k * r->nrows, n);
    s->sessions = n;
    free(v);
}

/* ---- resampling ------------------------------------------------------------------------------ */

enum { RESAMPLES = 1000, RESAMPLES_LEAST = 100, RESAMPLE_WORK = 2000000 };

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void resample(const struct results *r, size_t policy, size_t price, struct summary *s) {
    size_t times = RESAMPLE_WORK / (r->nrows + 1);
    times = times > RESAMPLES ? RESAMPLES : times < RESAMPLES_LEAST ? RESAMPLES_LEAST : times;
    double *v = heap_get(SHARES * times * sizeof *v), one[SHARES];
    uint64_t random = 1;
    for (size_t i = 0; i < times; i++) {
        struct figures sum = {0}, none = {0};
        for (size_t k = 0; k < r->nrows; k++) {
            size_t row = next_random(&random) % r->nrows;
            if (!r->rows[row].ran[policy]) continue;
            figures_add(&sum, cell(r, row, policy, price));
            figures_add(&none, cell(r, row, 0, price));
        }
        shares_of(one, &sum, &none, r->prices[price]);
        for (int k = 0; k < SHARES; k++) v[(size_t)k * times + i] = one[k];
    }
    for (int k = 0; k < SHARES; k++) {
        double *list = v + (size_t)k * times;
        qsort(list, times, sizeof *list, by_value);
        s->low[k] = list[times / 40];
        s->high[k] = list[times - 1 - times / 40];
    }
    free(v);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void summarise(const struct results *r, size_t policy, size_t price, struct summary *s) {
    for (size_t i = 0; i < r->nrows; i++) {
        if (!r->rows[i].ran[policy]) continue;
        figures_add(&s->sum, cell(r, i, policy, price));
        figures_add(&s->none, cell(r, i, 0, price));
    }
    shares_of(s->pooled, &s->sum, &s->none, r->prices[price]);
    if (!r->nrows) return;
    mean_of_agents(r, policy, price, s->agents);
    by_session(r, policy, price, s);
    resample(r, policy, price, s);
}

static bool keeps_enough(const struct summary *s) {
    return s->pooled[S_LINES] >= 80 && s->pooled[S_SPANS] >= 80 && s->pooled[S_FRESH] >= 99.5;
}

/* The best of a family: cheapest of those that keep enough, else cheapest. */
static void find_best(struct results *r, size_t price) {
    for (size_t f = 0; families[f]; f++) {
        struct summary *best = NULL;
        size_t members = 0;
        for (size_t i = 0; i < r->npolicies; i++) {
            struct summary *s = &r->summaries[i * r->nprices + price];
            if (r->policies[i].family != families[f]) continue;
            members++;
            bool more = best && keeps_enough(s) > keeps_enough(best);
            bool same = best && keeps_enough(s) == keeps_enough(best);
            if (!best || more || (same && s->pooled[S_FULL] < best->pooled[S_FULL])) best = s;
        }
        if (members > 1) best->best = true;
    }
}

void results_sum(struct results *r) {
    find_agents(r);
    r->summaries = heap_get(r->npolicies * r->nprices * sizeof *r->summaries);
    for (size_t price = 0; price < r->nprices; price++) {
        for (size_t i = 0; i < r->npolicies; i++)
            summarise(r, i, price, &r->summaries[i * r->nprices + price]);
        find_best(r, price);
    }
}

size_t match_of(const struct results *r, size_t policy, size_t price) {
    static const enum share asked[] = {S_LINES, S_SPANS, S_FRESH};
    const double *peer = r->summaries[policy * r->nprices + price].pooled;
    size_t best = NONE;
    double best_full = 0;
    bool best_fits = false;
    for (size_t i = 0; i < r->npolicies; i++) {
        const double *s = r->summaries[i * r->nprices + price].pooled;
        bool keeps = strcmp(r->policies[i].family->name, "stable") == 0;
        for (size_t k = 0; k < sizeof asked / sizeof *asked; k++)
            keeps = keeps && s[asked[k]] >= peer[asked[k]];
        bool fits = s[S_COST] <= peer[S_COST];
        bool better = fits != best_fits ? fits : s[S_FULL] < best_full;
        if (!keeps || (best != NONE && !better)) continue;
        best = i;
        best_full = s[S_FULL];
        best_fits = fits;
    }
    return best;
}

void row_free(struct trace_row *row) {
    free(row->id);
    free(row->agent);
    free(row->figures);
    free(row->ran);
}

void results_free(struct results *r) {
    for (size_t i = 0; i < r->nrows; i++) row_free(&r->rows[i]);
    free(r->rows);
    free((void *)r->prices);
    for (size_t i = 0; i < r->nown_prices; i++) {
        free((void *)(uintptr_t)r->own_prices[i]->name);
        free(r->own_prices[i]);
    }
    free(r->own_prices);
    free(r->agents);
    free(r->summaries);
    free(r->shown.course);
    free(r->shown.ran);
    free(r->shown.id);
    policies_free(r->policies, r->npolicies);
}
