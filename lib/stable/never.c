/* See never.h. */
#include "stable/never.h"

#include "core/chars.h"

#include <string.h>

/* Does the whole word fit the pattern? A later * takes over from an earlier one, so this is linear
 * in the product of the lengths and needs no stack. */
static bool fits(struct span pattern, struct span word) {
    size_t p = 0, w = 0, star = SIZE_MAX, from = 0;
    while (w < word.len) {
        if (p < pattern.len && pattern.at[p] == '*') {
            star = p++;
            from = w;
        } else if (p < pattern.len &&
                   (pattern.at[p] == '?' || to_lower(pattern.at[p]) == to_lower(word.at[w]))) {
            p++;
            w++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            w = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.at[p] == '*') p++;
    return p == pattern.len;
}

/* Is there a word in the arguments that fits? Quotes and blanks part words. */
static bool some_word_fits(struct span pattern, struct span text) {
    const char *stops = " \t\r\n\"'`\\,;()[]{}=";
    for (size_t i = 0, n; i < text.len; i = n + 1) {
        for (n = i; n < text.len && !memchr(stops, text.at[n], strlen(stops));) n++;
        if (n > i && fits(pattern, span_of(text.at + i, n - i))) return true;
    }
    return false;
}

bool paucis__never_cut(const char *patterns, struct span name, struct span arguments) {
    struct span kind = paucis__tool_word(paucis__tool_of(name, arguments));
    for (const char *at = patterns; *at;) {
        size_t len = strcspn(at, ","), tool = 0;
        while (tool < len && at[tool] != ':') tool++;
        struct span who = span_of(at, tool);
        bool this_tool = fits(who, name) || fits(who, kind);
        bool any = tool == len;
        if (this_tool && (any || some_word_fits(span_of(at + tool + 1, len - tool - 1), arguments)))
            return true;
        at += len + (at[len] == ',');
    }
    return false;
}
