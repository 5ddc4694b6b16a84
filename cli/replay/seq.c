/* The messages as sent under one policy. A policy appends messages as they come and sets the form
 * of any of them anew; at each request seq_step says how much of it stood in the request before.
 * Only what was set since then is looked at: a Fenwick tree gives the tokens in front of the first
 * change, and the comparison goes on from there by position, as a cache would. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

void seq_open(struct seq *s, struct arena *a, size_t messages) {
    *s = (struct seq){.front = NONE, .old_front = NONE};
    s->now = arena_get(a, messages * sizeof *s->now);
    s->old = arena_get(a, messages * sizeof *s->old);
    s->tree = arena_get(a, (messages + 1) * sizeof *s->tree);
}

void seq_free(struct seq *s) { free(s->changed); }

/* ---- tokens --------------------------------------------------------------------------------- */

static uint64_t tokens(const struct form *f) { return f ? f->tokens : 0; }

/* Of the messages in front of i. */
static uint64_t tree_sum(const struct seq *s, size_t i) {
    uint64_t sum = 0;
    for (; i > 0; i &= i - 1) sum += s->tree[i];
    return sum;
}

static void tree_append(struct seq *s, uint64_t value) {
    size_t i = s->n + 1;
    s->tree[i] = value + tree_sum(s, i - 1) - tree_sum(s, i & (i - 1));
}

static void tree_add(struct seq *s, size_t i, uint64_t difference) {
    for (i++; i <= s->n; i += i & (~i + 1)) s->tree[i] += difference; /* wraps where it is less */
}

/* ---- changes -------------------------------------------------------------------------------- */

void seq_append(struct seq *s, const struct form *f) {
    tree_append(s, tokens(f));
    s->now[s->n++] = f;
    s->total += tokens(f);
}

void seq_set(struct seq *s, size_t i, const struct form *f) {
    if (s->now[i] == f) return;
    uint64_t difference = tokens(f) - tokens(s->now[i]);
    tree_add(s, i, difference);
    s->total += difference;
    s->now[i] = f;
    if (i < s->old_n) *PUSH(s->changed, s->nchanged, s->changed_cap) = i;
}

void seq_mark(struct seq *s, size_t at, const struct form *f) {
    s->total += tokens(f) - tokens(s->marker);
    s->marker = f;
    s->marker_at = at;
}

/* ---- comparing ------------------------------------------------------------------------------ */

struct cursor {
    const struct form **list;
    size_t i, n, front, marker_at;
    const struct form *marker;
    bool lead; /* the front message is still to come */
};

static const struct form *cursor_next(struct cursor *c) {
    if (c->lead) {
        c->lead = false;
        return c->list[c->front];
    }
    for (; c->i < c->n; c->i++) {
        if (c->marker && c->i == c->marker_at) {
            const struct form *m = c->marker;
            c->marker = NULL;
            return m;
        }
        if (c->list[c->i] && c->i != c->front) return c->list[c->i++];
    }
    const struct form *m = c->marker;
    c->marker = NULL;
    return m;
}

/* The first message at which the two requests may differ. */
static size_t first_change(const struct seq *s) {
    size_t i = s->old_n;
    for (size_t k = 0; k < s->nchanged; k++)
        if (s->changed[k] < i) i = s->changed[k];
    if (s->marker != s->old_marker || s->marker_at != s->old_marker_at) {
        if (s->marker && s->marker_at < i) i = s->marker_at;
        if (s->old_marker && s->old_marker_at < i) i = s->old_marker_at;
    }
    return s->front != s->old_front ? 0 : i;
}

static size_t common_bytes(struct str a, struct str b) {
    size_t n = a.len < b.len ? a.len : b.len, i = 0;
    while (i < n && a.at[i] == b.at[i]) i++;
    while (i > 0 && i < n && ((unsigned char)a.at[i] & 0xc0) == 0x80) i--;
    return i;
}

static void compare(const struct seq *s, struct step *out) {
    size_t i = first_change(s);
    bool lead = s->front != s->old_front;
    struct cursor was = {s->old,
                         i,
                         s->old_n,
                         s->old_front,
                         s->old_marker_at,
                         s->old_marker,
                         lead && s->old_front != NONE};
    struct cursor now = {
        s->now, i, s->n, s->front, s->marker_at, s->marker, lead && s->front != NONE};
    out->same = tree_sum(s, i);
    if (!lead && s->front != NONE && s->front >= i) out->same += tokens(s->now[s->front]);
    if (s->marker && s->marker_at < i) {
        out->same += tokens(s->marker);
        was.marker = now.marker = NULL;
    }
    const struct form *a, *b;
    while ((a = cursor_next(&was)) && (b = cursor_next(&now))) {
        if (!form_same(a, b)) {
            out->differs = true;
            out->same += bill_tokens_prefix(b->text, common_bytes(a->text, b->text));
            out->behind = 1;
            while (out->behind < BEHIND_MAX && cursor_next(&now)) out->behind++;
            return;
        }
        out->same += b->tokens;
    }
}

void seq_step(struct seq *s, struct step *out) {
    *out = (struct step){.total = s->total, .first = s->old_total == 0};
    if (!out->first) compare(s, out);
    for (size_t k = 0; k < s->nchanged; k++) s->old[s->changed[k]] = s->now[s->changed[k]];
    for (size_t i = s->old_n; i < s->n; i++) s->old[i] = s->now[i];
    s->nchanged = 0;
    s->old_n = s->n;
    s->old_total = s->total;
    s->old_front = s->front;
    s->old_marker = s->marker;
    s->old_marker_at = s->marker_at;
}
