/* Tables of words: what a key, a type or a role stands for. */
#ifndef PAUCIS_FORMAT_WORDS_H
#define PAUCIS_FORMAT_WORDS_H

#include "format/shape.h"

struct word { /* a table ends with a NULL text */
    struct span text;
    uint8_t is, more; /* the table's own */
};
#define WORDS_END \
    { {NULL, 0}, 0, 0 }

/* The row that says what the string node says; the last row if none does or there is no node. */
static inline const struct word *word_find(const struct json *j, size_t node,
                                           const struct word *table) {
    while (table->text.at && !(node && json_is_text(j, node, table->text.at, table->text.len)))
        table++;
    return table;
}

#endif
