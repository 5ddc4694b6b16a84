/* OpenAI Responses (FORMATS.md section C). `input` is a flat list of items and most items are one
 * message of the view. Reasoning without text is counted to the item after it, which the model made
 * from it:
 *
 *   {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"..."}   one message: a
 *   {"type":"function_call","id":"fc_1","call_id":"c1","arguments":"{}"}      thinking and a call
 *   {"type":"function_call_output","call_id":"c1","output":"..."}             the next message
 *
 * Editing an item that carries an id of the server is undocumented and avoided; outputs are the
 * client's own and may be shortened. */
#include "format/format.h"
#include "format/responses.h"
#include "format/words.h"

#define ROW(literal, ...) \
    { literal, sizeof(literal) - 1, __VA_ARGS__ }

/* The frequent ones first. */
static const struct item_type responses_items[] = {
    ROW("function_call_output", ITEM_OUTPUT, ITEM_REPLACE, ROLE_TOOL, "output", NULL),
    ROW("function_call", ITEM_CALL, ITEM_REPLACE | ITEM_OBJECT, ROLE_ASSISTANT, "arguments", "fc"),
    ROW("message", ITEM_MESSAGE, 0, ROLE_USER, NULL, "msg"),
    ROW("reasoning", ITEM_REASONING, 0, ROLE_ASSISTANT, NULL, "rs"),
    ROW("custom_tool_call_output", ITEM_OUTPUT, ITEM_REPLACE, ROLE_TOOL, "output", NULL),
    ROW("custom_tool_call", ITEM_CALL, ITEM_REPLACE, ROLE_ASSISTANT, "input", NULL),
    ROW("local_shell_call_output", ITEM_OUTPUT, ITEM_ID | ITEM_JSON, ROLE_TOOL, "output", NULL),
    ROW("local_shell_call", ITEM_CALL, 0, ROLE_ASSISTANT, "action.command", NULL),
    ROW("shell_call_output", ITEM_OUTPUT, ITEM_REPLACE | ITEM_ENTRIES, ROLE_TOOL, "output", NULL),
    ROW("shell_call", ITEM_CALL, 0, ROLE_ASSISTANT, "action.commands", NULL),
    ROW("apply_patch_call_output", ITEM_OUTPUT, ITEM_REPLACE | ITEM_STRING, ROLE_TOOL, "output",
        NULL),
    ROW("apply_patch_call", ITEM_CALL, 0, ROLE_ASSISTANT, "operation.diff", NULL),
    ROW("computer_call_output", ITEM_OUTPUT, ITEM_PICTURE, ROLE_TOOL, "output", NULL),
    ROW("computer_call", ITEM_CALL, 0, ROLE_ASSISTANT, "action", NULL),
    ROW("tool_search_output", ITEM_OUTPUT, 0, ROLE_TOOL, NULL, NULL),
    ROW("tool_search_call", ITEM_CALL, 0, ROLE_ASSISTANT, "arguments", NULL),
    ROW("program_output", ITEM_OUTPUT, ITEM_LINKED, ROLE_TOOL, "result", NULL),
    ROW("program", ITEM_CALL, ITEM_LINKED, ROLE_ASSISTANT, "code", NULL),
    ROW("web_search_call", ITEM_HOSTED, 0, ROLE_ASSISTANT, NULL, NULL),
    ROW("file_search_call", ITEM_HOSTED, 0, ROLE_ASSISTANT, NULL, NULL),
    ROW("code_interpreter_call", ITEM_HOSTED, 0, ROLE_ASSISTANT, NULL, NULL),
    ROW("image_generation_call", ITEM_HOSTED, 0, ROLE_ASSISTANT, NULL, NULL),
    ROW("mcp_call", ITEM_HOSTED, 0, ROLE_ASSISTANT, NULL, NULL),
    ROW("mcp_list_tools", ITEM_HOSTED, 0, ROLE_ASSISTANT, NULL, NULL),
    ROW("mcp_approval_request", ITEM_FIXED, 0, ROLE_ASSISTANT, NULL, NULL),
    ROW("mcp_approval_response", ITEM_FIXED, 0, ROLE_USER, NULL, NULL),
    ROW("additional_tools", ITEM_FIXED, 0, ROLE_SYSTEM, NULL, NULL),
    ROW("compaction", ITEM_FIXED, 0, ROLE_SYSTEM, NULL, NULL),
    ROW("compaction_trigger", ITEM_FIXED, 0, ROLE_SYSTEM, NULL, NULL),
    ROW("item_reference", ITEM_FIXED, 0, ROLE_ASSISTANT, NULL, NULL),
};
enum { ITEM_TYPES = sizeof responses_items / sizeof *responses_items };

static const struct item_type responses_unknown = {"",   0,   ITEM_UNKNOWN, 0, ROLE_ASSISTANT,
                                                   NULL, NULL};

/* Two types go without saying. */
static struct span responses_item_name(const struct json *j, size_t item) {
    size_t type = json_get(j, item, "type");
    if (type) return json_is_string(j, type) ? json_inner(j, type) : SPAN("");
    if (json_get(j, item, "role")) return SPAN("message");
    return json_get(j, item, "id") ? SPAN("item_reference") : SPAN("");
}

const struct item_type *paucis__responses_item(const struct json *j, size_t item) {
    struct span name = responses_item_name(j, item);
    for (const struct item_type *t = responses_items; t < responses_items + ITEM_TYPES; t++)
        if (t->len == name.len && !memcmp(t->name, name.at, name.len)) return t;
    return &responses_unknown;
}

size_t paucis__responses_text(const struct json *j, size_t item, const struct item_type *type) {
    size_t node = item;
    for (const char *name = type->text; name && node;) {
        const char *dot = strchr(name, '.');
        node = paucis__json_get(j, node, name, dot ? (size_t)(dot - name) : strlen(name));
        name = dot ? dot + 1 : NULL;
    }
    return type->text ? node : 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void responses_read_text(struct view *v, size_t node, size_t text, unsigned flags) {
    paucis__view_part(v, PART_TEXT, node, flags);
    if (shape_string(v->j, text)) paucis__view_slot(v, text, 0);
}

enum responses_block { BLOCK_TEXT, BLOCK_REFUSAL, BLOCK_MEDIA, BLOCK_UNKNOWN };

static const struct word responses_blocks[] = {
    {WORD("input_text"), BLOCK_TEXT, 0},   {WORD("output_text"), BLOCK_TEXT, 0},
    {WORD("text"), BLOCK_TEXT, 0},         {WORD("refusal"), BLOCK_REFUSAL, 0},
    {WORD("input_image"), BLOCK_MEDIA, 0}, {WORD("input_file"), BLOCK_MEDIA, 0},
    {WORD("input_audio"), BLOCK_MEDIA, 0}, {{NULL, 0}, BLOCK_UNKNOWN, 0},
};

/* Annotations point into the text by offset, so an annotated text stays as it is. */
static void responses_read_block(struct view *v, size_t block, unsigned may) {
    const struct json *j = v->j;
    enum responses_block kind = word_find(j, json_get(j, block, "type"), responses_blocks)->is;
    size_t notes = json_get(j, block, "annotations");
    if (kind == BLOCK_UNKNOWN || paucis__json_has_twins(j, block))
        shape_opaque(v, block);
    else if (kind == BLOCK_MEDIA)
        paucis__view_part(v, PART_MEDIA, block, 0);
    else if (kind == BLOCK_REFUSAL)
        responses_read_text(v, block, json_get(j, block, "refusal"), 0);
    else
        responses_read_text(v, block, json_get(j, block, "text"),
                            notes && !shape_empty(j, notes) ? 0 : may);
}

static void responses_read_message(struct view *v, size_t item) {
    const struct json *j = v->j;
    size_t content = json_get(j, item, "content");
    unsigned may = shape_value(j, json_get(j, item, "id")) ? 0 : PART_MAY_REPLACE;
    if (shape_string(j, content)) {
        responses_read_text(v, content, content, may);
    } else if (shape_array(j, content)) {
        for (JSON_EACH(j, block, content)) responses_read_block(v, block, may);
    }
}

static enum role responses_message_role(const struct json *j, size_t item) {
    size_t role = json_get(j, item, "role");
    if (shape_is(j, role, "assistant")) return ROLE_ASSISTANT;
    if (shape_is(j, role, "system") || shape_is(j, role, "developer")) return ROLE_SYSTEM;
    return ROLE_USER;
}

/* A program or a search that the provider runs is not the client's to answer. */
static unsigned responses_server_flag(const struct json *j, size_t item,
                                      const struct item_type *type) {
    bool server = shape_is(j, json_get(j, item, "execution"), "server");
    return server || (type->flags & ITEM_LINKED) ? PART_SERVER : 0;
}

static void responses_read_call(struct view *v, size_t item, const struct item_type *type) {
    const struct json *j = v->j;
    size_t text = paucis__responses_text(j, item, type);
    unsigned flags = responses_server_flag(j, item, type);
    flags |= type->flags & ITEM_OBJECT ? PART_OBJECT : PART_OWN_ANSWER;
    bool may = (type->flags & ITEM_REPLACE) && shape_string(j, text);
    if (may && !shape_value(j, json_get(j, item, "id"))) flags |= PART_MAY_REPLACE;
    struct part *p = paucis__view_part(v, PART_CALL, item, flags);
    p->id = shape_string(j, json_get(j, item, "call_id"));
    p->name = shape_string(j, json_get(j, item, "name"));
    if (!p->name) p->name = shape_string(j, json_get(j, item, "type")); /* as good as one */
    if (shape_array(j, text))
        paucis__view_leaves(v, text);
    else if (shape_string(j, text) || shape_object(j, text))
        paucis__view_slot(v, text, 0);
}

/* The shell and apply_patch tools say whether they failed; others say it in their text only. */
static bool responses_output_failed(const struct json *j, size_t item, size_t output) {
    if (shape_is(j, json_get(j, item, "status"), "failed")) return true;
    if (!shape_array(j, output)) return false;
    for (JSON_EACH(j, entry, output)) {
        size_t outcome = json_get(j, entry, "outcome");
        size_t code = shape_get(j, outcome, "exit_code");
        if (code && json_type(j, code) != '0') return true;
        if (shape_is(j, shape_get(j, outcome, "type"), "timeout")) return true;
    }
    return false;
}

/* A block of text, or what one command of a shell wrote. */
static void responses_read_output_block(struct view *v, size_t block) {
    const struct json *j = v->j;
    uint32_t text = shape_string(j, json_get(j, block, "text"));
    uint32_t out = shape_string(j, json_get(j, block, "stdout"));
    uint32_t err = shape_string(j, json_get(j, block, "stderr"));
    if (text) paucis__view_slot(v, text, block);
    if (out) paucis__view_slot(v, out, 0);
    if (err) paucis__view_slot(v, err, 0);
}

static void responses_read_output(struct view *v, size_t item, const struct item_type *type) {
    const struct json *j = v->j;
    size_t output = paucis__responses_text(j, item, type);
    size_t id = type->flags & ITEM_ID ? json_get(j, item, "id") : json_get(j, item, "call_id");
    unsigned flags = responses_server_flag(j, item, type);
    if (type->flags & ITEM_REPLACE) flags |= PART_MAY_REPLACE;
    if (responses_output_failed(j, item, output)) flags |= PART_ERROR;
    paucis__view_part(v, PART_RESULT, item, flags)->id = shape_string(j, id);
    if (shape_string(j, output)) {
        paucis__view_slot(v, output, 0);
    } else if (shape_array(j, output)) {
        for (JSON_EACH(j, block, output)) responses_read_output_block(v, block);
    }
}

/* The texts of a reasoning item become slots, if `add`. Says whether there are any. */
static bool responses_reasoning_texts(struct view *v, size_t item, bool add) {
    const struct json *j = v->j;
    size_t lists[] = {json_get(j, item, "summary"), json_get(j, item, "content")};
    bool any = false;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!shape_array(j, lists[i])) continue;
        for (JSON_EACH(j, block, lists[i])) {
            uint32_t text = shape_string(j, json_get(j, block, "text"));
            if (!text || shape_empty(j, text)) continue;
            any = true;
            if (add) paucis__view_slot(v, text, 0);
        }
    }
    return any;
}

static void responses_read_reasoning(struct view *v, size_t item) {
    paucis__view_part(v, PART_THINKING, item, PART_SEALED);
    responses_reasoning_texts(v, item, true);
}

/* Future types: the name tells the side that made it. */
static enum role responses_unknown_role(const struct json *j, size_t item) {
    static const char output[] = "_output";
    size_t type = shape_string(j, json_get(j, item, "type"));
    struct span name = type ? json_inner(j, type) : SPAN("");
    size_t n = sizeof output - 1;
    return name.len >= n && !memcmp(name.at + name.len - n, output, n) ? ROLE_TOOL : ROLE_ASSISTANT;
}

/* `from` is the item, or the first of the reasoning items that are counted to it. */
static void responses_read_item(struct view *v, size_t from, size_t item,
                                const struct item_type *type) {
    const struct json *j = v->j;
    enum role role = type->role;
    if (type->kind == ITEM_MESSAGE) role = responses_message_role(j, item);
    if (type->kind == ITEM_UNKNOWN) role = responses_unknown_role(j, item);
    struct message *m = paucis__view_message(v, role, from);
    m->last = (uint32_t)item;
    for (size_t i = from; i < item; i = json_next(j, i)) responses_read_reasoning(v, i);
    switch (type->kind) {
    case ITEM_MESSAGE: responses_read_message(v, item); break;
    case ITEM_REASONING: responses_read_reasoning(v, item); break;
    case ITEM_CALL: responses_read_call(v, item, type); break;
    case ITEM_OUTPUT: responses_read_output(v, item, type); break;
    case ITEM_HOSTED: paucis__view_part(v, PART_OPAQUE, item, PART_SERVER); break;
    default: shape_opaque(v, item);
    }
    size_t caller = shape_get(j, json_get(j, item, "caller"), "type");
    bool linked = (type->flags & ITEM_LINKED) || (caller && !shape_is(j, caller, "direct"));
    if (!v->failed && (linked || paucis__json_has_twins(j, item)))
        view_freeze(v, v->messages.count - 1);
}

static void responses_read_top(struct view *v, enum role role, size_t text) {
    if (!shape_string(v->j, text)) return;
    paucis__view_message(v, role, text)->flags = MESSAGE_TOP;
    responses_read_text(v, text, text, PART_MAY_REPLACE);
}

bool paucis__responses_locked(const struct view *v) {
    const struct json *j = v->j;
    if (shape_value(j, json_get(j, 0, "previous_response_id"))) return true;
    if (shape_value(j, json_get(j, 0, "conversation"))) return true;
    for (size_t i = 0; i < v->messages.count; i++) {
        const struct message *m = view_message(v, i);
        if (!(m->flags & MESSAGE_FROZEN)) continue; /* references are */
        if (!strcmp(paucis__responses_item(j, m->last)->name, "item_reference")) return true;
    }
    return false;
}

static void responses_read(struct view *v) {
    const struct json *j = v->j;
    size_t input = json_get(j, 0, "input");
    responses_read_top(v, ROLE_SYSTEM, json_get(j, 0, "instructions"));
    responses_read_top(v, ROLE_USER, input);
    if (!shape_array(j, input)) return;
    v->list = (uint32_t)input;
    size_t from = 0; /* first of the reasoning items that wait for the item after them */
    for (JSON_EACH(j, item, input)) {
        const struct item_type *type = paucis__responses_item(j, item);
        if (!from) from = item;
        if (type->kind == ITEM_REASONING && !responses_reasoning_texts(v, item, false)) continue;
        responses_read_item(v, from, item, type);
        from = 0;
    }
    v->clears_results = shape_array(j, json_get(j, 0, "context_management"));
    if (!paucis__responses_locked(v)) return;
    for (size_t p = 0; p < v->parts.count; p++) /* only outputs may be shortened then */
        if (view_part(v, p)->kind != PART_RESULT)
            view_part(v, p)->flags &= (uint16_t)~PART_MAY_REPLACE;
}

const struct format paucis__fmt_openai_responses = {
    .name = "openai-responses",
    .summary = "OpenAI Responses: a flat list of items in `input`",
    .read = responses_read,
    .check = paucis__responses_check,
    .insert_user = "{\"type\":\"message\",\"role\":\"user\",\"content\":\"%t\"}",
    .insert_result = "{\"type\":\"function_call_output\",\"call_id\":\"%i\",\"output\":\"%t\"}",
};
