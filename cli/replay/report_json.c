/* The report for programs. */
#include <inttypes.h>

#include "replay/replay.h"

#define COUNTER(name) \
    { #name, offsetof(struct figures, name) }
static const struct {
    const char *name;
    size_t at;
} counters[] = {COUNTER(turns),     COUNTER(tokens),  COUNTER(cached), COUNTER(peak),
                COUNTER(cuts),      COUNTER(fixed),   COUNTER(plain),  COUNTER(full),
                COUNTER(row),       COUNTER(reread),  COUNTER(needed), COUNTER(kept),
                COUNTER(cneeded),   COUNTER(ckept),   COUNTER(xkept),  COUNTER(sneeded),
                COUNTER(skept),     COUNTER(nneeded), COUNTER(nkept),  COUNTER(edits),
                COUNTER(edits_kept)};

static void figures_json(struct buf *b, const struct figures *f, const struct figures *none,
                         const paucis_price *p) {
    double s[SHARES];
    shares_of(s, f, none, p);
    buf_str(b, "{\"counters\":{");
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        buf_fmt(b, "%s\"%s\":%" PRIu64, i ? "," : "", counters[i].name,
                *(const uint64_t *)((const char *)f + counters[i].at));
    buf_str(b, "},\"percent\":{");
    for (size_t i = 0; i < SHARES; i++)
        buf_fmt(b, "%s\"%s\":%.4f", i ? "," : "", share_names[i], s[i]);
    buf_str(b, "}}");
}

void report_json(struct buf *b, const struct results *r) {
    buf_fmt(b, "{\"schema\":1,\"sessions\":%zu,\"prices\":[", r->nrows);
    for (size_t k = 0; k < r->nprices; k++) {
        buf_fmt(b, "%s\n{\"price\":", k ? "," : "");
        json_cstr(b, r->prices[k]->name);
        buf_str(b, ",\"policies\":[");
        for (size_t i = 0; i < r->npolicies; i++) {
            struct figures sum = {0}, none = {0};
            for (size_t t = 0; t < r->nrows; t++) {
                if (!r->rows[t].ran[i]) continue;
                figures_add(&sum, &r->rows[t].figures[i * r->nprices + k]);
                figures_add(&none, &r->rows[t].figures[k]);
            }
            buf_fmt(b, "%s\n {\"policy\":", i ? "," : "");
            json_cstr(b, r->policies[i].name);
            buf_str(b, ",\"pooled\":");
            figures_json(b, &sum, &none, r->prices[k]);
            buf_str(b, "}");
        }
        buf_str(b, "]}");
    }
    buf_str(b, "]}\n");
}
