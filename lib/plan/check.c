/* Runs a format's rules and keeps what they report. */
#include "plan/check.h"

#include <stdlib.h>

#include "format/format.h"
#include "limits.h"

void paucis__check_break(struct check *c, const char *rule, size_t message, size_t node,
                         const char *text) {
    c->total++;
    if (c->breaks.count >= PAUCIS_MAX_BREAKS) return;
    if (!VEC_ROOM(c->v->mem, c->breaks, 1)) {
        c->failed = true;
        return;
    }
    c->breaks.at[c->breaks.count++] =
        (struct break_){rule, text, (uint32_t)message, (uint32_t)node};
}

paucis_err paucis__check_run(struct check *c, struct view *v, enum check_depth depth) {
    c->v = v;
    c->depth = depth;
    c->total = c->breaks.count = 0;
    c->failed = false;
    if (v->format->check) v->format->check(c);
    return c->failed || v->failed ? PAUCIS_E_NOMEM : PAUCIS_OK;
}

static int break_compare(const void *a, const void *b) {
    const struct break_ *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return strcmp(x->rule, y->rule);
}

void paucis__check_sort(struct check *c) {
    if (c->breaks.count > 1)
        qsort(c->breaks.at, c->breaks.count, sizeof *c->breaks.at, break_compare);
}

static int break_compare_message(const void *a, const void *b) {
    const struct break_ *x = a, *y = b;
    if (x->message != y->message) return x->message < y->message ? -1 : 1;
    return strcmp(x->rule, y->rule);
}

void paucis__check_sort_by_message(struct check *c) {
    if (c->breaks.count > 1)
        qsort(c->breaks.at, c->breaks.count, sizeof *c->breaks.at, break_compare_message);
}
