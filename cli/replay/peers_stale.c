/* gajae-code's prune: results that a later call made stale, and those older than the protected
 * tokens, go when the window is nearly full. A result is stale when a later call with the same
 * target was answered: the same file, or else the same arguments. The rule's gate for going earlier
 * (savings above what the last request had in the cache) cannot open, since savings are a part of
 * that; so only the threshold is left. */
#include "replay/families.h"

#include <stdlib.h>

enum { RESERVE = 16384, DIGEST = 256 };

struct gajae {
    struct prune prune; /* first: see end_results */
    struct jdoc doc;
    struct map ids, targets;
    size_t *target; /* by id: the number of its target */
    size_t ntarget, target_cap;
    size_t *newest; /* by target: the newest message with a result of it, or NONE */
    size_t nnewest, newest_cap;
    size_t *stale; /* superseded and not yet cut */
    size_t nstale, stale_cap;
    size_t next; /* message to look at */
    bool *cut;   /* by message */
};

static bool gajae_begin(struct run *r) {
    ((struct gajae *)r->state)->cut = arena_get(&r->arena, r->trace->nmsgs * sizeof(bool));
    return true;
}

static struct str target_of(struct run *r, struct gajae *g, const struct part *p) {
    static const char *const keys[] = {"file_path", "path", "filename", "file", "target_file"};
    if (!jdoc_read(&g->doc, p->text.at, p->text.len)) return p->text;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct str s = j_text(&g->doc, 0, keys[i], &r->arena);
        if (s.len) return s;
    }
    return p->text;
}

static void see_call(struct run *r, struct gajae *g, const struct part *p) {
    size_t id = map_find(&g->ids, p->id, true);
    size_t target = map_find(&g->targets, target_of(r, g, p), true);
    if (id == g->ntarget) (void)PUSH(g->target, g->ntarget, g->target_cap);
    g->target[id] = target;
    if (target == g->nnewest) *PUSH(g->newest, g->nnewest, g->newest_cap) = NONE;
}

static void see_result(struct gajae *g, const struct part *p, size_t msg) {
    size_t id = map_find(&g->ids, p->id, false);
    if (id == NONE) return;
    size_t *newest = &g->newest[g->target[id]];
    if (*newest != NONE && *newest != msg) *PUSH(g->stale, g->nstale, g->stale_cap) = *newest;
    *newest = msg;
}

static void see_messages(struct run *r, struct gajae *g, size_t t) {
    for (; g->next < t; g->next++) {
        const struct msg *m = &r->trace->msgs[g->next];
        for (size_t i = m->part; i < m->part + m->nparts; i++) {
            const struct part *p = &r->trace->parts[i];
            if (p->kind == CALL) see_call(r, g, p);
            if (p->kind == RESULT) see_result(g, p, g->next);
        }
    }
}

/* How much there was, and its beginning. */
static struct str digest(struct run *r, const struct part *p) {
    struct buf b = {0};
    if (!utf8_at_least(p->text, DIGEST + 64)) return p->text;
    buf_fmt(&b, "[Output truncated - %zu tokens] ", (size_t)tokens_of(p->text));
    buf_add(&b, p->text.at, utf8_offset(p->text, DIGEST));
    return say(r, &b);
}

static void cut_message(struct run *r, struct gajae *g, size_t i) {
    if (!g->cut[i]) seq_set(&r->seq, i, cleared(r, i, digest));
    g->cut[i] = true;
}

static void gajae_step(struct run *r, size_t t) {
    struct gajae *g = r->state;
    struct results_seen *s = &g->prune.seen;
    uint64_t window = (uint64_t)r->policy->param[0];
    size_t n;
    append_whole(r, t);
    see_results(r, s, t);
    see_messages(r, g, t);
    prunable(r, &g->prune, (uint64_t)r->policy->param[1], &n);
    if (r->seq.total + RESERVE <= window) return;
    for (; s->cut < n; s->cut++) cut_message(r, g, s->list[s->cut]);
    while (g->nstale > 0) cut_message(r, g, g->stale[--g->nstale]);
}

static void gajae_end(struct run *r) {
    struct gajae *g = r->state;
    jdoc_free(&g->doc);
    map_free(&g->ids);
    map_free(&g->targets);
    free(g->target);
    free(g->newest);
    free(g->stale);
    end_results(r);
}

const struct family family_gajae = {
    .name = "gajae",
    .params = "WINDOW:PROTECT",
    .source = "gajae-code pruning.ts, docs/compaction.md",
    .summary =
        "when less than 16384 tokens of WINDOW are left: results that later calls made "
        "stale, and those beyond the newest PROTECT tokens",
    .nparams = 2,
    .standard = {200000, 40000},
    .grid =
        "gajae:50000:10000 gajae:70000:10000 gajae:70000:20000 gajae:100000:20000 "
        "gajae:128000:40000",
    .state = sizeof(struct gajae),
    .begin = gajae_begin,
    .step = gajae_step,
    .end = gajae_end};
