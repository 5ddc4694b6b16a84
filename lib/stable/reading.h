/* Readings: a result taken apart once, when it is born, since it will be weighed twice or more. Its
 * lines and its items get numbers: what a conversation knows of a line or an item is then one look
 * away, and the text is neither searched nor hashed again. */
#ifndef PAUCIS_READING_H
#define PAUCIS_READING_H

#include "stable/items.h"

#define NO_LINE UINT32_MAX

struct reading_item {
    uint32_t at, len; /* in its text */
    uint32_t place;   /* in `items` */
};

struct reading_line {
    uint32_t at;     /* in its text; it ends where the next one begins */
    uint32_t number; /* bytes of it that are blanks and a number a tool put in front; mostly 0 */
    uint32_t place;  /* in `lines`; NO_LINE: too short to be worth repeating verbatim */
};

struct reading { /* of one text */
    struct span text;
    size_t item, nitems; /* in `found` */
    size_t line, nlines; /* in `begun` */
};

struct reading_items {
    struct reading_item *at;
    size_t count, cap;
};

struct readings {
    struct mem *mem;
    struct item_set items;
    struct item_set lines;      /* value: the last result that has the line, its number plus 1 */
    VEC(bool) code;             /* of `items`, in the same order: paucis__item_is_code */
    struct reading_items found; /* in all results */
    VEC(struct reading_line) begun;
    VEC(struct reading) results; /* by number; what is no result has no text */
    struct item_text text;       /* the one that is being read ... */
    VEC(uint64_t) hashes;        /* ... and of its items, or lines */
    struct reading_items torn;   /* see paucis__reading_items */
};

void paucis__readings_init(struct readings *r, struct mem *m, uint64_t seed);

/* A result is born; `part` is its number. */
paucis_err paucis__reading_add(struct readings *r, size_t part, struct span text);
/* The reading of a result, whose text never changes. Good until the next is added. */
paucis_err paucis__reading_of(struct readings *r, size_t part, struct span text,
                              const struct reading **out);

/* The items of a stretch of a result, as if nothing stood around it. Stretches come in order:
 * *cursor is 0 for the first. They are good until the next call. */
paucis_err paucis__reading_items(struct readings *r, const struct reading *result, size_t from,
                                 size_t to, size_t *cursor, struct reading_items *out);

/* Is this a line worth repeating verbatim, and `part` the last result that has it? */
bool paucis__reading_is_last(const struct readings *r, struct span line, size_t part);
static inline bool reading_is_last(const struct readings *r, uint32_t place, size_t part) {
    return place != NO_LINE && r->lines.values.at[place] <= part + 1;
}

/* Gives all items of a text this value. */
paucis_err paucis__reading_mark(struct readings *r, struct span text, uint32_t value);

void paucis__readings_clear(struct readings *r); /* keeps memory */
void paucis__readings_free(struct readings *r);

#endif
