/* See stable.h. */
#include "stable/stable.h"

#include <string.h>

const struct option paucis__stable_options[STABLE_OPTIONS] = {
    [STABLE_KEEP] = NUMBER("keep", 0, 0, "the dial: bytes a new name is worth; 0: the level's"),
    [STABLE_CAP] =
        NUMBER("cap", 0, 0, "bytes of a new result, and a tenth of what is above; 0: the level's"),
    [STABLE_CAP_READ] = NUMBER("cap_read", 0, 0, "the same for a result that reads a file"),
    [STABLE_WINDOW] = NUMBER("window", 8, 0, "newest messages that are not shortened once sent"),
    [STABLE_RISK] = NUMBER("risk", 10, 0, "thousandths a cut may put the bill above doing nothing"),
    [STABLE_THOUGHT] = NUMBER("thought", 4, 0, "what losing present thinking counts, in writes"),
    [STABLE_ATTACH] = NUMBER("attach", 0, 0, "messages sent before paucis came"),
    [STABLE_STOP] = NUMBER("stop", 4294967295, 0, "messages after which no form changes any more"),
    [STABLE_SINKS] = NUMBER("sinks", 2, 0, "first messages that are never dropped"),
    [STABLE_LOW_WATER] =
        NUMBER("low_water", 60, 1, "percent of the budget that a forced cut leaves"),
};

const struct level paucis__levels[] = {
    {.name = "safe", .summary = "noise, repeats, and what the budget demands", .keep = 21},
    {.name = "balanced",
     .summary = "favours evidence",
     .keep = 21,
     .cap = 2048,
     .cap_read = 30720,
     .cuts = true},
    {.name = "deep",
     .summary = "favours cost",
     .keep = 20,
     .cap = 704,
     .cap_read = 11264,
     .cuts = true},
    {.name = NULL},
};

/* The caps go with the dial: twice as much kept of old results, four times as much of new ones. */
static uint64_t cap_for(uint64_t given, uint64_t at_level, uint64_t keep, uint64_t level_keep) {
    return given ? given : at_level * keep * keep / (level_keep * level_keep);
}

void paucis__stable_begin(struct fold *f, const struct stable *s, bool bound) {
    const uint64_t *o = s->option;
    uint64_t keep = o[STABLE_KEEP] ? o[STABLE_KEEP] : s->level->keep;
    paucis__fold_clear(f);
    if (f->forms.state && f->forms.kind != s->form) f->forms.kind->free(&f->forms);
    f->forms.kind = s->form;
    f->forms.mem = f->mem;
    f->forms.arena = f->arena;
    f->forms.keep = keep;
    f->rent.mem = f->subjects.mem = f->ids.mem = f->mem;
    f->subjects.seed = f->ids.seed = f->forms.seed;
    f->limits = (struct fold_limits){
        .price = *s->price,
        .window = o[STABLE_WINDOW],
        .cap = cap_for(o[STABLE_CAP], s->level->cap, keep, s->level->keep),
        .cap_read = cap_for(o[STABLE_CAP_READ], s->level->cap_read, keep, s->level->keep),
        .gate = s->price->minimum,
        .budget = s->budget,
        .fixed = s->fixed,
        .low_water = o[STABLE_LOW_WATER],
        .sinks = o[STABLE_SINKS],
        .attach = o[STABLE_ATTACH],
        .stop = o[STABLE_STOP],
        .risk = o[STABLE_RISK],
        .thought = o[STABLE_THOUGHT],
        .cuts = s->level->cuts,
        .bound = bound,
        .sent = s->sent,
        .never = s->never,
        .handle = s->handle,
        .handle_ud = s->handle_ud,
    };
}

/* ---- the view as parts of a fold ----------------------------------------------------------- */

static paucis_err text_of(void *view, size_t part, struct span *out) {
    return paucis__view_lines(view, part, out);
}
static paucis_err key_of(void *view, size_t part, struct span *out) {
    struct span text;
    if (view_part(view, part)->nslots < 2) return paucis__view_key(view, part, out);
    PAUCIS_TRY(paucis__view_lines(view, part, &text));
    return paucis__view_quote(view, text, out);
}

/* Bytes of that text. */
static size_t length_of(const struct view *v, size_t part) {
    const struct part *p = view_part(v, part);
    size_t newlines = p->kind == PART_RESULT && p->nslots ? p->nslots - 1 : 0;
    return paucis__view_original_len(v, part) + newlines;
}

/* Will this text surely be asked for? To decode it is to measure it. */
static bool is_wanted(const struct fold *f, const struct message *m, const struct part *p) {
    if (p->kind == PART_TEXT) return f->forms.kind->born && m->role != ROLE_SYSTEM;
    return p->kind == PART_RESULT || p->kind == PART_CALL;
}

/* Does the message have something besides thinking? It may not be emptied. */
static bool has_more_than_thinking(const struct view *v, const struct message *m) {
    for (VIEW_EACH_PART(v, p, m))
        if (view_part(v, p)->kind != PART_THINKING) return true;
    return false;
}

static bool is_open(const struct view *v, const struct message *m, const struct part *p,
                    bool more) {
    if (view_is_frozen(v, m) || v->locked) return false;
    if (p->kind == PART_CALL || p->kind == PART_TEXT) return p->flags & PART_MAY_REPLACE;
    if (p->kind == PART_THINKING) return more && (p->flags & PART_MAY_DROP);
    return p->kind == PART_RESULT && (p->flags & PART_MAY_REPLACE) && p->nslots &&
           !v->clears_results;
}

static bool is_droppable(const struct view *v, const struct message *m) {
    bool step = m->role == ROLE_ASSISTANT || m->role == ROLE_TOOL;
    return step && !view_is_frozen(v, m) && !v->locked && !(m->flags & MESSAGE_TOP);
}

static paucis_err add_message(struct fold *f, struct view *v, size_t message) {
    const struct message *m = view_message(v, message);
    bool more = has_more_than_thinking(v, m);
    for (size_t i = m->part; i < m->part + m->nparts; i++) {
        const struct part *p = view_part(v, i);
        struct fold_part new = {.message = (uint32_t)message,
                                .role = m->role,
                                .kind = p->kind,
                                .mate = p->mate,
                                .id = paucis__view_string(v, p->id),
                                .name = paucis__view_string(v, p->name)};
        if (!new.id.at || !new.name.at) return PAUCIS_E_NOMEM;
        if (is_wanted(f, m, p)) PAUCIS_TRY(text_of(v, i, &new.text));
        new.len = new.text.at ? new.text.len : length_of(v, i);
        if (is_open(v, m, p, more)) new.flags |= FOLD_OPEN;
        if (v->bound && p->kind == PART_THINKING && (p->flags & PART_SEALED))
            new.flags |= FOLD_BOUND;
        if (is_droppable(v, m)) new.flags |= FOLD_DROPPABLE;
        if (p->flags & PART_ERROR) new.flags |= FOLD_ERROR;
        PAUCIS_TRY(paucis__fold_add(f, &new));
    }
    return PAUCIS_OK;
}

static paucis_err fold_view(struct fold *f, struct view *v) {
    for (size_t i = 0; i < v->from_body; i++) {
        bool reply = view_message(v, i)->role == ROLE_ASSISTANT;
        if (i && reply && view_message(v, i - 1)->role != ROLE_ASSISTANT)
            PAUCIS_TRY(paucis__fold_request(f, false));
        PAUCIS_TRY(add_message(f, v, i));
    }
    return paucis__fold_request(f, true);
}

/* ---- forms as edits ------------------------------------------------------------------------ */

/* A step goes as the unit that it is; asked for at the unit's first part. */
static paucis_err drop_step(struct view *v, struct why why, size_t part) {
    size_t message = view_part(v, part)->message;
    const struct message *m = view_message(v, message);
    if (m->unit != message || m->part != part) return PAUCIS_OK;
    return paucis__edit_drop_unit(v, why, message);
}

static paucis_err ask(struct view *v, size_t part, const struct fold_part *p) {
    struct why why = {"stable", p->reason};
    paucis_err err = PAUCIS_OK;
    if (p->form == FORM_GONE && !strcmp(p->reason, STEP_IS_GONE))
        err = drop_step(v, why, part);
    else if (p->form == FORM_GONE)
        err = paucis__edit_drop(v, why, part);
    else if (p->form != FORM_FULL && p->kind == PART_CALL)
        err = paucis__edit_arguments(v, why, part, p->now);
    else if (p->form != FORM_FULL)
        err = paucis__edit_refer(v, why, part, p->now,
                                 p->form == FORM_REFERENCE ? p->refers : NO_INDEX);
    return err == PAUCIS_E_INVARIANT ? PAUCIS_OK : err;
}

/* Law 7: a conversation that was once edited falls back to its original texts. Thinking that was
 * made behind an edit is bound to a prefix that is no longer sent, and goes. */
static paucis_err leave(const struct fold *f, struct view *v) {
    size_t first = 0;
    while (first < f->parts.count && f->parts.at[first].form == FORM_FULL) first++;
    for (size_t i = first; v->bound && i < f->parts.count; i++) {
        struct why why = {"exit", "bound to what was sent shortened"};
        if (f->parts.at[i].message >= f->limits.stop) break; /* made behind the exit body */
        if (f->parts.at[i].kind != PART_THINKING) continue;
        paucis_err err = paucis__edit_drop(v, why, i);
        if (err == PAUCIS_E_NOMEM) return err;
    }
    return PAUCIS_OK;
}

paucis_err paucis__stable_run(struct fold *f, struct view *v, const struct stable *s) {
    f->mem = v->mem;
    f->arena = v->arena;
    f->forms.seed = v->seed;
    f->source = (struct fold_source){text_of, key_of, v};
    paucis__stable_begin(f, s, v->bound);
    f->limits.keep_thinking = v->strict;
    PAUCIS_TRY(fold_view(f, v));
    v->folded = true;
    paucis_err err = PAUCIS_OK;
    if (s->leave)
        err = leave(f, v);
    else
        for (size_t i = 0; i < f->parts.count && !err; i++) err = ask(v, i, &f->parts.at[i]);
    v->folded = false;
    paucis__edit_settle(v);
    return err;
}
