/* See mem.h. An arena is a list of chunks, newest first; each chunk doubles, so a request needs a
 * handful of allocations whatever its size. Under AddressSanitizer free space is poisoned and every
 * allocation is followed by a red zone. */
#include "core/mem.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define MEM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEM_ASAN 1
#endif
#endif
#ifdef MEM_ASAN
#include <sanitizer/asan_interface.h>
#define MEM_RED_ZONE 16
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define MEM_RED_ZONE 0
#endif

#define ARENA_ALIGN ((size_t)16)
#define ARENA_FIRST ((size_t)4096)

struct arena_chunk {
    struct arena_chunk *older;
    size_t size, used; /* of the whole chunk, this header included */
};

#define ARENA_HEADER ((sizeof(struct arena_chunk) + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1))

static void *mem_libc(void *ud, void *p, size_t old, size_t now) {
    (void)ud;
    (void)old;
    if (now) return realloc(p, now);
    free(p);
    return NULL;
}

void *paucis__mem_resize(struct mem *m, void *p, size_t old, size_t now) {
    if (!p && !now) return NULL;
    void *q =
        m->alloc.resize ? m->alloc.resize(m->alloc.ud, p, old, now) : mem_libc(NULL, p, old, now);
    if (!q && now) return NULL;
    m->held = m->held - old + now;
    if (m->held > m->peak) m->peak = m->held;
    return q;
}

static struct arena_chunk *arena_grow(struct arena *a, size_t need) {
    size_t size = a->chunk ? a->chunk->size * 2 : ARENA_FIRST;
    if (!a->chunk && size < a->want) size = a->want;
    if (size < need + ARENA_HEADER) size = need + ARENA_HEADER;
    struct arena_chunk *c = paucis__mem_resize(a->mem, NULL, 0, size);
    if (!c) return NULL;
    *c = (struct arena_chunk){a->chunk, size, ARENA_HEADER};
    ASAN_POISON_MEMORY_REGION((char *)c + ARENA_HEADER, size - ARENA_HEADER);
    a->chunk = c;
    return c;
}

void *paucis__arena_alloc(struct arena *a, size_t n) {
    if (n > SIZE_MAX / 2) return NULL;
    size_t need = ((n + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1)) + MEM_RED_ZONE;
    if (!need) need = ARENA_ALIGN;
    struct arena_chunk *c = a->chunk;
    if ((!c || c->size - c->used < need) && !(c = arena_grow(a, need))) return NULL;
    void *p = (char *)c + c->used;
    c->used += need;
    ASAN_UNPOISON_MEMORY_REGION(p, n);
    return p;
}

static void arena_free_chain(struct arena *a, struct arena_chunk *c) {
    while (c) {
        struct arena_chunk *older = c->older;
        ASAN_UNPOISON_MEMORY_REGION(c, c->size);
        paucis__mem_resize(a->mem, c, c->size, 0);
        c = older;
    }
}

void paucis__arena_reset(struct arena *a) {
    if (!a->chunk) return;
    if (a->chunk
            ->older) { /* several chunks: give them back and let the next job have one as large */
        a->want = 0;
        for (const struct arena_chunk *c = a->chunk; c; c = c->older) a->want += c->used;
        paucis__arena_free(a);
        return;
    }
    a->chunk->used = ARENA_HEADER;
    ASAN_POISON_MEMORY_REGION((char *)a->chunk + ARENA_HEADER, a->chunk->size - ARENA_HEADER);
}

void paucis__arena_free(struct arena *a) {
    arena_free_chain(a, a->chunk);
    a->chunk = NULL;
}

void *paucis__vec_grow(struct mem *m, void *at, size_t elem, size_t *cap, size_t count,
                       size_t extra) {
    if (extra > SIZE_MAX / 2 / elem - count) return at;
    size_t want = count + count / 4 + 16; /* more often, but less of it stays unused */
    if (want < count + extra) want = count + extra;
    if (want > SIZE_MAX / 2 / elem) want = count + extra;
    void *p = paucis__mem_resize(m, at, *cap * elem, want * elem);
    if (!p) return at;
    *cap = want;
    return p;
}
