/* A line of a trace to messages, as the measure sees them. A line is a request body, or an object
 * with a `request` and facts about it (id, agent, format, logged_input_tokens, and from logs.c the
 * times and the billed usage).
 *
 * A message is rendered as its role and, for each part, \x1e, the kind, \x1f and the text; this
 * text is what is counted, compared and searched. Three formats are read here, exactly as the
 * reference does; the others through paucis_read. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [TEXT] = "text", [THINK] = "think", [CALL] = "call", [RESULT] = "result", [OTHER] = "other"};

/* ---- tokens --------------------------------------------------------------------------------- */

/* ---- forms ---------------------------------------------------------------------------------- */

static void form_fill(struct form *f, struct str text) {
    f->text = text;
    f->tokens = bill_tokens(text);
    f->hash = hash_text(text);
}

struct form *form_text(struct arena *a, struct str text) {
    struct form *f = arena_get(a, sizeof *f);
    form_fill(f, text);
    return f;
}

bool form_same(const struct form *a, const struct form *b) {
    return a == b || (a->hash == b->hash && str_eq(a->text, b->text));
}

static void render_head(struct buf *b, enum part_kind kind) {
    buf_str(b, "\x1e");
    buf_str(b, kind_names[kind]);
    buf_str(b, "\x1f");
}

struct form *form_make(const struct trace *t, struct arena *a, size_t msg, part_fn *fn, void *ud) {
    const struct msg *m = &t->msgs[msg];
    struct buf b = {0};
    buf_add(&b, m->role_name.at, m->role_name.len);
    for (size_t i = m->part; i < m->part + m->nparts; i++) {
        struct str text = t->parts[i].text;
        if (!fn(ud, t, &t->parts[i], &text)) continue;
        render_head(&b, t->parts[i].kind);
        buf_add(&b, text.at, text.len);
    }
    struct form *f = form_text(a, arena_buf(a, &b));
    buf_free(&b);
    return f;
}

/* ---- building ------------------------------------------------------------------------------- */

struct builder {
    struct trace *t;
    const struct jdoc *d;
    struct buf text; /* of the message being built, without its role */
    size_t part;     /* its first part */
    struct buf scratch;
    size_t media_before, media_behind; /* of the last flat text */
    size_t element;                    /* of the list, being read */
};

static struct part *add_part(struct builder *b, enum part_kind kind, struct str text) {
    struct trace *t = b->t;
    if (text.len == 0 && kind != CALL && kind != RESULT) return NULL;
    render_head(&b->text, kind);
    struct part *p = PUSH(t->parts, t->nparts, t->parts_cap);
    /* The text moves when the message is complete; until then this is its offset. */
    *p = (struct part){.kind = kind, .text = {NULL, text.len}, .offset = b->text.len};
    buf_add(&b->text, text.at, text.len);
    return p;
}

static enum role role_of(struct str name) {
    static const char *const names[] = {
        [R_SYSTEM] = "system", [R_USER] = "user", [R_ASSISTANT] = "assistant", [R_TOOL] = "tool"};
    for (size_t i = 0; i < R_OTHER; i++)
        if (str_is(name, names[i])) return (enum role)i;
    return R_OTHER;
}

/* The parts added since the last message become one, if there are any. */
static void end_message(struct builder *b, struct str role, size_t from, size_t to) {
    struct trace *t = b->t;
    size_t n = t->nparts - b->part;
    if (n == 0) return;
    struct msg *m = PUSH(t->msgs, t->nmsgs, t->msgs_cap);
    *m = (struct msg){.role = role_of(role), .role_name = role, .part = b->part, .nparts = n};
    m->from = from;
    m->to = to;
    m->element = b->element;
    char *text = arena_get(&t->arena, role.len + b->text.len + 1);
    memcpy(text, role.at, role.len);
    memcpy(text + role.len, b->text.data, b->text.len);
    form_fill(&m->whole, (struct str){text, role.len + b->text.len});
    for (size_t i = b->part; i < t->nparts; i++) {
        struct part *p = &t->parts[i];
        p->text.at = text + role.len + p->offset;
        m->has_result = m->has_result || p->kind == RESULT;
    }
    t->total += m->whole.tokens;
    b->text.len = 0;
    b->part = t->nparts;
}

/* Content that is a text, blocks, or whatever else, as one text. */
static struct str flat(struct builder *b, size_t i) {
    const struct jdoc *d = b->d;
    struct arena *a = &b->t->arena;
    struct buf *s = &b->scratch;
    b->media_before = b->media_behind = 0;
    if (!i || d->node[i].kind == J_NULL) return (struct str){"", 0};
    if (d->node[i].kind == J_STRING) return j_string(d, i, a);
    s->len = 0;
    if (d->node[i].kind == J_OBJECT) {
        struct str text = j_text(d, i, "text", a);
        if (text.len) return text;
        j_dump(d, i, a, s);
        return arena_buf(a, s);
    }
    if (d->node[i].kind != J_ARRAY) {
        j_dump(d, i, a, s);
        return arena_buf(a, s);
    }
    bool texts = false;
    for (size_t k = i + 1; k < d->node[i].end; k = d->node[k].end) {
        struct str text = {"[image]", 7};
        bool media = d->node[k].kind == J_OBJECT && !j_get(d, k, "text");
        if (k > i + 1) buf_str(s, "\n");
        if (d->node[k].kind == J_STRING) text = j_string(d, k, a);
        if (d->node[k].kind == J_OBJECT && !media) text = j_text(d, k, "text", a);
        b->media_before += media && !texts;
        b->media_behind += media && texts;
        texts = texts || !media;
        buf_add(s, text.at, text.len);
    }
    return arena_buf(a, s);
}

static struct str dumped(struct builder *b, size_t i) {
    b->scratch.len = 0;
    if (i)
        j_dump(b->d, i, &b->t->arena, &b->scratch);
    else
        buf_str(&b->scratch, "null");
    return arena_buf(&b->t->arena, &b->scratch);
}

static void set_id(struct builder *b, struct part *p, size_t object, const char *id,
                   const char *name) {
    size_t node = j_get(b->d, object, id);
    if (p->kind == RESULT) {
        p->media_before = b->media_before;
        p->media_behind = b->media_behind;
    }
    p->has_id = node && b->d->node[node].kind == J_STRING;
    p->id = j_text(b->d, object, id, &b->t->arena);
    if (name) p->name = j_text(b->d, object, name, &b->t->arena);
}

/* ---- the formats ---------------------------------------------------------------------------- */

static bool ends_with(struct str s, const char *tail) {
    size_t n = strlen(tail);
    return s.len >= n && memcmp(s.at + s.len - n, tail, n) == 0;
}

static void anthropic_block(struct builder *b, size_t i) {
    const struct jdoc *d = b->d;
    struct arena *a = &b->t->arena;
    struct str type = j_text(d, i, "type", a);
    struct part *p;
    if (str_is(type, "text")) {
        add_part(b, TEXT, j_text(d, i, "text", a));
    } else if (str_is(type, "thinking")) {
        add_part(b, THINK, j_text(d, i, "thinking", a));
    } else if (str_is(type, "tool_use") || str_is(type, "server_tool_use")) {
        p = add_part(b, CALL, dumped(b, j_get(d, i, "input")));
        set_id(b, p, i, "id", "name");
    } else if (ends_with(type, "tool_result")) {
        p = add_part(b, RESULT, flat(b, j_get(d, i, "content")));
        set_id(b, p, i, "tool_use_id", NULL);
    } else {
        b->scratch.len = 0;
        buf_str(&b->scratch, "[");
        buf_add(&b->scratch, type.len ? type.at : "None", type.len ? type.len : 4);
        buf_str(&b->scratch, "]");
        add_part(b, OTHER, arena_buf(a, &b->scratch));
    }
}

static void load_system(struct builder *b, size_t node) {
    if (!node) return;
    add_part(b, TEXT, flat(b, node));
    end_message(b, str_of("system"), b->d->node[node].from, b->d->node[node].to);
}

static void load_anthropic(struct builder *b, size_t body) {
    const struct jdoc *d = b->d;
    size_t list = j_get(d, body, "messages");
    load_system(b, j_get(d, body, "system"));
    if (!list || d->node[list].kind != J_ARRAY) return;
    b->t->list_end = d->node[list].to - 1;
    for (size_t i = list + 1; i < d->node[list].end; i = d->node[i].end) {
        size_t content = j_get(d, i, "content");
        struct str role = j_text(d, i, "role", &b->t->arena);
        bool blocks = content && d->node[content].kind == J_ARRAY, results = blocks;
        if (content && !blocks) add_part(b, TEXT, flat(b, content));
        for (size_t k = content + 1; blocks && k < d->node[content].end; k = d->node[k].end) {
            anthropic_block(b, k);
            results = results && ends_with(j_text(d, k, "type", &b->t->arena), "tool_result");
        }
        if (results && d->node[content].end > content + 1) role = str_of("tool");
        end_message(b, role, d->node[i].from, d->node[i].to);
        b->element++;
    }
}

static void responses_call(struct builder *b, size_t i) {
    const struct jdoc *d = b->d;
    struct str text = j_text(d, i, "arguments", &b->t->arena);
    size_t other = j_get(d, i, "arguments");
    if (!text.len) {
        if (!other || d->node[other].kind == J_STRING) other = j_get(d, i, "action");
        if (!other) other = j_get(d, i, "input");
        if (other)
            text = dumped(b, other);
        else
            text = str_of("\"\"");
    }
    set_id(b, add_part(b, CALL, text), i, "call_id", "name");
}

static void responses_item(struct builder *b, size_t i) {
    const struct jdoc *d = b->d;
    struct str type = j_text(d, i, "type", &b->t->arena);
    struct str role = str_of("assistant");
    if (!type.len || str_is(type, "message")) {
        role = j_text(d, i, "role", &b->t->arena);
        add_part(b, TEXT, flat(b, j_get(d, i, "content")));
    } else if (ends_with(type, "_output")) {
        role = str_of("tool");
        struct part *p = add_part(b, RESULT, flat(b, j_get(d, i, "output")));
        set_id(b, p, i, "call_id", NULL);
    } else if (ends_with(type, "_call")) {
        responses_call(b, i);
    } else if (str_is(type, "reasoning")) {
        add_part(b, THINK, flat(b, j_get(d, i, "summary")));
    }
    end_message(b, role, d->node[i].from, d->node[i].to);
}

static void load_responses(struct builder *b, size_t body) {
    const struct jdoc *d = b->d;
    size_t list = j_get(d, body, "input");
    load_system(b, j_get(d, body, "instructions"));
    if (!list || d->node[list].kind != J_ARRAY) return;
    b->t->list_end = d->node[list].to - 1;
    for (size_t i = list + 1; i < d->node[list].end; i = d->node[i].end, b->element++)
        responses_item(b, i);
}

static void chat_call(struct builder *b, size_t i) {
    const struct jdoc *d = b->d;
    size_t f = j_get(d, i, "function");
    if (!f) f = j_get(d, i, "custom");
    size_t arguments = f ? j_get(d, f, "arguments") : 0;
    if (f && !arguments) arguments = j_get(d, f, "input");
    struct str text = {"", 0};
    if (arguments)
        text = d->node[arguments].kind == J_STRING ? j_string(d, arguments, &b->t->arena)
                                                   : dumped(b, arguments);
    struct part *p = add_part(b, CALL, text);
    set_id(b, p, i, "id", NULL);
    if (f) p->name = j_text(d, f, "name", &b->t->arena);
}

static void load_chat(struct builder *b, size_t body) {
    const struct jdoc *d = b->d;
    size_t list = j_get(d, body, "messages");
    if (!list || d->node[list].kind != J_ARRAY) return;
    b->t->list_end = d->node[list].to - 1;
    for (size_t i = list + 1; i < d->node[list].end; i = d->node[i].end) {
        struct str role = j_text(d, i, "role", &b->t->arena);
        size_t content = j_get(d, i, "content"), calls = j_get(d, i, "tool_calls");
        add_part(b, THINK, j_text(d, i, "reasoning_content", &b->t->arena));
        if (str_is(role, "tool") || str_is(role, "function")) {
            set_id(b, add_part(b, RESULT, flat(b, content)), i, "tool_call_id", NULL);
            role = str_of("tool");
        } else {
            add_part(b, TEXT, flat(b, content));
            for (size_t k = calls + 1; calls && k < d->node[calls].end; k = d->node[k].end)
                chat_call(b, k);
        }
        if (str_is(role, "developer")) role = str_of("system");
        end_message(b, role, d->node[i].from, d->node[i].to);
        b->element++;
    }
}

/* Any other format the library knows. */
static bool load_by_library(struct builder *b, paucis_ctx *ctx, const paucis_opts *opts,
                            const char **why) {
    static const struct {
        const char *name;
        enum part_kind kind;
    } kinds[] = {{"text", TEXT}, {"call", CALL}, {"result", RESULT}, {"thinking", THINK}};
    paucis_error e;
    size_t n, from = 0, to = 0, message = 0;
    paucis_part p;
    struct str role = {"", 0};
    struct trace *t = b->t;
    if (paucis_read(ctx, t->body.at, t->body.len, opts, &n, &e) != PAUCIS_OK) {
        *why = e.msg;
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (paucis_read_get(ctx, i, &p) != PAUCIS_OK) break;
        if (i > 0 && p.message != message) end_message(b, role, from, to);
        if (i == 0 || p.message != message) from = p.pos;
        message = p.message;
        to = p.pos + p.len;
        role = str_of(p.role);
        enum part_kind kind = OTHER;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (strcmp(kinds[k].name, p.kind) == 0) kind = kinds[k].kind;
        struct str text = kind == OTHER ? str_of("[image]") : (struct str){p.text, p.text_len};
        struct part *part = add_part(b, kind, text);
        if (!part) continue;
        part->has_id = p.id != NULL;
        part->id = arena_copy(&t->arena, (struct str){p.id, p.id_len});
        part->name = arena_copy(&t->arena, (struct str){p.name, p.name_len});
    }
    end_message(b, role, from, to);
    return true;
}

/* ---- a line --------------------------------------------------------------------------------- */

/* Adjacent assistant messages come from one request; the first message of all from none. */
static void find_turns(struct trace *t) {
    for (size_t i = 1; i < t->nmsgs; i++)
        if (t->msgs[i].role == R_ASSISTANT && t->msgs[i - 1].role != R_ASSISTANT)
            *PUSH(t->turns, t->nturns, t->turns_cap) = i;
}

static void sum_tokens(struct trace *t) {
    t->before = arena_get(&t->arena, (t->nmsgs + 1) * sizeof *t->before);
    for (size_t i = 0; i < t->nmsgs; i++) t->before[i + 1] = t->before[i] + t->msgs[i].whole.tokens;
}

/* What logs.c adds: for each element of the request its time and, for replies, what was billed. A
 * request is made when the element before its reply has come. */
static void read_log_facts(struct trace *t, const struct jdoc *d) {
    size_t when = j_get(d, 0, "when"), billed = j_get(d, 0, "billed"), turn = 0, k = 0;
    double v;
    if (when) t->when = arena_get(&t->arena, (t->nturns + 1) * sizeof *t->when);
    for (size_t i = when + 1; when && i < d->node[when].end; i = d->node[i].end, k++) {
        while (turn < t->nturns && t->msgs[t->turns[turn]].element <= k) turn++;
        if (turn < t->nturns && t->msgs[t->turns[turn]].element == k + 1 && j_number(d, i, &v))
            t->when[turn] = v;
    }
    if (billed) t->input = arena_get(&t->arena, (t->nturns + 1) * sizeof *t->input);
    turn = k = 0;
    for (size_t i = billed + 1; billed && i < d->node[billed].end; i = d->node[i].end, k++) {
        if (d->node[i].kind != J_OBJECT) continue;
        struct usage u = {0};
        if (j_number(d, j_get(d, i, "fresh"), &v)) u.fresh = (uint64_t)v;
        if (j_number(d, j_get(d, i, "written"), &v)) u.written = (uint64_t)v;
        if (j_number(d, j_get(d, i, "read"), &v)) u.read = (uint64_t)v;
        t->has_billed = true;
        t->billed.fresh += u.fresh;
        t->billed.written += u.written;
        t->billed.read += u.read;
        /* Of several requests in one turn the first has nothing but the messages before it. */
        while (turn + 1 < t->nturns && t->msgs[t->turns[turn + 1]].element <= k) turn++;
        if (turn < t->nturns && !t->input[turn]) t->input[turn] = u.fresh + u.written + u.read;
    }
}

static const char *detect(paucis_ctx *ctx, struct str body, const char **why) {
    paucis_opts opts;
    paucis_stats st = {.size = sizeof st};
    paucis_error e;
    size_t edits;
    paucis_opts_init(&opts, sizeof opts);
    opts.policy = "none";
    if (paucis_plan(ctx, body.at, body.len, &opts, &edits, &st, &e) != PAUCIS_OK) *why = e.msg;
    return st.format;
}

static bool load_format(struct builder *b, size_t body, const char *format, paucis_ctx *ctx,
                        const char **why) {
    paucis_opts opts;
    paucis_opts_init(&opts, sizeof opts);
    opts.format = format;
    if (strcmp(format, "anthropic") == 0)
        load_anthropic(b, body);
    else if (strcmp(format, "openai-responses") == 0)
        load_responses(b, body);
    else if (strcmp(format, "openai-chat") == 0)
        load_chat(b, body);
    else
        return load_by_library(b, ctx, &opts, why);
    return true;
}

static const char *known_format(struct str name) {
    const paucis_info *f;
    for (size_t i = 0; (f = paucis_format_at(i)); i++)
        if (str_is(name, f->name)) return f->name;
    return NULL;
}

bool trace_load(struct trace *t, char *line, size_t len, paucis_ctx *ctx, struct jdoc *d,
                const char **why) {
    double v;
    *t = (struct trace){.line = line};
    *why = "not a trace";
    if (!jdoc_read(d, line, len)) return *why = "not valid JSON", false;
    if (d->node[0].kind != J_OBJECT) return false;
    size_t request = j_get(d, 0, "request");
    t->body = j_raw(d, request);
    t->id = j_text(d, 0, "id", &t->arena);
    t->agent = j_text(d, 0, "agent", &t->arena);
    const char *format = request ? known_format(j_text(d, 0, "format", &t->arena)) : NULL;
    if (!format) format = detect(ctx, t->body, why);
    if (!format) return false;
    t->format = str_of(format);
    if (j_number(d, j_get(d, 0, "logged_input_tokens"), &v) && v > 0) t->logged_input = (uint64_t)v;
    struct builder b = {.t = t, .d = d};
    bool ok = load_format(&b, request, format, ctx, why);
    buf_free(&b.text);
    buf_free(&b.scratch);
    if (!ok) return false;
    find_turns(t);
    sum_tokens(t);
    if (request) read_log_facts(t, d);
    /* Positions were in the line; the library is given the body only. */
    size_t shift = d->node[request].from;
    t->list_end -= t->list_end ? shift : 0;
    bool own = strcmp(format, "anthropic") == 0 || strncmp(format, "openai", 6) == 0;
    for (size_t i = 0; own && i < t->nmsgs; i++) {
        t->msgs[i].from -= shift;
        t->msgs[i].to -= shift;
    }
    return true;
}

void trace_free(struct trace *t) {
    free(t->line);
    free(t->msgs);
    free(t->parts);
    free(t->turns);
    arena_free(&t->arena);
    *t = (struct trace){0};
}
