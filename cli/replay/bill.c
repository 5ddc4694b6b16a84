/* One trace under one policy: every request in order, what it costs at each price, and what of the
 * evidence it still holds. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

/* ---- money ---------------------------------------------------------------------------------- */

static uint64_t price_of(const paucis_price *p, uint64_t read, uint64_t written) {
    return p->read * read + p->write * written;
}

/* Whether the entry has gone cold since the request before. */
static bool is_cold(const struct trace *t, size_t turn, const paucis_price *p) {
    if (!t->when || turn == 0 || !p->ttl_s) return false;
    double from = t->when[turn - 1], to = t->when[turn];
    return from > 0 && to > 0 && to - from > p->ttl_s;
}

/* By the whole price row: minimum, step and time to live too. */
static void bill_row(struct figures *f, const paucis_price *p, uint64_t total, uint64_t same,
                     bool cold) {
    if (p->step > 1) same -= same % p->step;
    if (same < p->minimum || cold || p->match == PAUCIS_MATCH_NONE) same = 0;
    if (total < p->minimum || p->match == PAUCIS_MATCH_NONE) {
        f->row_fresh += total;
        f->row += p->base * total;
        return;
    }
    f->row_read += same;
    f->row_written += total - same;
    f->row += price_of(p, same, total - same);
}

static void bill(struct figures *f, const paucis_price *p, const struct trace *t, size_t turn,
                 const struct step *s) {
    uint64_t same = s->same, total = s->total + f->fixed;
    f->turns++;
    f->tokens += s->total;
    f->cached += s->same;
    f->cuts += s->differs;
    if (s->total > f->peak) f->peak = s->total;
    f->plain += price_of(p, s->same, s->total - s->same);
    /* A change further back than a breakpoint looks finds no entry but the fixed prefix's. */
    if (s->differs && p->match == PAUCIS_MATCH_BREAKPOINTS && s->behind > p->lookback) same = 0;
    if (!s->first) same += f->fixed;
    f->full += price_of(p, same, total - same);
    bill_row(f, p, total, same, is_cold(t, turn, p));
}

/* ---- evidence ------------------------------------------------------------------------------- */

struct judge {
    const struct run *run;
    const struct evidence *e;
    struct buf escaped;
    size_t *read_again; /* by message: the turn, counted from 1, that had to read it again */
};

/* How an item stands in a message as sent. */
static bool has_item(const struct judge *j, size_t msg, struct str item) {
    const struct form *f = j->run->seq.now[msg];
    return f && (f == &j->run->trace->msgs[msg].whole || str_has(f->text, item));
}

/* A message as it came has all its lines; but the reference, which knows it by its identity, does
 * not see that where a policy makes all texts anew, and then asks for the line outside of
 * thinking. */
static bool keeps_line(const struct judge *j, size_t msg, struct str item) {
    const struct form *f = j->run->seq.now[msg];
    bool whole = f == &j->run->trace->msgs[msg].whole;
    return (whole && !j->run->seq.rebuilt) || has_line(j->run->trace, msg, f->text, item);
}

static bool marker_has(const struct judge *j, struct str text) {
    const struct form *m = j->run->seq.marker;
    return m && str_has(m->text, text);
}

static void judge_item(struct judge *j, const struct need *n, struct figures *f) {
    const struct place *places = j->e->places;
    bool kept = false, line = false;
    for (size_t p = n->place; p != NONE; p = places[p].before) {
        if (!has_item(j, places[p].msg, n->text)) continue;
        kept = true;
        if (!n->code || (line = keeps_line(j, places[p].msg, n->text))) break;
    }
    if (n->kind == NEED_FRESH) {
        f->nneeded++;
        f->nkept += kept;
        return;
    }
    kept = kept || marker_has(j, n->text);
    f->needed++;
    f->kept += kept;
    f->cneeded += n->code;
    f->ckept += n->code && kept;
    f->xkept += line;
}

static struct str escape(struct judge *j, struct str s, bool ascii) {
    j->escaped.len = 0;
    dump_string(&j->escaped, s, ascii);
    return (struct str){j->escaped.data + 1, j->escaped.len - 2};
}

/* A span may stand in call arguments, which are JSON. */
static bool keeps_span(struct judge *j, const struct need *n) {
    const struct place *places = j->e->places;
    const struct seq *s = &j->run->seq;
    bool any = false;
    for (size_t p = n->place; p != NONE; p = places[p].before) {
        const struct form *f = s->now[places[p].msg];
        if (!f) continue;
        any = true;
        if (f == &j->run->trace->msgs[places[p].msg].whole && !s->rebuilt) return true;
        if (str_has(f->text, n->text)) return true;
    }
    for (int ascii = 0; any && ascii < 2; ascii++) {
        struct str e = escape(j, n->text, ascii);
        for (size_t p = n->place; p != NONE; p = places[p].before) {
            const struct form *f = s->now[places[p].msg];
            if (f && str_has(f->text, e)) return true;
        }
    }
    return marker_has(j, n->text);
}

/* What was lost is read again where it was seen last; all of a message that one request misses
 * comes back with one re-read. */
static void read_again(struct judge *j, size_t msg, size_t turn, struct figures *f) {
    if (j->read_again[msg] == turn + 1) return;
    j->read_again[msg] = turn + 1;
    f->reread += j->run->trace->msgs[msg].whole.tokens;
}

static void judge_turn(struct judge *j, size_t turn, struct figures *f) {
    bool edit = false, edit_kept = true;
    for (size_t i = j->e->first[turn]; i < j->e->first[turn + 1]; i++) {
        const struct need *n = &j->e->needs[i];
        if (n->kind == NEED_ITEM || n->kind == NEED_FRESH) {
            judge_item(j, n, f);
            continue;
        }
        bool kept = keeps_span(j, n);
        if (n->kind == NEED_SPAN) {
            f->sneeded++;
            f->skept += kept;
            if (!kept) read_again(j, j->e->places[n->place].msg, turn, f);
            continue;
        }
        if (!n->joined && edit) f->edits_kept += edit_kept;
        if (!n->joined) edit_kept = true, f->edits++;
        edit = true;
        edit_kept = edit_kept && kept;
    }
    if (edit) f->edits_kept += edit_kept;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static void run_turns(struct run *r, const struct evidence *e, const paucis_price *const *prices,
                      size_t nprices, struct figures *out, struct course *course) {
    struct judge j = {.run = r, .e = e};
    struct trace *t = r->trace;
    uint64_t fixed = t->logged_input > t->total ? t->logged_input - t->total : 0;
    struct figures seen = {0};
    struct step s;
    j.read_again = arena_get(&r->arena, t->nmsgs * sizeof *j.read_again);
    for (size_t k = 0; k < nprices; k++) out[k] = (struct figures){.fixed = fixed};
    for (size_t turn = 0; turn < t->nturns; turn++) {
        r->policy->family->step(r, t->turns[turn]);
        seq_step(&r->seq, &s);
        for (size_t k = 0; k < nprices; k++) bill(&out[k], prices[k], t, turn, &s);
        judge_turn(&j, turn, &seen);
        if (course) course[turn] = (struct course){s.total, s.same, s.differs};
    }
    for (size_t k = 0; k < nprices; k++) {
        struct figures *f = &out[k];
        f->reread = seen.reread;
        f->needed = seen.needed, f->kept = seen.kept;
        f->cneeded = seen.cneeded, f->ckept = seen.ckept, f->xkept = seen.xkept;
        f->sneeded = seen.sneeded, f->skept = seen.skept;
        f->nneeded = seen.nneeded, f->nkept = seen.nkept;
        f->edits = seen.edits, f->edits_kept = seen.edits_kept;
    }
    buf_free(&j.escaped);
}

static bool run_once(const struct policy *p, struct trace *t, const struct evidence *e,
                     const paucis_price *const *prices, size_t nprices, paucis_ctx *ctx,
                     struct figures *out, struct course *course, const char **why) {
    struct run r = {.policy = p, .trace = t, .price = prices[0], .ctx = ctx};
    r.state = arena_get(&r.arena, p->family->state + 1);
    seq_open(&r.seq, &r.arena, t->nmsgs);
    bool ok = !p->family->begin || p->family->begin(&r);
    if (ok) run_turns(&r, e, prices, nprices, out, course);
    if (p->family->end) p->family->end(&r);
    ok = ok && !r.why;
    *why = r.why;
    seq_free(&r.seq);
    arena_free(&r.arena);
    return ok;
}

bool replay_run(const struct policy *p, struct trace *t, const struct evidence *e,
                const paucis_price *const *prices, size_t nprices, paucis_ctx *ctx,
                struct figures *out, struct course *course, const char **why) {
    if (!p->family->by_price) return run_once(p, t, e, prices, nprices, ctx, out, course, why);
    for (size_t k = 0; k < nprices; k++)
        if (!run_once(p, t, e, prices + k, 1, ctx, out + k, k == 0 ? course : NULL, why))
            return false;
    return true;
}
