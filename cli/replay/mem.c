/* Memory: an arena for a trace, and lists that double. Out of memory ends the command: replay
 * writes its report only at the end, so nothing is lost. */
#include "replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- texts to numbers ------------------------------------------------------------------------ */

uint32_t hash_text(struct str s) {
    uint64_t h = s.len * 0x9e3779b97f4a7c15u, w = 0;
    size_t i = 0;
    for (; i + 8 <= s.len; i += 8) {
        memcpy(&w, s.at + i, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 29;
    }
    w = 0;
    for (size_t k = 0; i < s.len; i++, k += 8) w |= (uint64_t)(unsigned char)s.at[i] << k;
    h = (h ^ w) * 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(h ^ h >> 32);
}

static void map_widen(struct map *m) {
    size_t slots = m->slots ? 2 * (m->mask + 1) : 64;
    free(m->slots);
    m->slots = heap_get(slots * sizeof *m->slots);
    m->mask = slots - 1;
    for (size_t i = 0; i < m->count; i++) {
        size_t k = m->entries[i].hash & m->mask;
        while (m->slots[k]) k = (k + 1) & m->mask;
        m->slots[k] = (uint32_t)i + 1;
    }
}

size_t map_find(struct map *m, struct str key, bool add) {
    uint32_t h = hash_text(key);
    if (!m->slots || 2 * m->count > m->mask) map_widen(m);
    size_t k = h & m->mask;
    for (; m->slots[k]; k = (k + 1) & m->mask) {
        size_t i = m->slots[k] - 1;
        if (m->entries[i].hash == h && str_eq(m->entries[i].key, key)) return i;
    }
    if (!add) return NONE;
    struct map_entry *e = PUSH(m->entries, m->count, m->cap);
    *e = (struct map_entry){key, h};
    m->slots[k] = (uint32_t)m->count;
    return m->count - 1;
}

void map_free(struct map *m) {
    free(m->entries);
    free(m->slots);
}
