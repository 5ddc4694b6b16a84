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
    ITEM_REPLACE = 1, /* C.6 lets its text be changed */
    ITEM_OBJECT = 2,  /* that text is a JSON object */
    ITEM_ID = 4,      /* an output whose `id` is the call's call_id */
    ITEM_FREEZE = 8,  /* linked with other items: must stay */
    ITEM_JSON = 16    /* output is a string that holds JSON */
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

void paucis__responses_check(struct check *c);

#endif
