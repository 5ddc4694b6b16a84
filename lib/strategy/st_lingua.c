/* lingua: old assistant prose without what carries no words: runs of spaces, lines of dashes,
 * spare blank lines. Code between fences stays as it is. */
#include "strategy/strategy.h"

enum { KEEP_LAST, CAREFUL };

/* ---- characters ---------------------------------------------------------------------------- */

/* Length of the whitespace character (Unicode's White_Space) at the start of s, 0 if none. */
static size_t space_len(const unsigned char *s, size_t n) {
    if (!n) return 0;
    if (s[0] == ' ' || (s[0] >= 9 && s[0] <= 13)) return 1;
    if (n >= 2 && s[0] == 0xc2 && (s[1] == 0x85 || s[1] == 0xa0)) return 2;
    if (n < 3) return 0;
    unsigned c = (unsigned)s[0] << 16 | (unsigned)s[1] << 8 | s[2];
    bool space = c == 0xe19a80 || (c >= 0xe28080 && c <= 0xe2808a) || c == 0xe280a8 ||
                 c == 0xe280a9 || c == 0xe280af || c == 0xe2819f || c == 0xe38080;
    return space ? 3 : 0;
}

static struct span trim_left(struct span s) {
    size_t n;
    while ((n = space_len((const unsigned char *)s.at, s.len))) s = span_of(s.at + n, s.len - n);
    return s;
}

static struct span trim_right(struct span s) {
    for (;;) {
        size_t n = s.len < 3 ? s.len : 3;
        while (n && space_len((const unsigned char *)s.at + s.len - n, n) != n) n--;
        if (!n) return s;
        s.len -= n;
    }
}

static bool starts_with(struct span s, struct span prefix) {
    return s.len >= prefix.len && memcmp(s.at, prefix.at, prefix.len) == 0;
}

/* Only dots, ellipses, dashes, underscores, stars and equal signs, or nothing. */
static bool is_noise(struct span s) {
    while (s.len) {
        size_t n = memchr(".-_*=", s.at[0], 5) ? 1 : starts_with(s, SPAN("\xe2\x80\xa6")) ? 3 : 0;
        if (!n) return false;
        s = span_of(s.at + n, s.len - n);
    }
    return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

struct prose {
    char *out;
    size_t len;
    bool code;          /* between fences */
    size_t blank_run;   /* noise lines in a row */
    bool double_spaces; /* the text has two spaces in a row somewhere */
    char fence;         /* careful: character and length of the open fence */
    size_t fence_len;
};

static void put(struct prose *t, struct span s) {
    memcpy(t->out + t->len, s.at, s.len);
    t->len += s.len;
}

static bool has_double_space(struct span s) {
    unsigned found = 0; /* no early exit: this way the compiler makes it vector code */
    for (size_t i = 1; i < s.len; i++) found |= (s.at[i - 1] == ' ') & (s.at[i] == ' ');
    return found;
}

static void put_single_spaced(struct prose *t, struct span s) {
    if (!t->double_spaces || !has_double_space(s)) {
        put(t, s);
        return;
    }
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] != ' ' || i == 0 || s.at[i - 1] != ' ') t->out[t->len++] = s.at[i];
}

/* A byte that neither begins nor ends anything that is trimmed, a fence or noise. */
static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* One line with its LF, the classic way. */
static void classic_line(struct prose *t, struct span line) {
    bool lf = line.len && line.at[line.len - 1] == '\n';
    struct span body = span_of(line.at, line.len - lf);
    bool odd_start = !body.len || !is_plain(body.at[0]),
         odd_end = !body.len || !is_plain(body.at[body.len - 1]);
    if (odd_start && starts_with(trim_left(body), SPAN("```"))) {
        t->code = !t->code;
        t->blank_run = 0;
        put(t, line);
        return;
    }
    if (t->code) {
        put(t, line);
        return;
    }
    if (odd_end) body = trim_right(body);
    if (odd_start && is_noise(body)) {
        if (t->blank_run++ == 0) put(t, SPAN("\n"));
        return;
    }
    t->blank_run = 0;
    put_single_spaced(t, body);
    if (lf) put(t, SPAN("\n"));
}

/* Opens or closes a fence as CommonMark does: three or more of ` or ~, closed by at least as many
 * of the same and nothing else on the line; ` may not come again behind an opening `. */
static bool careful_fence(struct prose *t, struct span body) {
    struct span s = trim_left(body);
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
static void careful_line(struct prose *t, struct span line) {
    bool lf = line.len && line.at[line.len - 1] == '\n';
    struct span body = span_of(line.at, line.len - lf);
    if (careful_fence(t, body) || t->code) {
        t->blank_run = 0;
        put(t, line);
        return;
    }
    struct span kept = trim_right(body);
    if (!kept.len) {
        if (lf && t->blank_run++ < 2) put(t, SPAN("\n"));
        return;
    }
    t->blank_run = 0;
    put(t, kept);
    if (body.len - kept.len >= 2 && body.at[kept.len] == ' ' && body.at[kept.len + 1] == ' ')
        put(t, SPAN("  "));
    if (lf) put(t, SPAN("\n"));
}

/* Sixteen bytes at once; the compiler makes the best of it on every machine. */
typedef unsigned char bytes16 __attribute__((vector_size(16)));

/* Non-zero if one of the sixteen bytes at `at`, with the two before it, shows that the text might
 * get shorter: two spaces; a blank or a byte of UTF-8 at the end of a line; two empty lines; a
 * line that begins like noise. */
static uint64_t squeezable16(const char *at) {
    bytes16 a, b, c;
    memcpy(&a, at - 2, sizeof a);
    memcpy(&b, at - 1, sizeof b);
    memcpy(&c, at, sizeof c);
    bytes16 noise = (bytes16)((c == '.') | (c == '-') | (c == '_') | (c == '*') | (c == '='));
    bytes16 begins = (bytes16)(b == '\n') & (noise | (bytes16)(c == 0xe2));
    bytes16 ends = (bytes16)((c == '\n') & (((b <= ' ') & (b != '\n')) | (b >= 0x80)));
    bytes16 found = (bytes16)((b == ' ') & (c == ' ')) | begins | ends |
                    (bytes16)((a == '\n') & (b == '\n') & (c == '\n'));
    uint64_t half[2];
    memcpy(half, &found, sizeof half);
    return half[0] | half[1];
}

/* Could anything here get shorter? A quick look that errs towards yes. */
static bool may_squeeze(struct span s) {
    if (s.len < 32 || !is_plain(s.at[0]) || !is_plain(s.at[1])) return true;
    if ((unsigned char)(s.at[s.len - 1] - '!') > '~' - '!') return true;
    uint64_t found = 0;
    for (size_t i = 2; i < s.len; i += 16)
        found |= squeezable16(s.at + (i + 16 <= s.len ? i : s.len - 16));
    return found;
}

static struct span squeeze(struct view *v, struct span text, bool careful) {
    if (!may_squeeze(text)) return text;
    struct prose t = {.out = paucis__arena_alloc(v->arena, text.len + 1),
                      .double_spaces = has_double_space(text)};
    if (!t.out) return span_of(NULL, 0);
    for (size_t at = 0; at < text.len;) {
        const char *lf = memchr(text.at + at, '\n', text.len - at);
        size_t len = lf ? (size_t)(lf - text.at) + 1 - at : text.len - at;
        (careful ? careful_line : classic_line)(&t, span_of(text.at + at, len));
        at += len;
    }
    return span_of(t.out, t.len);
}

static paucis_err lingua_text(struct pass *p, size_t part) {
    struct span text;
    bool done;
    PAUCIS_TRY(paucis__view_text(p->v, part, &text));
    struct span shorter = squeeze(p->v, text, p->opt[CAREFUL]);
    if (!shorter.at) return PAUCIS_E_NOMEM;
    if (shorter.len >= text.len) return PAUCIS_OK;
    PAUCIS_TRY(paucis__pass_replace(p, part, shorter, NO_INDEX, "blanks and rules", &done));
    if (done) {
        p->counts->total_bytes_saved += text.len - shorter.len;
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
