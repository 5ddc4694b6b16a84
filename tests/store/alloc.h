/* Allocations that fail on demand: the linker gives malloc, calloc and realloc of our own code to
 * these (--wrap); SQLite, zstd and OpenSSL keep theirs. */
#ifndef PAUCIS_TEST_ALLOC_H
#define PAUCIS_TEST_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

void alloc_fail_at(size_t n); /* the n-th from now on; 0 = none */
bool alloc_failed(void);      /* since then */

#endif
