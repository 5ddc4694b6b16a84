/* See form.h. */
#include "stable/form.h"

#include <string.h>

#define FORM(name) extern const struct form_kind paucis__form_##name;
#include "stable/forms.def"
#undef FORM

const struct form_kind *const paucis__form_kinds[] = {
#define FORM(name) &paucis__form_##name,
#include "stable/forms.def"
    NULL};

uint64_t paucis__form_lines(struct span text) {
    uint64_t lines = 0;
    for (const char *at = text.at, *end = text.at + text.len; at < end; lines++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return lines;
}
