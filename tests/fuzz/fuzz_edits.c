/* Random edit lists over the view. The last byte picks the format (0 to 5, else detection) and
 * how it is run (see enum ways), the one before says how many edits there are, and each edit
 * takes three bytes from the end: what, and which message or part.
 *
 * The writer refuses, or: the output parses; it reads as the messages of the edited view,
 * untouched ones byte for byte and changed ones with their new texts; and where the edited view
 * has no new break, the output has none. All edits undone, the output is the input. */
#include "fuzz.h"

#include "format/format.h"
#include "plan/check.h"
#include "view/edit.h"
#include "write/write.h"

struct document {
    struct json json;
    struct view view;
    struct check check;
};

enum ways { WAY_FORMAT = 7, WAY_FREEZE = 128, WAY_MEND = 64, WAY_NO_GROW = 32, WAY_BOUND = 16 };

struct rig {
    struct mem mem;
    struct arena arena;
    struct document in, out;
    struct splices splices;
    bool dropped, inserted; /* some edit did */
};

static paucis_err read_body(struct rig *r, struct document *d, const struct format *format,
                            const char *body, size_t size) {
    paucis_error e;
    paucis__view_clear(&d->view);
    d->view.mem = &r->mem;
    d->view.arena = &r->arena;
    PAUCIS_TRY(paucis__json_read(&d->json, &r->mem, NULL, body, size, &e));
    d->view.j = &d->json;
    if (!format) format = paucis__format_detect(&d->json);
    if (!format || !json_is_object(&d->json, 0)) return PAUCIS_E_FORMAT;
    return paucis__format_read(format, &d->view);
}

static void free_document(struct rig *r, struct document *d) {
    VEC_FREE(&r->mem, d->json.nodes);
    VEC_FREE(&r->mem, d->check.breaks);
    d->view.mem = &r->mem;
    paucis__view_free(&d->view);
}

#define TEXT(literal) \
    { (literal), sizeof(literal) - 1 }
static const struct span texts[] = {
    TEXT("short"),
    TEXT("\"quoted\" \\ and\nnew line\t\x01"),
    TEXT("caf\xc3\xa9 \xf0\x9f\x98\x80 \xed\xa0\x80"), /* with a lone surrogate */
    TEXT("a\0b"),
    TEXT(" \n"), /* blank: to be refused */
    TEXT(""),
    TEXT("long, and longer than most of what stands in the seeds, so that bodies grow"),
    TEXT("{\"not\":\"an object\"}"),
};

/* A call whose result is not there, or not any more. */
static bool is_unanswered(const struct view *v, size_t part) {
    const struct part *p = view_part(v, part);
    if (p->kind != PART_CALL || p->mate == NO_INDEX) return p->kind == PART_CALL;
    const struct part *result = view_part(v, p->mate);
    return (result->flags & PART_DROPPED) ||
           (view_message(v, result->message)->flags & MESSAGE_DROPPED);
}

static void one_edit(struct rig *r, unsigned what, unsigned which) {
    static const struct why why = {"fuzz", "because"};
    struct view *v = &r->in.view;
    struct span text = texts[what >> 3 & 7];
    size_t part = v->parts.count ? which % v->parts.count : 0, made;
    size_t message = v->messages.count ? which % v->messages.count : 0;
    paucis_err err = PAUCIS_E_INVARIANT;
    if (!v->messages.count) return;
    switch (what & 7) {
    case 0:
    case 1:
        if (v->parts.count) err = paucis__edit_replace(v, why, part, text);
        break;
    case 2:
        if (v->parts.count) err = paucis__edit_drop(v, why, part);
        break;
    case 3: err = paucis__edit_drop_message(v, why, message); break;
    case 4: err = paucis__edit_drop_unit(v, why, view_message(v, message)->unit); break;
    case 5: err = paucis__edit_insert(v, why, message, NO_INDEX, text, &made); break;
    default:
        if (!v->parts.count || !is_unanswered(v, part)) return;
        err = paucis__edit_insert(v, why, view_part(v, part)->message, part, text, &made);
    }
    FUZZ_CHECK(err == PAUCIS_OK || err == PAUCIS_E_INVARIANT);
    if (err) return;
    r->dropped = r->dropped || ((what & 7) >= 2 && (what & 7) <= 4);
    r->inserted = r->inserted || (what & 7) >= 5;
}

/* ---- what must hold of the output ----------------------------------------------------------- */

static bool is_untouched(const struct view *v, const struct message *m) {
    for (size_t p = m->part; p < m->part + m->nparts; p++)
        if (view_part(v, p)->edit != NO_INDEX || (view_part(v, p)->flags & PART_DROPPED))
            return false;
    return m->node != 0;
}

static struct span message_bytes(const struct view *v, const struct message *m) {
    size_t from = json_from(v->j, m->node), to = json_to(v->j, m->last);
    return span_of(v->j->body + from, to - from);
}

/* The edited part now says what the edit said. */
static void same_text(struct view *before, size_t p, struct view *after, size_t q) {
    struct span want, got;
    const struct part *part = view_part(before, p);
    FUZZ_CHECK(view_part(after, q)->kind == part->kind);
    if (part->edit == NO_INDEX) return;
    FUZZ_CHECK(paucis__view_text(before, p, &want) == PAUCIS_OK);
    FUZZ_CHECK(paucis__view_text(after, q, &got) == PAUCIS_OK);
    if (part->flags & PART_OBJECT) {
        FUZZ_CHECK(got.len >= sizeof "{\"_note\":\"\"}" - 1);
        FUZZ_CHECK(memcmp(got.at, "{\"_note\":\"", sizeof "{\"_note\":\"" - 1) == 0);
    } else {
        FUZZ_CHECK(want.len == got.len && memcmp(want.at, got.at, want.len) == 0);
    }
}

static void same_messages(struct view *before, struct view *after) {
    FUZZ_CHECK(after->order.count == before->order.count);
    for (size_t k = 0; k < after->order.count; k++) {
        const struct message *m = view_message(before, before->order.at[k]);
        const struct message *n = view_message(after, after->order.at[k]);
        if (is_untouched(before, m)) {
            struct span x = message_bytes(before, m), y = message_bytes(after, n);
            FUZZ_CHECK(x.len == y.len && memcmp(x.at, y.at, x.len) == 0);
            continue;
        }
        size_t q = n->part;
        for (VIEW_EACH_PART(before, p, m)) {
            FUZZ_CHECK(q < n->part + n->nparts);
            same_text(before, p, after, q++);
        }
        FUZZ_CHECK(q == n->part + n->nparts);
    }
}

/* Is (rule, message of v) among the breaks of c? */
static bool has_break(const struct check *c, const char *rule, size_t message) {
    for (size_t i = 0; i < c->breaks.count; i++)
        if (strcmp(c->breaks.at[i].rule, rule) == 0 && c->breaks.at[i].message == message)
            return true;
    return false;
}

/* The message of the edited view that became message m of the output. */
static size_t origin(const struct view *before, size_t m) {
    return m == NO_INDEX ? NO_INDEX : before->order.at[m];
}

static void judged_otherwise(const struct rig *r, const struct break_ *b, const char *where) {
    fprintf(stderr, "%s (%s), message %u, only in %s\noutput: %.*s\ninput: %.*s\n", b->rule,
            b->text, b->message, where, (int)r->out.json.size, r->out.json.body,
            (int)r->in.json.size, r->in.json.body);
    abort();
}

/* An inserted result repeats its call's id, and what is wrong with that. */
static size_t asked_by(const struct view *v, size_t message) {
    if (message == NO_INDEX || message < v->from_body) return message;
    const struct part *p = view_part(v, view_message(v, message)->part);
    return p->mate == NO_INDEX ? message : view_part(v, p->mate)->message;
}

/* Every break of the output is known to `c`, a check of the view it was written from. */
static void none_new(const struct rig *r, const struct check *c) {
    const struct view *v = &r->in.view;
    for (size_t i = 0; i < r->out.check.breaks.count; i++) {
        const struct break_ *b = &r->out.check.breaks.at[i];
        size_t message = origin(v, b->message);
        if (!has_break(c, b->rule, message) && !has_break(c, b->rule, asked_by(v, message)))
            judged_otherwise(r, b, "the output");
    }
}

/* And none of the edited view is gone. */
static void none_gone(const struct rig *r, const struct check *c) {
    for (size_t i = 0; i < c->breaks.count; i++) {
        const struct break_ *b = &c->breaks.at[i];
        size_t at = NO_INDEX;
        for (size_t k = 0; k < r->in.view.order.count; k++)
            if (r->in.view.order.at[k] == b->message) at = k;
        if (!has_break(&r->out.check, b->rule, at)) judged_otherwise(r, b, "the edited view");
    }
}

/* Where texts were replaced and no more, view and output are judged alike, broken or not. Where
 * messages came or went, a view that is broken anyway may be judged more strictly: a result
 * whose call is gone is an orphan to it, but read again it may find an older call with the same
 * id. */
static void same_judgement(struct rig *r, const struct check *known) {
    struct check *now = &r->in.check, *out = &r->out.check;
    FUZZ_CHECK(paucis__check_run(now, &r->in.view, false) == PAUCIS_OK);
    FUZZ_CHECK(paucis__check_run(out, &r->out.view, false) == PAUCIS_OK);
    if (!r->dropped && !r->inserted) {
        none_new(r, now);
        none_gone(r, now);
    }
    for (size_t i = 0; i < now->breaks.count; i++)
        if (!has_break(known, now->breaks.at[i].rule, now->breaks.at[i].message)) return;
    FUZZ_CHECK(paucis__check_run(out, &r->out.view, true) == PAUCIS_OK);
    none_new(r, known);
}

static void try_output(struct rig *r, const struct check *known) {
    struct view *v = &r->in.view;
    paucis_err err = paucis__write_plan(v, &r->splices);
    FUZZ_CHECK(err == PAUCIS_OK || err == PAUCIS_E_INVARIANT);
    if (err) return;
    size_t at = 0;
    for (size_t i = 0; i < r->splices.list.count; i++) {
        FUZZ_CHECK(r->splices.list.at[i].from >= at);
        FUZZ_CHECK(r->splices.list.at[i].to >= r->splices.list.at[i].from);
        at = r->splices.list.at[i].to;
    }
    FUZZ_CHECK(at <= v->j->size);
    FUZZ_CHECK(!v->no_grow || r->splices.size <= v->j->size);
    char *out = malloc(r->splices.size ? r->splices.size : 1);
    FUZZ_CHECK(out);
    paucis__write_apply(v->j, &r->splices, out);
    err = read_body(r, &r->out, v->format, out, r->splices.size);
    if (err) {
        fprintf(stderr, "cannot be read: %.*s\n", (int)r->splices.size, out);
        fprintf(stderr, "made from: %.*s\n", (int)v->j->size, v->j->body);
    }
    FUZZ_CHECK(!err);
    if (!r->dropped && paucis__format_detect(v->j) == v->format) /* its evidence is all there */
        FUZZ_CHECK(paucis__format_detect(&r->out.json) == v->format);
    same_messages(v, &r->out.view);
    same_judgement(r, known);
    free(out);
}

static void run(struct rig *r, struct fuzz_input in) {
    unsigned which = fuzz_byte(&in), edits = fuzz_byte(&in) % 16;
    uint8_t list[16][3];
    struct check known = {0};
    const struct format *format = NULL;
    for (unsigned i = 0; i < edits; i++)
        for (unsigned k = 0; k < 3; k++) list[i][k] = (uint8_t)fuzz_byte(&in);
    for (unsigned i = 0; paucis__formats[i]; i++)
        if (i == (which & WAY_FORMAT)) format = paucis__formats[i];
    if (read_body(r, &r->in, format, (const char *)in.data, in.size)) return;
    struct view *v = &r->in.view;
    FUZZ_CHECK(paucis__check_run(&known, v, true) == PAUCIS_OK);
    v->mending = which & WAY_MEND;
    v->no_grow = which & WAY_NO_GROW;
    v->bound = which & WAY_BOUND;
    for (size_t i = 0; (which & WAY_FREEZE) && i < known.breaks.count; i++)
        if (known.breaks.at[i].message != NO_INDEX) view_freeze(v, known.breaks.at[i].message);
    for (unsigned i = 0; i < edits; i++) one_edit(r, list[i][0], list[i][1] + list[i][2] * 256u);
    paucis__edit_settle(v);
    try_output(r, &known);
    paucis__edit_undo(v, 0);
    FUZZ_CHECK(paucis__write_plan(v, &r->splices) == PAUCIS_OK && !r->splices.list.count);
    FUZZ_CHECK(paucis__check_run(&r->in.check, v, true) == PAUCIS_OK);
    FUZZ_CHECK(r->in.check.total == known.total && v->room == 0);
    VEC_FREE(&r->mem, known.breaks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct rig r = {0};
    r.arena.mem = &r.mem;
    run(&r, (struct fuzz_input){data, size});
    free_document(&r, &r.in);
    free_document(&r, &r.out);
    VEC_FREE(&r.mem, r.splices.list);
    paucis__arena_free(&r.arena);
    FUZZ_CHECK(r.mem.held == 0);
    return 0;
}

FUZZ_MUTATOR(20)
