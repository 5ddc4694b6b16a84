/* See joints.h. One pass, a few bytes of state; what is looked at ahead is one line. */
#include "stable/joints.h"

#include "core/chars.h"

#include <string.h>

#define MOST_NAME 160 /* bytes of a name that is shown */
#define MOST_HEADING 240
#define HEAD_LINES 8   /* lines of an agent's own in front of an output, at most ... */
#define TAIL_BYTES 128 /* ... and what they may take behind it */

enum { RANK_FILE = 1, RANK_PART = 2, RANK_FRAME = 3 };

static bool is_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '~' || (c >= '-' && c <= '/') ||
           c == ':';
}

static bool begins(struct span s, const char *with) {
    if (!s.len || *s.at != *with) return false; /* mostly */
    size_t n = strlen(with);
    return s.len >= n && !memcmp(s.at, with, n);
}

static struct span chomp(const char *at, size_t len) {
    while (len && (at[len - 1] == '\n' || at[len - 1] == '\r')) len--;
    return span_of(at, len);
}

static struct span trim(struct span s) {
    while (s.len && *s.at == ' ') s.at++, s.len--;
    return s;
}

/* ---- numbers in front ---------------------------------------------------------------------- */

size_t paucis__number_len(struct span line) {
    size_t n = 0;
    while (n < line.len && (line.at[n] == ' ' || line.at[n] == '\t')) n++;
    size_t from = n;
    while (n < line.len && is_digit(line.at[n])) n++;
    if (n == from || n == line.len) return 0;
    char c = line.at[n];
    if (c == ':' || c == '-' || c == '|' || c == '\t') return n + 1;
    return line.len - n >= 3 && !memcmp(line.at + n, "\xE2\x86\x92", 3) ? n + 3 : 0;
}

/* ---- names --------------------------------------------------------------------------------- */

/* "a.c:12:" and what is glued to it, or "a.c-13-": where a search has found something, no name. */
static bool is_place(const char *at, const char *to) {
    const char *digit = to - 1;
    if (to - at > 2 && *digit == '-' && is_digit(digit[-1])) {
        while (digit > at && is_digit(digit[-1])) digit--;
        if (digit > at && digit[-1] == '-') return true;
    }
    while ((at = memchr(at, ':', (size_t)(to - at)))) {
        const char *digits = ++at;
        while (at < to && is_digit(*at)) at++;
        if (at > digits && at < to && (*at == ':' || *at == '-')) return true;
    }
    return false;
}

bool paucis__whole_name(const char *from, const char *end, struct item *i) {
    const char *at = i->at, *to = i->at + i->len;
    while (at > from && is_word(at[-1]) && to - at <= MOST_NAME) at--;
    while (to < end && is_word(*to) && to - at <= MOST_NAME) to++;
    if (to - at > MOST_NAME || (at > from && at[-1] == '\\')) return false;
    if (is_place(at, to)) return false;
    while (*at == '-' || *at == ':') at++;
    *i = (struct item){at, (size_t)(to - at)};
    return true;
}

/* ---- failures ------------------------------------------------------------------------------ */

/* The first letters of the words below. */
static inline uint8_t may_fail(const uint8_t *s) {
    uint8_t a = s[0] | 0x20, b = s[1] | 0x20, c = s[2] | 0x20, d = s[3] | 0x20;
    uint8_t e = (a == 'e') &
                (((b == 'r') & (c == 'r') & (d == 'o')) | ((b == 'x') & (c == 'c') & (d == 'e')));
    uint8_t f = (a == 'f') & (b == 'a') & (((c == 'i') & (d == 'l')) | ((c == 't') & (d == 'a')));
    uint8_t p = (a == 'p') & (b == 'a') & (c == 'n') & (d == 'i');
    return e | f | p | (uint8_t)((a == 't') & (b == 'r') & (c == 'a') & (d == 'c'));
}

/* Written so that the compiler makes vector code of it. */
size_t paucis__failure_after(struct span text, size_t at) {
    const uint8_t *s = (const uint8_t *)text.at;
    for (; text.len - at >= 64 + 3; at += 64) {
        uint8_t any = 0;
        for (size_t i = 0; i < 64; i++) any |= may_fail(s + at + i);
        if (any) break;
    }
    for (; text.len - at > 3; at++)
        if (may_fail(s + at)) return at;
    return text.len;
}

/* Is there a word that begins at s[i], in the small letters of `word` or with a capital? */
static bool word_at(struct span s, size_t i, const char *word) {
    size_t n = strlen(word);
    if (s.len - i < n) return false;
    bool inner = i && (is_lower(s.at[i - 1]) || s.at[i - 1] == '_');
    if (inner && !(is_upper(s.at[i]) && is_lower(s.at[i - 1]))) return false;
    for (size_t k = 0; k < n; k++)
        if ((s.at[i + k] | 0x20) != word[k]) return false;
    return i + n == s.len || !(is_lower(s.at[i + n]) || s.at[i + n] == '_' || s.at[i + n] == '(');
}

/* "0 errors", "no error". */
static bool is_denied(struct span s, size_t i) {
    if (i < 2 || s.at[i - 1] != ' ') return false;
    if (s.at[i - 2] == '0') return i < 3 || !is_digit(s.at[i - 3]);
    return i >= 3 && (s.at[i - 3] | 0x20) == 'n' && s.at[i - 2] == 'o';
}

/* Do all words below that begin so? Rules out most places at once. */
static bool may_begin(const char *s) {
    char second = (char)(s[1] | 0x20);
    switch (*s | 0x20) {
    case 'e': return second == 'r' || second == 'x';
    case 'f':
    case 'p': return second == 'a';
    case 't': return second == 'r';
    default: return false;
    }
}

bool paucis__tells_failure(struct span s) {
    static const char *const words[] = {"error", "errors",   "exception", "failed",   "failure",
                                        "fatal", "panicked", "panic",     "traceback"};
    for (size_t i = 0; i + 4 <= s.len; i++) {
        if (!may_begin(s.at + i)) continue;
        if (!memcmp(s.at + i, "FAIL", 4)) return !is_denied(s, i);
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (word_at(s, i, words[k]) && !is_denied(s, i)) return true;
    }
    return false;
}

/* ---- what agents put around an output ------------------------------------------------------ */

/* Lines that say how a call ended: with a 0 they are worth nothing, else they must stay. */
static const char *const verdicts[] = {"Process exited with code ",
                                       "Exit code: ",
                                       "Exit code ",
                                       "Exit Code: ",
                                       "<returncode>",
                                       "exit status "};
/* Lines of agents that say nothing of the output itself. */
static const char *const nothings[] = {
    "Chunk ID: ", "Wall time: ", "Original token count: ", "Total output lines: ", "Output:",
    "<output>",   "</output>"};

/* "<shellId: 3 completed with exit code 1>", "[Command finished with exit code 1]" */
static enum joint_worth tail_worth(struct span line) {
    static const char word[] = " exit code ";
    size_t n = sizeof word - 1;
    if (!line.len || (*line.at != '<' && *line.at != '[')) return JOINT_PLAIN;
    for (size_t i = 0; i + n < line.len; i++)
        if (!memcmp(line.at + i, word, n))
            return line.at[i + n] == '0' ? JOINT_NOTHING : JOINT_VERDICT;
    return JOINT_PLAIN;
}

static enum joint_worth head_worth(struct span line) {
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        size_t n = strlen(verdicts[i]);
        if (begins(line, verdicts[i]) && line.len > n)
            return line.at[n] == '0' ? JOINT_NOTHING : JOINT_VERDICT;
    }
    for (size_t i = 0; i < sizeof nothings / sizeof *nothings; i++)
        if (begins(line, nothings[i])) return JOINT_NOTHING;
    return JOINT_PLAIN;
}

/* ---- headings ------------------------------------------------------------------------------ */

/* A path alone on its line. */
static bool is_path(struct span s) {
    bool slash = false;
    if (!s.len || s.len > MOST_HEADING) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_word(s.at[i])) return false;
        slash = slash || s.at[i] == '/' || (s.at[i] == '.' && i && i + 1 < s.len);
    }
    return slash;
}

/* "src/a.c" with numbered lines behind it, or "./src:" with a listing. */
static bool heads_file(struct span s, const char *next, const char *end) {
    if (begins(s, "==> ") && s.len > 8 && !memcmp(s.at + s.len - 4, " <==", 4)) return true;
    if (!is_path(s) || is_digit(*s.at)) return false;
    if (s.at[s.len - 1] == ':') return memchr(s.at, '/', s.len) != NULL;
    return paucis__number_len(span_of(next, (size_t)(end - next) < 32 ? (size_t)(end - next) : 32));
}

/* "NAME   STATUS  AGE": capitals only, three words and more. */
static bool heads_columns(struct span s) {
    size_t words = 0, letters = 0;
    if (s.len > MOST_HEADING || !is_upper(*s.at)) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (is_lower(s.at[i]) || !(is_upper(s.at[i]) || memchr(" _%#/().", s.at[i], 8)))
            return false;
        letters += is_upper(s.at[i]);
        words += s.at[i] != ' ' && (!i || s.at[i - 1] == ' ');
    }
    return words >= 3 && letters >= 2 * words;
}

/* "|---|:--:|", up to the end of the line. */
static bool is_rule(struct span s) {
    bool dash = false;
    if (!s.len || *s.at != '|') return false;
    for (size_t i = 0; i < s.len && s.at[i] != '\n'; i++) {
        if (i > MOST_HEADING || !memchr("|-: \r", s.at[i], 5)) return false;
        dash = dash || s.at[i] == '-';
    }
    return dash;
}

static struct joint patch_joint(struct joints *j, struct span s) {
    bool minus = j->after_minus;
    j->after_minus = false;
    if (begins(s, "diff --git ")) {
        j->in_patch_head = true;
        return (struct joint){.rank = RANK_FILE};
    }
    if (begins(s, "@@ -")) {
        j->in_patch_head = false;
        return (struct joint){.rank = RANK_PART};
    }
    if (j->in_patch_head) {
        static const char *const rows[] = {"index ", "--- ", "+++ ", "similarity index "};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (begins(s, rows[i])) return (struct joint){.worth = JOINT_NOTHING};
    } else if (minus && begins(s, "+++ "))
        return (struct joint){.rank = RANK_FILE};
    j->after_minus = begins(s, "--- ");
    return (struct joint){0};
}

static struct joint table_joint(struct joints *j, struct span s, const char *next,
                                const char *end) {
    bool was = j->in_table, rule = is_rule(s);
    struct span ahead = span_of(next, (size_t)(end - next));
    j->in_table = s.len && *s.at == '|';
    if (!j->in_table) return (struct joint){.closes = was ? RANK_PART : 0};
    if (rule) return (struct joint){.rank = RANK_FRAME};
    if (!was && is_rule(ahead)) return (struct joint){.rank = RANK_PART};
    return (struct joint){0};
}

/* Lines are many and tracebacks few: where the next `File "` stands is known in advance. */
static bool is_frame(struct joints *j, struct span s, const char *end) {
    static const char word[] = "File \"";
    const char *at = j->frame;
    if (at >= s.at + s.len && at) return false;
    if (!at || at < s.at)
        for (at = s.at; (at = memchr(at, *word, (size_t)(end - at))); at++)
            if ((size_t)(end - at) >= strlen(word) && !memcmp(at, word, strlen(word))) break;
    j->frame = at ? at : end;
    bool is = begins(trim(s), word) && s.len < MOST_HEADING;
    j->in_trace = j->in_trace || is;
    return is;
}

/* Do its ends alone say that a line is no heading? */
static bool is_ordinary(char first, char last) {
    return !is_word(last) && !is_upper(first) && !strchr("d@+-|=< \t", first);
}

struct joint paucis__joint_next(struct joints *j, const char *at, size_t len, const char *end) {
    struct span s = chomp(at, len);
    const char *next = at + len;
    j->in_head = j->lines++ < HEAD_LINES;
    bool in_tail = (size_t)(end - at) <= TAIL_BYTES;
    if (j->in_head || in_tail) {
        enum joint_worth worth = head_worth(s);
        if (in_tail && !worth) worth = tail_worth(s);
        if (worth) return (struct joint){.worth = (uint8_t)worth};
    }
    if (j->in_trace && *at != ' ' && *at != '\t') { /* of an exception, or of nothing */
        j->in_trace = false;
        if (s.len && !begins(s, "File \""))
            return (struct joint){.closes = RANK_FRAME, .fails = true};
    }
    bool inside = j->in_patch_head || j->after_minus || j->in_table || j->in_columns;
    if (!inside && s.len && is_ordinary(*s.at, s.at[s.len - 1]))
        return (struct joint){.closes = RANK_FRAME};
    if (!inside && (*at == ' ' || *at == '\t'))
        return (struct joint){.rank = is_frame(j, s, end) ? RANK_FRAME : 0};
    struct joint found = patch_joint(j, s);
    if (found.rank || found.worth) return found;
    found = table_joint(j, s, next, end);
    if (j->in_table || found.closes) return found;
    if (!s.len) {
        bool was = j->in_columns;
        j->in_columns = false;
        return (struct joint){.closes = was ? RANK_PART : 0};
    }
    if (heads_file(s, next, end)) return (struct joint){.rank = RANK_FILE};
    if (begins(s, "</system-reminder>")) return (struct joint){.closes = RANK_PART};
    if (begins(s, "<system-reminder>")) return (struct joint){.rank = RANK_PART};
    if (heads_columns(s)) {
        j->in_columns = true;
        return (struct joint){.rank = RANK_PART};
    }
    if (is_frame(j, s, end)) return (struct joint){.rank = RANK_FRAME};
    if (*s.at != ' ' && *s.at != '\t') return (struct joint){.closes = RANK_FRAME};
    return (struct joint){0};
}
