/* Readings: a result taken apart once, when it is born, since it will be weighed twice or more. Its
 * lines, long ones cut into pieces, and in each piece the items, all by number: what a conversation
 * knows of a line or an item is one look away, and no text is searched or hashed again. */
#ifndef PAUCIS_READING_H
#define PAUCIS_READING_H

#include "stable/items.h"

#define NO_LINE UINT32_MAX

struct reading_piece { /* a line, or a piece of a long one */
    uint32_t at;       /* in its text */
    uint32_t line;     /* in `lines`; NO_LINE: too short to be worth repeating verbatim */
    uint32_t items;    /* the first of them, in `found` */
    uint16_t len;      /* with its newline */
    uint16_t nitems;
};

struct reading_name {
    const char *at;
    uint32_t len;
    bool is_code; /* it looks like code: see paucis__item_is_code */
};

struct reading_line {
    uint64_t hash;
    uint32_t piece;
};

struct readings {
    struct mem *mem;
    struct item_set items;
    struct item_set lines; /* value: the last result that has the line, its number plus 1 */
    VEC(struct reading_name) names; /* of `items`, in the same order */
    VEC(uint32_t) found;            /* places in `items` */
    VEC(struct reading_piece) pieces;
    VEC(uint32_t) ends;    /* of results: behind the last piece of each; others have none */
    struct item_text text; /* the one that is being read */
    VEC(uint64_t) hashes;  /* of its items */
    VEC(struct reading_line) whole; /* its pieces that are lines, not yet in `lines` */
};

/* The results must come in order; `part` is the number of this one. */
paucis_err paucis__reading_add(struct readings *r, size_t part, struct span text);
/* The pieces of a result that has been added, *n of them. */
const struct reading_piece *paucis__reading_of(const struct readings *r, size_t part, size_t *n);

/* Gives all items of a text this value. */
paucis_err paucis__reading_mark(struct readings *r, struct span text, uint64_t value);

void paucis__readings_clear(struct readings *r); /* keeps memory */
void paucis__readings_free(struct readings *r);

#endif
