/* Which format a body has, from the body alone (FORMATS.md section 2, DESIGN.md section 5). One
 * pass over the members of the root, of the messages and of their content blocks; nothing deeper is
 * looked at. Gemini, Responses and Bedrock are told by a key; Chat, Anthropic and neutral share
 * `messages` and are told by evidence. A body with strong evidence for two is nobody's: better
 * untouched than misread. */
#include "format/format.h"
#include "format/words.h"

#define FORMAT(name) extern const struct format paucis__fmt_##name;
#include "format/formats.def"
#undef FORMAT

const struct format *const paucis__formats[] = {
#define FORMAT(name) &paucis__fmt_##name,
#include "format/formats.def"
#undef FORMAT
    NULL};

const struct format *paucis__format_named(const char *name) {
    for (const struct format *const *f = paucis__formats; *f; f++)
        if (!strcmp((*f)->name, name)) return *f;
    return NULL;
}

enum detect_family { CHAT, ANTHROPIC, RESPONSES, BEDROCK, NEUTRAL, FAMILIES };

enum { STRONG = 3 }; /* points that settle it */

struct evidence {
    unsigned points[FAMILIES];
    bool foreign;         /* calls written in a way neutral does not know */
    bool plain;           /* a content that is no array of objects */
    size_t blocks, keyed; /* content blocks; those told by a key instead of a type */
};

/* Members of the root: family, points. */
static const struct word detect_top_names[] = {
    {WORD("system"), ANTHROPIC, 3},
    {WORD("anthropic_version"), ANTHROPIC, 3},
    {WORD("stop_sequences"), ANTHROPIC, 1},
    {WORD("top_k"), ANTHROPIC, 1},
    {WORD("context_management"), ANTHROPIC, 1},
    {WORD("mcp_servers"), ANTHROPIC, 1},
    {WORD("container"), ANTHROPIC, 1},
    {WORD("stream_options"), CHAT, 1},
    {WORD("max_completion_tokens"), CHAT, 1},
    {WORD("response_format"), CHAT, 1},
    {WORD("functions"), CHAT, 1},
    {WORD("n"), CHAT, 1},
    {WORD("logprobs"), CHAT, 1},
    {WORD("reasoning_effort"), CHAT, 1},
    {WORD("parallel_tool_calls"), CHAT, 1},
    {WORD("instructions"), RESPONSES, 1},
    {WORD("previous_response_id"), RESPONSES, 1},
    {WORD("conversation"), RESPONSES, 1},
    {WORD("reasoning"), RESPONSES, 1},
    {WORD("store"), RESPONSES, 1},
    {WORD("max_output_tokens"), RESPONSES, 1},
    {WORD("include"), RESPONSES, 1},
    {WORD("truncation"), RESPONSES, 1},
    {WORD("tools"), RESPONSES, 1},
    {WORD("text"), RESPONSES, 1},
    {WORD("inferenceConfig"), BEDROCK, 1},
    {WORD("toolConfig"), BEDROCK, 1},
    {WORD("additionalModelRequestFields"), BEDROCK, 1},
    {WORD("modelId"), BEDROCK, 1},
    WORDS_END,
};

/* Members of a message beside role and content that only Chat has; `more`: it is about calls. */
static const struct word detect_message_names[] = {
    {WORD("tool_calls"), CHAT, 1},        {WORD("tool_call_id"), CHAT, 1},
    {WORD("function_call"), CHAT, 1},     {WORD("reasoning_content"), CHAT, 0},
    {WORD("reasoning_details"), CHAT, 0}, WORDS_END,
};

static const struct word detect_role_names[] = {
    {WORD("tool"), CHAT, 0},
    {WORD("function"), CHAT, 0},
    {WORD("developer"), CHAT, 0},
    WORDS_END,
};

/* Types of content blocks; FAMILIES: known to several. */
static const struct word detect_block_types[] = {
    {WORD("text"), FAMILIES, 0},
    {WORD("tool_use"), ANTHROPIC, 1},
    {WORD("tool_result"), ANTHROPIC, 0}, /* neutral if it has a tool_call_id */
    {WORD("thinking"), ANTHROPIC, 0},
    {WORD("redacted_thinking"), ANTHROPIC, 0},
    {WORD("server_tool_use"), ANTHROPIC, 0},
    {WORD("mcp_tool_use"), ANTHROPIC, 0},
    {WORD("document"), ANTHROPIC, 0},
    {WORD("search_result"), ANTHROPIC, 0},
    {WORD("compaction"), ANTHROPIC, 0},
    {WORD("container_upload"), ANTHROPIC, 0},
    {WORD("tool_call"), NEUTRAL, 0},
    {WORD("image_url"), CHAT, 0},
    {WORD("input_audio"), CHAT, 0},
    {WORD("file"), CHAT, 0},
    {WORD("refusal"), CHAT, 0},
    WORDS_END,
};

static const struct word detect_keyed_blocks[] = {
    {WORD("text"), 1, 0},         {WORD("image"), 1, 0},
    {WORD("document"), 1, 0},     {WORD("video"), 1, 0},
    {WORD("audio"), 1, 0},        {WORD("toolUse"), 1, 0},
    {WORD("toolResult"), 1, 0},   {WORD("reasoningContent"), 1, 0},
    {WORD("cachePoint"), 1, 0},   {WORD("guardContent"), 1, 0},
    {WORD("searchResult"), 1, 0}, WORDS_END,
};

static void detect_block(struct evidence *e, const struct json *j, size_t block) {
    size_t type = shape_get(j, block, "type");
    e->blocks++;
    if (!type) {
        if (!json_is_object(j, block)) return;
        for (JSON_EACH_KEY(j, k, block))
            if (word_find(j, k, detect_keyed_blocks)->text.at) {
                e->keyed++;
                return;
            }
        return;
    }
    const struct word *row = word_find(j, type, detect_block_types);
    unsigned family = row->text.at ? row->is : FAMILIES;
    if (row->more) e->foreign = true;
    if (json_is(j, type, "tool_result") && json_get(j, block, "tool_call_id")) family = NEUTRAL;
    if (json_is(j, type, "image") && json_get(j, block, "source")) family = ANTHROPIC;
    if (family != FAMILIES) e->points[family] += STRONG;
}

static void detect_message(struct evidence *e, const struct json *j, size_t message, bool first) {
    size_t role = 0, content = 0;
    if (!json_is_object(j, message)) return;
    for (JSON_EACH_KEY(j, k, message)) {
        if (json_is(j, k, "role")) {
            role = k + 1;
        } else if (json_is(j, k, "content")) {
            content = k + 1;
        } else {
            const struct word *row = word_find(j, k, detect_message_names);
            if (!row->text.at) continue;
            e->points[CHAT] += STRONG;
            if (row->more) e->foreign = true;
        }
    }
    if (role &&
        (word_find(j, role, detect_role_names)->text.at || (first && json_is(j, role, "system"))))
        e->points[CHAT] += STRONG;
    if (!shape_array(j, content)) {
        e->plain = e->plain || content;
        return;
    }
    for (JSON_EACH(j, block, content)) detect_block(e, j, block);
}

static void detect_top(struct evidence *e, const struct json *j) {
    for (JSON_EACH_KEY(j, k, 0)) {
        const struct word *row = word_find(j, k, detect_top_names);
        if (row->text.at) e->points[row->is] += row->more;
    }
    size_t tools = json_get(j, 0, "tools"), thinking = json_get(j, 0, "thinking");
    if (shape_array(j, tools))
        for (JSON_EACH(j, t, tools)) {
            if (json_get(j, t, "function") || json_get(j, t, "custom")) e->points[CHAT] += STRONG;
            if (json_get(j, t, "input_schema")) e->points[ANTHROPIC] += STRONG;
        }
    size_t type = shape_get(j, thinking, "type");
    if (shape_get(j, thinking, "budget_tokens") || shape_is(j, type, "adaptive"))
        e->points[ANTHROPIC]++;
}

static const struct format *detect_messages(struct evidence *e, const struct json *j,
                                            size_t messages) {
    if (!json_is_array(j, messages)) return NULL;
    if (e->points[BEDROCK]) return &paucis__fmt_bedrock;
    for (JSON_EACH(j, m, messages)) detect_message(e, j, m, m == messages + 1);
    if (e->blocks && e->keyed == e->blocks && !e->plain) return &paucis__fmt_bedrock;
    if (e->points[NEUTRAL]) return e->foreign ? NULL : &paucis__fmt_neutral;
    unsigned chat = e->points[CHAT], anthropic = e->points[ANTHROPIC];
    if (chat >= STRONG && anthropic >= STRONG) return NULL;
    if (chat == anthropic)
        return json_get(j, 0, "max_tokens") ? &paucis__fmt_anthropic : &paucis__fmt_openai_chat;
    return chat > anthropic ? &paucis__fmt_openai_chat : &paucis__fmt_anthropic;
}

/* Embeddings and speech bodies carry `input` too. */
static bool detect_items(const struct json *j, size_t input) {
    if (!json_is_array(j, input)) return false;
    for (JSON_EACH(j, item, input))
        if (json_get(j, item, "type") || json_get(j, item, "role")) return true;
    return false;
}

const struct format *paucis__format_detect(const struct json *j) {
    struct evidence e = {0};
    if (!json_is_object(j, 0)) return NULL;
    size_t wrapped = shape_get(j, json_get(j, 0, "request"), "contents");
    if (shape_array(j, json_get(j, 0, "contents")) || shape_array(j, wrapped))
        return &paucis__fmt_gemini;
    size_t input = json_get(j, 0, "input"), messages = json_get(j, 0, "messages");
    detect_top(&e, j);
    if (messages) return detect_messages(&e, j, messages);
    if (input && (e.points[RESPONSES] || detect_items(j, input)))
        return &paucis__fmt_openai_responses;
    return NULL;
}
