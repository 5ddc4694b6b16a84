/* See thinking.h. Thinking is sealed: it stays as it was returned or goes. On bound models it is
 * also only valid behind the prefix it was made with: system, tools and every block before it that
 * is not itself thinking. The prefix is a running number over the blocks; neighbours of one role
 * run on as the provider joins them, and a compaction block makes it begin anew.
 *
 *   system+tools  user q1  | thinking |  text a1  user q2  | thinking |  text a2
 *   ^ 0x1f..      ^ 0x83..   ^ bound to 0x83..             ^ bound to what has run up here */
#include "plan/thinking.h"

struct prefix {
    uint64_t *at;     /* for each thinking part: the number before it */
    bool *replies;    /* ... and whether only assistant blocks stand between it and `whole` */
    uint64_t total;   /* the whole body */
    uint64_t summary; /* the last compaction block, 0 if there is none */
    size_t judged;    /* parts before this are older than that and ignored by the provider */
};

struct judge {
    struct check *c;
    const struct alignment *x;
    enum against against;
    struct thinking_rules rules;
    size_t latest, latest_to; /* the latest assistant messages that count as one */
};

static bool is_assistant(const struct view *v, size_t m) {
    return view_message(v, m)->role == ROLE_ASSISTANT;
}

static size_t run_start(const struct view *v, size_t m) {
    while (m && is_assistant(v, m - 1)) m--;
    return m;
}

static void report(const struct judge *t, const char *rule, size_t part, const char *text) {
    const struct part *p = view_part(t->x->now.canon.v, part);
    paucis__check_break(t->c, rule, p->message, p->node, text);
}

/* ---- the seal ------------------------------------------------------------------------------ */

/* Text in a `thinking` that came empty is ignored by the provider. */
static bool only_filled(const struct alignment *x, size_t old, size_t now) {
    const struct canon *a = &x->old.canon, *b = &x->now.canon;
    size_t text = json_get(a->v->j, old, "thinking");
    size_t was = json_get(a->v->j, old, "signature"), is = json_get(b->v->j, now, "signature");
    return text && json_is_string(a->v->j, text) && !json_inner(a->v->j, text).len && was && is &&
           a->at[was] == b->at[is];
}

static void judge_seal(const struct judge *t, size_t part) {
    const struct alignment *x = t->x;
    const struct part *p = view_part(x->now.canon.v, part);
    bool in_latest = p->message >= t->latest && p->message < t->latest_to;
    const char *rule = in_latest ? t->rules.latest : t->rules.sealed;
    uint32_t mate = x->now.mate[part];
    if (mate == NO_INDEX) {
        if (t->against == AGAINST_BEFORE)
            report(t, rule, part, "this thinking was not in the body before");
        return;
    }
    size_t old = view_part(x->old.canon.v, mate)->node;
    if (x->found[part] == FOUND_MOVED)
        report(t, rule, part, "thinking stands in another order than before");
    else if (x->old.canon.at[old] != x->now.canon.at[p->node] && !only_filled(x, old, p->node))
        report(t, rule, part, "thinking was altered");
}

/* How many thinking parts of the run around this message are gone? */
static size_t missing_in_run(const struct side *s, size_t message) {
    const struct view *v = s->canon.v;
    size_t n = 0;
    for (size_t m = run_start(v, message); m < v->messages.count && is_assistant(v, m); m++)
        for (size_t p = view_message(v, m)->part, to = p + view_message(v, m)->nparts; p < to; p++)
            n += view_part(v, p)->kind == PART_THINKING && s->mate[p] == NO_INDEX;
    return n;
}

/* The latest assistant message keeps all of its thinking, or none. */
static void judge_latest(const struct judge *t) {
    const struct view *v = t->x->now.canon.v;
    if (t->latest == t->latest_to) return;
    size_t from = view_message(v, t->latest)->part;
    const struct message *last = view_message(v, t->latest_to - 1);
    for (size_t p = from; p < last->part + last->nparts; p++) {
        uint32_t mate = t->x->now.mate[p];
        if (view_part(v, p)->kind != PART_THINKING || mate == NO_INDEX) continue;
        if (missing_in_run(&t->x->old, view_part(t->x->old.canon.v, mate)->message))
            report(t, t->rules.latest, p, "the latest assistant message lost part of its thinking");
        return;
    }
}

/* ---- the prefix ---------------------------------------------------------------------------- */

static size_t get(const struct json *j, size_t object, const char *key) {
    return object ? paucis__json_get(j, object, key, strlen(key)) : 0;
}

/* System and tools. A tool that is loaded only when something refers to it may come and go. */
static uint64_t prefix_base(const struct canon *c) {
    const struct json *j = c->v->j;
    size_t system = json_get(j, 0, "system"), tools = json_get(j, 0, "tools");
    uint64_t h = 0;
    if (!tools) tools = get(j, json_get(j, 0, "toolConfig"), "tools");
    if (tools && json_is_array(j, tools))
        for (JSON_EACH(j, i, tools)) {
            size_t later = json_get(j, i, "defer_loading");
            if (!(later && json_type(j, later) == 't') && c->at[i] != CANON_NOTHING)
                h = canon_mix(h, c->at[i]);
        }
    h = canon_mix(h, 1);
    if (system && json_is_array(j, system)) {
        for (JSON_EACH(j, i, system))
            if (c->at[i] != CANON_NOTHING) h = canon_mix(h, c->at[i]);
    } else if (system && json_is_string(j, system)) {
        h = canon_mix(h, paucis__canon_text_block(c->v, c->at[system]));
    }
    return canon_mix(h, 2);
}

struct run {
    const struct canon *c;
    struct prefix *out;
    uint64_t base, h, whole;
    uint64_t role;  /* of the message before */
    bool assistant; /* the present message is the assistant's */
    bool after;     /* see prefix.replies */
};

static void run_add(struct run *r, uint64_t x) {
    r->h = canon_mix(r->h, x);
    r->after = (r->after && r->assistant) || r->h == r->whole;
}

static bool is_summary(const struct json *j, size_t block) {
    size_t type = json_is_object(j, block) ? json_get(j, block, "type") : 0;
    return type && json_is_string(j, type) && json_is(j, type, "compaction");
}

/* *part moves on to the part at or after this block. */
static void run_block(struct run *r, size_t block, size_t *part, size_t to) {
    const struct view *v = r->c->v;
    while (*part < to && view_part(v, *part)->node < block) ++*part;
    if (*part < to && view_part(v, *part)->node == block &&
        view_part(v, *part)->kind == PART_THINKING) {
        r->out->at[*part] = r->h;
        r->out->replies[*part] = r->after;
        return;
    }
    if (r->c->at[block] == CANON_NOTHING) return;
    if (is_summary(v->j, block)) {
        r->h = r->base;
        r->out->summary = r->c->at[block];
        r->out->judged = *part;
    }
    run_add(r, r->c->at[block]);
}

static void run_message(struct run *r, const struct message *m) {
    const struct view *v = r->c->v;
    const struct json *j = v->j;
    uint64_t sum = 0;
    if (!json_is_object(j, m->node)) {
        run_add(r, r->c->at[m->node]);
        return;
    }
    size_t role = json_get(j, m->node, "role"), content = json_get(j, m->node, "content");
    for (JSON_EACH_KEY(j, k, m->node))
        if (k + 1 != role && k + 1 != content) sum += canon_mix(r->c->at[k], r->c->at[k + 1]);
    r->assistant = m->role == ROLE_ASSISTANT;
    uint64_t is = role ? r->c->at[role] : 0;
    if (is != r->role) run_add(r, is);
    r->role = is;
    if (sum) run_add(r, sum);
    size_t part = m->part;
    if (content && json_is_array(j, content)) {
        for (JSON_EACH(j, i, content)) run_block(r, i, &part, m->part + m->nparts);
    } else if (content && json_is_string(j, content)) {
        run_add(r, paucis__canon_text_block(v, r->c->at[content]));
    }
}

static paucis_err prefix_read(struct prefix *out, const struct canon *c, uint64_t whole) {
    struct view *v = c->v;
    size_t n = v->parts.count;
    *out = (struct prefix){.at = paucis__arena_alloc(v->arena, n * sizeof *out->at),
                           .replies = paucis__arena_alloc(v->arena, n * sizeof *out->replies)};
    if (!out->at || !out->replies) return PAUCIS_E_NOMEM;
    memset(out->at, 0, n * sizeof *out->at);
    memset(out->replies, 0, n * sizeof *out->replies);
    struct run r = {.c = c, .out = out, .base = prefix_base(c), .whole = whole};
    r.h = r.base;
    for (size_t m = 0; m < v->messages.count; m++)
        if (!(view_message(v, m)->flags & MESSAGE_TOP)) run_message(&r, view_message(v, m));
    out->total = r.h;
    return PAUCIS_OK;
}

/* ---- bound models -------------------------------------------------------------------------- */

/* Each thinking part's number among them. */
static uint32_t *count_thinking(const struct view *v, uint32_t *total) {
    uint32_t *number = paucis__arena_alloc(v->arena, v->parts.count * sizeof *number);
    *total = 0;
    for (size_t p = 0; number && p < v->parts.count; p++)
        number[p] = view_part(v, p)->kind == PART_THINKING ? (*total)++ : 0;
    return number;
}

struct binding {
    struct prefix old, now;
    uint32_t *number, total; /* of old */
    size_t last_kept;        /* part of now; behind it all thinking is new */
    uint32_t expected;       /* number of the next one in an unbroken run; NO_INDEX at first */
    size_t reply;            /* first message of the reply, NO_INDEX until seen */
};

static void judge_kept(const struct judge *t, struct binding *b, size_t part) {
    uint32_t mate = t->x->now.mate[part];
    if (b->expected != NO_INDEX && b->number[mate] != b->expected)
        report(t, "B-R16", part, "thinking between this and the one before it was removed");
    b->expected = b->number[mate] + 1;
    if (mate >= b->old.judged && b->old.at[mate] != b->now.at[part])
        report(t, "B-R15", part,
               "something before this thinking differs from what it was made with");
}

static void judge_new(const struct judge *t, struct binding *b, size_t part, size_t run) {
    if (t->against == AGAINST_BEFORE) return;
    if (part < b->last_kept) {
        report(t, "B-R16", part, "thinking that had been removed is back");
        return;
    }
    if (b->reply == NO_INDEX) {
        b->reply = run;
        if (b->expected != NO_INDEX && b->expected != b->total)
            report(t, "B-R16", part, "thinking between this and the one before it was removed");
    }
    if (b->reply == run && !b->now.replies[part])
        report(t, "B-R15", part, "what stands before this reply is not the body it replies to");
}

static paucis_err judge_binding(const struct judge *t) {
    const struct view *v = t->x->now.canon.v;
    struct binding b = {.expected = NO_INDEX, .reply = NO_INDEX};
    PAUCIS_TRY(prefix_read(&b.old, &t->x->old.canon, 0));
    PAUCIS_TRY(prefix_read(&b.now, &t->x->now.canon, t->against == AGAINST_SENT ? b.old.total : 0));
    if (t->against == AGAINST_SENT && b.now.summary && b.now.summary != b.old.summary)
        return PAUCIS_OK; /* the reply was a summary, which now stands for what was sent */
    b.number = count_thinking(t->x->old.canon.v, &b.total);
    if (!b.number) return PAUCIS_E_NOMEM;
    for (size_t p = 0; p < v->parts.count; p++)
        if (view_part(v, p)->kind == PART_THINKING && t->x->now.mate[p] != NO_INDEX)
            b.last_kept = p;
    for (size_t m = 0, run = 0; m < v->messages.count; m++) {
        if (!m || !is_assistant(v, m - 1)) run = m;
        for (size_t p = view_message(v, m)->part, to = p + view_message(v, m)->nparts; p < to;
             p++) {
            if (view_part(v, p)->kind != PART_THINKING || p < b.now.judged) continue;
            if (t->x->now.mate[p] != NO_INDEX)
                judge_kept(t, &b, p);
            else
                judge_new(t, &b, p, run);
        }
    }
    return PAUCIS_OK;
}

/* -------------------------------------------------------------------------------------------- */

paucis_err paucis__check_thinking(struct check *c, const struct alignment *x, enum against against,
                                  struct thinking_rules rules) {
    struct judge t = {.c = c, .x = x, .against = against, .rules = rules};
    const struct view *v = x->now.canon.v;
    for (t.latest_to = v->messages.count; t.latest_to; t.latest_to--)
        if (is_assistant(v, t.latest_to - 1)) break;
    t.latest = t.latest_to ? run_start(v, t.latest_to - 1) : 0;
    for (size_t p = 0; p < v->parts.count; p++)
        if (view_part(v, p)->kind == PART_THINKING) judge_seal(&t, p);
    judge_latest(&t);
    return paucis__check_is_bound(c->v) ? judge_binding(&t) : PAUCIS_OK;
}
