/* What paucis itself does, in two ways. `stable` goes through the library's session: parts are
 * added as they come, and at each request the session says which of them stand in another form now,
 * so a trace costs one pass. `compact` plans every request's body from scratch, as the command
 * would; it shows any policy of the library, and that the session agrees with it.
 *
 * The library's parts and those of the measure are two readings of the same body. They are brought
 * together by place: a part of the library belongs to the message whose bytes it lies in, and there
 * to the next part of its kind. Several text blocks that the measure joins are several parts there;
 * pictures in a result, which the library leaves where they are, stand around its new text. */
#include "replay/families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct theirs {
    size_t message;  /* as the library counts */
    size_t msg;      /* sent with this message */
    size_t part;     /* of the measure, or NONE */
    struct str text; /* now */
    bool gone, changed;
};

struct ours {
    paucis_session *session; /* stable */
    paucis_ctx *ctx;         /* compact: r->ctx keeps what was read */
    struct buf body;
    size_t *touched; /* compact: library parts that had an edit in the request before */
    size_t ntouched, touched_cap;
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

static void match(struct run *r, struct ours *s, size_t i, const paucis_part *p, size_t *next) {
    const struct trace *t = r->trace;
    struct theirs *o = &s->parts[i];
    size_t from = i > 0 ? s->parts[i - 1].msg : 0;
    *o = (struct theirs){.message = p->message, .msg = message_at(t, p->pos, from), .part = NONE};
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

static bool ours_read(struct run *r, struct ours *s) {
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
    s->dirty = arena_get(&r->arena, r->trace->nmsgs * sizeof *s->dirty);
    s->todo = arena_get(&r->arena, r->trace->nmsgs * sizeof *s->todo);
    return true;
}

/* ---- stable --------------------------------------------------------------------------------- */

static bool stable_begin(struct run *r) {
    struct ours *s = r->state;
    paucis_opts opts;
    paucis_error e;
    if (!ours_read(r, s)) return false;
    paucis_opts_init(&opts, sizeof opts);
    opts.policy = "stable";
    opts.price = r->price;
    opts.kv = r->policy->kv;
    opts.nkv = r->policy->nkv;
    if (paucis_session_new(&s->session, NULL, &opts, &e)) return r->why = e.msg, false;
    return true;
}

/* The text of a part of the measure now, from the library's parts that make it up. */
static bool ours_part(void *ud, const struct trace *t, const struct part *p, struct str *text) {
    struct run *r = ud;
    const struct ours *s = r->state;
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
static void ours_refresh(struct run *r, size_t msg) {
    struct form *f = form_make(r->trace, &r->arena, msg, ours_part, r);
    const struct msg *m = &r->trace->msgs[msg];
    bool empty = f->text.len == m->role_name.len;
    seq_set(&r->seq, msg, empty ? NULL : form_same(f, &m->whole) ? &m->whole : f);
}

static void ours_dirty(struct ours *s, const struct theirs *o) {
    if (o->part == NONE || s->dirty[o->msg]) return;
    s->dirty[o->msg] = true;
    s->todo[s->ntodo++] = o->msg;
}

/* A library part has another text now; NULL: it is gone. */
static void ours_note(struct run *r, struct ours *s, size_t part, const char *text, size_t len) {
    struct theirs *o = &s->parts[part];
    o->changed = true;
    o->gone = !text;
    o->text = arena_copy(&r->arena, (struct str){text, text ? len : 0});
    ours_dirty(s, o);
}

static void ours_settle(struct run *r, struct ours *s) {
    for (size_t i = 0; i < s->ntodo; i++) {
        s->dirty[s->todo[i]] = false;
        ours_refresh(r, s->todo[i]);
    }
    s->ntodo = 0;
}

static void stable_step(struct run *r, size_t t) {
    struct ours *s = r->state;
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
            ours_note(r, s, c.part, c.text, c.text_len);
    ours_settle(r, s);
}

static void stable_end(struct run *r) { paucis_session_free(((struct ours *)r->state)->session); }

/* KEY=VALUE of the library's options, or a word that stands for one. */
static bool set_option(struct policy *p, const char *key, char *word) {
    char *eq = strchr(word, '=');
    if (p->nkv == sizeof p->kv / sizeof *p->kv) return false;
    if (eq) *eq = '\0';
    p->kv[p->nkv].key = eq ? word : key;
    p->kv[p->nkv++].val = eq ? eq + 1 : word;
    return true;
}

bool ours_fit(const struct policy *p) {
    paucis_opts opts;
    paucis_opts_init(&opts, sizeof opts);
    opts.kv = p->kv;
    opts.nkv = p->nkv;
    for (size_t i = 0; i < p->nkv; i++)
        if (!known_word(WORDS_OPTION, "option", p->kv[i].key)) return false;
    return options_fit(&opts);
}

static bool stable_word(struct policy *p, char *word) {
    const paucis_info *level;
    bool known = strchr(word, '=') != NULL;
    for (size_t i = 0; !known && (level = paucis_level_at(i)); i++)
        known = strcmp(level->name, word) == 0;
    return known && set_option(p, "level", word);
}

const struct family family_stable = {
    .name = "stable",
    .params = "LEVEL|KEY=VALUE",
    .source = "paucis, docs/stable.md",
    .summary = "what paucis does by default: rare, deep cuts that stay",
    .grid = OUR_DIAL,
    .by_price = true,
    .word = stable_word,
    .state = sizeof(struct ours),
    .begin = stable_begin,
    .step = stable_step,
    .end = stable_end};

/* ---- compact --------------------------------------------------------------------------------- */

static bool compact_begin(struct run *r) {
    struct ours *s = r->state;
    if (!r->trace->list_end) return r->why = "its format is read by the library only", false;
    if (!ours_read(r, s)) return false;
    if (paucis_ctx_new(&s->ctx, NULL)) return r->why = "out of memory", false;
    return true;
}

/* The body of the request before message t: the list ends behind the message in front of it. */
static void compact_body(struct run *r, struct ours *s, size_t t) {
    const struct trace *tr = r->trace;
    s->body.len = 0;
    buf_add(&s->body, tr->body.at, tr->msgs[t - 1].to);
    if (tr->msgs[t - 1].to <= tr->list_end) {
        buf_add(&s->body, tr->body.at + tr->list_end, tr->body.len - tr->list_end);
        return;
    }
    /* Only a system text that stands behind the list: the list is empty. */
    s->body.len = 0;
    buf_add(&s->body, tr->body.at, tr->body.len);
}

static void touch(struct ours *s, size_t part) {
    *PUSH(s->touched, s->ntouched, s->touched_cap) = part;
}

/* The first library part of a message, or the count. */
static size_t first_of(const struct ours *s, size_t message) {
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->parts[middle].message < message)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void compact_edit(struct run *r, struct ours *s, const paucis_edit *e) {
    size_t i = first_of(s, e->message);
    if (strcmp(e->op, "insert") == 0) {
        struct str text = arena_copy(&r->arena, (struct str){e->text, e->text_len});
        size_t at = message_at(r->trace, e->pos, 0);
        seq_mark(&r->seq, at, form_text(&r->arena, text));
    } else if (e->part != SIZE_MAX) {
        if (i + e->part >= s->count) return;
        bool drop = strcmp(e->op, "drop") == 0;
        touch(s, i + e->part);
        ours_note(r, s, i + e->part, drop ? NULL : e->text, e->text_len);
    } else {
        for (; i < s->count && s->parts[i].message == e->message; i++) {
            touch(s, i);
            ours_note(r, s, i, NULL, 0);
        }
    }
}

static void compact_step(struct run *r, size_t t) {
    struct ours *s = r->state;
    paucis_opts opts;
    paucis_error e;
    paucis_edit edit;
    size_t n;
    append_whole(r, t);
    compact_body(r, s, t);
    paucis_opts_init(&opts, sizeof opts);
    opts.format = r->trace->format.at;
    opts.price = r->price;
    opts.kv = r->policy->kv;
    opts.nkv = r->policy->nkv;
    if (s->body.failed || paucis_plan(s->ctx, s->body.data, s->body.len, &opts, &n, NULL, &e)) {
        r->why = s->body.failed ? "out of memory" : e.msg;
        return;
    }
    seq_mark(&r->seq, 0, NULL);
    while (s->ntouched > 0) {
        struct theirs *o = &s->parts[s->touched[--s->ntouched]];
        o->changed = o->gone = false;
        ours_dirty(s, o);
    }
    for (size_t i = 0; i < n; i++)
        if (paucis_plan_get(s->ctx, i, &edit) == PAUCIS_OK) compact_edit(r, s, &edit);
    ours_settle(r, s);
}

static void compact_end(struct run *r) {
    struct ours *s = r->state;
    paucis_ctx_free(s->ctx);
    buf_free(&s->body);
    free(s->touched);
}

static bool compact_word(struct policy *p, char *word) { return set_option(p, "policy", word); }

const struct family family_compact = {
    .name = "compact",
    .params = "POLICY|KEY=VALUE",
    .source = "paucis compact, on every request's body",
    .summary = "any policy of this program, planned anew for every request; slow",
    .by_price = true,
    .word = compact_word,
    .state = sizeof(struct ours),
    .begin = compact_begin,
    .step = compact_step,
    .end = compact_end};
