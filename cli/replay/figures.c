/* Sums of figures, and what they say in per cent. */
#include "replay/replay.h"

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

static double percent(double a, double b) { return b > 0 ? 100 * a / b : 100; }

void shares_of(double *out, const struct figures *f, const struct figures *none,
               const paucis_price *p) {
    double reread = (double)f->reread * p->write;
    out[S_TOKENS] = percent((double)f->tokens, (double)none->tokens);
    out[S_COST] = percent((double)f->plain, (double)none->plain);
    out[S_FULL] = percent((double)f->full, (double)none->full);
    out[S_BILL] = percent((double)f->row, (double)none->row);
    out[S_COST_REREAD] = percent((double)f->plain + reread, (double)none->plain);
    out[S_FULL_REREAD] = percent((double)f->full + reread, (double)none->full);
    out[S_HITS] = percent((double)f->cached, (double)f->tokens);
    out[S_ITEMS] = percent((double)f->kept, (double)f->needed);
    out[S_CODE] = percent((double)f->ckept, (double)f->cneeded);
    out[S_LINES] = percent((double)f->xkept, (double)f->cneeded);
    out[S_SPANS] = percent((double)f->skept, (double)f->sneeded);
    out[S_FRESH] = percent((double)f->nkept, (double)f->nneeded);
    out[S_EDITS] = percent((double)f->edits_kept, (double)f->edits);
}
