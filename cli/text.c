/* Growing text, JSON strings and the search for the nearest word. Nothing here depends on the
 * locale: the program never sets one, so numbers are always written the same way. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- buffer --------------------------------------------------------------------------------- */

bool buf_reserve(struct buf *b, size_t more) {
    if (b->failed) return false;
    if (more <= b->cap - b->len) return true;
    size_t cap = b->cap < 256 ? 256 : b->cap;
    while (cap - b->len < more && cap <= SIZE_MAX / 2) cap *= 2;
    char *data = cap - b->len < more ? NULL : realloc(b->data, cap);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const char *s, size_t n) {
    if (n == 0 || !buf_reserve(b, n)) return;
    memcpy(b->data + b->len, s, n);
    b->len += n;
}

void buf_str(struct buf *b, const char *s) { buf_add(b, s, strlen(s)); }

void buf_fmt(struct buf *b, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        b->failed = true;
    else if (buf_reserve(b, (size_t)n + 1)) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

void buf_free(struct buf *b) {
    free(b->data);
    *b = (struct buf){0};
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* Length of the character at s, 0 if it is none. A lone surrogate written in three bytes counts as
 * a character here: that is how decoded text carries one. */
static size_t char_len(const unsigned char *s, size_t n) {
    unsigned char c = s[0];
    size_t len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (len == 0 || len > n) return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

static void json_char(struct buf *b, unsigned char c) {
    static const char *const named[] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
        ['\n'] = "\\n", ['\r'] = "\\r",  ['\t'] = "\\t"};
    if (named[c])
        buf_str(b, named[c]);
    else
        buf_fmt(b, "\\u%04x", (unsigned)c);
}

void json_str(struct buf *b, const char *s, size_t n) {
    if (!s) {
        buf_str(b, "null");
        return;
    }
    const unsigned char *p = (const unsigned char *)s;
    size_t from = 0, i = 0; /* from: first byte not yet written */
    buf_str(b, "\"");
    while (i < n) {
        size_t len = char_len(p + i, n - i);
        bool plain = p[i] >= 0x20 && p[i] != '"' && p[i] != '\\' && len > 0;
        bool surrogate = len == 3 && p[i] == 0xed && p[i + 1] >= 0xa0;
        if (plain && !surrogate) {
            i += len;
            continue;
        }
        buf_add(b, s + from, i - from);
        if (surrogate)
            buf_fmt(b, "\\u%04x", 0xd000u | (p[i + 1] & 0x3fu) << 6 | (p[i + 2] & 0x3fu));
        else if (len == 0)
            buf_str(b, "\xef\xbf\xbd");
        else
            json_char(b, p[i]);
        i += len == 0 ? 1 : len;
        from = i;
    }
    buf_add(b, s + from, n - from);
    buf_str(b, "\"");
}

void json_cstr(struct buf *b, const char *s) { json_str(b, s, s ? strlen(s) : 0); }

/* ---- nearest word --------------------------------------------------------------------------- */

enum { NEAREST_MAX = 40 }; /* longer words are not compared; no name is */

static size_t min3(size_t a, size_t b, size_t c) {
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Insertions, deletions and replacements needed to turn one word into the other. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m) {
    size_t row[NEAREST_MAX + 1];
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t up = row[j];
            row[j] = min3(up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = up;
        }
    }
    return row[m];
}

void nearest_try(struct nearest *n, const char *candidate) {
    size_t len = strlen(n->word), clen = strlen(candidate);
    if (len > NEAREST_MAX || clen > NEAREST_MAX) return;
    size_t d = edit_distance(n->word, len, candidate, clen);
    if (len >= 3 && strncmp(n->word, candidate, len) == 0)
        d = 1; /* an abbreviation is near, however much is missing */
    if (d <= 1 + len / 3 && (!n->best || d < n->distance)) {
        n->best = candidate;
        n->distance = d;
    }
}
