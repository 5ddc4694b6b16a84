/* Noise: bytes of a program's output that a terminal acts on and a reader never sees. Colours,
 * titles and modes; what a carriage return or a backspace has let later text overwrite, as progress
 * bars do. What a terminal would show stays the same, and so does anything that is not clear:
 *
 *     "\x1b[31mFAIL\x1b[0m x.c"        ->  "FAIL x.c"
 *     "fetch  9%\rfetch 10%\rdone     "  ->  "done     "
 *     "ab\rc"                           stays: it shows "cb" */
#ifndef PAUCIS_NOISE_H
#define PAUCIS_NOISE_H

#include <stdbool.h>

#include "core/mem.h"

/* Can there be any? Says yes too often rather than too seldom. */
bool paucis__has_noise(struct span text);

/* Writes the text without its noise to dst, which holds text.len bytes; returns the length. */
size_t paucis__strip_noise(struct span text, char *dst);

#endif
