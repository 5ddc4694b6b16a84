/* See reading.h. */
#include "stable/reading.h"

#include <string.h>

#define LONG_LINE 240 /* bytes: longer lines are cut into pieces ... */
#define PIECE_FROM 80 /* ... of at least so many, if there is a place to cut, */
#define PIECE_TO 160  /* ... and at most so many */
#define SAME_LINE 24  /* bytes: shorter lines are not worth repeating verbatim */

/* ---- lines --------------------------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static struct span strip(struct span s) {
    while (s.len && is_space(s.at[s.len - 1])) s.len--;
    while (s.len && is_space(*s.at)) s.at++, s.len--;
    return s;
}

/* Letters, digits and _ . / - */
static bool is_path(char c) {
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '-' && c <= '9') || c == '_';
}

/* What follows "12:", "12|", "12-", "12.", "12\t" or "12" and an arrow at the start of s; at ==
 * NULL if it does not start so. */
static struct span behind_number(struct span s) {
    size_t n = 0;
    while (n < s.len && is_digit(s.at[n])) n++;
    size_t left = s.len - n, mark = 0;
    if (n && left >= 3 && !memcmp(s.at + n, "\xE2\x86\x92", 3))
        mark = 3;
    else if (n && left && memchr("\t:|-.", s.at[n], 5))
        mark = 1;
    return mark ? span_of(s.at + n + mark, left - mark) : span_of(NULL, 0);
}

/* A line without blanks around it and without the number, or path and number, that a tool put in
 * front. */
static struct span bare(struct span line) {
    line = strip(line);
    struct span rest = behind_number(line);
    for (size_t i = 1; !rest.at && i < line.len && is_path(line.at[i - 1]); i++)
        if (line.at[i] == ':' || line.at[i] == '-')
            rest = behind_number(span_of(line.at + i + 1, line.len - i - 1));
    return rest.at ? strip(rest) : line;
}

/* A long line's first piece. */
static size_t piece_len(struct span line) {
    if (line.len <= LONG_LINE) return line.len;
    for (size_t i = PIECE_TO; i > PIECE_FROM; i--)
        if (memchr(" ,;", line.at[i - 1], 3)) return i;
    size_t n = PIECE_TO;
    while (n > PIECE_FROM && ((unsigned char)line.at[n] & 0xC0) == 0x80) n--;
    return n;
}

/* The line's entry among all; *out is NULL if it is too short. */
static paucis_err find_line(struct readings *r, struct span line, struct item_entry **out) {
    struct span words = bare(line);
    *out = NULL;
    if (words.len < SAME_LINE) return PAUCIS_OK;
    *out = paucis__item_add(&r->lines, item_hash(words.at, words.len));
    return *out ? PAUCIS_OK : PAUCIS_E_NOMEM;
}

/* ---- items --------------------------------------------------------------------------------- */

/* The next item's entry among all. *out is NULL if there is none. */
static paucis_err next_item(struct readings *r, size_t *at, size_t end, struct item_entry **out) {
    struct item item;
    *out = NULL;
    if (!paucis__item_next(&r->text, at, end, &item)) return PAUCIS_OK;
    if (!VEC_ROOM(r->mem, r->names, 1)) return PAUCIS_E_NOMEM;
    *out = paucis__item_add(&r->items, item_hash(item.at, item.len));
    if (!*out) return PAUCIS_E_NOMEM;
    if (r->items.entries.count > r->names.count) {
        item.is_code = paucis__item_is_code(item.at, item.len);
        r->names.at[r->names.count++] = item;
    }
    return PAUCIS_OK;
}

paucis_err paucis__reading_mark(struct readings *r, struct span text, uint64_t value) {
    struct item_entry *item;
    size_t at = 0;
    PAUCIS_TRY(paucis__item_text(&r->text, text));
    for (;;) {
        PAUCIS_TRY(next_item(r, &at, text.len, &item));
        if (!item) return PAUCIS_OK;
        item->value = value;
    }
}

/* ---- results ------------------------------------------------------------------------------- */

static paucis_err add_piece(struct readings *r, size_t at, size_t len,
                            const struct item_entry *line) {
    if (!VEC_ROOM(r->mem, r->pieces, 1) || r->found.count > UINT32_MAX - LONG_LINE)
        return PAUCIS_E_NOMEM;
    struct reading_piece *p = &r->pieces.at[r->pieces.count++];
    *p = (struct reading_piece){.at = (uint32_t)at,
                                .line = line ? (uint32_t)(line - r->lines.entries.at) : NO_LINE,
                                .items = (uint32_t)r->found.count,
                                .len = (uint16_t)len};
    for (size_t end = at + len;;) {
        struct item_entry *item;
        PAUCIS_TRY(next_item(r, &at, end, &item));
        if (!item) break;
        if (!VEC_ROOM(r->mem, r->found, 1)) return PAUCIS_E_NOMEM;
        r->found.at[r->found.count++] = (uint32_t)(item - r->items.entries.at);
    }
    p->nitems = (uint16_t)(r->found.count - p->items);
    return PAUCIS_OK;
}

static paucis_err add_line(struct readings *r, size_t part, size_t at, size_t end) {
    struct span rest = span_of(r->text.at + at, end - at);
    struct item_entry *line;
    bool is_long = rest.len > LONG_LINE;
    PAUCIS_TRY(find_line(r, rest, &line));
    if (line) line->value = part + 1;
    for (size_t len; at < end; at += len) {
        rest = span_of(r->text.at + at, end - at);
        len = piece_len(rest);
        if (is_long) PAUCIS_TRY(find_line(r, span_of(rest.at, len), &line));
        PAUCIS_TRY(add_piece(r, at, len, line));
    }
    return PAUCIS_OK;
}

paucis_err paucis__reading_add(struct readings *r, size_t part, struct span text) {
    if (!VEC_ROOM(r->mem, r->ends, part + 1 - r->ends.count)) return PAUCIS_E_NOMEM;
    while (r->ends.count < part) r->ends.at[r->ends.count++] = (uint32_t)r->pieces.count;
    PAUCIS_TRY(paucis__item_text(&r->text, text));
    for (size_t at = 0, end; at < text.len; at = end) {
        end = paucis__item_line_end(&r->text, at);
        PAUCIS_TRY(add_line(r, part, at, end));
    }
    r->ends.at[r->ends.count++] = (uint32_t)r->pieces.count;
    return PAUCIS_OK;
}

const struct reading_piece *paucis__reading_of(const struct readings *r, size_t part, size_t *n) {
    size_t from = part ? r->ends.at[part - 1] : 0;
    *n = r->ends.at[part] - from;
    return r->pieces.at + from;
}

/* ---- memory -------------------------------------------------------------------------------- */

void paucis__readings_clear(struct readings *r) {
    paucis__items_clear(&r->items);
    paucis__items_clear(&r->lines);
    r->names.count = r->found.count = r->pieces.count = r->ends.count = 0;
}

void paucis__readings_free(struct readings *r) {
    paucis__items_free(&r->items);
    paucis__items_free(&r->lines);
    VEC_FREE(r->mem, r->names);
    VEC_FREE(r->mem, r->found);
    VEC_FREE(r->mem, r->pieces);
    VEC_FREE(r->mem, r->ends);
    VEC_FREE(r->mem, r->text.blocks);
}
