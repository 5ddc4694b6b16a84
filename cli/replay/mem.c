/* Memory: an arena for a trace, and lists that double. Out of memory ends the command: replay
 * writes its report only at the end, so nothing is lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

enum { CHUNK = 256 * 1024 };

struct chunk {
    struct chunk *before;
    size_t used, size;
    max_align_t data[];
};

static void *or_end(void *p) {
    if (p) return p;
    complain("out of memory");
    exit(EXIT_USAGE);
}

void *arena_get(struct arena *a, size_t n) {
    size_t need = (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct chunk *c = a->chunk;
    if (!c || c->size - c->used < need) {
        size_t size = need > CHUNK ? need : CHUNK;
        c = or_end(calloc(1, sizeof *c + size));
        c->size = size;
        /* A large block goes behind the current one, whose rest stays in use. */
        if (a->chunk && need > CHUNK / 4) {
            c->before = a->chunk->before;
            a->chunk->before = c;
        } else {
            c->before = a->chunk;
            a->chunk = c;
        }
    }
    void *p = (char *)c->data + c->used;
    c->used += need;
    return p;
}

struct str arena_copy(struct arena *a, struct str s) {
    char *p = arena_get(a, s.len + 1);
    if (s.len) memcpy(p, s.at, s.len);
    return (struct str){p, s.len};
}

struct str arena_buf(struct arena *a, struct buf *b) {
    if (b->failed) or_end(NULL);
    struct str s = arena_copy(a, (struct str){b->data, b->len});
    b->len = 0;
    return s;
}

void arena_free(struct arena *a) {
    while (a->chunk) {
        struct chunk *c = a->chunk;
        a->chunk = c->before;
        free(c);
    }
}

void *heap_get(size_t n) { return or_end(calloc(n ? n : 1, 1)); }

void *grow(void *list, size_t count, size_t *cap, size_t size) {
    if (count < *cap) return list;
    size_t more = *cap ? *cap * 2 : 16;
    if (more > SIZE_MAX / size) or_end(NULL);
    list = or_end(realloc(list, more * size));
    *cap = more;
    return list;
}
