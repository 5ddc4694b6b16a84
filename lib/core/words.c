/* See words.h. */
#include "core/words.h"

#include <string.h>

size_t paucis__words_number(char *dst, uint64_t n) {
    char digits[20];
    size_t len = 0;
    do digits[len++] = (char)('0' + n % 10);
    while (n /= 10);
    for (size_t i = 0; i < len; i++) dst[i] = digits[len - 1 - i];
    return len;
}

struct span paucis__words(struct arena *a, const char *form, struct span id, uint64_t n,
                          uint64_t m) {
    char *text = paucis__arena_alloc(a, strlen(form) + id.len + 2 * 20), *d = text;
    if (!text) return span_of(NULL, 0);
    for (; *form; form++) {
        if (*form != '%') {
            *d++ = *form;
        } else if (*++form == 'i') {
            memcpy(d, id.at, id.len);
            d += id.len;
        } else {
            d += paucis__words_number(d, *form == 'n' ? n : m);
        }
    }
    return span_of(text, (size_t)(d - text));
}
