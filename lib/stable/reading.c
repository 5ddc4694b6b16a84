/* See reading.h. */
#include "stable/reading.h"

#include "core/chars.h"
#include "stable/joints.h"

#include <string.h>

#define SAME_LINE 24 /* bytes: shorter lines are not worth repeating verbatim */
#define AHEAD 8      /* entries of a table that are being fetched */

/* The place in a set of the i-th of r->hashes; NO_ITEM if memory ran out. */
static uint32_t next_place(const struct readings *r, struct item_set *s, size_t i) {
    if (r->hashes.count - i > AHEAD) item_fetch(s, r->hashes.at[i + AHEAD]);
    return item_add(s, r->hashes.at[i]);
}

/* ---- lines --------------------------------------------------------------------------------- */

static struct span strip(struct span s) {
    while (s.len && is_space(s.at[s.len - 1])) s.len--;
    while (s.len && is_space(*s.at)) s.at++, s.len--;
    return s;
}

/* Letters, digits and _ . / - */
static bool is_path(char c) { return is_letter(c) || (c >= '-' && c <= '9') || c == '_'; }

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

/* Is there a digit in the first word of what begins at this place of r->text? Without one there is
 * no number in front. */
static bool word_has_digit(const struct readings *r, size_t at) {
    uint64_t word = item_window(&r->text, ITEM_GOES_ON, at);
    return (word & ~(word + 1) & item_window(&r->text, ITEM_DIGIT, at)) || !(word + 1);
}

bool paucis__reading_is_last(const struct readings *r, struct span line, size_t part) {
    line = bare(strip(line));
    if (line.len < SAME_LINE) return false;
    uint32_t place = item_find(&r->lines, item_hash(line.at, line.len));
    return place == NO_ITEM || r->lines.values.at[place] <= part + 1;
}

/* Notes that a line of r->text begins here, and its hash if it is long enough. */
static paucis_err read_line(struct readings *r, size_t at, size_t end) {
    const char *text = r->text.text.at;
    struct span line = strip(span_of(text + at, end - at));
    struct reading_line new = {.at = (uint32_t)at, .place = NO_LINE};
    if (!VEC_ROOM(r->mem, r->begun, 1) || !VEC_ROOM(r->mem, r->hashes, 1)) return PAUCIS_E_NOMEM;
    if (line.len && is_digit(*line.at))
        new.number = (uint32_t)paucis__number_len(span_of(text + at, end - at));
    if (line.len >= SAME_LINE && word_has_digit(r, (size_t)(line.at - text))) line = bare(line);
    if (line.len >= SAME_LINE) {
        new.place = 0;
        r->hashes.at[r->hashes.count++] = item_hash(line.at, line.len);
    }
    r->begun.at[r->begun.count++] = new;
    return PAUCIS_OK;
}

/* Notes where the lines of r->text begin, and numbers those that are long enough. */
static paucis_err read_lines(struct readings *r, size_t part) {
    size_t len = r->text.text.len, first = r->begun.count, at = 0;
    r->hashes.count = 0;
    for (size_t block = 0; block * 64 < len; block++)
        for (uint64_t bits = r->text.blocks.at[block].bits[ITEM_NEWLINE]; bits; bits &= bits - 1) {
            size_t end = block * 64 + item_first_bit(bits) + 1;
            PAUCIS_TRY(read_line(r, at, end));
            at = end;
        }
    if (at < len) PAUCIS_TRY(read_line(r, at, len));
    for (size_t i = first, k = 0; i < r->begun.count; i++) {
        if (r->begun.at[i].place == NO_LINE) continue;
        uint32_t place = r->begun.at[i].place = next_place(r, &r->lines, k++);
        if (place == NO_ITEM) return PAUCIS_E_NOMEM;
        r->lines.values.at[place] = (uint32_t)part + 1;
    }
    return PAUCIS_OK;
}

/* ---- items --------------------------------------------------------------------------------- */

/* Finds and numbers the items of r->text, which stands at `offset` in a longer one. */
static paucis_err read_items(struct readings *r, size_t offset, struct reading_items *out) {
    const char *text = r->text.text.at;
    PAUCIS_TRY(paucis__item_scan(&r->text));
    const struct item_spot *spot = r->text.items.at;
    size_t n = r->text.items.count;
    r->hashes.count = 0;
    if (!VEC_ROOM(r->mem, *out, n) || !VEC_ROOM(r->mem, r->code, n) ||
        !VEC_ROOM(r->mem, r->hashes, n))
        return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        r->hashes.at[r->hashes.count++] = item_hash(text + spot[i].at, spot[i].len);
    for (size_t i = 0; i < n; i++) {
        uint32_t place = next_place(r, &r->items, i);
        if (place == NO_ITEM) return PAUCIS_E_NOMEM;
        if (place == r->code.count)
            r->code.at[r->code.count++] = paucis__item_is_code(text + spot[i].at, spot[i].len);
        out->at[out->count++] =
            (struct reading_item){(uint32_t)(spot[i].at + offset), spot[i].len, place};
    }
    return PAUCIS_OK;
}

/* Into r->torn. */
static paucis_err read_stretch(struct readings *r, struct span text, size_t offset) {
    r->torn.count = 0;
    PAUCIS_TRY(paucis__item_text(&r->text, text));
    return read_items(r, offset, &r->torn);
}

static bool is_across(const struct reading_item *i, size_t place) {
    return i->at < place && i->at + i->len > place;
}

paucis_err paucis__reading_items(struct readings *r, const struct reading *result, size_t from,
                                 size_t to, size_t *cursor, struct reading_items *out) {
    *out = (struct reading_items){0};
    if (!result->nitems) return PAUCIS_OK;
    struct reading_item *items = r->found.at + result->item;
    size_t first = *cursor, end;
    while (first < result->nitems && items[first].at < from) first++;
    for (end = first; end < result->nitems && items[end].at < to;) end++;
    *cursor = end;
    *out = (struct reading_items){.at = items + first, .count = end - first};
    bool torn = (first && is_across(&items[first - 1], from)) ||
                (end > first && is_across(&items[end - 1], to));
    if (!torn) return PAUCIS_OK;
    PAUCIS_TRY(read_stretch(r, span_of(result->text.at + from, to - from), from));
    *out = r->torn;
    return PAUCIS_OK;
}

paucis_err paucis__reading_mark(struct readings *r, struct span text, uint32_t value) {
    PAUCIS_TRY(read_stretch(r, text, 0));
    for (size_t i = 0; i < r->torn.count; i++) r->items.values.at[r->torn.at[i].place] = value;
    return PAUCIS_OK;
}

/* ---- results ------------------------------------------------------------------------------- */

paucis_err paucis__reading_add(struct readings *r, size_t part, struct span text) {
    struct reading new = {.text = text, .item = r->found.count, .line = r->begun.count};
    if (part >= r->results.count) {
        size_t more = part + 1 - r->results.count;
        if (!VEC_ROOM(r->mem, r->results, more)) return PAUCIS_E_NOMEM;
        memset(r->results.at + r->results.count, 0, more * sizeof new);
        r->results.count += more;
    }
    PAUCIS_TRY(paucis__item_text(&r->text, text));
    PAUCIS_TRY(read_lines(r, part));
    PAUCIS_TRY(read_items(r, 0, &r->found));
    new.nitems = r->found.count - new.item;
    new.nlines = r->begun.count - new.line;
    r->results.at[part] = new;
    return PAUCIS_OK;
}

paucis_err paucis__reading_of(struct readings *r, size_t part, struct span text,
                              const struct reading **out) {
    if (part >= r->results.count || r->results.at[part].text.len != text.len)
        PAUCIS_TRY(paucis__reading_add(r, part, text));
    r->results.at[part].text = text; /* the same, but it may lie elsewhere by now */
    *out = &r->results.at[part];
    return PAUCIS_OK;
}

/* ---- memory -------------------------------------------------------------------------------- */

void paucis__readings_init(struct readings *r, struct mem *m, uint64_t seed) {
    *r = (struct readings){.mem = m, .text.mem = m};
    r->items.mem = r->lines.mem = m;
    r->items.seed = r->lines.seed = seed;
}

void paucis__readings_clear(struct readings *r) {
    paucis__items_clear(&r->items);
    paucis__items_clear(&r->lines);
    r->code.count = r->found.count = r->begun.count = r->results.count = 0;
}

void paucis__readings_free(struct readings *r) {
    paucis__items_free(&r->items);
    paucis__items_free(&r->lines);
    VEC_FREE(r->mem, r->code);
    VEC_FREE(r->mem, r->found);
    VEC_FREE(r->mem, r->begun);
    VEC_FREE(r->mem, r->results);
    VEC_FREE(r->mem, r->text.blocks);
    VEC_FREE(r->mem, r->text.items);
    VEC_FREE(r->mem, r->hashes);
    VEC_FREE(r->mem, r->torn);
}
