/* The rules seen only by comparing two bodies. The parts of both are aligned (align.h); each pair
 * is then compared member by member with a table of what may not change, go or come:
 *
 *   before  {"type":"tool_use","id":"t1","name":"ls","input":{...},"cache_control":{...}}
 *   now     {"type":"tool_use","id":"t2","name":"ls","input":{...},"note":1}
 *                                   ^ G7                           ^ G3, and G13: the mark is lost
 *
 * What is free in a format (texts, arguments, whole units) is not in the table and may differ. Both
 * views are taken as they were read, without edits. */
#include "format/format.h"
#include "plan/align.h"
#include "plan/check.h"
#include "plan/thinking.h"

enum {                 /* what a row is about */
       MAY_GO = 1,     /* absence is fine */
       MAY_CHANGE = 2, /* another value is fine */
       OWN_RULE = 4,   /* a new one breaks this rule, not G3 */
       DEEP = 8,       /* counts at any depth, also in blocks that cannot be aligned */
       MARK = 16,      /* a cache mark */
       SIGNATURE = 32, /* of Gemini: required on the calls of the current turn */
       FREE = 64,      /* anything may stand below */
       COMMON = 128    /* has few values: another one proves nothing unless the match is firm */
};

/* Formats are named by their letter in FORMATS.md; * is all of them. */
static const struct field {
    char format;
    uint8_t flags;
    struct span key;
    const char *rule, *text;
} fields[] = {
#define FIELD(format, key, flags, rule, text) \
    { format, flags, {key, sizeof(key) - 1}, rule, text }
    FIELD('*', "cache_control", MARK | OWN_RULE, "G13", "a cache mark came, went or changed"),
    FIELD('*', "prompt_cache_breakpoint", MARK | OWN_RULE, "G13",
          "a cache mark came, went or changed"),
    FIELD('*', "role", MAY_GO, "G6", "the message got another role"),
    FIELD('*', "input", FREE, NULL, NULL),
    FIELD('*', "args", FREE, NULL, NULL),
    FIELD('*', "arguments", FREE, NULL, NULL),
    FIELD('*', "response", FREE, NULL, NULL),
    FIELD('*', "json", FREE, NULL, NULL),
    FIELD('*', "action", FREE, NULL, NULL),
    FIELD('*', "operation", FREE, NULL, NULL),

    FIELD('A', "id", MAY_GO, "A-R10", "an id was rewritten"),
    FIELD('A', "tool_call_id", MAY_GO, "A-R10", "an id was rewritten"),
    FIELD('A', "reasoning_content", MAY_CHANGE, "A-R11", "reasoning_content is gone"),
    FIELD('A', "reasoning_details", 0, "A-R12", "reasoning_details was altered or is gone"),
    FIELD('A', "extra_content", 0, "A-R12", "extra_content was altered or is gone"),
    FIELD('A', "thinking_blocks", 0, "A-R12", "thinking_blocks was altered or is gone"),
    FIELD('A', "reasoning_opaque", 0, "A-R12", "reasoning_opaque was altered or is gone"),
    FIELD('A', "reasoning_text", 0, "A-R12", "reasoning_text was altered or is gone"),

    FIELD('B', "id", MAY_GO, "G7", "an id was rewritten"),
    FIELD('B', "tool_use_id", MAY_GO, "G7", "an id was rewritten"),
    FIELD('B', "encrypted_content", DEEP, "B-R25", "encrypted data was altered or is gone"),
    FIELD('B', "encrypted_index", DEEP, "B-R25", "encrypted data was altered or is gone"),
    FIELD('B', "encrypted_stdout", DEEP, "B-R25", "encrypted data was altered or is gone"),

    FIELD('C', "id", MAY_GO, "G7", "an id was rewritten"),
    FIELD('C', "call_id", MAY_GO, "G7", "an id was rewritten"),
    FIELD('C', "encrypted_content", 0, "C-R5", "encrypted data was altered or is gone"),
    FIELD('C', "fingerprint", 0, "C-R14", "the fingerprint was altered or is gone"),
    FIELD('C', "caller", 0, "C-R14", "the link to the caller was altered or is gone"),
    FIELD('C', "phase", COMMON, "C-R16", "the phase was altered or is gone"),

    FIELD('D', "id", MAY_GO, "G7", "an id was rewritten"),
    FIELD('D', "thoughtSignature", SIGNATURE | OWN_RULE, "D-R5",
          "a signature came, went or changed"),
    FIELD('D', "thought_signature", SIGNATURE | OWN_RULE, "D-R5",
          "a signature came, went or changed"),

    FIELD('E', "toolUseId", MAY_GO, "G7", "an id was rewritten"),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* Blocks that go back as they are, by type. */
static const struct whole {
    char format;
    struct span type;
    const char *rule, *text;
    bool summary; /* the last of them may not go at all, others may go with their message */
} wholes[] = {
#define WHOLE(format, type, rule, summary) \
    { format, {type, sizeof(type) - 1}, rule, "a " type " was altered or is gone", summary }
    WHOLE('B', "compaction", "B-R29", true),
    WHOLE('B', "fallback", "B-R30", false),
    WHOLE('B', "mcp_tool_listing", "B-R30", false),
    WHOLE('C', "compaction", "C-R12", true),
#undef WHOLE
};

/* No message or block of any format has this many members; such an object is not looked into. It
 * keeps the comparison of two objects from growing with the square. */
enum { MANY_KEYS = 48 };

struct pair {
    uint32_t old, now; /* nodes */
};

struct compare {
    struct check *c;
    struct alignment x;
    const struct canon *old, *now;
    char format;
    size_t nfields;
    uint64_t key[FIELDS]; /* of the rows for this format */
    const struct field *field[FIELDS];
    uint64_t type; /* the word */
    VEC(struct pair) todo;
    bool *firm;  /* for each message of now: its twin is known by a firm part */
    size_t turn; /* the last message of the user's own */
};

struct place { /* what is being compared */
    uint32_t message;
    bool call;
    bool firm; /* see align.h; otherwise only another value of what is sealed is judged */
    bool flat; /* a message: what is below its members are parts, compared by themselves */
};

static void report(const struct compare *x, const char *rule, size_t message, size_t node,
                   const char *text) {
    paucis__check_break(x->c, rule, message, node, text);
}

static const struct field *field_of(const struct compare *x, uint64_t key) {
    for (size_t i = 0; i < x->nfields; i++)
        if (x->key[i] == key) return x->field[i];
    return NULL;
}

/* The value of a member by its key's number; 0 if absent. */
static size_t value_of(const struct canon *c, size_t object, uint64_t key) {
    size_t found = 0;
    for (JSON_EACH_KEY(c->v->j, k, object))
        if (c->at[k] == key) found = k + 1;
    return found;
}

static bool is_big(const struct canon *c, size_t object) {
    size_t n = 0;
    for (JSON_EACH_KEY(c->v->j, k, object))
        if (++n > MANY_KEYS) return true;
    return false;
}

/* ---- what cannot be aligned ---------------------------------------------------------------- */

struct seals {
    uint64_t sum;
    size_t marks;
    const struct field *first;
};

/* All sealed data below a value, in order. */
static struct seals seals_below(const struct compare *x, const struct canon *c, size_t node) {
    const struct json *j = c->v->j;
    struct seals s = {0, 0, NULL};
    for (size_t i = node, end = json_next(j, node); i < end; i++) {
        if (!json_is_string(j, i) || !json_is_key(j, i)) continue;
        const struct field *f = field_of(x, c->at[i]);
        if (!f) continue;
        if (f->flags & MARK) s.marks++;
        if (f->flags & DEEP) {
            s.sum = canon_mix(s.sum, canon_mix(c->at[i], c->at[i + 1]));
            if (!s.first) s.first = f;
        }
        if (f->flags & FREE) i = json_next(j, i + 1) - 1;
    }
    return s;
}

static void compare_seals(const struct compare *x, const struct place *at, size_t old, size_t now) {
    struct seals a = seals_below(x, x->old, old), b = seals_below(x, x->now, now);
    const struct field *f = a.first ? a.first : b.first;
    if (a.sum != b.sum && f) report(x, f->rule, at->message, now, f->text);
    if (b.marks > a.marks && at->firm) report(x, "G13", at->message, now, "a cache mark was added");
}

/* ---- member by member ---------------------------------------------------------------------- */

static void compare_later(struct compare *x, size_t old, size_t now) {
    if (!VEC_ROOM(x->c->v->mem, x->todo, 1)) {
        x->c->failed = true;
        return;
    }
    x->todo.at[x->todo.count++] = (struct pair){(uint32_t)old, (uint32_t)now};
}

/* A member of `now` that `old` has too, or not. */
static void compare_member(struct compare *x, const struct place *at, size_t old, size_t now,
                           const struct field *f) {
    const struct json *a = x->old->v->j, *b = x->now->v->j;
    if (!old) {
        bool own = f && (f->flags & OWN_RULE);
        if (at->firm)
            report(x, own ? f->rule : "G3", at->message, now, own ? f->text : "a field was added");
        return;
    }
    if (f && f->rule) {
        bool skip = (f->flags & MAY_CHANGE) || ((f->flags & (MARK | COMMON)) && !at->firm);
        if (!skip && x->old->at[old] != x->now->at[now])
            report(x, f->rule, at->message, now, f->text);
    } else if (!f && !at->flat && json_is_container(b, now) &&
               json_type(a, old) == json_type(b, now)) {
        compare_later(x, old, now);
    }
}

/* A member of `old` that `now` has no more. */
static void compare_missing(const struct compare *x, const struct place *at, size_t old, size_t now,
                            const struct field *f) {
    if (!at->firm) return;
    if (!f) {
        struct seals s = seals_below(x, x->old, old);
        if (s.first) report(x, s.first->rule, at->message, now, s.first->text);
        return;
    }
    if (!f->rule || (f->flags & MAY_GO) || json_is_null(x->old->v->j, old)) return;
    bool needed = (f->flags & SIGNATURE) && at->call && at->message >= x->turn;
    report(x, needed ? "D-R4" : f->rule, at->message, now, f->text);
}

static void compare_objects(struct compare *x, const struct place *at, size_t old, size_t now) {
    const struct json *a = x->old->v->j, *b = x->now->v->j;
    if (is_big(x->old, old) || is_big(x->now, now)) return;
    for (JSON_EACH_KEY(b, k, now)) {
        uint64_t key = x->now->at[k];
        if (value_of(x->now, now, key) != k + 1) continue; /* a later one of this key counts */
        compare_member(x, at, value_of(x->old, old, key), k + 1, field_of(x, key));
    }
    for (JSON_EACH_KEY(a, k, old)) {
        uint64_t key = x->old->at[k];
        if (!value_of(x->now, now, key)) compare_missing(x, at, k + 1, now, field_of(x, key));
    }
}

/* What kind of block this is: its type, or its first key where there is none. */
static uint64_t tag_of(const struct compare *x, const struct canon *c, size_t node) {
    const struct json *j = c->v->j;
    if (!json_is_object(j, node) || is_big(c, node))
        return (uint64_t)(unsigned char)json_type(j, node);
    size_t type = value_of(c, node, x->type);
    return c->at[type ? type : node + 1];
}

static void compare_arrays(struct compare *x, const struct place *at, size_t old, size_t now) {
    const struct json *a = x->old->v->j, *b = x->now->v->j;
    if (json_count(a, old) != json_count(b, now)) {
        compare_seals(x, at, old, now);
        return;
    }
    size_t i = old + 1;
    for (JSON_EACH(b, k, now)) {
        if (tag_of(x, x->old, i) != tag_of(x, x->now, k))
            compare_seals(x, at, i, k);
        else if (json_is_container(b, k) && json_type(a, i) == json_type(b, k))
            compare_later(x, i, k);
        i = json_next(a, i);
    }
}

static void compare_values(struct compare *x, const struct place *at, size_t old, size_t now) {
    if (!json_is_container(x->now->v->j, now) ||
        json_type(x->old->v->j, old) != json_type(x->now->v->j, now))
        return;
    x->todo.count = 0;
    compare_later(x, old, now);
    while (x->todo.count && !x->c->failed) {
        struct pair p = x->todo.at[--x->todo.count];
        if (json_is_object(x->now->v->j, p.now))
            compare_objects(x, at, p.old, p.now);
        else
            compare_arrays(x, at, p.old, p.now);
    }
}

/* ---- parts --------------------------------------------------------------------------------- */

static const struct whole *whole_of(const struct compare *x, const struct canon *c, size_t node) {
    const struct json *j = c->v->j;
    size_t type = json_is_object(j, node) ? json_get(j, node, "type") : 0;
    for (size_t i = 0; type && json_is_string(j, type) && i < sizeof wholes / sizeof *wholes; i++)
        if (wholes[i].format == x->format &&
            json_is_text(j, type, wholes[i].type.at, wholes[i].type.len))
            return &wholes[i];
    return NULL;
}

/* Bedrock's cache mark is a block of its own, behind the one it belongs to. */
static bool is_marked(const struct json *j, size_t block) {
    size_t i = json_next(j, block);
    return i < j->nodes.count && json_type(j, i) == '{' && json_type(j, i + 1) == '"' &&
           json_is(j, i + 1, "cachePoint");
}

static void compare_part(struct compare *x, size_t part) {
    const struct part *q = view_part(x->now->v, part);
    const struct part *p = view_part(x->old->v, x->x.now.mate[part]);
    struct place at = {.message = q->message,
                       .call = q->kind == PART_CALL,
                       .firm = x->x.found[part] != FOUND_SOFT};
    const struct whole *w = q->kind == PART_OPAQUE ? whole_of(x, x->old, p->node) : NULL;
    if (w) {
        if (x->old->at[p->node] != x->now->at[q->node])
            report(x, w->rule, q->message, q->node, w->text);
        return;
    }
    if (x->format == 'E' && at.firm &&
        is_marked(x->old->v->j, p->node) != is_marked(x->now->v->j, q->node))
        report(x, "G13", q->message, q->node, "a cache mark came or went");
    compare_values(x, &at, p->node, q->node);
}

static void compare_parts(struct compare *x) {
    const struct view *v = x->now->v;
    uint32_t said = NO_INDEX; /* of this message */
    for (size_t i = 0; i < v->parts.count && !x->c->failed; i++) {
        const struct part *p = view_part(v, i);
        bool sealed = p->kind == PART_THINKING && strchr("ABE", x->format);
        if (x->x.now.mate[i] == NO_INDEX || sealed) continue; /* see message members, thinking.c */
        if (x->x.found[i] == FOUND_MOVED && said != p->message) {
            report(x, "G6", p->message, p->node, "this stands in another order than before");
            said = p->message;
        }
        compare_part(x, i);
    }
}

/* Blocks that may not go. */
static void find_lost_blocks(const struct compare *x) {
    const struct view *v = x->old->v;
    bool last = true; /* no later summary */
    for (size_t i = v->parts.count; i-- > 0;) {
        const struct part *p = view_part(v, i);
        const struct whole *w = p->kind == PART_OPAQUE ? whole_of(x, x->old, p->node) : NULL;
        if (!w) continue;
        uint32_t twin = x->x.old.twin[p->message];
        bool kept = x->x.old.mate[i] != NO_INDEX;
        if (!kept && (w->summary ? last : twin != NO_INDEX))
            report(x, w->rule, twin, twin == NO_INDEX ? 0 : view_message(x->now->v, twin)->node,
                   w->text);
        if (w->summary) last = false;
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Parts that went to another message than the rest of theirs. */
static void check_twins(const struct compare *x) {
    const struct view *v = x->now->v;
    uint32_t said = NO_INDEX; /* of this message */
    for (size_t i = 0; i < v->parts.count; i++) {
        const struct part *p = view_part(v, i);
        if (x->x.found[i] != FOUND_FIRM) continue;
        if (x->x.thinking_apart && p->kind == PART_THINKING) continue;
        uint32_t old = view_part(x->old->v, x->x.now.mate[i])->message;
        if (x->x.now.twin[p->message] == old) {
            x->firm[p->message] = true;
        } else if (said != p->message) {
            report(x, "G6", p->message, p->node,
                   x->x.old.twin[old] == NO_INDEX ? "messages were merged" : "a message was split");
            said = p->message;
        }
    }
}

/* A part that is the whole element has been compared already. */
static bool is_one_part(const struct view *v, const struct message *m) {
    for (size_t p = m->part; p < m->part + m->nparts; p++)
        if (view_part(v, p)->node == m->last) return true;
    return false;
}

static void compare_messages(struct compare *x) {
    for (size_t i = 0; i < x->now->v->messages.count && !x->c->failed; i++) {
        if (x->x.now.twin[i] == NO_INDEX) continue;
        const struct message *m = view_message(x->now->v, i);
        const struct message *o = view_message(x->old->v, x->x.now.twin[i]);
        if (!json_is_object(x->now->v->j, m->last) || !json_is_object(x->old->v->j, o->last))
            continue;
        if (is_one_part(x->now->v, m) || is_one_part(x->old->v, o)) continue;
        struct place at = {.message = (uint32_t)i, .firm = x->firm[i], .flat = true};
        compare_objects(x, &at, o->last, m->last);
    }
}

/* ---- Responses: reasoning and what it produced --------------------------------------------- */

/* An item that was made from reasoning says so by its id; without the reasoning it goes without. */
static void check_ties(const struct compare *x) {
    const struct view *v = x->old->v;
    uint32_t reasoning = NO_INDEX, said = NO_INDEX;
    for (size_t i = 0; i < v->parts.count; i++) {
        const struct part *p = view_part(v, i);
        if (view_message(v, p->message)->role != ROLE_ASSISTANT) {
            reasoning = NO_INDEX;
        } else if (p->kind == PART_THINKING) {
            reasoning = (uint32_t)i;
        } else if (reasoning != NO_INDEX && x->x.old.mate[reasoning] == NO_INDEX &&
                   x->x.old.mate[i] != NO_INDEX) {
            uint32_t now = view_part(x->now->v, x->x.old.mate[i])->message;
            if (now == said) continue;
            said = now;
            size_t id = json_get(x->now->v->j, view_message(x->now->v, now)->last, "id");
            if (id) report(x, "C-R4", now, id, "the reasoning that produced this item is gone");
        }
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

static char format_letter(const struct view *v) {
    static const struct {
        const char *name;
        char letter;
    } letters[] = {{"openai-chat", 'A'},
                   {"anthropic", 'B'},
                   {"openai-responses", 'C'},
                   {"gemini", 'D'},
                   {"bedrock", 'E'}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (!strcmp(v->format->name, letters[i].name)) return letters[i].letter;
    return 0;
}

static paucis_err compare_init(struct compare *x, struct check *c, struct view *other) {
    bool thinks = strchr("BE", x->format) != NULL;
    x->c = c;
    x->old = &x->x.old.canon;
    x->now = &x->x.now.canon;
    PAUCIS_TRY(paucis__canon_read(&x->x.old.canon, other, thinks));
    PAUCIS_TRY(paucis__canon_read(&x->x.now.canon, c->v, thinks));
    x->x.thinking_apart = x->format == 'C';
    return paucis__align(&x->x);
}

static paucis_err compare_tables(struct compare *x) {
    const struct view *v = x->now->v;
    x->firm = paucis__arena_alloc(v->arena, v->messages.count * sizeof *x->firm);
    if (!x->firm) return PAUCIS_E_NOMEM;
    memset(x->firm, 0, v->messages.count * sizeof *x->firm);
    x->type = canon_word(v, SPAN("type"));
    for (size_t i = 0; i < FIELDS; i++) {
        if (fields[i].format != '*' && fields[i].format != x->format) continue;
        x->key[x->nfields] = canon_word(v, fields[i].key);
        x->field[x->nfields++] = &fields[i];
    }
    for (size_t m = 0; m < v->messages.count; m++)
        if (view_message(v, m)->role == ROLE_USER) x->turn = m;
    return PAUCIS_OK;
}

static paucis_err compare_thinking(struct compare *x, enum against against) {
    if (x->format == 'B')
        return paucis__check_thinking(x->c, &x->x, against,
                                      (struct thinking_rules){"B-R14", "B-R13"});
    if (x->format == 'E')
        return paucis__check_thinking(x->c, &x->x, against,
                                      (struct thinking_rules){"E-R6", "E-R6"});
    return PAUCIS_OK;
}

paucis_err paucis__check_before(struct check *c, struct view *before) {
    struct compare x = {.format = format_letter(c->v)};
    if (!x.format) return PAUCIS_OK; /* without rules */
    PAUCIS_TRY(compare_init(&x, c, before));
    PAUCIS_TRY(compare_tables(&x));
    check_twins(&x);
    compare_parts(&x);
    compare_messages(&x);
    VEC_FREE(c->v->mem, x.todo);
    find_lost_blocks(&x);
    if (x.format == 'C') check_ties(&x);
    PAUCIS_TRY(compare_thinking(&x, AGAINST_BEFORE));
    return c->failed || c->v->failed ? PAUCIS_E_NOMEM : PAUCIS_OK;
}

paucis_err paucis__check_sent(struct check *c, struct view *sent) {
    struct compare x = {.format = format_letter(c->v)};
    if (x.format != 'B' && x.format != 'E') return PAUCIS_OK; /* only Anthropic's models bind */
    PAUCIS_TRY(compare_init(&x, c, sent));
    PAUCIS_TRY(compare_thinking(&x, AGAINST_SENT));
    return c->failed || c->v->failed ? PAUCIS_E_NOMEM : PAUCIS_OK;
}
