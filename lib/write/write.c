/* See write.h. Every edit becomes one or a few splices:
 *
 *   another text      the inside of the string; if the text stood in several blocks, the first
 *                     takes it and the others go (or, where they cannot go, become empty)
 *   other arguments   an object that the edit gives, or {"_note":"the text"}; as an object or as a
 *                     string that holds one
 *   a part, message   the array element with one comma
 *   a new message     the format's template with one comma
 *
 * Splices come out in order of the body except where a format lists a message's parts in another
 * order than the JSON does; then that message's splices are sorted. */
#include "write/write.h"

#include <stdlib.h>

#include "view/edit.h"

struct writer {
    struct view *v;
    struct splices *s;
    size_t first_kept; /* node that becomes its array's first element, all before it having gone */
    bool owes_comma;   /* the array begins with inserted messages; one goes before what follows */
    bool unordered;    /* the last splice stands before the one added ahead of it */
    paucis_err err;    /* sticky: later steps do nothing */
};

static void writer_splice(struct writer *w, size_t from, size_t to, struct span text) {
    struct splices *s = w->s;
    if (w->err) return;
    if (!VEC_ROOM(w->v->mem, s->list, 1)) {
        w->err = PAUCIS_E_NOMEM;
        return;
    }
    if (s->list.count && s->list.at[s->list.count - 1].to > from) w->unordered = true;
    s->list.at[s->list.count++] = (struct splice){from, to, text};
    s->size = s->size - (to - from) + text.len;
}

/* Removes element `node` of an array. Elements of one array must be given in order. */
static void writer_drop_element(struct writer *w, size_t node) {
    const struct json *j = w->v->j;
    bool leads = json_type(j, node - 1) == '[' || w->first_kept == node;
    if (!leads) { /* with the comma before it; the node before is the end of its neighbour */
        char t = json_type(j, node - 1);
        size_t from = t == ']' || t == '}' ? json_from(j, node - 1) + 1 : json_to(j, node - 1);
        writer_splice(w, from, json_to(j, node), SPAN(""));
        return;
    }
    size_t next = json_next(j, node);
    bool nothing_left = json_type(j, next) == ']';
    if (nothing_left && w->v->ruled && !w->err) w->err = PAUCIS_E_INVARIANT; /* G2 */
    writer_splice(w, json_from(j, node), nothing_left ? json_to(j, node) : json_from(j, next),
                  SPAN(""));
    w->first_kept = next;
}

static char *writer_alloc(struct writer *w, size_t n) {
    char *p = w->err ? NULL : paucis__arena_alloc(w->v->arena, n);
    if (!p && !w->err) w->err = PAUCIS_E_NOMEM;
    return p;
}

static struct span writer_quoted(struct writer *w, struct span text) {
    size_t n = paucis__json_quote(text, NULL);
    if (n == text.len) return text;
    char *dst = writer_alloc(w, n);
    if (!dst) return SPAN("");
    paucis__json_quote(text, dst);
    return span_of(dst, n);
}

/* An arguments object that says `text`. */
static struct span writer_note(struct writer *w, struct span text) {
    static const char open[] = "{\"_note\":\"", close[] = "\"}";
    struct span q = writer_quoted(w, text);
    char *dst = writer_alloc(w, q.len + sizeof open - 1 + sizeof close - 1);
    if (!dst) return SPAN("");
    memcpy(dst, open, sizeof open - 1);
    memcpy(dst + sizeof open - 1, q.at, q.len);
    memcpy(dst + sizeof open - 1 + q.len, close, sizeof close - 1);
    return span_of(dst, q.len + sizeof open - 1 + sizeof close - 1);
}

static void writer_replace(struct writer *w, const struct part *p) {
    const struct view *v = w->v;
    const struct edit *e = &v->edits.at[p->edit];
    struct span text = e->text, quoted = e->quoted;
    bool note = (p->flags & PART_OBJECT) && !e->object;
    if (note) text = writer_note(w, text);
    if (note || !quoted.at) quoted = writer_quoted(w, text);
    size_t gone = 0; /* nodes before this one have gone with an element */
    for (size_t i = p->slot; i < p->slot + p->nslots; i++) {
        const struct slot *s = &v->slots.at[i];
        size_t from = json_from(v->j, s->node), to = json_to(v->j, s->node);
        if (s->node < gone) continue; /* a second text of that element */
        if (i > p->slot && s->host) {
            writer_drop_element(w, s->host);
            gone = json_next(v->j, s->host);
        } else if (!json_is_string(v->j, s->node)) {
            writer_splice(w, from, to, text);
        } else {
            writer_splice(w, from + 1, to - 1, i > p->slot ? SPAN("") : quoted);
        }
    }
}

/* What `form` says for this inserted message; see struct format. */
static struct span writer_fill(struct writer *w, const char *form, const struct part *p) {
    struct view *v = w->v;
    struct span text = writer_quoted(w, v->edits.at[p->edit].text);
    struct span id = p->id ? json_inner(v->j, p->id) : SPAN("");
    struct span name = p->name ? json_inner(v->j, p->name) : SPAN("");
    char *dst = writer_alloc(w, 1 + strlen(form) + text.len + id.len + name.len);
    size_t n = 0;
    if (!dst) return SPAN("");
    dst[n++] = ',';
    bool skip = false; /* inside %( %) of a call without an id */
    for (const char *f = form; *f; f++) {
        struct span piece = span_of(f, 1);
        if (*f == '%') {
            f++;
            if (*f == '(' || *f == ')') {
                skip = *f == '(' && !p->id;
                continue;
            }
            piece = *f == 't' ? text : *f == 'i' ? id : name;
        }
        if (skip) continue;
        memcpy(dst + n, piece.at, piece.len);
        n += piece.len;
    }
    return span_of(dst, n);
}

/* The messages inserted after body message i. Where everything before them has gone, a comma is
 * owed to whatever comes next instead of standing in front. */
static void writer_inserted(struct writer *w, size_t i) {
    const struct view *v = w->v;
    size_t last = view_message(v, i)->last, next = json_next(v->j, last);
    bool leads = w->first_kept == next;
    size_t at = leads ? json_from(v->j, next) : json_to(v->j, last);
    for (size_t k = view_message(v, i)->insert; k != NO_INDEX; k = view_message(v, k)->insert) {
        const struct message *m = view_message(v, k);
        const struct part *p = view_part(v, m->part);
        if (m->flags & MESSAGE_DROPPED) continue;
        const char *form = p->kind == PART_RESULT ? v->insert_result : v->insert_user;
        struct span text = writer_fill(w, form, p);
        bool comma = !leads || w->owes_comma;
        if (text.len) writer_splice(w, at, at, span_of(text.at + !comma, text.len - !comma));
        w->owes_comma = leads;
    }
}

static int splice_compare(const void *a, const void *b) {
    const struct splice *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static void writer_message(struct writer *w, size_t i) {
    const struct view *v = w->v;
    const struct message *m = view_message(v, i);
    if (m->flags & MESSAGE_DROPPED) {
        for (size_t e = m->node;; e = json_next(v->j, e)) {
            writer_drop_element(w, e);
            if (e == m->last) break;
        }
        return;
    }
    size_t first = w->s->list.count;
    for (size_t k = m->part; k < m->part + m->nparts; k++) {
        const struct part *p = view_part(v, k);
        if (p->flags & PART_DROPPED)
            writer_drop_element(w, p->node);
        else if (p->edit != NO_INDEX)
            writer_replace(w, p);
    }
    if (w->unordered)
        qsort(w->s->list.at + first, w->s->list.count - first, sizeof(struct splice),
              splice_compare);
    w->unordered = false;
}

/* Element `node` stays: a comma that is owed goes before it. */
static void writer_pay_comma(struct writer *w, size_t node) {
    size_t at = json_from(w->v->j, node);
    if (w->owes_comma && json_type(w->v->j, node) != ']') writer_splice(w, at, at, SPAN(","));
    w->owes_comma = false;
}

/* Writes message i and what is inserted behind it. */
static void writer_step(struct writer *w, size_t i) {
    const struct message *m = view_message(w->v, i);
    if (!(m->flags & (MESSAGE_DROPPED | MESSAGE_TOP))) writer_pay_comma(w, m->node);
    writer_message(w, i);
    if (m->insert != NO_INDEX) writer_inserted(w, i);
}

/* A top-level text is a message in front, but in the body it may stand behind all the others. */
static bool stands_behind(const struct view *v, const struct message *m) {
    return (m->flags & MESSAGE_TOP) && m->node > view_message(v, v->from_body - 1)->node;
}

paucis_err paucis__write_plan(struct view *v, struct splices *s) {
    struct writer w = {.v = v, .s = s};
    s->list.count = 0;
    s->size = v->j->size;
    if (!v->edits.count) return PAUCIS_OK;
    for (int behind = 0; behind < 2; behind++) {
        for (size_t i = 0; i < v->from_body; i++)
            if (stands_behind(v, view_message(v, i)) == behind) writer_step(&w, i);
        writer_pay_comma(&w, w.first_kept); /* elements at the end may belong to no message */
    }
    return w.err;
}

void paucis__write_apply(const struct json *j, const struct splices *s, char *dst) {
    size_t at = 0;
    for (size_t i = 0; i < s->list.count; i++) {
        const struct splice *p = &s->list.at[i];
        memcpy(dst, j->body + at, p->from - at);
        dst += p->from - at;
        if (p->text.len) memcpy(dst, p->text.at, p->text.len);
        dst += p->text.len;
        at = p->to;
    }
    memcpy(dst, j->body + at, j->size - at);
}

/* How far two texts agree. */
static size_t common_prefix(struct span a, struct span b) {
    size_t n = a.len < b.len ? a.len : b.len, i = 0;
    if (a.at == b.at) return n;
    while (i < n && a.at[i] == b.at[i]) i++;
    return i;
}

uint64_t paucis__write_first_change(const struct json *j, const struct splices *s) {
    size_t pos = 0, at = 0; /* written so far, all of it equal; read so far */
    for (size_t i = 0; i <= s->list.count; i++) {
        size_t from = i < s->list.count ? s->list.at[i].from : j->size;
        struct span pieces[2] = {span_of(j->body + at, from - at), SPAN("")};
        if (i < s->list.count) {
            pieces[1] = s->list.at[i].text;
            at = s->list.at[i].to;
        }
        for (size_t k = 0; k < 2; k++) {
            size_t same = common_prefix(pieces[k], span_of(j->body + pos, j->size - pos));
            pos += same;
            if (same < pieces[k].len) return pos;
        }
    }
    return pos < j->size ? pos : PAUCIS_NO_BYTE;
}
