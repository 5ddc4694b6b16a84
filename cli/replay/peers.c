/* What others do, re-created from their published rules: which results go, when, and what stands in
 * their place. Each is a row with its source; the numbers are its defaults. The rules are followed
 * step by step and incrementally: a request costs what it changes. Where an agent also protects the
 * newest turns of its user, that is left out: an autonomous session has one such turn, and nothing
 * would ever go. Markers follow the reference where it has the policy. */
#include "replay/families.h"

#include <stdlib.h>
#include <string.h>

/* ---- shared --------------------------------------------------------------------------------- */

void append_whole(struct run *r, size_t t) {
    while (r->seq.n < t) seq_append(&r->seq, &r->trace->msgs[r->seq.n].whole);
}

struct clearing {
    struct run *run;
    result_fn *fn;
};

static bool clear_part(void *ud, const struct trace *t, const struct part *p, struct str *text) {
    struct clearing *c = ud;
    (void)t;
    if (p->kind == RESULT) *text = c->fn(c->run, p);
    return true;
}

const struct form *cleared(struct run *r, size_t msg, result_fn *fn) {
    struct clearing c = {r, fn};
    return form_make(r->trace, &r->arena, msg, clear_part, &c);
}

struct str say(struct run *r, struct buf *b) {
    struct str s = arena_buf(&r->arena, b);
    buf_free(b);
    return s;
}

static size_t lines_of(struct str s) {
    size_t n = 1;
    for (size_t i = 0; i < s.len; i++) n += s.at[i] == '\n';
    return n;
}

static struct str old_cleared(struct run *r, const struct part *p) {
    (void)r;
    (void)p;
    return str_of("[Old tool result content cleared]");
}

void see_results(struct run *r, struct results_seen *s, size_t t) {
    for (; s->next < t; s->next++)
        if (r->trace->msgs[s->next].has_result) *PUSH(s->list, s->count, s->cap) = s->next;
}

/* The oldest n of them are cut, and stay so. */
static void cut_oldest(struct run *r, struct results_seen *s, size_t n, result_fn *fn) {
    for (; s->cut < n; s->cut++) {
        size_t i = s->list[s->cut];
        seq_set(&r->seq, i, cleared(r, i, fn));
    }
}

void end_results(struct run *r) { free(((struct results_seen *)r->state)->list); }

static size_t all_but(const struct results_seen *s, size_t keep) {
    return s->count > keep ? s->count - keep : 0;
}

/* ---- none ----------------------------------------------------------------------------------- */

const struct family family_none = {
    .name = "none", .source = "-", .summary = "everything is sent as it is", .step = append_whole};

/* ---- clear tool uses, sliding --------------------------------------------------------------- */

static void clear_step(struct run *r, size_t t) {
    struct results_seen *s = r->state;
    append_whole(r, t);
    see_results(r, s, t);
    /* The trigger looks at the history as it came. */
    uint64_t size = r->trace->before[t];
    r->seq.rebuilt = size > (uint64_t)r->policy->param[0];
    if (r->seq.rebuilt) cut_oldest(r, s, all_but(s, (size_t)r->policy->param[1]), old_cleared);
}

const struct family family_clear = {
    .name = "clear",
    .params = "TRIGGER:KEEP",
    .source = "LangChain ContextEditingMiddleware, context_editing.py",
    .summary = "above TRIGGER tokens all tool results but the last KEEP go; the boundary slides",
    .nparams = 2,
    .standard = {100000, 3},
    .grid = "clear:20000:3 clear:30000:3 clear:50000:3 clear:50000:10 clear:100000:10",
    .state = sizeof(struct results_seen),
    .step = clear_step,
    .end = end_results};

/* ---- clear tool uses, sticky ---------------------------------------------------------------- */

struct sticky {
    struct results_seen seen; /* first: see end_results */
    uint64_t *saving;         /* what clearing the first k of them would save */
    size_t nsaving, saving_cap;
};

/* Only asked for with clear-at-least, so only reckoned then. */
static uint64_t sticky_saving(struct run *r, struct sticky *s, size_t n) {
    while (s->nsaving <= n) {
        uint64_t before = s->nsaving ? s->saving[s->nsaving - 1] : 0, more = 0;
        if (s->nsaving > 0) {
            size_t i = s->seen.list[s->nsaving - 1];
            uint64_t now = cleared(r, i, old_cleared)->tokens, was = r->trace->msgs[i].whole.tokens;
            more = was > now ? was - now : 0;
        }
        *PUSH(s->saving, s->nsaving, s->saving_cap) = before + more;
    }
    return s->saving[n];
}

static void sticky_step(struct run *r, size_t t) {
    struct sticky *s = r->state;
    const long *p = r->policy->param;
    append_whole(r, t);
    see_results(r, &s->seen, t);
    if (r->seq.total <= (uint64_t)p[0]) return;
    size_t n = all_but(&s->seen, (size_t)p[1]);
    if (n <= s->seen.cut) return;
    uint64_t least = (uint64_t)p[2];
    if (least && sticky_saving(r, s, n) - sticky_saving(r, s, s->seen.cut) < least) return;
    cut_oldest(r, &s->seen, n, old_cleared);
}

static void sticky_end(struct run *r) {
    free(((struct sticky *)r->state)->saving);
    end_results(r);
}

const struct family family_sticky = {
    .name = "sticky",
    .params = "TRIGGER:KEEP:AT_LEAST",
    .source = "Anthropic clear_tool_uses_20250919 with clear_at_least",
    .summary =
        "the same, but cleared stays cleared, the trigger looks at what is left, and at "
        "least AT_LEAST tokens must go",
    .nparams = 3,
    .standard = {100000, 3, 0},
    .grid =
        "sticky:30000:3 sticky:40000:3 sticky:50000:3 sticky:70000:3 sticky:50000:8 "
        "sticky:40000:3:10000 sticky:50000:3:20000",
    .state = sizeof(struct sticky),
    .step = sticky_step,
    .end = sticky_end};

/* ---- keep the last N ------------------------------------------------------------------------ */

static struct str lines_omitted(struct run *r, const struct part *p) {
    struct buf b = {0};
    buf_fmt(&b, "Previous %zu lines omitted for brevity.", lines_of(p->text));
    return say(r, &b);
}

static void mask_step(struct run *r, size_t t) {
    struct results_seen *s = r->state;
    append_whole(r, t);
    see_results(r, s, t);
    r->seq.rebuilt = true;
    cut_oldest(r, s, all_but(s, (size_t)r->policy->param[0]), lines_omitted);
}

const struct family family_mask = {
    .name = "mask",
    .params = "KEEP",
    .source = "SWE-agent last_n_observations; JetBrains, arXiv 2508.21433",
    .summary = "only the last KEEP tool results stay",
    .nparams = 1,
    .standard = {10},
    .grid = "mask:5 mask:20 mask:40",
    .state = sizeof(struct results_seen),
    .step = mask_step,
    .end = end_results};

static struct str old_output(struct run *r, const struct part *p) {
    struct buf b = {0};
    buf_fmt(&b, "Old environment output: (%zu lines omitted)", lines_of(p->text));
    return say(r, &b);
}

static void polling_step(struct run *r, size_t t) {
    struct results_seen *s = r->state;
    size_t every = r->policy->param[1] > 0 ? (size_t)r->policy->param[1] : 1;
    append_whole(r, t);
    see_results(r, s, t);
    cut_oldest(r, s, all_but(s, (size_t)r->policy->param[0]) / every * every, old_output);
}

const struct family family_polling = {
    .name = "polling",
    .params = "KEEP:EVERY",
    .source = "SWE-agent last_n_observations with polling",
    .summary = "KEEP to KEEP + EVERY results stay; the boundary moves in steps",
    .nparams = 2,
    .standard = {5, 1},
    .grid = "polling:5:10 polling:5:25 polling:10:10 polling:10:25 polling:10:50 polling:20:50",
    .state = sizeof(struct results_seen),
    .step = polling_step,
    .end = end_results};

/* ---- prune beyond the newest tokens --------------------------------------------------------- */

static uint64_t result_tokens(const struct trace *t, size_t msg) {
    const struct msg *m = &t->msgs[msg];
    uint64_t sum = 0;
    for (size_t i = m->part; i < m->part + m->nparts; i++)
        if (t->parts[i].kind == RESULT) sum += tokens_of(t->parts[i].text);
    return sum;
}

uint64_t prunable(struct run *r, struct prune *s, uint64_t protect, size_t *n) {
    const struct trace *t = r->trace;
    for (; s->counted < s->seen.count; s->counted++) {
        uint64_t more = result_tokens(t, s->seen.list[s->counted]);
        s->kept += more;
        s->uncut += more;
    }
    while (s->low < s->seen.count && s->kept > protect)
        s->kept -= result_tokens(t, s->seen.list[s->low++]);
    *n = s->low;
    if (s->low <= s->seen.cut) return 0;
    const struct msg *m = &t->msgs[s->seen.list[s->low - 1]];
    uint64_t sum = s->kept;
    for (size_t i = m->part; i < m->part + m->nparts; i++) {
        if (t->parts[i].kind != RESULT) continue;
        uint64_t more = tokens_of(t->parts[i].text);
        if (sum + more > protect) break;
        sum += more;
    }
    return s->uncut - sum;
}

static void prune_cut(struct run *r, struct prune *s, size_t n, result_fn *fn) {
    for (size_t k = s->seen.cut; k < n; k++) s->uncut -= result_tokens(r->trace, s->seen.list[k]);
    cut_oldest(r, &s->seen, n, fn);
}

static void prune_step(struct run *r, size_t t) {
    struct prune *s = r->state;
    size_t n;
    append_whole(r, t);
    see_results(r, &s->seen, t);
    r->seq.rebuilt = true;
    if (prunable(r, s, (uint64_t)r->policy->param[0], &n) > (uint64_t)r->policy->param[1])
        prune_cut(r, s, n, old_cleared);
}

const struct family family_prune = {
    .name = "prune",
    .params = "PROTECT:LEAST",
    .source = "opencode session/compaction.ts, PRUNE_PROTECT and PRUNE_MINIMUM",
    .summary = "results beyond the newest PROTECT tokens of results go, if more than LEAST do",
    .nparams = 2,
    .standard = {40000, 20000},
    .grid =
        "prune:5000:5000 prune:10000:5000 prune:10000:10000 prune:20000:10000 "
        "prune:20000:20000",
    .state = sizeof(struct prune),
    .step = prune_step,
    .end = end_results};

/* ---- Gemini CLI ----------------------------------------------------------------------------- */

enum { PREVIEW = 250 };

static struct str preview(struct run *r, const struct part *p) {
    struct buf b = {0};
    size_t head = utf8_offset(p->text, PREVIEW), tail = utf8_offset_back(p->text, PREVIEW);
    if (tail <= head + 200) return p->text;
    buf_str(&b, "<tool_output_masked>\n");
    buf_add(&b, p->text.at, head);
    buf_fmt(&b, "\n... [%zu lines omitted] ...\n", lines_of(p->text));
    buf_add(&b, p->text.at + tail, p->text.len - tail);
    buf_str(&b,
            "\nOutput too large. Full output available at: tool-outputs/output.txt\n"
            "</tool_output_masked>");
    return say(r, &b);
}

static void gemini_step(struct run *r, size_t t) {
    struct prune *s = r->state;
    size_t n;
    append_whole(r, t);
    see_results(r, &s->seen, t);
    if (prunable(r, s, (uint64_t)r->policy->param[0], &n) >= (uint64_t)r->policy->param[1])
        prune_cut(r, s, n, preview);
}

const struct family family_gemini = {
    .name = "gemini",
    .params = "PROTECT:LEAST",
    .source = "Gemini CLI toolOutputMaskingService.ts",
    .summary = "the same, with 250 characters of either end left as a preview",
    .nparams = 2,
    .standard = {50000, 30000},
    .grid = "gemini:10000:5000 gemini:10000:10000 gemini:20000:10000 gemini:30000:20000",
    .state = sizeof(struct prune),
    .step = gemini_step,
    .end = end_results};

/* ---- lean-ctx ------------------------------------------------------------------------------- */

/* Three lines of the head and two of the tail; of a file only that there was one. */
static struct str few_lines(struct run *r, const struct part *p) {
    struct buf b = {0};
    size_t lines = lines_of(p->text);
    const char *at = p->text.at, *end = at + p->text.len, *head = at, *tail = end;
    if (p->text.len <= 200 || lines <= 5) return p->text;
    for (int i = 0; i < 3; i++) head = (const char *)memchr(head, '\n', (size_t)(end - head)) + 1;
    for (int i = 0; i < 2; i++) {
        tail--;
        while (tail > head && tail[-1] != '\n') tail--;
    }
    buf_add(&b, at, (size_t)(head - at));
    buf_fmt(&b, "[...%zu lines pruned...]\n", lines - 5);
    buf_add(&b, tail, (size_t)(end - tail));
    return say(r, &b);
}

static void stair_step(struct run *r, size_t t) {
    struct results_seen *s = r->state;
    size_t keep = (size_t)r->policy->param[0], every = (size_t)r->policy->param[1], n = s->cut;
    append_whole(r, t);
    see_results(r, s, t);
    size_t boundary = t > keep && every ? (t - keep) / every * every : 0;
    while (n < s->count && s->list[n] < boundary) n++;
    cut_oldest(r, s, n, few_lines);
}

const struct family family_stair = {
    .name = "stair",
    .params = "KEEP:EVERY",
    .source = "lean-ctx proxy/history_prune.rs",
    .summary = "results before floor((messages - KEEP) / EVERY) * EVERY keep 3 + 2 lines",
    .nparams = 2,
    .standard = {8, 16},
    .grid = "stair:8:32 stair:8:64 stair:16:64 stair:16:128",
    .state = sizeof(struct results_seen),
    .step = stair_step,
    .end = end_results};

/* ---- trim to the window --------------------------------------------------------------------- */

struct trim {
    size_t from;   /* the messages from here on fit */
    size_t sent;   /* those before this one are out */
    uint64_t size; /* tokens from there on, without the system text */
};

/* What is left of the budget beside the system text, the first of which is always sent. */
static uint64_t trim_room(struct run *r) {
    uint64_t budget = (uint64_t)r->policy->param[0], own = 0;
    if (r->seq.front != NONE) own = r->trace->msgs[r->seq.front].whole.tokens;
    return budget > own ? budget - own : 0;
}

static void trim_step(struct run *r, size_t t) {
    struct trim *s = r->state;
    const struct trace *tr = r->trace;
    size_t i = r->seq.n;
    append_whole(r, t);
    for (; i < t; i++) {
        if (r->seq.front == NONE && tr->msgs[i].role == R_SYSTEM)
            r->seq.front = i;
        else
            s->size += tr->msgs[i].whole.tokens;
    }
    for (uint64_t room = trim_room(r); s->size > room && s->from < t; s->from++)
        if (s->from != r->seq.front) s->size -= tr->msgs[s->from].whole.tokens;
    /* A reply's results do not stand first. */
    size_t start = s->from;
    while (start < t && (tr->msgs[start].role == R_TOOL || start == r->seq.front)) start++;
    for (i = s->sent; i < start; i++)
        if (i != r->seq.front) seq_set(&r->seq, i, NULL);
    s->sent = start > s->sent ? start : s->sent;
}

const struct family family_trim = {
    .name = "trim",
    .params = "BUDGET",
    .source = "LangChain trim_messages, strategy last, include_system",
    .summary = "the newest messages that fit into BUDGET tokens, and the system text",
    .nparams = 1,
    .standard = {32000},
    .grid = "trim:64000 trim:100000",
    .state = sizeof(struct trim),
    .step = trim_step};
