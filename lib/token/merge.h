/* One piece into tokens. Of all neighbours that can merge, the pair whose token has the lowest
 * number goes first, the leftmost of equals.
 *
 * One merge is a chain of waits: the least number, the tokens beside it, a table that is not near.
 * So several texts go side by side, a step each: all look for their least pair, all ask for what
 * comes of it, all take the answers. Up to 64 bytes the parts that are left are a mask.
 *
 * Longer pieces are windows of 64 bytes, joined. That is exact: a sequence of tokens is the
 * encoding of its text iff every two neighbours are the encoding of theirs (a merge across a border
 * would show in the two alone). So when two windows that overlap have a token in common at the same
 * place, the first up to it and the second from it on are right together. Where none is found,
 * because tokens are as long as the window, it becomes larger, with a tree of minima, 16 to 1; so
 * the time stays within n log n whatever the vocabulary.
 *
 * The including file gives `struct lanes`, 16 numbers, with lanes_load, lanes_less (the lesser of
 * each two), lanes_min (the least of one), lanes_find (mask of those equal to x); and pair_look,
 * the entry of a key in a line of pairs, or 0. */
#include <string.h>

#include "token/token.h"

#define LANES 16
#define MERGE_WORD ((size_t)64)      /* bytes of a window in registers */
#define MERGE_WINDOW ((size_t)4096)  /* bytes of the first larger one */
#define MERGE_MOST ((size_t)1 << 26) /* more is not asked for: 1.4 GB of memory */

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
        l = lanes_less(
            l, lanes_less(lanes_load(w->pair + 2 * LANES), lanes_load(w->pair + 3 * LANES)));
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
#define SHORTS 12
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

/* How many tokens each of k texts of up to 64 bytes has, k <= SHORTS. If they are short, LANES
 * bytes may be read of each. */
static inline void merge_side(const struct vocab *v, const uint8_t *const *text,
                              const uint8_t *size, unsigned k, uint8_t *count, bool some) {
    struct word w[SHORTS];
    for (unsigned i = 0; i < k; i++)
        if (some)
            short_begin(v, &w[i], text[i], size[i]);
        else
            word_begin(v, &w[i], text[i], size[i]);
    words_merge(v, w, k, some);
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
#define SIDE 4
#define SIDE_STEP ((size_t)40)
#define STEP_MOST 51 /* leaves 13 bytes to meet in */
#define STEP_LEAST 8
#define WIDE_STEP(size) ((size) - (size) / 16) /* the same for larger windows */
#define SIDE_MOST ((size_t)1 << 14) /* bytes of a window that still has others beside it */

/* Merges windows from p on, as far as the text goes; how many they are. */
static inline size_t side_words(const struct vocab *v, struct word *w, const uint8_t *p, size_t n) {
    size_t k = 0, at = 0;
    do {
        word_begin(v, &w[k++], p + at, n - at < MERGE_WORD ? n - at : MERGE_WORD);
        at += SIDE_STEP;
    } while (k < SIDE && n > at + MERGE_WORD - SIDE_STEP);
    words_merge(v, w, (unsigned)k, false);
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

/* A larger window while it is merged. Its parts have places; part n stands for the end. */
struct wide {
    int32_t *rank; /* a tree of minima, 16 to 1, level above level */
    int32_t *next, *prev;
    int32_t *token, *start; /* of each part, and the byte where it begins */
    size_t base[7], levels; /* where in `rank` each level begins; 16 to the 7th > MERGE_MOST */
    size_t n, count;        /* places; parts that are left */
    size_t size;            /* bytes */
    /* the merge that is under way: */
    size_t at, before, gone;
    int32_t least;
    uint32_t same; /* places of the same number in the same block: they are next */
    struct ask left, right;
};

static inline size_t lanes_up(size_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Memory for k windows of that size; what was in it is lost. */
static inline bool wides_room(struct token_run *r, struct wide *w, size_t k, size_t size) {
    size_t ranks = lanes_up(size);
    for (size_t level = size; level > LANES; level = lanes_up(level) / LANES)
        ranks += lanes_up(lanes_up(level) / LANES);
    size_t each = ranks + 4 * (size + 1);
    if (k * each > r->scratch_size) {
        int32_t *at = NULL;
        if (size < MERGE_MOST)
            at = paucis__mem_resize(r->mem, r->scratch, r->scratch_size * sizeof *at,
                                    k * each * sizeof *at);
        if (!at) return false;
        r->scratch = at;
        r->scratch_size = k * each;
    }
    for (size_t i = 0; i < k; i++) {
        int32_t *p = r->scratch + i * each, *q = p + ranks;
        w[i] = (struct wide){p, q, q + size + 1, q + 2 * size + 2, q + 3 * size + 3, .count = 0};
    }
    return true;
}

/* Makes the levels above the lowest, and pads each with NO_MERGE. */
static inline void rank_build(struct wide *w) {
    size_t n = w->n, base = 0;
    for (w->levels = 0;; n = lanes_up(n) / LANES) {
        int32_t *level = w->rank + base;
        w->base[w->levels++] = base;
        base += lanes_up(n);
        for (size_t i = n; i < lanes_up(n); i++) level[i] = NO_MERGE;
        if (n <= LANES) return;
        for (size_t i = 0; i < lanes_up(n); i += LANES)
            w->rank[base + i / LANES] = lanes_min(lanes_load(level + i));
    }
}

/* Brings the minima above block i of the lowest level up to date. */
static inline void rank_above(struct wide *w, size_t i) {
    for (size_t level = 1; level < w->levels; level++, i /= LANES)
        w->rank[w->base[level] + i] =
            lanes_min(lanes_load(w->rank + w->base[level - 1] + i * LANES));
}

/* The leftmost pair with the least number. */
static inline size_t rank_first(const struct wide *w, int32_t *least) {
    size_t i = 0, level = w->levels - 1;
    struct lanes l = lanes_load(w->rank + w->base[level]);
    *least = lanes_min(l);
    for (;;) {
        i = i * LANES + (size_t)__builtin_ctz(lanes_find(l, *least));
        if (!level) return i;
        l = lanes_load(w->rank + w->base[--level] + i * LANES);
    }
}

/* Chains the parts again, which stand in places 0 to n - 1, n >= 1. */
static inline void wide_chain(struct wide *w, size_t n) {
    w->n = w->count = n;
    w->same = 0;
    w->token[n] = 0;
    for (size_t i = 0; i <= n; i++) {
        w->next[i] = (int32_t)i + 1;
        w->prev[i] = (int32_t)i - 1;
    }
    rank_build(w);
}

static inline void wide_begin(const struct vocab *v, struct wide *w, const uint8_t *p, size_t n) {
    w->size = n;
    for (size_t i = 0; i < n; i++) {
        w->token[i] = v->byte[p[i]];
        w->start[i] = (int32_t)i;
    }
    for (size_t i = 0; i + 1 < n; i++) w->rank[i] = pair_bytes(&v->pairs, p[i], p[i + 1]);
    w->rank[n - 1] = NO_MERGE;
    wide_chain(w, n);
}

/* Moves the parts that are left together, so that neighbours share a block. */
static inline void wide_pack(struct wide *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->n; i = (size_t)w->next[i], n++) { /* n <= i */
        w->token[n] = w->token[i];
        w->start[n] = w->start[i];
        w->rank[n] = w->rank[i];
    }
    wide_chain(w, n);
}

/* These three as for words. */
static inline bool wide_look(struct wide *w) {
    size_t block = w->at & ~(size_t)(LANES - 1);
    w->at = w->same ? block + (size_t)__builtin_ctz(w->same) : rank_first(w, &w->least);
    return w->least != NO_MERGE;
}

static inline void wide_next(const struct vocab *v, struct wide *w) {
    size_t at = w->at, gone = (size_t)w->next[at], after = (size_t)w->next[gone];
    bool first = w->prev[at] < 0;
    w->before = first ? at : (size_t)w->prev[at];
    w->gone = gone;
    w->token[at] = w->least;
    w->next[at] = (int32_t)after;
    w->prev[after] = (int32_t)at;
    w->right = ask_pair(v, w->least, w->token[after], after < w->n);
    w->left = ask_pair(v, w->token[w->before], w->least, !first);
}

static inline void wide_end(const struct vocab *v, struct wide *w) {
    int32_t right = ask_answer(v, &w->right), left = ask_answer(v, &w->left);
    size_t block = w->at / LANES, before = w->before / LANES, gone = w->gone / LANES;
    w->rank[w->gone] = NO_MERGE;
    w->rank[w->before] = left;
    w->rank[w->at] = right; /* last: w->before is the same if there is none */
    if (before != block) rank_above(w, before);
    if (gone != block) rank_above(w, gone);
    w->same = lanes_find(lanes_load(w->rank + block * LANES), w->least);
    if (!w->same) rank_above(w, block);
}

/* Merges windows side by side, k <= SIDE. */
static inline void wides_merge(const struct vocab *v, struct wide *w, size_t k) {
    struct wide *on[SIDE];
    for (size_t i = 0; i < k; i++) on[i] = &w[i];
    for (size_t left = k; left;) {
        size_t more = 0;
        for (size_t i = 0; i < left; i++) {
            on[more] = on[i];
            more += wide_look(on[i]);
        }
        left = more;
        for (size_t i = 0; i < left; i++) wide_next(v, on[i]);
        for (size_t i = 0; i < left; i++) {
            wide_end(v, on[i]);
            if (--on[i]->count < on[i]->n / 2 && on[i]->n > LANES) wide_pack(on[i]);
        }
    }
    for (size_t i = 0; i < k; i++) wide_pack(&w[i]);
}

/* As side_words, k windows of `size` bytes at most. */
static inline size_t side_wides(const struct vocab *v, struct wide *w, size_t k, const uint8_t *p,
                                size_t n, size_t size) {
    size_t step = WIDE_STEP(size), count = 0, at = 0;
    do {
        wide_begin(v, &w[count++], p + at, n - at < size ? n - at : size);
        at += step;
    } while (count < k && n > at + size - step);
    wides_merge(v, w, count);
    return count;
}

/* Where two windows have a token in common, not before token `from` of the first; the second begins
 * at `shift` in the first. False: nowhere. */
static inline bool wides_meet(const struct wide *a, size_t from, const struct wide *b, size_t shift,
                              size_t *ia, size_t *ib) {
    size_t i = from, k = 0;
    while (i < a->count && k < b->count) {
        size_t x = (size_t)a->start[i], y = (size_t)b->start[k] + shift;
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

/* Joins windows of this size, as merge_words. */
static inline paucis_err merge_wides(struct token_run *r, const struct vocab *v, const uint8_t *p,
                                     size_t n, size_t size, struct tokens *out, bool *joined) {
    struct wide w[SIDE + 1];
    size_t side = n <= size ? 0 : size > SIDE_MOST ? 1 : SIDE, at = 0, done = 0, ia, ib;
    *joined = false;
    if (!wides_room(r, w, side + 1, size)) return PAUCIS_E_NOMEM;
    side_wides(v, w, 1, p, n, size);
    for (size_t most = WIDE_STEP(size); at + w[0].size < n;) {
        size_t from = w[0].count - 1, k = 1, i = 0;
        while ((size_t)w[0].start[from] > most) from--;
        size_t step = (size_t)w[0].start[from];
        if (step < size - WIDE_STEP(size)) return PAUCIS_OK;
        bool again = n - at - step >= size && memcmp(p + at, p + at + step, size) == 0;
        if (!again) k = side_wides(v, w + 1, side, p + at + step, n - at - step, size);
        for (most = step; i < k; i++, step = WIDE_STEP(size)) {
            if (!wides_meet(&w[i], done, &w[again ? i : i + 1], step, &ia, &ib)) break;
            PAUCIS_TRY(tokens_add(r, v, out, w[i].token + done, ia - done));
            at += step;
            done = ib;
        }
        most = i ? WIDE_STEP(size) : most / 2; /* they did not meet: once more, more in common */
        if (again || !i) continue;
        struct wide spare = w[0];
        w[0] = w[i];
        w[i] = spare;
    }
    *joined = true;
    return tokens_add(r, v, out, w[0].token + done, w[0].count - done);
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
        PAUCIS_TRY(merge_wides(r, v, p, n, window, out, &joined));
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
