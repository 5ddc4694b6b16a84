/* See supersede.h. Only what is surely understood counts: a command with a word too many, or
 * arguments that are no object, are known by all of their text. */
#include "stable/supersede.h"

#include "core/chars.h"

#include <string.h>

#include "core/hash.h"

#define LAST_LINE UINT32_MAX
#define MOST_LINES 2000 /* that tools read if they are not told how many */
#define MOST_DIGITS 9   /* of a line number */
#define MOST_WORDS 16   /* of a command that is understood */

static void mix(uint64_t *hash, struct span s) { *hash = XXH3_64bits_withSeed(s.at, s.len, *hash); }

static bool is(struct span s, const char *word) {
    return s.len == strlen(word) && !memcmp(s.at, word, s.len);
}

/* A number, all of s; 0 if it is none. */
static uint32_t number(struct span s) {
    uint32_t n = 0;
    if (s.len > MOST_DIGITS) return 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] < '0' || s.at[i] > '9') return 0;
        n = 10 * n + (uint32_t)(s.at[i] - '0');
    }
    return n;
}

/* Of the lines so far, only these. */
static bool narrow(struct subject *s, uint32_t from, uint32_t to) {
    if (!from || to < from) return false;
    uint32_t last = to > LAST_LINE - s->from ? LAST_LINE : s->from + to - 1;
    if (last < s->to) s->to = last;
    s->from += from - 1;
    return s->from <= s->to;
}

/* ---- commands ------------------------------------------------------------------------------ */

static bool begins_variable(char c) { return is_letter(c) || c == '_' || c == '{' || c == '('; }

static bool has_any(struct span s, const char *chars) {
    for (; *chars; chars++)
        if (memchr(s.at, *chars, s.len)) return true;
    return false;
}

/* May the same command mean something else when it is run again: does it have a variable, the
 * output of another command, or, where files are read, a pattern for their names? `s` is plain text
 * or the inside of a JSON string; of what is in doubt it says yes. */
static bool varies(struct span s, bool files) {
    bool one = false, two = false; /* inside quotes: of one stroke, of two */
    if (!has_any(s, files ? "$`*?[" : "$`")) return false; /* mostly */
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i], next = i + 1 < s.len ? s.at[i + 1] : ' ';
        bool escaped = c == '\\';
        if (escaped) i += next == '\\' ? 2 : 1; /* a shell's backslash is two in JSON */
        if (c == '"' || (escaped && next == '"')) two = one ? two : !two;
        if (c == '\'' && !two) one = !one;
        if (one || escaped) continue;
        if (c == '`' || (c == '$' && begins_variable(next))) return true;
        if (files && !two && (c == '*' || c == '[' || (c == '?' && i && s.at[i - 1] != '$')))
            return true;
    }
    return false;
}

struct words {
    struct span at[MOST_WORDS];
    size_t count, next;
};

static struct span take(struct words *w) {
    return w->next < w->count ? w->at[w->next++] : SPAN("");
}

static bool may_take(struct words *w, const char *word) {
    bool there = w->next < w->count && is(w->at[w->next], word);
    w->next += there;
    return there;
}

/* Words between blanks, without quotes around them. False if a shell would see more in it. */
static bool split(struct words *w, struct span line) {
    const char *at = line.at, *end = at + line.len;
    for (;;) {
        while (at < end && *at == ' ') at++;
        if (at == end) return w->count > 0;
        char quote = *at == '\'' || *at == '"' ? *at++ : ' ';
        const char *from = at;
        while (at < end && *at != quote && !memchr("\\\n'\"`;<>()*?", *at, 12)) at++;
        bool closed = quote == ' ' ? at == end || *at == ' ' : at < end && *at == quote;
        if (!closed || w->count == MOST_WORDS) return false;
        w->at[w->count++] = span_of(from, (size_t)(at - from));
        if (quote != ' ' && ++at < end && *at != ' ') return false;
    }
}

/* "40,60p", "40p" or "40,$p". */
static bool take_lines(struct span s, struct subject *lines) {
    if (!s.len || s.at[--s.len] != 'p') return false;
    const char *comma = memchr(s.at, ',', s.len);
    size_t n = comma ? (size_t)(comma - s.at) : s.len;
    struct span last = comma ? span_of(comma + 1, s.len - n - 1) : s;
    return narrow(lines, number(span_of(s.at, n)), is(last, "$") ? LAST_LINE : number(last));
}

/* One program of a pipe: cat, nl, head, or sed that prints. */
static bool take_program(struct words *w, struct subject *lines) {
    struct span program = take(w);
    if (is(program, "sed")) return may_take(w, "-n") && take_lines(take(w), lines);
    if (is(program, "head")) {
        bool apart = may_take(w, "-n");
        struct span n = take(w);
        if (!apart && n.len && *n.at == '-') n.at++, n.len--;
        return narrow(lines, 1, number(n));
    }
    if (is(program, "cat")) return may_take(w, "-n") || true;
    return is(program, "nl") && (may_take(w, "-ba") || true);
}

/* Which lines of which file a command prints, if that is all it does. */
static bool read_command(struct span line, struct subject *out) {
    struct words w = {.count = 0};
    struct subject lines = {out->what, 1, LAST_LINE};
    if (!split(&w, line)) return false;
    if (may_take(&w, "cd")) {
        mix(&lines.what, take(&w));
        if (!may_take(&w, "&&")) return false;
    }
    if (!take_program(&w, &lines) || w.next == w.count) return false;
    struct span file = take(&w);
    if (!file.len || *file.at == '-' || is(file, "|")) return false;
    mix(&lines.what, file);
    while (w.next < w.count)
        if (!may_take(&w, "|") || !take_program(&w, &lines)) return false;
    *out = lines;
    return true;
}

/* ---- arguments ----------------------------------------------------------------------------- */

enum part_of_range { RANGE_NONE, RANGE_FROM, RANGE_COUNT, RANGE_TO, RANGE_BOTH };

static enum part_of_range part_of_range(struct span key) {
    static const struct {
        const char *key;
        enum part_of_range is;
    } rows[] = {{"offset", RANGE_FROM},     {"limit", RANGE_COUNT},     {"start_line", RANGE_FROM},
                {"end_line", RANGE_TO},     {"startLine", RANGE_FROM},  {"endLine", RANGE_TO},
                {"view_range", RANGE_BOTH}, {"line_start", RANGE_FROM}, {"line_end", RANGE_TO}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is(key, rows[i].key)) return rows[i].is;
    return RANGE_NONE;
}

/* A number as JSON has it; -1, as some tools have it, is the end. */
static uint32_t line_number(const struct json *j, size_t node) {
    struct span s = json_is_string(j, node) ? json_inner(j, node) : json_raw(j, node);
    return is(s, "-1") ? LAST_LINE : number(s);
}

/* A tool that reads files: all members but those that say which lines. */
static void read_members(const struct json *j, struct subject *out) {
    uint32_t from = 1, to = 0, count = 0;
    for (JSON_EACH_KEY(j, k, 0)) {
        size_t value = k + 1;
        enum part_of_range is = part_of_range(json_inner(j, k));
        if (is == RANGE_FROM) {
            from = line_number(j, value);
        } else if (is == RANGE_COUNT) {
            count = line_number(j, value);
        } else if (is == RANGE_TO) {
            to = line_number(j, value);
        } else if (is == RANGE_BOTH && json_is_array(j, value) && json_count(j, value) == 2) {
            from = line_number(j, value + 1);
            to = line_number(j, value + 2);
        } else {
            mix(&out->what, json_inner(j, k));
            mix(&out->what, json_raw(j, value));
        }
    }
    if (!count) count = MOST_LINES;
    out->from = from;
    out->to = to ? to : count > LAST_LINE - from ? LAST_LINE : from + count - 1;
}

/* A shell: the command, and whatever else is said but what it is for. */
static bool read_shell(const struct json *j, struct subject *out) {
    struct subject lines = *out;
    size_t command = 0;
    for (JSON_EACH_KEY(j, k, 0)) {
        struct span key = json_inner(j, k);
        if (is(key, "command") || is(key, "cmd")) {
            command = k + 1;
            continue;
        }
        if (is(key, "description")) continue;
        mix(&lines.what, key);
        mix(&lines.what, json_raw(j, k + 1));
    }
    if (!command || !json_is_string(j, command) || json_node(j, command)->escaped) return false;
    if (!read_command(json_inner(j, command), &lines)) return false;
    *out = lines;
    return true;
}

paucis_err paucis__subject_of(struct json *j, struct mem *m, enum tool tool, struct span name,
                              struct span arguments, struct subject *out) {
    paucis_error e;
    *out = (struct subject){0};
    if (!tool_answers_again(tool) || varies(paucis__tool_command(arguments), tool == TOOL_READ))
        return PAUCIS_OK;
    *out = (struct subject){XXH3_64bits(name.at, name.len), 1, LAST_LINE};
    struct subject whole = *out;
    mix(&whole.what, arguments);
    if (tool == TOOL_READ && arguments.len && *arguments.at == '{') {
        paucis_err err = paucis__json_read(j, m, NULL, arguments.at, arguments.len, &e);
        if (err == PAUCIS_E_NOMEM) return err;
        bool shell = !err && (json_get(j, 0, "command") || json_get(j, 0, "cmd"));
        if (!err && !shell)
            read_members(j, out);
        else if (err || !read_shell(j, out))
            *out = whole;
    } else {
        *out = whole;
    }
    if (!out->what) out->what = 1;
    return PAUCIS_OK;
}
