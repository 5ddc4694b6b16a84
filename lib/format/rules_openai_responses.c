/* The rules of FORMATS.md section C that one body can show. One walk over the live messages judges
 * what edits can change: which calls are answered (C-R1, C-R2), what follows reasoning (C-R3),
 * which ids are dead or repeated (C-R6, C-R7), what stands last (C-R12). A deep check also looks
 * into the items.
 *
 * When part of the history is on the server (C-R13: previous_response_id, conversation,
 * item_reference) the body cannot show what belongs together, and nothing is said about it. */
#include "format/names.h"
#include "format/nested.h"
#include "format/responses.h"
#include "format/words.h"

enum { CALL_ID_CHARS = 64, ARGUMENT_CHARS = 1048576 };

struct responses {
    struct check *c;
    struct view *v;
    const struct json *j;
    bool locked;    /* see above */
    bool stateless; /* store:false */
    size_t message; /* the one that is looked at */
    struct names ids;
    size_t reasoning, reasoning_message; /* has an id and waits for the item it produced */
    size_t trigger, trigger_message;     /* compaction_trigger: nothing may follow */
};

static void responses_break(struct responses *r, const char *rule, size_t node, const char *text) {
    paucis__check_break(r->c, rule, r->message, node, text);
}

/* ---- what edits can change ----------------------------------------------------------------- */

static bool responses_is_type(const struct item_type *type, const char *name) {
    return !strcmp(type->name, name);
}

static bool responses_has_id(const struct json *j, size_t item) {
    return shape_value(j, json_get(j, item, "id")) != 0;
}

/* May this item stand right after reasoning that has an id? */
static bool responses_follows_reasoning(const struct json *j, size_t item,
                                        const struct item_type *type) {
    switch (type->kind) {
    case ITEM_MESSAGE:
        return shape_is(j, json_get(j, item, "role"), "assistant") && responses_has_id(j, item);
    case ITEM_CALL: return responses_has_id(j, item);
    case ITEM_OUTPUT: return false;
    default: return true;
    }
}

static void responses_end_reasoning(struct responses *r, bool followed) {
    if (r->reasoning && !followed && !r->locked)
        paucis__check_break(r->c, "C-R3", r->reasoning_message, r->reasoning,
                            "reasoning is not followed by the item it produced");
    r->reasoning = 0;
}

static void responses_end_trigger(struct responses *r) {
    if (r->trigger)
        paucis__check_break(r->c, "C-R12", r->trigger_message, r->trigger,
                            "compaction_trigger is not the last item");
    r->trigger = 0;
}

static void responses_check_unique(struct responses *r, size_t item) {
    uint32_t id = shape_string(r->j, json_get(r->j, item, "id"));
    struct name *n = id && !shape_empty(r->j, id) ? paucis__names_find(&r->ids, r->v, id) : NULL;
    if (n && n->node) responses_break(r, "C-R7", id, "two items have this id");
    if (n) n->node = id;
}

/* A link to an item before this one: from an approval to its request, a call to its program. */
static void responses_check_link(struct responses *r, size_t id, const char *rule,
                                 const char *text) {
    struct name *n = shape_string(r->j, id) ? paucis__names_find(&r->ids, r->v, id) : NULL;
    if (n && !n->node && !r->locked) responses_break(r, rule, id, text);
}

static void responses_check_links(struct responses *r, size_t item, const struct item_type *type) {
    const struct json *j = r->j;
    size_t caller = json_get(j, item, "caller");
    if (responses_is_type(type, "mcp_approval_response"))
        responses_check_link(r, json_get(j, item, "approval_request_id"), "C-R15",
                             "no approval request has this id");
    if (shape_is(j, shape_get(j, caller, "type"), "program"))
        responses_check_link(r, shape_get(j, caller, "caller_id"), "C-R14",
                             "no program has this id");
    uint32_t id = type->flags & ITEM_LINKED ? shape_string(j, json_get(j, item, "call_id")) : 0;
    struct name *n = id ? paucis__names_find(&r->ids, r->v, id) : NULL;
    if (n) n->node = id; /* for the calls of this program */
}

static void responses_check_item(struct responses *r, size_t item, const struct item_type *type) {
    const struct json *j = r->j;
    responses_end_trigger(r);
    responses_end_reasoning(r, responses_follows_reasoning(j, item, type));
    if (!(type->flags & ITEM_ID)) responses_check_unique(r, item);
    responses_check_links(r, item, type);
    if (type->kind == ITEM_REASONING && responses_has_id(j, item)) {
        uint32_t sealed = shape_string(j, json_get(j, item, "encrypted_content"));
        r->reasoning = item;
        r->reasoning_message = r->message;
        if (r->stateless && (!sealed || shape_empty(j, sealed)))
            responses_break(r, "C-R6", item, "store is false and the reasoning has only an id");
    }
    if (responses_is_type(type, "compaction_trigger")) {
        r->trigger = item;
        r->trigger_message = r->message;
    }
}

static bool responses_is_live(const struct view *v, size_t part) {
    return part != NO_INDEX && !(view_part(v, part)->flags & PART_DROPPED) &&
           !(view_message(v, view_part(v, part)->message)->flags & MESSAGE_DROPPED);
}

static void responses_check_pair(struct responses *r, const struct part *p) {
    if (r->locked || (p->flags & PART_SERVER) || responses_is_live(r->v, p->mate)) return;
    if (p->kind == PART_RESULT)
        responses_break(r, "C-R1", p->node, "no call before this output has its id");
    if (p->kind == PART_CALL) responses_break(r, "C-R2", p->node, "no output answers this call");
}

/* ---- what they cannot ---------------------------------------------------------------------- */

/* More than `most` characters? */
static bool responses_is_longer(struct view *v, uint32_t string, size_t most) {
    if (!string || json_inner(v->j, string).len <= most) return false;
    struct span text = paucis__view_string(v, string);
    size_t chars = 0;
    if (!text.at) v->failed = true;
    for (size_t i = 0; i < text.len; i++) chars += (text.at[i] & 0xc0) != 0x80;
    return chars > most;
}

/* The part types of one side, given on the other. Types of neither side are not judged. */
static void responses_check_blocks(struct responses *r, size_t content, bool from_model) {
    static const struct word sides[] = {
        {WORD("input_text"), false, 0},
        {WORD("input_image"), false, 0},
        {WORD("input_file"), false, 0},
        {WORD("input_audio"), false, 0},
        {WORD("output_text"), true, 0},
        {WORD("refusal"), true, 0},
        WORDS_END,
    };
    if (!shape_array(r->j, content)) return;
    for (JSON_EACH(r->j, block, content)) {
        const struct word *w = word_find(r->j, json_get(r->j, block, "type"), sides);
        if (w->text.at && w->is != from_model)
            responses_break(r, "C-R10", block, "this part type does not belong to this role");
    }
}

static void responses_check_call(struct responses *r, size_t item, const struct item_type *type) {
    const struct json *j = r->j;
    size_t text = paucis__responses_text(j, item, type);
    if (!(type->flags & ITEM_OBJECT) || !text) return;
    if (!shape_string(j, text) ||
        (!shape_empty(j, text) && !paucis__json_is_object_text(r->v, text)))
        responses_break(r, "C-R11", text, "the arguments are not the text of a JSON object");
    if (responses_is_longer(r->v, shape_string(j, text), ARGUMENT_CHARS))
        responses_break(r, "C-R9", text, "the arguments are longer than 1048576 characters");
}

static bool responses_is_list_of_objects(const struct json *j, size_t array) {
    if (!json_is_array(j, array)) return false;
    for (JSON_EACH(j, i, array))
        if (!json_is_object(j, i)) return false;
    return true;
}

static void responses_check_output(struct responses *r, size_t item, const struct item_type *type) {
    const struct json *j = r->j;
    size_t output = paucis__responses_text(j, item, type);
    if (!shape_value(j, output)) return;
    bool string = json_is_string(j, output), list = responses_is_list_of_objects(j, output);
    bool right = string || list;
    if (type->flags & ITEM_ENTRIES) right = list;
    if (type->flags & ITEM_PICTURE) right = json_is_object(j, output);
    if (type->flags & ITEM_STRING) right = string;
    if (type->flags & ITEM_JSON) right = string && paucis__json_is_object_text(r->v, output);
    if (!right)
        responses_break(r, "C-R17", output, "the output has not the structure its type demands");
    responses_check_blocks(r, output, false);
}

static void responses_check_ids(struct responses *r, size_t item, const struct item_type *type) {
    const struct json *j = r->j;
    uint32_t id = shape_string(j, json_get(j, item, "id"));
    uint32_t call = shape_string(j, json_get(j, item, "call_id"));
    size_t n = type->id ? strlen(type->id) : 0;
    if (id && (shape_empty(j, id) || strncmp(json_inner(j, id).at, type->id ? type->id : "", n)))
        responses_break(r, "C-R8", id, "the id does not begin as this type's ids do");
    if (responses_is_longer(r->v, call, CALL_ID_CHARS))
        responses_break(r, "C-R9", call, "the call_id is longer than 64 characters");
}

static void responses_check_inside(struct responses *r, size_t item, const struct item_type *type) {
    bool model = shape_is(r->j, json_get(r->j, item, "role"), "assistant");
    responses_check_ids(r, item, type);
    if (type->kind == ITEM_MESSAGE)
        responses_check_blocks(r, json_get(r->j, item, "content"), model);
    if (type->kind == ITEM_CALL) responses_check_call(r, item, type);
    if (type->kind == ITEM_OUTPUT) responses_check_output(r, item, type);
}

/* Each pending safety check of a computer call must be acknowledged by its first answer. Calls with
 * more than a handful are not judged, so that comparing each with each stays cheap. */
static void responses_check_acknowledged(struct responses *r, size_t part) {
    enum { MOST_CHECKS = 64 };
    const struct json *j = r->j;
    const struct part *p = view_part(r->v, part);
    if (p->kind != PART_RESULT || !p->node || !responses_is_live(r->v, p->mate)) return;
    if (view_part(r->v, p->mate)->mate != part) return;
    size_t given = json_get(j, p->node, "acknowledged_safety_checks");
    size_t pending = json_get(j, view_part(r->v, p->mate)->node, "pending_safety_checks");
    if (!shape_array(j, pending) || json_count(j, pending) > MOST_CHECKS) return;
    if (shape_array(j, given) && json_count(j, given) > MOST_CHECKS) return;
    for (JSON_EACH(j, i, pending)) {
        uint32_t id = shape_string(j, json_get(j, i, "id"));
        bool found = !id;
        if (shape_array(j, given))
            for (JSON_EACH(j, k, given)) {
                uint32_t ok = shape_string(j, json_get(j, k, "id"));
                found = found || (ok && paucis__view_same_string(r->v, id, ok));
            }
        if (!found)
            responses_break(r, "C-R15", p->node, "a pending safety check is not acknowledged");
    }
}

/* ---- the walk ------------------------------------------------------------------------------ */

static void responses_check_message(struct responses *r, const struct message *m) {
    if (m->flags & MESSAGE_INSERTED) {
        responses_end_trigger(r);
        responses_end_reasoning(r, false);
    } else {
        for (size_t item = m->node;; item = json_next(r->j, item)) {
            const struct item_type *type = paucis__responses_item(r->j, item);
            responses_check_item(r, item, type);
            if (check_goes_deep(r->c, r->message)) responses_check_inside(r, item, type);
            if (item == m->last) break;
        }
    }
    for (VIEW_EACH_PART(r->v, p, m)) {
        responses_check_pair(r, view_part(r->v, p));
        if (check_goes_deep(r->c, r->message)) responses_check_acknowledged(r, p);
    }
}

/* Reasoning at the end of the input that no message counts as its own. */
static void responses_check_tail(struct responses *r) {
    const struct view *v = r->v;
    size_t n = v->from_body;
    bool any = n && !(view_message(v, n - 1)->flags & MESSAGE_TOP);
    size_t item = any ? json_next(r->j, view_message(v, n - 1)->last) : (size_t)v->list + 1;
    r->message = NO_INDEX;
    for (; item < json_node(r->j, v->list)->end; item = json_next(r->j, item))
        responses_check_item(r, item, paucis__responses_item(r->j, item));
}

/* C-R13: what the server holds may refer to anything here, so nothing comes or goes. */
static void responses_check_locked(struct responses *r) {
    const struct view *v = r->v;
    for (size_t i = 0; i < v->messages.count; i++) {
        const struct message *m = view_message(v, i);
        bool inserted = m->flags & MESSAGE_INSERTED, dropped = m->flags & MESSAGE_DROPPED;
        if (inserted != dropped)
            paucis__check_break(r->c, "C-R13", i, m->node,
                                "part of the history is on the server: messages stay");
    }
}

void paucis__responses_check(struct check *c) {
    struct view *v = c->v;
    if (!v->list) return; /* a plain text */
    size_t store = json_get(v->j, 0, "store");
    struct responses r = {.c = c, .v = v, .j = v->j};
    r.locked = paucis__responses_locked(v);
    r.stateless = store && json_type(v->j, store) == 'f';
    if (!paucis__names_init(&r.ids, v, json_count(v->j, v->list) * 2)) return;
    for (size_t k = 0; k < v->order.count; k++) {
        const struct message *m = view_message(v, v->order.at[k]);
        r.message = v->order.at[k];
        if (!(m->flags & MESSAGE_TOP)) responses_check_message(&r, m);
    }
    responses_check_tail(&r);
    responses_end_reasoning(&r, false);
    if (r.locked) responses_check_locked(&r);
}
