/* See reading.h. */
#include "stable/reading.h"

#include <string.h>

#define LONG_LINE 240 /* bytes: longer lines are cut into pieces ... */
#define PIECE_FROM 80 /* ... of at least so many, if there is a place to cut, */
#define PIECE_TO 160  /* ... and at most so many */
#define SAME_LINE 24  /* bytes: shorter lines are not worth repeating verbatim */

/* ---- tables ------------------------------------------------------------------------------- */

#define AHEAD 8 /* items whose slots are being fetched */

static void fetch(const struct item_set *s, uint64_t hash) {
#ifdef __GNUC__
    if (s->size) __builtin_prefetch(&s->slots[item_place(s, hash)]);
#else
    (void)s, (void)hash;
#endif
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static struct span strip(struct span s) {
    while (s.len && is_space(s.at[s.len - 1])) s.len--;
    while (s.len && is_space(*s.at)) s.at++, s.len--;
    return s;
}

static bool is_gap(char c) { return c == ' ' || c == ',' || c == ';'; }

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
        if (is_gap(line.at[i - 1])) return i;
    size_t n = PIECE_TO;
    while (n > PIECE_FROM && ((unsigned char)line.at[n] & 0xC0) == 0x80) n--;
    return n;
}

/* The hash of the line between two places; false if it is too short. */
static bool hash_line(const struct readings *r, size_t at, size_t end, uint64_t *hash) {
    struct span line = strip(span_of(r->text.text.at + at, end - at));
    if (line.len < SAME_LINE) return false;
    at = (size_t)(line.at - r->text.text.at);
    size_t word = paucis__item_find(&r->text, ITEM_GOES_ON, false, at, at + line.len);
    /* a number in front stands in the first word, as does a path with one */
    if (paucis__item_find(&r->text, ITEM_DIGIT, true, at, word) < word) line = bare(line);
    if (line.len < SAME_LINE) return false;
    *hash = item_hash(line.at, line.len);
    return true;
}

/* ---- items --------------------------------------------------------------------------------- */

/* The places of r->text's items among all, in order, at the end of `found`. */
static paucis_err number_items(struct readings *r) {
    size_t n = r->text.items.count;
    const char *text = r->text.text.at;
    r->hashes.count = 0;
    if (!VEC_ROOM(r->mem, r->found, n) || !VEC_ROOM(r->mem, r->names, n) ||
        !VEC_ROOM(r->mem, r->hashes, n))
        return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        r->hashes.at[i] = item_hash(text + r->text.items.at[i].at, r->text.items.at[i].len);
    for (size_t i = 0; i < n; i++) {
        if (n - i > AHEAD) fetch(&r->items, r->hashes.at[i + AHEAD]);
        const struct item_entry *e = item_add(&r->items, r->hashes.at[i]);
        if (!e) return PAUCIS_E_NOMEM;
        size_t place = (size_t)(e - r->items.entries.at);
        if (place == r->names.count) {
            struct item_spot spot = r->text.items.at[i];
            r->names.at[r->names.count++] = (struct reading_name){
                text + spot.at, spot.len, paucis__item_is_code(text + spot.at, spot.len)};
        }
        r->found.at[r->found.count++] = (uint32_t)place;
    }
    return PAUCIS_OK;
}

paucis_err paucis__reading_mark(struct readings *r, struct span text, uint64_t value) {
    size_t before = r->found.count;
    PAUCIS_TRY(paucis__item_text(&r->text, text));
    PAUCIS_TRY(paucis__item_scan(&r->text, 0, text.len));
    PAUCIS_TRY(number_items(r));
    while (r->found.count > before)
        r->items.entries.at[r->found.at[--r->found.count]].value = value;
    return PAUCIS_OK;
}

/* ---- results ------------------------------------------------------------------------------- */

static paucis_err add_piece(struct readings *r, size_t at, size_t len) {
    if (!VEC_ROOM(r->mem, r->pieces, 1)) return PAUCIS_E_NOMEM;
    r->pieces.at[r->pieces.count++] =
        (struct reading_piece){.at = (uint32_t)at, .line = NO_LINE, .len = (uint16_t)len};
    return PAUCIS_OK;
}

/* Finds a line's place in the set; it may be that of a piece. */
static paucis_err number_line(struct readings *r, uint64_t hash, uint32_t *place, size_t value) {
    struct item_entry *e = item_add(&r->lines, hash);
    if (!e) return PAUCIS_E_NOMEM;
    if (value) e->value = value;
    *place = (uint32_t)(e - r->lines.entries.at);
    return PAUCIS_OK;
}

/* A long line; its pieces may be lines elsewhere. Where it is cut inside a word, the parts of the
 * word are two items: *scanned moves on to that place. */
static paucis_err add_pieces(struct readings *r, size_t part, size_t at, size_t end,
                             size_t *scanned) {
    uint64_t hash;
    uint32_t place;
    if (hash_line(r, at, end, &hash)) PAUCIS_TRY(number_line(r, hash, &place, part + 1));
    while (at < end) {
        struct span rest = span_of(r->text.text.at + at, end - at);
        size_t len = piece_len(rest);
        PAUCIS_TRY(add_piece(r, at, len));
        if (hash_line(r, at, at + len, &hash))
            PAUCIS_TRY(number_line(r, hash, &r->pieces.at[r->pieces.count - 1].line, 0));
        at += len;
        if (at == end || is_gap(rest.at[len - 1])) continue;
        PAUCIS_TRY(paucis__item_scan(&r->text, *scanned, at));
        *scanned = at;
    }
    return PAUCIS_OK;
}

static paucis_err add_line(struct readings *r, size_t at, size_t end) {
    uint64_t hash;
    if (!VEC_ROOM(r->mem, r->whole, 1)) return PAUCIS_E_NOMEM;
    if (hash_line(r, at, end, &hash))
        r->whole.at[r->whole.count++] = (struct reading_line){hash, (uint32_t)r->pieces.count};
    return add_piece(r, at, end - at);
}

static paucis_err number_lines(struct readings *r, size_t part) {
    for (size_t i = 0; i < r->whole.count; i++) {
        const struct reading_line *l = &r->whole.at[i];
        if (r->whole.count - i > AHEAD) fetch(&r->lines, l[AHEAD].hash);
        PAUCIS_TRY(number_line(r, l->hash, &r->pieces.at[l->piece].line, part + 1));
    }
    return PAUCIS_OK;
}

static paucis_err add_lines(struct readings *r, size_t part) {
    size_t scanned = 0, len = r->text.text.len;
    r->whole.count = 0;
    for (size_t at = 0, end; at < len; at = end) {
        end = paucis__item_find(&r->text, ITEM_NEWLINE, true, at, len);
        end += end < len;
        PAUCIS_TRY(end - at > LONG_LINE ? add_pieces(r, part, at, end, &scanned)
                                        : add_line(r, at, end));
    }
    PAUCIS_TRY(number_lines(r, part));
    return paucis__item_scan(&r->text, scanned, len);
}

/* Tells the pieces from `piece` on which of the items from `item` on are theirs. */
static void share_items(struct readings *r, size_t piece, size_t item) {
    const struct item_spot *spot = r->text.items.at, *end = spot + r->text.items.count;
    for (struct reading_piece *p = &r->pieces.at[piece]; piece < r->pieces.count; piece++, p++) {
        const struct item_spot *first = spot;
        while (spot < end && spot->at < p->at + p->len) spot++;
        p->items = (uint32_t)item;
        p->nitems = (uint16_t)(spot - first);
        item += p->nitems;
    }
}

paucis_err paucis__reading_add(struct readings *r, size_t part, struct span text) {
    size_t pieces = r->pieces.count, items = r->found.count;
    if (!VEC_ROOM(r->mem, r->ends, part + 1 - r->ends.count)) return PAUCIS_E_NOMEM;
    while (r->ends.count < part) r->ends.at[r->ends.count++] = (uint32_t)pieces;
    PAUCIS_TRY(paucis__item_text(&r->text, text));
    PAUCIS_TRY(add_lines(r, part));
    PAUCIS_TRY(number_items(r));
    share_items(r, pieces, items);
    r->ends.at[r->ends.count++] = (uint32_t)r->pieces.count;
    return r->found.count < UINT32_MAX ? PAUCIS_OK : PAUCIS_E_NOMEM;
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
    VEC_FREE(r->mem, r->hashes);
    VEC_FREE(r->mem, r->whole);
    VEC_FREE(r->mem, r->found);
    VEC_FREE(r->mem, r->pieces);
    VEC_FREE(r->mem, r->ends);
    VEC_FREE(r->mem, r->text.blocks);
    VEC_FREE(r->mem, r->text.items);
}
