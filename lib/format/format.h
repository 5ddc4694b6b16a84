/* A wire format: one file that exports one of these, and one row in formats.def. An adapter knows
 * JSON shapes and nothing of strategies. */
#ifndef PAUCIS_FORMAT_H
#define PAUCIS_FORMAT_H

#include "view/view.h"

struct check;

struct format {
    TABLE_ROW; /* name, summary */
    /* Fills the view from the body's nodes. Never fails on odd shapes: what it does not know
     * becomes an opaque part. Memory is checked by the caller through v->failed. */
    void (*read)(struct view *v);
    /* Reports the rules that the view, as it is now, breaks. c->depth: also the rules about JSON
     * that no edit can change. NULL: the format has no rules. */
    void (*check)(struct check *c);
    /* Results come inside user messages: one that holds nothing else gets ROLE_TOOL. */
    bool results_in_user;
    /* What an inserted message looks like: %t is the text, %i the call's id, %n its name, each put
     * as the inside of a JSON string; what stands between %( and %) is left out if the call has no
     * id. NULL where none may stand. */
    const char *insert_user, *insert_result;
};

extern const struct format *const paucis__formats[]; /* NULL ends */

/* By name; NULL if unknown. */
const struct format *paucis__format_named(const char *name);

/* Fills a cleared view from the body v->j: reads, pairs, forms units. Errors: NOMEM. */
paucis_err paucis__format_read(const struct format *f, struct view *v);

/* From the body alone, as in FORMATS.md section 2; NULL if unknown or a hybrid. */
const struct format *paucis__format_detect(const struct json *j);

#endif
