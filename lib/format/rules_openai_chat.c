/* The rules of FORMATS.md section A that a body alone can break. Not judged: A-R10 to A-R15,
 * which hold for single vendors or need the body before; a history that one server refuses is
 * ordinary for the next. */
#include "format/rules_openai_chat.h"

#include "format/nested.h"
#include "format/pairs.h"
#include "format/shape.h"

/* ---- calls and answers, on the live view --------------------------------------------------- */

struct chat_walk {
    struct check *c;
    struct view *v;
    struct pairs pairs;
    size_t asked; /* message whose calls wait for their answers, NO_INDEX if none */
};

/* The old function_call: its name stands for its id (see fmt_openai_chat.c). What paucis inserts is
 * never of that kind. */
static bool chat_is_old(const struct part *p) { return p->node && p->id && p->id == p->name; }

static void chat_asks(struct chat_walk *w, size_t message) {
    struct view *v = w->v;
    for (VIEW_EACH_PART(v, i, view_message(v, message))) {
        const struct part *p = view_part(v, i);
        if (p->kind != PART_CALL) continue;
        size_t twin = paucis__pairs_call(&w->pairs, v, i);
        w->asked = message;
        if (twin == NO_INDEX || view_part(v, twin)->message != message) continue;
        w->pairs.marks[twin] |= PAIR_SHADOWED;
        paucis__check_break(w->c, "A-R4", message, p->id, "two calls of one message have this id");
    }
}

static void chat_answers(struct chat_walk *w, size_t message) {
    struct view *v = w->v;
    for (VIEW_EACH_PART(v, i, view_message(v, message))) {
        const struct part *p = view_part(v, i);
        if (p->kind != PART_RESULT) continue;
        size_t call = paucis__pairs_answered(&w->pairs, v, i),
               where = p->id ? p->id : view_message(v, message)->node;
        bool old = chat_is_old(p);
        if (call == NO_INDEX || view_part(v, call)->message != w->asked ||
            chat_is_old(view_part(v, call)) != old)
            paucis__check_break(w->c, old ? "A-R18" : "A-R3", message, where,
                                "answers no call of the assistant message before it");
        else if (w->pairs.marks[call] & PAIR_ANSWERED)
            paucis__check_break(w->c, "A-R4", message, where, "answers a call a second time");
        else
            w->pairs.marks[call] |= PAIR_ANSWERED;
    }
}

/* Something other than an answer comes: every call must have its answer by now. */
static void chat_close(struct chat_walk *w) {
    struct view *v = w->v;
    if (w->asked == NO_INDEX) return;
    for (VIEW_EACH_PART(v, i, view_message(v, w->asked))) {
        const struct part *p = view_part(v, i);
        if (p->kind == PART_CALL && !w->pairs.marks[i])
            paucis__check_break(w->c, chat_is_old(p) ? "A-R18" : "A-R2", w->asked,
                                p->id ? p->id : p->node,
                                "call is not answered by the messages right after it");
    }
    w->asked = NO_INDEX;
}

static void chat_check_calls(struct check *c) {
    struct chat_walk w = {.c = c, .v = c->v, .asked = NO_INDEX};
    if (!paucis__pairs_init(&w.pairs, c->v)) return;
    for (size_t k = 0; k < c->v->order.count; k++) {
        size_t i = c->v->order.at[k];
        enum role role = view_message(c->v, i)->role;
        if (role == ROLE_TOOL) {
            chat_answers(&w, i);
            continue;
        }
        chat_close(&w);
        if (role == ROLE_ASSISTANT) chat_asks(&w, i);
    }
    chat_close(&w);
}

/* ---- shapes that no edit changes ----------------------------------------------------------- */

/* Who refuses images outside of user messages: OpenAI's own models, and a body that names none
 * is for a deployment of one. The first row that fits decides. */
static bool chat_is_openai(const struct json *j) {
    static const struct {
        struct span prefix;
        bool openai;
    } models[] = {
        {WORD("gpt-oss"), false}, {WORD("openai/gpt-oss"), false},
        {WORD("gpt-"), true},     {WORD("chatgpt-"), true},
        {WORD("openai/"), true},  {WORD("azure/"), true},
        {WORD("ft:gpt-"), true},  {WORD("o1"), true},
        {WORD("o3"), true},       {WORD("o4"), true},
    };
    size_t model = shape_string(j, json_get(j, 0, "model"));
    if (!model) return true;
    struct span name = json_inner(j, model);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (span_begins(name, models[i].prefix)) return models[i].openai;
    }
    return false;
}

static void chat_check_blocks(struct check *c, size_t message, size_t content, bool may_image) {
    const struct json *j = c->v->j;
    if (shape_empty(j, content))
        paucis__check_break(c, "A-R16", message, content, "content array is empty");
    for (JSON_EACH(j, i, content)) {
        size_t type = shape_get(j, i, "type");
        if (!shape_string(j, type))
            paucis__check_break(c, "A-R16", message, i, "content part has no type");
        else if (!may_image && json_is(j, type, "image_url"))
            paucis__check_break(c, "A-R7", message, i, "image outside of a user message");
    }
}

/* An assistant message may do without content if it says something else. */
static bool chat_speaks_otherwise(const struct json *j, size_t node, bool assistant) {
    return assistant && (shape_value(j, json_get(j, node, "tool_calls")) ||
                         shape_value(j, json_get(j, node, "function_call")) ||
                         shape_value(j, json_get(j, node, "refusal")) ||
                         shape_value(j, json_get(j, node, "audio")));
}

static void chat_check_calls_of(struct check *c, size_t message, size_t node) {
    struct view *v = c->v;
    const struct json *j = v->j;
    size_t calls = shape_value(j, json_get(j, node, "tool_calls"));
    if (calls && (!json_is_array(j, calls) || shape_empty(j, calls)))
        paucis__check_break(c, "A-R5", message, calls,
                            "tool_calls is not an array with a call in it");
    const struct message *m = view_message(v, message);
    for (VIEW_EACH_PART(v, i, m)) {
        const struct part *p = view_part(v, i);
        if (p->kind != PART_CALL || p->edit != NO_INDEX) continue;
        size_t text = p->nslots ? v->slots.at[p->slot].node : 0;
        if (!(p->flags & PART_OBJECT) && !text)
            paucis__check_break(c, "A-R9", message, p->node,
                                "input of a custom call is not a string");
        else if ((p->flags & PART_OBJECT) &&
                 !(text && (shape_empty(j, text) || paucis__json_is_object_text(v, text))))
            paucis__check_break(c, "A-R8", message, text ? text : p->node,
                                "arguments are not the text of a JSON object");
    }
}

static void chat_check_shape(struct check *c, size_t message, bool openai) {
    const struct json *j = c->v->j;
    size_t node = view_message(c->v, message)->node;
    size_t role = shape_get(j, node, "role");
    if (!shape_string(j, role)) return;
    size_t content = json_get(j, node, "content");
    bool assistant = json_is(j, role, "assistant");
    if (shape_array(j, content)) {
        chat_check_blocks(c, message, content, !openai || json_is(j, role, "user"));
    } else if (shape_value(j, content)) {
        if (!json_is_string(j, content))
            paucis__check_break(c, "A-R6", message, content, "content is no string and no array");
    } else if (!chat_speaks_otherwise(j, node, assistant) && !json_is(j, role, "function")) {
        paucis__check_break(c, "A-R6", message, content ? content : node, "content is missing");
    }
    if (assistant) chat_check_calls_of(c, message, node);
}

void paucis__openai_chat_check(struct check *c) {
    const struct view *v = c->v;
    if (!v->order.count) paucis__check_break(c, "A-R1", NO_INDEX, v->list, "there is no message");
    if (c->depth) {
        bool openai = chat_is_openai(v->j);
        for (size_t k = 0; k < v->order.count; k++)
            if (check_goes_deep(c, v->order.at[k])) chat_check_shape(c, v->order.at[k], openai);
    }
    chat_check_calls(c);
}
