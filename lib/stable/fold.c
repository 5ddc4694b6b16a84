/* See fold.h. Sizes are tokens of four bytes and prices thousandths, all integers: a decision must
 * come out the same everywhere and for ever.
 *
 * The gain of a cut at p is kept in the rent tree without the price of what follows p, which grows
 * with every part for all p alike: the tree has, for each p, the rent of the stale parts from p on
 * plus (write - read) * (what need not be written again); a cut pays when that reaches
 * (write - read) * (everything). */
#include "stable/fold.h"

#include "stable/budget.h"
#include "stable/cover.h"
#include "stable/kind_json.h"
#include "stable/listed.h"
#include "stable/never.h"
#include "stable/noise.h"
#include "stable/supersede.h"

#include <string.h>

#define LEAST_REFERENCE 256 /* bytes: shorter repeats are not worth a back-reference */
#define LEAST_BRIEF 256     /* bytes: shorter results stay as they are */
#define PINNED 4            /* windows that a recalled text stays: it was missed once */
#define MAX_WAIT 64         /* messages: superseded results wait no longer, whatever the window */
#define ANY_RISK 1000000    /* thousandths: from here on a cut is never too dear */

static int64_t rewrite_price(const struct fold *f) {
    return (int64_t)f->limits.price.write - (int64_t)f->limits.price.read;
}

static int64_t size_now(const struct fold_part *p) {
    if (p->form == FORM_GONE) return 0;
    return fold_tokens(p->form == FORM_FULL ? p->len : p->now.len);
}

static bool is_bound(const struct fold_part *p) {
    return (p->flags & FOLD_BOUND) && p->form != FORM_GONE;
}

/* Bound thinking that a cut before it removes. */
static bool goes_with_cut(const struct fold *f, const struct fold_part *p) {
    return is_bound(p) && (p->flags & FOLD_OPEN) && !f->limits.keep_thinking;
}

static bool has_reach(const struct fold *f) {
    return f->limits.price.match == PAUCIS_MATCH_BREAKPOINTS;
}

static void gain_add(struct fold *f, size_t from, size_t to, int64_t slope, int64_t at_zero) {
    if (from < to && (slope || at_zero))
        paucis__rent_add(&f->rent, from, to, (struct line){slope, at_zero});
}

/* Leaves up to and with this part, or up to where it would stand. */
static size_t leaves_to(const struct fold *f, size_t part) {
    const struct fold_part *p = &f->parts.at[part];
    return p->leaf + (p->leaf < f->leaves.count && f->leaves.at[p->leaf] == part);
}

static bool is_candidate(const struct fold *f, size_t leaf) {
    return f->candidates.at[leaf / 64] >> (leaf % 64) & 1;
}

static void set_candidate(struct fold *f, size_t leaf, bool is) {
    if (is_candidate(f, leaf) == is) return;
    f->candidates.at[leaf / 64] ^= (uint64_t)1 << (leaf % 64);
    paucis__rent_candidate(&f->rent, leaf, is);
}

/* The first leaf that may be the place of a cut. */
static size_t floor_leaf(const struct fold *f) {
    return f->floor ? f->parts.at[f->floor - 1].leaf : 0; /* bound thinking is no leaf itself */
}

/* Keeps the sums right after a part's form or flags have changed. */
static void sum_up(struct fold *f, size_t part, int64_t size_before) {
    struct fold_part *p = &f->parts.at[part];
    int64_t again = size_now(p);
    if (p->flags & FOLD_STALE) again = fold_tokens(p->brief.len);
    if (goes_with_cut(f, p)) again = 0;
    sums_change(&f->again, part, again - p->again);
    sums_change(&f->now, part, size_now(p) - size_before);
    p->again = again;
}

/* ---- adding -------------------------------------------------------------------------------- */

/* May this part ever take another form? */
static bool may_be_cut(const struct fold_part *p) {
    if (!(p->flags & FOLD_OPEN)) return false;
    return p->kind == PART_RESULT || (p->kind == PART_THINKING && !(p->flags & FOLD_BOUND));
}

static paucis_err add_leaf(struct fold *f, size_t part) {
    size_t leaf = f->leaves.count;
    if (!VEC_ROOM(f->mem, f->leaves, 1)) return PAUCIS_E_NOMEM;
    if (leaf % 64 == 0) {
        if (!VEC_ROOM(f->mem, f->candidates, 1)) return PAUCIS_E_NOMEM;
        f->candidates.at[f->candidates.count++] = 0;
    }
    PAUCIS_TRY(paucis__rent_room(&f->rent, leaf + 1));
    f->leaves.at[f->leaves.count++] = (uint32_t)part;
    gain_add(f, leaf, leaf + 1, 0, rewrite_price(f) * f->size);
    return PAUCIS_OK;
}

/* On bound models thinking behind a cut goes. It need not be written again then, but while the
 * model is still at it its loss counts too. */
static int64_t thinking_gain(const struct fold *f, const struct fold_part *p, bool in_loop) {
    int64_t size = size_now(p), lost = (int64_t)f->limits.thought * f->limits.price.write;
    return size * (rewrite_price(f) - (in_loop ? lost : 0));
}

/* A user speaks: a new tool loop begins, and the thinking of the old one is no longer present. */
static void begin_loop(struct fold *f) {
    for (size_t i = f->loop; f->limits.bound && i < f->parts.count; i++) {
        const struct fold_part *p = &f->parts.at[i];
        if (!is_bound(p)) continue;
        int64_t change = thinking_gain(f, p, false) - thinking_gain(f, p, true);
        gain_add(f, 0, leaves_to(f, i), 0, change);
    }
    f->loop = f->parts.count;
    f->loop_first = NO_INDEX;
    f->floor = f->hard_floor;
}

/* Bound thinking in the first assistant message of the loop must stay (B-R17), so no cut may fall
 * before it; nor ever before thinking that cannot go. */
static paucis_err add_bound(struct fold *f, size_t part) {
    const struct fold_part *p = &f->parts.at[part];
    if (!VEC_ROOM(f->mem, f->thoughts, 1)) return PAUCIS_E_NOMEM;
    bool stays = !goes_with_cut(f, p);
    if (stays) f->hard_floor = part + 1;
    if (stays || f->loop_first == p->message) f->floor = part + 1;
    if (!stays) f->thoughts.at[f->thoughts.count++] = (uint32_t)part;
    gain_add(f, 0, f->leaves.count, 0, thinking_gain(f, p, true));
    return PAUCIS_OK;
}

/* Is it a result that the user wants left alone? */
static paucis_err exclude(struct fold *f, struct fold_part *p) {
    struct form_text call;
    if (p->kind != PART_RESULT || !f->limits.never || p->mate >= f->parts.count) return PAUCIS_OK;
    PAUCIS_TRY(paucis__fold_text(f, p->mate, &call));
    if (paucis__never_cut(f->limits.never, f->parts.at[p->mate].name, call.text))
        p->flags &= (uint8_t)~FOLD_OPEN;
    return PAUCIS_OK;
}

paucis_err paucis__fold_add(struct fold *f, const struct fold_part *part) {
    if (!VEC_ROOM(f->mem, f->parts, 1) || !sums_append(&f->now, f->mem, 0) ||
        !sums_append(&f->again, f->mem, 0))
        return PAUCIS_E_NOMEM;
    size_t i = f->parts.count;
    if (part->role == ROLE_USER && part->kind != PART_RESULT && part->kind != PART_OPAQUE)
        begin_loop(f);
    struct fold_part *p = &f->parts.at[f->parts.count++];
    *p = *part;
    p->form = FORM_FULL;
    p->refers = p->chain = NO_INDEX;
    p->again = 0;
    p->block = f->blocks;
    f->blocks += p->kind != PART_OPAQUE;
    p->leaf = (uint32_t)f->leaves.count;
    PAUCIS_TRY(exclude(f, p));
    if (p->role == ROLE_ASSISTANT && f->loop_first == NO_INDEX) f->loop_first = p->message;
    if (may_be_cut(p)) PAUCIS_TRY(add_leaf(f, i));
    if (is_bound(p)) PAUCIS_TRY(add_bound(f, i));
    sum_up(f, i, 0);
    f->size += size_now(p);
    f->raw += size_now(p);
    if (p->role == ROLE_SYSTEM && i == f->head_parts) {
        f->head_parts++;
        f->head += size_now(p);
    }
    f->messages = p->message + 1;
    return PAUCIS_OK;
}

/* ---- taking a form ------------------------------------------------------------------------- */

/* What the other parts gain or lose when a part changes its size. */
static void resize(struct fold *f, size_t part, int64_t before, int64_t after) {
    int64_t change = after - before;
    size_t behind = leaves_to(f, part);
    f->size += change;
    if (part < f->deep) f->deep_size += change;
    size_t first_near = f->deep < f->parts.count ? f->parts.at[f->deep].leaf : f->leaves.count;
    size_t from = behind > first_near ? behind : first_near;
    gain_add(f, from, f->leaves.count, 0, rewrite_price(f) * change);
}

/* A stale part's rent, to be added (1) or taken back (-1) for all places up to it. */
static void pay_rent(struct fold *f, size_t part, int64_t sign) {
    const struct fold_part *p = &f->parts.at[part];
    int64_t saved = size_now(p) - fold_tokens(p->brief.len);
    int64_t rate = (int64_t)f->limits.price.read * saved;
    gain_add(f, 0, p->leaf + 1u, sign * rate,
             sign * (rate * (1 - p->since) + rewrite_price(f) * saved));
}

/* A part is no longer stale: it was cut, or is young again. */
static void end_rent(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    if (!(p->flags & FOLD_STALE)) return;
    pay_rent(f, part, -1);
    set_candidate(f, p->leaf, false);
    p->flags &= (uint8_t)~FOLD_STALE;
    sum_up(f, part, size_now(p));
}

/* References to a text that is whole no more: old ones say so, in the window the text is back. */
static paucis_err retell(struct fold *f, size_t part) {
    static const char reason[] = "what it repeats was cut";
    uint32_t next;
    for (uint32_t i = f->parts.at[part].refers; i != NO_INDEX; i = next) {
        next = f->parts.at[i].chain;
        if (f->parts.at[i].form != FORM_REFERENCE) continue;
        if (i >= f->aged) {
            f->parts.at[i].refers = NO_INDEX;
            PAUCIS_TRY(paucis__fold_take(f, i, FORM_FULL, SPAN(""), reason));
            continue;
        }
        struct span text =
            paucis__words(f->arena, "[identical to the output of call %i, %n bytes, cut there too]",
                          f->parts.at[part].id, f->parts.at[i].len, 0);
        if (!text.at) return PAUCIS_E_NOMEM;
        PAUCIS_TRY(paucis__fold_take(f, i, FORM_MARKER, text, reason));
    }
    f->parts.at[part].refers = NO_INDEX;
    return PAUCIS_OK;
}

paucis_err paucis__fold_take(struct fold *f, size_t part, enum form form, struct span text,
                             const char *reason) {
    struct fold_part *p = &f->parts.at[part];
    if (p->form == FORM_FULL && p->refers != NO_INDEX) PAUCIS_TRY(retell(f, part));
    if (!VEC_ROOM(f->mem, f->changed, 1)) return PAUCIS_E_NOMEM;
    if (f->limits.handle && form != FORM_FULL && form != FORM_REFERENCE) {
        if (!VEC_ROOM(f->mem, f->missing, 1)) return PAUCIS_E_NOMEM;
        f->missing.at[f->missing.count++] = (uint32_t)part;
        if (part < f->roomy && (form == FORM_GONE ? 0 : text.len) + COVER_NOTE < p->len)
            f->roomy = part;
    }
    end_rent(f, part);
    if (is_bound(p) && form == FORM_GONE)
        gain_add(f, 0, leaves_to(f, part), 0, -thinking_gain(f, p, part >= f->loop));
    int64_t before = size_now(p);
    p->form = (uint8_t)form;
    p->now = text;
    p->reason = reason;
    resize(f, part, before, size_now(p));
    sum_up(f, part, before);
    f->changed.at[f->changed.count++] = (uint32_t)part;
    return PAUCIS_OK;
}

/* ---- being born ---------------------------------------------------------------------------- */

static struct fold_seen *seen_slot(const struct fold *f, uint64_t hash, struct span key) {
    for (size_t i = hash & (f->seen_size - 1);; i = (i + 1) & (f->seen_size - 1)) {
        struct fold_seen *s = &f->seen[i];
        if (s->part == NO_INDEX) return s;
        if (s->hash == hash && s->key.len == key.len && !memcmp(s->key.at, key.at, key.len))
            return s;
    }
}

static paucis_err seen_room(struct fold *f) {
    if (2 * (f->seen_count + 1) <= f->seen_size) return PAUCIS_OK;
    struct fold old = *f;
    size_t size = f->seen_size ? 2 * f->seen_size : 64;
    struct fold_seen *seen = paucis__mem_resize(f->mem, NULL, 0, size * sizeof *seen);
    if (!seen) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < size; i++) seen[i].part = NO_INDEX;
    f->seen = seen;
    f->seen_size = size;
    for (size_t i = 0; i < old.seen_size; i++)
        if (old.seen[i].part != NO_INDEX)
            *seen_slot(f, old.seen[i].hash, old.seen[i].key) = old.seen[i];
    paucis__mem_resize(f->mem, old.seen, old.seen_size * sizeof *seen, 0);
    return PAUCIS_OK;
}

/* The part that has this text and stands whole, or NO_INDEX; from now on it is `part` then. */
static paucis_err whole_twin(struct fold *f, size_t part, uint32_t *twin) {
    struct span key;
    *twin = NO_INDEX;
    PAUCIS_TRY(f->source.key(f->source.ud, part, &key));
    PAUCIS_TRY(seen_room(f));
    uint64_t hash = hash_bytes(key, f->forms.seed);
    struct fold_seen *s = seen_slot(f, hash, key);
    if (s->part != NO_INDEX && f->parts.at[s->part].form == FORM_FULL) {
        *twin = s->part;
        return PAUCIS_OK;
    }
    f->seen_count += s->part == NO_INDEX;
    *s = (struct fold_seen){hash, key, (uint32_t)part};
    return PAUCIS_OK;
}

static paucis_err refer(struct fold *f, size_t part, uint32_t twin) {
    struct fold_part *p = &f->parts.at[part], *t = &f->parts.at[twin];
    if (!paucis__form_is_id(t->id)) return PAUCIS_OK;
    struct span text =
        paucis__words(f->arena, "[identical to the output of call %i, %n bytes]", t->id, p->len, 0);
    if (!text.at) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(paucis__fold_take(f, part, FORM_REFERENCE, text, "repeats an earlier result"));
    end_rent(f, twin); /* a text is as young as the newest part that points to it */
    p->chain = t->refers;
    p->refers = twin;
    t->refers = (uint32_t)part;
    return PAUCIS_OK;
}

/* Noise goes from what a program has printed. In a file every byte may be meant. */
static paucis_err clean(struct fold *f, struct fold_part *p) {
    p->cleaned = true;
    if (p->tool == TOOL_READ || !paucis__has_noise(p->text)) return PAUCIS_OK;
    char *copy = paucis__arena_alloc(f->arena, p->text.len);
    if (!copy) return PAUCIS_E_NOMEM;
    p->raw = p->text;
    p->text = span_of(copy, paucis__strip_noise(p->text, copy));
    return PAUCIS_OK;
}

paucis_err paucis__fold_text(struct fold *f, size_t part, struct form_text *out) {
    struct fold_part *p = &f->parts.at[part];
    bool is_result = p->kind == PART_RESULT && (p->flags & FOLD_OPEN);
    if (!p->text.at) PAUCIS_TRY(f->source.text(f->source.ud, part, &p->text));
    if (is_result && !p->cleaned) PAUCIS_TRY(clean(f, p));
    *out = (struct form_text){.text = p->text,
                              .part = part,
                              .is_result = is_result,
                              .failed = p->flags & FOLD_ERROR,
                              .tool = p->tool};
    return PAUCIS_OK;
}

static uint64_t cap_of(const struct fold *f, const struct fold_part *p) {
    if (p->tool == TOOL_RECALL) return 0; /* it was asked for whole */
    return p->tool == TOOL_READ ? f->limits.cap_read : f->limits.cap;
}

static size_t len_now(const struct fold_part *p) {
    return p->form == FORM_FULL ? p->len : p->now.len;
}

/* The first shortened text of a conversation tells how to read the others, if it has the room. */
static paucis_err add_legend(struct fold *f, size_t part, struct span *text) {
    const char *legend = f->forms.kind->legend;
    size_t n = legend ? strlen(legend) : 0;
    if (!n || f->told || n + text->len >= len_now(&f->parts.at[part])) return PAUCIS_OK;
    if (paucis__json_may_be(*text)) return PAUCIS_OK; /* it would be JSON no more */
    char *copy = paucis__arena_alloc(f->arena, n + text->len);
    if (!copy) return PAUCIS_E_NOMEM;
    memcpy(copy, legend, n);
    memcpy(copy + n, text->at, text->len);
    *text = span_of(copy, n + text->len);
    f->told = true;
    return PAUCIS_OK;
}

paucis_err paucis__fold_cap(struct fold *f, size_t part, uint64_t bytes) {
    struct form_text t;
    struct span capped;
    PAUCIS_TRY(paucis__fold_text(f, part, &t));
    PAUCIS_TRY(f->forms.kind->capped(&f->forms, &t, bytes, &capped));
    PAUCIS_TRY(paucis__fold_sign(f, part, &capped));
    if (fold_tokens(capped.len) >= size_now(&f->parts.at[part])) return PAUCIS_OK;
    PAUCIS_TRY(add_legend(f, part, &capped));
    return paucis__fold_take(f, part, FORM_CAPPED, capped, "longer than the cap for new results");
}

/* Does the same call made again answer the same question? Of a tool that nobody knows it may be the
 * next page, or what a process has printed since. */
static bool answers_again(const struct fold_part *p) {
    return !(p->flags & FOLD_ERROR) && p->tool != TOOL_OTHER && p->tool != TOOL_EDIT;
}

/* A new result may make an earlier one out of date. */
static paucis_err outdate(struct fold *f, size_t part) {
    const struct fold_part *p = &f->parts.at[part];
    size_t older;
    if (!answers_again(p)) return PAUCIS_OK;
    PAUCIS_TRY(paucis__supersede(&f->subjects, f->parts.at[p->mate].subject, part, &older));
    if (older == SIZE_MAX || !VEC_ROOM(f->mem, f->outdated, 1))
        return older == SIZE_MAX ? PAUCIS_OK : PAUCIS_E_NOMEM;
    f->outdated.at[f->outdated.count++] = (uint32_t)older;
    return PAUCIS_OK;
}

/* Shows a new text to the forms, and a call to the table of tools. *t: the text, if it was asked
 * for at all. */
static paucis_err show(struct fold *f, size_t part, struct form_text *t) {
    struct fold_part *p = &f->parts.at[part];
    if (p->kind == PART_MEDIA || p->kind == PART_OPAQUE || p->kind == PART_THINKING)
        return PAUCIS_OK;
    if (p->kind == PART_RESULT && p->mate < part) {
        p->tool = f->parts.at[p->mate].tool;
        PAUCIS_TRY(outdate(f, part));
    }
    if ((!f->forms.kind->born && p->kind != PART_CALL) || part < f->head_parts) return PAUCIS_OK;
    PAUCIS_TRY(paucis__fold_text(f, part, t));
    if (p->kind == PART_CALL) {
        p->tool = (uint8_t)paucis__tool_of(p->name, t->text);
        p->subject = paucis__subject_of(p->name, t->text);
    }
    return f->forms.kind->born ? f->forms.kind->born(&f->forms, t) : PAUCIS_OK;
}

static paucis_err be_born(struct fold *f, size_t part, bool quiet) {
    struct fold_part *p = &f->parts.at[part];
    struct form_text t = {0};
    PAUCIS_TRY(show(f, part, &t));
    if (p->kind == PART_RESULT && p->tool == TOOL_RECALL && !(p->flags & FOLD_ERROR)) {
        f->recalls++, f->recalled += p->len;
    }
    if (p->kind != PART_RESULT || !(p->flags & FOLD_OPEN)) return PAUCIS_OK;
    uint32_t twin = NO_INDEX;
    if (p->len >= LEAST_REFERENCE) PAUCIS_TRY(whole_twin(f, part, &twin));
    if (quiet) return PAUCIS_OK;
    if (twin != NO_INDEX) return refer(f, part, twin);
    if (!t.text.at) PAUCIS_TRY(paucis__fold_text(f, part, &t));
    struct span clean = t.text;
    if (p->raw.at) PAUCIS_TRY(paucis__fold_sign(f, part, &clean));
    if (clean.len < p->len)
        PAUCIS_TRY(paucis__fold_take(f, part, FORM_CAPPED, clean, "colours and overwritten text"));
    uint64_t most = cap_of(f, p);
    return most && t.text.len > most ? paucis__fold_cap(f, part, most) : PAUCIS_OK;
}

/* ---- growing stale ------------------------------------------------------------------------- */

static paucis_err stays(struct fold *f, struct span text) {
    return f->forms.kind->stays ? f->forms.kind->stays(&f->forms, text) : PAUCIS_OK;
}

static struct span superseded_text(struct fold *f, struct span text) {
    return paucis__words(f->arena, "[%n lines, superseded: the same call was made again later]",
                         SPAN(""), paucis__form_lines(text), 0);
}

/* Fixes the short form of a result: false if it has none that is shorter than it stands. */
static paucis_err fix_brief(struct fold *f, size_t part, bool *shorter) {
    struct fold_part *p = &f->parts.at[part];
    struct form_text t;
    PAUCIS_TRY(paucis__fold_text(f, part, &t));
    p->brief = t.text;
    bool done = f->limits.sent && paucis__form_is_ours(t.text);
    if (p->flags & FOLD_SUPERSEDED)
        p->brief = superseded_text(f, t.text);
    else if (p->len >= LEAST_BRIEF && !done)
        PAUCIS_TRY(f->forms.kind->brief(&f->forms, &t, &p->brief));
    if (!p->brief.at) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(paucis__fold_sign(f, part, &p->brief));
    *shorter = fold_tokens(p->brief.len) < size_now(p);
    return stays(f, *shorter ? p->brief : p->form == FORM_FULL ? t.text : p->now);
}

static paucis_err become_stale(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    bool shorter = true;
    if (p->form == FORM_GONE || (p->flags & FOLD_STALE)) return PAUCIS_OK;
    if (p->kind == PART_THINKING)
        p->brief = SPAN("");
    else if (p->brief.at) /* it was stale before, and is only as short as it was to be then */
        shorter = fold_tokens(p->brief.len) < size_now(p);
    else
        PAUCIS_TRY(fix_brief(f, part, &shorter));
    if (!shorter) return PAUCIS_OK;
    p->flags |= FOLD_STALE;
    p->since = f->turn;
    pay_rent(f, part, 1);
    set_candidate(f, p->leaf, true);
    sum_up(f, part, size_now(p));
    return PAUCIS_OK;
}

/* A part has left the window. A text is as young as the newest part that points to it. */
static paucis_err grow_old(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    if (p->form == FORM_REFERENCE) {
        size_t twin = p->refers;
        return f->parts.at[twin].refers == part ? become_stale(f, twin) : PAUCIS_OK;
    }
    if (p->flags & FOLD_SUPERSEDED) return PAUCIS_OK; /* long since */
    if (p->tool == TOOL_RECALL && !(p->flags & FOLD_ERROR)) {
        if (!VEC_ROOM(f->mem, f->pinned, 1)) return PAUCIS_E_NOMEM;
        f->pinned.at[f->pinned.count++] = (uint32_t)part;
        return PAUCIS_OK;
    }
    bool young = p->refers != NO_INDEX && f->parts.at[p->refers].message > p->message;
    return young ? PAUCIS_OK : become_stale(f, part);
}

/* Superseded results are stale at half the age of others, unless another result is the same text.
 * Not at once: a model may still be at work on what it has just read. */
static paucis_err age_outdated(struct fold *f) {
    size_t waiting = 0;
    for (size_t i = 0; i < f->outdated.count; i++) {
        size_t part = f->outdated.at[i];
        struct fold_part *p = &f->parts.at[part];
        bool fixed = p->brief.at || p->refers != NO_INDEX || !(p->flags & FOLD_OPEN) ||
                     (p->form != FORM_FULL && p->form != FORM_CAPPED);
        if (fixed) continue;
        uint64_t half = f->limits.window < MAX_WAIT ? f->limits.window / 2 : MAX_WAIT;
        if (f->messages - p->message <= half || p->message >= f->requested) {
            f->outdated.at[waiting++] = (uint32_t)part;
            continue;
        }
        p->flags |= FOLD_SUPERSEDED;
        PAUCIS_TRY(become_stale(f, part));
    }
    f->outdated.count = waiting;
    return PAUCIS_OK;
}

static paucis_err age_pinned(struct fold *f) {
    for (; f->unpinned < f->pinned.count; f->unpinned++) {
        size_t part = f->pinned.at[f->unpinned];
        uint64_t age = f->messages - f->parts.at[part].message;
        if (age / PINNED <= f->limits.window) break;
        PAUCIS_TRY(become_stale(f, part));
    }
    return PAUCIS_OK;
}

static paucis_err age(struct fold *f) {
    PAUCIS_TRY(age_outdated(f));
    PAUCIS_TRY(age_pinned(f));
    uint64_t old = f->messages > f->limits.window ? f->messages - f->limits.window : 0;
    if (old > f->requested) old = f->requested; /* what nobody has seen yet is not old */
    for (; f->aged < f->born && f->parts.at[f->aged].message < old; f->aged++) {
        const struct fold_part *p = &f->parts.at[f->aged];
        if (p->kind == PART_RESULT && (p->flags & FOLD_OPEN)) PAUCIS_TRY(grow_old(f, f->aged));
    }
    for (; f->aged_thinking < f->loop && f->parts.at[f->aged_thinking].message < old;
         f->aged_thinking++) {
        const struct fold_part *p = &f->parts.at[f->aged_thinking];
        if (p->kind == PART_THINKING && may_be_cut(p))
            PAUCIS_TRY(become_stale(f, f->aged_thinking));
    }
    return PAUCIS_OK;
}

/* Entries so far back that no breakpoint will find them. */
static void recede(struct fold *f) {
    for (; has_reach(f) && f->deep < f->parts.count; f->deep++) {
        const struct fold_part *p = &f->parts.at[f->deep];
        if (f->blocks - p->block <= f->limits.price.lookback) break;
        if (leaves_to(f, f->deep) > p->leaf)
            gain_add(f, p->leaf, p->leaf + 1u, 0, rewrite_price(f) * (f->head - f->deep_size));
        f->deep_size += size_now(p);
    }
}

/* ---- cutting ------------------------------------------------------------------------------- */

static int64_t rent_paid(const struct fold *f, const struct fold_part *p) {
    int64_t saved = size_now(p) - fold_tokens(p->brief.len);
    return (int64_t)f->limits.price.read * saved * (f->turn - p->since + 1);
}

static paucis_err shorten(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    f->cut.rent += rent_paid(f, p);
    enum form form = p->kind == PART_THINKING ? FORM_GONE : FORM_SHORT;
    const char *reason = p->kind == PART_THINKING     ? "thinking of a finished turn"
                         : p->flags & FOLD_SUPERSEDED ? "superseded"
                                                      : "older than the window";
    struct span text = p->brief;
    if (form == FORM_SHORT && !(p->flags & FOLD_SUPERSEDED)) PAUCIS_TRY(add_legend(f, part, &text));
    return paucis__fold_take(f, part, form, text, reason);
}

paucis_err paucis__fold_shorten(struct fold *f, size_t part) {
    if (!(f->parts.at[part].flags & FOLD_STALE)) PAUCIS_TRY(become_stale(f, part));
    return f->parts.at[part].flags & FOLD_STALE ? shorten(f, part) : PAUCIS_OK;
}

/* Bound thinking behind this part is no longer valid. */
static paucis_err forget_thinking(struct fold *f, size_t part) {
    while (f->thoughts.count && f->thoughts.at[f->thoughts.count - 1] > part) {
        size_t thought = f->thoughts.at[--f->thoughts.count];
        if (f->parts.at[thought].form == FORM_GONE) continue; /* with its step */
        PAUCIS_TRY(paucis__fold_take(f, thought, FORM_GONE, SPAN(""), "bound to what was cut"));
    }
    return PAUCIS_OK;
}

enum { RESULTS = 1, THINKING = 2 };

/* What of these is stale from this leaf on takes its short form, or stays after all. */
static paucis_err shorten_all(struct fold *f, size_t leaf, unsigned what, bool stays) {
    for (size_t i = leaf; i < f->leaves.count; i++) {
        if (i % 64 == 0 && !f->candidates.at[i / 64]) {
            i += 63;
            continue;
        }
        size_t part = f->leaves.at[i];
        unsigned is = f->parts.at[part].kind == PART_THINKING ? THINKING : RESULTS;
        if (!is_candidate(f, i) || !(what & is)) continue;
        if (stays)
            end_rent(f, part);
        else
            PAUCIS_TRY(shorten(f, part));
    }
    return PAUCIS_OK;
}

/* Everything stale from this leaf on takes its short form; bound thinking behind it goes. Where
 * names are given, thinking stays if there is no marker that could name it. */
static paucis_err cut_at(struct fold *f, size_t leaf) {
    size_t part = f->leaves.at[leaf], before = f->changed.count;
    PAUCIS_TRY(shorten_all(f, leaf, f->limits.handle ? RESULTS : RESULTS | THINKING, false));
    if (f->limits.handle)
        PAUCIS_TRY(shorten_all(f, leaf, THINKING, !paucis__cover_has_place(f, part)));
    if (f->changed.count > before) return forget_thinking(f, part);
    f->cut.part = SIZE_MAX;
    return PAUCIS_OK;
}

/* Tokens written again by a cut at this part: what follows the last entry that is still found. */
static int64_t rewritten(const struct fold *f, size_t part) {
    int64_t behind = f->again.total - sums_before(&f->again, part);
    return part < f->deep ? behind + sums_before(&f->now, part) - f->head : behind;
}

/* What this request would cost if nothing had ever been shortened. The system text in front is left
 * out of bills: another one must not change what follows it. */
static int64_t cost_of_none(const struct fold *f) {
    int64_t found = f->last_raw < f->head ? f->head : f->last_raw; /* less: the first request */
    return (int64_t)f->limits.price.read * (found - f->head) +
           (int64_t)f->limits.price.write * (f->raw - found);
}

/* Ski rental alone may end a session just after a cut, with nothing but its price. So no cut may
 * put the bill more than `risk` above that of doing nothing; until it can be afforded, it waits. */
static bool can_afford(const struct fold *f, size_t part) {
    int64_t written = rewritten(f, part), read = f->limits.price.read,
            write = f->limits.price.write;
    if (f->limits.risk >= ANY_RISK) return true;
    int64_t none = f->bill_of_none + cost_of_none(f);
    int64_t most = none + none / 1000 * (int64_t)f->limits.risk;
    return f->bill + read * (f->size - f->head - written) + write * written <= most;
}

/* What this request costs, with the cache as it is. */
static void pay(struct fold *f, int64_t found) {
    int64_t read = f->limits.price.read, write = f->limits.price.write;
    if (found < f->head) found = f->head;
    f->bill += read * (found - f->head) + write * (f->size - found);
    f->bill_of_none += cost_of_none(f);
    f->last_size = f->size;
    f->last_raw = f->raw;
}

static paucis_err rent_or_buy(struct fold *f, int64_t *found) {
    int64_t gain, all = rewrite_price(f) * f->size;
    size_t leaf = paucis__rent_best(&f->rent, floor_leaf(f), all, &gain);
    if (leaf == SIZE_MAX || !can_afford(f, f->leaves.at[leaf])) return PAUCIS_OK;
    size_t part = f->cut.part = f->leaves.at[leaf];
    int64_t kept = part < f->deep ? f->head : sums_before(&f->now, part);
    PAUCIS_TRY(cut_at(f, leaf));
    if (f->cut.part == SIZE_MAX) return PAUCIS_OK;
    *found = kept;
    f->cut.price = f->cut.rent - (gain - all);
    return PAUCIS_OK;
}

/* Nothing was in the cache any more, so all is written again in any case and a cut costs nothing
 * but the thinking that the model is at: everything stale takes its short form. */
static paucis_err cut_cold(struct fold *f, int64_t *found) {
    int64_t saved = 0, lost = 0;
    size_t first = SIZE_MAX;
    *found = f->last_raw = 0;
    for (size_t i = floor_leaf(f); i < f->leaves.count; i++) {
        const struct fold_part *p = &f->parts.at[f->leaves.at[i]];
        if (!is_candidate(f, i)) continue;
        if (first == SIZE_MAX) first = i;
        saved += size_now(p) - fold_tokens(p->brief.len);
    }
    if (first == SIZE_MAX) return PAUCIS_OK;
    for (size_t i = f->thoughts.count; i > 0 && f->thoughts.at[i - 1] >= f->loop; i--)
        if (f->thoughts.at[i - 1] > f->leaves.at[first])
            lost += size_now(&f->parts.at[f->thoughts.at[i - 1]]);
    if (lost * (int64_t)f->limits.thought >= saved) return PAUCIS_OK;
    f->cut.part = f->leaves.at[first];
    return cut_at(f, first);
}

/* Cuts what the budget demands. *found: what the cache still finds. */
static paucis_err keep_budget(struct fold *f, size_t fresh, int64_t *found) {
    size_t part;
    if (paucis__budget_is_met(f)) return PAUCIS_OK;
    PAUCIS_TRY(paucis__budget_force(f, fresh, &part));
    if (part == SIZE_MAX) return PAUCIS_OK;
    PAUCIS_TRY(forget_thinking(f, part));
    if (part < f->cut.part) f->cut.part = part;
    f->cut.forced = true;
    part = f->cut.part;
    *found = part < f->deep ? f->head : sums_before(&f->now, part);
    return PAUCIS_OK;
}

struct fold_cut paucis__fold_outlook(struct fold *f) {
    int64_t gain;
    size_t leaf = paucis__rent_best(&f->rent, floor_leaf(f), INT64_MIN / 4, &gain);
    struct fold_cut cut = {.part = SIZE_MAX, .messages = f->messages};
    if (leaf == SIZE_MAX) return cut;
    cut.part = f->leaves.at[leaf];
    for (size_t i = leaf; i < f->leaves.count; i++) {
        const struct fold_part *p = &f->parts.at[f->leaves.at[i]];
        if (!is_candidate(f, i)) continue;
        cut.rent += rent_paid(f, p);
        cut.saved += size_now(p) - fold_tokens(p->brief.len);
    }
    cut.price = cut.rent - (gain - rewrite_price(f) * f->size);
    return cut;
}

paucis_err paucis__fold_request(struct fold *f, bool last) {
    bool quiet = f->messages <= f->limits.attach || f->messages > f->limits.stop ||
                 (f->limits.sent && !last) || f->size - f->head < (int64_t)f->limits.gate ||
                 listed(&f->limits.still, f->messages);
    bool cold = listed(&f->limits.cold, f->messages);
    f->changed.count = 0;
    f->cut = (struct fold_cut){.part = SIZE_MAX, .messages = f->messages};
    paucis__rent_turn(&f->rent, ++f->turn);
    size_t fresh = f->born;
    f->recalls = f->recalled = 0;
    for (; f->born < f->parts.count; f->born++) PAUCIS_TRY(be_born(f, f->born, quiet));
    recede(f);
    PAUCIS_TRY(age(f));
    int64_t found = f->last_size, before = f->size; /* found: by the cache */
    if (!quiet && f->limits.cuts) PAUCIS_TRY(cold ? cut_cold(f, &found) : rent_or_buy(f, &found));
    if (!quiet) PAUCIS_TRY(keep_budget(f, fresh, &found));
    if (f->cut.part != SIZE_MAX) PAUCIS_TRY(paucis__cover_cut(f));
    f->cut.saved = before - f->size;
    if (f->cut.part != SIZE_MAX) {
        if (!VEC_ROOM(f->mem, f->cuts, 1)) return PAUCIS_E_NOMEM;
        f->cuts.at[f->cuts.count++] = f->cut;
    }
    pay(f, found);
    f->requested = f->messages;
    return PAUCIS_OK;
}

/* ---- memory -------------------------------------------------------------------------------- */

void paucis__fold_clear(struct fold *f) {
    f->past.good = false;
    f->parts.count = f->leaves.count = f->candidates.count = f->changed.count = f->thoughts.count =
        0;
    for (size_t i = 0; i < f->seen_size; i++) f->seen[i].part = NO_INDEX;
    paucis__rent_free(&f->rent);
    if (f->forms.state) f->forms.kind->clear(&f->forms);
    f->seen_count = f->born = f->aged = f->aged_thinking = f->deep = f->loop = 0;
    f->floor = f->hard_floor = f->head_parts = 0;
    f->blocks = 0;
    f->deep_size = f->turn = f->size = f->head = f->raw = 0;
    f->last_size = f->last_raw = f->bill = f->bill_of_none = 0;
    f->now.tree.count = f->again.tree.count = 0;
    f->now.total = f->again.total = 0;
    f->messages = f->requested = 0;
    f->loop_first = NO_INDEX;
    f->cuts.count = 0;
    f->cut = (struct fold_cut){.part = SIZE_MAX};
    f->outdated.count = f->missing.count = f->indexes.count = f->pinned.count = 0;
    f->unpinned = 0;
    f->recalls = f->recalled = 0;
    f->index = f->index_text = f->index_base = span_of(NULL, 0);
    f->index_part = f->roomy = SIZE_MAX;
    f->told = false;
    paucis__items_clear(&f->subjects);
    memset(f->stage, 0, sizeof f->stage);
    f->dropped_steps = f->dropped_messages = f->carrier = 0;
}

void paucis__fold_free(struct fold *f) {
    paucis__fold_clear(f);
    if (f->forms.state) f->forms.kind->free(&f->forms);
    VEC_FREE(f->mem, f->parts);
    VEC_FREE(f->mem, f->leaves);
    VEC_FREE(f->mem, f->candidates);
    VEC_FREE(f->mem, f->changed);
    VEC_FREE(f->mem, f->outdated);
    VEC_FREE(f->mem, f->missing);
    VEC_FREE(f->mem, f->pinned);
    VEC_FREE(f->mem, f->indexes);
    paucis__items_free(&f->subjects);
    VEC_FREE(f->mem, f->cuts);
    VEC_FREE(f->mem, f->now.tree);
    VEC_FREE(f->mem, f->again.tree);
    VEC_FREE(f->mem, f->thoughts);
    VEC_FREE(f->mem, f->past.keys);
    paucis__mem_resize(f->mem, f->seen, f->seen_size * sizeof *f->seen, 0);
    f->seen = NULL;
    f->seen_size = 0;
}
