/* See pairs.h. */
#include "format/pairs.h"

bool paucis__pairs_init(struct pairs *p, struct view *v) {
    size_t n = v->parts.count;
    p->newest = paucis__arena_alloc(v->arena, n * sizeof *p->newest);
    p->marks = paucis__arena_alloc(v->arena, n);
    if (!p->newest || !p->marks) {
        v->failed = true;
        return false;
    }
    memset(p->newest, 0xff, n * sizeof *p->newest); /* NO_INDEX */
    memset(p->marks, 0, n);
    return true;
}

size_t paucis__pairs_call(struct pairs *p, const struct view *v, size_t call) {
    uint32_t same = view_part(v, call)->same;
    if (same == NO_INDEX) return NO_INDEX;
    size_t earlier = p->newest[same];
    p->newest[same] = (uint32_t)call;
    return earlier;
}

size_t paucis__pairs_answered(const struct pairs *p, const struct view *v, size_t result) {
    uint32_t same = view_part(v, result)->same;
    return same == NO_INDEX ? NO_INDEX : p->newest[same];
}
