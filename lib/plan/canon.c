/* See canon.h. The nodes are walked backwards: a closing node opens a frame, its opening node
 * closes it and hands the result to the frame around it, so each value is complete when its
 * container needs it. In an object the value comes before its key; members are added up, which
 * forgets their order. */
#include "plan/canon.h"

#include "limits.h"

enum { LEFT_OUT = 1 }; /* marks thinking before the walk gets there */

struct frame {
    uint64_t sum;
    uint64_t value; /* whose key comes next */
    bool is_object, has_value, is_string;
    bool marked; /* a cache mark was ignored */
    bool filled; /* something else was there */
};

struct walk {
    struct canon *c;
    struct frame *stack;
    size_t depth;
    char *scratch; /* for one decoded string */
    uint64_t marks[3], content, system;
};

static uint64_t member_of(uint64_t key, uint64_t value) { return canon_mix(key, value); }

uint64_t paucis__canon_text_block(const struct view *v, uint64_t string) {
    uint64_t text = canon_word(v, SPAN("text"));
    return canon_mix('{', member_of(canon_word(v, SPAN("type")), text) + member_of(text, string));
}

static bool is_mark(const struct walk *w, uint64_t key) {
    for (size_t i = 0; i < sizeof w->marks / sizeof *w->marks; i++)
        if (w->marks[i] == key) return true;
    return false;
}

static void add_member(struct walk *w, struct frame *f, uint64_t key) {
    f->has_value = false;
    if (is_mark(w, key)) {
        f->marked = true;
        return;
    }
    f->filled = true;
    if (f->is_string && (key == w->content || key == w->system))
        f->value = canon_mix('[', canon_mix(0, paucis__canon_text_block(w->c->v, f->value)));
    f->sum += member_of(key, f->value);
}

/* A value, or a key if its value has been seen. */
static void add(struct walk *w, uint64_t h, bool is_string, bool left_out) {
    if (!w->depth) return;
    struct frame *f = &w->stack[w->depth - 1];
    if (!f->is_object) {
        if (!left_out) f->sum = canon_mix(f->sum, h);
    } else if (f->has_value) {
        add_member(w, f, h);
    } else {
        f->has_value = true;
        f->is_string = is_string;
        f->value = h;
    }
}

static uint64_t string_of(const struct walk *w, size_t i) {
    const struct view *v = w->c->v;
    struct span s = json_inner(v->j, i);
    if (json_node(v->j, i)->escaped) s = span_of(w->scratch, paucis__json_decode(s, w->scratch));
    return canon_word(v, s);
}

static void visit(struct walk *w, size_t i) {
    const struct json *j = w->c->v->j;
    uint64_t *at = &w->c->at[i];
    char type = json_type(j, i);
    bool left_out = *at == LEFT_OUT;
    if (type == '}' || type == ']') {
        w->stack[w->depth++] = (struct frame){.is_object = type == '}'};
        return;
    }
    if (type == '{' || type == '[') {
        const struct frame *f = &w->stack[--w->depth];
        *at = canon_mix((uint64_t)(unsigned char)type, f->sum);
        left_out |= f->marked && !f->filled;
    } else {
        *at = type == '"' ? string_of(w, i) : hash_bytes(json_raw(j, i), w->c->v->seed + 1);
    }
    add(w, *at, type == '"', left_out);
}

static size_t longest_escaped(const struct json *j) {
    size_t most = 0;
    for (size_t i = 0; i < j->nodes.count; i++) {
        if (!json_node(j, i)->escaped) continue;
        size_t len = json_inner(j, i).len;
        if (len > most) most = len;
    }
    return most;
}

paucis_err paucis__canon_read(struct canon *c, struct view *v, bool no_thinking) {
    size_t n = v->j->nodes.count;
    struct walk w = {.c = c};
    c->v = v;
    c->at = paucis__arena_alloc(v->arena, n * sizeof *c->at);
    w.stack = paucis__arena_alloc(v->arena, (PAUCIS_MAX_DEPTH + 1) * sizeof *w.stack);
    w.scratch = paucis__arena_alloc(v->arena, longest_escaped(v->j));
    if (!c->at || !w.stack || !w.scratch) return PAUCIS_E_NOMEM;
    memset(c->at, 0, n * sizeof *c->at);
    w.marks[0] = canon_word(v, SPAN("cache_control"));
    w.marks[1] = canon_word(v, SPAN("prompt_cache_breakpoint"));
    w.marks[2] = canon_word(v, SPAN("cachePoint"));
    w.content = canon_word(v, SPAN("content"));
    w.system = canon_word(v, SPAN("system"));
    for (size_t p = 0; no_thinking && p < v->parts.count; p++)
        if (view_part(v, p)->kind == PART_THINKING) c->at[view_part(v, p)->node] = LEFT_OUT;
    while (n--) visit(&w, n);
    return PAUCIS_OK;
}
