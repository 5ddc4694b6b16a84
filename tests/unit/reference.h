/* JSON read in the most obvious way: by recursive descent, a byte at a time, UTF-8 by working
 * out each code point. Shares nothing with the library but the shape of a node, so that the two
 * can be compared. */
#ifndef PAUCIS_TEST_REFERENCE_H
#define PAUCIS_TEST_REFERENCE_H

#include "json/json.h"

struct reference {
    const uint8_t *body;
    size_t size, at;
    struct node *nodes;
    size_t count, cap;
    paucis_err code;
    size_t pos; /* of the error */
};

/* Fills nodes, or code and pos. All zero to begin with; its memory is used again. */
void reference_read(struct reference *r, const char *body, size_t size);
void reference_free(struct reference *r);

/* Length of the character at p, 0 if it is not valid UTF-8. */
size_t reference_utf8(const uint8_t *p, size_t n);

/* Offset of the quote that ends the string whose inside begins at `from`; if it is bad, size,
 * and *bad is where. */
size_t reference_string(const uint8_t *p, size_t from, size_t size, unsigned *flags, size_t *bad);

#endif
