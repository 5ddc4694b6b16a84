/* See items.h. */
#include "stable/items.h"

#include <string.h>

enum { STARTS = 1, GOES_ON = 2, DIGIT = 4, LOWER = 8, UPPER = 16 };

#define LEAST 6 /* bytes of a name */
#define MOST 80
#define LEAST_DIGITS 4

/* By byte. Letters start and go on; digits go on; _ / . do both; ~ starts; : and - go on. */
static const unsigned char classes[256] = {
    ['~'] = STARTS,
    ['_'] = STARTS | GOES_ON,
    ['/'] = STARTS | GOES_ON,
    ['.'] = STARTS | GOES_ON,
    [':'] = GOES_ON,
    ['-'] = GOES_ON,
#define D(c) [c] = GOES_ON | DIGIT
    D('0'),
    D('1'),
    D('2'),
    D('3'),
    D('4'),
    D('5'),
    D('6'),
    D('7'),
    D('8'),
    D('9'),
#define L(c) [c] = STARTS | GOES_ON | LOWER, [c - 32] = STARTS | GOES_ON | UPPER
    L('a'),
    L('b'),
    L('c'),
    L('d'),
    L('e'),
    L('f'),
    L('g'),
    L('h'),
    L('i'),
    L('j'),
    L('k'),
    L('l'),
    L('m'),
    L('n'),
    L('o'),
    L('p'),
    L('q'),
    L('r'),
    L('s'),
    L('t'),
    L('u'),
    L('v'),
    L('w'),
    L('x'),
    L('y'),
    L('z'),
};

static inline unsigned class_of(char c) { return classes[(unsigned char)c]; }

bool paucis__item_next(const char **from, const char *end, struct item *out) {
    const char *at = *from;
    for (;;) {
        while (at < end && !(class_of(*at) & (STARTS | DIGIT))) at++;
        if (at == end) break;
        const char *stop = at + 1;
        if (class_of(*at) & DIGIT) {
            while (stop < end && (class_of(*stop) & DIGIT)) stop++;
            if (stop - at < LEAST_DIGITS) {
                at = stop;
                continue;
            }
        } else {
            const char *most = end - at > MOST ? at + MOST : end;
            while (stop < most && (class_of(*stop) & GOES_ON)) stop++;
            if (stop - at < LEAST) { /* nor can a later byte of it start one, but a ~ may follow */
                while (at < stop && !(class_of(*at) & DIGIT)) at++;
                continue;
            }
        }
        *out = (struct item){at, (size_t)(stop - at)};
        *from = stop;
        return true;
    }
    *from = end;
    return false;
}

bool paucis__item_is_code(const struct item *i) {
    unsigned before = 0, capitals = 0;
    for (size_t k = 0; k < i->len; k++) {
        char c = i->at[k];
        unsigned now = class_of(c);
        if ((now & DIGIT) || c == '_' || c == '/' || c == '~') return true;
        if ((now & UPPER) && (before & LOWER)) return true;
        if ((c == '.' || c == ':') && (before & (LOWER | UPPER)) && k + 1 < i->len &&
            (class_of(i->at[k + 1]) & (LOWER | UPPER | DIGIT)))
            return true;
        if (k < 3) capitals += (now & UPPER) != 0;
        if (capitals == 3) return true;
        before = now;
    }
    return false;
}

/* ---- the set ------------------------------------------------------------------------------- */

static struct item_slot *probe(const struct item_set *s, uint64_t hash) {
    size_t i = (size_t)(((hash ^ s->seed) * 0x9E3779B97F4A7C15u) >> 32) & (s->size - 1);
    while (s->slots[i].hash && s->slots[i].hash != hash) i = (i + 1) & (s->size - 1);
    return &s->slots[i];
}

static bool make_room(struct item_set *s) {
    if (2 * (s->count + 1) <= s->size) return true;
    struct item_set old = *s;
    size_t size = s->size ? 2 * s->size : 1024;
    struct item_slot *slots = paucis__mem_resize(s->mem, NULL, 0, size * sizeof *slots);
    if (!slots) return false;
    memset(slots, 0, size * sizeof *slots);
    s->slots = slots;
    s->size = size;
    for (size_t i = 0; i < old.size; i++)
        if (old.slots[i].hash) *probe(s, old.slots[i].hash) = old.slots[i];
    paucis__mem_resize(s->mem, old.slots, old.size * sizeof *slots, 0);
    return true;
}

struct item_slot *paucis__item_add(struct item_set *s, uint64_t hash) {
    if (!make_room(s)) return NULL;
    struct item_slot *slot = probe(s, hash);
    s->count += !slot->hash;
    slot->hash = hash;
    return slot;
}

struct item_slot *paucis__item_find(const struct item_set *s, uint64_t hash) {
    if (!s->size) return NULL;
    struct item_slot *slot = probe(s, hash);
    return slot->hash ? slot : NULL;
}

void paucis__items_clear(struct item_set *s) {
    if (s->count) memset(s->slots, 0, s->size * sizeof *s->slots);
    s->count = 0;
}

void paucis__items_free(struct item_set *s) {
    paucis__mem_resize(s->mem, s->slots, s->size * sizeof *s->slots, 0);
    *s = (struct item_set){.mem = s->mem, .seed = s->seed};
}
