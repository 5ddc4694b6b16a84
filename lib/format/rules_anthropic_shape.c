/* The rules of FORMATS.md section B about the JSON of single blocks, which no edit changes:
 * known types and keys, ids, inputs, cache marks, names of tools, sizes. One walk over the body
 * as it came. */
#include "format/anthropic.h"
#include "format/names.h"
#include "format/shape.h"

#define MAX_REQUEST ((size_t)32 << 20)
#define MAX_MESSAGES ((size_t)100000)
#define MAX_MARKS 4
#define MAX_IMAGES 600 /* of the models that take most */

struct shape_walk {
    struct check *c;
    const struct json *j;
    size_t message;
    struct names tools;
    bool contained;   /* the request names a container */
    bool tools_read;  /* done when first needed */
    bool tools_known; /* false: an MCP server's toolset brings names that the body does not show */
    size_t marks, images;
    bool short_mark; /* a mark of five minutes came */
};

static void shape_break(struct shape_walk *w, const char *rule, size_t node, const char *text) {
    paucis__check_break(w->c, rule, w->message, node, text);
}

/* Numbers and order over the whole body, which edits only make smaller: nothing to say about a
 * single unit. */
static void shape_break_all(struct shape_walk *w, const char *rule, size_t node, const char *text) {
    if (w->c->depth == CHECK_ALL) shape_break(w, rule, node, text);
}

/* ---- cache marks --------------------------------------------------------------------------- */

static void shape_mark(struct shape_walk *w, size_t object) {
    size_t mark = shape_object(w->j, shape_get(w->j, object, "cache_control"));
    if (!mark) return;
    if (++w->marks == MAX_MARKS + 1)
        shape_break_all(w, "B-R20", mark, "more than four cache marks");
    if (!shape_is(w->j, json_get(w->j, mark, "ttl"), "1h"))
        w->short_mark = true;
    else if (w->short_mark)
        shape_break_all(w, "B-R21", mark, "a mark of one hour behind one of five minutes");
}

/* ---- tools --------------------------------------------------------------------------------- */

static void shape_tools(struct shape_walk *w) {
    struct view *v = w->c->v;
    size_t tools = shape_array(w->j, json_get(w->j, 0, "tools"));
    w->tools_read = true;
    if (!paucis__names_init(&w->tools, v, tools ? json_count(w->j, tools) : 0)) return;
    w->tools_known = true;
    if (!tools) return;
    for (JSON_EACH(w->j, i, tools)) {
        size_t name = shape_string(w->j, shape_get(w->j, i, "name"));
        struct name *n = name ? paucis__names_find(&w->tools, v, name) : NULL;
        if (n)
            n->node = (uint32_t)name;
        else
            w->tools_known = false;
        shape_mark(w, i);
    }
}

/* B-R32 */
static void shape_names_tool(struct shape_walk *w, size_t name) {
    if (!w->tools_read) shape_tools(w);
    if (!shape_string(w->j, name) || !w->tools_known) return;
    const struct name *n = paucis__names_find(&w->tools, w->c->v, name);
    if (n && !n->node) shape_break(w, "B-R32", name, "names a tool that is not in tools");
}

/* ---- blocks -------------------------------------------------------------------------------- */

static bool is_key_of(const struct json *j, size_t key, const char *keys) {
    for (size_t n; *keys; keys += n + 1) {
        for (n = 0; keys[n] != ' ';) n++;
        if (json_is_text(j, key, keys, n)) return true;
    }
    return false;
}

/* B-R28; a mark on thinking is B-R19. */
static void shape_keys(struct shape_walk *w, size_t object, const char *keys, bool thinking) {
    const struct json *j = w->j;
    for (JSON_EACH_KEY(j, k, object))
        if (!is_key_of(j, k, keys) && !(thinking && json_is(j, k, "cache_control")))
            shape_break(w, "B-R28", k + 1, "the API knows no such field here");
}

/* Every byte, without an early exit: this way the compiler makes it vector code. */
static bool has_id_chars_only(struct span s) {
    unsigned char bad = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i], letter = (unsigned char)((c | 32) - 'a');
        bad |= !((letter < 26) | ((unsigned char)(c - '0') < 10) | (c == '_') | (c == '-'));
    }
    return !bad;
}

/* B-R7 */
static void shape_id(struct shape_walk *w, size_t id) {
    if (!shape_string(w->j, id)) return;
    struct span s = json_inner(w->j, id);
    if (!s.len || !has_id_chars_only(s))
        shape_break(w, "B-R7", id, "id holds something else than letters, digits, _ and -");
}

static void shape_call(struct shape_walk *w, size_t block) {
    size_t input = json_get(w->j, block, "input");
    shape_id(w, json_get(w->j, block, "id"));
    if (!shape_object(w->j, input))
        shape_break(w, "B-R6", input ? input : block, "input is not a JSON object");
    if (!w->contained && paucis__anthropic_from_code(w->j, block))
        shape_break(w, "B-R24", block, "call made by code, and the request names no container");
}

/* B-R19: neither thinking nor an empty text carries a mark. */
static void shape_unmarkable(struct shape_walk *w, size_t block, const struct block_type *t) {
    size_t mark = shape_value(w->j, json_get(w->j, block, "cache_control"));
    size_t text = shape_string(w->j, json_get(w->j, block, "text"));
    if (!mark) return;
    if (t->kind == PART_THINKING)
        shape_break(w, "B-R19", mark, "cache mark on thinking");
    else if (t->kind == PART_TEXT && text && shape_empty(w->j, text))
        shape_break(w, "B-R19", mark, "cache mark on an empty text");
}

/* What single types ask for. */
static void shape_by_type(struct shape_walk *w, size_t block, const struct block_type *t) {
    const struct json *j = w->j;
    size_t type = json_get(j, block, "type"), content = json_get(j, block, "content");
    if (t->kind == PART_CALL) {
        shape_call(w, block);
    } else if (t->kind == PART_RESULT) {
        shape_id(w, json_get(j, block, "tool_use_id"));
    } else if (json_is(j, type, "image")) {
        if (++w->images == MAX_IMAGES + 1)
            shape_break_all(w, "B-R27", block, "more than 600 images");
    } else if (json_is(j, type, "tool_reference")) {
        shape_names_tool(w, json_get(j, block, "tool_name"));
    } else if (json_is(j, type, "tool_addition") || json_is(j, type, "tool_removal")) {
        shape_names_tool(w, shape_get(j, json_get(j, block, "tool"), "name"));
    } else if (json_is(j, type, "compaction") && shape_value(j, content)) {
        if (!json_is_string(j, content) || shape_empty(j, content))
            shape_break(w, "B-R29", content, "summary is neither null nor a text");
    }
}

static void shape_block(struct shape_walk *w, size_t block, unsigned place) {
    const struct block_type *t = paucis__anthropic_block(w->j, block);
    if (!t) {
        shape_break(w, "B-R28", block, "the API knows no such block");
        return;
    }
    if (place == BLOCK_IN_RESULT && !(t->place & place))
        shape_break(w, "B-R28", block, "block that no result may hold");
    else if ((t->place & BLOCK_BOUND) && !(t->place & place))
        shape_break(w, "B-R8", block, "block in a message of the wrong role");
    shape_unmarkable(w, block, t);
    shape_mark(w, block);
    shape_by_type(w, block, t);
    if (t->keys) shape_keys(w, block, t->keys, t->kind == PART_THINKING);
}

/* A tool_result's own blocks come before it in the order of cache marks. */
static void shape_blocks(struct shape_walk *w, size_t content, unsigned place) {
    const struct json *j = w->j;
    for (JSON_EACH(j, i, content)) {
        size_t inner = shape_is(j, shape_get(j, i, "type"), "tool_result")
                           ? shape_array(j, json_get(j, i, "content"))
                           : 0;
        if (inner)
            for (JSON_EACH(j, k, inner)) shape_block(w, k, BLOCK_IN_RESULT);
        shape_block(w, i, place);
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

static void shape_message(struct shape_walk *w, const struct message *m) {
    static const uint8_t places[] = {BLOCK_IN_SYSTEM, BLOCK_IN_USER, BLOCK_IN_ASSISTANT,
                                     BLOCK_IN_USER};
    const struct json *j = w->j;
    size_t content = m->node;
    if (!(m->flags & MESSAGE_TOP)) {
        size_t role = shape_get(j, m->node, "role");
        if (!shape_is(j, role, "user") && !shape_is(j, role, "assistant") &&
            !shape_is(j, role, "system")) {
            shape_break(w, "B-R8", role ? role : m->node, "no such role");
            return;
        }
        shape_keys(
            w, m->node,
            m->role == ROLE_SYSTEM ? "role content output_config clear_at " : "role content ",
            false);
        content = shape_value(j, json_get(j, m->node, "content"));
    }
    if (shape_array(j, content))
        shape_blocks(w, content, places[m->role]);
    else if (content && !json_is_string(j, content))
        shape_break(w, "B-R28", content, "content is no string and no array");
}

/* What stands outside the messages, in order of the cache marks. */
static void shape_top(struct shape_walk *w) {
    const struct view *v = w->c->v;
    const struct json *j = w->j;
    if (j->size > MAX_REQUEST) shape_break(w, "B-R34", 0, "request of more than 32 MB");
    if (v->list && json_count(j, v->list) > MAX_MESSAGES)
        shape_break(w, "B-R34", v->list, "more than 100000 messages");
    if (shape_object(j, json_get(j, 0, "cache_control"))) w->marks++;
    shape_tools(w);
    shape_names_tool(w, shape_get(j, json_get(j, 0, "tool_choice"), "name"));
}

void paucis__anthropic_check_shape(struct check *c) {
    const struct view *v = c->v;
    struct shape_walk w = {.c = c, .j = v->j, .message = NO_INDEX};
    w.contained = shape_value(v->j, json_get(v->j, 0, "container")) != 0;
    if (c->depth == CHECK_ALL) shape_top(&w);
    for (size_t i = 0; i < v->from_body; i++) {
        w.message = i;
        bool gone = view_message(v, i)->flags & MESSAGE_DROPPED;
        if (!gone && check_goes_deep(c, i)) shape_message(&w, view_message(v, i));
    }
}
