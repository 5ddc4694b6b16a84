/* See align.h. First what can be told by itself, in the order of how much it can be trusted: a part
 * whose id, whole value or text occurs once on each side is the same part wherever it stands. These
 * are the fixed points, and messages that share one are the same message. What occurs several times
 * is then matched in order between them, and what is left is matched by its place, first inside a
 * message, then in the gaps: one by one if both sides have equally many there, else kind by kind.
 * Every round is one pass with a hash table. */
#include "plan/align.h"

enum key { BY_NAME, BY_NAME_AND_VALUE, BY_MESSAGE, BY_VALUE, BY_TEXT };

struct entry {
    uint64_t key; /* 0: free */
    uint32_t old; /* first part of `old` that has it and is not used up */
    uint32_t olds, nows;
};

struct work {
    struct alignment *x;
    size_t nold, nnow;
    struct entry *table;
    size_t mask;
    uint64_t *old_key, *now_key;
    uint32_t *next;        /* of the same key, in `old` */
    uint32_t *limit;       /* for each part of `now`: where in `old` the next fixed point is */
    uint8_t *old_id_stays; /* the id occurs on the other side too */
    uint8_t *now_id_stays;
};

static struct entry *find(const struct work *w, uint64_t key) {
    size_t i = (size_t)key & w->mask;
    while (w->table[i].key && w->table[i].key != key) i = (i + 1) & w->mask;
    return &w->table[i];
}

static uint64_t part_key(const struct canon *c, size_t part, enum key by) {
    const struct part *p = view_part(c->v, part);
    uint64_t h = p->kind + 1u;
    if (by == BY_NAME) {
        if (p->kind == PART_THINKING) return canon_mix(h, c->at[p->node]);
        return p->id ? canon_mix(h, c->at[p->id]) : 0;
    }
    if (by == BY_MESSAGE) { /* alike in messages that are alike in everything */
        const struct message *m = view_message(c->v, p->message);
        return c->at[m->node] == CANON_NOTHING
                   ? 0
                   : canon_mix(canon_mix(h, c->at[p->node]), c->at[m->node]);
    }
    if (by != BY_TEXT) {
        if (c->at[p->node] == CANON_NOTHING) return 0; /* a bare cache mark is like any other */
        h = canon_mix(h, c->at[p->node]);
        return p->id ? canon_mix(h, c->at[p->id]) : by == BY_VALUE ? h : 0;
    }
    if (!p->nslots || p->kind == PART_CALL || p->kind == PART_THINKING) return 0;
    for (size_t i = p->slot; i < p->slot + p->nslots; i++)
        h = canon_mix(h, c->at[c->v->slots.at[i].node]);
    return h;
}

/* ---- by key -------------------------------------------------------------------------------- */

static void fill_table(struct work *w) {
    memset(w->table, 0, (w->mask + 1) * sizeof *w->table);
    for (size_t i = w->nold; i-- > 0;) { /* backwards: each list ends up in order */
        if (!w->old_key[i]) continue;
        struct entry *e = find(w, w->old_key[i]);
        w->next[i] = e->key ? e->old : NO_INDEX;
        e->key = w->old_key[i];
        e->old = (uint32_t)i;
        e->olds++;
    }
    for (size_t i = 0; i < w->nnow; i++) {
        if (!w->now_key[i]) continue;
        struct entry *e = find(w, w->now_key[i]);
        if (!e->key) e->old = NO_INDEX;
        e->key = w->now_key[i];
        e->nows++;
    }
}

static void pair(struct work *w, size_t old, size_t now, enum found found) {
    w->x->old.mate[old] = (uint32_t)now;
    w->x->now.mate[now] = (uint32_t)old;
    w->x->found[now] = (uint8_t)found;
}

/* Messages are the same if parts of theirs are. */
static void find_twins(struct work *w) {
    struct side *old = &w->x->old, *now = &w->x->now;
    for (size_t i = 0; i < w->nnow; i++) {
        const struct part *p = view_part(now->canon.v, i);
        if (now->mate[i] == NO_INDEX || w->x->found[i] == FOUND_MOVED) continue;
        if (w->x->thinking_apart && p->kind == PART_THINKING) continue;
        uint32_t message = view_part(old->canon.v, now->mate[i])->message;
        if (now->twin[p->message] != NO_INDEX || old->twin[message] != NO_INDEX) continue;
        now->twin[p->message] = message;
        old->twin[message] = p->message;
    }
}

/* Not in messages of which each is known to be another's twin? */
static bool are_close(const struct work *w, size_t old, size_t now) {
    uint32_t a = view_part(w->x->old.canon.v, old)->message;
    uint32_t b = view_part(w->x->now.canon.v, now)->message;
    return w->x->now.twin[b] == NO_INDEX ? w->x->old.twin[a] == NO_INDEX : w->x->now.twin[b] == a;
}

static void find_limits(struct work *w) {
    uint32_t limit = (uint32_t)w->nold;
    for (size_t i = w->nnow; i-- > 0;) {
        w->limit[i] = limit;
        if (w->x->found[i] == FOUND_FIRM) limit = w->x->now.mate[i];
    }
}

static bool is_free(const struct work *w, size_t old, size_t now) {
    return w->x->old.mate[old] == NO_INDEX && are_close(w, old, now);
}

/* With `once`, only what occurs once on each side, but wherever it stands. */
static void pair_by_key(struct work *w, enum key by, bool once) {
    for (size_t i = 0; i < w->nold; i++) w->old_key[i] = part_key(&w->x->old.canon, i, by);
    for (size_t i = 0; i < w->nnow; i++) w->now_key[i] = part_key(&w->x->now.canon, i, by);
    fill_table(w);
    find_limits(w);
    size_t from = 0; /* `old` before this is behind us */
    for (size_t i = 0; i < w->nnow; i++) {
        if (w->x->found[i] == FOUND_FIRM) from = w->x->now.mate[i] + (size_t)1;
        if (!w->now_key[i] || w->x->now.mate[i] != NO_INDEX) continue;
        struct entry *e = find(w, w->now_key[i]);
        if (once && (e->olds != 1 || e->nows != 1 || w->x->old.mate[e->old] != NO_INDEX)) continue;
        while (!once && e->old != NO_INDEX && (e->old < from || !is_free(w, e->old, i)))
            e->old = w->next[e->old];
        if (e->old == NO_INDEX) continue;
        size_t old = e->old;
        bool in_order = old >= from && old < w->limit[i];
        if (!in_order && !once) continue;
        pair(w, old, i, in_order ? FOUND_FIRM : FOUND_MOVED);
        if (in_order) from = old + 1;
        e->old = w->next[old];
    }
}

/* ---- by place ------------------------------------------------------------------------------ */

/* An id that is still in use elsewhere was not rewritten here. */
static void find_ids(struct work *w) {
    for (size_t i = 0; i < w->nold; i++) {
        uint32_t id = view_part(w->x->old.canon.v, i)->id;
        w->old_key[i] = id ? w->x->old.canon.at[id] : 0;
    }
    for (size_t i = 0; i < w->nnow; i++) {
        uint32_t id = view_part(w->x->now.canon.v, i)->id;
        w->now_key[i] = id ? w->x->now.canon.at[id] : 0;
    }
    fill_table(w);
    for (size_t i = 0; i < w->nold; i++)
        w->old_id_stays[i] = w->old_key[i] && find(w, w->old_key[i])->nows;
    for (size_t i = 0; i < w->nnow; i++)
        w->now_id_stays[i] = w->now_key[i] && find(w, w->now_key[i])->olds;
}

static bool may_pair(const struct work *w, size_t old, size_t now) {
    const struct view *a = w->x->old.canon.v, *b = w->x->now.canon.v;
    const struct part *p = view_part(a, old), *q = view_part(b, now);
    return p->kind == q->kind && !w->old_id_stays[old] && !w->now_id_stays[now] &&
           view_message(a, p->message)->role == view_message(b, q->message)->role;
}

/* A stretch of parts on one side. `lonely`: only those of messages without a twin. */
struct gap {
    const struct side *s;
    size_t from, to;
    bool lonely;
};

enum which { THINKING = 1, OTHERS = 2 };

/* The next such part from i on that has no mate; `to` if none. */
static size_t next_free(const struct gap *g, size_t i, unsigned which) {
    for (; i < g->to; i++) {
        const struct part *p = view_part(g->s->canon.v, i);
        if (g->s->mate[i] == NO_INDEX && (which & (p->kind == PART_THINKING ? THINKING : OTHERS)) &&
            !(g->lonely && g->s->twin[p->message] != NO_INDEX))
            break;
    }
    return i;
}

static size_t count_free(const struct gap *g, unsigned which) {
    size_t n = 0;
    for (size_t i = next_free(g, g->from, which); i < g->to; i = next_free(g, i + 1, which)) n++;
    return n;
}

static void pair_one_by_one(struct work *w, const struct gap *old, const struct gap *now,
                            unsigned which) {
    if (count_free(old, which) != count_free(now, which)) return;
    size_t a = next_free(old, old->from, which);
    for (size_t b = next_free(now, now->from, which); b < now->to && a < old->to;) {
        if (may_pair(w, a, b)) pair(w, a, b, FOUND_FIRM);
        a = next_free(old, a + 1, which);
        b = next_free(now, b + 1, which);
    }
}

static void pair_gap(struct work *w, struct gap old, struct gap now) {
    const unsigned all = THINKING | OTHERS;
    pair_one_by_one(w, &old, &now, OTHERS);
    pair_one_by_one(w, &old, &now, THINKING);
    size_t at[PART_OPAQUE + 1]; /* for each kind: what is before this in `old` has been looked at */
    for (size_t k = 0; k <= PART_OPAQUE; k++) at[k] = old.from;
    for (size_t b = next_free(&now, now.from, all); b < now.to; b = next_free(&now, b + 1, all)) {
        size_t *a = &at[view_part(now.s->canon.v, b)->kind];
        if (w->now_id_stays[b]) continue;
        *a = next_free(&old, *a, all);
        while (*a < old.to && !may_pair(w, *a, b)) *a = next_free(&old, *a + 1, all);
        if (*a < old.to) pair(w, *a, b, FOUND_SOFT);
    }
}

static void pair_in_messages(struct work *w) {
    const struct side *old = &w->x->old, *now = &w->x->now;
    for (size_t i = 0; i < now->canon.v->messages.count; i++) {
        if (now->twin[i] == NO_INDEX) continue;
        const struct message *m = view_message(now->canon.v, i);
        const struct message *o = view_message(old->canon.v, now->twin[i]);
        pair_gap(w, (struct gap){old, o->part, o->part + o->nparts, false},
                 (struct gap){now, m->part, m->part + m->nparts, false});
    }
}

static void pair_in_gaps(struct work *w) {
    const struct side *old = &w->x->old, *now = &w->x->now;
    size_t a = 0, b = 0;
    for (size_t i = 0; i <= w->nnow; i++) {
        if (i < w->nnow && (w->x->found[i] != FOUND_FIRM || now->mate[i] < a)) continue;
        size_t to = i < w->nnow ? now->mate[i] : w->nold;
        pair_gap(w, (struct gap){old, a, to, true}, (struct gap){now, b, i, true});
        a = to + 1;
        b = i + 1;
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool side_init(struct side *s, size_t parts, struct arena *arena) {
    size_t messages = s->canon.v->messages.count;
    s->mate = paucis__arena_alloc(arena, parts * sizeof *s->mate);
    s->twin = paucis__arena_alloc(arena, messages * sizeof *s->twin);
    if (!s->mate || !s->twin) return false;
    memset(s->mate, 0xff, parts * sizeof *s->mate); /* NO_INDEX */
    memset(s->twin, 0xff, messages * sizeof *s->twin);
    return true;
}

static bool work_init(struct work *w, struct alignment *x) {
    struct arena *arena = x->now.canon.v->arena;
    size_t size = 4;
    w->x = x;
    w->nold = x->old.canon.v->parts.count;
    w->nnow = x->now.canon.v->parts.count;
    while (size < (w->nold + w->nnow) * 2) size *= 2;
    w->mask = size - 1;
    w->table = paucis__arena_alloc(arena, size * sizeof *w->table);
    w->old_key = paucis__arena_alloc(arena, w->nold * sizeof *w->old_key);
    w->now_key = paucis__arena_alloc(arena, w->nnow * sizeof *w->now_key);
    w->next = paucis__arena_alloc(arena, w->nold * sizeof *w->next);
    w->limit = paucis__arena_alloc(arena, w->nnow * sizeof *w->limit);
    w->old_id_stays = paucis__arena_alloc(arena, w->nold);
    w->now_id_stays = paucis__arena_alloc(arena, w->nnow);
    x->found = paucis__arena_alloc(arena, w->nnow);
    bool sides = side_init(&x->old, w->nold, arena) && side_init(&x->now, w->nnow, arena);
    if (x->found) memset(x->found, FOUND_NOT, w->nnow);
    return sides && w->table && w->old_key && w->now_key && w->next && w->limit &&
           w->old_id_stays && w->now_id_stays && x->found;
}

paucis_err paucis__align(struct alignment *x) {
    static const struct {
        enum key by;
        bool once;
    } rounds[] = {
        {BY_NAME, true},     {BY_VALUE, true}, {BY_TEXT, true},   {BY_NAME_AND_VALUE, false},
        {BY_MESSAGE, false}, {BY_NAME, false}, {BY_VALUE, false}, {BY_TEXT, false}};
    struct work w;
    if (!work_init(&w, x)) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        pair_by_key(&w, rounds[i].by, rounds[i].once);
        find_twins(&w);
    }
    find_ids(&w);
    pair_in_messages(&w);
    pair_in_gaps(&w);
    find_twins(&w);
    return PAUCIS_OK;
}
