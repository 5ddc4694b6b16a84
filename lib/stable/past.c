/* See past.h. */
#include "stable/past.h"

#include <string.h>

#include "stable/stable.h"

/* ---- what is compared ---------------------------------------------------------------------- */

static XXH128_hash_t hash_on(XXH128_hash_t h, const void *at, size_t len) {
    return XXH3_128bits_withSeed(at, len, h.low64 ^ (h.high64 << 1 | h.high64 >> 63));
}

static XXH128_hash_t hash_node(XXH128_hash_t h, const struct json *j, size_t node) {
    struct span raw = node ? json_raw(j, node) : span_of("", 0);
    return hash_on(h, raw.at, raw.len);
}

/* All that the fold reads of a part. Cache marks and spaces around it are not among that. */
static XXH128_hash_t key_of(const struct fold *f, const struct view *v, size_t part,
                            unsigned flags) {
    const struct part *q = view_part(v, part);
    uint32_t mate = q->kind == PART_RESULT ? q->mate : NO_INDEX; /* a call's may come later */
    uint32_t role = view_message(v, q->message)->role;
    const uint32_t head[] = {q->message, role, q->kind, flags, mate, q->nslots};
    XXH128_hash_t h = hash_on((XXH128_hash_t){f->forms.seed, 0}, head, sizeof head);
    h = hash_node(hash_node(h, v->j, q->id), v->j, q->name);
    for (size_t i = 0; i < q->nslots; i++) h = hash_node(h, v->j, v->slots.at[q->slot + i].node);
    return h;
}

uint64_t paucis__past_roles(const struct view *v, size_t n) {
    uint64_t h = v->seed;
    for (size_t i = 0; i < n; i++)
        h = (h ^ view_message(v, i)->role ^ h >> 29) * 0x9E3779B97F4A7C15u;
    return h;
}

static XXH128_hash_t settings_of(const struct fold *f, const struct stable *s,
                                 const struct view *v) {
    const paucis_price *p = s->price;
    const uint64_t numbers[] = {(uintptr_t)s->level,
                                (uintptr_t)s->form,
                                (uintptr_t)s->handle,
                                s->budget,
                                s->fixed,
                                p->read,
                                p->write,
                                p->minimum,
                                p->match,
                                p->lookback,
                                v->bound,
                                v->strict};
    XXH128_hash_t h = hash_on((XXH128_hash_t){f->forms.seed, 0}, numbers, sizeof numbers);
    uint64_t option[STABLE_OPTIONS];
    memcpy(option, s->option, sizeof option);
    option[STABLE_ATTACH] = 0; /* see attached_alike */
    h = hash_on(h, option, sizeof option);
    const char *const texts[] = {s->never, s->still, s->cold};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        h = hash_on(h, texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) + 1 : 0);
    return h;
}

/* A proxy that meets a conversation in its middle knows only afterwards how many messages came
 * along; to a fold that has seen no more than these it is all the same. */
static bool attached_alike(const struct fold *f, uint64_t attach) {
    return attach == f->limits.attach || (attach >= f->messages && f->limits.attach >= f->messages);
}

bool paucis__past_is_of(const struct fold *f, const struct stable *s, const struct view *v) {
    return f->past.good && s->remember && !s->sent && attached_alike(f, s->option[STABLE_ATTACH]) &&
           XXH128_isEqual(f->past.settings, settings_of(f, s, v));
}

bool paucis__past_has(const struct fold *f, const struct view *v, size_t part, unsigned flags) {
    return part < f->past.keys.count &&
           XXH128_isEqual(f->past.keys.at[part], key_of(f, v, part, flags));
}

/* ---- what is kept -------------------------------------------------------------------------- */

void paucis__past_begin(struct fold *f, const struct stable *s, const struct view *v) {
    f->past.keys.count = 0;
    f->past.wanted = s->remember;
    f->past.settings = settings_of(f, s, v);
}

paucis_err paucis__past_add(struct fold *f, const struct view *v, size_t part, unsigned flags) {
    if (!VEC_ROOM(f->mem, f->past.keys, 1)) return PAUCIS_E_NOMEM;
    f->past.keys.at[f->past.keys.count++] = key_of(f, v, part, flags);
    return PAUCIS_OK;
}

/* Texts are asked for again when somebody wants them, but for two kinds: what is left of one
 * without its noise lies with the forms, and a short form may be the text itself. */
static paucis_err rebind_part(struct fold *f, struct view *v, size_t part) {
    struct fold_part *p = &f->parts.at[part];
    struct form_text t;
    p->id = paucis__view_string(v, view_part(v, part)->id);
    p->name = paucis__view_string(v, view_part(v, part)->name);
    if (!p->id.at || !p->name.at) return PAUCIS_E_NOMEM;
    if (p->raw.at) return f->source.text(f->source.ud, part, &p->raw);
    bool same = p->text.at && p->brief.at == p->text.at;
    p->text = span_of(NULL, 0);
    p->cleaned = false;
    if (!same) return PAUCIS_OK;
    PAUCIS_TRY(paucis__fold_text(f, part, &t));
    p->brief = t.text;
    return PAUCIS_OK;
}

paucis_err paucis__past_rebind(struct fold *f, struct view *v) {
    for (size_t i = 0; i < f->parts.count; i++) PAUCIS_TRY(rebind_part(f, v, i));
    return PAUCIS_OK;
}
