/* See birth.h. */
#include "stable/birth.h"

#include "stable/budget.h"
#include "stable/cover.h"
#include "stable/kind_json.h"
#include "stable/never.h"
#include "stable/noise.h"

#include <string.h>

#define LEAST_REFERENCE 256 /* bytes: shorter repeats are not worth a back-reference */
#define CAP_SHARE 10        /* so much of what is above the cap stays, one in ten ... */
#define CAP_TIMES 4         /* ... but no more than so many caps */
#define RETELL_PARTS 64     /* that are looked at for a place for the legend */
#define MOST_EARLIER 32     /* results on one subject that are looked at */
#define WRITTEN_HEAD 3072   /* bytes that stay of a text that an old call has written ... */
#define REPLACED_HEAD 60    /* ... and of one that it has replaced */

/* ---- repeats ------------------------------------------------------------------------------- */

/* The place of the part that has this text, or a free one. */
static paucis_err seen_find(const struct fold *f, uint64_t hash, struct span key,
                            struct fold_seen **out) {
    for (size_t i = (size_t)hash & (f->seen_size - 1);; i = (i + 1) & (f->seen_size - 1)) {
        struct fold_seen *s = *out = &f->seen[i];
        struct span other;
        if (s->part == NO_INDEX) return PAUCIS_OK;
        if (s->hash != hash) continue;
        PAUCIS_TRY(f->source.key(f->source.ud, s->part, &other));
        if (span_same(other, key)) return PAUCIS_OK;
    }
}

static paucis_err seen_room(struct fold *f) {
    if (2 * (f->seen_count + 1) <= f->seen_size) return PAUCIS_OK;
    size_t size = f->seen_size ? 2 * f->seen_size : 64;
    struct fold_seen *seen = paucis__mem_resize(f->mem, NULL, 0, size * sizeof *seen);
    if (!seen) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < size; i++) seen[i].part = NO_INDEX;
    for (size_t i = 0; i < f->seen_size; i++) {
        size_t to = (size_t)f->seen[i].hash & (size - 1);
        if (f->seen[i].part == NO_INDEX) continue;
        while (seen[to].part != NO_INDEX) to = (to + 1) & (size - 1);
        seen[to] = f->seen[i];
    }
    paucis__mem_resize(f->mem, f->seen, f->seen_size * sizeof *seen, 0);
    f->seen = seen;
    f->seen_size = size;
    return PAUCIS_OK;
}

/* The part that has this text and stands whole, or NO_INDEX; from now on it is `part` then. */
static paucis_err whole_twin(struct fold *f, size_t part, uint32_t *twin) {
    struct span key;
    struct fold_seen *s;
    *twin = NO_INDEX;
    PAUCIS_TRY(f->source.key(f->source.ud, part, &key));
    PAUCIS_TRY(seen_room(f));
    uint64_t hash = hash_bytes(key, f->forms.seed);
    PAUCIS_TRY(seen_find(f, hash, key, &s));
    if (s->part != NO_INDEX && f->parts.at[s->part].form == FORM_FULL) {
        *twin = s->part;
        return PAUCIS_OK;
    }
    f->seen_count += s->part == NO_INDEX;
    *s = (struct fold_seen){hash, (uint32_t)part};
    return PAUCIS_OK;
}

/* Only by an id that no other call before this one has. */
static paucis_err refer(struct fold *f, size_t part, uint32_t twin) {
    struct fold_part *p = &f->parts.at[part], *t = &f->parts.at[twin];
    uint32_t id = item_find(&f->ids, item_hash(t->id.at, t->id.len));
    if (!paucis__form_is_id(t->id) || id == NO_ITEM || f->ids.values.at[id] != 1) return PAUCIS_OK;
    struct span text = paucis__words(
        f->arena, "[identical to the earlier output of call %i, %n bytes]", t->id, p->len, 0);
    if (!text.at) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(paucis__fold_take(f, part, FORM_REFERENCE, text, "repeats an earlier result"));
    paucis__fold_end_rent(f, twin); /* a text is as young as the newest part that points to it */
    p->chain = t->refers;
    p->refers = twin;
    t->refers = (uint32_t)part;
    return PAUCIS_OK;
}

/* ---- texts --------------------------------------------------------------------------------- */

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

paucis_err paucis__fold_arguments(struct fold *f, size_t part, size_t head, size_t old_head,
                                  struct span *out) {
    struct fold_part *p = &f->parts.at[part];
    struct arguments_limits limits = {.head = head, .old_head = old_head, .note = SPAN("")};
    struct form_text t;
    PAUCIS_TRY(paucis__fold_text(f, part, &t));
    *out = t.text;
    if (f->limits.never && paucis__never_cut(f->limits.never, p->name, t.text)) return PAUCIS_OK;
    PAUCIS_TRY(paucis__cover_note(f, part, &limits.note));
    PAUCIS_TRY(paucis__arguments_cut(&f->arguments, f->mem, t.text, &limits, out));
    if (out->at == t.text.at) return PAUCIS_OK;
    char *copy = paucis__arena_alloc(f->arena, out->len);
    if (!copy) return PAUCIS_E_NOMEM;
    memcpy(copy, out->at, out->len);
    *out = span_of(copy, out->len);
    return PAUCIS_OK;
}

/* What may be new in a long listing grows with it, so a share of what is above the cap stays. */
static uint64_t cap_of(const struct fold *f, const struct fold_part *p, size_t len) {
    if (p->tool == TOOL_RECALL) return 0; /* it was asked for whole */
    uint64_t cap = p->tool == TOOL_READ ? f->limits.cap_read : f->limits.cap;
    uint64_t most = len > cap ? cap + (len - cap) / CAP_SHARE : cap;
    return most < CAP_TIMES * cap ? most : CAP_TIMES * cap;
}

static size_t len_now(const struct fold_part *p) {
    return p->form == FORM_FULL ? p->len : p->now.len;
}

/* The legend has a gap of its own, which is then the first of the text. */
bool paucis__birth_tells(const struct fold *f, struct span text) {
    const char *legend = f->forms.kind->legend;
    if (!legend) return false;
    size_t mine = paucis__form_gap(span_of(legend, strlen(legend))), gap = paucis__form_gap(text);
    return gap != SIZE_MAX && gap >= mine && !memcmp(text.at + gap - mine, legend, mine);
}

/* In front of the text; of JSON, which it would be no more then, inside the first string that has a
 * gap. */
static paucis_err tell(struct fold *f, size_t part, size_t most, struct span *text) {
    static const char again[] = " Run a call again to see all of its output.]\n";
    static const char recall[] =
        " A text that has a name, as in [full text: NAME, ...], is given "
        "back by the tool recall or the command: paucis recall NAME]\n";
    const char *legend = f->forms.kind->legend, *end = f->limits.handle ? recall : again;
    if (!legend || part > f->told) return PAUCIS_OK;
    size_t head = strlen(legend), n = head + strlen(end), gap = paucis__form_gap(*text);
    if (gap == SIZE_MAX || n + text->len >= most) return PAUCIS_OK;
    bool json = paucis__json_may_begin(*text);
    size_t at = json ? gap : 0;
    char *copy = paucis__arena_alloc(f->arena, n + text->len);
    if (!copy) return PAUCIS_E_NOMEM;
    memcpy(copy, text->at, at);
    memcpy(copy + at, legend, head);
    memcpy(copy + at + head, end, n - head);
    if (json) copy[at + n - 1] = ' ';
    memcpy(copy + at + n, text->at + at, text->len - at);
    *text = span_of(copy, n + text->len);
    f->told = part;
    return PAUCIS_OK;
}

paucis_err paucis__birth_legend(struct fold *f, size_t part, struct span *text) {
    return tell(f, part, len_now(&f->parts.at[part]), text);
}

paucis_err paucis__birth_retell(struct fold *f, size_t part) {
    size_t end = f->parts.count - part < RETELL_PARTS ? f->parts.count : part + RETELL_PARTS;
    for (; part < end && f->told == SIZE_MAX; part++) {
        const struct fold_part *p = &f->parts.at[part];
        struct span text = p->now;
        if (p->kind != PART_RESULT || (p->form != FORM_SHORT && p->form != FORM_CAPPED)) continue;
        if (paucis__birth_tells(f, text)) f->told = part; /* it was the first one day */
        if (f->told == part) return PAUCIS_OK;
        PAUCIS_TRY(tell(f, part, p->len, &text));
        if (f->told != part) continue;
        if (paucis__budget_has_room(f, text.len - p->now.len))
            return paucis__fold_take(f, part, p->form, text, p->reason);
        f->told = SIZE_MAX; /* the next text that is shortened tells it */
        return PAUCIS_OK;
    }
    return PAUCIS_OK;
}

paucis_err paucis__fold_cap(struct fold *f, size_t part, size_t bytes) {
    struct form_text t;
    struct span capped;
    PAUCIS_TRY(paucis__fold_text(f, part, &t));
    PAUCIS_TRY(f->forms.kind->capped(&f->forms, &t, bytes, &capped));
    PAUCIS_TRY(paucis__fold_sign(f, part, &capped));
    if (fold_tokens(capped.len) >= fold_size(&f->parts.at[part])) return PAUCIS_OK;
    PAUCIS_TRY(paucis__birth_legend(f, part, &capped));
    return paucis__fold_take(f, part, FORM_CAPPED, capped, "longer than the cap for new results");
}

/* ---- being born ---------------------------------------------------------------------------- */

/* A new result may make earlier ones out of date. Of the results on one subject those that still
 * stand for themselves are chained, the newest first. */
static paucis_err outdate(struct fold *f, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    const struct subject *subject = &f->parts.at[p->mate].subject;
    if ((p->flags & FOLD_ERROR) || !subject->what) return PAUCIS_OK;
    uint32_t place = item_add(&f->subjects, subject->what);
    if (place == NO_ITEM) return PAUCIS_E_NOMEM;
    uint32_t *newest = &f->subjects.values.at[place], *link = &p->earlier;
    *link = *newest ? *newest - 1 : NO_INDEX;
    *newest = (uint32_t)part + 1;
    for (size_t n = 0; *link != NO_INDEX && n < MOST_EARLIER; n++) {
        struct fold_part *older = &f->parts.at[*link];
        if (!subject_has(subject, &f->parts.at[older->mate].subject)) {
            link = &older->earlier;
            continue;
        }
        if (!VEC_ROOM(f->mem, f->outdated, 1)) return PAUCIS_E_NOMEM;
        f->outdated.at[f->outdated.count++] = (struct fold_outdated){*link, (uint32_t)part};
        *link = older->earlier;
    }
    return PAUCIS_OK;
}

/* The arguments of a write or edit may go once it was made. */
static paucis_err note_success(struct fold *f, size_t part) {
    const struct fold_part *p = &f->parts.at[part];
    struct fold_part *call = &f->parts.at[p->mate];
    struct form_text t;
    if (!call->brief.at || (p->flags & FOLD_ERROR)) return PAUCIS_OK;
    PAUCIS_TRY(paucis__fold_text(f, part, &t));
    if (paucis__tells_success(t.text)) call->flags |= FOLD_DONE;
    return PAUCIS_OK;
}

/* Shows a new text to the forms, and a call to the table of tools. Of arguments that may be
 * shortened one day only what stays then counts as there. *t: the text, if it was asked for at all.
 */
static paucis_err show(struct fold *f, size_t part, struct form_text *t) {
    struct fold_part *p = &f->parts.at[part];
    if (p->kind == PART_MEDIA || p->kind == PART_OPAQUE || p->kind == PART_THINKING)
        return PAUCIS_OK;
    if (p->kind == PART_RESULT && p->mate < part) {
        p->tool = f->parts.at[p->mate].tool;
        PAUCIS_TRY(outdate(f, part));
        if (p->tool == TOOL_PAGE) p->tool = TOOL_READ;
        PAUCIS_TRY(note_success(f, part));
    }
    if ((!f->forms.kind->born && p->kind != PART_CALL) || part < f->head_parts) return PAUCIS_OK;
    PAUCIS_TRY(paucis__fold_text(f, part, t));
    if (p->kind == PART_CALL) {
        uint32_t id = item_add(&f->ids, item_hash(p->id.at, p->id.len));
        if (id == NO_ITEM) return PAUCIS_E_NOMEM;
        f->ids.values.at[id]++;
        p->tool = (uint8_t)paucis__tool_of(p->name, t->text);
        PAUCIS_TRY(
            paucis__subject_of(&f->arguments.json, f->mem, p->tool, p->name, t->text, &p->subject));
        if (p->tool == TOOL_EDIT && (p->flags & FOLD_OPEN) && p->len >= LEAST_CALL)
            PAUCIS_TRY(paucis__fold_arguments(f, part, WRITTEN_HEAD, REPLACED_HEAD, &p->brief));
    }
    struct form_text stays = *t;
    if (p->brief.at) stays.text = p->brief;
    return f->forms.kind->born ? f->forms.kind->born(&f->forms, &stays) : PAUCIS_OK;
}

paucis_err paucis__birth(struct fold *f, size_t part, bool quiet) {
    struct fold_part *p = &f->parts.at[part];
    struct form_text t = {0};
    PAUCIS_TRY(show(f, part, &t));
    if (p->kind == PART_RESULT && p->tool == TOOL_RECALL && !(p->flags & FOLD_ERROR))
        f->recalls++, f->recalled += p->len;
    if (p->kind != PART_RESULT || !(p->flags & FOLD_OPEN)) return PAUCIS_OK;
    uint32_t twin = NO_INDEX;
    if (p->len >= LEAST_REFERENCE) PAUCIS_TRY(whole_twin(f, part, &twin));
    if (quiet) return PAUCIS_OK;
    if (f->limits.sent) { /* the same body once more has its forms already */
        PAUCIS_TRY(paucis__fold_text(f, part, &t));
        if (paucis__form_is_ours(t.text)) return PAUCIS_OK;
    }
    if (twin != NO_INDEX) return refer(f, part, twin);
    if (!t.text.at) PAUCIS_TRY(paucis__fold_text(f, part, &t));
    struct span clean = t.text;
    if (p->raw.at) PAUCIS_TRY(paucis__fold_sign(f, part, &clean));
    if (clean.len < p->len)
        PAUCIS_TRY(paucis__fold_take(f, part, FORM_CAPPED, clean, "colours and overwritten text"));
    uint64_t most = cap_of(f, p, t.text.len);
    return most && t.text.len > most ? paucis__fold_cap(f, part, (size_t)most) : PAUCIS_OK;
}

/* ---- memory -------------------------------------------------------------------------------- */

void paucis__births_clear(struct fold *f) {
    for (size_t i = 0; i < f->seen_size; i++) f->seen[i].part = NO_INDEX;
    f->seen_count = 0;
}

void paucis__births_free(struct fold *f) {
    paucis__mem_resize(f->mem, f->seen, f->seen_size * sizeof *f->seen, 0);
    f->seen = NULL;
    f->seen_size = 0;
}
