/* See edit.h. An edit is refused before it changes anything; so a strategy may simply try. */
#include "view/edit.h"

#include "core/chars.h"

/* Writes an edit down; room is what it saves in bytes of JSON. */
static struct edit *edit_add(struct view *v, struct why why, enum edit_op op, size_t message,
                             size_t part, int64_t room) {
    if (!VEC_ROOM(v->mem, v->edits, 1)) return NULL;
    v->room += room;
    view_message(v, view_message(v, message)->unit)->flags |= MESSAGE_TOUCHED;
    struct edit *e = &v->edits.at[v->edits.count++];
    *e = (struct edit){.why = why,
                       .op = op,
                       .message = (uint32_t)message,
                       .part = (uint32_t)part,
                       .refers = NO_INDEX,
                       .prior = NO_INDEX,
                       .room = room};
    return e;
}

/* ---- what may be edited -------------------------------------------------------------------- */

static bool is_last(const struct view *v, size_t message) {
    return v->order.count && v->order.at[v->order.count - 1] == message;
}

static bool in_loop(const struct view *v, size_t message) {
    return v->loop == NO_INDEX || message > v->loop;
}

/* May anything in this message change? */
static bool message_is_open(const struct view *v, size_t message) {
    const struct message *m = view_message(v, message);
    if ((m->flags & MESSAGE_DROPPED) || v->locked) return false;
    if (view_is_frozen(v, m) && !v->mending) return false;
    if (!v->ruled) return true;
    if (v->folded) return true;
    if (is_last(v, message) && !v->mending) return false;
    return !v->bound || v->thought == NO_INDEX || message > v->thought;
}

static bool is_blank(struct span s) {
    for (size_t i = 0; i < s.len; i++)
        if (!memchr(" \t\r\n\v\f", s.at[i], 6)) return false;
    return true;
}

/* ---- texts --------------------------------------------------------------------------------- */

/* Bytes the part's text takes up in the output, roughly: exact for one string, never too high for a
 * text that is there and never too low for a new one. */
static int64_t cost_now(const struct view *v, const struct part *p) {
    if (p->edit != NO_INDEX) {
        struct span text = v->edits.at[p->edit].text;
        return (int64_t)paucis__json_quote(text, NULL);
    }
    int64_t cost = 0;
    for (size_t i = p->slot; i < p->slot + p->nslots; i++) {
        size_t node = v->slots.at[i].node;
        cost +=
            (int64_t)(json_is_string(v->j, node) ? json_inner(v->j, node) : json_raw(v->j, node))
                .len;
    }
    return cost;
}

static int64_t cost_new(const struct part *p, struct span text, bool object) {
    size_t n = paucis__json_quote(text, NULL);
    /* a note in an object: its braces and key, and its escapes escaped once more */
    return (int64_t)(p->flags & PART_OBJECT && !object ? 2 * n + 20 : n);
}

static paucis_err edit_text(struct view *v, struct why why, size_t part, struct span text,
                            size_t refers, bool object) {
    struct part *p = view_part(v, part);
    if (!(p->flags & PART_MAY_REPLACE) || (p->flags & PART_DROPPED) || !p->nslots ||
        !message_is_open(v, p->message))
        return PAUCIS_E_INVARIANT;
    if (v->ruled && (is_blank(text) || (p->kind == PART_CALL && in_loop(v, p->message))))
        return PAUCIS_E_INVARIANT;
    int64_t room = v->no_grow ? cost_now(v, p) - cost_new(p, text, object) : 0;
    if (v->room + room < 0) return PAUCIS_E_INVARIANT;
    struct edit *e = edit_add(v, why, EDIT_REPLACE, p->message, part, room);
    if (!e) return PAUCIS_E_NOMEM;
    e->after = text.len;
    e->text = text;
    e->object = object;
    e->refers = (uint32_t)refers;
    e->prior = p->edit;
    p->edit = (uint32_t)(v->edits.count - 1);
    return PAUCIS_OK;
}

paucis_err paucis__edit_refer(struct view *v, struct why why, size_t part, struct span text,
                              size_t refers) {
    return edit_text(v, why, part, text, refers, false);
}

paucis_err paucis__edit_arguments(struct view *v, struct why why, size_t part, struct span text) {
    size_t i = 0;
    while (i < text.len && memchr(" \t\r\n", text.at[i], 4)) i++;
    return edit_text(v, why, part, text, NO_INDEX, i < text.len && text.at[i] == '{');
}

paucis_err paucis__edit_replace(struct view *v, struct why why, size_t part, struct span text) {
    return edit_text(v, why, part, text, NO_INDEX, false);
}

void paucis__edit_spell(struct view *v, size_t part, struct span quoted) {
    v->edits.at[view_part(v, part)->edit].quoted = quoted;
}

void paucis__edit_restore(struct view *v, size_t part) {
    struct part *p = view_part(v, part);
    if (p->edit == NO_INDEX) return;
    for (uint32_t i = p->edit; i != NO_INDEX; i = v->edits.at[i].prior) {
        v->room -= v->edits.at[i].room;
        v->edits.at[i].room = 0;
        v->edits.at[i].undone = true;
    }
    p->edit = NO_INDEX;
}

/* ---- parts and messages -------------------------------------------------------------------- */

static int64_t json_size(const struct view *v, size_t first, size_t last) {
    return (int64_t)(json_to(v->j, last) - json_from(v->j, first));
}

/* What earlier edits have saved of this part: it cannot be saved again with what holds it. */
static int64_t saved_of(const struct view *v, const struct part *p) {
    int64_t saved = 0;
    if (p->flags & PART_DROPPED) return json_size(v, p->node, p->node);
    for (uint32_t i = p->edit; i != NO_INDEX; i = v->edits.at[i].prior)
        saved += v->edits.at[i].room;
    return saved;
}

paucis_err paucis__edit_drop(struct view *v, struct why why, size_t part) {
    struct part *p = view_part(v, part);
    struct message *m = view_message(v, p->message);
    bool thinking = p->kind == PART_THINKING;
    if (!(p->flags & PART_MAY_DROP) || (p->flags & PART_DROPPED) || m->live < 2 ||
        (m->flags & (MESSAGE_DROPPED | MESSAGE_INSERTED)) || v->locked ||
        (view_is_frozen(v, m) && !v->mending))
        return PAUCIS_E_INVARIANT;
    bool forced = v->folded && v->bound;
    if (v->ruled && thinking && in_loop(v, p->message) && !forced) return PAUCIS_E_INVARIANT;
    if (!thinking && !message_is_open(v, p->message)) return PAUCIS_E_INVARIANT;
    int64_t room = json_size(v, p->node, p->node) - saved_of(v, p);
    struct edit *e = edit_add(v, why, EDIT_DROP, p->message, part, room);
    if (!e) return PAUCIS_E_NOMEM;
    p->flags |= PART_DROPPED;
    m->live--;
    return PAUCIS_OK;
}

bool paucis__edit_may_drop_message(const struct view *v, size_t message) {
    if (v->ruled && v->standing < 2) return false; /* the array may not become empty */
    return !(view_message(v, message)->flags & MESSAGE_TOP) && message_is_open(v, message);
}

paucis_err paucis__edit_drop_message(struct view *v, struct why why, size_t message) {
    struct message *m = view_message(v, message);
    if (!paucis__edit_may_drop_message(v, message)) return PAUCIS_E_INVARIANT;
    int64_t room = m->node ? json_size(v, m->node, m->last) : 0;
    for (size_t i = 0; v->no_grow && m->node && i < m->nparts; i++)
        room -= saved_of(v, view_part(v, m->part + i));
    struct edit *e = edit_add(v, why, EDIT_DROP_MESSAGE, message, NO_INDEX, room);
    if (!e) return PAUCIS_E_NOMEM;
    m->flags |= MESSAGE_DROPPED;
    v->standing--;
    return PAUCIS_OK;
}

paucis_err paucis__edit_drop_unit(struct view *v, struct why why, size_t unit) {
    size_t members = 0; /* still standing */
    for (size_t i = unit; i != NO_INDEX; i = view_message(v, i)->next) {
        if (view_message(v, i)->flags & MESSAGE_DROPPED) continue;
        if (!paucis__edit_may_drop_message(v, i)) return PAUCIS_E_INVARIANT;
        members++;
    }
    if (v->ruled && members >= v->standing) return PAUCIS_E_INVARIANT;
    if (!VEC_ROOM(v->mem, v->edits, members)) return PAUCIS_E_NOMEM; /* all or none */
    for (size_t i = unit; i != NO_INDEX; i = view_message(v, i)->next)
        if (!(view_message(v, i)->flags & MESSAGE_DROPPED))
            PAUCIS_TRY(paucis__edit_drop_message(v, why, i));
    return PAUCIS_OK;
}

/* Bytes an inserted message takes: its template with everything put in, and a comma. */
static int64_t cost_inserted(const struct view *v, const char *form, size_t call,
                             struct span text) {
    size_t n = strlen(form) + 1 + paucis__json_quote(text, NULL);
    if (call != NO_INDEX) {
        const struct part *c = view_part(v, call);
        if (c->id) n += json_inner(v->j, c->id).len;
        if (c->name) n += json_inner(v->j, c->name).len;
    }
    return (int64_t)n;
}

/* An id that no format's rules object to: an answer repeats it, and must not repeat a break. */
static bool is_legal_id(const struct view *v, size_t id) {
    struct span s = json_inner(v->j, id);
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool plain = is_letter(c) || is_digit(c) || c == '_' || c == '-';
        if (!plain &&
            (v->results_in_user || (unsigned char)c <= ' ' || (unsigned char)c > '~' || c == '\\'))
            return false;
    }
    return s.len > 0 && s.len <= 64;
}

/* A call without an id cannot be answered, and what the provider runs it answers itself. */
static bool may_answer(const struct view *v, size_t call) {
    const struct part *c = view_part(v, call);
    if (v->ruled && c->id && !is_legal_id(v, c->id)) return false;
    bool named = c->id || strstr(v->insert_result, "%("); /* the form can do without an id */
    return named && !(c->flags & (PART_SERVER | PART_OWN_ANSWER));
}

paucis_err paucis__edit_insert(struct view *v, struct why why, size_t after, size_t call,
                               struct span text, size_t *made) {
    const char *form = call == NO_INDEX ? v->insert_user : v->insert_result;
    if (!form || (view_message(v, after)->flags & MESSAGE_TOP) || v->locked ||
        (v->ruled ? is_blank(text) : !text.len) || (call != NO_INDEX && !may_answer(v, call)) ||
        (v->bound && v->thought != NO_INDEX && after < v->thought))
        return PAUCIS_E_INVARIANT;
    if (!VEC_ROOM(v->mem, v->messages, 1) || !VEC_ROOM(v->mem, v->parts, 1) ||
        !VEC_ROOM(v->mem, v->edits, 1) ||
        !VEC_ROOM(v->mem, v->order, v->messages.cap - v->order.count)) /* settle needs it */
        return PAUCIS_E_NOMEM;
    int64_t room = v->no_grow ? -cost_inserted(v, form, call, text) : 0;
    if (v->room + room < 0) return PAUCIS_E_INVARIANT;
    *made = v->messages.count;
    struct message *m = paucis__view_message(v, call == NO_INDEX ? ROLE_USER : ROLE_TOOL, 0);
    m->flags = MESSAGE_INSERTED;
    m->last = after < v->from_body ? (uint32_t)after : view_message(v, after)->last;
    m->insert = view_message(v, after)->insert;
    view_message(v, after)->insert = (uint32_t)*made;
    struct part *p = paucis__view_part(v, call == NO_INDEX ? PART_TEXT : PART_RESULT, 0, 0);
    p->edit = (uint32_t)v->edits.count;
    if (call != NO_INDEX) {
        p->mate = (uint32_t)call;
        p->id = view_part(v, call)->id;
        p->same = view_part(v, call)->same;
        p->name = view_part(v, call)->name;
        if (view_part(v, call)->mate == NO_INDEX)
            view_part(v, call)->mate = (uint32_t)(v->parts.count - 1);
    }
    struct edit *e = edit_add(v, why, EDIT_INSERT, *made, v->parts.count - 1, room);
    v->standing++;
    e->prior = (uint32_t)after;
    e->after = text.len;
    e->text = text;
    return PAUCIS_OK;
}

size_t paucis__edit_before(const struct view *v, const struct edit *e) {
    size_t len = 0;
    switch (e->op) {
    case EDIT_REPLACE:
        return e->prior == NO_INDEX ? paucis__view_original_len(v, e->part)
                                    : v->edits.at[e->prior].text.len;
    case EDIT_DROP: return paucis__view_text_len(v, e->part);
    case EDIT_DROP_MESSAGE:
        for (VIEW_EACH_PART(v, p, view_message(v, e->message))) len += paucis__view_text_len(v, p);
        return len;
    case EDIT_INSERT: break;
    }
    return len;
}

/* ---- the whole ----------------------------------------------------------------------------- */

void paucis__edit_settle(struct view *v) {
    v->standing = 0;
    v->order.count = 0; /* room for all messages was made when they were added */
    v->thought = NO_INDEX;
    for (size_t i = 0; i < v->from_body; i++)
        for (size_t k = i; k != NO_INDEX; k = view_message(v, k)->insert) {
            const struct message *m = view_message(v, k);
            if (m->flags & MESSAGE_DROPPED) continue;
            v->standing += !(m->flags & MESSAGE_TOP);
            v->order.at[v->order.count++] = (uint32_t)k;
            if (!v->bound) continue;
            for (VIEW_EACH_PART(v, p, m))
                if (view_part(v, p)->kind == PART_THINKING) v->thought = (uint32_t)k;
        }
}

static void undo_insert(struct view *v, const struct edit *e) {
    struct part *p = view_part(v, e->part);
    if (p->mate != NO_INDEX && view_part(v, p->mate)->mate == e->part)
        view_part(v, p->mate)->mate = NO_INDEX;
    view_message(v, e->prior)->insert = view_message(v, e->message)->insert;
    v->standing--;
    v->messages.count--; /* what was inserted last is undone first */
    v->parts.count--;
}

void paucis__edit_undo(struct view *v, size_t keep) {
    for (size_t i = 0; !keep && i < v->from_body; i++)
        view_message(v, i)->flags &= (uint8_t)~MESSAGE_TOUCHED;
    while (v->edits.count > keep) {
        const struct edit *e = &v->edits.at[--v->edits.count];
        struct message *m = view_message(v, e->message);
        v->room -= e->room;
        switch (e->op) {
        case EDIT_REPLACE:
            if (!e->undone) view_part(v, e->part)->edit = e->prior;
            break;
        case EDIT_DROP:
            view_part(v, e->part)->flags &= (uint16_t)~PART_DROPPED;
            m->live++;
            break;
        case EDIT_DROP_MESSAGE:
            m->flags &= (uint8_t)~MESSAGE_DROPPED;
            v->standing++;
            break;
        case EDIT_INSERT: undo_insert(v, e); break;
        }
    }
    paucis__edit_settle(v);
}
