/* The classic strategies and the first sketch of rent or buy, as the reference measures them: on
 * rendered messages, whatever the wire format allows. `classic` takes old thinking out and replaces
 * repeated results; `classic:snippet` also cuts old long results to head and tail;
 * `classic:streaming` keeps the first 2 and the last 16 messages. */
#include "replay/families.h"

#include <stdlib.h>
#include <string.h>

enum { DEDUP_LEAST = 256, THINK_KEEP = 4, SNIP_WINDOW = 8, SNIP_LEAST = 4096, SNIP_SIDE = 1024 };
enum { SINK = 2, RECENT = 16 };

/* ---- repeated results ----------------------------------------------------------------------- */

/* For each result part the part that said the same first, itself if none did. */
struct firsts {
    size_t *first; /* by part */
    struct map texts;
    size_t *said; /* by text: the part that said it */
    size_t nsaid, said_cap;
};

static void firsts_open(struct run *r, struct firsts *f) {
    f->first = arena_get(&r->arena, (r->trace->nparts + 1) * sizeof *f->first);
}

static void firsts_free(struct firsts *f) {
    map_free(&f->texts);
    free(f->said);
}

/* Parts are added in order. `without_id` says whether a text whose id is unknown counts as seen. */
static void firsts_add(struct run *r, struct firsts *f, size_t part, bool without_id) {
    const struct part *p = &r->trace->parts[part];
    f->first[part] = part;
    if (p->kind != RESULT || !utf8_at_least(p->text, DEDUP_LEAST)) return;
    size_t i = map_find(&f->texts, p->text, true);
    if (i == f->nsaid) *PUSH(f->said, f->nsaid, f->said_cap) = part;
    if (without_id || r->trace->parts[f->said[i]].has_id)
        f->first[part] = f->said[i];
    else
        f->said[i] = part;
}

static struct str back_reference(struct run *r, size_t first, struct str text) {
    const struct part *p = &r->trace->parts[first];
    struct buf b = {0};
    buf_str(&b, "[DEDUP] identical to tool_call_id=");
    buf_add(&b, p->has_id ? p->id.at : "None", p->has_id ? p->id.len : 4);
    buf_fmt(&b, " (%zu bytes)", utf8_count(text));
    struct str s = arena_buf(&r->arena, &b);
    buf_free(&b);
    return s;
}

static struct str snip(struct run *r, struct str text, size_t side) {
    struct buf b = {0};
    size_t head = utf8_offset(text, side), tail = utf8_offset_back(text, side);
    buf_add(&b, text.at, head);
    buf_fmt(&b, "\n[...elided %zu bytes...]\n", utf8_count(text) - 2 * side);
    buf_add(&b, text.at + tail, text.len - tail);
    struct str s = arena_buf(&r->arena, &b);
    buf_free(&b);
    return s;
}

/* ---- classic -------------------------------------------------------------------------------- */

enum { WITH_THINK = 1, WITH_SNIP = 2, WITH_STREAM = 4 };

struct classic {
    struct firsts firsts;
    size_t unthought; /* messages before this have lost their thinking */
    size_t snipped;   /* messages before this are snipped */
    size_t gone;      /* messages that were nothing but thinking, so far */
    size_t gap_from, gap_to;
    bool *only_think; /* by message: it went with its thinking */
    bool streaming;
    struct run *run;
    bool no_think, snips; /* how the message at hand is to be made */
};

static bool classic_part(void *ud, const struct trace *t, const struct part *p, struct str *text) {
    struct classic *c = ud;
    size_t i = (size_t)(p - t->parts);
    if (p->kind == THINK) return !c->no_think;
    if (p->kind != RESULT) return true;
    if (c->firsts.first[i] != i)
        *text = back_reference(c->run, c->firsts.first[i], p->text);
    else if (c->snips && utf8_at_least(p->text, SNIP_LEAST) &&
             !str_has(p->text, str_of("[...elided")))
        *text = snip(c->run, p->text, SNIP_SIDE);
    return true;
}

static const struct form *classic_form(struct run *r, struct classic *c, size_t i) {
    const struct msg *m = &r->trace->msgs[i];
    bool other = false, touched = false;
    c->run = r;
    c->no_think = i < c->unthought && m->role == R_ASSISTANT;
    c->snips = i < c->snipped;
    for (size_t p = m->part; p < m->part + m->nparts; p++) {
        const struct part *part = &r->trace->parts[p];
        other = other || part->kind != THINK;
        touched = touched || (part->kind == THINK && c->no_think) || c->firsts.first[p] != p ||
                  (part->kind == RESULT && c->snips);
    }
    if (c->no_think && !other) return NULL;
    if (!touched) return &m->whole;
    return form_make(r->trace, &r->arena, i, classic_part, c);
}

static bool classic_begin(struct run *r) {
    struct classic *c = r->state;
    firsts_open(r, &c->firsts);
    c->only_think = arena_get(&r->arena, r->trace->nmsgs * sizeof *c->only_think);
    return true;
}

static void classic_append(struct run *r, struct classic *c, size_t t) {
    while (r->seq.n < t) {
        const struct msg *m = &r->trace->msgs[r->seq.n];
        for (size_t p = m->part; p < m->part + m->nparts; p++) firsts_add(r, &c->firsts, p, true);
        seq_append(&r->seq, classic_form(r, c, r->seq.n));
    }
}

static void classic_refresh(struct run *r, struct classic *c, size_t i) {
    if (c->streaming && i >= c->gap_from && i < c->gap_to) return;
    seq_set(&r->seq, i, classic_form(r, c, i));
}

static void classic_think(struct run *r, struct classic *c, size_t t) {
    while (c->unthought + THINK_KEEP < t) {
        size_t i = c->unthought++;
        const struct msg *m = &r->trace->msgs[i];
        if (m->role != R_ASSISTANT) continue;
        c->only_think[i] = classic_form(r, c, i) == NULL;
        c->gone += c->only_think[i];
        classic_refresh(r, c, i);
    }
}

/* The nearest message that is left: at i or behind it, and in front of i. */
static size_t left_at(const struct classic *c, size_t i, size_t t) {
    while (i < t && c->only_think[i]) i++;
    return i;
}
static size_t left_before(const struct classic *c, size_t i) {
    do i--;
    while (c->only_think[i]);
    return i;
}

static size_t count_left(const struct classic *c, size_t from, size_t to) {
    size_t n = 0;
    for (; from < to; from++) n += !c->only_think[from];
    return n;
}

/* From this message on so many are left. */
static size_t last_left(const struct classic *c, size_t t, size_t count) {
    while (t > 0 && count > 0) count -= !c->only_think[--t];
    return t;
}

static bool has_call(const struct trace *t, size_t msg) {
    const struct msg *m = &t->msgs[msg];
    for (size_t p = m->part; p < m->part + m->nparts; p++)
        if (t->parts[p].kind == CALL) return true;
    return false;
}

static bool is_call(const struct trace *t, size_t msg) {
    return t->msgs[msg].role == R_ASSISTANT && has_call(t, msg);
}

/* Messages [a, b) are not sent. */
static void classic_gap(struct run *r, struct classic *c, size_t a, size_t b) {
    size_t from = c->streaming ? c->gap_from : b, to = c->streaming ? c->gap_to : b;
    c->streaming = true;
    c->gap_from = a;
    c->gap_to = b;
    for (size_t i = a; i < b && i < from; i++) seq_set(&r->seq, i, NULL);
    for (size_t i = to; i < b; i++) seq_set(&r->seq, i, NULL);
    for (size_t i = from; i < a; i++) classic_refresh(r, c, i);
    for (size_t i = b; i < to; i++) classic_refresh(r, c, i);
}

/* The gap in the middle, its ends moved so that no result loses its call. */
static void classic_stream(struct run *r, struct classic *c, size_t t) {
    const struct msg *m = r->trace->msgs;
    if (t - c->gone < SINK + RECENT + 4) return;
    size_t a = 0, b = last_left(c, t, RECENT);
    for (int i = 0; i < SINK; i++) a = left_at(c, a, t) + 1;
    a = left_at(c, a, t);
    while (b < t && is_call(r->trace, left_before(c, b))) b = left_at(c, b + 1, t);
    while (b < t && m[b].role == R_TOOL) b = left_at(c, b + 1, t);
    while (a < b && m[a].role == R_TOOL) a = left_at(c, a + 1, t);
    classic_gap(r, c, a, b);
    struct buf text = {0};
    buf_fmt(&text, "[...streaming-llm trim: %zu messages elided...]",
            t - c->gone - count_left(c, 0, a) - count_left(c, b, t));
    seq_mark(&r->seq, b, form_text(&r->arena, arena_buf(&r->arena, &text)));
    buf_free(&text);
}

static void classic_step(struct run *r, size_t t) {
    struct classic *c = r->state;
    long with = r->policy->param[0];
    r->seq.rebuilt = true;
    classic_append(r, c, t);
    if (with & WITH_THINK) classic_think(r, c, t);
    if (with & WITH_SNIP)
        for (size_t end = last_left(c, t, SNIP_WINDOW); c->snipped < end;)
            classic_refresh(r, c, c->snipped++);
    if (with & WITH_STREAM) classic_stream(r, c, t);
}

static bool classic_word(struct policy *p, char *word) {
    bool snippet = strcmp(word, "snippet") == 0, streaming = strcmp(word, "streaming") == 0;
    p->param[0] |= snippet ? WITH_SNIP : streaming ? WITH_STREAM : 0;
    return snippet || streaming;
}

static void classic_end(struct run *r) { firsts_free(&((struct classic *)r->state)->firsts); }

const struct family family_classic = {
    .name = "classic",
    .params = "snippet|streaming",
    .source = "the classic pipeline apply_all, as reference/policies.py has it",
    .summary =
        "old thinking out, repeated results to references; snippet: old long results cut; "
        "streaming: the middle out",
    .standard = {WITH_THINK},
    .word = classic_word,
    .state = sizeof(struct classic),
    .begin = classic_begin,
    .step = classic_step,
    .end = classic_end};

const struct family family_dedup = {.name = "dedup",
                                    .source = "the classic strategy dedup",
                                    .summary = "repeated results become references",
                                    .state = sizeof(struct classic),
                                    .begin = classic_begin,
                                    .step = classic_step,
                                    .end = classic_end};

/* ---- compact to budget ---------------------------------------------------------------------- */

enum { BUDGET_TAIL = 4, ELIDE_LEAST = 256 };

/* Two passes over the old messages, oldest first, until the rest fits: results, then texts and
 * thinking. Each pass is a boundary that moves; what each message gives is reckoned once. */
struct budget {
    uint64_t *given[2]; /* by message: what the messages in front of it give, by pass */
    size_t edge[2];     /* messages before this are elided */
    size_t reckoned;
};

static bool is_elided(const struct part *p, unsigned passes) {
    bool result = p->kind == RESULT && (passes & 1);
    bool prose = (p->kind == TEXT || p->kind == THINK) && (passes & 2);
    return (result || prose) && utf8_at_least(p->text, ELIDE_LEAST);
}

static struct str elided_text(struct arena *a, struct str text) {
    struct buf b = {0};
    buf_fmt(&b, "(elided: %zu bytes)", utf8_count(text));
    struct str s = arena_buf(a, &b);
    buf_free(&b);
    return s;
}

struct eliding {
    struct run *run;
    unsigned passes;
};

static bool budget_part(void *ud, const struct trace *t, const struct part *p, struct str *text) {
    struct eliding *e = ud;
    (void)t;
    if (is_elided(p, e->passes)) *text = elided_text(&e->run->arena, p->text);
    return true;
}

static bool budget_begin(struct run *r) {
    struct budget *s = r->state;
    for (int pass = 0; pass < 2; pass++)
        s->given[pass] = arena_get(&r->arena, (r->trace->nmsgs + 1) * sizeof(uint64_t));
    s->edge[0] = s->edge[1] = 1;
    return true;
}

static void budget_reckon(struct run *r, struct budget *s, size_t t) {
    for (; s->reckoned < t; s->reckoned++) {
        const struct msg *m = &r->trace->msgs[s->reckoned];
        bool spared = m->role == R_USER || m->role == R_SYSTEM || s->reckoned == 0;
        for (unsigned pass = 0; pass < 2; pass++) {
            uint64_t sum = s->given[pass][s->reckoned];
            for (size_t i = m->part; !spared && i < m->part + m->nparts; i++) {
                const struct part *p = &r->trace->parts[i];
                if (is_elided(p, 1u << pass))
                    sum += tokens_of(p->text) - tokens_of(elided_text(&r->arena, p->text));
            }
            s->given[pass][s->reckoned + 1] = sum;
        }
    }
}

/* The boundary of a pass for so many tokens to be given, within messages [1, end). */
static size_t budget_edge(const struct budget *s, int pass, uint64_t need, size_t end) {
    size_t i = s->edge[pass];
    if (i > end) i = end;
    while (i > 1 && s->given[pass][i - 1] >= need) i--;
    while (i < end && s->given[pass][i] < need) i++;
    return i;
}

static void budget_refresh(struct run *r, const struct budget *s, size_t i) {
    const struct msg *m = &r->trace->msgs[i];
    struct eliding e = {r, (i < s->edge[0] ? 1u : 0) | (i < s->edge[1] ? 2u : 0)};
    bool touched = false;
    for (size_t p = m->part; p < m->part + m->nparts; p++)
        touched = touched || is_elided(&r->trace->parts[p], e.passes);
    if (m->role == R_USER || m->role == R_SYSTEM || i == 0 || !touched)
        seq_set(&r->seq, i, &m->whole);
    else
        seq_set(&r->seq, i, form_make(r->trace, &r->arena, i, budget_part, &e));
}

static void budget_step(struct run *r, size_t t) {
    struct budget *s = r->state;
    uint64_t size = r->trace->before[t], budget = (uint64_t)r->policy->param[0];
    uint64_t need = size > budget ? size - budget : 0, rest = 0;
    size_t end = t > BUDGET_TAIL + 1 ? t - BUDGET_TAIL : 1, was[2] = {s->edge[0], s->edge[1]};
    r->seq.rebuilt = true;
    append_whole(r, t);
    budget_reckon(r, s, t);
    size_t first = budget_edge(s, 0, need, end);
    if (need > s->given[0][end]) rest = need - s->given[0][end];
    size_t second = budget_edge(s, 1, rest, end);
    s->edge[0] = first;
    s->edge[1] = second;
    for (int pass = 0; pass < 2; pass++) {
        size_t from = was[pass] < s->edge[pass] ? was[pass] : s->edge[pass];
        size_t to = was[pass] < s->edge[pass] ? s->edge[pass] : was[pass];
        for (size_t i = from; i < to; i++) budget_refresh(r, s, i);
    }
}

const struct family family_budget = {
    .name = "budget",
    .params = "BUDGET",
    .source = "the classic strategy compact_to_budget, as reference/policies.py has it",
    .summary = "above BUDGET tokens old results, then old texts, oldest first, until it fits",
    .nparams = 1,
    .standard = {32000},
    .state = sizeof(struct budget),
    .begin = budget_begin,
    .step = budget_step};

/* ---- rent or buy, first sketch -------------------------------------------------------------- */

enum { RENT_WINDOW = 8 };

struct rent {
    struct firsts firsts;
    const struct form **shorter; /* by message; NULL = there is none, or it is in use */
    double *paid;                /* by message */
    size_t oldest;               /* no message in front of it is stale */
    size_t side, least;
    bool is_short; /* how the message at hand is to be made */
    bool touched;
    struct run *run;
};

static bool rent_part(void *ud, const struct trace *t, const struct part *p, struct str *text) {
    struct rent *s = ud;
    size_t i = (size_t)(p - t->parts), first = s->firsts.first[i];
    if (p->kind == RESULT && first != i) *text = back_reference(s->run, first, p->text);
    if (!s->is_short) return true;
    if (p->kind == THINK) {
        s->touched = true;
        return false;
    }
    bool snips = p->kind == RESULT && utf8_at_least(*text, s->least) &&
                 utf8_at_least(*text, 2 * s->side + 64);
    if (snips) {
        *text = snip(s->run, *text, s->side);
        s->touched = true;
    }
    return true;
}

static bool rent_begin(struct run *r) {
    struct rent *s = r->state;
    size_t n = r->trace->nmsgs;
    firsts_open(r, &s->firsts);
    s->shorter = arena_get(&r->arena, n * sizeof *s->shorter);
    s->paid = arena_get(&r->arena, n * sizeof *s->paid);
    s->side = (size_t)r->policy->param[0];
    s->least = 4 * s->side;
    s->run = r;
    return true;
}

static void rent_append(struct run *r, struct rent *s, size_t t) {
    while (r->seq.n < t) {
        size_t i = r->seq.n;
        const struct msg *m = &r->trace->msgs[i];
        bool whole = true;
        for (size_t p = m->part; p < m->part + m->nparts; p++) {
            firsts_add(r, &s->firsts, p, false);
            whole = whole && s->firsts.first[p] == p;
        }
        s->is_short = s->touched = false;
        seq_append(&r->seq, whole ? &m->whole : form_make(r->trace, &r->arena, i, rent_part, s));
        s->is_short = true;
        struct form *f = form_make(r->trace, &r->arena, i, rent_part, s);
        if (s->touched) s->shorter[i] = f;
    }
}

/* A plain scan: gain at p = rent of the stale messages from p on, less the price of writing all
 * that follows anew. */
static void rent_step(struct run *r, size_t t) {
    struct rent *s = r->state;
    const struct seq *q = &r->seq;
    double read = r->price->read / 1000.0, write = r->price->write / 1000.0;
    double best = 0, paid = 0;
    uint64_t keep = 0;
    size_t at = NONE;
    r->seq.rebuilt = true;
    rent_append(r, s, t);
    size_t end = t > RENT_WINDOW ? t - RENT_WINDOW : 0;
    while (s->oldest < end && !s->shorter[s->oldest]) s->oldest++;
    for (size_t i = t; i-- > s->oldest;) {
        if (i >= end || !s->shorter[i]) {
            keep += q->now[i]->tokens;
            continue;
        }
        uint64_t now = q->now[i]->tokens, then = s->shorter[i]->tokens;
        s->paid[i] += read * ((double)now - (double)then);
        paid += s->paid[i];
        keep += then;
        double gain = paid - (write - read) * (double)keep;
        if (gain > best) best = gain, at = i;
    }
    for (size_t i = at; at != NONE && i < end; i++) {
        if (!s->shorter[i]) continue;
        seq_set(&r->seq, i, s->shorter[i]);
        s->shorter[i] = NULL;
    }
}

static void rent_end(struct run *r) { firsts_free(&((struct rent *)r->state)->firsts); }

const struct family family_rent = {
    .name = "rent",
    .params = "SIDE",
    .source = "reference/policies.py, rent",
    .summary = "rent or buy with results of 4 SIDE and more cut to SIDE characters at either end",
    .nparams = 1,
    .standard = {256},
    .grid = "rent:1024",
    .by_price = true,
    .state = sizeof(struct rent),
    .begin = rent_begin,
    .step = rent_step,
    .end = rent_end};
