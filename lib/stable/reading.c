/* See reading.h. */
#include "stable/reading.h"

#include <string.h>

#define SAME_LINE 24 /* bytes: shorter lines are not worth repeating verbatim */
#define AHEAD 8      /* entries of a table that are being fetched */

static void fetch(const struct item_set *s, uint64_t hash) {
#ifdef __GNUC__
    if (s->size) __builtin_prefetch(&s->slots[item_place(s, hash)]);
#else
    (void)s, (void)hash;
#endif
}

/* The place in a set of the i-th of r->hashes; NULL if memory ran out. */
static struct item_entry *next_entry(const struct readings *r, struct item_set *s, size_t i) {
    if (r->hashes.count - i > AHEAD) fetch(s, r->hashes.at[i + AHEAD]);
    return item_add(s, r->hashes.at[i]);
}

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
    struct span rest = behind_number(line);
    for (size_t i = 1; !rest.at && i < line.len && is_path(line.at[i - 1]); i++)
        if (line.at[i] == ':' || line.at[i] == '-')
            rest = behind_number(span_of(line.at + i + 1, line.len - i - 1));
    return rest.at ? strip(rest) : line;
}

/* The same for a line of r->text that begins at `at`, without looking at every byte: a number in
 * front stands in the first word, as does a path with one. */
static struct span bare_line(const struct readings *r, size_t at, size_t end) {
    struct span line = strip(span_of(r->text.text.at + at, end - at));
    at = (size_t)(line.at - r->text.text.at);
    size_t word = paucis__item_seek(&r->text, ITEM_GOES_ON, false, at, at + line.len);
    return paucis__item_seek(&r->text, ITEM_DIGIT, true, at, word) < word ? bare(line) : line;
}

bool paucis__reading_is_last(const struct readings *r, struct span line, size_t part) {
    line = bare(strip(line));
    if (line.len < SAME_LINE) return false;
    const struct item_entry *e = item_find(&r->lines, item_hash(line.at, line.len));
    return !e || e->value <= part + 1;
}

/* Notes where the lines of r->text begin, and numbers those that are long enough. */
static paucis_err read_lines(struct readings *r, size_t part) {
    size_t len = r->text.text.len, first = r->begun.count;
    r->hashes.count = 0;
    for (size_t at = 0, end; at < len; at = end) {
        end = paucis__item_seek(&r->text, ITEM_NEWLINE, true, at, len);
        end += end < len;
        if (!VEC_ROOM(r->mem, r->begun, 1) || !VEC_ROOM(r->mem, r->hashes, 1))
            return PAUCIS_E_NOMEM;
        struct span line = bare_line(r, at, end);
        bool counts = line.len >= SAME_LINE;
        r->begun.at[r->begun.count++] = (struct reading_line){(uint32_t)at, counts ? 0 : NO_LINE};
        if (counts) r->hashes.at[r->hashes.count++] = item_hash(line.at, line.len);
    }
    for (size_t i = first, k = 0; i < r->begun.count; i++) {
        if (r->begun.at[i].place == NO_LINE) continue;
        struct item_entry *e = next_entry(r, &r->lines, k++);
        if (!e) return PAUCIS_E_NOMEM;
        e->value = part + 1;
        r->begun.at[i].place = (uint32_t)(e - r->lines.entries.at);
    }
    return PAUCIS_OK;
}

/* ---- items --------------------------------------------------------------------------------- */

/* Finds and numbers the items of r->text, which stands at `offset` in a longer one. */
static paucis_err read_items(struct readings *r, size_t offset, struct reading_items *out) {
    const char *text = r->text.text.at;
    PAUCIS_TRY(paucis__item_scan(&r->text, 0, r->text.text.len));
    const struct item_spot *spot = r->text.items.at;
    size_t n = r->text.items.count;
    r->hashes.count = 0;
    if (!VEC_ROOM(r->mem, *out, n) || !VEC_ROOM(r->mem, r->code, n) ||
        !VEC_ROOM(r->mem, r->hashes, n))
        return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        r->hashes.at[r->hashes.count++] = item_hash(text + spot[i].at, spot[i].len);
    for (size_t i = 0; i < n; i++) {
        const struct item_entry *e = next_entry(r, &r->items, i);
        if (!e) return PAUCIS_E_NOMEM;
        size_t place = (size_t)(e - r->items.entries.at);
        if (place == r->code.count)
            r->code.at[r->code.count++] = paucis__item_is_code(text + spot[i].at, spot[i].len);
        out->at[out->count++] =
            (struct reading_item){(uint32_t)(spot[i].at + offset), spot[i].len, (uint32_t)place};
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

paucis_err paucis__reading_mark(struct readings *r, struct span text, uint64_t value) {
    PAUCIS_TRY(read_stretch(r, text, 0));
    for (size_t i = 0; i < r->torn.count; i++)
        r->items.entries.at[r->torn.at[i].place].value = value;
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
