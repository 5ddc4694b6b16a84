/* See run.h. Strategies ask, edit.h refuses what is plainly wrong, and the rules have the last
 * word. A second round is rare: it takes an edit that only the whole shows to be illegal, such as
 * a message whose removal leaves two user turns side by side where the format wants them to
 * alternate. */
#include "plan/run.h"

#include "limits.h"

/* Rounds before giving up, which means leaving the body as it is. */
#define MAX_ROUNDS 4

static paucis_err run_strategies(struct view *v, struct fold *fold, const struct settings *s,
                                 struct counts *counts) {
    if (settings_fold(s)) return paucis__stable_run(fold, v, &s->stable);
    for (size_t i = 0; i < s->count; i++) {
        const struct strategy *st = s->list[i];
        size_t edits = v->edits.count;
        counts[i] = (struct counts){0};
        struct pass p = {.v = v,
                         .opt = paucis__settings_of(s, st),
                         .common = s->common,
                         .budget = s->budget,
                         .counts = &counts[i],
                         .strategy = st->name};
        PAUCIS_TRY(st->run(&p));
        if (s->common[COMMON_MEND]) PAUCIS_TRY(paucis__mend_references(&p));
        if (v->edits.count > edits) paucis__edit_settle(v);
    }
    return PAUCIS_OK;
}

static int compare_breaks(const struct break_ *a, const struct break_ *b) {
    if (a->message != b->message) return a->message < b->message ? -1 : 1;
    return strcmp(a->rule, b->rule);
}

/* Freezes the unit of every (rule, message) that is in `now` and not in `came`, both sorted.
 * Returns how many there are; *hopeless if one cannot be helped by freezing a unit. */
static size_t freeze_new(struct view *v, const struct check *came, const struct check *now,
                         bool *hopeless) {
    size_t k = 0, fresh = 0;
    for (size_t i = 0; i < now->breaks.count; i++) {
        const struct break_ *b = &now->breaks.at[i];
        while (k < came->breaks.count && compare_breaks(&came->breaks.at[k], b) < 0) k++;
        if (k < came->breaks.count && compare_breaks(&came->breaks.at[k], b) == 0) continue;
        fresh++;
        if (b->message == NO_INDEX)
            *hopeless = true;
        else if (b->message >= v->from_body || view_is_frozen(v, view_message(v, b->message)))
            v->insert_user = v->insert_result = NULL; /* nothing may be inserted here after all */
        else
            view_freeze(v, b->message);
    }
    return fresh;
}

/* Rules about the present request: its last message and current loop, its cache marks, tools and
 * settings. What breaks them now may not have broken them one request ago, and the stable policy
 * must not decide otherwise about what it has sent. */
static bool is_about_present(const char *rule) {
    static const char *const rules[] = {"B-R12", "B-R17", "B-R19", "B-R20", "B-R21",
                                        "B-R32", "D-R4",  "D-R10", "E-R3"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rule, rules[i])) return true;
    return false;
}

static void freeze_broken(struct view *v, const struct check *c, const struct settings *s) {
    for (size_t i = 0; i < c->breaks.count; i++) {
        const struct break_ *b = &c->breaks.at[i];
        if (b->message == NO_INDEX || (settings_fold(s) && is_about_present(b->rule))) continue;
        view_freeze(v, b->message);
    }
}

/* Tokens of tools and settings, at most: three eighths of their bytes. */
static uint64_t tokens_beside(const struct view *v) {
    size_t bytes = v->j->size;
    for (size_t i = 0; i < v->from_body; i++) {
        const struct message *m = view_message(v, i);
        if (!(m->flags & MESSAGE_TOP)) break;
        bytes -= json_to(v->j, m->last) - json_from(v->j, m->node);
    }
    if (v->list) bytes -= json_to(v->j, v->list) - json_from(v->j, v->list);
    return (uint64_t)bytes * 3 / 8;
}

paucis_err paucis__run(struct view *v, struct check *came, struct check *now, struct fold *fold,
                       struct settings *s, struct counts counts[MAX_STRATEGIES]) {
    /* Somebody who wants the breaks counted gets the same result as somebody who does not. */
    if (came->depth != CHECK_SHALLOW) PAUCIS_TRY(paucis__check_run(came, v, CHECK_SHALLOW));
    bool hopeless = came->total > PAUCIS_MAX_BREAKS;
    freeze_broken(v, came, s);
    paucis__check_sort_by_message(came);
    v->bound = paucis__check_is_bound(v);
    v->no_grow = !s->common[COMMON_GROW] || settings_fold(s);
    s->stable.budget = s->budget;
    s->stable.fixed = tokens_beside(v);
    s->stable.leave = s->policy && s->policy->leave;
    if (!s->stable.price) s->stable.price = paucis__body_price(v);
    paucis__edit_settle(v);
    for (size_t round = 0; round < MAX_ROUNDS && !hopeless; round++) {
        PAUCIS_TRY(run_strategies(v, fold, s, counts));
        if (!v->edits.count || !v->ruled) return PAUCIS_OK;
        PAUCIS_TRY(paucis__check_run(now, v, CHECK_TOUCHED));
        paucis__check_sort_by_message(now);
        bool all_seen = now->total <= PAUCIS_MAX_BREAKS;
        if (!freeze_new(v, came, now, &hopeless) && all_seen) return PAUCIS_OK;
        paucis__edit_undo(v, 0);
        /* Now look everywhere: each round might only lead on to the next broken unit, and what was
         * broken before is not the fault of an edit. */
        if (came->depth == CHECK_ALL) continue;
        PAUCIS_TRY(paucis__check_run(came, v, CHECK_ALL));
        hopeless = hopeless || came->total > PAUCIS_MAX_BREAKS;
        freeze_broken(v, came, s);
        paucis__check_sort_by_message(came);
    }
    v->locked = true; /* no edit, but the counts still say how large the body is */
    return run_strategies(v, fold, s, counts);
}
