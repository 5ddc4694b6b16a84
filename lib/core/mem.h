/* Memory: the caller's allocator with a running total, an arena for what lives as long as one
 * request, and arrays that grow. Every allocation may fail; the answer is then NULL or 0 and
 * nothing that was there before is lost. */
#ifndef PAUCIS_MEM_H
#define PAUCIS_MEM_H

#include <stdbool.h>
#include <string.h>

#include "paucis/paucis.h"

struct mem {
    paucis_alloc alloc;
    size_t held, peak;
};

void *paucis__mem_resize(struct mem *m, void *p, size_t old, size_t now);

struct arena_chunk;
struct arena {
    struct mem *mem;
    struct arena_chunk *chunk; /* newest first */
    size_t want;               /* what the last job needed in all */
};

void *paucis__arena_alloc(struct arena *a, size_t n); /* aligned for any object; n may be 0 */
void paucis__arena_reset(struct arena *a);            /* the next job gets one chunk that fits */
void paucis__arena_free(struct arena *a);

/* VEC(type) is an array that grows; all zero is an empty one. */
#define VEC(type)          \
    struct {               \
        type *at;          \
        size_t count, cap; \
    }

/* Room for `extra` more elements? False if memory ran out; the array is then as it was. */
#define VEC_ROOM(mem, v, extra)                                                               \
    ((v).cap - (v).count >= (size_t)(extra) ||                                                \
     ((v).at = paucis__vec_grow((mem), (v).at, sizeof *(v).at, &(v).cap, (v).count, (extra)), \
      (v).cap - (v).count >= (size_t)(extra)))

#define VEC_FREE(mem, v)                                                                  \
    ((void)paucis__mem_resize((mem), (v).at, (v).cap * sizeof *(v).at, 0), (v).at = NULL, \
     (v).count = (v).cap = 0)

void *paucis__vec_grow(struct mem *m, void *at, size_t elem, size_t *cap, size_t count,
                       size_t extra);

/* Bytes with a length, by value; may hold NUL. */
struct span {
    const char *at;
    size_t len;
};

#define SPAN(literal) ((struct span){(literal), sizeof(literal) - 1})

static inline struct span span_of(const char *at, size_t len) { return (struct span){at, len}; }
static inline bool span_same(struct span a, struct span b) {
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}
static inline bool span_begins(struct span s, struct span with) {
    return s.len >= with.len && memcmp(s.at, with.at, with.len) == 0;
}

/* Rows of the library's tables begin with what the outside may see of them. */
#define TABLE_ROW                                \
    union {                                      \
        paucis_info info;                        \
        struct {                                 \
            const char *name, *summary, *detail; \
        };                                       \
    }

#define PAUCIS_TRY(expr)                    \
    do {                                    \
        paucis_err try_ = (expr);           \
        if (try_ != PAUCIS_OK) return try_; \
    } while (0)

#endif
