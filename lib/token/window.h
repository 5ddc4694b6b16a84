/* The pieces of 64 bytes of ASCII text at once. Every byte has a class, a class is a 64-bit mask,
 * and where pieces begin follows from shifts and sums of masks:
 *
 *   text      if (x) {\n    go();\n        the window begins where a piece begins, so nothing
 *   starts    ^ ^^^^^ ^   ^^ ^  ^          needs to be carried into it
 *
 * A start is handed out only if nothing behind the window can change it; the next window begins at
 * the last of them. What is not ASCII, and a piece that fills the window, is left to split.c.
 *
 * The including file gives window_look. */
#include "token/token.h"

#define WINDOW 64

struct look {                                                           /* one bit a byte */
    uint64_t upper, lower, digit, space, tab, line, high, slash, quote; /* tab: also \v \f */
};

/* 64 bytes at p may be read. */
static inline void window_look(const uint8_t *p, struct look *k);

static inline uint64_t low_bits(size_t n) { return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX; }

/* Length of 's and the like behind a quote at p, all in ASCII; 0 if there is none. */
static inline size_t ascii_contraction(const uint8_t *p, size_t n) {
    if (n < 2) return 0;
    unsigned a = p[1] | 0x20, b = n > 2 ? p[2] | 0x20 : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    return (b == 'e' && (a == 'r' || a == 'v')) || (a == 'l' && b == 'l') ? 3 : 0;
}

/* Contractions as pieces of their own: letters behind begin a new one. `quotes` begin pieces. */
static inline uint64_t cut_prefixes(uint64_t starts, uint64_t quotes, uint64_t letters,
                                    const uint8_t *p, size_t n) {
    for (; quotes; quotes &= quotes - 1) {
        size_t i = (size_t)__builtin_ctzll(quotes), len = ascii_contraction(p + i, n - i);
        if (len && i + len < 64) starts |= letters & UINT64_C(1) << (i + len);
    }
    return starts;
}

/* Contractions that belong to the word before. `quotes` follow letters. */
static inline uint64_t join_suffixes(uint64_t starts, uint64_t quotes, uint64_t letters,
                                     const uint8_t *p, size_t n) {
    size_t end = 0; /* of the last one: a second one behind it follows no word */
    for (; quotes; quotes &= quotes - 1) {
        size_t i = (size_t)__builtin_ctzll(quotes), len = ascii_contraction(p + i, n - i);
        if (!len || i == end) continue;
        end = i + len;
        starts &= ~(low_bits(len) << i);
        if (end < 64) starts |= letters & UINT64_C(1) << end;
    }
    return starts;
}

/* Blanks behind the last line end of a run begin a piece; those between two line ends do not. */
static inline uint64_t blanks_after_lines(uint64_t line, uint64_t blank) {
    uint64_t first = line << 1 & blank; /* of the blanks behind a line end */
    uint64_t behind = (blank + first) & ~blank;
    if (!(behind & line)) return first;
    for (uint64_t rest = first; rest; rest &= rest - 1) {
        uint64_t bit = rest & (0 - rest);
        if ((blank + bit) & ~blank & line) first &= ~bit;
    }
    return first;
}

static inline uint64_t digit_starts(uint64_t digit, unsigned most) {
    if (most == 1) return digit;
    uint64_t starts = digit & ~(digit << 1), third = digit & digit << 1 & digit << 2;
    for (uint64_t s = starts; s; s = s << 3 & third) starts |= s << 3 & third;
    return starts;
}

/* Where pieces begin in the first n bytes, all ASCII. `whole`: the text ends there. */
static inline uint64_t window_starts(const struct split *s, const struct look *k, const uint8_t *p,
                                     size_t n, bool whole) {
    uint64_t valid = low_bits(n);
    uint64_t letter = (k->upper | k->lower) & valid, digit = k->digit & valid;
    uint64_t blank = (k->space | k->tab) & valid, line = k->line & valid, white = blank | line;
    uint64_t sign = valid & ~(letter | digit | white);

    /* Line ends, and slashes behind them, that belong to the signs before. */
    uint64_t taker = s->slash ? line | (k->slash & valid) : line, first = line & sign << 1;
    uint64_t taken = taker & (~(taker + first) | first);
    sign &= ~taken;
    line &= ~taken;
    white &= ~taken;

    uint64_t sign_start = sign & ~(sign << 1) & ~(k->space << 1);
    uint64_t last_blank = blank & ~(white >> 1);
    if (whole && n) last_blank &= ~(UINT64_C(1) << (n - 1));
    uint64_t word = letter & ~(letter << 1) & ~((blank | sign_start) << 1);
    if (s->case_cut) word |= k->upper & valid & k->lower << 1;
    uint64_t starts = word | sign_start | last_blank | (white & ~(white << 1)) |
                      blanks_after_lines(line, blank) | digit_starts(digit, s->digits) | 1;
    uint64_t quote = k->quote & valid;
    if (quote && s->contraction == CONTRACT_PREFIX)
        starts = cut_prefixes(starts, quote & sign_start & letter >> 1, letter, p, n);
    if (quote && s->contraction == CONTRACT_SUFFIX)
        starts = join_suffixes(starts, quote & letter << 1, letter, p, n);
    return starts & valid;
}

/* Starts that nothing behind n bytes can change: a run of blanks at the end may go on, and a
 * contraction takes three bytes. */
static inline uint64_t sure_bits(const struct look *k, size_t n) {
    uint64_t dark = low_bits(n) & ~(k->space | k->tab | k->line);
    size_t limit = dark ? 64 - (size_t)__builtin_clzll(dark) : 0;
    if (limit + 3 > n) limit = n > 3 ? n - 3 : 0;
    return low_bits(limit + 1);
}

/* See struct token_kernel. */
static inline size_t window_split(const struct split *s, const uint8_t *text, size_t n, size_t *pos,
                                  size_t *ends, size_t most) {
    bool masks = s->any_prefix && !s->deepseek;
    size_t at = *pos, count = 0;
    while (at < n && count + WINDOW < most) {
        const uint8_t *p = text + at;
        size_t left = n - at;
        if (masks && *p < 0x80 && (left < 2 || p[1] < 0x80)) {
            uint8_t copy[WINDOW];
            struct look k;
            if (left < WINDOW) {
                memset(copy, 0, sizeof copy);
                memcpy(copy, p, left);
            }
            window_look(left < WINDOW ? copy : p, &k);
            size_t seen = k.high ? (size_t)__builtin_ctzll(k.high) : WINDOW;
            bool whole = left <= seen;
            if (whole) seen = left;
            uint64_t starts = window_starts(s, &k, p, seen, whole);
            if (!whole) starts &= sure_bits(&k, seen);
            size_t from = count;
            for (starts &= starts - 1; starts; starts &= starts - 1)
                ends[count++] = at + (size_t)__builtin_ctzll(starts);
            if (whole) ends[count++] = n;
            if (count > from) {
                at = ends[count - 1];
                continue;
            }
        }
        at += paucis__split_one(s, p, text + n);
        ends[count++] = at;
    }
    *pos = at;
    return count;
}
