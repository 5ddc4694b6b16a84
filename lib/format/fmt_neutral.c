/* The neutral format (DESIGN.md section 5): the model the classic strategies were born with.
 *
 *   {"messages":[{"role":"assistant","content":[{"type":"tool_call","id":"a","name":"ls",
 *                                                "arguments":"{}"}]},
 *                {"role":"tool","content":[{"type":"tool_result","tool_call_id":"a",
 *                                           "content":"..."}]}]}
 *
 * Roles are kept as written, arguments are free text, everything may be changed, and no rule is
 * broken by anything. */
#include "format/format.h"
#include "format/words.h"

static const struct word neutral_roles[] = {
    {WORD("user"), ROLE_USER, 0}, {WORD("assistant"), ROLE_ASSISTANT, 0},
    {WORD("tool"), ROLE_TOOL, 0}, {WORD("system"), ROLE_SYSTEM, 0},
    {{NULL, 0}, ROLE_USER, 0},
};

static const struct word neutral_types[] = {
    {WORD("text"), PART_TEXT, 0},      {WORD("tool_result"), PART_RESULT, 0},
    {WORD("tool_call"), PART_CALL, 0}, {WORD("thinking"), PART_THINKING, 0},
    {WORD("image"), PART_MEDIA, 0},    {WORD("file"), PART_MEDIA, 0},
    {{NULL, 0}, PART_OPAQUE, 0},
};

enum { NEUTRAL_MAY = PART_MAY_REPLACE | PART_MAY_DROP };

/* A text is a string; a result's may also come as blocks. */
static void neutral_text(struct view *v, size_t text) {
    const struct json *j = v->j;
    if (shape_string(j, text)) paucis__view_slot(v, text, 0);
    if (!shape_array(j, text)) return;
    for (JSON_EACH(j, block, text)) {
        uint32_t inner = shape_string(j, json_get(j, block, "text"));
        if (inner) paucis__view_slot(v, inner, block);
    }
}

static void neutral_part(struct view *v, size_t node) {
    const struct json *j = v->j;
    enum kind kind = word_find(j, json_get(j, node, "type"), neutral_types)->is;
    if (kind == PART_OPAQUE || paucis__json_has_twins(j, node)) {
        shape_opaque(v, node);
        return;
    }
    bool sealed = kind == PART_THINKING && shape_value(j, json_get(j, node, "signature"));
    struct part *p =
        paucis__view_part(v, kind, node, NEUTRAL_MAY | (sealed ? (unsigned)PART_SEALED : 0));
    if (kind == PART_CALL) {
        p->id = shape_string(j, json_get(j, node, "id"));
        p->name = shape_string(j, json_get(j, node, "name"));
        neutral_text(v, shape_string(j, json_get(j, node, "arguments")));
    } else if (kind == PART_RESULT) {
        p->id = shape_string(j, json_get(j, node, "tool_call_id"));
        neutral_text(v, json_get(j, node, "content"));
    } else if (kind != PART_MEDIA) {
        neutral_text(v, shape_string(j, json_get(j, node, "text")));
    }
}

static void neutral_message(struct view *v, size_t node) {
    const struct json *j = v->j;
    size_t content = json_get(j, node, "content");
    enum role role = word_find(j, json_get(j, node, "role"), neutral_roles)->is;
    struct message *m = paucis__view_message(v, role, node);
    if (paucis__json_has_twins(j, node)) m->flags = MESSAGE_FROZEN;
    if (shape_string(j, content)) {
        paucis__view_part(v, PART_TEXT, content, NEUTRAL_MAY);
        paucis__view_slot(v, content, 0);
    } else if (shape_array(j, content)) {
        for (JSON_EACH(j, part, content)) neutral_part(v, part);
    }
}

static void neutral_read(struct view *v) {
    size_t messages = json_get(v->j, 0, "messages");
    if (!shape_array(v->j, messages)) return;
    v->list = (uint32_t)messages;
    for (JSON_EACH(v->j, m, messages)) neutral_message(v, m);
}

const struct format paucis__fmt_neutral = {
    .name = "neutral",
    .summary = "the classic strategies' own format, without rules",
    .read = neutral_read,
    .insert_user = "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"%t\"}]}",
    .insert_result =
        "{\"role\":\"tool\",\"content\":[{\"type\":\"tool_result\","
        "\"tool_call_id\":\"%i\",\"content\":\"%t\"}]}",
};
