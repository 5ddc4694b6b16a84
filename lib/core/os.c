/* Everything in the library that is not plain C11, so that a port is this one file. */
#include "core/os.h"

#include <stddef.h>

#ifdef __linux__
#include <sys/random.h>
#endif

uint64_t paucis__os_seed(void) {
    uint64_t seed = 0;
#ifdef __linux__
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ptrdiff_t)sizeof seed) return seed;
#endif
    uintptr_t stack = (uintptr_t)&seed; /* where it lies: better than a constant */
    return stack;
}
