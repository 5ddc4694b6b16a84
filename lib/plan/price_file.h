/* Price rows from a user's file, in the form of paucis's own table:
 *
 *   {"rows": [{"name": "house", "read": 0.1, "write": 1.25, "base": 1.0, "minimum": 1024,
 *              "step": 1, "ttl_s": 300, "match": "breakpoints, 20-block lookback"}]} */
#ifndef PAUCIS_PRICE_FILE_H
#define PAUCIS_PRICE_FILE_H

#include "view/view.h"

/* The row of that name, or the first. *what says what is wrong on PAUCIS_E_ARG. The name stays a
 * node: its text is v's to decode. */
paucis_err paucis__price_read(const struct json *j, const char *name, paucis_price *out,
                              size_t *name_node, const char **what);

#endif
