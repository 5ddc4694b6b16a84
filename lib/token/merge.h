/* One piece into tokens. Of all neighbours that can merge, the pair whose token has the lowest
 * number goes first, the leftmost of equals.
 *
 * Up to 64 bytes, the numbers of the pairs stay in registers and the parts that are left are a
 * mask. Of longer pieces that is done for a window, and windows are joined. That is exact: a
 * sequence of tokens is the encoding of its text iff every two neighbours are the encoding of
 * theirs (a merge across a border would show in the two alone). So when two windows, the second
 * beginning at a border of the first, have a token in common at the same place, the first up to it
 * and the second from it on are right together. The second nearly always begins with such a token.
 * Where none is found, because tokens are as long as the window, it becomes larger, with a tree of
 * minima, 16 to 1, instead of registers; so the time stays within n log n whatever the vocabulary.
 *
 * The including file gives `struct lanes`, 16 numbers, with lanes_load, lanes_store, lanes_less
 * (the lesser of each two), lanes_min (the least of one), lanes_find (mask of those equal to x),
 * lanes_put (x where the mask says). */
#include <string.h>

#include "token/token.h"

#define LANES 16
#define MERGE_WORD ((size_t)64)      /* bytes of a window in registers */
#define MERGE_WINDOW ((size_t)256)   /* bytes of the first larger one */
#define MERGE_MOST ((size_t)1 << 26) /* more is not asked for: 2 GB of memory */

static inline paucis_err tokens_add(struct token_run *r, const struct vocab *v, struct tokens *out,
                                    const int32_t *list, size_t n) {
    out->count += n;
    if (!out->keep) return PAUCIS_OK;
    if (!VEC_ROOM(r->mem, out->ids, n)) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        out->ids.at[out->ids.count++] = v->ids ? v->ids[list[i]] : (uint32_t)list[i];
    return PAUCIS_OK;
}

static inline int32_t merged(const struct vocab *v, int32_t left, int32_t right) {
    return pair_merge(&v->pairs, (uint32_t)left, (uint32_t)right);
}

/* ---- up to 64 bytes ------------------------------------------------------------------------- */

/* 64 numbers; `some` says at compile time that only the first 16 count. */
struct wide {
    struct lanes a, b, c, d;
};

static inline struct wide wide_load(const int32_t *p, bool some) {
    struct lanes a = lanes_load(p);
    if (some) return (struct wide){a, a, a, a};
    return (struct wide){a, lanes_load(p + 16), lanes_load(p + 32), lanes_load(p + 48)};
}
static inline int32_t wide_min(struct wide w, bool some) {
    return lanes_min(some ? w.a : lanes_less(lanes_less(w.a, w.b), lanes_less(w.c, w.d)));
}
static inline uint64_t wide_find(struct wide w, int32_t x, bool some) {
    uint64_t low = lanes_find(w.a, x);
    if (some) return low;
    return low | (uint64_t)lanes_find(w.b, x) << 16 | (uint64_t)lanes_find(w.c, x) << 32 |
           (uint64_t)lanes_find(w.d, x) << 48;
}
static inline struct wide wide_put(struct wide w, uint64_t where, int32_t x, bool some) {
    w.a = lanes_put(w.a, (uint32_t)where & 0xffff, x);
    if (some) return w;
    w.b = lanes_put(w.b, (uint32_t)(where >> 16) & 0xffff, x);
    w.c = lanes_put(w.c, (uint32_t)(where >> 32) & 0xffff, x);
    w.d = lanes_put(w.d, (uint32_t)(where >> 48) & 0xffff, x);
    return w;
}

/* Returns the mask of the parts that are left; their tokens are in token[]. 0 < n <= MERGE_WORD, or
 * LANES if `some`. */
static inline uint64_t merge_word(const struct vocab *v, const uint8_t *p, size_t n, int32_t *token,
                                  bool some) {
    int32_t rank[MERGE_WORD];
    uint64_t parts = UINT64_MAX >> (64 - n);
    for (size_t i = 0; i < n; i++) token[i] = v->byte[p[i]];
    for (size_t i = 0; i + 1 < n; i++) rank[i] = pair_bytes(&v->pairs, p[i], p[i + 1]);
    for (size_t i = n - 1; i < (some ? LANES : MERGE_WORD); i++) rank[i] = NO_MERGE;
    for (struct wide w = wide_load(rank, some);;) {
        int32_t least = wide_min(w, some), beside = NO_MERGE;
        if (least == NO_MERGE) return parts;
        uint64_t found = wide_find(w, least, some), here = found & (0 - found);
        uint64_t above = parts & ~(here | (here - 1)), gone = above & (0 - above);
        uint64_t below = parts & (here - 1);
        parts ^= gone;
        above ^= gone;
        token[__builtin_ctzll(here)] = least;
        if (above) beside = merged(v, least, token[__builtin_ctzll(above)]);
        w = wide_put(wide_put(w, gone, NO_MERGE, some), here, beside, some);
        if (below) {
            unsigned before = 63 - (unsigned)__builtin_clzll(below);
            w = wide_put(w, UINT64_C(1) << before, merged(v, token[before], least), some);
        }
    }
}

/* Gives out the tokens of the parts in a mask. */
static inline paucis_err word_add(struct token_run *r, const struct vocab *v, struct tokens *out,
                                  const int32_t *token, uint64_t parts) {
    int32_t list[MERGE_WORD];
    size_t n = 0;
    if (!out->keep) {
        out->count += (uint64_t)__builtin_popcountll(parts);
        return PAUCIS_OK;
    }
    for (; parts; parts &= parts - 1) list[n++] = token[__builtin_ctzll(parts)];
    return tokens_add(r, v, out, list, n);
}

/* Joins windows of 64 bytes. *joined tells whether all of them met; if not, what was added to `out`
 * is to be forgotten. n > MERGE_WORD. */
static inline paucis_err merge_words(struct token_run *r, const struct vocab *v, const uint8_t *p,
                                     size_t n, struct tokens *out, bool *joined) {
    int32_t space[2][MERGE_WORD], *token = space[0], *then = space[1];
    size_t at = 0;
    uint64_t parts = merge_word(v, p, MERGE_WORD, token, false), done = 0; /* parts given out */
    *joined = false;
    while (n - at > MERGE_WORD) {
        uint64_t early = parts & (UINT64_MAX >> 12); /* begin at most at 51 */
        unsigned step = 63 - (unsigned)__builtin_clzll(early);
        size_t left = n - at - step, size = left < MERGE_WORD ? left : MERGE_WORD;
        if (!step) return PAUCIS_OK;
        uint64_t behind = parts;
        if (size == MERGE_WORD && memcmp(p + at, p + at + step, size) == 0)
            memcpy(then, token, sizeof space[0]);
        else
            behind = merge_word(v, p + at + step, size, then, false);
        uint64_t meet = parts & ~done & behind << step;
        while (meet && token[__builtin_ctzll(meet)] != then[__builtin_ctzll(meet) - (int)step])
            meet &= meet - 1;
        if (!meet) return PAUCIS_OK;
        uint64_t before = (meet & (0 - meet)) - 1;
        PAUCIS_TRY(word_add(r, v, out, token, parts & before & ~done));
        done = before >> step;
        parts = behind;
        at += step;
        int32_t *spare = token;
        token = then;
        then = spare;
    }
    *joined = true;
    return word_add(r, v, out, token, parts & ~done);
}

/* ---- larger windows ------------------------------------------------------------------------- */

/* Tokens of a window and where each begins. */
struct span_list {
    int32_t *token, *start;
    size_t count;
};

struct merge_space {
    size_t window;               /* bytes it is for */
    int32_t *rank, *next, *prev; /* rank: a tree of minima, level above level */
    struct span_list now, then;
};

static inline size_t lanes_up(size_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Memory for windows of that size; what was in it is lost. */
static inline bool merge_space(struct token_run *r, struct merge_space *m, size_t window) {
    size_t ranks = lanes_up(window);
    for (size_t level = window; level > LANES; level = lanes_up(level) / LANES)
        ranks += lanes_up(lanes_up(level) / LANES);
    size_t need = ranks + 6 * window;
    if (need > r->scratch_size) {
        int32_t *at = NULL;
        if (window < MERGE_MOST)
            at = paucis__mem_resize(r->mem, r->scratch, r->scratch_size * sizeof *at,
                                    need * sizeof *at);
        if (!at) return false;
        r->scratch = at;
        r->scratch_size = need;
    }
    int32_t *p = r->scratch + ranks;
    *m = (struct merge_space){window, r->scratch, p, p + window, {0}, {0}};
    m->now = (struct span_list){p + 2 * window, p + 3 * window, 0};
    m->then = (struct span_list){p + 4 * window, p + 5 * window, 0};
    return true;
}

/* Sets the number of the pair at i and the minima above it. */
static inline void rank_set(int32_t *level, size_t n, size_t i, int32_t x) {
    for (;;) {
        int32_t *block = level + i / LANES * LANES;
        struct lanes l = lanes_put(lanes_load(block), 1u << i % LANES, x);
        lanes_store(block, l);
        if (n <= LANES) return;
        x = lanes_min(l);
        level += lanes_up(n);
        n = lanes_up(n) / LANES;
        i /= LANES;
    }
}

/* All levels, from the lowest; pads with NO_MERGE. */
static inline void rank_build(int32_t *level, size_t n) {
    for (;;) {
        size_t lanes = lanes_up(n);
        for (size_t i = n; i < lanes; i++) level[i] = NO_MERGE;
        if (n <= LANES) return;
        n = lanes / LANES;
        for (size_t i = 0; i < n; i++) level[lanes + i] = lanes_min(lanes_load(level + i * LANES));
        level += lanes;
    }
}

/* The leftmost pair with the least number. */
static inline size_t rank_first(const int32_t *rank, size_t n, int32_t *least) {
    size_t base[8], depth = 0, at = 0; /* 16 to the 8th is more than MERGE_MOST */
    for (; n > LANES; n = lanes_up(n) / LANES) {
        base[depth++] = at;
        at += lanes_up(n);
    }
    struct lanes top = lanes_load(rank + at);
    *least = lanes_min(top);
    size_t i = (size_t)__builtin_ctz(lanes_find(top, *least));
    while (depth-- > 0) {
        struct lanes l = lanes_load(rank + base[depth] + i * LANES);
        i = i * LANES + (size_t)__builtin_ctz(lanes_find(l, *least));
    }
    return i;
}

/* Fills a list with the tokens of n bytes, n >= 1. Part n stands for the end. */
static inline void merge_window(const struct vocab *v, struct merge_space *m, const uint8_t *p,
                                size_t n, struct span_list *list) {
    int32_t *token = list->token, *rank = m->rank, least;
    for (size_t i = 0; i < n; i++) {
        token[i] = v->byte[p[i]];
        m->next[i] = (int32_t)i + 1;
        m->prev[i] = (int32_t)i - 1;
    }
    for (size_t i = 0; i + 1 < n; i++) rank[i] = pair_bytes(&v->pairs, p[i], p[i + 1]);
    rank[n - 1] = NO_MERGE;
    rank_build(rank, n);
    for (;;) {
        size_t i = rank_first(rank, n, &least);
        if (least == NO_MERGE) break;
        size_t gone = (size_t)m->next[i], after = (size_t)m->next[gone];
        int32_t before = m->prev[i], right = NO_MERGE;
        token[i] = least;
        m->next[i] = (int32_t)after;
        if (after < n) {
            m->prev[after] = (int32_t)i;
            right = merged(v, least, token[after]);
        }
        rank_set(rank, n, gone, NO_MERGE);
        rank_set(rank, n, i, right);
        if (before >= 0) rank_set(rank, n, (size_t)before, merged(v, token[before], least));
    }
    list->count = 0;
    for (size_t i = 0; i < n; i = (size_t)m->next[i]) { /* list->count <= i: no overlap */
        token[list->count] = token[i];
        list->start[list->count++] = (int32_t)i;
    }
}

/* Where two windows have a token in common, not before token `from` of the first; the second begins
 * at `shift` in the first. False: nowhere. */
static inline bool windows_meet(const struct span_list *a, size_t from, const struct span_list *b,
                                int32_t shift, size_t *ia, size_t *ib) {
    size_t i = from, k = 0;
    while (i < a->count && k < b->count) {
        int32_t x = a->start[i], y = b->start[k] + shift;
        if (x == y && a->token[i] == b->token[k]) {
            *ia = i;
            *ib = k;
            return true;
        }
        i += x <= y;
        k += y <= x;
    }
    return false;
}

/* The window behind m->now, which begins at p: from a border of it in its last eighth. A text that
 * repeats gives the same window again. */
static inline size_t window_behind(const struct vocab *v, struct merge_space *m, const uint8_t *p,
                                   size_t size, size_t left) {
    size_t from = m->now.count - 1;
    while ((size_t)m->now.start[from] > size - size / 8) from--;
    size_t step = (size_t)m->now.start[from], n = left - step < m->window ? left - step : m->window;
    if (n == size && memcmp(p + step, p, n) == 0) {
        memcpy(m->then.token, m->now.token, m->now.count * sizeof *m->now.token);
        memcpy(m->then.start, m->now.start, m->now.count * sizeof *m->now.start);
        m->then.count = m->now.count;
    } else {
        merge_window(v, m, p + step, n, &m->then);
    }
    return step;
}

/* Joins windows of this size. *joined tells whether all of them met; if not, what was added to
 * `out` is to be forgotten. */
static inline paucis_err merge_windows(struct token_run *r, const struct vocab *v, const uint8_t *p,
                                       size_t n, size_t window, struct tokens *out, bool *joined) {
    struct merge_space m;
    size_t at = 0, done = 0, size = window < n ? window : n; /* of m.now; `done` tokens are out */
    *joined = false;
    if (!merge_space(r, &m, window)) return PAUCIS_E_NOMEM;
    merge_window(v, &m, p, size, &m.now);
    while (at + size < n) {
        size_t ia, ib, step = window_behind(v, &m, p + at, size, n - at);
        if (!step || !windows_meet(&m.now, done, &m.then, (int32_t)step, &ia, &ib))
            return PAUCIS_OK;
        PAUCIS_TRY(tokens_add(r, v, out, m.now.token + done, ia - done));
        struct span_list spare = m.now;
        m.now = m.then;
        m.then = spare;
        at += step;
        done = ib;
        size = n - at < window ? n - at : window;
    }
    *joined = true;
    return tokens_add(r, v, out, m.now.token + done, m.now.count - done);
}

/* A piece longer than MERGE_WORD. */
static inline paucis_err merge_long(struct token_run *r, const struct vocab *v, const uint8_t *p,
                                    size_t n, struct tokens *out) {
    uint64_t count = out->count;
    size_t ids = out->ids.count;
    bool joined;
    PAUCIS_TRY(merge_words(r, v, p, n, out, &joined));
    for (size_t window = MERGE_WINDOW; !joined; window *= 2) {
        out->count = count;
        out->ids.count = ids;
        PAUCIS_TRY(merge_windows(r, v, p, n, window, out, &joined));
    }
    return PAUCIS_OK;
}

static inline paucis_err merge_piece(struct token_run *r, const struct vocab *v, const uint8_t *p,
                                     size_t n, struct tokens *out) {
    int32_t token[MERGE_WORD];
    if (v->nwholes) {
        const struct whole *w = paucis__whole_find(v, span_of((const char *)p, n));
        token[0] = w ? (int32_t)w->token : 0;
        if (w) return tokens_add(r, v, out, token, 1);
    }
    if (n > MERGE_WORD) return merge_long(r, v, p, n, out);
    uint64_t parts =
        n > LANES ? merge_word(v, p, n, token, false) : merge_word(v, p, n, token, true);
    return word_add(r, v, out, token, parts);
}
