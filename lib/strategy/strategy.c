/* What the strategies share, and the list of them. */
#include "strategy/strategy.h"

#include "core/chars.h"
#include "core/hash.h"
#include "core/words.h"

#define STRATEGY(name) extern const struct strategy paucis__st_##name;
#include "strategy/strategies.def"
#undef STRATEGY

const struct strategy *const paucis__strategies[] = {
#define STRATEGY(name) &paucis__st_##name,
#include "strategy/strategies.def"
    NULL};

const struct strategy *paucis__strategy_named(struct span name) {
    for (const struct strategy *const *s = paucis__strategies; *s; s++)
        if (strlen((*s)->name) == name.len && memcmp((*s)->name, name.at, name.len) == 0) return *s;
    return NULL;
}

const struct option paucis__common_options[COMMON_OPTIONS] = {
    [COMMON_GROW] = SWITCH_ON("grow", "an edit may make the output longer than the input"),
    [COMMON_STEP] = NUMBER("step", 1, 1,
                           "windows move on only every so many messages, so that edits come in "
                           "batches and a prompt cache lives in between"),
    [COMMON_UNITS] =
        SWITCH_OFF("units", "windows count units (a call with its results) instead of messages"),
    [COMMON_MEND] = SWITCH_OFF("mend",
                               "no reference to a text that was cut or dropped: a later copy "
                               "takes its place"),
};

size_t paucis__pass_limit(const struct pass *p, uint64_t keep) {
    const struct view *v = p->v;
    size_t n = v->order.count, limit = n;
    if (p->common[COMMON_UNITS]) {
        uint32_t unit = NO_INDEX;
        while (limit) { /* back over messages until `keep` units have begun */
            uint32_t u = view_message(v, v->order.at[limit - 1])->unit;
            if (u != unit && !keep--) break;
            unit = u;
            limit--;
        }
    } else {
        limit = n > keep ? n - (size_t)keep : 0;
    }
    return limit - limit % (size_t)p->common[COMMON_STEP];
}

struct span paucis__pass_marker(struct pass *p, const char *form, struct span id, uint64_t n,
                                uint64_t m) {
    return paucis__words(p->v->arena, form, id, n, m);
}

struct span paucis__pass_quoted(struct pass *p, struct span text) {
    char *quoted = paucis__arena_alloc(p->v->arena, paucis__json_quote(text, NULL));
    return span_of(quoted, quoted ? paucis__json_quote(text, quoted) : 0);
}

paucis_err paucis__pass_replace(struct pass *p, size_t part, struct span text, size_t refers,
                                const char *reason, bool *done) {
    *done = false;
    if (!text.at) return PAUCIS_E_NOMEM;
    paucis_err err =
        paucis__edit_refer(p->v, (struct why){p->strategy, reason}, part, text, refers);
    *done = err == PAUCIS_OK;
    return err == PAUCIS_E_INVARIANT ? PAUCIS_OK : err;
}

/* ---- seen ---------------------------------------------------------------------------------- */

/* Most texts are the only ones of their length or repeat the first of that length, and then need
 * not be hashed at all: the first of each length has an entry under the length, and only when one
 * comes that differs do both get one under their hash. */
struct seen_entry {
    struct span key;
    uint64_t hash;
    uint32_t part; /* NO_INDEX = free */
    bool by_length;
    bool hashed; /* by_length: this key also has an entry under its hash */
};

paucis_err paucis__seen_new(struct seen *s, struct view *v, size_t most) {
    size_t size = 4;
    while (size < most * 4) size *= 2;
    s->at = paucis__arena_alloc(v->arena, size * sizeof *s->at);
    s->mask = size - 1;
    if (!s->at) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < size; i++) s->at[i].part = NO_INDEX;
    return PAUCIS_OK;
}

/* Where the key is, or where it would go. */
static struct seen_entry *seen_find(const struct seen *s, struct span key, uint64_t hash,
                                    bool by_length) {
    size_t i = (size_t)hash & s->mask;
    for (;; i = (i + 1) & s->mask) {
        struct seen_entry *e = &s->at[i];
        if (e->part == NO_INDEX) return e;
        if (e->hash != hash || e->by_length != by_length) continue;
        if (by_length ? e->key.len == key.len : span_same(e->key, key)) return e;
    }
}

static struct seen_entry *seen_by_length(const struct seen *s, const struct view *v,
                                         struct span key, uint64_t *hash) {
    *hash = ((uint64_t)key.len ^ v->seed) * 0x9e3779b97f4a7c15ULL >> 20;
    return seen_find(s, key, *hash, true);
}

static struct seen_entry *seen_by_hash(const struct seen *s, const struct view *v, struct span key,
                                       uint64_t *hash) {
    *hash = hash_bytes(key, v->seed);
    return seen_find(s, key, *hash, false);
}

size_t paucis__seen_add(struct seen *s, struct view *v, struct span key, size_t part) {
    uint64_t hash;
    struct seen_entry *first = seen_by_length(s, v, key, &hash);
    if (first->part == NO_INDEX) {
        *first = (struct seen_entry){key, hash, (uint32_t)part, true, false};
        return NO_INDEX;
    }
    if (span_same(first->key, key)) return first->part;
    if (!first->hashed) {
        struct seen_entry *e = seen_by_hash(s, v, first->key, &hash);
        *e = (struct seen_entry){first->key, hash, first->part, false, true};
        first->hashed = true;
    }
    struct seen_entry *e = seen_by_hash(s, v, key, &hash);
    if (e->part != NO_INDEX) return e->part;
    *e = (struct seen_entry){key, hash, (uint32_t)part, false, true};
    return NO_INDEX;
}

bool paucis__seen_has(const struct seen *s, const struct view *v, struct span key) {
    uint64_t hash;
    const struct seen_entry *first = seen_by_length(s, v, key, &hash);
    if (first->part == NO_INDEX || !first->hashed)
        return first->part != NO_INDEX && span_same(first->key, key);
    return seen_by_hash(s, v, key, &hash)->part != NO_INDEX;
}

paucis_err paucis__referred_parts(struct view *v, const bool **referred) {
    bool *list = paucis__arena_alloc(v->arena, v->parts.count * sizeof *list);
    if (!list) return PAUCIS_E_NOMEM;
    memset(list, 0, v->parts.count * sizeof *list);
    for (size_t i = 0; i < v->edits.count; i++)
        if (!v->edits.at[i].undone && v->edits.at[i].refers != NO_INDEX)
            list[v->edits.at[i].refers] = true;
    *referred = list;
    return PAUCIS_OK;
}

static bool is_plain_id(struct span id) {
    for (size_t i = 0; i < id.len; i++) {
        char c = id.at[i];
        if (!is_letter(c) && !is_digit(c) && !memchr("._:-", c, 4)) return false;
    }
    return id.len > 0;
}

paucis_err paucis__unclear_ids(struct view *v, enum kind kind, const bool **unclear) {
    struct seen ids;
    bool *list = paucis__arena_alloc(v->arena, v->parts.count * sizeof *list);
    if (!list) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(paucis__seen_new(&ids, v, v->parts.count));
    memset(list, 0, v->parts.count * sizeof *list);
    for (size_t i = 0; i < v->parts.count; i++) {
        if (view_part(v, i)->kind != kind) continue;
        struct span id = paucis__view_string(v, view_part(v, i)->id);
        if (!id.at) return PAUCIS_E_NOMEM;
        size_t other = paucis__seen_add(&ids, v, id, i);
        if (other != NO_INDEX) list[other] = true;
        list[i] = other != NO_INDEX || !is_plain_id(id);
    }
    *unclear = list;
    return PAUCIS_OK;
}

/* ---- mending ------------------------------------------------------------------------------- */

static bool is_gone(const struct view *v, const struct part *part) {
    return (part->flags & PART_DROPPED) ||
           (view_message(v, part->message)->flags & MESSAGE_DROPPED);
}

static bool is_whole(const struct view *v, size_t part) {
    return view_part(v, part)->edit == NO_INDEX && !is_gone(v, view_part(v, part));
}

/* The same marker with another id in it. Every marker that refers has its id behind CALL_ID, plain
 * or quoted. */
#define CALL_ID "call_id"

static struct span marker_with_id(struct pass *p, struct span marker, size_t old, size_t now) {
    struct view *v = p->v;
    struct span a = paucis__view_string(v, view_part(v, old)->id);
    struct span b = paucis__view_string(v, view_part(v, now)->id);
    size_t at = 0;
    while (memcmp(marker.at + at, CALL_ID, strlen(CALL_ID)) != 0) at++;
    at += strlen(CALL_ID);
    bool quoted = marker.at[at] == '"'; /* call_id":"ID" as opposed to call_id=ID */
    at += quoted ? 3 : 1;
    if (quoted && a.at && b.at) {
        a = paucis__pass_quoted(p, a);
        b = paucis__pass_quoted(p, b);
    }
    char *text = a.at && b.at ? paucis__arena_alloc(v->arena, marker.len + b.len) : NULL;
    if (!text) return span_of(NULL, 0);
    memcpy(text, marker.at, at);
    memcpy(text + at, b.at, b.len);
    memcpy(text + at + b.len, marker.at + at + a.len, marker.len - at - a.len);
    return span_of(text, marker.len - a.len + b.len);
}

/* With no_grow: what taking back the part's edits, or `more` bytes of JSON, costs must still fit.
 */
static bool is_affordable(const struct view *v, int64_t more) {
    return !v->no_grow || v->room >= more;
}

/* Gives the part its text back. */
static bool restore(struct view *v, size_t part) {
    int64_t cost = 0;
    for (uint32_t i = view_part(v, part)->edit; i != NO_INDEX; i = v->edits.at[i].prior)
        cost += v->edits.at[i].room;
    if (!is_affordable(v, cost)) return false;
    paucis__edit_restore(v, part);
    return true;
}

/* Lets the part's marker name `heir`. */
static paucis_err point_to(struct pass *p, size_t part, size_t heir) {
    struct view *v = p->v;
    struct edit *e = &v->edits.at[view_part(v, part)->edit];
    struct span text = marker_with_id(p, e->text, e->refers, heir);
    if (!text.at) return PAUCIS_E_NOMEM;
    /* escapes are escaped once more where arguments are an object */
    int64_t more =
        2 * ((int64_t)paucis__json_quote(text, NULL) - (int64_t)paucis__json_quote(e->text, NULL));
    if (more > 0 && !is_affordable(v, more)) return PAUCIS_OK;
    if (more > 0 && v->no_grow) {
        v->room -= more;
        e->room -= more;
    }
    e->text = text;
    e->after = text.len;
    e->refers = (uint32_t)heir;
    return PAUCIS_OK;
}

paucis_err paucis__mend_references(struct pass *p) {
    struct view *v = p->v;
    uint32_t *heir = paucis__arena_alloc(v->arena, v->parts.count * sizeof *heir);
    if (!heir) return PAUCIS_E_NOMEM;
    memset(heir, 0xff, v->parts.count * sizeof *heir); /* NO_INDEX */
    for (size_t i = 0; i < v->parts.count; i++) {
        const struct part *part = view_part(v, i);
        if (part->edit == NO_INDEX || v->edits.at[part->edit].refers == NO_INDEX) continue;
        uint32_t target = v->edits.at[part->edit].refers;
        if (is_gone(v, part) || is_whole(v, target)) continue;
        uint32_t to = heir[target];
        if (to != NO_INDEX && paucis__view_string_len(v, view_part(v, to)->id) <= MAX_MARKER_ID)
            PAUCIS_TRY(point_to(p, i, to));
        else if (restore(v, i))
            heir[target] = (uint32_t)i;
    }
    return PAUCIS_OK;
}
