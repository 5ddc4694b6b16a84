/* A table of strings of the body, for rules that ask whether two places say the same: call ids,
 * names of tools. It lives in the view's arena, so there is nothing to free. */
#ifndef PAUCIS_NAMES_H
#define PAUCIS_NAMES_H

#include "view/view.h"

struct name {
    uint32_t node; /* of the string; 0: the place is free */
    uint32_t tag;  /* the user's */
};

struct names {
    struct name *at;
    size_t mask;
};

/* A table with room for n strings. False if memory ran out; v->failed is then set. */
bool paucis__names_init(struct names *t, struct view *v, size_t n);

/* The place of the string at `node`: free if no equal one is in the table yet, and then to be
 * filled by the caller. NULL if memory ran out; v->failed is then set. */
struct name *paucis__names_find(const struct names *t, struct view *v, size_t node);

#endif
