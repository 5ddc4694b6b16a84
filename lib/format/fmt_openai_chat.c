/* OpenAI Chat Completions and the many servers that speak it (FORMATS.md section A).
 *
 *   {"messages":[{"role":"system","content":"..."},
 *                {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
 *                     "function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]},
 *                {"role":"tool","tool_call_id":"c1","content":"a.txt"}]}
 *
 * A tool message is one result, whatever its content is made of. An assistant message gives its
 * parts in the order reasoning, content, calls. The old function_call carries no id; there the
 * function's name stands for it in both the call and the answer, so id and name are then the
 * same node. */
#include "format/format.h"

#include "format/rules_openai_chat.h"
#include "format/words.h"

static const struct word chat_roles[] = {
    {WORD("user"), ROLE_USER, 0},
    {WORD("assistant"), ROLE_ASSISTANT, 0},
    {WORD("tool"), ROLE_TOOL, 0},
    {WORD("system"), ROLE_SYSTEM, 0},
    {WORD("developer"), ROLE_SYSTEM, 0},
    {WORD("function"), ROLE_TOOL, 0},
    {{NULL, 0}, 0, 0},
};

static const struct word chat_media[] = {
    {WORD("image_url"), 0, 0}, {WORD("input_audio"), 0, 0}, {WORD("file"), 0, 0},
    {WORD("video_url"), 0, 0}, {WORD("audio_url"), 0, 0},   {{NULL, 0}, 0, 0},
};

static bool chat_is_media(const struct json *j, size_t block) {
    size_t type = shape_string(j, shape_get(j, block, "type"));
    return word_find(j, type, chat_media)->text.at != NULL;
}

/* ---- content ------------------------------------------------------------------------------- */

/* The text of a text or refusal block; 0 for every other block. */
static size_t chat_block_text(const struct json *j, size_t block) {
    size_t type = shape_get(j, block, "type");
    if (shape_is(j, type, "text")) return shape_string(j, shape_get(j, block, "text"));
    if (shape_is(j, type, "refusal")) return shape_string(j, shape_get(j, block, "refusal"));
    return 0;
}

static void chat_text(struct view *v, size_t node, size_t text, unsigned flags) {
    paucis__view_part(v, PART_TEXT, node, flags | PART_MAY_REPLACE);
    paucis__view_slot(v, text, 0);
}

static void chat_content(struct view *v, size_t content, enum role role) {
    const struct json *j = v->j;
    if (shape_string(j, content)) {
        chat_text(v, content, content, 0);
    } else if (shape_array(j, content)) {
        for (JSON_EACH(j, i, content)) {
            size_t text = chat_block_text(j, i);
            bool last = json_next(j, i) == i_end; /* one stays: never an empty array */
            if (text)
                chat_text(v, i, text, role == ROLE_ASSISTANT && !last ? PART_MAY_DROP : 0);
            else if (chat_is_media(j, i))
                paucis__view_part(v, PART_MEDIA, i, 0);
            else
                shape_opaque(v, i);
        }
    } else if (shape_value(j, content)) {
        shape_opaque(v, content);
    }
}

/* Slots for a result's texts; may they be replaced? Media among them is kept. */
static bool chat_result_slots(struct view *v, size_t content) {
    const struct json *j = v->j;
    bool text = false, known = true;
    if (shape_string(j, content)) {
        paucis__view_slot(v, content, 0);
        return true;
    }
    if (!shape_array(j, content)) return false;
    for (JSON_EACH(j, i, content)) {
        size_t t = chat_block_text(j, i);
        if (t) paucis__view_slot(v, t, i);
        text |= t != 0;
        known &= t || chat_is_media(j, i);
    }
    return text && known;
}

static void chat_result(struct view *v, size_t message) {
    const struct json *j = v->j;
    size_t content = json_get(j, message, "content");
    struct part *p = paucis__view_part(v, PART_RESULT, content ? content : message, 0);
    p->name = shape_string(j, json_get(j, message, "name"));
    p->id = shape_is(j, json_get(j, message, "role"), "function")
                ? p->name
                : shape_string(j, json_get(j, message, "tool_call_id"));
    if (chat_result_slots(v, content)) shape_grant(v, PART_MAY_REPLACE);
}

/* ---- what only assistant messages have ----------------------------------------------------- */

/* Vendors' names for reasoning. All of it goes back as it came (A-R11, A-R12). */
static const struct {
    enum json_name key;
    unsigned flags;
} chat_reasonings[] = {
    {NAME_reasoning_content, 0},           {NAME_reasoning, 0},
    {NAME_reasoning_text, PART_SEALED},    {NAME_reasoning_opaque, PART_SEALED},
    {NAME_reasoning_details, PART_SEALED}, {NAME_thinking_blocks, PART_SEALED},
};

static void chat_reasoning_slots(struct view *v, size_t value) {
    static const struct span keys[] = {WORD("text"), WORD("summary"), WORD("thinking")};
    const struct json *j = v->j;
    for (JSON_EACH(j, i, value))
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            size_t text = shape_string(j, paucis__json_get(j, i, keys[k].at, keys[k].len));
            if (text) paucis__view_slot(v, text, 0);
        }
}

static void chat_reasoning(struct view *v, size_t message) {
    const struct json *j = v->j;
    for (size_t k = 0; k < sizeof chat_reasonings / sizeof *chat_reasonings; k++) {
        size_t value = shape_value(j, paucis__json_get_name(j, message, chat_reasonings[k].key));
        if (!value) continue;
        paucis__view_part(v, PART_THINKING, value, chat_reasonings[k].flags);
        if (json_is_string(j, value))
            paucis__view_slot(v, value, 0);
        else if (json_is_array(j, value))
            chat_reasoning_slots(v, value);
    }
}

/* `holder` has the call's name and, as a string, its arguments. A call with extra_content is signed
 * by Gemini and goes back as it came. */
static void chat_call(struct view *v, size_t call, size_t holder, size_t text, unsigned flags) {
    const struct json *j = v->j;
    bool sealed = shape_value(j, shape_get(j, call, "extra_content")) != 0;
    if (sealed) flags |= PART_SEALED;
    if (shape_string(j, text) && !sealed) flags |= PART_MAY_REPLACE;
    struct part *p = paucis__view_part(v, PART_CALL, call, flags);
    p->name = shape_string(j, shape_get(j, holder, "name"));
    p->id = call == holder ? p->name : shape_string(j, shape_get(j, call, "id"));
    if (shape_string(j, text)) paucis__view_slot(v, text, 0);
}

static void chat_calls(struct view *v, size_t message) {
    const struct json *j = v->j;
    size_t calls = shape_array(j, json_get(j, message, "tool_calls"));
    if (calls) {
        for (JSON_EACH(j, i, calls)) {
            size_t function = shape_object(j, shape_get(j, i, "function"));
            size_t custom = shape_object(j, shape_get(j, i, "custom"));
            if (function)
                chat_call(v, i, function, shape_get(j, function, "arguments"), PART_OBJECT);
            else if (custom)
                chat_call(v, i, custom, shape_get(j, custom, "input"), 0);
            else
                shape_opaque(v, i);
        }
    }
    size_t old = shape_object(j, json_get(j, message, "function_call"));
    if (old) chat_call(v, old, old, shape_get(j, old, "arguments"), PART_OBJECT);
}

static void chat_assistant(struct view *v, size_t message) {
    const struct json *j = v->j;
    size_t refusal = shape_string(j, json_get(j, message, "refusal"));
    size_t audio = shape_object(j, json_get(j, message, "audio"));
    chat_reasoning(v, message);
    chat_content(v, json_get(j, message, "content"), ROLE_ASSISTANT);
    if (refusal) chat_text(v, refusal, refusal, 0);
    if (audio) paucis__view_part(v, PART_MEDIA, audio, 0);
    chat_calls(v, message);
}

/* ---- the format ---------------------------------------------------------------------------- */

static void chat_message(struct view *v, size_t node) {
    const struct json *j = v->j;
    const struct word *role = word_find(j, shape_string(j, shape_get(j, node, "role")), chat_roles);
    if (!role->text.at) {
        paucis__view_message(v, ROLE_USER, node);
        shape_opaque(v, node);
        return;
    }
    struct message *m = paucis__view_message(v, role->is, node);
    if (paucis__json_has_twins(j, node)) m->flags |= MESSAGE_FROZEN;
    if (role->is == ROLE_ASSISTANT)
        chat_assistant(v, node);
    else if (role->is == ROLE_TOOL)
        chat_result(v, node);
    else
        chat_content(v, json_get(j, node, "content"), role->is);
}

static void chat_read(struct view *v) {
    const struct json *j = v->j;
    v->list = shape_array(j, json_get(j, 0, "messages"));
    if (!v->list) return;
    for (JSON_EACH(j, i, v->list)) chat_message(v, i);
}

const struct format paucis__fmt_openai_chat = {
    .name = "openai-chat",
    .summary = "OpenAI Chat Completions and compatible servers",
    .read = chat_read,
    .check = paucis__openai_chat_check,
    .insert_user = "{\"role\":\"user\",\"content\":\"%t\"}",
    .insert_result = "{\"role\":\"tool\",\"tool_call_id\":\"%i\",\"content\":\"%t\"}",
};
