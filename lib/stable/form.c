/* See form.h. */
#include "stable/form.h"

#include "core/chars.h"
#include "stable/kind_json.h"

#include <string.h>

#define MAX_ID 128 /* bytes: a longer one does not help a reader */

#define FORM(name) extern const struct form_kind paucis__form_##name;
#include "stable/forms.def"
#undef FORM

const struct form_kind *const paucis__form_kinds[] = {
#define FORM(name) &paucis__form_##name,
#include "stable/forms.def"
    NULL};

/* Written so that the compiler makes vector code of it: 128 at a time are counted in a byte. */
uint64_t paucis__form_lines(struct span text) {
    const uint8_t *s = (const uint8_t *)text.at, *end = s + text.len;
    uint64_t lines = text.len && text.at[text.len - 1] != '\n';
    for (; end - s >= 128; s += 128) {
        uint8_t n = 0;
        for (size_t i = 0; i < 128; i++) n = (uint8_t)(n + (s[i] == '\n'));
        lines += n;
    }
    for (; s < end; s++) lines += *s == '\n';
    return lines;
}

bool paucis__form_is_id(struct span id) {
    for (size_t i = 0; i < id.len; i++)
        if ((unsigned char)id.at[i] <= ' ' || id.at[i] == ']' || id.at[i] == '[') return false;
    return id.len && id.len <= MAX_ID;
}

size_t paucis__form_gap(struct span text) {
    const char *at = text.at, *end = at + text.len;
    for (; (at = memchr(at, '[', (size_t)(end - at))) && end - at > 4; at++)
        if (!memcmp(at, "[\xE2\x80\xA6", 4) && is_digit(at[4])) return (size_t)(at - text.at);
    return SIZE_MAX;
}

/* JSON has its gaps inside lines, and perhaps a note behind it. Every other form that loses
 * something has a line that begins like one of these. */
bool paucis__form_is_ours(struct span text) {
    if (paucis__json_may_begin(text) && paucis__form_gap(text) != SIZE_MAX) return true;
    static const char *const marks[] = {"[\xE2\x80\xA6", "[... ", "[identical to "};
    for (const char *at = text.at, *end = at + text.len; at < end;) {
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
            size_t n = strlen(marks[i]);
            if ((size_t)(end - at) >= n && !memcmp(at, marks[i], n)) return true;
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return false;
}
