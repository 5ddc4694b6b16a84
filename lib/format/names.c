/* See names.h. Open addressing, at most half full. */
#include "format/names.h"

#include "core/hash.h"

bool paucis__names_init(struct names *t, struct view *v, size_t n) {
    size_t size = 4;
    while (size < n * 2) size *= 2;
    t->at = paucis__arena_alloc(v->arena, size * sizeof *t->at);
    t->mask = size - 1;
    if (t->at)
        memset(t->at, 0, size * sizeof *t->at);
    else
        v->failed = true;
    return t->at != NULL;
}

struct name *paucis__names_find(const struct names *t, struct view *v, size_t node) {
    struct span s = paucis__view_string(v, node);
    if (!s.at) {
        v->failed = true;
        return NULL;
    }
    size_t i = (size_t)hash_bytes(s, v->seed) & t->mask;
    while (t->at[i].node && !paucis__view_same_string(v, t->at[i].node, node))
        i = (i + 1) & t->mask;
    return &t->at[i];
}
