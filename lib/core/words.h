/* Sentences with something put in: the markers that stand for what is gone. */
#ifndef PAUCIS_WORDS_H
#define PAUCIS_WORDS_H

#include "core/mem.h"

/* `form` with %i replaced by the id, %n and %m by numbers; in the arena. at == NULL: out of
 * memory. */
struct span paucis__words(struct arena *a, const char *form, struct span id, uint64_t n,
                          uint64_t m);

/* The number in decimals, at most 20 bytes; returns how many. */
size_t paucis__words_number(char *dst, uint64_t n);

#endif
