/* See fold.h. Sizes are tokens of four bytes and prices thousandths, all integers: a decision must
 * come out the same everywhere and for ever.
 *
 * The gain of a cut at p is kept in the rent tree without the price of what follows p, which grows
 * with every part for all p alike: the tree has, for each p, the rent of the stale parts from p on
 * plus (write - read) * (what need not be written again); a cut pays when that reaches
 * (write - read) * (everything). */
#include "stable/fold.h"

#include "stable/birth.h"
#include "stable/budget.h"
#include "stable/cover.h"
#include "stable/listed.h"
#include "stable/never.h"

#include <string.h>

#define LEAST_BRIEF 256  /* bytes: shorter results stay as they are */
#define PINNED 4         /* windows that a recalled text stays: it was missed once */
#define MAX_WAIT 64      /* messages: superseded results wait no longer, whatever the window */
#define ANY_RISK 1000000 /* thousandths: from here on a cut is never too dear */

static int64_t rewrite_price(const struct fold *f) {
    return (int64_t)f->limits.price.write - (int64_t)f->limits.price.read;
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
    int64_t again = fold_size(p);
    if (p->flags & FOLD_STALE) again = fold_tokens(p->brief.len);
    if (goes_with_cut(f, p)) again = 0;
    sums_change(&f->again, part, again - p->again);
    sums_change(&f->now, part, fold_size(p) - size_before);
    p->again = again;
}

/* ---- adding -------------------------------------------------------------------------------- */

/* May this part ever take another form? */
static bool may_be_cut(const struct fold_part *p) {
    if (!(p->flags & FOLD_OPEN)) return false;
    if (p->kind == PART_CALL) return p->len >= LEAST_CALL;
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
    int64_t size = fold_size(p), lost = (int64_t)f->limits.thought * f->limits.price.write;
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
    p->refers = p->chain = p->earlier = NO_INDEX;
    p->again = 0;
    p->block = f->blocks;
    f->blocks += p->kind != PART_OPAQUE;
    p->leaf = (uint32_t)f->leaves.count;
    PAUCIS_TRY(exclude(f, p));
    if (p->kind == PART_RESULT && p->mate < i && f->parts.at[p->mate].mate == NO_INDEX)
        f->parts.at[p->mate].mate = (uint32_t)i;
    if (p->role == ROLE_ASSISTANT && f->loop_first == NO_INDEX) f->loop_first = p->message;
    if (may_be_cut(p)) PAUCIS_TRY(add_leaf(f, i));
    if (is_bound(p)) PAUCIS_TRY(add_bound(f, i));
    sum_up(f, i, 0);
    f->size += fold_size(p);
    f->raw += fold_size(p);
    if (p->role == ROLE_SYSTEM && i == f->head_parts) {
        f->head_parts++;
        f->head += fold_size(p);
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
    int64_t saved = fold_size(p) - fold_tokens(p->brief.len);
    int64_t rate = (int64_t)f->limits.price.read * saved;
    gain_add(f, 0, p->leaf + 1u, sign * rate,
             sign * (rate * (1 - p->since) + rewrite_price(f) * saved));
}

void paucis__fold_end_rent(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    if (!(p->flags & FOLD_STALE)) return;
    pay_rent(f, part, -1);
    set_candidate(f, p->leaf, false);
    p->flags &= (uint8_t)~FOLD_STALE;
    sum_up(f, part, fold_size(p));
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
        struct span text = paucis__words(
            f->arena, "[identical to the earlier output of call %i, %n bytes, cut there too]",
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
    if (part == f->told && !paucis__birth_tells(f, text)) f->told = SIZE_MAX;
    paucis__fold_end_rent(f, part);
    if (is_bound(p) && form == FORM_GONE)
        gain_add(f, 0, leaves_to(f, part), 0, -thinking_gain(f, p, part >= f->loop));
    int64_t before = fold_size(p);
    p->form = (uint8_t)form;
    p->now = text;
    p->reason = reason;
    resize(f, part, before, fold_size(p));
    sum_up(f, part, before);
    f->changed.at[f->changed.count++] = (uint32_t)part;
    return PAUCIS_OK;
}

/* ---- growing stale ------------------------------------------------------------------------- */

static paucis_err stays(struct fold *f, struct span text) {
    return f->forms.kind->stays ? f->forms.kind->stays(&f->forms, text) : PAUCIS_OK;
}

static struct span superseded_text(struct fold *f, struct span text) {
    return paucis__words(f->arena, "[%n lines, superseded: a later call asked for this again]",
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
    *shorter = fold_tokens(p->brief.len) < fold_size(p);
    return stays(f, *shorter ? p->brief : p->form == FORM_FULL ? t.text : p->now);
}

static paucis_err become_stale(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    bool shorter = true;
    if (p->form == FORM_GONE || (p->flags & FOLD_STALE)) return PAUCIS_OK;
    if (p->kind == PART_THINKING)
        p->brief = SPAN("");
    else if (p->brief.at) /* a call, or stale before and only as short as it was to be then */
        shorter = fold_tokens(p->brief.len) < fold_size(p);
    else
        PAUCIS_TRY(fix_brief(f, part, &shorter));
    if (!shorter) return PAUCIS_OK;
    p->flags |= FOLD_STALE;
    p->since = f->turn;
    pay_rent(f, part, 1);
    set_candidate(f, p->leaf, true);
    sum_up(f, part, fold_size(p));
    return PAUCIS_OK;
}

/* A part is old. A text is as young as the newest part that points to it. */
static paucis_err grow_old(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    if (p->form == FORM_REFERENCE) {
        size_t twin = p->refers;
        return f->parts.at[twin].refers == part ? become_stale(f, twin) : PAUCIS_OK;
    }
    if (p->flags & FOLD_SUPERSEDED) return PAUCIS_OK; /* long since */
    if (p->form == FORM_SHORT || p->form == FORM_MARKER)
        return PAUCIS_OK; /* the budget was first */
    bool young = p->refers != NO_INDEX && f->parts.at[p->refers].message > p->message;
    return young ? PAUCIS_OK : become_stale(f, part);
}

/* A part has left the window. What was recalled and what may be edited next stays for longer. */
static paucis_err leave_window(struct fold *f, size_t part) {
    const struct fold_part *p = &f->parts.at[part];
    bool reads = p->tool == TOOL_READ && f->limits.window_read > f->limits.window;
    if ((p->tool != TOOL_RECALL && !reads) || (p->flags & FOLD_ERROR)) return grow_old(f, part);
    struct fold_waiting *w = &f->waiting[reads ? WAIT_READ : WAIT_RECALLED];
    if (!VEC_ROOM(f->mem, w->parts, 1)) return PAUCIS_E_NOMEM;
    w->parts.at[w->parts.count++] = (uint32_t)part;
    return PAUCIS_OK;
}

/* Was all that the old result shows shown again? Where more was asked for, the cap may have cut
 * just that; and a file of which far less came was not read: it is gone, or "unchanged since". */
static bool stands_in_full(const struct fold *f, struct fold_outdated o) {
    const struct fold_part *old = &f->parts.at[o.part], *new = &f->parts.at[o.by];
    if (old->tool == TOOL_READ && new->len < old->len / 2) return false;
    return new->form != FORM_CAPPED ||
           subject_has(&f->parts.at[old->mate].subject, &f->parts.at[new->mate].subject);
}

/* Superseded results are stale at half the age of others, unless another result is the same text.
 * Not at once: a model may still be at work on what it has just read. */
static paucis_err age_outdated(struct fold *f) {
    size_t waiting = 0;
    for (size_t i = 0; i < f->outdated.count; i++) {
        size_t part = f->outdated.at[i].part;
        struct fold_part *p = &f->parts.at[part];
        bool fixed = p->brief.at || p->refers != NO_INDEX || !(p->flags & FOLD_OPEN) ||
                     (p->form != FORM_FULL && p->form != FORM_CAPPED);
        if (fixed || !stands_in_full(f, f->outdated.at[i])) continue;
        uint64_t half = f->limits.window < MAX_WAIT ? f->limits.window / 2 : MAX_WAIT;
        if (f->messages - p->message <= half || p->message >= f->requested) {
            f->outdated.at[waiting++] = f->outdated.at[i];
            continue;
        }
        p->flags |= FOLD_SUPERSEDED;
        PAUCIS_TRY(become_stale(f, part));
    }
    f->outdated.count = waiting;
    return PAUCIS_OK;
}

static paucis_err age_waiting(struct fold *f, struct fold_waiting *w, uint64_t window) {
    for (; w->done < w->parts.count; w->done++) {
        size_t part = w->parts.at[w->done];
        if (f->messages - f->parts.at[part].message <= window) break;
        PAUCIS_TRY(grow_old(f, part));
    }
    return PAUCIS_OK;
}

static paucis_err age(struct fold *f) {
    PAUCIS_TRY(age_outdated(f));
    uint64_t window = f->limits.window, old = f->messages > window ? f->messages - window : 0;
    PAUCIS_TRY(age_waiting(f, &f->waiting[WAIT_RECALLED], PINNED * (window + 1) - 1));
    PAUCIS_TRY(age_waiting(f, &f->waiting[WAIT_READ], f->limits.window_read));
    if (old > f->requested) old = f->requested; /* what nobody has seen yet is not old */
    for (; f->aged < f->born && f->parts.at[f->aged].message < old; f->aged++) {
        const struct fold_part *p = &f->parts.at[f->aged];
        if (p->kind == PART_RESULT && (p->flags & FOLD_OPEN)) PAUCIS_TRY(leave_window(f, f->aged));
    }
    for (; f->aged_replies < f->loop && f->parts.at[f->aged_replies].message < old;
         f->aged_replies++) {
        const struct fold_part *p = &f->parts.at[f->aged_replies];
        bool ends = p->kind == PART_THINKING || (p->kind == PART_CALL && (p->flags & FOLD_DONE));
        if (ends && may_be_cut(p)) PAUCIS_TRY(become_stale(f, f->aged_replies));
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
        f->deep_size += fold_size(p);
    }
}

/* ---- cutting ------------------------------------------------------------------------------- */

static int64_t rent_paid(const struct fold *f, const struct fold_part *p) {
    int64_t saved = fold_size(p) - fold_tokens(p->brief.len);
    return (int64_t)f->limits.price.read * saved * (f->turn - p->since + 1);
}

static paucis_err shorten(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    f->cut.rent += rent_paid(f, p);
    enum form form = p->kind == PART_THINKING ? FORM_GONE : FORM_SHORT;
    const char *reason = p->kind == PART_THINKING     ? "thinking of a finished turn"
                         : p->kind == PART_CALL       ? "arguments of a finished edit"
                         : p->flags & FOLD_SUPERSEDED ? "superseded"
                                                      : "older than the window";
    struct span text = p->brief;
    if (p->kind == PART_RESULT && !(p->flags & FOLD_SUPERSEDED))
        PAUCIS_TRY(paucis__birth_legend(f, part, &text));
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
            paucis__fold_end_rent(f, part);
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
        saved += fold_size(p) - fold_tokens(p->brief.len);
    }
    if (first == SIZE_MAX) return PAUCIS_OK;
    for (size_t i = f->thoughts.count; i > 0 && f->thoughts.at[i - 1] >= f->loop; i--)
        if (f->thoughts.at[i - 1] > f->leaves.at[first])
            lost += fold_size(&f->parts.at[f->thoughts.at[i - 1]]);
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
        cut.saved += fold_size(p) - fold_tokens(p->brief.len);
    }
    cut.price = cut.rent - (gain - rewrite_price(f) * f->size);
    return cut;
}

paucis_err paucis__fold_request(struct fold *f, bool last) {
    bool quiet = f->messages <= f->limits.attach || f->messages > f->limits.stop ||
                 (f->limits.sent && !last) || f->size - f->head < (int64_t)f->limits.gate ||
                 listed(&f->limits.still, f->messages);
    bool cold = listed(&f->limits.cold, f->messages);
    if (f->messages >= f->limits.learnt_at && f->limits.learnt < f->limits.budget)
        f->limits.budget = f->limits.learnt;
    f->changed.count = 0;
    f->cut = (struct fold_cut){.part = SIZE_MAX, .messages = f->messages};
    paucis__rent_turn(&f->rent, ++f->turn);
    size_t fresh = f->born;
    f->recalls = f->recalled = 0;
    for (; f->born < f->parts.count; f->born++) PAUCIS_TRY(paucis__birth(f, f->born, quiet));
    recede(f);
    PAUCIS_TRY(age(f));
    int64_t found = f->last_size, before = f->size; /* found: by the cache */
    size_t told = f->told;
    if (!quiet && f->limits.cuts) PAUCIS_TRY(cold ? cut_cold(f, &found) : rent_or_buy(f, &found));
    if (!quiet) PAUCIS_TRY(keep_budget(f, fresh, &found));
    if (f->told != told && f->told == SIZE_MAX) PAUCIS_TRY(paucis__birth_retell(f, told));
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
    paucis__births_clear(f);
    paucis__rent_free(&f->rent);
    if (f->forms.state) f->forms.kind->clear(&f->forms);
    f->born = f->aged = f->aged_replies = f->deep = f->loop = 0;
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
    f->outdated.count = f->missing.count = f->indexes.count = 0;
    for (size_t i = 0; i < WAITS; i++) f->waiting[i].parts.count = f->waiting[i].done = 0;
    f->recalls = f->recalled = 0;
    f->index = span_of(NULL, 0);
    f->roomy = SIZE_MAX;
    f->told = SIZE_MAX;
    paucis__items_clear(&f->subjects);
    paucis__items_clear(&f->ids);
    memset(f->stage, 0, sizeof f->stage);
    f->dropped_steps = f->dropped_messages = f->carrier = f->step_end = 0;
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
    for (size_t i = 0; i < WAITS; i++) VEC_FREE(f->mem, f->waiting[i].parts);
    VEC_FREE(f->mem, f->indexes);
    paucis__items_free(&f->subjects);
    paucis__items_free(&f->ids);
    VEC_FREE(f->mem, f->cuts);
    VEC_FREE(f->mem, f->now.tree);
    VEC_FREE(f->mem, f->again.tree);
    VEC_FREE(f->mem, f->thoughts);
    VEC_FREE(f->mem, f->past.keys);
    paucis__arguments_free(&f->arguments, f->mem);
    paucis__births_free(f);
}
