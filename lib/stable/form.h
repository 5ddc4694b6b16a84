/* Forms: what a result looks like when it is shortened. A kind of form is one file that exports one
 * of these, and one row in forms.def; the fold decides when, a form decides what stays.
 *
 * A form is a pure function of the parts it was shown and of the order in which it was asked. */
#ifndef PAUCIS_FORM_H
#define PAUCIS_FORM_H

#include <stdbool.h>

#include "core/hash.h"
#include "core/words.h"
#include "stable/tools.h"

/* A text and what it is part of. */
struct form_text {
    struct span text;
    size_t part;    /* parts are numbered in order */
    bool is_result; /* that may be shortened; else prose or arguments, which stay */
    bool failed;    /* the result says so: its first line stays */
    enum tool tool; /* that the result is of */
};

struct forms;

struct form_kind {
    TABLE_ROW;          /* name, summary */
    const char *legend; /* in the first shortened text of a conversation: how to read it. It has a
                           gap in it, and nothing that JSON would have to quote */
    /* A text is sent for the first time. NULL if the kind does not care. */
    paucis_err (*born)(struct forms *f, const struct form_text *t);
    /* The short form of a stale result; *out = the text if there is none that is worth it. */
    paucis_err (*brief)(struct forms *f, const struct form_text *t, struct span *out);
    /* This text stands from now on, unless the budget cuts it. NULL if the kind does not care. */
    paucis_err (*stays)(struct forms *f, struct span text);
    /* A result of more than `cap` bytes cut to about that, before it is sent for the first time. */
    paucis_err (*capped)(struct forms *f, const struct form_text *t, size_t cap, struct span *out);
    void (*clear)(struct forms *f); /* for the next conversation; NULL: there is no state */
    void (*free)(struct forms *f);
};

struct forms {
    const struct form_kind *kind;
    struct mem *mem;
    struct arena *arena; /* for the texts handed out */
    uint64_t seed;       /* for hash tables */
    uint64_t keep;       /* the dial: how much stays, 0 to 100 */
    void *state;         /* the kind's own */
};

extern const struct form_kind *const paucis__form_kinds[]; /* NULL ends; the first is the default */

/* Is this a text that a form has made? Only asked where the history is known to be ours. */
bool paucis__form_is_ours(struct span text);

/* An id that a reader can tell from the words around it. */
bool paucis__form_is_id(struct span id);

/* Where the first gap of a text stands: "[", three dots in one, and a number, as "[...]" alone is
 * how people quote. SIZE_MAX if it has none. */
size_t paucis__form_gap(struct span text);

/* Lines in a text; a last one without a newline counts. */
uint64_t paucis__form_lines(struct span text);

#endif
