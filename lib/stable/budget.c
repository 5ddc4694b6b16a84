/* See budget.h. Every stage goes once over the parts that have grown old, oldest first, and goes on
 * where it stopped: what a stage has cut stays cut, so all forced cuts of a session together touch
 * a part once a stage. */
#include "stable/budget.h"

#include <string.h>

#define MESSAGE_TOKENS 8 /* framing of a message, at most */
#define PROSE_HEAD 160   /* bytes that stay of old prose */
#define LEAST_PROSE 400  /* bytes: shorter prose stays */
#define ARGUMENT_HEAD 60 /* bytes that stay of a long string in old arguments */
#define LAST_CAPS 3      /* times the cap of the newest results is divided by four */

/* Tokens that the request has at most: real tokenizers need up to 3/8 of a token a byte on the
 * outputs of tools, which is 3/2 of the fold's own. */
static uint64_t tokens_at_most(const struct fold *f, size_t more) {
    uint64_t messages = (uint64_t)f->messages - f->dropped_messages;
    uint64_t size = (uint64_t)f->size + (uint64_t)fold_tokens(more);
    return size * 3 / 2 + MESSAGE_TOKENS * messages + f->limits.fixed;
}

bool paucis__budget_has_room(const struct fold *f, size_t bytes) {
    return f->limits.budget == UINT64_MAX || tokens_at_most(f, bytes) <= f->limits.budget;
}

bool paucis__budget_is_met(const struct fold *f) { return paucis__budget_has_room(f, 0); }

static bool is_low(const struct fold *f) {
    return tokens_at_most(f, 0) <= f->limits.budget / 100 * f->limits.low_water;
}

/* May a forced cut touch this part? Not before thinking that must stay. */
static bool is_in_reach(const struct fold *f, size_t part) { return part >= f->floor; }

static bool is_open_result(const struct fold_part *p) {
    return p->kind == PART_RESULT && (p->flags & FOLD_OPEN) && p->form != FORM_GONE;
}

/* ---- the stages ---------------------------------------------------------------------------- */

static paucis_err make_brief(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    if (!is_open_result(p) || p->form == FORM_SHORT || p->form == FORM_MARKER) return PAUCIS_OK;
    return paucis__fold_shorten(f, part);
}

static paucis_err make_marker(struct fold *f, size_t part) {
    const struct fold_part *p = &f->parts.at[part];
    struct form_text t;
    if (!is_open_result(p) || p->form == FORM_MARKER) return PAUCIS_OK;
    PAUCIS_TRY(paucis__fold_text(f, part, &t));
    struct span text = paucis__words(f->arena, "[%n lines, %m bytes of output left out]", SPAN(""),
                                     paucis__form_lines(t.text), p->len);
    if (!text.at) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(paucis__fold_sign(f, part, &text));
    if (text.len >= (p->form == FORM_FULL ? p->len : p->now.len)) return PAUCIS_OK;
    return paucis__fold_take(f, part, FORM_MARKER, text, "the budget");
}

/* Arguments of calls in finished loops; the current loop's stay (FORMATS.md G9). */
static paucis_err cut_arguments(struct fold *f, size_t part) {
    const struct fold_part *p = &f->parts.at[part];
    struct span text;
    if (p->kind != PART_CALL || !(p->flags & FOLD_OPEN) || p->form >= FORM_MARKER ||
        p->len < LEAST_CALL || part >= f->loop)
        return PAUCIS_OK;
    PAUCIS_TRY(paucis__fold_arguments(f, part, ARGUMENT_HEAD, 0, &text));
    if (fold_tokens(text.len) >= fold_size(p)) return PAUCIS_OK;
    return paucis__fold_take(f, part, FORM_MARKER, text, "the budget");
}

static paucis_err cut_prose(struct fold *f, size_t part) {
    const struct fold_part *p = &f->parts.at[part];
    struct form_text t;
    if (p->kind != PART_TEXT || p->role != ROLE_ASSISTANT || !(p->flags & FOLD_OPEN) ||
        p->form != FORM_FULL || p->len < LEAST_PROSE)
        return PAUCIS_OK;
    PAUCIS_TRY(paucis__fold_text(f, part, &t));
    size_t head = PROSE_HEAD;
    while (head && ((unsigned char)t.text.at[head] & 0xC0) == 0x80) head--;
    struct span gap =
        paucis__words(f->arena, "\n[... %n bytes left out]", SPAN(""), t.text.len - head, 0);
    char *text = paucis__arena_alloc(f->arena, head + gap.len);
    if (!gap.at || !text) return PAUCIS_E_NOMEM;
    memcpy(text, t.text.at, head);
    memcpy(text + head, gap.at, gap.len);
    struct span cut = span_of(text, head + gap.len);
    PAUCIS_TRY(paucis__fold_sign(f, part, &cut));
    return cut.len < p->len ? paucis__fold_take(f, part, FORM_SHORT, cut, "the budget") : PAUCIS_OK;
}

/* ---- whole steps --------------------------------------------------------------------------- */

/* A step is a run of assistant messages and the results behind it. Its end is the next assistant
 * message after a result, or a user's. */
static size_t step_end(const struct fold *f, size_t part) {
    bool answered = false;
    for (; part < f->parts.count; part++) {
        const struct fold_part *p = &f->parts.at[part];
        if (p->role == ROLE_USER || p->role == ROLE_SYSTEM) break;
        if (p->role == ROLE_ASSISTANT && answered) break;
        answered = answered || p->role == ROLE_TOOL;
    }
    return part;
}

/* Only a step that ends in results: without it a user's message would follow another's, which not
 * every format allows. And only one that has all results of its calls: one that comes later would
 * go with it, and perhaps say how many are gone. */
static bool may_drop(const struct fold *f, size_t from, size_t to) {
    if (f->parts.at[to - 1].role != ROLE_TOOL) return false;
    for (size_t i = from; i < to; i++) {
        const struct fold_part *p = &f->parts.at[i];
        bool named = p->kind != PART_MEDIA && p->kind != PART_OPAQUE;
        bool torn = p->mate == NO_INDEX ? p->kind == PART_CALL : p->mate < from || p->mate >= to;
        if (!(p->flags & FOLD_DROPPABLE) || (f->limits.handle && !named) || torn) return false;
    }
    /* The present loop's first message may have to begin with thinking (B-R17). */
    bool opens_loop = f->loop_first != NO_INDEX && f->parts.at[from].message <= f->loop_first &&
                      f->parts.at[to - 1].message >= f->loop_first;
    return f->parts.at[from].message >= f->limits.sinks && !opens_loop && is_in_reach(f, from);
}

/* Where texts have names, the marker must have one too: only then can it name the others. */
static bool may_carry(const struct fold *f, const struct fold_part *p) {
    return is_open_result(p) && (p->len || !f->limits.handle);
}

/* The next old result behind this place: it will say how many steps are missing before it. */
static size_t carrier(struct fold *f, size_t from) {
    if (f->carrier < from) f->carrier = from;
    while (f->carrier < f->aged && !may_carry(f, &f->parts.at[f->carrier])) f->carrier++;
    return f->carrier < f->aged ? f->carrier : SIZE_MAX;
}

static paucis_err drop_step(struct fold *f, size_t from, size_t to, size_t carries) {
    struct span text =
        paucis__words(f->arena, "[%n earlier steps, and %m bytes of this output, left out]",
                      SPAN(""), ++f->dropped_steps, f->parts.at[carries].len);
    if (!text.at) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(paucis__fold_sign(f, carries, &text));
    PAUCIS_TRY(paucis__fold_take(f, carries, FORM_MARKER, text, "the budget"));
    for (size_t i = from; i < to; i++) {
        bool first = i == from || f->parts.at[i].message != f->parts.at[i - 1].message;
        f->dropped_messages += first;
        PAUCIS_TRY(paucis__fold_take(f, i, FORM_GONE, SPAN(""), STEP_IS_GONE));
    }
    /* However short their texts, the JSON of two steps is longer than all notes of a marker. */
    if (f->dropped_steps > 1 && from < f->roomy) f->roomy = from;
    return PAUCIS_OK;
}

/* Drops the oldest steps, as long as there is an old result behind them that can say so. */
static paucis_err drop_steps(struct fold *f, size_t *first) {
    size_t *at = &f->stage[STAGE_STEPS];
    while (!is_low(f) && *at < f->aged) {
        bool step = f->parts.at[*at].role == ROLE_ASSISTANT;
        size_t end = f->step_end > *at ? f->step_end : step ? step_end(f, *at) : *at + 1;
        if (end < f->parts.count) f->step_end = end; /* it may have to wait for many requests */
        size_t carries = carrier(f, end);
        if (step && carries == SIZE_MAX) break; /* it may be able to go later */
        if (step && may_drop(f, *at, end)) {
            if (*at < *first) *first = *at;
            PAUCIS_TRY(drop_step(f, *at, end, carries));
        }
        *at = end;
    }
    return PAUCIS_OK;
}

/* ---- the newest results -------------------------------------------------------------------- */

static paucis_err cap_harder(struct fold *f, size_t fresh) {
    uint64_t cap = f->limits.budget;
    for (size_t round = 0; round < LAST_CAPS && !paucis__budget_is_met(f); round++, cap /= 4)
        for (size_t i = f->parts.count; i > fresh && !paucis__budget_is_met(f); i--) {
            const struct fold_part *p = &f->parts.at[i - 1];
            size_t len = p->form == FORM_FULL ? p->len : p->now.len;
            if (is_open_result(p) && len > cap) PAUCIS_TRY(paucis__fold_cap(f, i - 1, (size_t)cap));
        }
    return PAUCIS_OK;
}

typedef paucis_err stage_fn(struct fold *f, size_t part);

paucis_err paucis__budget_force(struct fold *f, size_t fresh, size_t *first) {
    static stage_fn *const stages[] = {make_brief, make_marker, cut_arguments, cut_prose};
    *first = SIZE_MAX;
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        for (size_t *at = &f->stage[s]; *at < f->aged && !is_low(f); ++*at) {
            size_t changes = f->changed.count;
            if (!is_in_reach(f, *at)) continue;
            PAUCIS_TRY(stages[s](f, *at));
            if (f->changed.count > changes && *at < *first) *first = *at;
        }
    PAUCIS_TRY(drop_steps(f, first));
    return cap_harder(f, fresh);
}
