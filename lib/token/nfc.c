/* See nfc.h. A code point that nothing before it can change begins a new part; a part is taken
 * apart, its marks are put in order, and it is put together again (UAX 15). Parts of a single such
 * code point are copied. */
#include "token/nfc.h"

#include <stdlib.h>
#include <string.h>

#include "token/nfc_table.h"
#include "token/unicode.h"

/* Below U+0300, whose first byte is CC, nothing combines. */
#define FIRST_LEAD 0xcc

/* Hangul syllables are arithmetic: first consonant, vowel, last consonant. */
enum { S = 0xac00, L = 0x1100, V = 0x1161, T = 0x11a7, NV = 21, NT = 28, NS = 11172 };

bool paucis__is_nfc(struct span text) {
    const uint8_t *p = (const uint8_t *)text.at, *end = p + text.len;
    while (p < end) {
        if (*p < FIRST_LEAD) {
            p++;
            continue;
        }
        size_t n = utf8_len(p, (size_t)(end - p));
        if (n && unicode_may_combine(point_at(p, end).c)) return false;
        p += n ? n : 1;
    }
    return true;
}

/* ---- tables -------------------------------------------------------------------------------- */

static int by_point(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t combining_class(uint32_t c) {
    const struct nfc_class *row = bsearch(&c, paucis__nfc_classes, paucis__nfc_counts[0],
                                          sizeof *paucis__nfc_classes, by_point);
    return row ? row->class : 0;
}

static int by_pair(const void *a, const void *b) {
    const struct nfc_parts *x = a, *y = b;
    if (x->a != y->a) return x->a > y->a ? 1 : -1;
    return (x->b > y->b) - (x->b < y->b);
}

/* What two make, 0 if nothing. */
static uint32_t compose(uint32_t a, uint32_t b) {
    if (a - L < 19 && b - V < NV) return S + ((a - L) * NV + (b - V)) * NT;
    if (a - S < NS && (a - S) % NT == 0 && b - T - 1 < NT - 1) return a + (b - T);
    struct nfc_parts key = {0, a, b};
    const struct nfc_parts *row =
        bsearch(&key, paucis__nfc_pairs, paucis__nfc_counts[2], sizeof *paucis__nfc_pairs, by_pair);
    return row ? row->point : 0;
}

/* ---- one part ------------------------------------------------------------------------------ */

/* Adds a code point, taken apart. The left of two parts may come apart again, at most thrice. */
static bool take_apart(struct mem *m, struct nfc_text *n, uint32_t c) {
    uint32_t behind[8];
    size_t waiting = 0;
    if (!VEC_ROOM(m, n->points, 8)) return false;
    if (c - S < NS) {
        uint32_t i = c - S;
        n->points.at[n->points.count++] = L + i / (NV * NT);
        n->points.at[n->points.count++] = V + i % (NV * NT) / NT;
        if (i % NT) n->points.at[n->points.count++] = T + i % NT;
        return true;
    }
    const struct nfc_parts *row;
    while (waiting < 7 && (row = bsearch(&c, paucis__nfc_parts, paucis__nfc_counts[1],
                                         sizeof *paucis__nfc_parts, by_point))) {
        if (row->b) behind[waiting++] = row->b;
        c = row->a;
    }
    n->points.at[n->points.count++] = c;
    while (waiting > 0) n->points.at[n->points.count++] = behind[--waiting];
    return true;
}

/* Puts marks in the order of their classes; equal ones keep theirs. Counting, because a text may be
 * one run of marks. */
static bool sort_marks(struct mem *m, uint32_t *p, size_t n) {
    size_t place[257] = {0};
    uint32_t *copy = paucis__mem_resize(m, NULL, 0, n * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, p, n * sizeof *copy);
    for (size_t i = 0; i < n; i++) place[combining_class(p[i]) + 1]++;
    for (size_t i = 0; i < 256; i++) place[i + 1] += place[i];
    for (size_t i = 0; i < n; i++) p[place[combining_class(copy[i])]++] = copy[i];
    paucis__mem_resize(m, copy, n * sizeof *copy, 0);
    return true;
}

static bool order_marks(struct mem *m, uint32_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t from = i;
        bool sorted = true;
        for (uint32_t last = 0, now; i < n && (now = combining_class(p[i])); last = now, i++)
            sorted = sorted && now >= last;
        if (!sorted && !sort_marks(m, p + from, i - from)) return false;
    }
    return true;
}

/* Composes in place; returns the new length. */
static size_t put_together(uint32_t *p, size_t n) {
    size_t out = 0, starter = SIZE_MAX;
    uint32_t last = 0; /* class of what stands before, behind the starter */
    for (size_t i = 0; i < n; i++) {
        uint32_t class = combining_class(p[i]), whole = 0;
        bool open = starter != SIZE_MAX && (out == starter + 1 || (last && last < class));
        if (open && (whole = compose(p[starter], p[i]))) {
            p[starter] = whole;
            continue;
        }
        if (!class) starter = out;
        last = class;
        p[out++] = p[i];
    }
    return out;
}

static bool write_point(struct mem *m, struct nfc_text *n, uint32_t c) {
    if (!VEC_ROOM(m, n->out, 4)) return false;
    char *p = n->out.at + n->out.count;
    size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len; i-- > 1; c >>= 6) p[i] = (char)(0x80 | (c & 0x3f));
    p[0] = (char)(lead[len] | c);
    n->out.count += len;
    return true;
}

static bool write_part(struct mem *m, struct nfc_text *n) {
    if (!order_marks(m, n->points.at, n->points.count)) return false;
    size_t count = put_together(n->points.at, n->points.count);
    for (size_t i = 0; i < count; i++)
        if (!write_point(m, n, n->points.at[i])) return false;
    n->points.count = 0;
    return true;
}

paucis_err paucis__nfc(struct mem *m, struct span text, struct nfc_text *n) {
    const uint8_t *p = (const uint8_t *)text.at, *end = p + text.len;
    n->out.count = n->points.count = 0;
    while (p < end) {
        struct point c = point_at(p, end);
        bool is_point = c.c <= 0x10ffff;
        if (!is_point || !unicode_may_combine(c.c))
            if (!write_part(m, n)) return PAUCIS_E_NOMEM;
        if (is_point && !take_apart(m, n, c.c)) return PAUCIS_E_NOMEM;
        if (!is_point) {
            if (!VEC_ROOM(m, n->out, 1)) return PAUCIS_E_NOMEM;
            n->out.at[n->out.count++] = (char)*p;
        }
        p += c.len;
    }
    return write_part(m, n) ? PAUCIS_OK : PAUCIS_E_NOMEM;
}

void paucis__nfc_free(struct mem *m, struct nfc_text *n) {
    VEC_FREE(m, n->out);
    VEC_FREE(m, n->points);
}
