/* The stable policy, through the library's session: parts are added as they come, and at each
 * request the session says which of them stand in another form now. So a trace costs one pass.
 *
 * The library's parts and those of the measure are two readings of the same body. They are brought
 * together by place: a part of the library belongs to the message whose bytes it lies in, and there
 * to the next part of its kind. Several text blocks that the measure joins are several parts there;
 * pictures in a result, which the library leaves where they are, stand behind its new text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/families.h"

struct theirs {
    size_t msg;      /* sent with this message */
    size_t part;     /* of the measure, or NONE */
    struct str text; /* now */
    bool gone, changed;
};

struct stable {
    paucis_session *session;
    struct theirs *parts;
    size_t count, added;
    size_t *first; /* by part of the measure: its first here; one more at the end */
    bool *dirty;   /* by message */
    size_t *todo;
    size_t ntodo;
};

static const char *const kind_of[] = {
    [TEXT] = "text", [THINK] = "thinking", [CALL] = "call", [RESULT] = "result", [OTHER] = ""};

/* ---- bringing both readings together -------------------------------------------------------- */

/* The message whose bytes hold this place, or the next one; a system text outside the list is the
 * first message. */
static size_t message_at(const struct trace *t, size_t pos, size_t from) {
    if (t->nmsgs == 0) return 0;
    if (pos >= t->msgs[0].from && pos < t->msgs[0].to) return 0;
    while (from < t->nmsgs && pos >= t->msgs[from].to) from++;
    return from;
}

static void match(struct run *r, struct stable *s, size_t i, const paucis_part *p, size_t *next) {
    const struct trace *t = r->trace;
    struct theirs *o = &s->parts[i];
    size_t from = i > 0 ? s->parts[i - 1].msg : 0;
    *o = (struct theirs){.msg = message_at(t, p->pos, from), .part = NONE};
    if (o->msg >= t->nmsgs) return;
    const struct msg *m = &t->msgs[o->msg];
    if (p->pos < m->from || p->pos >= m->to) return;
    if (*next < m->part || *next > m->part + m->nparts) *next = m->part;
    for (size_t k = *next; k < m->part + m->nparts; k++) {
        if (strcmp(kind_of[t->parts[k].kind], p->kind) != 0) continue;
        o->part = k;
        /* Text blocks that the measure joins all belong to the same part. */
        bool joins = t->parts[k].kind == TEXT && p->text_len < t->parts[k].text.len;
        *next = joins ? k : k + 1;
        return;
    }
}

static bool stable_read(struct run *r, struct stable *s) {
    paucis_opts opts;
    paucis_error e;
    paucis_part p;
    size_t next = 0;
    paucis_opts_init(&opts, sizeof opts);
    opts.format = r->trace->format.at;
    if (paucis_read(r->ctx, r->trace->body.at, r->trace->body.len, &opts, &s->count, &e))
        return r->why = e.msg, false;
    s->parts = arena_get(&r->arena, (s->count + 1) * sizeof *s->parts);
    s->first = arena_get(&r->arena, (r->trace->nparts + 1) * sizeof *s->first);
    for (size_t k = 0; k <= r->trace->nparts; k++) s->first[k] = NONE;
    for (size_t i = 0; i < s->count; i++) {
        if (paucis_read_get(r->ctx, i, &p)) return r->why = "cannot be read", false;
        match(r, s, i, &p, &next);
        size_t part = s->parts[i].part;
        if (part != NONE && s->first[part] == NONE) s->first[part] = i;
    }
    return true;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static bool stable_begin(struct run *r) {
    struct stable *s = r->state;
    paucis_opts opts;
    paucis_error e;
    if (!stable_read(r, s)) return false;
    s->dirty = arena_get(&r->arena, r->trace->nmsgs * sizeof *s->dirty);
    s->todo = arena_get(&r->arena, r->trace->nmsgs * sizeof *s->todo);
    paucis_opts_init(&opts, sizeof opts);
    opts.policy = "stable";
    opts.price = r->price;
    opts.kv = r->policy->kv;
    opts.nkv = r->policy->nkv;
    if (paucis_session_new(&s->session, NULL, &opts, &e)) return r->why = e.msg, false;
    return true;
}

/* The text of a part of the measure now, from the library's parts that make it up. */
static bool stable_part(void *ud, const struct trace *t, const struct part *p, struct str *text) {
    struct run *r = ud;
    const struct stable *s = r->state;
    size_t part = (size_t)(p - t->parts), first = s->first[part];
    bool changed = false, any = false;
    struct buf b = {0};
    for (size_t i = first; i < s->count && s->parts[i].part == part; i++)
        changed = changed || s->parts[i].changed;
    if (!changed) return true;
    for (size_t k = 0; k < p->media_before; k++) buf_str(&b, "[image]\n");
    for (size_t i = first; i < s->count && s->parts[i].part == part; i++) {
        paucis_part whole;
        struct str one = s->parts[i].text;
        if (s->parts[i].gone) continue;
        if (!s->parts[i].changed && paucis_read_get(r->ctx, i, &whole) == PAUCIS_OK)
            one = (struct str){whole.text, whole.text_len};
        if (any) buf_str(&b, "\n");
        buf_add(&b, one.at, one.len);
        any = true;
    }
    for (size_t k = 0; k < p->media_behind; k++) buf_str(&b, "\n[image]");
    *text = arena_buf(&r->arena, &b);
    buf_free(&b);
    return any;
}

/* A message that lost all its parts is not sent. */
static void stable_refresh(struct run *r, size_t msg) {
    struct form *f = form_make(r->trace, &r->arena, msg, stable_part, r);
    const struct msg *m = &r->trace->msgs[msg];
    bool empty = f->text.len == m->role_name.len;
    seq_set(&r->seq, msg, empty ? NULL : form_same(f, &m->whole) ? &m->whole : f);
}

static void stable_note(struct run *r, struct stable *s, const paucis_change *c) {
    struct theirs *o = &s->parts[c->part];
    o->changed = true;
    o->gone = !c->text;
    o->text = arena_copy(&r->arena, (struct str){c->text, c->text ? c->text_len : 0});
    if (o->part == NONE || s->dirty[o->msg]) return;
    s->dirty[o->msg] = true;
    s->todo[s->ntodo++] = o->msg;
}

static void stable_step(struct run *r, size_t t) {
    struct stable *s = r->state;
    paucis_step step = {0};
    paucis_part p;
    paucis_change c;
    append_whole(r, t);
    for (; s->added < s->count && s->parts[s->added].msg < t; s->added++)
        if (paucis_read_get(r->ctx, s->added, &p) || paucis_session_add(s->session, &p))
            r->why = "the session takes no more";
    if (r->why || paucis_session_request(s->session, &step)) {
        r->why = "the session failed";
        return;
    }
    for (size_t i = 0; i < step.changes; i++)
        if (paucis_session_change(s->session, i, &c) == PAUCIS_OK && c.part < s->count)
            stable_note(r, s, &c);
    for (size_t i = 0; i < s->ntodo; i++) {
        s->dirty[s->todo[i]] = false;
        stable_refresh(r, s->todo[i]);
    }
    s->ntodo = 0;
}

static void stable_end(struct run *r) { paucis_session_free(((struct stable *)r->state)->session); }

/* A level, or KEY=VALUE of the library's options. */
static bool stable_word(struct policy *p, char *word) {
    char *eq = strchr(word, '=');
    const paucis_info *level;
    bool known = eq != NULL;
    for (size_t i = 0; !known && (level = paucis_level_at(i)); i++)
        known = strcmp(level->name, word) == 0;
    if (!known || p->nkv == sizeof p->kv / sizeof *p->kv) return false;
    if (eq) *eq = '\0';
    p->kv[p->nkv].key = eq ? word : "level";
    p->kv[p->nkv++].val = eq ? eq + 1 : word;
    return true;
}

const struct family family_stable = {
    .name = "stable",
    .params = "LEVEL|KEY=VALUE",
    .source = "paucis, docs/stable.md",
    .summary = "what paucis does by default: rare, deep cuts that stay",
    .by_price = true,
    .word = stable_word,
    .state = sizeof(struct stable),
    .begin = stable_begin,
    .step = stable_step,
    .end = stable_end};
