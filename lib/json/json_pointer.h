/* JSON pointers (RFC 6901) for a list of nodes, made in one walk over the body. */
#ifndef PAUCIS_JSON_POINTER_H
#define PAUCIS_JSON_POINTER_H

#include "json/json.h"

/* pointer[i] becomes the NUL-terminated path of node want[i], in the arena; want ascends. Where
 * many nodes lie below one long key their paths would grow with the square of the body: once all of
 * them take 64 times the body, a path ends at something that holds its node. */
paucis_err paucis__json_pointers(const struct json *j, struct arena *a, const uint32_t *want,
                                 size_t n, const char **pointer);

#endif
