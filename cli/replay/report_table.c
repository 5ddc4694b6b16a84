/* The report for a terminal. */
#include <inttypes.h>
#include <stdio.h>

#include "replay/replay.h"

static void pooled(const struct results *r, size_t policy, size_t price, struct figures *sum,
                   struct figures *none) {
    *sum = *none = (struct figures){0};
    for (size_t i = 0; i < r->nrows; i++) {
        const struct trace_row *t = &r->rows[i];
        if (!t->ran[policy]) continue;
        figures_add(sum, &t->figures[policy * r->nprices + price]);
        figures_add(none, &t->figures[price]);
    }
}

void report_table(struct buf *b, const struct results *r, bool more) {
    (void)more;
    for (size_t k = 0; k < r->nprices; k++) {
        struct figures sum, none;
        double s[SHARES];
        pooled(r, 0, k, &sum, &none);
        buf_fmt(b,
                "%zu sessions, %" PRIu64 " requests, price %s; needed: items %" PRIu64
                " code %" PRIu64 " spans %" PRIu64 " fresh %" PRIu64 "\n",
                r->nrows, none.turns, r->prices[k]->name, none.needed, none.cneeded, none.sneeded,
                none.nneeded);
        buf_fmt(b, "%-24s %6s %6s %6s %6s %6s %6s %6s |%6s %6s %6s %6s %6s %6s | %7s %6s\n",
                "policy", "tokens", "cost", "full", "bill", "cost+r", "full+r", "hits", "items",
                "code", "lines", "spans", "fresh", "edits", "peak", "cuts");
        for (size_t i = 0; i < r->npolicies; i++) {
            pooled(r, i, k, &sum, &none);
            shares_of(s, &sum, &none, r->prices[k]);
            buf_fmt(b, "%-24s", r->policies[i].name);
            for (int c = 0; c < SHARES; c++) buf_fmt(b, "%s%6.1f", c == S_ITEMS ? " |" : " ", s[c]);
            buf_fmt(b, " | %7" PRIu64 " %6" PRIu64 "\n", sum.peak, sum.cuts);
        }
        buf_str(b, "\n");
    }
}
