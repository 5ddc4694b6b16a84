/* See memo.h. A table of fixed size in sets of four, the newest first; the oldest of a set goes. A
 * set is guarded by a flag that is held for a few instructions, so threads hardly ever meet.
 *
 * Nobody can make one text pass for another: keys are 128 bits of XXH3 under a secret of 192 random
 * bytes that is made with the memo and never leaves it. */
#include "token/memo.h"

#include <stdatomic.h>
#include <string.h>

#include "core/hash.h"
#include "core/os.h"

enum { WAYS = 4, LOG_MOST = 26, SECRET = 192 };

struct memo_set {
    struct memo_key key[WAYS];
    uint64_t count[WAYS]; /* plus one; 0 = empty */
    atomic_flag busy;
};

struct paucis_memo {
    struct mem mem;
    struct memo_set *sets;
    unsigned log;
    uint8_t secret[SECRET];
};

paucis_err paucis_memo_new(paucis_memo **out, size_t entries, const paucis_alloc *alloc) {
    struct mem mem = {0};
    if (out) *out = NULL;
    if (!out || !entries || (alloc && !alloc->resize)) return PAUCIS_E_ARG;
    if (alloc) mem.alloc = *alloc;
    paucis_memo *m = paucis__mem_resize(&mem, NULL, 0, sizeof *m);
    if (!m) return PAUCIS_E_NOMEM;
    memset(m, 0, sizeof *m);
    while (m->log < LOG_MOST && (size_t)WAYS << m->log < entries) m->log++;
    size_t size = sizeof *m->sets << m->log;
    m->sets = paucis__mem_resize(&mem, NULL, 0, size);
    m->mem = mem;
    if (!m->sets) {
        paucis__mem_resize(&mem, m, sizeof *m, 0);
        return PAUCIS_E_NOMEM;
    }
    memset((void *)m->sets, 0, size);
    for (size_t i = 0; i < (size_t)1 << m->log; i++) atomic_flag_clear(&m->sets[i].busy);
    for (size_t i = 0; i < SECRET; i += sizeof(uint64_t)) {
        uint64_t x = paucis__os_seed();
        memcpy(m->secret + i, &x, sizeof x);
    }
    *out = m;
    return PAUCIS_OK;
}

void paucis_memo_free(paucis_memo *m) {
    if (!m) return;
    struct mem mem = m->mem;
    paucis__mem_resize(&mem, m->sets, sizeof *m->sets << m->log, 0);
    paucis__mem_resize(&mem, m, sizeof *m, 0);
}

struct memo_key paucis__memo_key(const struct paucis_memo *m, uint64_t vocab, struct span text) {
    XXH128_hash_t h = XXH3_128bits_withSecret(text.at, text.len, m->secret, SECRET);
    return (struct memo_key){h.low64 ^ vocab, h.high64 + (uint64_t)text.len};
}

static struct memo_set *memo_enter(struct paucis_memo *m, struct memo_key k) {
    struct memo_set *s = &m->sets[k.a & (((size_t)1 << m->log) - 1)];
    while (atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire)) continue;
    return s;
}

static void memo_leave(struct memo_set *s) {
    atomic_flag_clear_explicit(&s->busy, memory_order_release);
}

/* Moves entry i to the front of its set. */
static void memo_front(struct memo_set *s, size_t i, struct memo_key k, uint64_t count) {
    memmove(&s->key[1], &s->key[0], i * sizeof s->key[0]);
    memmove(&s->count[1], &s->count[0], i * sizeof s->count[0]);
    s->key[0] = k;
    s->count[0] = count;
}

bool paucis__memo_find(struct paucis_memo *m, struct memo_key k, uint64_t *count) {
    struct memo_set *s = memo_enter(m, k);
    size_t i = 0;
    while (i < WAYS && (!s->count[i] || s->key[i].a != k.a || s->key[i].b != k.b)) i++;
    if (i < WAYS) {
        *count = s->count[i] - 1;
        memo_front(s, i, k, s->count[i]);
    }
    memo_leave(s);
    return i < WAYS;
}

void paucis__memo_add(struct paucis_memo *m, struct memo_key k, uint64_t count) {
    struct memo_set *s = memo_enter(m, k);
    memo_front(s, WAYS - 1, k, count + 1);
    memo_leave(s);
}
