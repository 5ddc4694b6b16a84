/* See pairs.h. */
#include "format/pairs.h"

bool paucis__pairs_init(struct pairs *p, struct view *v) {
    size_t calls = 0;
    for (size_t i = 0; i < v->parts.count; i++) calls += view_part(v, i)->kind == PART_CALL;
    p->marks = paucis__arena_alloc(v->arena, v->parts.count);
    if (!p->marks)
        v->failed = true;
    else
        memset(p->marks, 0, v->parts.count);
    return p->marks && paucis__names_init(&p->ids, v, calls);
}

size_t paucis__pairs_call(struct pairs *p, struct view *v, size_t call) {
    uint32_t id = view_part(v, call)->id;
    struct name *n = id ? paucis__names_find(&p->ids, v, id) : NULL;
    if (!n) return NO_INDEX;
    size_t earlier = n->node ? n->tag : NO_INDEX;
    *n = (struct name){id, (uint32_t)call};
    return earlier;
}

size_t paucis__pairs_answered(const struct pairs *p, struct view *v, size_t result) {
    uint32_t id = view_part(v, result)->id;
    const struct name *n = id ? paucis__names_find(&p->ids, v, id) : NULL;
    return n && n->node ? n->tag : NO_INDEX;
}
