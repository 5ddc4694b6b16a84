/* The items of the Responses API as a table: read by the adapter, judged by the rules. */
#ifndef PAUCIS_RESPONSES_H
#define PAUCIS_RESPONSES_H

#include "plan/check.h"

enum item_kind {
    ITEM_MESSAGE,
    ITEM_REASONING,
    ITEM_CALL,   /* of a tool, to be answered by an output */
    ITEM_OUTPUT, /* its answer */
    ITEM_HOSTED, /* a call the provider ran by itself, result included */
    ITEM_FIXED,  /* must stay as and where it is: the unit it stands in is frozen */
    ITEM_UNKNOWN
};

enum item_flags {
    ITEM_REPLACE = 1,  /* C.6 lets its text be changed */
    ITEM_LINKED = 2,   /* other items refer to it: the unit it stands in is frozen */
    ITEM_OBJECT = 4,   /* a call's text is a JSON object */
    ITEM_ID = 8,       /* an output whose `id` is the call's call_id */
    ITEM_JSON = 16,    /* an output that is a string holding JSON, */
    ITEM_ENTRIES = 32, /* an array of objects, */
    ITEM_PICTURE = 64, /* an object, */
    ITEM_STRING = 128  /* a string; otherwise a string or an array of parts */
};

struct item_type {
    const char *name;
    uint8_t len;
    uint8_t kind, flags;
    uint8_t role;
    const char *text; /* member with the call's or output's text; "a.b": member of a member */
    const char *id;   /* how an `id` of this type begins, NULL if not known */
};

/* The row for an item; one of kind ITEM_UNKNOWN if it has none. */
const struct item_type *paucis__responses_item(const struct json *j, size_t item);

/* The member a row's `text` names, 0 if it is missing. */
size_t paucis__responses_text(const struct json *j, size_t item, const struct item_type *type);

/* Is part of the history on the server (C-R13)? */
bool paucis__responses_locked(const struct view *v);

void paucis__responses_check(struct check *c);

#endif
