/* What the Anthropic adapter and its rules share: the table of content blocks (FORMATS.md B.3). */
#ifndef PAUCIS_ANTHROPIC_H
#define PAUCIS_ANTHROPIC_H

#include "plan/check.h"

enum block_place {
    BLOCK_IN_USER = 1,
    BLOCK_IN_ASSISTANT = 2,
    BLOCK_IN_SYSTEM = 4, /* a message of that role, or the top-level text */
    BLOCK_IN_RESULT = 8, /* inside a tool_result */
    BLOCK_BOUND = 16     /* B-R8: the other role refuses it */
};

struct block_type {
    struct span name;
    uint8_t kind;     /* enum kind */
    uint8_t flags;    /* enum part_flags */
    uint8_t place;    /* enum block_place */
    const char *keys; /* allowed, a blank after each; NULL: any */
};

/* The row of a block; NULL if it is no object or of no known type. */
const struct block_type *paucis__anthropic_block(const struct json *j, size_t block);

/* Was this tool_use made by code that runs at the provider (B-R24)? */
bool paucis__anthropic_from_code(const struct json *j, size_t block);

void paucis__anthropic_check(struct check *c);       /* all rules of section B */
void paucis__anthropic_check_shape(struct check *c); /* those about JSON that no edit changes */

#endif
