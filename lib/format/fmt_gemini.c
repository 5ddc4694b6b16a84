/* Gemini generateContent (FORMATS.md section D). A part is told by the member that holds its data;
 * a signature is a sibling of that member. Every key may be spelled in camel or in snake case, and
 * Code Assist wraps the whole in `request`.
 *
 *   {"role":"model","parts":[{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"..."}]}
 *   {"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"..."}}}]}
 *
 * A response's text is every string below `response`. Results without an id belong to the calls of
 * the turn before them by position. */
#include "format/format.h"
#include "format/words.h"
#include "plan/check.h"

/* ---- shapes -------------------------------------------------------------------------------- */

enum gemini_member { /* of a part */
                     GEMINI_TEXT,
                     GEMINI_CALL,
                     GEMINI_RESPONSE,
                     GEMINI_MEDIA,
                     GEMINI_CODE,
                     GEMINI_CODE_RESULT,
                     GEMINI_TOOL_CALL,
                     GEMINI_TOOL_RESPONSE,
                     GEMINI_UNKNOWN,
                     GEMINI_THOUGHT,
                     GEMINI_SIGNATURE,
                     GEMINI_SIDE /* about the data, not data */
};

static const struct word gemini_members[] = {
    {WORD("text"), GEMINI_TEXT, 0},
    {WORD("functionCall"), GEMINI_CALL, 0},
    {WORD("functionResponse"), GEMINI_RESPONSE, 0},
    {WORD("thoughtSignature"), GEMINI_SIGNATURE, 0},
    {WORD("thought"), GEMINI_THOUGHT, 0},
    {WORD("inlineData"), GEMINI_MEDIA, 0},
    {WORD("fileData"), GEMINI_MEDIA, 0},
    {WORD("executableCode"), GEMINI_CODE, 0},
    {WORD("codeExecutionResult"), GEMINI_CODE_RESULT, 0},
    {WORD("toolCall"), GEMINI_TOOL_CALL, 0},
    {WORD("toolResponse"), GEMINI_TOOL_RESPONSE, 0},
    {WORD("videoMetadata"), GEMINI_SIDE, 0},
    {WORD("mediaResolution"), GEMINI_SIDE, 0},
    {WORD("partMetadata"), GEMINI_SIDE, 0},
    {WORD("function_call"), GEMINI_CALL, 0},
    {WORD("function_response"), GEMINI_RESPONSE, 0},
    {WORD("thought_signature"), GEMINI_SIGNATURE, 0},
    {WORD("inline_data"), GEMINI_MEDIA, 0},
    {WORD("file_data"), GEMINI_MEDIA, 0},
    {WORD("executable_code"), GEMINI_CODE, 0},
    {WORD("code_execution_result"), GEMINI_CODE_RESULT, 0},
    {WORD("tool_call"), GEMINI_TOOL_CALL, 0},
    {WORD("tool_response"), GEMINI_TOOL_RESPONSE, 0},
    {WORD("video_metadata"), GEMINI_SIDE, 0},
    {WORD("media_resolution"), GEMINI_SIDE, 0},
    {WORD("part_metadata"), GEMINI_SIDE, 0},
    {{NULL, 0}, GEMINI_UNKNOWN, 0},
};

struct gemini_piece {              /* a part as it stands in the body */
    enum gemini_member is;         /* GEMINI_UNKNOWN if nothing known holds data */
    size_t data;                   /* value of the member that does; 0 if there is none */
    size_t datas;                  /* how many do: should be one */
    bool thought, sealed, unknown; /* unknown: there is a member not known here */
};

static struct gemini_piece gemini_piece_of(const struct json *j, size_t part) {
    struct gemini_piece p = {.is = GEMINI_UNKNOWN};
    if (!json_is_object(j, part)) return p;
    for (JSON_EACH_KEY(j, k, part)) {
        enum gemini_member is = word_find(j, k, gemini_members)->is;
        if (is == GEMINI_THOUGHT) p.thought = json_type(j, k + 1) == 't';
        if (is == GEMINI_SIGNATURE) p.sealed = shape_string(j, k + 1) && !shape_empty(j, k + 1);
        if (is == GEMINI_UNKNOWN) p.unknown = true;
        if (is >= GEMINI_UNKNOWN || json_is_null(j, k + 1)) continue;
        p.is = is;
        p.data = k + 1;
        p.datas++;
    }
    return p;
}

/* The object that has `contents`: the root, or what Code Assist wrapped. */
static size_t gemini_request_of(const struct json *j) {
    return shape_array(j, json_get(j, 0, "contents")) ? 0 : json_get(j, 0, "request");
}

static size_t gemini_either(const struct json *j, size_t object, const char *camel,
                            const char *snake) {
    size_t found = paucis__json_get(j, object, camel, strlen(camel));
    return found ? found : paucis__json_get(j, object, snake, strlen(snake));
}

/* ---- reading ------------------------------------------------------------------------------- */

/* The text of a call or a server's result: a string, or an object as it stands. */
static void gemini_slot(struct view *v, size_t text) {
    if (shape_string(v->j, text) || shape_object(v->j, text)) paucis__view_slot(v, text, 0);
}

static void gemini_read_text(struct view *v, size_t node, const struct gemini_piece *is) {
    unsigned flags = is->thought ? PART_MAY_DROP : PART_MAY_REPLACE;
    if (is->sealed) flags = PART_SEALED;
    paucis__view_part(v, is->thought ? PART_THINKING : PART_TEXT, node, flags);
    if (shape_string(v->j, is->data)) paucis__view_slot(v, is->data, 0);
}

static void gemini_read_call(struct view *v, size_t node, const struct gemini_piece *is) {
    const struct json *j = v->j;
    size_t args = json_get(j, is->data, "args");
    unsigned flags = is->sealed ? PART_SEALED : 0;
    if (shape_object(j, args)) flags |= PART_OBJECT | PART_MAY_REPLACE;
    struct part *p = paucis__view_part(v, PART_CALL, node, flags);
    p->id = shape_string(j, json_get(j, is->data, "id"));
    p->name = shape_string(j, json_get(j, is->data, "name"));
    gemini_slot(v, args);
}

/* `call`: the part it answers by position, NO_INDEX if there is none. Where only one of the two has
 * an id, position decides. */
static void gemini_read_response(struct view *v, size_t node, const struct gemini_piece *is,
                                 size_t call) {
    const struct json *j = v->j;
    size_t response = json_get(j, is->data, "response");
    bool failed = shape_value(j, shape_get(j, response, "error")) != 0;
    unsigned flags = PART_MAY_REPLACE | (failed ? (unsigned)PART_ERROR : 0);
    struct part *p = paucis__view_part(v, PART_RESULT, node, flags);
    uint32_t id = shape_string(j, json_get(j, is->data, "id"));
    uint32_t other = call == NO_INDEX ? id : view_part(v, call)->id;
    p->id = id && other ? id : other;
    p->name = shape_string(j, json_get(j, is->data, "name"));
    if (response) paucis__view_leaves(v, response);
}

static void gemini_read_server(struct view *v, size_t node, const struct gemini_piece *is) {
    const struct json *j = v->j;
    bool call = is->is == GEMINI_CODE || is->is == GEMINI_TOOL_CALL;
    const char *text = is->is == GEMINI_CODE          ? "code"
                       : is->is == GEMINI_CODE_RESULT ? "output"
                       : is->is == GEMINI_TOOL_CALL   ? "args"
                                                      : "response";
    unsigned flags = PART_SERVER | (is->sealed ? (unsigned)PART_SEALED : 0);
    struct part *p = paucis__view_part(v, call ? PART_CALL : PART_RESULT, node, flags);
    p->id = shape_string(j, json_get(j, is->data, "id"));
    gemini_slot(v, paucis__json_get(j, is->data, text, strlen(text)));
}

/* The next call of a turn, at or after part p; NO_INDEX if there is none before `end`. */
static size_t gemini_next_call(const struct view *v, size_t p, size_t end) {
    for (; p < end; p++)
        if (view_part(v, p)->kind == PART_CALL && !(view_part(v, p)->flags & PART_SERVER)) return p;
    return NO_INDEX;
}

/* Calls `from` .. `end` are those of the message before; *from moves on with each response. */
static void gemini_read_part(struct view *v, size_t node, size_t *from, size_t end) {
    const struct json *j = v->j;
    struct gemini_piece is = gemini_piece_of(j, node);
    if (is.datas != 1 || paucis__json_has_twins(j, node)) {
        shape_opaque(v, node);
        if (is.sealed) shape_grant(v, PART_SEALED); /* a stream may end with a signature alone */
        return;
    }
    size_t call = NO_INDEX;
    switch (is.is) {
    case GEMINI_TEXT: gemini_read_text(v, node, &is); break;
    case GEMINI_CALL: gemini_read_call(v, node, &is); break;
    case GEMINI_RESPONSE:
        call = gemini_next_call(v, *from, end);
        *from = call == NO_INDEX ? end : call + 1;
        gemini_read_response(v, node, &is, call);
        break;
    case GEMINI_MEDIA: paucis__view_part(v, PART_MEDIA, node, is.sealed ? PART_SEALED : 0); break;
    case GEMINI_CODE:
    case GEMINI_CODE_RESULT:
    case GEMINI_TOOL_CALL:
    case GEMINI_TOOL_RESPONSE: gemini_read_server(v, node, &is); break;
    default: shape_opaque(v, node);
    }
    if (!v->failed && (is.unknown || paucis__json_has_twins(j, is.data)))
        view_freeze(v, v->messages.count - 1);
}

static void gemini_read_content(struct view *v, enum role role, size_t node, unsigned flags) {
    const struct json *j = v->j;
    size_t from = 0, end = v->parts.count, parts = json_get(j, node, "parts");
    if (v->messages.count) from = view_message(v, v->messages.count - 1)->part;
    struct message *m = paucis__view_message(v, role, node);
    m->flags = (uint8_t)(flags | (paucis__json_has_twins(j, node) ? MESSAGE_FROZEN : 0));
    if (shape_array(j, parts))
        for (JSON_EACH(j, part, parts)) gemini_read_part(v, part, &from, end);
}

static enum role gemini_role_of(const struct json *j, size_t content) {
    size_t role = json_get(j, content, "role");
    if (shape_is(j, role, "model") || shape_is(j, role, "assistant")) return ROLE_ASSISTANT;
    return shape_is(j, role, "system") ? ROLE_SYSTEM : ROLE_USER;
}

static void gemini_read(struct view *v) {
    const struct json *j = v->j;
    size_t request = gemini_request_of(j), contents = json_get(j, request, "contents");
    size_t top = gemini_either(j, request, "systemInstruction", "system_instruction");
    if (shape_object(j, top)) gemini_read_content(v, ROLE_SYSTEM, top, MESSAGE_TOP);
    if (!shape_array(j, contents)) return;
    v->list = (uint32_t)contents;
    for (JSON_EACH(j, content, contents))
        gemini_read_content(v, gemini_role_of(j, content), content, 0);
}

/* ---- rules --------------------------------------------------------------------------------- */

struct gemini_turn { /* what the rules want to know of a message */
    size_t message;
    bool model;
    size_t calls, results;           /* the client's */
    size_t first_call, first_result; /* parts */
    bool call_signed, any_signed;    /* the first call; some part */
};

static struct gemini_turn gemini_turn_of(const struct view *v, size_t message) {
    const struct message *m = view_message(v, message);
    struct gemini_turn t = {.message = message, .model = m->role == ROLE_ASSISTANT};
    for (VIEW_EACH_PART(v, p, m)) {
        const struct part *part = view_part(v, p);
        bool is_signed = part->flags & PART_SEALED;
        t.any_signed = t.any_signed || is_signed;
        if (part->flags & PART_SERVER) continue;
        if (part->kind == PART_CALL && !t.calls++) {
            t.first_call = p;
            t.call_signed = is_signed;
        }
        if (part->kind == PART_RESULT && !t.results++) t.first_result = p;
    }
    return t;
}

struct gemini {
    struct check *c;
    struct view *v;
    const struct json *j;
    bool cached;      /* the front of the conversation is on the server (D-R15) */
    bool signs;       /* the model signs its calls, */
    bool signs_calls; /* and is known to sign the call itself, not some part of the step */
    size_t current;   /* place in the order where the current turn begins */
};

static void gemini_break(const struct gemini *g, const char *rule, size_t message, size_t node,
                         const char *text) {
    paucis__check_break(g->c, rule, message, node, text);
}

static void gemini_break_part(const struct gemini *g, const char *rule, size_t part,
                              const char *text) {
    const struct part *p = view_part(g->v, part);
    gemini_break(g, rule, p->message, p->node, text);
}

/* D-R1, D-R2: calls, then at once as many responses. `before` is NULL for the first message. */
static void gemini_check_order(const struct gemini *g, const struct gemini_turn *before,
                               const struct gemini_turn *now) {
    bool open = before && before->calls; /* calls that this message has to answer */
    bool front = !before && g->cached;
    if (now->results && !open && !front)
        gemini_break_part(g, "D-R2", now->first_result,
                          "responses do not follow a turn with calls");
    if (open && !now->results)
        gemini_break_part(g, "D-R1", before->first_call,
                          "the next turn does not answer these calls");
    if (open && now->results && now->results != before->calls)
        gemini_break_part(g, "D-R1", now->first_result, "not as many responses as calls");
    if (now->calls && !front && (!before || before->model))
        gemini_break_part(g, "D-R2", now->first_call,
                          "calls do not follow a user turn or responses");
}

static bool gemini_is_signed(const struct gemini *g, const struct gemini_turn *t) {
    return g->signs_calls ? t->call_signed : t->any_signed;
}

/* D-R4, D-R3: in the current turn each step of calls carries a signature. One without, right after
 * a step with one, is what a parallel batch looks like that was sent back call by call. */
static void gemini_check_signature(const struct gemini *g, const struct gemini_turn *step,
                                   const struct gemini_turn *now) {
    if (!g->signs || !now->calls || gemini_is_signed(g, now)) return;
    gemini_break_part(g, "D-R4", now->first_call,
                      "the first call of this step has no thoughtSignature");
    if (step->calls && gemini_is_signed(g, step))
        gemini_break_part(g, "D-R3", now->first_call, "parallel calls were sent back one by one");
}

/* D-R11: what the provider ran comes back as pairs. *open counts the calls of the model's turn that
 * have no result yet, *last is the last of them. */
static void gemini_check_server(const struct gemini *g, const struct gemini_turn *now, size_t *open,
                                size_t *last) {
    const struct message *m = view_message(g->v, now->message);
    if (!now->model && *open) {
        gemini_break_part(g, "D-R11", *last, "the call of a server tool without its result");
        *open = 0;
    }
    for (VIEW_EACH_PART(g->v, p, m)) {
        const struct part *part = view_part(g->v, p);
        if (!(part->flags & PART_SERVER)) continue;
        if (part->kind == PART_CALL) {
            ++*open;
            *last = p;
        } else if (*open) {
            --*open;
        } else {
            gemini_break_part(g, "D-R11", p, "the result of a server tool without its call");
        }
    }
}

/* D-R7: a response has the id and the name of its call. Where one of the two has no id, position
 * decides. Only looked at where D-R1 and D-R2 hold, so that it depends on these two turns alone. */
static void gemini_check_names(const struct gemini *g, const struct gemini_turn *before,
                               const struct gemini_turn *now) {
    const struct view *v = g->v;
    const struct message *m = view_message(v, now->message);
    const struct message *asked = view_message(v, before->message);
    size_t call = asked->part, end = asked->part + asked->nparts;
    if (!now->results || now->results != before->calls) return;
    for (VIEW_EACH_PART(v, p, m)) {
        const struct part *part = view_part(v, p);
        if (part->kind != PART_RESULT || (part->flags & PART_SERVER)) continue;
        call = gemini_next_call(v, call, end);
        const struct part *asks = view_part(v, call++);
        bool here = part->mate != NO_INDEX && view_part(v, part->mate)->message == before->message;
        if (part->id && asks->id && here) asks = view_part(v, part->mate);
        if (part->id && asks->id && !here)
            gemini_break_part(g, "D-R7", p, "no call of the turn before has this response's id");
        else if (part->name && asks->name &&
                 !paucis__view_same_string(g->v, part->name, asks->name))
            gemini_break_part(g, "D-R7", p, "the response has not the name of its call");
    }
}

/* D-R8 and the shape half of D-R9. */
static void gemini_check_part(const struct gemini *g, size_t message, size_t node) {
    const struct json *j = g->j;
    struct gemini_piece is = gemini_piece_of(j, node);
    size_t object = 0;
    if (!is.datas && !is.sealed && !is.unknown)
        gemini_break(g, "D-R9", message, node, "a part without data");
    if (is.datas > 1 && !paucis__json_has_twins(j, node))
        gemini_break(g, "D-R9", message, node, "a part with more than one data member");
    if (is.is == GEMINI_CALL) object = json_get(j, is.data, "args");
    if (is.is == GEMINI_RESPONSE) object = json_get(j, is.data, "response");
    if (shape_value(j, object) && !json_is_object(j, object))
        gemini_break(g, "D-R8", message, object, "arguments and responses are JSON objects");
}

static void gemini_check_content(const struct gemini *g, size_t i) {
    const struct json *j = g->j;
    const struct message *m = view_message(g->v, i);
    size_t role = shape_value(j, json_get(j, m->node, "role")), parts;
    if (role && !shape_is(j, role, "user") && !shape_is(j, role, "model") &&
        !shape_is(j, role, "function") && !shape_is(j, role, ""))
        gemini_break(g, "D-R10", i, role, "the role is neither user nor model");
    parts = json_get(j, m->node, "parts");
    if (shape_array(j, parts))
        for (JSON_EACH(j, part, parts)) gemini_check_part(g, i, part);
}

static void gemini_check_top(const struct gemini *g, size_t i) {
    const struct message *m = view_message(g->v, i);
    for (VIEW_EACH_PART(g->v, p, m))
        if (gemini_piece_of(g->j, view_part(g->v, p)->node).is != GEMINI_TEXT)
            gemini_break_part(g, "D-R13", p,
                              "the system instruction holds something else than text");
}

/* Where the current turn begins, and what is known of the model. Its name stands in the wrapper or
 * nowhere; then a signed call in the conversation tells that it signs. */
static void gemini_look_around(struct gemini *g) {
    const struct view *v = g->v;
    size_t model = shape_string(g->j, json_get(g->j, 0, "model"));
    struct span name = model ? json_inner(g->j, model) : SPAN("");
    const char *gemini = NULL;
    for (size_t i = 0; i + 8 <= name.len && !gemini; i++)
        if (!memcmp(name.at + i, "gemini-", 7)) gemini = name.at + i + 7;
    bool old = gemini && (*gemini == '1' || *gemini == '2');
    g->signs_calls = gemini && *gemini >= '3' && *gemini <= '9';
    for (size_t k = 0; k < v->order.count; k++) {
        size_t i = v->order.at[k];
        if (view_message(v, i)->role == ROLE_USER) g->current = k;
        if (!old && gemini_turn_of(v, i).call_signed) g->signs = true;
    }
    g->signs = g->signs || g->signs_calls;
}

static void gemini_check_walk(struct gemini *g) {
    const struct view *v = g->v;
    struct gemini_turn before = {0}, step = {0}, now = {0};
    size_t open = 0, last = 0, seen = 0;
    for (size_t k = 0; k < v->order.count; k++) {
        size_t i = v->order.at[k];
        const struct message *m = view_message(v, i);
        if (m->flags & MESSAGE_TOP) continue;
        before = now;
        now = gemini_turn_of(v, i);
        if (!m->live) gemini_break(g, "D-R9", i, m->node, "a content without parts");
        gemini_check_order(g, seen++ ? &before : NULL, &now);
        if (k > g->current) gemini_check_signature(g, &step, &now);
        if (now.model) step = now;
        if (k <= g->current) step = (struct gemini_turn){0};
        gemini_check_server(g, &now, &open, &last);
        if (seen > 1) gemini_check_names(g, &before, &now);
        if (check_goes_deep(g->c, i)) gemini_check_content(g, i);
    }
    if (now.calls) gemini_break_part(g, "D-R1", now.first_call, "no turn answers these calls");
    if (now.model)
        gemini_break(g, "D-R10", now.message, view_message(v, now.message)->node,
                     "the last turn is the model's");
}

static void gemini_check(struct check *c) {
    struct view *v = c->v;
    struct gemini g = {.c = c, .v = v, .j = v->j};
    g.cached = shape_value(
        v->j, gemini_either(v->j, gemini_request_of(v->j), "cachedContent", "cached_content"));
    gemini_look_around(&g);
    gemini_check_walk(&g);
    for (size_t i = 0; c->depth && i < v->from_body; i++)
        if ((view_message(v, i)->flags & MESSAGE_TOP) && check_goes_deep(c, i))
            gemini_check_top(&g, i);
}

const struct format paucis__fmt_gemini = {
    .name = "gemini",
    .summary = "Gemini generateContent, with or without the Code Assist wrapper",
    .read = gemini_read,
    .check = gemini_check,
    .results_in_user = true,
    .insert_user = "{\"role\":\"user\",\"parts\":[{\"text\":\"%t\"}]}",
    .insert_result =
        "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{%(\"id\":\"%i\",%)"
        "\"name\":\"%n\",\"response\":{\"output\":\"%t\"}}}]}",
};
