/* One piece into tokens. Of all neighbours that can merge, the pair whose token has the lowest
 * number goes first, the leftmost of equals.
 *
 * Up to 64 bytes, the numbers of the pairs stay in registers and the parts that are left are a
 * mask. One merge is a chain of waits: the least number, the tokens beside it, a table that is not
 * near. So several texts go side by side, a step each.
 *
 * Longer pieces are windows of 64 bytes, joined. That is exact: a sequence of tokens is the
 * encoding of its text iff every two neighbours are the encoding of theirs (a merge across a border
 * would show in the two alone). So when two windows that overlap have a token in common at the same
 * place, the first up to it and the second from it on are right together. Where none is found,
 * because tokens are as long as the window, it becomes larger, with a tree of minima, 16 to 1,
 * instead of registers; so the time stays within n log n whatever the vocabulary.
 *
 * The including file gives `struct lanes`, 16 numbers, with lanes_load, lanes_store, lanes_less
 * (the lesser of each two), lanes_min (the least of one), lanes_find (mask of those equal to x),
 * lanes_put (x where the mask says); and pair_look, the entry of a key in a line of pairs, or 0. */
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

/* A question what two tokens make, asked some time before the answer is needed: the line of the
 * table is on its way. Most questions end at the filter. */
struct ask {
    const uint64_t *line;
    uint64_t key;
    bool may;
};

static inline struct ask ask_pair(const struct vocab *v, int32_t left, int32_t right, bool wanted) {
    uint64_t key = (uint64_t)(uint32_t)left << PAIR_BITS | (uint32_t)right;
    bool may = wanted & pair_may(&v->pairs, key);
    size_t home = pair_home(v->pairs.log, key) & (0 - (size_t)may); /* else one that is near */
    __builtin_prefetch(v->pairs.slots + home);
    return (struct ask){v->pairs.slots + home, key, may};
}

/* The token, or NO_MERGE. */
static inline int32_t ask_answer(const struct vocab *v, const struct ask *a) {
    if (!a->may) return NO_MERGE;
    uint64_t entry = pair_look(a->line, a->key);
    if (__builtin_expect(a->line[PAIR_LINE - 1] != 0, 0)) /* full: it may stand behind */
        return pair_merge(&v->pairs, (uint32_t)(a->key >> PAIR_BITS),
                          (uint32_t)a->key & (PAIR_MAX - 1));
    return entry ? (int32_t)(entry & (PAIR_MAX - 1)) : NO_MERGE;
}

static inline int32_t merged(const struct vocab *v, int32_t left, int32_t right) {
    struct ask a = ask_pair(v, left, right, true);
    return ask_answer(v, &a);
}

/* ---- up to 64 bytes ------------------------------------------------------------------------- */

/* A text of up to 64 bytes while it is merged. A pair is known by its number and, in the lowest 6
 * bits, its place: the least of all is the leftmost of the lowest. The last place of each list
 * takes what is not wanted, so that no jump depends on the text. */
struct word {
    int32_t pair[MERGE_WORD + 1];
    int32_t token[MERGE_WORD + 1]; /* of each part */
    uint64_t parts;                /* bit i: a part begins at i */
    int32_t least;                 /* of the pairs */
    /* the merge that is under way: */
    unsigned at, before; /* where it is, and the part before it */
    struct ask left, right;
};
#define PLACE_BITS 6
#define NO_PAIR (NO_MERGE << PLACE_BITS)

/* n <= MERGE_WORD. */
static inline void word_begin(const struct vocab *v, struct word *w, const uint8_t *p, size_t n) {
    w->parts = n ? UINT64_MAX >> (64 - n) : 0;
    for (size_t i = 0; i < n; i++) w->token[i] = v->byte[p[i]];
    for (size_t i = n; i <= MERGE_WORD; i++) w->token[i] = 0;
    for (size_t i = 0; i + 1 < n; i++)
        w->pair[i] = pair_bytes(&v->pairs, p[i], p[i + 1]) << PLACE_BITS | (int32_t)i;
    for (size_t i = n ? n - 1 : 0; i < MERGE_WORD; i++) w->pair[i] = NO_PAIR;
}

/* The same with n <= LANES; LANES bytes may be read at p. */
static inline void short_begin(const struct vocab *v, struct word *w, const uint8_t *p, size_t n) {
    w->parts = (UINT64_C(1) << n) - 1;
    w->token[MERGE_WORD - 1] = 0;
    for (size_t i = 0; i < 8; i++) w->token[i] = v->byte[p[i]];
    for (size_t i = 0; i < 8; i++)
        w->pair[i] = pair_bytes(&v->pairs, p[i], p[i + 1]) << PLACE_BITS | (int32_t)i;
    if (n > 8) {
        for (size_t i = 8; i < 16; i++) w->token[i] = v->byte[p[i]];
        for (size_t i = 8; i < 15; i++)
            w->pair[i] = pair_bytes(&v->pairs, p[i], p[i + 1]) << PLACE_BITS | (int32_t)i;
    }
    for (size_t i = n - 1; i < LANES; i++) w->pair[i] = NO_PAIR;
}

/* Whether there is a pair to merge; `some` says at compile time that only LANES places count. */
static inline bool word_look(struct word *w, bool some) {
    struct lanes l = lanes_load(w->pair);
    if (!some) {
        l = lanes_less(l, lanes_load(w->pair + LANES));
        l = lanes_less(l, lanes_less(lanes_load(w->pair + 2 * LANES), lanes_load(w->pair + 3 * LANES)));
    }
    w->least = lanes_min(l);
    return w->least < NO_PAIR;
}

/* Takes the pair that was found. What is asked here is answered in word_end, so that texts side by
 * side wait for memory together. */
static inline void word_next(const struct vocab *v, struct word *w) {
    int32_t token = w->least >> PLACE_BITS;
    unsigned at = (unsigned)w->least & (MERGE_WORD - 1);
    uint64_t above = w->parts & (UINT64_MAX << at << 1), gone = above & (0 - above);
    uint64_t below = w->parts & ((UINT64_C(1) << at) - 1);
    above ^= gone;
    w->parts ^= gone;
    w->token[at] = token;
    w->pair[__builtin_ctzll(gone)] = NO_PAIR;
    unsigned after = (unsigned)__builtin_ctzll(above | UINT64_C(1) << 63);
    unsigned before = 63 - (unsigned)__builtin_clzll(below | 1);
    w->at = at;
    w->before = below ? before : (unsigned)MERGE_WORD;
    w->right = ask_pair(v, token, w->token[after], above != 0);
    w->left = ask_pair(v, w->token[before], token, below != 0);
}

static inline void word_end(const struct vocab *v, struct word *w) {
    w->pair[w->at] = ask_answer(v, &w->right) << PLACE_BITS | (int32_t)w->at;
    w->pair[w->before] = ask_answer(v, &w->left) << PLACE_BITS | (int32_t)w->before;
}

/* Merges texts side by side until nothing is left to merge; k <= SHORTS. */
#define SHORTS 8
static inline void words_merge(const struct vocab *v, struct word *w, unsigned k, bool some) {
    struct word *on[SHORTS];
    for (unsigned i = 0; i < k; i++) on[i] = &w[i];
    while (k) {
        unsigned left = 0;
        for (unsigned i = 0; i < k; i++) {
            bool more = word_look(on[i], some);
            on[left] = on[i];
            left += more;
        }
        k = left;
        for (unsigned i = 0; i < k; i++) word_next(v, on[i]);
        for (unsigned i = 0; i < k; i++) word_end(v, on[i]);
    }
}

static inline void merge_word(const struct vocab *v, struct word *w, const uint8_t *p, size_t n) {
    word_begin(v, w, p, n);
    words_merge(v, w, 1, false);
}

static inline void merge_short(const struct vocab *v, struct word *w, const uint8_t *p, size_t n) {
    uint8_t copy[LANES] = {0};
    memcpy(copy, p, n);
    short_begin(v, w, copy, n);
    words_merge(v, w, 1, true);
}

/* How many tokens three bytes are, without a loop: the most frequent new pieces of base64. */
static inline unsigned merge_three(const struct vocab *v, const uint8_t *p) {
    int32_t first = pair_bytes(&v->pairs, p[0], p[1]), last = pair_bytes(&v->pairs, p[1], p[2]);
    bool any = (first & last) != NO_MERGE, to_first = first <= last;
    int32_t left = to_first ? first : v->byte[p[0]], right = to_first ? v->byte[p[2]] : last;
    struct ask a = ask_pair(v, left, right, any);
    return 3 - (unsigned)any - (unsigned)(ask_answer(v, &a) != NO_MERGE);
}

/* How many tokens each of k short texts has, k <= SHORTS. LANES bytes may be read of each. */
static inline void merge_side(const struct vocab *v, const uint8_t *const *text,
                              const uint8_t *size, unsigned k, uint8_t *count) {
    struct word w[SHORTS];
    for (unsigned i = 0; i < k; i++) short_begin(v, &w[i], text[i], size[i]);
    words_merge(v, w, k, true);
    for (unsigned i = 0; i < k; i++) count[i] = (uint8_t)__builtin_popcountll(w[i].parts);
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

/* Windows that are merged side by side. The first begins at a border of the window before it, so
 * these two meet nearly always; the others wherever SIDE_STEP leads, and mostly meet as well. */
#define SIDE 2
#define SIDE_STEP ((size_t)40)
#define STEP_MOST 51 /* leaves 13 bytes to meet in */
#define STEP_LEAST 8

/* Merges windows from p on, as far as the text goes; how many they are. */
static inline size_t side_words(const struct vocab *v, struct word *w, const uint8_t *p, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < SIDE; i++) {
        size_t from = i * SIDE_STEP, left = i && n <= from + MERGE_WORD - SIDE_STEP ? 0 : n - from;
        k += left != 0;
        word_begin(v, &w[i], left ? p + from : p, left < MERGE_WORD ? left : MERGE_WORD);
    }
    words_merge(v, w, SIDE, false);
    return k;
}

/* Finds a token that two windows share, b beginning at `step` in a. *done are the parts of a that
 * were given out, then those of b that must not be; *give those of a that can be now. */
static inline bool words_meet(const struct word *a, const struct word *b, size_t step,
                              uint64_t *done, uint64_t *give) {
    uint64_t meet = a->parts & ~*done & b->parts << step;
    while (meet && a->token[__builtin_ctzll(meet)] != b->token[__builtin_ctzll(meet) - (int)step])
        meet &= meet - 1;
    if (!meet) return false;
    uint64_t before = (meet & (0 - meet)) - 1;
    *give = a->parts & before & ~*done;
    *done = before >> step;
    return true;
}

/* Joins windows of 64 bytes. *joined tells whether all of them met; if not, what was added to `out`
 * is to be forgotten. n > MERGE_WORD. */
static inline paucis_err merge_words(struct token_run *r, const struct vocab *v, const uint8_t *p,
                                     size_t n, struct tokens *out, bool *joined) {
    struct word w[SIDE + 1]; /* the one that was reached, then those behind it */
    uint64_t done = 0, give;
    size_t at = 0, most = STEP_MOST;
    *joined = false;
    merge_word(v, &w[0], p, MERGE_WORD);
    while (n - at > MERGE_WORD) {
        uint64_t early = w[0].parts & (UINT64_MAX >> (63 - most));
        size_t step = 63 - (size_t)__builtin_clzll(early), k = 1, i = 0;
        if (step < STEP_LEAST) return PAUCIS_OK;
        if (n - at >= step + MERGE_WORD && memcmp(p + at, p + at + step, MERGE_WORD) == 0)
            w[1] = w[0]; /* a text that repeats */
        else
            k = side_words(v, w + 1, p + at + step, n - at - step);
        for (most = step; i < k && words_meet(&w[i], &w[i + 1], step, &done, &give); i++) {
            PAUCIS_TRY(word_add(r, v, out, w[i].token, give));
            at += step;
            step = SIDE_STEP;
        }
        most = i ? STEP_MOST : most / 2; /* they did not meet: once more with more in common */
        w[0] = w[i];
    }
    *joined = true;
    return word_add(r, v, out, w[0].token, w[0].parts & ~done);
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

/* After a merge at i: its pair is x now, that of the part before it y, and the one at `gone` is no
 * more. Without a part before, before is i and y is x. */
static inline void rank_change(int32_t *level, size_t n, size_t before, int32_t y, size_t i,
                               int32_t x, size_t gone) {
    size_t block = i / LANES;
    if (before / LANES != block || gone / LANES != block) {
        rank_set(level, n, gone, NO_MERGE);
        rank_set(level, n, i, x);
        rank_set(level, n, before, y);
        return;
    }
    struct lanes l = lanes_load(level + block * LANES);
    l = lanes_put(lanes_put(l, 1u << gone % LANES, NO_MERGE), 1u << i % LANES, x);
    l = lanes_put(l, 1u << before % LANES, y);
    lanes_store(level + block * LANES, l);
    if (n > LANES) rank_set(level + lanes_up(n), lanes_up(n) / LANES, block, lanes_min(l));
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
        int32_t before = m->prev[i], right = NO_MERGE, left;
        token[i] = least;
        m->next[i] = (int32_t)after;
        if (after < n) {
            m->prev[after] = (int32_t)i;
            right = merged(v, least, token[after]);
        }
        left = before < 0 ? right : merged(v, token[before], least);
        rank_change(rank, n, before < 0 ? i : (size_t)before, left, i, right, gone);
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
    struct word w;
    if (v->nwholes) {
        const struct whole *whole = paucis__whole_find(v, span_of((const char *)p, n));
        int32_t token = whole ? (int32_t)whole->token : 0;
        if (whole) return tokens_add(r, v, out, &token, 1);
    }
    if (n > MERGE_WORD) return merge_long(r, v, p, n, out);
    if (n > LANES)
        merge_word(v, &w, p, n);
    else
        merge_short(v, &w, p, n);
    return word_add(r, v, out, w.token, w.parts);
}
