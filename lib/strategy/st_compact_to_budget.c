/* compact_to_budget: until the conversation fits, old results become one line, oldest first; then
 * old prose does. A running total makes it linear. */
#include "strategy/strategy.h"

enum {
    KEEP_LAST,
    MIN,
    PER_TOKEN,
    PER_MESSAGE,
    MEDIA_BYTES,
    EXACT,
    SPARE_SYSTEM,
    ARGUMENTS,
    LARGEST_FIRST,
    STEP
};

static uint64_t tokens_of(const struct pass *p, uint64_t bytes) {
    if (p->opt[EXACT]) return bytes * 1000 / p->opt[PER_TOKEN] + p->opt[PER_MESSAGE];
    /* The classic estimate is one division in single precision; volatile keeps wider registers from
     * making it better. */
    volatile float b = (float)bytes, per = (float)p->opt[PER_TOKEN] / 1000.0f;
    volatile float tokens = b / per;
    return (uint64_t)tokens + p->opt[PER_MESSAGE];
}

static uint64_t message_bytes(const struct pass *p, const struct message *m) {
    uint64_t bytes = 0;
    for (VIEW_EACH_PART(p->v, i, m)) {
        const struct part *part = view_part(p->v, i);
        if (part->kind == PART_MEDIA) {
            bytes += p->opt[MEDIA_BYTES];
            continue;
        }
        bytes += paucis__view_text_len(p->v, i) + paucis__view_string_len(p->v, part->id);
        if (part->kind == PART_CALL) bytes += paucis__view_string_len(p->v, part->name);
    }
    return bytes;
}

struct fit {
    struct pass *p;
    uint64_t *bytes; /* of each message in order */
    uint64_t total;  /* tokens */
    uint64_t target; /* tokens to come down to */
    const bool *referred;
    const uint8_t *size_class; /* of each part's text; NULL: oldest first */
};

/* Is this text one that the pass may take? A pass takes results, prose, or arguments. Prose is the
 * text of a message that has exactly one and no media beside it. */
static bool is_prose(const struct view *v, const struct message *m) {
    size_t texts = 0;
    for (VIEW_EACH_PART(v, i, m)) {
        if (view_part(v, i)->kind == PART_MEDIA) return false;
        texts += view_part(v, i)->kind == PART_TEXT;
    }
    return texts == 1;
}

static paucis_err elide(struct fit *f, size_t i, size_t part, const char *form,
                        const char *reason) {
    struct pass *p = f->p;
    size_t len = paucis__view_text_len(p->v, part);
    bool done;
    if (len < p->opt[MIN] || (f->referred && f->referred[part])) return PAUCIS_OK;
    struct span text = paucis__pass_marker(p, form, SPAN(""), len, 0);
    PAUCIS_TRY(paucis__pass_replace(p, part, text, NO_INDEX, reason, &done));
    if (!done) return PAUCIS_OK;
    f->total -= tokens_of(p, f->bytes[i]);
    f->bytes[i] = f->bytes[i] - len + text.len;
    f->total += tokens_of(p, f->bytes[i]);
    p->counts->elided_messages++;
    p->counts->elided_bytes += saturating_sub(len, text.len);
    return PAUCIS_OK;
}

static const struct {
    enum kind kind;
    const char *form, *reason;
} fit_passes[] = {
    {PART_RESULT, "(elided: %n bytes of tool result)", "over budget: old result"},
    {PART_TEXT, "(elided: %n bytes of assistant prose)", "over budget: old prose"},
    {PART_CALL, "(elided: %n bytes of arguments)", "over budget: old arguments"},
};

/* Elides what the pass is about, oldest first; of one size class only, if sizes matter. */
static paucis_err fit_messages(struct fit *f, size_t pass, size_t limit, unsigned size_class) {
    const struct view *v = f->p->v;
    for (size_t i = 1; i < limit && f->total > f->target; i++) {
        const struct message *m = view_message(v, v->order.at[i]);
        bool spared = m->role == ROLE_SYSTEM && f->p->opt[SPARE_SYSTEM];
        if (m->role == ROLE_USER || spared) continue;
        if (fit_passes[pass].kind == PART_TEXT && !is_prose(v, m)) continue;
        for (VIEW_EACH_PART(v, k, m)) {
            if (view_part(v, k)->kind != fit_passes[pass].kind || f->total <= f->target) continue;
            if (f->size_class && f->size_class[k] != size_class) continue;
            PAUCIS_TRY(elide(f, i, k, fit_passes[pass].form, fit_passes[pass].reason));
        }
    }
    return PAUCIS_OK;
}

/* The number of binary digits of each text's length: sorting by that is enough, and linear. */
static paucis_err find_size_classes(struct fit *f, unsigned *largest) {
    const struct view *v = f->p->v;
    uint8_t *list = paucis__arena_alloc(v->arena, v->parts.count);
    if (!list) return PAUCIS_E_NOMEM;
    for (size_t k = 0; k < v->parts.count; k++) {
        list[k] = 0;
        for (size_t len = paucis__view_text_len(v, k); len; len >>= 1) list[k]++;
        if (list[k] > *largest) *largest = list[k];
    }
    f->size_class = list;
    return PAUCIS_OK;
}

static paucis_err fit(struct fit *f) {
    struct pass *p = f->p;
    size_t limit = paucis__pass_limit(p, p->opt[KEEP_LAST]);
    unsigned largest = 0;
    if (f->total <= p->budget) return PAUCIS_OK;
    uint64_t saved = f->total - p->budget, beyond = saved % p->opt[STEP];
    if (beyond) saved += p->opt[STEP] - beyond;
    f->target = saturating_sub(f->total, saved);
    if (p->common[COMMON_MEND]) PAUCIS_TRY(paucis__referred_parts(p->v, &f->referred));
    if (p->opt[LARGEST_FIRST]) PAUCIS_TRY(find_size_classes(f, &largest));
    for (size_t pass = 0; pass < (p->opt[ARGUMENTS] ? 3 : 2); pass++)
        for (unsigned left = largest + 1; left > 0; left--)
            PAUCIS_TRY(fit_messages(f, pass, limit, left - 1));
    return PAUCIS_OK;
}

static paucis_err compact_to_budget_run(struct pass *p) {
    struct view *v = p->v;
    size_t n = v->order.count;
    struct fit f = {.p = p, .bytes = paucis__arena_alloc(v->arena, n * sizeof *f.bytes)};
    if (!f.bytes) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        f.bytes[i] = message_bytes(p, view_message(v, v->order.at[i]));
        f.total += tokens_of(p, f.bytes[i]);
    }
    p->counts->original_tokens = f.total;
    PAUCIS_TRY(fit(&f));
    p->counts->final_tokens = f.total;
    return PAUCIS_OK;
}

const struct strategy paucis__st_compact_to_budget = {
    .name = "compact_to_budget",
    .summary = "elide old results, then old prose, until the budget is met",
    .needs_budget = true,
    .options =
        {
            [KEEP_LAST] =
                NUMBER("compact_to_budget.keep_last", 4, 0, "messages at the end that stay"),
            [MIN] =
                NUMBER("compact_to_budget.min", 256, 0, "texts shorter than this are left alone"),
            [PER_TOKEN] = NUMBER("compact_to_budget.per_token", 3500, 1,
                                 "thousandths of a byte that make a token"),
            [PER_MESSAGE] =
                NUMBER("compact_to_budget.per_message", 8, 0, "tokens a message costs by itself"),
            [MEDIA_BYTES] = NUMBER("compact_to_budget.media_bytes", 1536, 0,
                                   "what an image or a file counts (1792 is 512 tokens)"),
            [EXACT] =
                SWITCH_OFF("compact_to_budget.exact", "whole numbers instead of single precision"),
            [SPARE_SYSTEM] = SWITCH_OFF("compact_to_budget.spare_system", "system messages stay"),
            [ARGUMENTS] =
                SWITCH_OFF("compact_to_budget.arguments", "old call arguments go as well, last"),
            [LARGEST_FIRST] = SWITCH_OFF("compact_to_budget.largest_first",
                                         "large texts go before small ones, whatever their age"),
            [STEP] = NUMBER("compact_to_budget.step", 1, 1,
                            "tokens: what is saved is rounded up to a multiple, so that the edits "
                            "stay the same for a while"),
        },
    .run = compact_to_budget_run,
};
