/* What a token of our count is in tokens that were billed. A log leaves out the system prompt and
 * the tools, which stand in front of every request of a session, so the billed input of its
 * requests is compared with what was counted by how both grow: the slope of a line through them,
 * with an offset of each session's own. */
#include "replay/replay.h"

enum { ENOUGH = 20 }; /* requests */

struct fit fit_trace(const struct trace *t) {
    struct fit f = {0};
    double x = 0, y = 0, n = 0;
    for (size_t i = 0; t->input && i < t->nturns; i++) {
        if (!t->input[i]) continue;
        x += (double)t->before[t->turns[i]];
        y += (double)t->input[i];
        n++;
    }
    for (size_t i = 0; n > 1 && i < t->nturns; i++) {
        if (!t->input[i]) continue;
        double dx = (double)t->before[t->turns[i]] - x / n;
        f.xy += dx * ((double)t->input[i] - y / n);
        f.xx += dx * dx;
        f.requests++;
    }
    f.sessions = f.requests > 0;
    return f;
}

struct fit fit_sum(const struct trace_row *rows, size_t n) {
    struct fit f = {0};
    for (size_t i = 0; i < n; i++) {
        f.xy += rows[i].fit.xy;
        f.xx += rows[i].fit.xx;
        f.requests += rows[i].fit.requests;
        f.sessions += rows[i].fit.sessions;
    }
    return f;
}

double fit_factor(const struct fit *f) {
    return f->requests >= ENOUGH && f->xx > 0 && f->xy > 0 ? f->xy / f->xx : 0;
}
