/* One piece at a time, by the plain rules: right for any text, and what the masks of window.h are
 * tested against. The patterns are regular expressions in their originals; here each alternative is
 * a few lines that find where a backtracking matcher would stop.
 *
 *   word     [^\r\n\p{L}\p{N}]?\p{L}+, or with capitals: prefix? U* L+ | prefix? U+ L*, where
 *            U and L share marks and letters without case
 *   digits   \p{N}{1,3}
 *   signs    ' '?[^\s\p{L}\p{N}]+[\r\n/]*
 *   blanks   \s*[\r\n]+ | \s+(?!\S) | \s+ */
#include "token/token.h"
#include "token/unicode.h"

#define UPPERS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWERS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define PREFIX "[^\\r\\n\\p{L}\\p{N}]?"
#define SUFFIX "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define BLANKS "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CASED(suffix) PREFIX UPPERS "*" LOWERS "+" suffix "|" PREFIX UPPERS "+" LOWERS "*" suffix

const struct split paucis__splits[] = {
    [SPLIT_O200K] = {.name = "o200k",
                     .regex =
                         CASED(SUFFIX "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" BLANKS,
                     .contraction = CONTRACT_SUFFIX,
                     .digits = 3,
                     .case_cut = true,
                     .slash = true,
                     .any_prefix = true},
    [SPLIT_CL100K] = {.name = "cl100k",
                      .regex = SUFFIX "|" PREFIX
                                      "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" BLANKS,
                      .contraction = CONTRACT_PREFIX,
                      .digits = 3,
                      .any_prefix = true},
    [SPLIT_QWEN2] = {.name = "qwen2",
                     .regex =
                         SUFFIX "|" PREFIX "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" BLANKS,
                     .contraction = CONTRACT_PREFIX,
                     .digits = 1,
                     .any_prefix = true},
    [SPLIT_TEKKEN] = {.name = "tekken",
                      .regex = CASED("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" BLANKS,
                      .contraction = CONTRACT_NONE,
                      .digits = 1,
                      .case_cut = true,
                      .slash = true,
                      .any_prefix = true},
    [SPLIT_GPT2] = {.name = "gpt2", /* has no regex in the file: it is the default */
                    .regex = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
                             "|\\s+(?!\\S)|\\s+",
                    .contraction = CONTRACT_LOWER},
    [SPLIT_DEEPSEEK] = {.name = "deepseek", .regex = NULL, .deepseek = true},
    {.name = NULL}};

/* ---- what a code point is to a pattern ------------------------------------------------------ */

static bool is_newline(struct point c) { return c.c == '\n' || c.c == '\r'; }
static bool is_letter(struct point c) {
    return c.class >= CLASS_UPPER && c.class <= CLASS_CASELESS;
}
static bool is_upper_like(struct point c) { /* U above */
    return c.class == CLASS_UPPER || c.class == CLASS_CASELESS || c.class == CLASS_MARK;
}
static bool is_lower_like(struct point c) { /* L above */
    return c.class == CLASS_LOWER || c.class == CLASS_CASELESS || c.class == CLASS_MARK;
}
static bool is_sign(struct point c) { /* [^\s\p{L}\p{N}], of something that is there */
    return c.len && (c.class <= CLASS_SIGN || c.class == CLASS_MARK);
}
static bool is_prefix(struct point c) { /* [^\r\n\p{L}\p{N}] */
    return is_sign(c) || (c.class == CLASS_SPACE && !is_newline(c));
}

/* End of the run of code points at p that the test holds for. */
typedef bool test_fn(struct point c);
static inline __attribute__((always_inline)) const uint8_t *run_end(const uint8_t *p,
                                                                    const uint8_t *end,
                                                                    test_fn *test) {
    for (struct point c = point_at(p, end); c.len && test(c); c = point_at(p, end)) p += c.len;
    return p;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* Length of 's 't 'm 'd 're 've 'll at p, 0 if there is none. Without regard to case the long s
 * (U+017F) is an s too. */
static size_t contraction_len(const uint8_t *p, const uint8_t *end, bool any_case) {
    if (end - p < 2 || *p != '\'') return 0;
    unsigned fold = any_case ? 0x20 : 0;
    unsigned a = p[1] | fold, b = end - p > 2 ? p[2] | fold : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
    return any_case && end - p > 2 && p[1] == 0xc5 && p[2] == 0xbf ? 3 : 0;
}

/* U*L+ at p: its end, or p if there is no match. U* takes what it can; if no small letter follows,
 * it gives back up to its last code point that is also one of L. */
static const uint8_t *cased_word(const uint8_t *p, const uint8_t *end) {
    const uint8_t *at = p, *shared_end = p;
    for (struct point c = point_at(at, end); is_upper_like(c); c = point_at(at, end)) {
        at += c.len;
        if (c.class != CLASS_UPPER) shared_end = at;
    }
    const uint8_t *lower_end = run_end(at, end, is_lower_like);
    return lower_end > at ? lower_end : shared_end;
}

/* U+L* at p; what U+ cannot take of L is small letters. */
static const uint8_t *capital_word(const uint8_t *p, const uint8_t *end) {
    const uint8_t *at = run_end(p, end, is_upper_like);
    return at > p ? run_end(at, end, is_lower_like) : p;
}

/* The end of a word at p, or p. */
static const uint8_t *word_end(const struct split *s, const uint8_t *p, const uint8_t *end) {
    struct point first = point_at(p, end);
    bool prefixed = s->any_prefix ? is_prefix(first) : first.c == ' ';
    const uint8_t *from = prefixed ? p + first.len : p, *to = from;
    if (!s->case_cut) {
        to = run_end(from, end, is_letter);
        return to > from ? to : p;
    }
    if ((to = cased_word(from, end)) == from && from > p) { /* a mark may be prefix or word */
        from = p;
        to = cased_word(p, end);
    }
    if (to == from) {
        from = prefixed ? p + first.len : p;
        if ((to = capital_word(from, end)) == from) return p;
    }
    if (s->contraction == CONTRACT_SUFFIX) to += contraction_len(to, end, true);
    return to;
}

/* ---- blanks, signs, digits ------------------------------------------------------------------ */

static bool is_space(struct point c) { return c.class == CLASS_SPACE; }

/* A run of blanks: up to its last line end; without one, all but the last blank before a text. */
static const uint8_t *blank_end(const struct split *s, const uint8_t *p, const uint8_t *end) {
    const uint8_t *at = p, *last = p, *line = p;
    for (struct point c = point_at(at, end); is_space(c); c = point_at(at, end)) {
        last = at;
        at += c.len;
        if (is_newline(c)) line = at;
    }
    if (line > p && (s->any_prefix || s->deepseek)) return line;
    return at == end || last == p ? at : last;
}

static const uint8_t *sign_end(const struct split *s, const uint8_t *p, const uint8_t *end) {
    const uint8_t *from = *p == ' ' ? p + 1 : p, *at = run_end(from, end, is_sign);
    if (at == from) return p;
    if (s->any_prefix)
        while (at < end && (*at == '\n' || *at == '\r' || (s->slash && *at == '/'))) at++;
    return at;
}

static bool is_number(struct point c) { return c.class == CLASS_NUMBER; }

static const uint8_t *number_end(const struct split *s, const uint8_t *p, const uint8_t *end) {
    if (!s->digits) { /* with a space in front */
        const uint8_t *from = *p == ' ' ? p + 1 : p, *to = run_end(from, end, is_number);
        return to > from ? to : p;
    }
    for (unsigned i = 0; i < s->digits; i++) {
        struct point c = point_at(p, end);
        if (!is_number(c)) break;
        p += c.len;
    }
    return p;
}

/* ---- the pattern of DeepSeek V3 ------------------------------------------------------------- */

/* Three patterns, each applied to what the one before left over:
 *
 *   \p{N}{1,3}
 *   [\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+
 *   [!-/:-~][A-Za-z]+ | [^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+ | ' '?[\p{P}\p{S}]+[\r\n]* | blanks
 *
 * So to the third one, a number or a code point of the second is the end of the text. What it does
 * not match, between two matches, is a piece as well. */
static bool is_han_or_kana(struct point c) {
    return (c.c >= 0x4e00 && c.c <= 0x9fa5) || (c.c >= 0x3040 && c.c <= 0x30ff);
}
static bool is_third(struct point c) {
    return c.len && c.class != CLASS_NUMBER && !is_han_or_kana(c);
}
static bool is_deep_word(struct point c) {
    return is_third(c) && (is_letter(c) || c.class == CLASS_MARK);
}
static bool is_deep_sign(struct point c) { return is_third(c) && c.class == CLASS_SIGN; }
static bool is_ascii_letter(struct point c) { return (c.c | 0x20) - 'a' < 26; }
static bool is_unmatched(struct point c) { return is_third(c) && c.class == CLASS_OTHER; }

/* Code points that only a word behind them can take along, as its prefix. */
static const uint8_t *deep_unmatched(const uint8_t *p, const uint8_t *end) {
    const uint8_t *at = p, *last = p;
    for (struct point c = point_at(at, end); is_unmatched(c); c = point_at(at, end)) {
        last = at;
        at += c.len;
    }
    return is_deep_word(point_at(at, end)) ? last : at;
}

static const uint8_t *deep_blank(const uint8_t *p, const uint8_t *end) {
    const uint8_t *to = blank_end(&paucis__splits[SPLIT_DEEPSEEK], p, end);
    struct point next = point_at(run_end(p, end, is_space), end);
    const uint8_t *all = run_end(p, end, is_space);
    bool has_line = to > p && (to[-1] == '\n' || to[-1] == '\r');
    return !has_line && next.len && !is_third(next) ? all : to;
}

static const uint8_t *deepseek_end(const uint8_t *p, const uint8_t *end) {
    static const struct split three = {.digits = 3};
    struct point c = point_at(p, end), next = point_at(p + c.len, end);
    const uint8_t *to, *behind = p + c.len;
    if (is_number(c)) return number_end(&three, p, end);
    if (is_han_or_kana(c)) return run_end(p, end, is_han_or_kana);
    if (c.c < 0x80 && c.class == CLASS_SIGN && is_ascii_letter(next))
        return run_end(behind, end, is_ascii_letter);
    if (is_deep_word(c)) return run_end(p, end, is_deep_word);
    if (!is_newline(c) && c.class != CLASS_SIGN && is_deep_word(next))
        return run_end(behind, end, is_deep_word);
    if ((to = run_end(c.c == ' ' ? behind : p, end, is_deep_sign)) > behind || is_deep_sign(c)) {
        while (to < end && (*to == '\n' || *to == '\r')) to++;
        return to;
    }
    return is_space(c) ? deep_blank(p, end) : deep_unmatched(p, end);
}

/* ---- one piece ------------------------------------------------------------------------------ */

size_t paucis__split_one(const struct split *s, const uint8_t *p, const uint8_t *end) {
    if (s->deepseek) return (size_t)(deepseek_end(p, end) - p);
    const uint8_t *to = p;
    if (*p == '\'' && (s->contraction == CONTRACT_PREFIX || s->contraction == CONTRACT_LOWER)) {
        size_t n = contraction_len(p, end, s->contraction == CONTRACT_PREFIX);
        if (n) return n;
    }
    if ((to = word_end(s, p, end)) == p && (to = number_end(s, p, end)) == p &&
        (to = sign_end(s, p, end)) == p)
        to = blank_end(s, p, end);
    return (size_t)(to - p);
}
