/* What the fuzz targets share: a way to fail, an allocator that keeps books and can be told to
 * fail, and a mutator that changes JSON value by value. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)                                                       \
    do {                                                                       \
        if (!(cond)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* The input without its last `n` bytes, which steer the run; at the end they leave the body itself
 * readable, and a body alone is an input too. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};

/* Takes one byte off the end; 0 if there is none. */
static inline unsigned fuzz_byte(struct fuzz_input *in) {
    return in->size ? in->data[--in->size] : 0;
}

/* ---- allocator ----------------------------------------------------------------------------- */

struct fuzz_heap {
    size_t held, count;
    size_t fail_at; /* this allocation fails, 0 = none; with `for_ever` all after it too */
    bool for_ever, failed;
};

enum { FUZZ_HEADER = 16 };

static inline void *fuzz_resize(void *ud, void *p, size_t old, size_t now) {
    struct fuzz_heap *h = ud;
    size_t known = 0;
    char *block = p ? (char *)p - FUZZ_HEADER : NULL;
    if (block) memcpy(&known, block, sizeof known);
    FUZZ_CHECK(known == old);
    if (!now) {
        free(block);
        h->held -= old;
        return NULL;
    }
    h->count++;
    if (h->fail_at && (h->count == h->fail_at || (h->for_ever && h->count > h->fail_at))) {
        h->failed = true;
        return NULL;
    }
    block = realloc(block, now + FUZZ_HEADER);
    FUZZ_CHECK(block);
    memcpy(block, &now, sizeof now);
    h->held += now - old;
    return block + FUZZ_HEADER;
}

/* ---- mutator ------------------------------------------------------------------------------- */

/* libFuzzer's own; absent where driver.c only replays. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static const char *const fuzz_values[] = {
    "null",
    "[]",
    "{}",
    "\"\"",
    "\" \"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "1",
    "true",
    "\"call_1\"",
    "\"{}\"",
    "\"[\"",
    "{\"type\":\"text\",\"text\":\"t\"}",
    "{\"type\":\"ephemeral\"}",
    "\"user\"",
    "\"assistant\"",
    "\"tool\"",
    "\"system\"",
    "\"model\"",
    "\"error\"",
    "\"tool_use\"",
    "\"tool_result\"",
    "\"thinking\"",
    "\"reasoning\"",
    "\"function_call\"",
};

/* From byte `from` to `to` something else: `text`. Returns the new size, or 0 if it is too long. */
static inline size_t fuzz_splice(uint8_t *data, size_t size, size_t max, size_t from, size_t to,
                                 const uint8_t *text, size_t len) {
    size_t now = size - (to - from) + len;
    if (now > max) return 0;
    uint8_t *copy = malloc(len + 1); /* the text may lie in the data */
    if (!copy) return 0;
    memcpy(copy, text, len);
    memmove(data + from + len, data + to, size - to);
    memcpy(data + from, copy, len);
    free(copy);
    return now;
}

/* A value goes (with its comma), comes twice, or becomes another value of the body or of the
 * table. */
static inline size_t fuzz_change(const struct json *j, size_t node, size_t other, unsigned how,
                                 uint8_t *data, size_t size, size_t max) {
    size_t from = json_from(j, node), to = json_to(j, node);
    const char *word = fuzz_values[other % (sizeof fuzz_values / sizeof *fuzz_values)];
    if (how < 3) /* another value of the body */
        return fuzz_splice(data, size, max, from, to, data + json_from(j, other),
                           json_to(j, other) - json_from(j, other));
    if (how < 5 || json_is_key(j, node - 1))
        return fuzz_splice(data, size, max, from, to, (const uint8_t *)word, strlen(word));
    if (how < 8 && max - size > to - from + 1) { /* twice; the comma becomes the byte between */
        size_t now = fuzz_splice(data, size, max, to, to, data + from, to - from);
        return now ? fuzz_splice(data, now, max, to, to, (const uint8_t *)",", 1) : 0;
    }
    size_t next = json_next(j, node); /* an array element goes */
    char before = json_type(j, node - 1), after = json_type(j, next);
    if (after != ']') return fuzz_splice(data, size, max, from, json_from(j, next), data, 0);
    if (before == '[') return fuzz_splice(data, size, max, from, to, data, 0);
    size_t end =
        before == ']' || before == '}' ? json_from(j, node - 1) + 1 : json_node(j, node - 1)->end;
    return fuzz_splice(data, size, max, end, to, data, 0);
}

/* Half of the time bytes are changed as always, half of the time values. `tail` bytes at the end
 * are no JSON. */
static inline size_t fuzz_mutate(uint8_t *data, size_t size, size_t max, unsigned seed,
                                 size_t tail) {
    struct mem mem = {0};
    struct json j = {0};
    paucis_error e;
    size_t now = 0, body = size > tail ? size - tail : 0;
    uint32_t r = seed * 2654435761u ^ seed >> 15;
    if ((seed & 1) && body && !paucis__json_read(&j, &mem, NULL, (const char *)data, body, &e)) {
        size_t n = j.nodes.count, node = 1 + r % n, other = 1 + (r >> 9) % n;
        bool fit = node < n && other < n && json_type(&j, node) != '}' &&
                   json_type(&j, node) != ']' && json_type(&j, other) != '}' &&
                   json_type(&j, other) != ']' &&
                   !(json_is_string(&j, node) && json_is_key(&j, node)) &&
                   !(json_is_string(&j, other) && json_is_key(&j, other));
        if (fit) now = fuzz_change(&j, node, other, (r >> 4) % 11, data, size, max);
    }
    VEC_FREE(&mem, j.nodes);
    return now ? now : LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max) : size;
}

#define FUZZ_MUTATOR(tail)                                                                  \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);  \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) { \
        return fuzz_mutate(data, size, max, seed, (tail));                                  \
    }

#endif
