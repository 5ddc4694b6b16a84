/* Lists of numbers as options have them: ascending, with commas between. */
#ifndef PAUCIS_LISTED_H
#define PAUCIS_LISTED_H

#include <stdint.h>

#include "core/chars.h"

/* Is this number in the list? Goes on in the list: it is asked for ever larger ones. */
static inline bool listed(const char **list, uint64_t n) {
    while (*list && **list) {
        uint64_t one = 0;
        const char *at = *list;
        for (; is_digit(*at); at++) one = one * 10 + (uint64_t)(*at - '0');
        if (one >= n) return one == n;
        *list = *at ? at + 1 : at;
    }
    return false;
}

#endif
