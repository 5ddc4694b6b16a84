/* See arguments.h. Strings are cut as they are spelled, between escapes, so that nothing is decoded
 * and what stays is what was there. */
#include "stable/arguments.h"

#include "core/chars.h"

#include <string.h>

#include "core/words.h"
#include "stable/joints.h"

#define LEAST_CUT 160   /* bytes: a string is cut only if more than this goes, and the note */
#define SUCCESS_LINES 8 /* lines at the front of a result in which it says how the call ended */

/* ---- strings ------------------------------------------------------------------------------- */

/* Bytes of the character at s: an escape, a pair of them, or as UTF-8 has it. `quoted`: it is the
 * inside of a JSON string; else plain text. */
static size_t char_len(struct span s, bool quoted) {
    size_t n = 1;
    if (quoted && *s.at == '\\' && s.len > 1) {
        if (s.at[1] != 'u' || s.len < 6) return 2;
        bool high = (s.at[2] | 0x20) == 'd' && memchr("89abAB", s.at[3], 6);
        return high && s.len >= 12 && s.at[6] == '\\' && s.at[7] == 'u' ? 12 : 6;
    }
    while (n < s.len && ((unsigned char)s.at[n] & 0xC0) == 0x80) n++;
    return n;
}

static bool is_newline(struct span s, bool quoted) {
    return quoted ? s.len > 1 && s.at[0] == '\\' && s.at[1] == 'n' : s.len && *s.at == '\n';
}

/* Where to cut: behind the last line that ends in the second half of the head, if there is one. */
static size_t head_len(struct span s, size_t head, bool quoted) {
    size_t at = 0, line = 0;
    if (s.len <= head) return s.len;
    while (at < head) {
        const char *stop = memchr(s.at + at, quoted ? '\\' : '\n', head - at);
        at = stop ? (size_t)(stop - s.at) : head;
        if (!stop) break;
        struct span rest = span_of(stop, s.len - at);
        size_t n = char_len(rest, quoted);
        if (at + n > head) break;
        at += n;
        if (is_newline(rest, quoted)) line = at;
    }
    while (at && ((unsigned char)s.at[at] & 0xC0) == 0x80) at--;
    return 2 * line >= head ? line : at;
}

/* Lines of a text, and its bytes when decoded. */
static uint64_t count_lines(struct span s, bool quoted, size_t *bytes) {
    const char *at = s.at, *end = at + s.len, *last = end - (quoted ? 2 : 1);
    uint64_t lines = 1;
    *bytes = s.len;
    while ((at = memchr(at, quoted ? '\\' : '\n', (size_t)(end - at)))) {
        struct span rest = span_of(at, (size_t)(end - at));
        size_t n = char_len(rest, quoted);
        lines += is_newline(rest, quoted) && at < last;
        if (quoted) *bytes -= n == 2 ? 1 : n - paucis__json_decoded_len(span_of(at, n));
        at += n;
    }
    return lines;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void put(struct arguments *a, const char *at, size_t len) {
    memcpy(a->text.at + a->text.count, at, len);
    a->text.count += len;
}

static void put_number(struct arguments *a, uint64_t number) {
    a->text.count += paucis__words_number(a->text.at + a->text.count, number);
}

/* The inside of a string, or plain text, cut to its head. There is room. */
static void put_string(struct arguments *a, struct span s, size_t head, bool quoted,
                       struct span *note) {
    size_t stays = head_len(s, head, quoted);
    struct span gone = span_of(s.at + stays, s.len - stays);
    if (gone.len <= LEAST_CUT + note->len) {
        put(a, s.at, s.len);
        return;
    }
    size_t bytes;
    uint64_t lines = count_lines(gone, quoted, &bytes);
    put(a, s.at, stays);
    put(a, "[... ", 5);
    put_number(a, lines);
    put(a, " lines, ", 8);
    put_number(a, bytes);
    put(a, " bytes left out]", 16);
    if (quoted)
        a->text.count += paucis__json_quote(*note, a->text.at + a->text.count);
    else
        put(a, note->at, note->len);
    *note = SPAN("");
}

/* Members that hold what an edit takes away. Once it is made, that text is nowhere in the file. */
static bool is_old_text(const struct json *j, size_t key) {
    static const char *const names[] = {"old_string", "old_str",     "old_text",
                                        "oldText",    "old_content", "oldString"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (paucis__json_equals(j, key, names[i], strlen(names[i]))) return true;
    return false;
}

static void put_object(struct arguments *a, const struct arguments_limits *limits) {
    const struct json *j = &a->json;
    struct span note = limits->note;
    size_t at = 0;
    bool old = false; /* the string before this one is a key of old text */
    for (size_t i = 1; i < j->nodes.count; i++) {
        if (!json_is_string(j, i)) continue;
        bool key = json_is_key(j, i);
        if (!key) {
            struct span s = json_inner(j, i);
            put(a, j->body + at, json_from(j, i) + 1 - at);
            put_string(a, s, old ? limits->old_head : limits->head, true, &note);
            at = json_to(j, i) - 1;
        }
        old = key && is_old_text(j, i);
    }
    put(a, j->body + at, j->size - at);
}

static bool looks_like_json(struct span s) {
    while (s.len && memchr(" \t\r\n", *s.at, 4)) s.at++, s.len--;
    return s.len && (*s.at == '{' || *s.at == '[');
}

paucis_err paucis__arguments_cut(struct arguments *a, struct mem *m, struct span text,
                                 const struct arguments_limits *limits, struct span *out) {
    paucis_error e;
    *out = text;
    a->text.count = 0; /* a string gives up more than it gets, but for the escapes of the note */
    if (!VEC_ROOM(m, a->text, text.len + 6 * limits->note.len)) return PAUCIS_E_NOMEM;
    struct span note = limits->note;
    if (!looks_like_json(text)) {
        put_string(a, text, limits->head, false, &note);
    } else {
        paucis_err err = paucis__json_read(&a->json, m, NULL, text.at, text.len, &e);
        if (err == PAUCIS_E_NOMEM) return err;
        if (err || !json_is_object(&a->json, 0)) return PAUCIS_OK; /* whatever it is, it stays */
        put_object(a, limits);
    }
    if (a->text.count < text.len) *out = span_of(a->text.at, a->text.count);
    return PAUCIS_OK;
}

/* ---- how a call ended ---------------------------------------------------------------------- */

static bool begins_word(struct span s, size_t i) { return !i || !is_letter(s.at[i - 1]); }

/* Does a word of the line begin with one of these? */
static bool has_word(struct span s, const char *const *words) {
    uint32_t letters = 0; /* that they begin with */
    for (const char *const *w = words; *w; w++) letters |= (uint32_t)1 << (**w - 'a');
    for (size_t i = 0; i < s.len; i++) {
        unsigned letter = (unsigned)((s.at[i] | 0x20) - 'a');
        if (letter >= 26 || !(letters >> letter & 1) || !begins_word(s, i)) continue;
        for (const char *const *w = words; *w; w++) {
            size_t k = 0;
            while ((*w)[k] && i + k < s.len && (s.at[i + k] | 0x20) == (*w)[k]) k++;
            if (!(*w)[k]) return true;
        }
    }
    return false;
}

bool paucis__tells_success(struct span text) {
    static const char *const good[] = {"success", "updated",  "created",  "edited",
                                       "written", "wrote",    "replaced", "applied",
                                       "saved",   "inserted", "modified", NULL};
    static const char *const bad[] = {"not ",   "no ",   "cannot",  "unable", "reject",
                                      "denied", "abort", "invalid", "didn'",  "doesn'",
                                      "isn'",   "wasn'", "couldn'", NULL};
    struct joints joints = {0};
    const char *at = text.at, *end = at + text.len;
    for (size_t n = 0; n < SUCCESS_LINES && at < end; n++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct span line = span_of(at, (size_t)((newline ? newline + 1 : end) - at));
        struct joint joint = paucis__joint_next(&joints, line.at, line.len, end);
        if (joint.worth == JOINT_VERDICT || paucis__tells_failure(line)) return false;
        if (has_word(line, good)) return !has_word(line, bad);
        at += line.len;
    }
    return false;
}

void paucis__arguments_free(struct arguments *a, struct mem *m) {
    VEC_FREE(m, a->json.nodes);
    VEC_FREE(m, a->text);
}
