/* See stable.h. */
#include "stable/stable.h"

#include "stable/cover.h"

const struct option paucis__stable_options[STABLE_OPTIONS] = {
    [STABLE_KEEP] = NUMBER("keep", 0, 0, "the dial: bytes a new name is worth; 0: the level's"),
    [STABLE_CAP] =
        NUMBER("cap", 0, 0, "bytes of a new result, and a tenth of what is above; 0: the level's"),
    [STABLE_CAP_READ] = NUMBER("cap_read", 0, 0, "the same for a result that reads a file"),
    [STABLE_WINDOW] = NUMBER("window", 8, 0, "newest messages that are not shortened once sent"),
    [STABLE_WINDOW_READ] =
        NUMBER("window_read", 0, 0, "the same for results that read a file; 0: the level's"),
    [STABLE_RISK] = NUMBER("risk", 0, 0,
                           "thousandths a cut may put the bill above doing nothing; 0: the "
                           "level's, 10 but for whole"),
    [STABLE_THOUGHT] = NUMBER("thought", 4, 0, "what losing present thinking counts, in writes"),
    [STABLE_ATTACH] = NUMBER("attach", 0, 0, "messages sent before paucis came"),
    [STABLE_STOP] = NUMBER("stop", 4294967295, 0, "messages after which no form changes any more"),
    [STABLE_EDITED] =
        NUMBER("edited", 4294967295, 0, "exit: where the first message ever changed begins"),
    [STABLE_LEARNT] = NUMBER("learnt", 4294967295, 1, "a budget that was not known from the start"),
    [STABLE_LEARNT_AT] = NUMBER("learnt_at", 0, 0, "messages of the first request it is meant for"),
    [STABLE_SINKS] = NUMBER("sinks", 2, 0, "first messages that are never dropped"),
    [STABLE_LOW_WATER] =
        NUMBER("low_water", 60, 1, "percent of the budget that a forced cut leaves"),
};

const struct level paucis__levels[] = {
    {.name = "safe",
     .summary = "noise, repeats, and what the budget demands",
     .keep = 21,
     .risk = 10},
    {.name = "balanced",
     .summary = "favours evidence",
     .keep = 21,
     .cap = 2048,
     .cap_read = 30720,
     .risk = 10,
     .cuts = true},
    {.name = "deep",
     .summary = "favours cost",
     .keep = 20,
     .cap = 704,
     .cap_read = 11264,
     .risk = 10,
     .cuts = true},
    /* Caps pay for the first cut of a session; without them a cut needs more credit. */
    {.name = "whole",
     .summary = "new results stay whole, old ones go deep",
     .keep = 12,
     .window_read = 48,
     .risk = 150,
     .cuts = true},
    {.name = NULL},
};

/* The caps go with the dial: twice as much kept of old results, four times as much of new ones. */
static uint64_t cap_for(uint64_t given, uint64_t at_level, uint64_t keep, uint64_t level_keep) {
    return given ? given : at_level * keep * keep / (level_keep * level_keep);
}

/* Losing a token of thinking counts at most so many writes, which no cut ever saves: with the
 * dearest price and the longest body that is still far inside 63 bits. */
#define MOST_THOUGHT 1000000

static uint64_t or_level(uint64_t given, uint64_t at_level) { return given ? given : at_level; }

void paucis__stable_begin(struct fold *f, const struct stable *s, bool bound) {
    const uint64_t *o = s->option;
    uint64_t keep = or_level(o[STABLE_KEEP], s->level->keep);
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
        .window_read = or_level(o[STABLE_WINDOW_READ], s->level->window_read),
        .cap = cap_for(o[STABLE_CAP], s->level->cap, keep, s->level->keep),
        .cap_read = cap_for(o[STABLE_CAP_READ], s->level->cap_read, keep, s->level->keep),
        .gate = s->price->minimum,
        .budget = s->budget,
        .learnt = stable_budget(s, s->budget),
        .learnt_at = o[STABLE_LEARNT_AT],
        .fixed = s->fixed,
        .low_water = o[STABLE_LOW_WATER],
        .sinks = o[STABLE_SINKS],
        .attach = o[STABLE_ATTACH],
        .stop = o[STABLE_STOP],
        .risk = or_level(o[STABLE_RISK], s->level->risk),
        .thought = o[STABLE_THOUGHT] < MOST_THOUGHT ? o[STABLE_THOUGHT] : MOST_THOUGHT,
        .cuts = s->level->cuts,
        .bound = bound,
        .sent = s->sent,
        .never = s->never,
        .still = s->still,
        .cold = s->cold,
        .handle = s->handle,
        .handle_ud = s->handle_ud,
    };
}

/* ---- the view as parts of a fold ----------------------------------------------------------- */

static paucis_err text_of(void *view, size_t part, struct span *out) {
    return paucis__view_original(view, part, out);
}
static paucis_err key_of(void *view, size_t part, struct span *out) {
    struct span text;
    if (view_part(view, part)->nslots < 2) return paucis__view_key(view, part, out);
    PAUCIS_TRY(paucis__view_original(view, part, &text));
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

static unsigned flags_of(const struct view *v, size_t part) {
    const struct part *p = view_part(v, part);
    const struct message *m = view_message(v, p->message);
    unsigned flags = 0;
    bool more = p->kind != PART_THINKING || has_more_than_thinking(v, m);
    if (is_open(v, m, p, more)) flags |= FOLD_OPEN;
    if (v->bound && p->kind == PART_THINKING && (p->flags & PART_SEALED)) flags |= FOLD_BOUND;
    if (is_droppable(v, m)) flags |= FOLD_DROPPABLE;
    if (p->flags & PART_ERROR) flags |= FOLD_ERROR;
    return flags;
}

static paucis_err add_part(struct fold *f, struct view *v, size_t part) {
    const struct part *p = view_part(v, part);
    const struct message *m = view_message(v, p->message);
    struct fold_part new = {.message = p->message,
                            .role = m->role,
                            .kind = p->kind,
                            .flags = (uint8_t)flags_of(v, part),
                            .mate = p->kind == PART_RESULT ? p->mate : NO_INDEX,
                            .id = paucis__view_string(v, p->id),
                            .name = paucis__view_string(v, p->name)};
    if (!new.id.at || !new.name.at) return PAUCIS_E_NOMEM;
    if (f->past.wanted) PAUCIS_TRY(paucis__past_add(f, v, part, new.flags));
    if (is_wanted(f, m, p)) PAUCIS_TRY(text_of(v, part, &new.text));
    new.len = new.text.at ? new.text.len : length_of(v, part);
    return paucis__fold_add(f, &new);
}

static bool begins_reply(const struct view *v, size_t message) {
    return message && view_message(v, message)->role == ROLE_ASSISTANT &&
           view_message(v, message - 1)->role != ROLE_ASSISTANT;
}

/* Feeds the messages from `from` on to the fold, which has made a request of those before. */
static paucis_err fold_view(struct fold *f, struct view *v, size_t from) {
    if (from && from == v->from_body) return PAUCIS_OK;
    for (size_t i = from; i < v->from_body; i++) {
        const struct message *m = view_message(v, i);
        if (i > from && begins_reply(v, i)) PAUCIS_TRY(paucis__fold_request(f, false));
        for (size_t p = m->part; p < m->part + m->nparts; p++) PAUCIS_TRY(add_part(f, v, p));
    }
    return paucis__fold_request(f, true);
}

/* Does the body begin with all that the fold has seen, and go on with a reply to it? */
static bool continues_past(const struct fold *f, const struct view *v) {
    size_t n = f->past.messages, part = 0;
    if (n > v->from_body || (n < v->from_body && !begins_reply(v, n))) return false;
    if (paucis__past_roles(v, n) != f->past.roles) return false;
    for (size_t i = 0; i < n; i++) {
        const struct message *m = view_message(v, i);
        for (size_t end = m->part + m->nparts; part < end; part++)
            if (!paucis__past_has(f, v, part, flags_of(v, part))) return false;
    }
    return part == f->parts.count;
}

/* Begins the fold, or goes on with the last one. *from: messages that it has seen already. */
static paucis_err begin(struct fold *f, struct view *v, const struct stable *s, size_t *from) {
    *from = 0;
    if (paucis__past_is_of(f, s, v) && continues_past(f, v)) {
        *from = f->past.messages;
        f->past.good = false;
        f->limits.attach = s->option[STABLE_ATTACH];
        f->limits.never = s->never; /* the same, but they may lie elsewhere by now */
        f->limits.handle_ud = s->handle_ud;
        f->limits.still = s->still;
        f->limits.cold = s->cold;
        return paucis__past_rebind(f, v);
    }
    paucis__arena_reset(f->arena);
    paucis__stable_begin(f, s, v->bound);
    f->limits.keep_thinking = v->strict;
    paucis__past_begin(f, s, v);
    return PAUCIS_OK;
}

/* ---- forms as edits ------------------------------------------------------------------------ */

/* A step goes as the unit that it is; asked for at its first part that is met. */
static paucis_err drop_step(struct view *v, struct why why, size_t part) {
    const struct message *m = view_message(v, view_part(v, part)->message);
    if (m->part != part || (view_message(v, m->unit)->flags & MESSAGE_DROPPED)) return PAUCIS_OK;
    return paucis__edit_drop_unit(v, why, m->unit);
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

/* The first part that was ever sent in another form, as the caller or the fold knows. */
static size_t first_edited(const struct fold *f, const struct view *v, uint64_t byte) {
    size_t i = 0;
    while (i < f->parts.count && f->parts.at[i].form == FORM_FULL) i++;
    if (byte == STABLE_NOT_TOLD) return i;
    for (i = 0; i < v->parts.count; i++) {
        const struct message *m = view_message(v, view_part(v, i)->message);
        if (!(m->flags & MESSAGE_TOP) && json_from(v->j, m->node) >= byte) break;
    }
    return i;
}

/* Law 7: a conversation that was once edited falls back to its original texts. Thinking that was
 * made behind an edit is bound to a prefix that is no longer sent, and goes; where it may not (the
 * present loop's first message needs it), this is not the moment to leave. */
static paucis_err leave(const struct fold *f, struct view *v, size_t first) {
    for (size_t i = first; v->bound && i < v->parts.count; i++) {
        struct why why = {"exit", "bound to what was sent shortened"};
        const struct part *p = view_part(v, i);
        if (p->message >= f->limits.stop) break; /* made behind the exit body */
        if (p->kind != PART_THINKING) continue;
        paucis_err err = paucis__edit_drop(v, why, i);
        if (err == PAUCIS_E_INVARIANT && !(p->flags & PART_SEALED)) continue;
        PAUCIS_TRY(err);
    }
    return PAUCIS_OK;
}

paucis_err paucis__stable_run(struct fold *f, struct view *v, const struct stable *s) {
    size_t from;
    f->forms.seed = v->seed;
    f->source = (struct fold_source){text_of, key_of, v};
    PAUCIS_TRY(begin(f, v, s, &from));
    f->past.good = false; /* until all went well */
    uint64_t edited = s->option[STABLE_EDITED];
    bool told = s->leave && edited != STABLE_NOT_TOLD;
    if (!told) PAUCIS_TRY(fold_view(f, v, from));
    if (from && !told && !s->name_new) PAUCIS_TRY(paucis__cover_again(f));
    f->past.good = f->past.wanted && !told;
    f->past.messages = v->from_body;
    if (f->past.wanted) f->past.roles = paucis__past_roles(v, v->from_body);
    v->folded = true;
    paucis_err err = PAUCIS_OK;
    if (s->leave)
        err = leave(f, v, first_edited(f, v, edited));
    else
        for (size_t i = 0; i < f->parts.count && !err; i++) err = ask(v, i, &f->parts.at[i]);
    v->folded = false;
    paucis__edit_settle(v);
    return err;
}
