/* The rules of FORMATS.md section B about turns, on the live view: who follows whom, which call
 * is answered where, what may not be empty. The API first merges neighbours of one role, so the
 * unit here is the turn: a run of messages of one role.
 *
 *   assistant [thinking, tool_use t1]        a turn that asks
 *   user [tool_result t1], user "hurry"      one turn: answers first (B-R3), then the rest
 *
 * Not judged: what needs another body to compare with (B-R13 to B-R16, B-R25, B-R30), the API
 * version (B-R31), or the pixels of an image (B-R27). Where the history is on the server (B-R33)
 * turns are not judged at all. */
#include "format/anthropic.h"
#include "format/pairs.h"
#include "format/shape.h"

struct turn {
    enum role role;   /* user, assistant or system */
    size_t from, end; /* in v->order; an empty turn is none */
};

struct turn_walk {
    struct check *c;
    struct view *v;
    struct pairs pairs;
    struct turn asked; /* assistant turn whose calls wait for their answers */
    bool client, code; /* it has calls for the client; some made by code at the provider */
    bool unfinished;   /* and a server call without its result */
    struct turn opens; /* first assistant turn after something the user said himself */
    bool opening;      /* the next one will be it */
};

static void turn_break(struct turn_walk *w, const char *rule, size_t part, size_t node,
                       const char *text) {
    const struct part *p = view_part(w->v, part);
    paucis__check_break(w->c, rule, p->message, node ? node : p->node, text);
}

/* ---- turns --------------------------------------------------------------------------------- */

static enum role turn_role(const struct message *m) {
    return m->role == ROLE_TOOL ? ROLE_USER : (enum role)m->role;
}

/* The top-level text is no turn; neither is a system message that only sets the effort. */
static bool turn_skips(const struct message *m) {
    return (m->flags & MESSAGE_TOP) || (m->role == ROLE_SYSTEM && !m->nparts);
}

static struct turn turn_next(const struct view *v, size_t from) {
    struct turn t = {ROLE_SYSTEM, from, from};
    for (; t.end < v->order.count; t.end++) {
        const struct message *m = view_message(v, v->order.at[t.end]);
        if (turn_skips(m)) {
            if (t.from == t.end) t.from++;
            continue;
        }
        if (t.from == t.end) t.role = turn_role(m);
        if (turn_role(m) != t.role) break;
    }
    return t;
}

static bool turn_is_none(const struct turn *t) { return t->from >= t->end; }

/* The live part of a turn after part p (NO_INDEX: its first), NO_INDEX past the end. *at is the
 * place in v->order, to begin with t->from. */
static size_t turn_part(const struct view *v, const struct turn *t, size_t *at, size_t p) {
    for (; *at < t->end; (*at)++, p = NO_INDEX) {
        const struct message *m = view_message(v, v->order.at[*at]);
        size_t end = m->part + m->nparts;
        p = paucis__view_live(v, p == NO_INDEX ? m->part : p + 1, end);
        if (p < end) return p;
    }
    return NO_INDEX;
}

#define TURN_EACH_PART(v, p, t)                                            \
    size_t p##_at = (t)->from, p = turn_part((v), (t), &p##_at, NO_INDEX); \
    p != NO_INDEX;                                                         \
    p = turn_part((v), (t), &p##_at, p)

static size_t turn_last_part(const struct view *v, const struct turn *t) {
    for (size_t k = t->end; k-- > t->from;) {
        const struct message *m = view_message(v, v->order.at[k]);
        for (size_t p = m->part + m->nparts; p-- > m->part;)
            if (!(view_part(v, p)->flags & PART_DROPPED)) return p;
    }
    return NO_INDEX;
}

/* ---- assistant turns ----------------------------------------------------------------------- */

static void turn_call(struct turn_walk *w, const struct turn *t, size_t call) {
    struct view *v = w->v;
    const struct part *p = view_part(v, call);
    if (!(p->flags & PART_SERVER)) {
        w->client = true;
        w->code |= (p->flags & PART_SPECIAL) && paucis__anthropic_from_code(v->j, p->node);
    }
    size_t twin = paucis__pairs_call(&w->pairs, v, call);
    if (twin == NO_INDEX) return;
    turn_break(w, "B-R4", call, p->id, "another call has this id");
    if (view_part(v, twin)->message >= v->order.at[t->from])
        w->pairs.marks[twin] |= PAIR_SHADOWED; /* a call of this turn */
}

/* The result of a server tool stands behind its call, in the same turn or, where a client's tool
 * was called in between, in a later one. */
static void turn_server_result(struct turn_walk *w, size_t result) {
    const struct part *p = view_part(w->v, result);
    size_t call = paucis__pairs_answered(&w->pairs, w->v, result);
    if (call == NO_INDEX || !(view_part(w->v, call)->flags & PART_SERVER))
        turn_break(w, "B-R22", result, p->id, "result of a server tool without its call before it");
    else if (w->pairs.marks[call] & PAIR_ANSWERED)
        turn_break(w, "B-R5", result, p->id, "second result of one call");
    else
        w->pairs.marks[call] |= PAIR_ANSWERED;
}

/* A turn that stops in the middle of a server tool is either the last or waits for the client. */
static void turn_server_calls(struct turn_walk *w, const struct turn *t, bool last) {
    for (TURN_EACH_PART(w->v, i, t)) {
        const struct part *p = view_part(w->v, i);
        if (p->kind != PART_CALL || !(p->flags & PART_SERVER) || w->pairs.marks[i]) continue;
        w->unfinished = true;
        if (!last && !w->client)
            turn_break(w, "B-R22", i, p->id, "call of a server tool without its result");
    }
}

/* The calls nobody answered in the turn after them. */
static void turn_close(struct turn_walk *w) {
    for (TURN_EACH_PART(w->v, i, &w->asked)) {
        const struct part *p = view_part(w->v, i);
        if (p->kind == PART_CALL && !(p->flags & PART_SERVER) && !w->pairs.marks[i])
            turn_break(w, "B-R1", i, p->id, "call without a result in the next message");
    }
    w->asked = (struct turn){0};
}

static void turn_assistant(struct turn_walk *w, const struct turn *t, bool last) {
    turn_close(w);
    w->asked = *t;
    w->client = w->code = w->unfinished = false;
    for (TURN_EACH_PART(w->v, i, t)) {
        const struct part *p = view_part(w->v, i);
        if (p->kind == PART_CALL)
            turn_call(w, t, i);
        else if (p->kind == PART_RESULT && (p->flags & PART_SERVER))
            turn_server_result(w, i);
    }
    turn_server_calls(w, t, last);
    size_t end = turn_last_part(w->v, t);
    if (end != NO_INDEX && view_part(w->v, end)->kind == PART_THINKING)
        turn_break(w, "B-R18", end, 0, "an assistant turn cannot end with thinking");
    if (w->opening) w->opens = *t;
    w->opening = false;
}

/* ---- user turns ---------------------------------------------------------------------------- */

/* B-R26, B-R24: what the call's own nature asks of its result. */
static void turn_matches(struct turn_walk *w, const struct part *call, size_t result) {
    const struct json *j = w->v->j;
    const struct part *p = view_part(w->v, result);
    if (!((call->flags | p->flags) & PART_SPECIAL)) return;
    size_t asked = shape_string(j, shape_get(j, call->node, "toolset_name"));
    size_t said = shape_string(j, shape_get(j, p->node, "toolset_name"));
    if (asked ? !said || !paucis__view_same_string(w->v, asked, said) : said != 0)
        turn_break(w, "B-R26", result, said, "toolset_name is not that of the call");
    size_t content = shape_array(j, shape_get(j, p->node, "content"));
    if (!content || !(asked || paucis__anthropic_from_code(j, call->node))) return;
    size_t states = 0;
    for (JSON_EACH(j, i, content)) {
        size_t type = shape_get(j, i, "type");
        if (shape_is(j, type, "text") || (asked && shape_is(j, type, "image"))) continue;
        if (asked && shape_is(j, type, "browser_state") && !states++ && !(p->flags & PART_ERROR))
            continue;
        turn_break(w, asked ? "B-R26" : "B-R24", result, i, "such a result may not hold this");
    }
}

static void turn_result(struct turn_walk *w, size_t result, bool first) {
    struct view *v = w->v;
    const struct part *p = view_part(v, result);
    size_t asked = paucis__pairs_answered(&w->pairs, v, result);
    const struct part *call = asked == NO_INDEX ? NULL : view_part(v, asked);
    /* asked by the turn before? messages of the body are numbered in order */
    if (!call || (call->flags & PART_SERVER) || turn_is_none(&w->asked) ||
        call->message < v->order.at[w->asked.from] ||
        call->message > v->order.at[w->asked.end - 1]) {
        turn_break(w, "B-R2", result, p->id, "result without its call in the message before");
        return;
    }
    if (w->pairs.marks[asked] & PAIR_ANSWERED) {
        turn_break(w, "B-R5", result, p->id, "second result of one call");
        return;
    }
    w->pairs.marks[asked] |= PAIR_ANSWERED;
    if (!first) turn_break(w, "B-R3", result, 0, "result stands behind other content");
    turn_matches(w, call, result);
}

static void turn_user(struct turn_walk *w, const struct turn *t) {
    size_t other = NO_INDEX; /* first part that is no result */
    for (TURN_EACH_PART(w->v, i, t)) {
        if (view_part(w->v, i)->kind == PART_RESULT)
            turn_result(w, i, other == NO_INDEX);
        else if (other == NO_INDEX)
            other = i;
    }
    if (other != NO_INDEX) w->opening = true;
    if (other != NO_INDEX && !turn_is_none(&w->asked) && w->client && (w->code || w->unfinished))
        turn_break(w, w->code ? "B-R24" : "B-R23", other, 0,
                   "only results may answer this assistant turn");
    turn_close(w);
}

/* ---- system turns -------------------------------------------------------------------------- */

static void turn_system(struct turn_walk *w, const struct turn *before, const struct turn *t,
                        const struct turn *after) {
    size_t message = w->v->order.at[t->from], node = view_message(w->v, message)->node;
    size_t last = turn_is_none(before) ? NO_INDEX : turn_last_part(w->v, before);
    bool follows = !turn_is_none(before) && before->role == ROLE_USER;
    if (!follows && last != NO_INDEX) { /* an assistant turn: only behind a server tool's result */
        const struct part *p = view_part(w->v, last);
        follows = p->kind == PART_RESULT && (p->flags & PART_SERVER);
    }
    if (!follows)
        paucis__check_break(w->c, "B-R9", message, node, "system message follows no user turn");
    else if (!turn_is_none(after) && after->role != ROLE_ASSISTANT)
        paucis__check_break(w->c, "B-R9", message, node, "system message before a user turn");
}

/* ---- ends of the conversation -------------------------------------------------------------- */

/* B-R8; a compaction block may open a conversation. */
static void turn_check_first(struct turn_walk *w, const struct turn *t) {
    const struct view *v = w->v;
    if (turn_is_none(t)) {
        paucis__check_break(w->c, "B-R8", NO_INDEX, v->list, "there is no message");
        return;
    }
    if (t->role != ROLE_ASSISTANT) return;
    size_t at = t->from, p = turn_part(v, t, &at, NO_INDEX);
    const struct message *m = view_message(v, v->order.at[t->from]);
    size_t block = p == NO_INDEX ? 0 : shape_object(v->j, view_part(v, p)->node);
    if (!shape_is(v->j, shape_get(v->j, block, "type"), "compaction"))
        paucis__check_break(w->c, "B-R8", v->order.at[t->from], m->node,
                            "first message is not of the user");
}

/* B-R12 */
static void turn_check_last(struct turn_walk *w, const struct turn *t) {
    struct span text;
    if (turn_is_none(t) || t->role != ROLE_ASSISTANT) return;
    size_t p = turn_last_part(w->v, t);
    if (p == NO_INDEX || view_part(w->v, p)->kind != PART_TEXT) return;
    if (paucis__view_text(w->v, p, &text) != PAUCIS_OK)
        w->c->failed = true;
    else if (text.len && strchr(" \t\r\n\v\f", text.at[text.len - 1]) && text.at[text.len - 1])
        turn_break(w, "B-R12", p, 0, "last assistant text ends in whitespace");
}

/* B-R17 */
static void turn_check_loop(struct turn_walk *w) {
    const struct json *j = w->v->j;
    size_t mode = shape_get(j, json_get(j, 0, "thinking"), "type");
    if (w->opening || turn_is_none(&w->opens) || !shape_is(j, mode, "enabled")) return;
    size_t at = w->opens.from, p = turn_part(w->v, &w->opens, &at, NO_INDEX);
    if (p != NO_INDEX && view_part(w->v, p)->kind != PART_THINKING)
        turn_break(w, "B-R17", p, 0, "the current loop does not begin with thinking");
}

static void turn_check(struct check *c) {
    struct turn_walk w = {.c = c, .v = c->v};
    if (!paucis__pairs_init(&w.pairs, c->v)) return;
    struct turn before = {0}, now = turn_next(c->v, 0);
    turn_check_first(&w, &now);
    while (!turn_is_none(&now)) {
        struct turn after = turn_next(c->v, now.end);
        if (now.role == ROLE_ASSISTANT)
            turn_assistant(&w, &now, turn_is_none(&after));
        else if (now.role == ROLE_USER)
            turn_user(&w, &now);
        else
            turn_system(&w, &before, &now, &after);
        before = now;
        now = after;
    }
    turn_close(&w);
    turn_check_last(&w, &before);
    turn_check_loop(&w);
}

/* ---- emptiness ----------------------------------------------------------------------------- */

/* In how many of its texts, as they are now, is something? Cheaper than asking for their length,
 * which counts escapes. */
static size_t part_filled(const struct view *v, const struct part *p) {
    if (p->edit != NO_INDEX) return v->edits.at[p->edit].text.len != 0;
    size_t n = 0;
    for (size_t i = p->slot; i < p->slot + p->nslots; i++)
        n += !shape_empty(v->j, v->slots.at[i].node);
    return n;
}

static void check_result_text(struct check *c, size_t message, const struct part *p) {
    const struct json *j = c->v->j;
    size_t filled = part_filled(c->v, p);
    if (filled && (filled == p->nslots || p->edit != NO_INDEX)) return;
    size_t content = shape_value(j, shape_get(j, p->node, "content"));
    bool blocks = shape_array(j, content) && !shape_empty(j, content);
    if (!blocks && (p->flags & PART_ERROR) && !filled)
        paucis__check_break(c, "B-R11", message, content ? content : p->node,
                            "result of a failed call is empty");
    if (!blocks || p->edit != NO_INDEX) return;
    for (JSON_EACH(j, i, content)) {
        size_t text = shape_string(j, shape_get(j, i, "text"));
        if (text && shape_empty(j, text) && shape_is(j, shape_get(j, i, "type"), "text"))
            paucis__check_break(c, "B-R10", message, i, "text block is empty");
    }
}

/* The last message, if it is the assistant's, may be empty as a whole, and so may a top-level
 * text. */
static void check_texts(struct check *c, size_t message, bool last) {
    const struct view *v = c->v;
    const struct message *m = view_message(v, message);
    bool may =
        (m->flags & MESSAGE_TOP) || m->role == ROLE_SYSTEM || (last && m->role == ROLE_ASSISTANT);
    if (!m->live && !may)
        paucis__check_break(c, "B-R10", message, m->node, "message has no content");
    may = (m->flags & MESSAGE_TOP) || (last && m->role == ROLE_ASSISTANT);
    for (VIEW_EACH_PART(v, i, m)) {
        const struct part *p = view_part(v, i);
        bool whole = p->node && json_is_string(v->j, p->node);
        if (p->kind == PART_TEXT && (p->nslots || p->edit != NO_INDEX) && !part_filled(v, p) &&
            !(may && whole))
            paucis__check_break(c, "B-R10", message, p->node, "text is empty");
        if (p->kind == PART_RESULT && !(p->flags & PART_SERVER)) check_result_text(c, message, p);
    }
}

void paucis__anthropic_check(struct check *c) {
    const struct view *v = c->v;
    if (c->depth) paucis__anthropic_check_shape(c);
    for (size_t k = 0; k < v->order.count; k++)
        check_texts(c, v->order.at[k], k + 1 == v->order.count);
    if (!v->locked) turn_check(c);
}
