/* See cover.h. */
#include "stable/cover.h"

#include "core/chars.h"

#include <string.h>

static const char *const lines[] = {
    [PART_TEXT] = "%i text, message %n, %m bytes\n",
    [PART_CALL] = "%i arguments, message %n, %m bytes\n",
    [PART_RESULT] = "%i output, message %n, %m bytes\n",
    [PART_THINKING] = "%i thinking, message %n, %m bytes\n",
};

/* Only such names can stand in every marker. */
static bool is_plain(struct span name) {
    if (name.len > PAUCIS_MAX_HANDLE) return false; /* a callback may count like snprintf */
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_' && c != '.') return false;
    }
    return true;
}

/* A name for a text, in the arena; empty if it has none. */
static paucis_err name_text(struct fold *f, struct span text, struct span *name) {
    char *copy = paucis__arena_alloc(f->arena, PAUCIS_MAX_HANDLE);
    if (!copy) return PAUCIS_E_NOMEM;
    *name = span_of(copy, f->limits.handle(f->limits.handle_ud, text.at, text.len, copy));
    if (!is_plain(*name)) name->len = 0;
    return PAUCIS_OK;
}

static paucis_err whole_text(struct fold *f, size_t part, struct span *whole) {
    struct form_text t;
    PAUCIS_TRY(paucis__fold_text(f, part, &t));
    *whole = f->parts.at[part].raw.at ? f->parts.at[part].raw : t.text;
    return PAUCIS_OK;
}

paucis_err paucis__cover_name(struct fold *f, size_t part, struct span *name) {
    struct fold_part *p = &f->parts.at[part];
    struct span whole;
    *name = p->handle;
    if (!f->limits.handle || p->handle.at) return PAUCIS_OK;
    PAUCIS_TRY(whole_text(f, part, &whole));
    if (whole.len) PAUCIS_TRY(name_text(f, whole, &p->handle));
    p->lines = paucis__form_lines(whole);
    *name = p->handle;
    return PAUCIS_OK;
}

paucis_err paucis__cover_note(struct fold *f, size_t part, struct span *note) {
    struct span name, whole;
    *note = SPAN("");
    if (!f->limits.handle) return PAUCIS_OK;
    PAUCIS_TRY(whole_text(f, part, &whole));
    PAUCIS_TRY(paucis__cover_name(f, part, &name));
    if (!name.len) return PAUCIS_OK;
    *note = paucis__words(f->arena, "[full text: %i, %n lines, %m bytes]", name,
                          f->parts.at[part].lines, whole.len);
    return note->at ? PAUCIS_OK : PAUCIS_E_NOMEM;
}

paucis_err paucis__fold_sign(struct fold *f, size_t part, struct span *text) {
    struct span note, whole;
    if (!f->limits.handle || !text->at) return PAUCIS_OK;
    PAUCIS_TRY(whole_text(f, part, &whole));
    if (text->at == whole.at) return PAUCIS_OK;
    PAUCIS_TRY(paucis__cover_note(f, part, &note));
    if (!note.len) return PAUCIS_OK;
    bool newline = text->len && text->at[text->len - 1] != '\n';
    char *copy = paucis__arena_alloc(f->arena, text->len + newline + note.len);
    if (!copy) return PAUCIS_E_NOMEM;
    memcpy(copy, text->at, text->len);
    if (newline) copy[text->len] = '\n';
    memcpy(copy + text->len + newline, note.at, note.len);
    *text = span_of(copy, text->len + newline + note.len);
    return PAUCIS_OK;
}

/* ---- the place ------------------------------------------------------------------------------ */

static const char index_head[] = "[left out so far: ";

/* Bytes of the name of an index at this place, 0 if there is none. */
static size_t index_len(struct span text, size_t at) {
    size_t n = sizeof index_head - 1;
    if (text.len - at < n || memcmp(text.at + at, index_head, n)) return 0;
    const char *end = memchr(text.at + at, ']', text.len - at);
    return end ? (size_t)(end + 1 - text.at) - at : 0;
}

/* Where in a marker another note may stand: at its end, but for the name of an earlier index; in
 * arguments, which are JSON, behind the note that names them. SIZE_MAX: nowhere. */
static size_t note_end(const struct fold_part *p, struct span text) {
    static const struct span head = {"[full text: ", 12};
    if (p->kind != PART_CALL) {
        size_t at = text.len;
        while (at && text.len - at < COVER_NOTE && text.at[at - 1] != '\n') at--;
        return at && index_len(text, at) ? at - 1 : text.len;
    }
    for (size_t i = 0; i + head.len + p->handle.len < text.len; i++) {
        const char *name = text.at + i + head.len;
        if (memcmp(text.at + i, head.at, head.len) || memcmp(name, p->handle.at, p->handle.len))
            continue;
        const char *end = memchr(name, ']', (size_t)(text.at + text.len - name));
        return end ? (size_t)(end + 1 - text.at) : SIZE_MAX;
    }
    return SIZE_MAX;
}

/* A marker that names its own text, with room for a note: no body may become longer. */
static bool is_place(const struct fold *f, size_t part) {
    const struct fold_part *p = &f->parts.at[part];
    bool marker = p->form == FORM_SHORT || p->form == FORM_MARKER || p->form == FORM_CAPPED;
    return marker && p->handle.len && (part > f->roomy || p->now.len + COVER_NOTE < p->len) &&
           note_end(p, p->now) != SIZE_MAX;
}

static size_t find_place(const struct fold *f, size_t from) {
    for (; from < f->parts.count; from++)
        if (is_place(f, from)) return from;
    return SIZE_MAX;
}

bool paucis__cover_has_place(const struct fold *f, size_t from) {
    return find_place(f, from) != SIZE_MAX;
}

/* ---- the index ------------------------------------------------------------------------------ */

static paucis_err add_line(struct fold *f, size_t part, struct span *line) {
    const struct fold_part *p = &f->parts.at[part];
    struct span name;
    *line = SPAN("");
    if (p->kind >= sizeof lines / sizeof *lines || !lines[p->kind]) return PAUCIS_OK;
    PAUCIS_TRY(paucis__cover_name(f, part, &name));
    if (!name.len) return PAUCIS_OK;
    *line = paucis__words(f->arena, lines[p->kind], name, p->message, p->len);
    return line->at ? PAUCIS_OK : PAUCIS_E_NOMEM;
}

/* Its text, all in one; VEC_ROOM for one more index has been made. */
static paucis_err make_index(struct fold *f, struct span *text) {
    static const struct span head = {"Left out of this conversation so far:\n", 38};
    size_t n = f->missing.count, size = head.len;
    struct span *line = paucis__arena_alloc(f->arena, (n + 1) * sizeof *line);
    if (!line) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        PAUCIS_TRY(add_line(f, f->missing.at[i], &line[i]));
        size += line[i].len;
    }
    line[n] =
        f->index.at ? paucis__words(f->arena, "%i all before that\n", f->index, 0, 0) : SPAN("");
    size += line[n].len;
    char *d = line[n].at ? paucis__arena_alloc(f->arena, size) : NULL;
    if (!d) return PAUCIS_E_NOMEM;
    *text = span_of(d, size);
    memcpy(d, head.at, head.len);
    d += head.len;
    for (size_t i = 0; i <= n; d += line[i++].len) memcpy(d, line[i].at, line[i].len);
    return PAUCIS_OK;
}

/* The marker at this place names the index from now on, and not an earlier one, which is part of
 * it. */
static paucis_err put_note(struct fold *f, size_t place, struct span index) {
    const struct fold_part *p = &f->parts.at[place];
    struct span base = p->now;
    size_t at = note_end(p, base);
    bool call = p->kind == PART_CALL;
    size_t from = call ? at + index_len(base, at) : base.len, rest = base.len - from;
    const char *words = call ? "[left out so far: %i]" : "\n[left out so far: %i]";
    struct span note = paucis__words(f->arena, words, index, 0, 0);
    char *with = paucis__arena_alloc(f->arena, at + note.len + rest);
    if (!note.at || !with) return PAUCIS_E_NOMEM;
    memcpy(with, base.at, at);
    memcpy(with + at, note.at, note.len);
    memcpy(with + at + note.len, base.at + from, rest);
    struct span text = span_of(with, at + note.len + rest);
    return paucis__fold_take(f, place, p->form, text, p->reason);
}

paucis_err paucis__cover_cut(struct fold *f) {
    struct span text, name;
    if (!f->limits.handle || !f->missing.count) return PAUCIS_OK;
    size_t place = find_place(f, f->cut.part);
    if (place == SIZE_MAX) return PAUCIS_OK; /* the next cut has it all */
    if (!VEC_ROOM(f->mem, f->indexes, 1)) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(make_index(f, &text));
    PAUCIS_TRY(name_text(f, text, &name));
    if (!name.len) return PAUCIS_OK;
    f->indexes.at[f->indexes.count++] = text;
    f->index = name;
    PAUCIS_TRY(put_note(f, place, name));
    f->missing.count = 0;
    return PAUCIS_OK;
}

/* The names are the same as before: a name depends on its text alone. */
paucis_err paucis__cover_again(struct fold *f) {
    char name[PAUCIS_MAX_HANDLE];
    struct span whole;
    for (size_t i = 0; f->limits.handle && i < f->parts.count; i++) {
        const struct fold_part *p = &f->parts.at[i];
        bool stands = p->form == FORM_FULL || p->form == FORM_REFERENCE;
        if (stands || !p->handle.len) continue;
        PAUCIS_TRY(whole_text(f, i, &whole));
        f->limits.handle(f->limits.handle_ud, whole.at, whole.len, name);
    }
    for (size_t i = 0; f->limits.handle && i < f->indexes.count; i++)
        f->limits.handle(f->limits.handle_ud, f->indexes.at[i].at, f->indexes.at[i].len, name);
    return PAUCIS_OK;
}
