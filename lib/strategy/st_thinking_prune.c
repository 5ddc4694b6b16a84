/* thinking_prune: thinking older than the newest messages goes; assistant messages left with
 * nothing go with it. */
#include "strategy/strategy.h"

enum { KEEP_LAST, SPARE_LOOP, SPARE_ALONE };

/* Drops the message's thinking, or the message if it has nothing else. */
static paucis_err prune_message(struct pass *p, size_t index) {
    struct view *v = p->v;
    const struct message *m = view_message(v, index);
    struct why why = {p->strategy, "thinking older than the window"};
    uint64_t saved = 0;
    bool alone = true, may_go = true;
    for (VIEW_EACH_PART(v, k, m)) {
        alone = alone && view_part(v, k)->kind == PART_THINKING;
        may_go = may_go && (view_part(v, k)->flags & PART_MAY_DROP);
    }
    if (alone && (p->opt[SPARE_ALONE] || !may_go)) return PAUCIS_OK;
    for (VIEW_EACH_PART(v, i, m)) {
        if (view_part(v, i)->kind != PART_THINKING) continue;
        paucis_err err = alone ? PAUCIS_OK : paucis__edit_drop(v, why, i);
        if (err == PAUCIS_E_NOMEM) return err;
        if (err == PAUCIS_OK) saved += paucis__view_text_len(v, i);
    }
    if (alone) {
        paucis_err err = paucis__edit_drop_message(v, why, index);
        if (err == PAUCIS_E_NOMEM) return err;
        if (err) saved = 0;
    }
    p->counts->total_bytes_saved += saved;
    p->counts->snippet_hits += saved > 0;
    return PAUCIS_OK;
}

static bool has_thinking(const struct view *v, const struct message *m) {
    if (m->flags & MESSAGE_DROPPED) return false;
    for (VIEW_EACH_PART(v, k, m))
        if (view_part(v, k)->kind == PART_THINKING) return true;
    return false;
}

/* Neighbouring assistant messages are one turn to a provider, whose thinking goes as a whole. */
static size_t whole_turns(const struct view *v, size_t limit) {
    size_t n = v->order.count;
    while (v->ruled && limit && limit < n &&
           view_message(v, v->order.at[limit])->role == ROLE_ASSISTANT &&
           view_message(v, v->order.at[limit - 1])->role == ROLE_ASSISTANT)
        limit--;
    return limit;
}

static paucis_err thinking_prune_run(struct pass *p) {
    const struct view *v = p->v;
    size_t limit = whole_turns(v, paucis__pass_limit(p, p->opt[KEEP_LAST]));
    for (size_t i = 0; i < limit; i++) {
        size_t index = v->order.at[i];
        if (view_message(v, index)->role != ROLE_ASSISTANT) continue;
        bool in_loop = v->loop == NO_INDEX || index > v->loop;
        if (in_loop && (p->opt[SPARE_LOOP] || v->ruled)) break; /* G9 */
        PAUCIS_TRY(prune_message(p, index));
        if (v->bound && has_thinking(v, view_message(v, index))) break; /* no holes: B-R16 */
    }
    return PAUCIS_OK;
}

const struct strategy paucis__st_thinking_prune = {
    .name = "thinking_prune",
    .summary = "drop thinking outside the newest messages",
    .options =
        {
            [KEEP_LAST] = NUMBER("thinking_prune.keep_last", 4, 0, "messages at the end that stay"),
            [SPARE_LOOP] =
                SWITCH_OFF("thinking_prune.spare_loop", "thinking of the current tool loop stays"),
            [SPARE_ALONE] = SWITCH_OFF("thinking_prune.spare_alone",
                                       "a message that would be left empty stays as it is"),
        },
    .run = thinking_prune_run,
};
