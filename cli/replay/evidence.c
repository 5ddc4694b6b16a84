/* What each reply needed from the messages before it. This does not depend on the policy, so it is
 * found once a trace, in one pass:
 *
 *   item   a word or number; needed if the reply has it, at most 3 earlier messages do, one of them
 *          a tool's or the user's, and the last of them is more than 4 messages back
 *   fresh  the same, last seen in a tool result at most 4 back
 *   span   a line of 24 characters and more, or an unbroken token of that length, that the reply's
 *          call arguments repeat and that was last seen more than 4 messages back
 *   edit   the lines of the old text of an edit call, wherever they stood
 *
 * The patterns are those of the reference, written out: see docs/replay.md. Each text that may be
 * needed is an entry in a table, with the chain of messages that hold it. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

enum { FAR = 4, RARE = 3, SPAN = 24, ITEM_MORE = 79 };

/* ---- tables --------------------------------------------------------------------------------- */

struct entry {
    uint32_t count; /* messages that hold it */
    size_t place;   /* the newest of them */
    size_t used;    /* the turn that needed it last */
    bool answered;  /* one of them is a tool's or the user's */
};

struct table {
    struct map keys;
    struct entry *entries; /* by the key's number */
    size_t count, cap;
};

/* The entry of a text, or NULL; with `add` it is made. */
static struct entry *table_find(struct table *t, struct str key, bool add) {
    size_t i = map_find(&t->keys, key, add);
    if (i == NONE) return NULL;
    if (i == t->count)
        *PUSH(t->entries, t->count, t->cap) = (struct entry){.place = NONE, .used = NONE};
    return &t->entries[i];
}

static struct str key_of(const struct table *t, const struct entry *e) {
    return t->keys.entries[e - t->entries].key;
}

static void table_free(struct table *t) {
    map_free(&t->keys);
    free(t->entries);
}

/* ---- finding -------------------------------------------------------------------------------- */

struct finder {
    struct evidence *e;
    struct trace *t;
    struct jdoc *doc;
    struct table items, spans;
    size_t msg;          /* being added */
    size_t turn;         /* being asked about */
    struct str *strings; /* of the call arguments at hand */
    size_t nstrings, strings_cap;
};

static void held(struct finder *f, struct table *table, struct str text) {
    struct entry *e = table_find(table, text, true);
    struct evidence *ev = f->e;
    if (e->place != NONE && ev->places[e->place].msg == f->msg) return;
    enum role role = f->t->msgs[f->msg].role;
    e->count++;
    e->answered = e->answered || role == R_TOOL || role == R_USER;
    struct place *p = PUSH(ev->places, ev->nplaces, ev->places_cap);
    *p = (struct place){f->msg, e->place};
    e->place = ev->nplaces - 1;
}

typedef void text_fn(struct finder *f, struct str text);

/* ---- items: [A-Za-z_~/.][A-Za-z0-9_./:-]{5,79}|\d{4,} --------------------------------------- */

/* Sets of ASCII characters, a bit each. */
static const uint64_t item_first[2] = {0x0000c00000000000u, 0x47fffffe87fffffeu};
static const uint64_t item_next[2] = {0x07ffe00000000000u, 0x07fffffe87fffffeu};
static const uint64_t token_end[2] = {0x78001385f0003e00u, 0x3800000128000000u};

static bool in_set(const uint64_t *set, char c) {
    unsigned char u = (unsigned char)c;
    return u < 128 && (set[u >> 6] >> (u & 63) & 1);
}

/* Calls fn for each item of the text, as findall would give them. */
static void each_item(struct finder *f, struct str text, text_fn *fn) {
    const char *p = text.at, *end = text.at + text.len;
    while (p < end) {
        const char *q = p + 1;
        size_t n;
        if (in_set(item_first, *p)) {
            const char *most = end - q > ITEM_MORE ? q + ITEM_MORE : end;
            while (q < most && in_set(item_next, *q)) q++;
            if (q - p < 6) {
                p++;
                continue;
            }
            fn(f, (struct str){p, (size_t)(q - p)});
            p = q;
            continue;
        }
        size_t digits = 0;
        for (q = p; q < end && is_digit(utf8_at(q, end, &n)); q += n) digits++;
        if (digits >= 4) fn(f, (struct str){p, (size_t)(q - p)});
        utf8_at(p, end, &n);
        p = digits ? q : p + n;
    }
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_alnum(char c) { return is_upper(c) || is_lower(c) || (c >= '0' && c <= '9'); }

/* .*[0-9_/~]|.*[a-z][A-Z]|.*[A-Za-z0-9][.:][A-Za-z0-9]|[A-Z]{3,} */
static bool looks_like_code(struct str s) {
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if ((c >= '0' && c <= '9') || c == '_' || c == '/' || c == '~') return true;
        if (i == 0) continue;
        if (is_upper(c) && is_lower(s.at[i - 1])) return true;
        bool inner = (c == '.' || c == ':') && i + 1 < s.len;
        if (inner && is_alnum(s.at[i - 1]) && is_alnum(s.at[i + 1])) return true;
    }
    return s.len >= 3 && is_upper(s.at[0]) && is_upper(s.at[1]) && is_upper(s.at[2]);
}

/* ---- spans ---------------------------------------------------------------------------------- */

/* [^\s"'`<>()\[\]{},;|=]{24,} */
static void each_token(struct finder *f, struct str text, text_fn *fn) {
    const char *p = text.at, *end = text.at + text.len, *from = p;
    while (p <= end) {
        size_t n = 1;
        bool stop = p == end || in_set(token_end, *p);
        if (!stop && (unsigned char)*p >= 0x80) stop = is_space(utf8_at(p, end, &n));
        if (stop) {
            struct str token = {from, (size_t)(p - from)};
            if (utf8_at_least(token, SPAN)) fn(f, token);
            from = p + n;
        }
        p += n;
    }
}

static const char *digits_and_mark(const char *p, const char *end) {
    size_t n;
    const char *from = p;
    while (p < end && is_digit(utf8_at(p, end, &n))) p += n;
    if (p == from || p == end) return NULL;
    unsigned c = utf8_at(p, end, &n);
    bool mark = c == 0x2192 || c == '\t' || c == ':' || c == '|' || c == '-' || c == '.';
    return mark ? p + n : NULL;
}

/* The line without ^\s*(?:[\w./\-]+[:\-])?\d+(?:→|\t|[:|\-.])\s? in front. The optional name is
 * tried from its longest form down, then left out. */
static struct str without_number(struct str line) {
    const char *p = line.at, *end = line.at + line.len, *rest = NULL;
    size_t n;
    while (p < end && is_space(utf8_at(p, end, &n))) p += n;
    const char *run = p;
    for (unsigned c; run < end; run += n) {
        c = utf8_at(run, end, &n);
        if (!is_word(c) && c != '.' && c != '/' && c != '-') break;
    }
    if (run > p && run < end && *run == ':') rest = digits_and_mark(run + 1, end);
    for (const char *q = run - 1; !rest && run > p && q > p; q--)
        if (*q == '-') rest = digits_and_mark(q + 1, end);
    if (!rest) rest = digits_and_mark(p, end);
    return rest ? (struct str){rest, (size_t)(end - rest)} : line;
}

static bool next_line(struct str *text, struct str *line) {
    if (!text->at) return false;
    const char *nl = text->len ? memchr(text->at, '\n', text->len) : NULL;
    *line = (struct str){text->at, nl ? (size_t)(nl - text->at) : text->len};
    if (nl)
        *text = (struct str){nl + 1, text->len - line->len - 1};
    else
        text->at = NULL;
    return true;
}

static void held_span(struct finder *f, struct str s) { held(f, &f->spans, s); }

static void hold_spans(struct finder *f, struct str text) {
    struct str line;
    while (next_line(&text, &line)) {
        struct str s = strip(line);
        if (!utf8_at_least(s, SPAN)) continue;
        held_span(f, s);
        each_token(f, s, held_span);
        struct str n = strip(without_number(line));
        if (utf8_at_least(n, SPAN) && !str_eq(n, s)) held_span(f, n);
    }
}

/* ---- call arguments ------------------------------------------------------------------------- */

static void add_string(struct finder *f, struct str s) {
    *PUSH(f->strings, f->nstrings, f->strings_cap) = s;
}

/* All strings inside the arguments, or the arguments themselves if they are no JSON. */
static void argument_strings(struct finder *f, struct str text) {
    struct jdoc *d = f->doc;
    f->nstrings = 0;
    if (!jdoc_read(d, text.at, text.len)) {
        add_string(f, text);
        return;
    }
    /* Keys are skipped by walking: a node behind which its object expects a value is a key. */
    for (size_t i = 0; i < d->count; i++) {
        if (d->node[i].kind == J_STRING && i == 0) add_string(f, j_string(d, i, &f->t->arena));
        if (d->node[i].kind < J_ARRAY) continue;
        bool object = d->node[i].kind == J_OBJECT;
        for (size_t k = i + 1; k < d->node[i].end; k = d->node[object ? k + 1 : k].end) {
            size_t value = object ? k + 1 : k;
            if (d->node[value].kind != J_STRING) continue;
            if (object && j_is_shadowed(d, i, k)) continue;
            add_string(f, j_string(d, value, &f->t->arena));
        }
    }
}

/* ---- asking --------------------------------------------------------------------------------- */

static struct need *add_need(struct finder *f, enum need_kind kind, const struct entry *e) {
    struct need *n = PUSH(f->e->needs, f->e->count, f->e->cap);
    const struct table *t = kind == NEED_ITEM || kind == NEED_FRESH ? &f->items : &f->spans;
    *n = (struct need){.kind = kind, .text = key_of(t, e), .place = e->place};
    return n;
}

static bool is_near(const struct finder *f, const struct entry *e) {
    size_t t = f->t->turns[f->turn];
    return f->e->places[e->place].msg + FAR >= t;
}

static void ask_item(struct finder *f, struct str item) {
    struct entry *e = table_find(&f->items, item, false);
    if (!e || e->used == f->turn) return;
    e->used = f->turn;
    if (e->count > RARE || !e->answered) return;
    if (!is_near(f, e))
        add_need(f, NEED_ITEM, e)->code = looks_like_code(item);
    else if (f->t->msgs[f->e->places[e->place].msg].role == R_TOOL)
        add_need(f, NEED_FRESH, e);
}

static void ask_span(struct finder *f, struct str span) {
    struct entry *e = table_find(&f->spans, span, false);
    if (!e || e->used == f->turn) return;
    e->used = f->turn;
    if (!is_near(f, e) && e->answered) add_need(f, NEED_SPAN, e);
}

static void ask_spans(struct finder *f, struct str text) {
    struct str line;
    while (next_line(&text, &line)) {
        struct str s = strip(line);
        if (!utf8_at_least(s, SPAN)) continue;
        if (table_find(&f->spans, s, false))
            ask_span(f, s);
        else
            each_token(f, s, ask_span);
    }
}

/* ---- edits ---------------------------------------------------------------------------------- */

static void ask_edit_line(struct finder *f, struct str line, bool *joined) {
    struct str s = strip(line);
    struct entry *e = utf8_at_least(s, SPAN) ? table_find(&f->spans, s, false) : NULL;
    if (!e) return;
    add_need(f, NEED_EDIT, e)->joined = *joined;
    *joined = true;
}

/* The lines a patch takes away: those with a minus in a hunk of apply_patch. */
static void ask_patch(struct finder *f, struct str text, bool *joined) {
    struct str line;
    if (!str_has(text, str_of("*** Begin Patch"))) return;
    while (next_line(&text, &line))
        if (line.len > 1 && line.at[0] == '-')
            ask_edit_line(f, (struct str){line.at + 1, line.len - 1}, joined);
}

static void ask_edit(struct finder *f, struct str arguments) {
    struct jdoc *d = f->doc;
    struct str line, text;
    bool joined = false;
    if (!jdoc_read(d, arguments.at, arguments.len)) {
        ask_patch(f, arguments, &joined);
        return;
    }
    for (size_t i = 0; i < d->count; i++) {
        if (d->node[i].kind != J_OBJECT) continue;
        size_t old = j_get(d, i, "old_string");
        if (!old) old = j_get(d, i, "old_str");
        if (!old || d->node[old].kind != J_STRING) continue;
        text = j_string(d, old, &f->t->arena);
        while (next_line(&text, &line)) ask_edit_line(f, line, &joined);
    }
    for (size_t i = 0; i < d->count; i++)
        if (d->node[i].kind == J_STRING && d->node[i].to - d->node[i].from > 32)
            ask_patch(f, j_string(d, i, &f->t->arena), &joined);
}

/* ---- a trace -------------------------------------------------------------------------------- */

static void held_item(struct finder *f, struct str s) { held(f, &f->items, s); }

static void hold_message(struct finder *f, size_t i) {
    const struct msg *m = &f->t->msgs[i];
    f->msg = i;
    each_item(f, m->whole.text, held_item);
    for (size_t p = m->part; p < m->part + m->nparts; p++) {
        const struct part *part = &f->t->parts[p];
        if (part->kind == THINK) continue;
        if (part->kind != CALL) {
            hold_spans(f, part->text);
            continue;
        }
        argument_strings(f, part->text);
        for (size_t k = 0; k < f->nstrings; k++) hold_spans(f, f->strings[k]);
    }
}

static void ask_message(struct finder *f, size_t i) {
    const struct msg *m = &f->t->msgs[i];
    each_item(f, m->whole.text, ask_item);
    for (size_t p = m->part; p < m->part + m->nparts; p++) {
        if (f->t->parts[p].kind != CALL) continue;
        argument_strings(f, f->t->parts[p].text);
        for (size_t k = 0; k < f->nstrings; k++) ask_spans(f, f->strings[k]);
        ask_edit(f, f->t->parts[p].text);
    }
}

void evidence_find(struct evidence *e, struct trace *t, struct jdoc *doc) {
    struct finder f = {.e = e, .t = t, .doc = doc};
    size_t done = 0;
    *e = (struct evidence){0};
    e->first = arena_get(&t->arena, (t->nturns + 1) * sizeof *e->first);
    for (f.turn = 0; f.turn < t->nturns; f.turn++) {
        size_t from = t->turns[f.turn];
        for (; done < from; done++) hold_message(&f, done);
        e->first[f.turn] = e->count;
        for (size_t i = from; i < t->nmsgs && t->msgs[i].role == R_ASSISTANT; i++)
            ask_message(&f, i);
    }
    e->first[t->nturns] = e->count;
    table_free(&f.items);
    table_free(&f.spans);
    free(f.strings);
}

void evidence_free(struct evidence *e) {
    free(e->needs);
    free(e->places);
}

/* ---- lines ---------------------------------------------------------------------------------- */

enum { LINE_TRIES = 20, LINE_MAX_CHARS = 240, LINE_AROUND = 30 };

/* The line around the item at `at`, or what stands either side of it in a long line. */
static struct str line_around(struct str text, const char *at, size_t len) {
    const char *from = at, *to = at + len, *end = text.at + text.len;
    while (from > text.at && from[-1] != '\n') from--;
    const char *nl = memchr(at, '\n', (size_t)(end - at));
    to = nl ? nl : end;
    struct str line = {from, (size_t)(to - from)};
    if (utf8_at_least(line, LINE_MAX_CHARS + 1)) {
        struct str before = {from, (size_t)(at - from)};
        struct str after = {at + len, (size_t)(to - at) - len};
        from += utf8_offset_back(before, LINE_AROUND);
        to = after.at + utf8_offset(after, LINE_AROUND);
        line = (struct str){from, (size_t)(to - from)};
    }
    return strip(line);
}

bool has_line(const struct trace *t, size_t msg, struct str sent, struct str item) {
    const struct msg *m = &t->msgs[msg];
    for (size_t i = m->part; i < m->part + m->nparts; i++) {
        const struct part *p = &t->parts[i];
        const char *at = str_find(p->text, item);
        if (!at || p->kind == THINK) continue;
        if (p->kind != RESULT) return true;
        for (int tries = 0; at && tries < LINE_TRIES; tries++) {
            if (str_has(sent, line_around(p->text, at, item.len))) return true;
            struct str rest = {at + 1, p->text.len - (size_t)(at + 1 - p->text.at)};
            at = str_find(rest, item);
        }
    }
    return false;
}
