/* Head and tail of a text, and between them how much is missing. The plainest form there is, and
 * the one that others are measured against. The dial is the length of head and tail together, in
 * units of 16 bytes; cuts fall on line ends where one is near, else between characters. */
#include "stable/form.h"

#include <string.h>

#define UNIT 16 /* bytes a step of the dial */
#define LEAST_GAIN 64

static bool is_inside_character(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* At most `want` bytes from the start; to the end of a line if one ends in the last half. */
static size_t head_len(struct span text, size_t want) {
    size_t n = want;
    while (n && is_inside_character(text.at[n])) n--;
    for (size_t i = n; i > want / 2; i--)
        if (text.at[i - 1] == '\n') return i;
    return n;
}

static size_t tail_from(struct span text, size_t want) {
    size_t from = text.len - want;
    while (from < text.len && is_inside_character(text.at[from])) from++;
    for (size_t i = from; i < text.len - want / 2; i++)
        if (text.at[i] == '\n') return i + 1;
    return from;
}

static paucis_err cut(struct forms *f, struct span text, size_t head, size_t tail,
                      struct span *out) {
    *out = text;
    if (text.len < head + tail + LEAST_GAIN) return PAUCIS_OK;
    size_t to = head_len(text, head), from = tail_from(text, tail);
    struct span lost = span_of(text.at + to, from - to);
    struct span gap = paucis__words(f->arena, "[... %n lines, %m bytes left out ...]", SPAN(""),
                                    paucis__form_lines(lost), lost.len);
    bool newline = to && text.at[to - 1] != '\n';
    size_t n = to + newline + gap.len + 1 + (text.len - from);
    char *copy = paucis__arena_alloc(f->arena, n), *at = copy;
    if (!gap.at || !copy) return PAUCIS_E_NOMEM;
    memcpy(at, text.at, to);
    at += to;
    if (newline) *at++ = '\n';
    memcpy(at, gap.at, gap.len);
    at += gap.len;
    *at++ = '\n';
    memcpy(at, text.at + from, text.len - from);
    if (n + LEAST_GAIN <= text.len) *out = span_of(copy, n);
    return PAUCIS_OK;
}

static paucis_err snippet_brief(struct forms *f, const struct form_text *t, struct span *out) {
    size_t side = (size_t)f->keep * UNIT / 2;
    return cut(f, t->text, side, side, out);
}

static paucis_err snippet_capped(struct forms *f, const struct form_text *t, size_t cap,
                                 struct span *out) {
    return cut(f, t->text, cap / 2, cap - cap / 2, out);
}

const struct form_kind paucis__form_snippet = {.name = "snippet",
                                               .summary = "head and tail",
                                               .brief = snippet_brief,
                                               .capped = snippet_capped};
