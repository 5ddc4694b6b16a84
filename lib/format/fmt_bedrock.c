/* Bedrock Converse (FORMATS.md section E). A block is an object whose one member says what it is:
 *
 *   {"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"ls","input":{}}}]}
 *   {"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"..."}]}}]}
 *
 * A result's text is its text blocks and every string below its json blocks. */
#include "format/format.h"
#include "format/words.h"
#include "plan/check.h"

enum bedrock_block {
    BEDROCK_UNKNOWN,
    BEDROCK_TEXT,
    BEDROCK_CALL,
    BEDROCK_RESULT,
    BEDROCK_REASONING,
    BEDROCK_IMAGE,
    BEDROCK_DOCUMENT,
    BEDROCK_MEDIA,
    BEDROCK_KEPT, /* known, and not to be touched */
    BEDROCK_MARK,
    BEDROCK_FIXED /* the same, and its unit stays too */
};

static const struct word bedrock_blocks[] = {
    {WORD("text"), BEDROCK_TEXT, 0},
    {WORD("toolUse"), BEDROCK_CALL, 0},
    {WORD("toolResult"), BEDROCK_RESULT, 0},
    {WORD("reasoningContent"), BEDROCK_REASONING, 0},
    {WORD("image"), BEDROCK_IMAGE, 0},
    {WORD("document"), BEDROCK_DOCUMENT, 0},
    {WORD("video"), BEDROCK_MEDIA, 0},
    {WORD("audio"), BEDROCK_MEDIA, 0},
    {WORD("cachePoint"), BEDROCK_MARK, 0},
    {WORD("guardContent"), BEDROCK_KEPT, 0},
    {WORD("citationsContent"), BEDROCK_KEPT, 0},
    {WORD("searchResult"), BEDROCK_KEPT, 0},
    {WORD("toolAddition"), BEDROCK_FIXED, 0},
    {WORD("toolRemoval"), BEDROCK_FIXED, 0},
    WORDS_END,
};

/* What a block is; *data is the value of the member that says so. */
static enum bedrock_block bedrock_kind(const struct json *j, size_t block, size_t *data) {
    *data = 0;
    if (!json_is_object(j, block) || json_next(j, block) == block + 2) return BEDROCK_UNKNOWN;
    *data = block + 2;
    if (json_next(j, block + 2) != json_node(j, block)->end) return BEDROCK_UNKNOWN;
    return word_find(j, block + 1, bedrock_blocks)->is;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void bedrock_text(struct view *v, enum kind kind, size_t block, size_t text,
                         unsigned flags) {
    paucis__view_part(v, kind, block, flags);
    if (shape_string(v->j, text)) paucis__view_slot(v, text, 0);
}

static void bedrock_call(struct view *v, size_t block, size_t use) {
    const struct json *j = v->j;
    size_t input = json_get(j, use, "input");
    unsigned flags = 0;
    if (shape_is(j, json_get(j, use, "type"), "server_tool_use"))
        flags = PART_SERVER;
    else if (shape_object(j, input))
        flags = PART_OBJECT | PART_MAY_REPLACE;
    struct part *p = paucis__view_part(v, PART_CALL, block, flags);
    p->id = shape_string(j, json_get(j, use, "toolUseId"));
    p->name = shape_string(j, json_get(j, use, "name"));
    if (shape_object(j, input) || shape_string(j, input)) paucis__view_slot(v, input, 0);
}

/* Results of tools that the provider runs have a type. */
static void bedrock_result(struct view *v, size_t block, size_t result) {
    const struct json *j = v->j;
    size_t content = json_get(j, result, "content");
    unsigned flags = shape_value(j, json_get(j, result, "type")) ? PART_SERVER : PART_MAY_REPLACE;
    if (shape_is(j, json_get(j, result, "status"), "error")) flags |= PART_ERROR;
    struct part *p = paucis__view_part(v, PART_RESULT, block, flags);
    p->id = shape_string(j, json_get(j, result, "toolUseId"));
    if (!shape_array(j, content)) return;
    for (JSON_EACH(j, inner, content)) {
        uint32_t text = shape_string(j, json_get(j, inner, "text"));
        size_t value = json_get(j, inner, "json");
        if (text) paucis__view_slot(v, text, inner);
        if (value) paucis__view_leaves(v, value);
    }
}

/* Reasoning goes back unmodified (E-R6), or not at all. */
static void bedrock_reasoning(struct view *v, size_t block, size_t reasoning) {
    const struct json *j = v->j;
    size_t text = json_get(j, reasoning, "reasoningText");
    bool sealed = !text || shape_value(j, shape_get(j, text, "signature"));
    bedrock_text(v, PART_THINKING, block, shape_get(j, text, "text"),
                 PART_MAY_DROP | (sealed ? (unsigned)PART_SEALED : 0));
}

static void bedrock_block(struct view *v, size_t block) {
    size_t data;
    switch (bedrock_kind(v->j, block, &data)) {
    case BEDROCK_TEXT: bedrock_text(v, PART_TEXT, block, data, PART_MAY_REPLACE); break;
    case BEDROCK_CALL: bedrock_call(v, block, data); break;
    case BEDROCK_RESULT: bedrock_result(v, block, data); break;
    case BEDROCK_REASONING: bedrock_reasoning(v, block, data); break;
    case BEDROCK_IMAGE:
    case BEDROCK_DOCUMENT:
    case BEDROCK_MEDIA: paucis__view_part(v, PART_MEDIA, block, 0); break;
    case BEDROCK_KEPT: paucis__view_part(v, PART_OPAQUE, block, 0); break;
    case BEDROCK_MARK: paucis__view_part(v, PART_OPAQUE, block, PART_MARK); break;
    default: shape_opaque(v, block);
    }
    if (!v->failed && data && paucis__json_has_twins(v->j, data))
        view_freeze(v, v->messages.count - 1);
}

static void bedrock_message(struct view *v, enum role role, size_t node, size_t content,
                            unsigned flags) {
    const struct json *j = v->j;
    struct message *m = paucis__view_message(v, role, node);
    m->flags = (uint8_t)(flags | (paucis__json_has_twins(j, node) ? MESSAGE_FROZEN : 0));
    if (shape_array(j, content))
        for (JSON_EACH(j, block, content)) bedrock_block(v, block);
}

static enum role bedrock_role(const struct json *j, size_t message) {
    size_t role = json_get(j, message, "role");
    if (shape_is(j, role, "assistant")) return ROLE_ASSISTANT;
    return shape_is(j, role, "system") ? ROLE_SYSTEM : ROLE_USER;
}

static void bedrock_read(struct view *v) {
    const struct json *j = v->j;
    size_t top = json_get(j, 0, "system"), messages = json_get(j, 0, "messages");
    if (shape_array(j, top)) bedrock_message(v, ROLE_SYSTEM, top, top, MESSAGE_TOP);
    if (!shape_array(j, messages)) return;
    v->list = (uint32_t)messages;
    for (JSON_EACH(j, m, messages))
        bedrock_message(v, bedrock_role(j, m), m, json_get(j, m, "content"), 0);
    v->model_elsewhere = true; /* Vertex and Bedrock name the model in the URL */
}

/* ---- rules --------------------------------------------------------------------------------- */

/* Per message and block, from E-R7. A data URL's base64 has four bytes for three. */
enum {
    BEDROCK_IMAGES = 20,
    BEDROCK_DOCUMENTS = 5,
    BEDROCK_IMAGE_BYTES = 3750000 / 3 * 4,
    BEDROCK_DOCUMENT_BYTES = 4500000 / 3 * 4
};

static void bedrock_break(struct check *c, const char *rule, size_t part, const char *text) {
    const struct part *p = view_part(c->v, part);
    paucis__check_break(c, rule, p->message, p->node, text);
}

static bool bedrock_is_in(const struct view *v, size_t part, size_t message) {
    return part != NO_INDEX && message != NO_INDEX && view_part(v, part)->message == message &&
           !(view_part(v, part)->flags & PART_DROPPED);
}

/* E-R1, E-R2: each call is answered in the next message, and nothing else is. */
static void bedrock_check_pairs(struct check *c, size_t before, size_t i, size_t after) {
    const struct view *v = c->v;
    const struct message *m = view_message(v, i);
    for (VIEW_EACH_PART(v, p, m)) {
        const struct part *part = view_part(v, p);
        if (part->flags & PART_SERVER) continue;
        if (part->kind == PART_CALL && !bedrock_is_in(v, part->mate, after))
            bedrock_break(c, "E-R1", p, "the next message does not answer this call");
        if (part->kind == PART_RESULT &&
            (!bedrock_is_in(v, part->mate, before) || view_part(v, part->mate)->mate != p))
            bedrock_break(c, "E-R2", p, "the message before has no call left for this result");
    }
}

/* E-R5: user and assistant in turn, a user first. */
static void bedrock_check_role(struct check *c, size_t before, size_t i) {
    const struct message *m = view_message(c->v, i);
    bool model = m->role == ROLE_ASSISTANT;
    bool follows = before != NO_INDEX && view_message(c->v, before)->role == ROLE_ASSISTANT;
    if (m->role == ROLE_SYSTEM)
        paucis__check_break(c, "E-R5", i, m->node, "a system role in messages");
    else if (before == NO_INDEX ? model : model == follows)
        paucis__check_break(c, "E-R5", i, m->node, "the roles do not alternate, user first");
}

static bool bedrock_is_blank(struct view *v, size_t string) {
    struct span s = paucis__view_string(v, string);
    if (!s.at) v->failed = true;
    for (size_t i = 0; i < s.len; i++)
        if (!strchr(" \t\r\n\v\f", s.at[i]) || !s.at[i]) return false;
    return true;
}

static bool bedrock_is_big(const struct json *j, size_t media, size_t most) {
    uint32_t bytes = shape_string(j, shape_get(j, json_get(j, media, "source"), "bytes"));
    return bytes && json_inner(j, bytes).len > most + 4; /* with its padding */
}

struct bedrock_count {
    size_t images, documents, texts, first_document;
};

/* E-R4, E-R8 and, block by block, E-R7. */
static void bedrock_check_block(struct check *c, size_t p, bool model, struct bedrock_count *n) {
    struct view *v = c->v;
    const struct json *j = v->j;
    size_t data, node = view_part(v, p)->node;
    enum bedrock_block kind = bedrock_kind(j, node, &data);
    bool image = kind == BEDROCK_IMAGE, document = kind == BEDROCK_DOCUMENT;
    if (document && !n->documents) n->first_document = p;
    n->images += image;
    n->documents += document;
    n->texts += kind == BEDROCK_TEXT;
    if (kind == BEDROCK_TEXT && shape_string(j, data) && bedrock_is_blank(v, data))
        bedrock_break(c, "E-R8", p, "the text is blank");
    size_t input = kind == BEDROCK_CALL ? json_get(j, data, "input") : 0;
    if (shape_value(j, input) && !json_is_object(j, input))
        bedrock_break(c, "E-R8", p, "the input is not an object");
    size_t content = kind == BEDROCK_RESULT ? shape_value(j, json_get(j, data, "content")) : 0;
    if ((view_part(v, p)->flags & PART_ERROR) && (!content || shape_empty(j, content)))
        bedrock_break(c, "E-R4", p, "a result with status error has no content");
    if (model && (image || document || kind == BEDROCK_MEDIA))
        bedrock_break(c, "E-R7", p, "media in an assistant message");
    if ((image && bedrock_is_big(j, data, BEDROCK_IMAGE_BYTES)) ||
        (document && bedrock_is_big(j, data, BEDROCK_DOCUMENT_BYTES)))
        bedrock_break(c, "E-R7", p, "the image or document is too large");
}

static void bedrock_check_blocks(struct check *c, size_t i) {
    const struct message *m = view_message(c->v, i);
    struct bedrock_count n = {0};
    if (!m->node) return;
    for (VIEW_EACH_PART(c->v, p, m)) bedrock_check_block(c, p, m->role == ROLE_ASSISTANT, &n);
    if (n.images > BEDROCK_IMAGES || n.documents > BEDROCK_DOCUMENTS)
        paucis__check_break(c, "E-R7", i, m->node, "too many images or documents");
    if (n.documents && !n.texts)
        bedrock_break(c, "E-R7", n.first_document, "a document without a text beside it");
}

/* E-R3 concerns the body as a whole: dropping messages must not move it about. */
static void bedrock_check_tools(struct check *c) {
    const struct view *v = c->v;
    if (shape_value(v->j, json_get(v->j, 0, "toolConfig"))) return;
    for (size_t p = 0; p < v->parts.count; p++) {
        if (view_part(v, p)->kind != PART_CALL && view_part(v, p)->kind != PART_RESULT) continue;
        paucis__check_break(c, "E-R3", NO_INDEX, 0, "toolUse and toolResult without a toolConfig");
        return;
    }
}

static void bedrock_check(struct check *c) {
    const struct view *v = c->v;
    size_t before = NO_INDEX;
    for (size_t k = 0; k < v->order.count; k++) {
        size_t i = v->order.at[k];
        size_t after = k + 1 < v->order.count ? v->order.at[k + 1] : NO_INDEX;
        if (check_goes_deep(c, i)) bedrock_check_blocks(c, i);
        if (view_message(v, i)->flags & MESSAGE_TOP) continue;
        bedrock_check_pairs(c, before, i, after);
        bedrock_check_role(c, before, i);
        if (view_message(v, i)->role != ROLE_SYSTEM) before = i; /* said once is enough */
    }
    if (c->depth == CHECK_ALL) bedrock_check_tools(c);
}

const struct format paucis__fmt_bedrock = {
    .name = "bedrock",
    .summary = "Bedrock Converse: blocks told by their key",
    .read = bedrock_read,
    .check = bedrock_check,
    .results_in_user = true,
    .insert_user = "{\"role\":\"user\",\"content\":[{\"text\":\"%t\"}]}",
    .insert_result =
        "{\"role\":\"user\",\"content\":[{\"toolResult\":{\"toolUseId\":\"%i\","
        "\"content\":[{\"text\":\"%t\"}]}}]}",
};
