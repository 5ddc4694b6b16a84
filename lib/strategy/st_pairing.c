/* pairing: a call without a result gets one that says so; results without a call go. It is meant
 * for broken conversations, so broken units are not frozen for it. */
#include "strategy/strategy.h"

enum { STRICT };

#define UNAVAILABLE "[tool result unavailable: elided by context management]"

/* The ids a strategy cares about, as a set. */
static paucis_err id_known(struct view *v, struct seen *s, size_t id_node, size_t part,
                           bool *known) {
    struct span id = paucis__view_string(v, id_node);
    if (!id.at) return PAUCIS_E_NOMEM;
    *known = paucis__seen_add(s, v, id, part) != NO_INDEX;
    return PAUCIS_OK;
}

/* By links: a call is answered if a later result belongs to it, whatever the role. */
static bool by_links(const struct pass *p) { return p->opt[STRICT] || p->v->ruled; }

/* ---- stage A: calls without a result ------------------------------------------------------- */

/* For each part: a call that nothing answers. */
static paucis_err find_orphan_calls(struct pass *p, bool *orphan) {
    struct view *v = p->v;
    struct seen answered;
    bool links = by_links(p);
    if (!links) PAUCIS_TRY(paucis__seen_new(&answered, v, v->parts.count));
    for (size_t i = 0; !links && i < v->order.count; i++) {
        const struct message *m = view_message(v, v->order.at[i]);
        bool known;
        for (VIEW_EACH_PART(v, k, m))
            if (view_part(v, k)->kind == PART_RESULT && m->role == ROLE_TOOL)
                PAUCIS_TRY(id_known(v, &answered, view_part(v, k)->id, k, &known));
    }
    for (size_t i = 0; i < v->order.count; i++) {
        const struct message *m = view_message(v, v->order.at[i]);
        bool pending = p->opt[STRICT] && i + 1 == v->order.count; /* still being executed */
        if (m->role != ROLE_ASSISTANT || pending) continue;
        for (VIEW_EACH_PART(v, k, m)) {
            const struct part *part = view_part(v, k);
            if (part->kind != PART_CALL || (part->flags & PART_SERVER)) continue;
            orphan[k] = part->mate == NO_INDEX;
            if (links) continue;
            struct span id = paucis__view_string(v, part->id);
            if (!id.at) return PAUCIS_E_NOMEM;
            orphan[k] = !paucis__seen_has(&answered, v, id);
        }
    }
    return PAUCIS_OK;
}

static paucis_err answer_orphans(struct pass *p, const bool *orphan) {
    struct view *v = p->v;
    struct why why = {p->strategy, "a call without a result"};
    for (size_t i = 0; i < v->from_body; i++) {
        const struct message *m = view_message(v, i);
        size_t after = i, made, first = m->part, end = m->part + m->nparts;
        if (m->flags & MESSAGE_DROPPED) continue;
        for (size_t k = first; k < end; k++) {
            if (!orphan[k]) continue;
            paucis_err err = paucis__edit_insert(v, why, after, k, SPAN(UNAVAILABLE), &made);
            if (err == PAUCIS_E_NOMEM) return err;
            if (err) continue;
            after = made;
            p->counts->snippet_hits++;
        }
    }
    paucis__edit_settle(v);
    return PAUCIS_OK;
}

/* ---- stage B: results without a call ------------------------------------------------------- */

/* Does no call belong to this result? Strictly, one that another has answered does not. */
static bool is_unasked(const struct pass *p, size_t result) {
    uint32_t call = view_part(p->v, result)->mate;
    return call == NO_INDEX || (p->opt[STRICT] && view_part(p->v, call)->mate != result);
}

/* Counts a removal; the classic one does not count its bytes. */
static paucis_err dropped(struct pass *p, paucis_err err) {
    if (err) return err == PAUCIS_E_NOMEM ? err : PAUCIS_OK;
    const struct edit *e = &p->v->edits.at[p->v->edits.count - 1];
    p->counts->snippet_hits++;
    if (p->opt[STRICT]) p->counts->total_bytes_saved += paucis__edit_before(p->v, e);
    return PAUCIS_OK;
}

static paucis_err drop_orphan_results(struct pass *p, const struct message *m, size_t message,
                                      struct seen *calls) {
    struct view *v = p->v;
    struct why why = {p->strategy, "a result without a call"};
    size_t orphans = 0;
    for (VIEW_EACH_PART(v, k, m)) {
        const struct part *part = view_part(v, k);
        if (part->kind != PART_RESULT) continue;
        struct span id = by_links(p) ? SPAN("") : paucis__view_string(v, part->id);
        if (!id.at) return PAUCIS_E_NOMEM;
        orphans += by_links(p) ? is_unasked(p, k) : !paucis__seen_has(calls, v, id);
    }
    if (orphans && orphans == m->live)
        return dropped(p, paucis__edit_drop_message(v, why, message));
    for (size_t k = m->part; by_links(p) && orphans && k < m->part + m->nparts; k++) {
        const struct part *part = view_part(v, k);
        if (part->kind == PART_RESULT && !(part->flags & PART_DROPPED) && is_unasked(p, k))
            PAUCIS_TRY(dropped(p, paucis__edit_drop(v, why, k)));
    }
    return PAUCIS_OK;
}

static paucis_err pairing_stages(struct pass *p) {
    struct view *v = p->v;
    struct seen calls;
    bool *orphan = paucis__arena_alloc(v->arena, v->parts.count * sizeof *orphan), known;
    if (!orphan) return PAUCIS_E_NOMEM;
    memset(orphan, 0, v->parts.count * sizeof *orphan);
    PAUCIS_TRY(find_orphan_calls(p, orphan));
    PAUCIS_TRY(answer_orphans(p, orphan));
    PAUCIS_TRY(paucis__seen_new(&calls, v, by_links(p) ? 0 : v->parts.count));
    for (size_t i = 0; i < v->order.count; i++) {
        const struct message *m = view_message(v, v->order.at[i]);
        for (VIEW_EACH_PART(v, k, m))
            if (view_part(v, k)->kind == PART_CALL && !by_links(p))
                PAUCIS_TRY(id_known(v, &calls, view_part(v, k)->id, k, &known));
        if (m->role == ROLE_TOOL || (by_links(p) && m->role == ROLE_USER))
            PAUCIS_TRY(drop_orphan_results(p, m, v->order.at[i], &calls));
    }
    return PAUCIS_OK;
}

static paucis_err pairing_run(struct pass *p) {
    p->v->mending = true;
    paucis_err err = pairing_stages(p);
    p->v->mending = false;
    return err;
}

const struct strategy paucis__st_pairing = {
    .name = "pairing",
    .summary = "give every call a result and every result a call",
    .options =
        {
            [STRICT] = SWITCH_OFF("pairing.strict",
                                  "results of any role count, half-orphaned messages lose only the "
                                  "orphans, a second result for a call goes, a call at the very "
                                  "end is left open, bytes that go are counted"),
        },
    .run = pairing_run,
};
