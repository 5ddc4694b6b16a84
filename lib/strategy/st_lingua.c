/* lingua: old assistant prose without what carries no words: runs of spaces, lines of dashes,
 * spare blank lines. Code between fences stays as it is.
 *
 * Nine texts of ten have nothing to lose, and that can be seen without decoding them. So all work
 * is done on the quoted text, which is nearly always the body's own bytes: a line ends with the
 * two bytes \n, a tab is the two bytes \t. Sixteen bytes are looked at together, and only a line
 * that looks suspicious is looked at by itself; what lies between such lines is copied at once. */
#include "strategy/strategy.h"

#include "core/chars.h"

enum { KEEP_LAST, CAREFUL };

#define LF "\\n"
#define LF_LEN (sizeof LF - 1)
#define VERTICAL_TAB "\\u000b" /* the only blank without a short escape */

/* ---- characters ---------------------------------------------------------------------------- */

/* Length of the whitespace character (Unicode's White_Space) at the start of s, 0 if none. */
static size_t space_len(struct span s) {
    const unsigned char *c = (const unsigned char *)s.at;
    if (s.len && c[0] == ' ') return 1;
    if (s.len < 2) return 0;
    if (c[0] == '\\' && (c[1] == 't' || c[1] == 'r' || c[1] == 'f')) return 2;
    if (c[0] == '\\') return span_begins(s, SPAN(VERTICAL_TAB)) ? sizeof VERTICAL_TAB - 1 : 0;
    if (c[0] == 0xc2 && (c[1] == 0x85 || c[1] == 0xa0)) return 2;
    if (s.len < 3) return 0;
    unsigned u = (unsigned)c[0] << 16 | (unsigned)c[1] << 8 | c[2];
    bool space = u == 0xe19a80 || (u >= 0xe28080 && u <= 0xe2808a) || u == 0xe280a8 ||
                 u == 0xe280a9 || u == 0xe280af || u == 0xe2819f || u == 0xe38080;
    return space ? 3 : 0;
}

/* Does the backslash at `at` begin an escape? Not if another one escapes it. */
static bool begins_escape(struct span s, size_t at) {
    size_t slashes = 0;
    while (slashes < at && s.at[at - slashes - 1] == '\\') slashes++;
    return slashes % 2 == 0;
}

/* The same for the one at the end. */
static size_t last_space_len(struct span s) {
    static const uint8_t lens[] = {1, 2, 3, sizeof VERTICAL_TAB - 1};
    for (size_t i = 0; i < sizeof lens && lens[i] <= s.len; i++) {
        struct span end = span_of(s.at + s.len - lens[i], lens[i]);
        if (space_len(end) == lens[i])
            return end.at[0] != '\\' || begins_escape(s, s.len - lens[i]) ? lens[i] : 0;
    }
    return 0;
}

static struct span trim_left(struct span s) {
    for (size_t n; (n = space_len(s));) s = span_of(s.at + n, s.len - n);
    return s;
}

static struct span trim_right(struct span s) {
    for (size_t n; (n = last_space_len(s));) s.len -= n;
    return s;
}

/* Only dots, ellipses, dashes, underscores, stars and equal signs, or nothing. */
static bool is_noise(struct span s) {
    while (s.len) {
        char c = s.at[0];
        bool one = c == '.' || c == '-' || c == '_' || c == '*' || c == '=';
        size_t n = one ? 1 : span_begins(s, SPAN("\xe2\x80\xa6")) ? 3 : 0;
        if (!n) return false;
        s = span_of(s.at + n, s.len - n);
    }
    return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

struct prose {
    struct span text;
    struct arena *arena;
    char *out; /* NULL as long as nothing was copied; then room for all of it and one LF */
    size_t len;
    bool failed;      /* no memory for that */
    struct span run;  /* comes next; not yet copied, since what follows may follow on it */
    bool code;        /* between fences */
    size_t blank_run; /* noise lines in a row */
    char fence;       /* careful: character and length of the open fence */
    size_t fence_len;
};

static void flush(struct prose *t) {
    if (!t->run.len) return;
    if (!t->out) t->out = paucis__arena_alloc(t->arena, t->text.len + LF_LEN);
    if (!t->out) t->failed = true;
    if (t->failed) return;
    memcpy(t->out + t->len, t->run.at, t->run.len);
    t->len += t->run.len;
    t->run.len = 0;
}

static void put(struct prose *t, struct span s) {
    if (s.at != t->run.at + t->run.len) {
        flush(t);
        t->run.at = s.at;
    }
    t->run.len += s.len;
}

static bool has_double_space(struct span s) {
    unsigned char found = 0; /* no early exit: this way the compiler makes it vector code */
    for (size_t i = 1; i < s.len; i++) found |= (s.at[i - 1] == ' ') & (s.at[i] == ' ');
    return found;
}

static void put_single_spaced(struct prose *t, struct span s) {
    size_t from = 0;
    for (size_t i = has_double_space(s) ? 1 : s.len; i < s.len; i++) {
        if (s.at[i] != ' ' || s.at[i - 1] != ' ') continue;
        put(t, span_of(s.at + from, i - from));
        from = i + 1;
    }
    put(t, span_of(s.at + from, s.len - from));
}

/* One line and its LF, which the last one may lack, the classic way. */
static void classic_line(struct prose *t, struct span line, struct span lf) {
    if (span_begins(trim_left(line), SPAN("```"))) {
        t->code = !t->code;
        t->blank_run = 0;
        put(t, line);
    } else if (t->code) {
        put(t, line);
    } else {
        line = trim_right(line);
        if (is_noise(line)) {
            if (t->blank_run++ == 0) put(t, lf.len ? lf : SPAN(LF));
            return;
        }
        t->blank_run = 0;
        put_single_spaced(t, line);
    }
    put(t, lf);
}

/* Opens or closes a fence as CommonMark does: three or more of ` or ~, closed by at least as many
 * of the same and nothing else on the line; ` may not come again behind an opening `. */
static bool careful_fence(struct prose *t, struct span line) {
    struct span s = trim_left(line);
    if (!s.len || (s.at[0] != '`' && s.at[0] != '~')) return false;
    size_t n = 0;
    while (n < s.len && s.at[n] == s.at[0]) n++;
    if (n < 3) return false;
    struct span rest = trim_right(span_of(s.at + n, s.len - n));
    if (t->code) {
        if (s.at[0] != t->fence || n < t->fence_len || rest.len) return false;
        t->code = false;
        return true;
    }
    if (s.at[0] == '`' && rest.len && memchr(rest.at, '`', rest.len)) return false;
    t->code = true;
    t->fence = s.at[0];
    t->fence_len = n;
    return true;
}

/* One line without its trailing blanks (two spaces, a line break in Markdown, stay) and without a
 * third blank line in a row; indentation, rules, headings and tables are left alone. */
static void careful_line(struct prose *t, struct span line, struct span lf) {
    if (careful_fence(t, line) || t->code) {
        t->blank_run = 0;
        put(t, line);
        put(t, lf);
        return;
    }
    struct span kept = trim_right(line);
    if (!kept.len) {
        if (lf.len && t->blank_run++ < 2) put(t, lf);
        return;
    }
    t->blank_run = 0;
    put(t, kept);
    if (line.len - kept.len >= 2 && span_begins(span_of(line.at + kept.len, 2), SPAN("  ")))
        put(t, span_of(line.at + kept.len, 2));
    put(t, lf);
}

/* ---- finding them -------------------------------------------------------------------------- */

/* The compiler makes the best of these on every machine. */
typedef signed char bytes16 __attribute__((vector_size(16)));
#define BEFORE 5 /* bytes in front that are needed too */

/* Not a function: where 32 bits have no such registers, handing over a vector is a warning. */
#define LOAD16(name, from) \
    bytes16 name;          \
    memcpy(&name, (from), sizeof name)

/* How many of the sixteen bytes come before the first at which a line shows that it might get
 * shorter or that it is a fence: two spaces; a blank, an escape or a byte of UTF-8 at the end of a
 * line; two empty lines; a line that begins like noise; backticks. */
static size_t suspect16(const char *at) {
    LOAD16(c, at);
    LOAD16(c1, at - 1);
    LOAD16(c2, at - 2);
    LOAD16(c3, at - 3);
    LOAD16(c4, at - 4);
    LOAD16(c5, at - 5);
    bytes16 lf = (c1 == '\\') & (c == 'n'), lf1 = (c2 == '\\') & (c1 == 'n');
    bytes16 lf2 = (c3 == '\\') & (c2 == 'n');
    bytes16 lf4 = (c5 == '\\') & (c4 == 'n');
    bytes16 noise =
        (c == '.') | (c == '-') | (c == '_') | (c == '*') | (c == '=') | (c == (signed char)'\xe2');
    bytes16 blank = (c2 <= ' ') | (c3 == '\\'); /* bytes of UTF-8 are negative */
    bytes16 found = ((c1 == ' ') & (c == ' ')) | (lf & ~lf2 & blank) | (lf & lf2 & lf4) |
                    (lf1 & noise) | ((c2 == '`') & (c1 == '`') & (c == '`'));
    uint64_t half[2];
    memcpy(half, &found, sizeof half);
    size_t n = 16;
    if (half[0] | half[1])
        for (n = 0; !found[n];) n++;
    return n;
}

/* A letter or a digit in front, and nothing among the first bytes that could be suspicious. */
static bool starts_plainly(struct span s) {
    bool plain = is_letter(s.at[0]) || is_digit(s.at[0]);
    for (size_t i = 1; i < BEFORE; i++)
        plain &= s.at[i] != '\\' && !(s.at[i] == ' ' && s.at[i - 1] == ' ');
    return plain;
}

/* The first suspicious place from the line start `at` on, or the end of the text. */
static size_t find_suspect(struct span s, size_t at) {
    size_t clean = 16;
    if (s.len < BEFORE + 16) return at;
    if (!at && starts_plainly(s)) at = BEFORE;
    for (; at >= BEFORE && s.len - at > 16; at += clean)
        if ((clean = suspect16(s.at + at)) < 16) return at + clean;
    bool all_clean = at >= BEFORE && suspect16(s.at + s.len - 16) == 16 && !last_space_len(s);
    return all_clean ? s.len : at;
}

static bool is_line_start(struct span s, size_t at) {
    return at >= LF_LEN && s.at[at - 1] == 'n' && s.at[at - 2] == '\\' &&
           begins_escape(s, at - LF_LEN);
}

/* The end of the line that starts at `at`: of its LF, or of the text. */
static size_t line_end(struct span s, size_t at) {
    while (at < s.len) {
        const char *slash = memchr(s.at + at, '\\', s.len - at);
        if (!slash) return s.len;
        at = (size_t)(slash - s.at);
        if (slash[1] == 'n') return at;
        at += 2;
    }
    return s.len;
}

/* Puts the lines from the line start `at` on that stay as they are for sure, the classic way;
 * returns where the next one starts. */
static size_t skip_lines(struct prose *t, size_t at) {
    struct span s = t->text;
    size_t to = at;
    if (t->code) {
        const char *tick = memchr(s.at + at, '`', s.len - at);
        to = tick ? (size_t)(tick - s.at) : s.len;
    } else if (!t->blank_run) { /* behind noise an empty line is more than it seems */
        to = find_suspect(s, at);
    }
    while (to > at && to < s.len && !is_line_start(s, to)) to--;
    if (to == at) return at;
    put(t, span_of(s.at + at, to - at));
    if (!t->code) t->blank_run = to == LF_LEN || is_line_start(s, to - LF_LEN);
    return to;
}

/* The text made shorter, or the text itself if nothing changes. at == NULL: out of memory. */
static struct span squeeze(struct arena *arena, struct span text, bool careful, bool skip) {
    struct prose t = {.text = text, .arena = arena, .run = span_of(text.at, 0)};
    for (size_t at = 0; at < text.len;) {
        if (skip) at = skip_lines(&t, at);
        size_t end = line_end(text, at), next = end < text.len ? end + LF_LEN : end;
        struct span line = span_of(text.at + at, end - at),
                    lf = span_of(line.at + line.len, next - end);
        if (at < text.len) (careful ? careful_line : classic_line)(&t, line, lf);
        at = next;
    }
    if (t.run.at == text.at && t.run.len == text.len) return text;
    flush(&t);
    return t.failed ? span_of(NULL, 0) : span_of(t.out ? t.out : "", t.len);
}

/* ---- the strategy -------------------------------------------------------------------------- */

static paucis_err lingua_text(struct pass *p, size_t part) {
    struct view *v = p->v;
    struct span quoted = paucis__view_quoted(v, part);
    bool careful = p->opt[CAREFUL], own = quoted.at != NULL, done;
    if (!own) PAUCIS_TRY(paucis__view_key(v, part, &quoted));
    struct span shorter = squeeze(v->arena, quoted, careful, own && !careful);
    if (!shorter.at) return PAUCIS_E_NOMEM;
    if (shorter.at == quoted.at) return PAUCIS_OK;
    struct span text = paucis__view_unquoted(v, shorter);
    size_t before = paucis__view_text_len(v, part);
    if (!text.at) return PAUCIS_E_NOMEM;
    if (text.len >= before) return PAUCIS_OK;
    PAUCIS_TRY(paucis__pass_replace(p, part, text, NO_INDEX, "blanks and rules", &done));
    if (done) {
        paucis__edit_spell(v, part, shorter);
        p->counts->total_bytes_saved += before - text.len;
        p->counts->snippet_hits++;
    }
    return PAUCIS_OK;
}

static paucis_err lingua_run(struct pass *p) {
    struct view *v = p->v;
    size_t limit = paucis__pass_limit(p, p->opt[KEEP_LAST]);
    for (size_t i = 0; i < limit; i++) {
        const struct message *m = view_message(v, v->order.at[i]);
        if (m->role != ROLE_ASSISTANT) continue;
        for (VIEW_EACH_PART(v, k, m))
            if (view_part(v, k)->kind == PART_TEXT) PAUCIS_TRY(lingua_text(p, k));
    }
    return PAUCIS_OK;
}

const struct strategy paucis__st_lingua = {
    .name = "lingua",
    .summary = "squeeze blanks, rules and empty lines out of old assistant prose",
    .options =
        {
            [KEEP_LAST] = NUMBER("lingua.keep_last", 6, 0, "messages at the end that stay"),
            [CAREFUL] =
                SWITCH_OFF("lingua.careful",
                           "keep indentation, rules, headings, tables, line breaks and all fences"),
        },
    .run = lingua_run,
};
