/* JSON cut by its structure, so that what was JSON stays JSON. A text that is one array or object
 * falls into pieces, in order and without gaps between them:
 *
 *     [ {"id": 1}, {"id": 2}, {"text": "a long one ..."} ]
 *     ~           ~           ~~~~~~~~~~               ~~~   fixed: brackets, keys, short values
 *       ~~~~~~~~~   ~~~~~~~~~                                units: elements; each may go
 *                                        ~~~~~~~~~~~~        string: pieces of a long one
 *
 * Keys stay, but for those of objects with many members: these are tables, and their members are
 * units as an array's elements are. */
#ifndef PAUCIS_KIND_JSON_H
#define PAUCIS_KIND_JSON_H

#include "json/json.h"

enum piece_kind { PIECE_LINE, PIECE_FIXED, PIECE_ELEMENT, PIECE_MEMBER, PIECE_STRING };

struct json_piece {
    const char *at;
    size_t len;
    size_t tail; /* of an element or member: the comma behind it, and blanks */
    enum piece_kind kind;
};

/* A walk over a text. All zero is an empty one. */
struct json_pieces {
    struct json json;
    VEC(uint32_t) inside;    /* the containers around the next node */
    size_t next;             /* node */
    const char *at;          /* what is handed out so far */
    const char *string_end;  /* of the string that is being handed out, NULL = of none */
    struct json_piece ahead; /* to be handed out after a fixed one; at == NULL: none */
    size_t unit;             /* bytes: larger elements are entered */
};

/* Does it look like one array or object? A look at both ends only, or at its beginning alone. */
bool paucis__json_may_be(struct span text);
bool paucis__json_may_begin(struct span text);

/* Begins a walk. *is: it is JSON. */
paucis_err paucis__json_begin(struct json_pieces *p, struct mem *m, struct span text, size_t unit,
                              bool *is);
/* The next piece; at == NULL at the end. */
paucis_err paucis__json_piece(struct json_pieces *p, struct mem *m, struct json_piece *out);
void paucis__json_end(struct json_pieces *p, struct mem *m);

#endif
