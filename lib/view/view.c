/* See view.h. Adapters add messages, parts and slots in order; view_link then does what is the
 * same for every format. */
#include "view/view.h"

#include "core/hash.h"
#include "limits.h"
#include "view/edit.h"

/* ---- for adapters -------------------------------------------------------------------------- */

struct message *paucis__view_message(struct view *v, enum role role, size_t node) {
    struct message *m = &v->spare_message;
    if (v->messages.count >= PAUCIS_MAX_MESSAGES)
        v->failed = v->crowded = true;
    else if (VEC_ROOM(v->mem, v->messages, 1))
        m = &v->messages.at[v->messages.count++];
    else
        v->failed = true;
    *m = (struct message){.node = (uint32_t)node,
                          .last = (uint32_t)node,
                          .part = (uint32_t)v->parts.count,
                          .next = NO_INDEX,
                          .insert = NO_INDEX,
                          .role = (uint8_t)role};
    m->unit = (uint32_t)(v->messages.count - 1);
    return m;
}

struct part *paucis__view_part(struct view *v, enum kind kind, size_t node, unsigned flags) {
    struct part *p = &v->spare_part;
    if (!v->failed && VEC_ROOM(v->mem, v->parts, 1)) {
        p = &v->parts.at[v->parts.count++];
        v->messages.at[v->messages.count - 1].nparts++;
        v->messages.at[v->messages.count - 1].live++;
    } else {
        v->failed = true;
    }
    *p = (struct part){.node = (uint32_t)node,
                       .slot = (uint32_t)v->slots.count,
                       .mate = NO_INDEX,
                       .same = NO_INDEX,
                       .edit = NO_INDEX,
                       .message = (uint32_t)(v->messages.count - 1),
                       .kind = (uint8_t)kind,
                       .flags = (uint16_t)flags};
    return p;
}

void paucis__view_slot(struct view *v, size_t node, size_t host) {
    if (v->failed || !VEC_ROOM(v->mem, v->slots, 1)) {
        v->failed = true;
        return;
    }
    v->slots.at[v->slots.count++] = (struct slot){(uint32_t)node, (uint32_t)host};
    v->parts.at[v->parts.count - 1].nslots++;
}

void paucis__view_leaves(struct view *v, size_t node) {
    const struct json *j = v->j;
    size_t end = json_next(j, node);
    for (size_t i = node; i < end; i++)
        if (json_is_string(j, i) && !json_is_key(j, i)) paucis__view_slot(v, i, 0);
}

/* ---- linking ------------------------------------------------------------------------------- */

/* From a call's id to the newest call that has it: open addressing, at most half full. */
struct id_table {
    uint32_t *at; /* part index, NO_INDEX = free */
    size_t mask;
};

static uint32_t *id_find(struct view *v, const struct id_table *t, size_t id) {
    struct span s = paucis__view_string(v, id);
    if (!s.at) {
        v->failed = true;
        return &t->at[0];
    }
    size_t i = (size_t)hash_bytes(s, v->seed) & t->mask;
    while (t->at[i] != NO_INDEX && !paucis__view_same_string(v, view_part(v, t->at[i])->id, id))
        i = (i + 1) & t->mask;
    return &t->at[i];
}

static void link_pair(struct view *v, size_t call, size_t result) {
    view_part(v, result)->mate = (uint32_t)call;
    if (view_part(v, call)->mate == NO_INDEX) view_part(v, call)->mate = (uint32_t)result;
}

/* Ids are not unique in practice (some providers begin again at call_0), so a result belongs to
 * the newest call before it that has its id. Results without an id (Gemini) take the calls without
 * an id in order. */
static paucis_err link_pairs(struct view *v) {
    size_t calls = 0, size = 4;
    for (size_t p = 0; p < v->parts.count; p++) calls += view_part(v, p)->kind == PART_CALL;
    while (size < calls * 2) size *= 2;
    struct id_table t = {paucis__arena_alloc(v->arena, size * sizeof(uint32_t)), size - 1};
    if (!t.at) return PAUCIS_E_NOMEM;
    memset(t.at, 0xff, size * sizeof(uint32_t)); /* NO_INDEX */
    size_t nameless = 0; /* no call without an id before this one is still open */
    for (size_t i = 0; i < v->parts.count && !v->failed; i++) {
        struct part *p = view_part(v, i);
        if (p->kind == PART_CALL && p->id) {
            uint32_t *newest = id_find(v, &t, p->id);
            p->same = *newest == NO_INDEX ? (uint32_t)i : view_part(v, *newest)->same;
            *newest = (uint32_t)i;
        }
        if (p->kind != PART_RESULT) continue;
        if (p->id) {
            uint32_t call = *id_find(v, &t, p->id);
            if (call == NO_INDEX) continue;
            p->same = view_part(v, call)->same;
            link_pair(v, call, i);
            continue;
        }
        for (; nameless < i; nameless++) {
            struct part *c = view_part(v, nameless);
            if (c->kind == PART_CALL && !c->id && c->mate == NO_INDEX) break;
        }
        if (nameless < i) link_pair(v, nameless, i);
    }
    return v->failed ? PAUCIS_E_NOMEM : PAUCIS_OK;
}

static bool only_results(const struct view *v, const struct message *m) {
    for (size_t p = m->part; p < m->part + m->nparts; p++)
        if (view_part(v, p)->kind != PART_RESULT && !(view_part(v, p)->flags & PART_MARK))
            return false;
    return m->nparts > 0 && !(view_part(v, m->part)->flags & PART_MARK);
}

/* The message whose unit message i joins: the assistant message before it, or the one that made the
 * first call it answers; itself if none. */
static size_t link_leader(const struct view *v, size_t i) {
    const struct message *m = view_message(v, i);
    if (m->role == ROLE_ASSISTANT)
        return i && view_message(v, i - 1)->role == ROLE_ASSISTANT ? i - 1 : i;
    for (size_t p = m->part; p < m->part + m->nparts; p++) {
        const struct part *part = view_part(v, p);
        if (part->kind == PART_RESULT && part->mate != NO_INDEX)
            return view_part(v, part->mate)->message;
    }
    return i;
}

static paucis_err link_units(struct view *v) {
    size_t n = v->messages.count;
    uint32_t *tail = paucis__arena_alloc(v->arena, n * sizeof *tail); /* newest member of a unit */
    if (!tail) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        struct message *m = view_message(v, i);
        m->unit = view_message(v, link_leader(v, i))->unit;
        if (m->unit != i) {
            view_message(v, tail[m->unit])->next = (uint32_t)i;
            if (m->flags & MESSAGE_FROZEN) view_freeze(v, i);
        }
        tail[m->unit] = (uint32_t)i;
    }
    return PAUCIS_OK;
}

paucis_err paucis__view_link(struct view *v) {
    if (v->failed) return v->crowded ? PAUCIS_E_LIMIT : PAUCIS_E_NOMEM;
    PAUCIS_TRY(link_pairs(v));
    for (size_t i = 0; v->results_in_user && i < v->messages.count; i++) {
        struct message *m = view_message(v, i);
        if (m->role == ROLE_USER && only_results(v, m)) m->role = ROLE_TOOL;
    }
    PAUCIS_TRY(link_units(v));
    v->from_body = v->messages.count;
    v->loop = NO_INDEX;
    for (size_t i = 0; i < v->messages.count; i++)
        if (view_message(v, i)->role == ROLE_USER) v->loop = (uint32_t)i;
    if (!VEC_ROOM(v->mem, v->order, v->messages.count)) return PAUCIS_E_NOMEM;
    paucis__edit_settle(v);
    return PAUCIS_OK;
}

void paucis__view_clear(struct view *v) {
    v->messages.count = v->parts.count = v->slots.count = v->order.count = v->edits.count = 0;
    v->list = 0;
    v->from_body = 0;
    v->format = NULL;
    v->insert_user = v->insert_result = NULL;
    v->failed = v->crowded = v->ruled = v->results_in_user = false;
    v->locked = v->model_elsewhere = v->bound = v->mending = v->no_grow = false;
    v->clears_results = v->folded = v->strict = false;
    v->room = 0;
    v->loop = v->thought = NO_INDEX;
}

void paucis__view_free(struct view *v) {
    VEC_FREE(v->mem, v->messages);
    VEC_FREE(v->mem, v->parts);
    VEC_FREE(v->mem, v->slots);
    VEC_FREE(v->mem, v->order);
    VEC_FREE(v->mem, v->edits);
}

/* ---- texts --------------------------------------------------------------------------------- */

struct span paucis__view_unquoted(struct view *v, struct span quoted) {
    char *dst = paucis__arena_alloc(v->arena, quoted.len);
    return span_of(dst, dst ? paucis__json_decode(quoted, dst) : 0);
}

struct span paucis__view_string(struct view *v, size_t node) {
    if (!node) return SPAN("");
    struct span raw = json_inner(v->j, node);
    return json_node(v->j, node)->escaped ? paucis__view_unquoted(v, raw) : raw;
}

bool paucis__view_same_string(struct view *v, size_t a, size_t b) {
    const struct node *x = json_node(v->j, a), *y = json_node(v->j, b);
    struct span s = json_inner(v->j, a), t = json_inner(v->j, b);
    if (!x->escaped) return json_is_text(v->j, b, s.at, s.len);
    if (!y->escaped) return json_is_text(v->j, a, t.at, t.len);
    if (!x->unusual && !y->unusual) /* one spelling each: equal texts have equal bytes */
        return span_same(s, t);
    return paucis__json_same(s, t);
}

size_t paucis__view_string_len(const struct view *v, size_t node) {
    if (!node) return 0;
    struct span raw = json_inner(v->j, node);
    return json_node(v->j, node)->escaped ? paucis__json_decoded_len(raw) : raw.len;
}

/* A slot's text: a string's decoded, anything else as its JSON stands. */
static size_t slot_len(const struct view *v, const struct slot *s) {
    if (json_is_string(v->j, s->node)) return paucis__view_string_len(v, s->node);
    return json_raw(v->j, s->node).len;
}

static size_t slot_copy(const struct view *v, const struct slot *s, char *dst) {
    if (json_is_string(v->j, s->node)) return paucis__json_decode(json_inner(v->j, s->node), dst);
    struct span raw = json_raw(v->j, s->node);
    memcpy(dst, raw.at, raw.len);
    return raw.len;
}

size_t paucis__view_original_len(const struct view *v, size_t part) {
    const struct part *p = view_part(v, part);
    size_t len = 0;
    for (size_t i = p->slot; i < p->slot + p->nslots; i++) len += slot_len(v, &v->slots.at[i]);
    return len;
}

size_t paucis__view_text_len(const struct view *v, size_t part) {
    const struct part *p = view_part(v, part);
    return p->edit == NO_INDEX ? paucis__view_original_len(v, part) : v->edits.at[p->edit].text.len;
}

/* The text that a part came with; between its blocks a newline, if that is wanted. */
static paucis_err original(struct view *v, const struct part *p, bool newlines, struct span *text) {
    *text = SPAN("");
    if (p->nslots == 1) {
        uint32_t node = v->slots.at[p->slot].node;
        *text = json_is_string(v->j, node) ? paucis__view_string(v, node) : json_raw(v->j, node);
        return text->at ? PAUCIS_OK : PAUCIS_E_NOMEM;
    }
    if (!p->nslots) return PAUCIS_OK;
    size_t raw = p->nslots, len = 0;
    for (size_t i = p->slot; i < p->slot + p->nslots; i++)
        raw += json_raw(v->j, v->slots.at[i].node).len;
    char *dst = paucis__arena_alloc(v->arena, raw);
    if (!dst) return PAUCIS_E_NOMEM;
    for (size_t i = p->slot; i < p->slot + p->nslots; i++) {
        if (newlines && i > p->slot) dst[len++] = '\n';
        len += slot_copy(v, &v->slots.at[i], dst + len);
    }
    *text = span_of(dst, len);
    return PAUCIS_OK;
}

paucis_err paucis__view_text(struct view *v, size_t part, struct span *text) {
    const struct part *p = view_part(v, part);
    if (p->edit == NO_INDEX) return original(v, p, false, text);
    *text = v->edits.at[p->edit].text;
    return PAUCIS_OK;
}

paucis_err paucis__view_original(struct view *v, size_t part, struct span *text) {
    const struct part *p = view_part(v, part);
    return original(v, p, p->kind == PART_RESULT, text);
}

paucis_err paucis__view_lines(struct view *v, size_t part, struct span *text) {
    bool edited = view_part(v, part)->edit != NO_INDEX;
    return edited ? paucis__view_text(v, part, text) : paucis__view_original(v, part, text);
}

struct span paucis__view_quoted(const struct view *v, size_t part) {
    const struct part *p = view_part(v, part);
    uint32_t node = p->nslots == 1 ? v->slots.at[p->slot].node : 0;
    if (p->edit != NO_INDEX || !node || !json_is_string(v->j, node)) return span_of(NULL, 0);
    const struct node *n = json_node(v->j, node);
    return n->unusual && n->escaped ? span_of(NULL, 0) : json_inner(v->j, node);
}

paucis_err paucis__view_quote(struct view *v, struct span text, struct span *key) {
    size_t n = paucis__json_quote(text, NULL);
    *key = text;
    if (n == text.len) return PAUCIS_OK;
    char *dst = paucis__arena_alloc(v->arena, n);
    if (!dst) return PAUCIS_E_NOMEM;
    paucis__json_quote(text, dst);
    *key = span_of(dst, n);
    return PAUCIS_OK;
}

paucis_err paucis__view_key(struct view *v, size_t part, struct span *key) {
    *key = paucis__view_quoted(v, part);
    if (key->at) return PAUCIS_OK;
    struct span text;
    PAUCIS_TRY(paucis__view_text(v, part, &text));
    return paucis__view_quote(v, text, key);
}

uint64_t paucis__count_tokens(const struct view *v) {
    uint64_t tokens = 0;
    for (size_t i = 0; i < v->order.count; i++) {
        const struct message *m = view_message(v, v->order.at[i]);
        uint64_t bytes = 0;
        for (VIEW_EACH_PART(v, p, m))
            bytes += paucis__view_text_len(v, p) + paucis__view_string_len(v, view_part(v, p)->id) +
                     paucis__view_string_len(v, view_part(v, p)->name);
        tokens += bytes * 2 / 7 + 8;
    }
    return tokens;
}

const char *paucis__role_name(enum role r) {
    static const char *const names[] = {"system", "user", "assistant", "tool"};
    return names[r];
}

const char *paucis__kind_name(enum kind k) {
    static const char *const names[] = {"text", "call", "result", "thinking", "media", "opaque"};
    return names[k];
}
