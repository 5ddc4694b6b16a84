/* Anthropic Messages (FORMATS.md section B).
 *
 *   {"system":"...",
 *    "messages":[{"role":"user","content":"..."},
 *                {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"S"},
 *                     {"type":"tool_use","id":"t1","name":"ls","input":{"path":"."}}]},
 *                {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1",
 *                     "content":[{"type":"text","text":"a.txt"}]}]}]}
 *
 * The top-level system text is a message in front. One table says what is known of each block
 * type; the rules read the same table. A block that is not in it is opaque. */
#include "format/format.h"

#include "format/anthropic.h"
#include "format/names.h"
#include "format/words.h"

#define ANYWHERE (BLOCK_IN_USER | BLOCK_IN_ASSISTANT | BLOCK_IN_SYSTEM | BLOCK_IN_RESULT)
#define BY_USER (BLOCK_IN_USER | BLOCK_BOUND)
#define BY_ASSISTANT (BLOCK_IN_ASSISTANT | BLOCK_BOUND)
#define THOUGHT (PART_SEALED | PART_MAY_DROP)
#define SERVER_RESULT(name)                                  \
    {                                                        \
        WORD(name), PART_RESULT, PART_SERVER, BY_ASSISTANT,  \
            "type tool_use_id content caller cache_control " \
    }

/* Often met first. Blocks that must come back as they are, where they are, count as opaque. */
static const struct block_type block_types[] = {
    {WORD("text"), PART_TEXT, 0, ANYWHERE, "type text citations cache_control "},
    {WORD("tool_use"), PART_CALL, 0, BY_ASSISTANT,
     "type id name input caller toolset_name cache_control "},
    {WORD("tool_result"), PART_RESULT, 0, BY_USER,
     "type tool_use_id content is_error toolset_name cache_control "},
    {WORD("thinking"), PART_THINKING, THOUGHT, BY_ASSISTANT, "type thinking signature "},
    {WORD("redacted_thinking"), PART_THINKING, THOUGHT, BY_ASSISTANT, "type data "},
    {WORD("image"), PART_MEDIA, 0, BLOCK_IN_USER | BLOCK_IN_RESULT,
     "type source transformations cache_control "},
    {WORD("document"), PART_MEDIA, 0, BLOCK_IN_USER | BLOCK_IN_RESULT | BLOCK_IN_ASSISTANT,
     "type source title context citations cache_control "},
    {WORD("search_result"), PART_MEDIA, 0, BLOCK_IN_USER | BLOCK_IN_RESULT,
     "type source title content citations cache_control "},
    {WORD("container_upload"), PART_MEDIA, 0, BLOCK_IN_USER, "type file_id cache_control "},
    {WORD("server_tool_use"), PART_CALL, PART_SERVER, BY_ASSISTANT,
     "type id name input caller cache_control "},
    SERVER_RESULT("web_search_tool_result"),
    SERVER_RESULT("web_fetch_tool_result"),
    SERVER_RESULT("code_execution_tool_result"),
    SERVER_RESULT("bash_code_execution_tool_result"),
    SERVER_RESULT("text_editor_code_execution_tool_result"),
    SERVER_RESULT("tool_search_tool_result"),
    SERVER_RESULT("advisor_tool_result"),
    {WORD("mcp_tool_use"), PART_CALL, PART_SERVER, BY_ASSISTANT,
     "type id name server_name input cache_control "},
    {WORD("mcp_tool_result"), PART_RESULT, PART_SERVER, BY_ASSISTANT,
     "type tool_use_id content is_error cache_control "},
    {WORD("mcp_tool_listing"), PART_OPAQUE, 0, BY_ASSISTANT, "type mcp_server_name tools "},
    {WORD("compaction"), PART_OPAQUE, 0, BLOCK_IN_ASSISTANT | BLOCK_IN_USER,
     "type content encrypted_content signature tool_changes cache_control "},
    {WORD("fallback"), PART_OPAQUE, 0, BY_ASSISTANT, "type from to trigger "},
    {WORD("tool_addition"), PART_OPAQUE, 0, BLOCK_IN_SYSTEM, "type tool cache_control "},
    {WORD("tool_removal"), PART_OPAQUE, 0, BLOCK_IN_SYSTEM, "type tool cache_control "},
    {WORD("tool_reference"), PART_MEDIA, 0, BLOCK_IN_RESULT, "type tool_name cache_control "},
    {WORD("browser_state"), PART_OPAQUE, 0, BLOCK_IN_RESULT, NULL},
};

const struct block_type *paucis__anthropic_block(const struct json *j, size_t block) {
    size_t type = shape_string(j, shape_get(j, block, "type"));
    for (size_t i = 0; type && i < sizeof block_types / sizeof *block_types; i++)
        if (json_is_text(j, type, block_types[i].name.at, block_types[i].name.len))
            return &block_types[i];
    return NULL;
}

static bool anthropic_is_locked(const struct json *j) {
    return shape_value(j, json_get(j, 0, "fallback_credit_token")) ||
           shape_is(j, shape_get(j, json_get(j, 0, "thread"), "type"), "continue");
}

bool paucis__anthropic_from_code(const struct json *j, size_t block) {
    static const char prefix[] = "code_execution_";
    size_t type = shape_string(j, shape_get(j, shape_get(j, block, "caller"), "type"));
    if (!type) return false;
    struct span s = json_inner(j, type);
    return s.len >= sizeof prefix - 1 && memcmp(s.at, prefix, sizeof prefix - 1) == 0;
}

/* ---- results ------------------------------------------------------------------------------- */

/* Texts carry citations, documents may ask for them; either way positions in the text are
 * referred to from elsewhere. */
static bool block_is_cited(const struct json *j, size_t block) {
    size_t citations = shape_get(j, block, "citations");
    if (shape_array(j, citations)) return !shape_empty(j, citations);
    size_t enabled = shape_get(j, citations, "enabled");
    return enabled && json_type(j, enabled) == 't';
}

/* Slots for the texts of one block; how many? */
static size_t block_slots(struct view *v, size_t block) {
    const struct json *j = v->j;
    size_t type = shape_get(j, block, "type"), text = 0, n = 0;
    if (shape_is(j, type, "text")) text = shape_get(j, block, "text");
    size_t source = shape_get(j, block, "source");
    if (shape_is(j, type, "document") && shape_is(j, shape_get(j, source, "type"), "text"))
        text = shape_get(j, source, "data");
    if (shape_string(j, text)) {
        paucis__view_slot(v, text, block);
        return 1;
    }
    size_t content = shape_array(j, shape_get(j, block, "content"));
    if (!content || !shape_is(j, type, "search_result")) return 0;
    for (JSON_EACH(j, i, content)) {
        text = shape_string(j, shape_get(j, i, "text"));
        if (text) paucis__view_slot(v, text, block);
        n += text != 0;
    }
    return n;
}

/* Slots for a result's texts; may they be replaced? Media and references among them are kept. A
 * search result of several texts cannot give up one of them, so such a result stays as it is. */
static bool result_slots(struct view *v, size_t content) {
    const struct json *j = v->j;
    bool text = false, open = true;
    if (shape_string(j, content)) {
        paucis__view_slot(v, content, 0);
        return true;
    }
    if (!shape_array(j, content)) return false;
    for (JSON_EACH(j, i, content)) {
        const struct block_type *t = paucis__anthropic_block(j, i);
        bool known = t && (t->place & BLOCK_IN_RESULT) && t->kind != PART_OPAQUE;
        size_t n = known ? block_slots(v, i) : 0;
        open &= known && n < 2 && !block_is_cited(j, i);
        text |= n > 0;
    }
    return text && open;
}

/* What server tools returned is read for its size and never changed. */
static void server_slots(struct view *v, size_t content) {
    static const struct span keys[] = {WORD("stdout"), WORD("stderr"), WORD("text")};
    const struct json *j = v->j;
    size_t object = shape_object(j, content);
    for (size_t k = 0; object && k < sizeof keys / sizeof *keys; k++) {
        size_t text = shape_string(j, paucis__json_get(j, object, keys[k].at, keys[k].len));
        if (text) paucis__view_slot(v, text, 0);
    }
    size_t fetched = shape_object(j, shape_get(j, object, "content"));
    if (fetched) block_slots(v, fetched);
    if (!object) result_slots(v, content);
}

static void read_result(struct view *v, size_t block, const struct block_type *t) {
    const struct json *j = v->j;
    size_t error = json_get(j, block, "is_error"), content = json_get(j, block, "content");
    bool failed = error && json_type(j, error) == 't', special = json_get(j, block, "toolset_name");
    struct part *p = paucis__view_part(
        v, PART_RESULT, block,
        t->flags | (failed ? PART_ERROR : 0u) | (special ? PART_SPECIAL : 0u));
    p->id = shape_string(j, json_get(j, block, "tool_use_id"));
    if (t->flags & PART_SERVER)
        server_slots(v, content);
    else if (result_slots(v, content))
        shape_grant(v, PART_MAY_REPLACE);
}

/* ---- other blocks -------------------------------------------------------------------------- */

/* Names of the tools that Anthropic defines: the input of their calls is typed. */
static void read_typed_tools(struct view *v, struct names *typed) {
    const struct json *j = v->j;
    size_t tools = shape_array(j, json_get(j, 0, "tools"));
    if (!paucis__names_init(typed, v, tools ? json_count(j, tools) : 0) || !tools) return;
    for (JSON_EACH(j, i, tools)) {
        size_t type = shape_string(j, shape_get(j, i, "type"));
        size_t name = shape_string(j, shape_get(j, i, "name"));
        if (!type || !name || json_is(j, type, "custom")) continue;
        struct name *n = paucis__names_find(typed, v, name);
        if (n) n->node = (uint32_t)name;
    }
}

static void read_call(struct view *v, size_t block, const struct block_type *t,
                      const struct names *typed) {
    const struct json *j = v->j;
    size_t input = shape_value(j, json_get(j, block, "input"));
    size_t name = shape_string(j, json_get(j, block, "name"));
    struct name *n = name && !v->failed ? paucis__names_find(typed, v, name) : NULL;
    size_t toolset = json_get(j, block, "toolset_name");
    bool by_code = paucis__anthropic_from_code(j, block);
    bool open = shape_object(j, input) && !(t->flags & PART_SERVER) && !(n && n->node) &&
                !shape_value(j, toolset) && !by_code;
    struct part *p = paucis__view_part(v, PART_CALL, block,
                                       t->flags | PART_OBJECT | (open ? PART_MAY_REPLACE : 0u) |
                                           (toolset || by_code ? PART_SPECIAL : 0u));
    p->id = shape_string(j, json_get(j, block, "id"));
    p->name = (uint32_t)name;
    if (shape_object(j, input) || shape_string(j, input)) paucis__view_slot(v, input, 0);
}

static void read_block(struct view *v, size_t block, const struct names *typed) {
    const struct json *j = v->j;
    const struct block_type *t = paucis__anthropic_block(j, block);
    if (!t || t->kind == PART_OPAQUE) {
        shape_opaque(v, block);
        size_t summary = t ? shape_string(j, json_get(j, block, "content")) : 0;
        if (summary) paucis__view_slot(v, summary, 0);
    } else if (t->kind == PART_CALL) {
        read_call(v, block, t, typed);
    } else if (t->kind == PART_RESULT) {
        read_result(v, block, t);
    } else {
        size_t text = t->kind == PART_THINKING ? json_get(j, block, "thinking")
                      : t->kind == PART_TEXT   ? json_get(j, block, "text")
                                               : 0;
        bool open = t->kind == PART_TEXT && shape_string(j, text) && !block_is_cited(j, block);
        paucis__view_part(v, t->kind, block, t->flags | (open ? PART_MAY_REPLACE : 0u));
        if (shape_string(j, text)) paucis__view_slot(v, text, 0);
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Texts of an assistant message may go by themselves. Its last part that is not thinking stays,
 * so the message is never left empty nor with thinking at its end (B-R18). */
static void grant_text_drops(struct view *v) {
    if (v->failed) return;
    const struct message *m = &v->messages.at[v->messages.count - 1];
    bool followed = false;
    for (size_t i = m->part + m->nparts; i-- > m->part;) {
        struct part *p = view_part(v, i);
        if (p->kind == PART_TEXT && followed && (p->flags & PART_MAY_REPLACE))
            p->flags |= PART_MAY_DROP;
        if (p->kind != PART_THINKING) followed = true;
    }
}

static void read_content(struct view *v, size_t content, const struct names *typed) {
    const struct json *j = v->j;
    if (shape_string(j, content)) {
        paucis__view_part(v, PART_TEXT, content, PART_MAY_REPLACE);
        paucis__view_slot(v, content, 0);
    } else if (shape_array(j, content)) {
        for (JSON_EACH(j, i, content)) read_block(v, i, typed);
    } else if (shape_value(j, content)) {
        shape_opaque(v, content);
    }
}

static void read_message(struct view *v, size_t node, const struct names *typed) {
    static const struct word roles[] = {
        {WORD("user"), ROLE_USER, 0},
        {WORD("assistant"), ROLE_ASSISTANT, 0},
        {WORD("system"), ROLE_SYSTEM, 0},
        {{NULL, 0}, 0, 0},
    };
    const struct json *j = v->j;
    const struct word *role = word_find(j, shape_string(j, shape_get(j, node, "role")), roles);
    if (!role->text.at) {
        paucis__view_message(v, ROLE_USER, node);
        shape_opaque(v, node);
        return;
    }
    struct message *m = paucis__view_message(v, role->is, node);
    if (paucis__json_has_twins(j, node)) m->flags |= MESSAGE_FROZEN;
    read_content(v, json_get(j, node, "content"), typed);
    if (role->is == ROLE_ASSISTANT) grant_text_drops(v);
}

/* Context editing or compaction by the provider: what it will do itself is not done twice. */
static bool clears_results(const struct json *j) {
    size_t edits = shape_get(j, shape_object(j, json_get(j, 0, "context_management")), "edits");
    if (shape_object(j, json_get(j, 0, "compaction"))) return true;
    if (!shape_array(j, edits)) return false;
    for (JSON_EACH(j, i, edits)) {
        size_t type = shape_string(j, shape_get(j, shape_object(j, i), "type"));
        struct span name = type ? json_inner(j, type) : SPAN("");
        if (name.len >= 7 && !memcmp(name.at, "compact", 7)) return true;
        if (name.len >= 10 && !memcmp(name.at, "clear_tool", 10)) return true;
    }
    return false;
}

static void anthropic_read(struct view *v) {
    const struct json *j = v->j;
    struct names typed;
    read_typed_tools(v, &typed);
    size_t system = shape_value(j, json_get(j, 0, "system"));
    if (system) {
        paucis__view_message(v, ROLE_SYSTEM, system)->flags |= MESSAGE_TOP;
        read_content(v, system, &typed);
    }
    v->list = shape_array(j, json_get(j, 0, "messages"));
    if (v->list)
        for (JSON_EACH(j, i, v->list)) read_message(v, i, &typed);
    v->locked = anthropic_is_locked(j); /* B-R33 */
    v->clears_results = clears_results(j);
    v->model_elsewhere = true;          /* Vertex and Bedrock name the model in the URL */
}

const struct format paucis__fmt_anthropic = {
    .name = "anthropic",
    .summary = "Anthropic Messages, also on Vertex and Bedrock InvokeModel",
    .read = anthropic_read,
    .check = paucis__anthropic_check,
    .results_in_user = true,
    .insert_user = "{\"role\":\"user\",\"content\":\"%t\"}",
    .insert_result =
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
        "\"tool_use_id\":\"%i\",\"content\":\"%t\"}]}",
};
