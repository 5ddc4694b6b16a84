/* See items.h. */
#include "stable/items.h"

#include <string.h>

#define LEAST 6 /* bytes of a name */
#define MOST 80
#define LEAST_DIGITS 4

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- bytes to bits ------------------------------------------------------------------------- */

/* Letters, _ / . start and go on; digits, : and - go on; ~ starts. Made for vector code: no table
 * and no branch; - . / 0 ... 9 : are neighbours. A bit for each enum item_bit, where ITEM_BEGINS
 * only says that a name may start here. */
static inline uint8_t class_of(uint8_t c) {
    uint8_t both = ((uint8_t)((c | 0x20) - 'a') < 26) | (c == '_');
    uint8_t starts = both | ((uint8_t)(c - '.') < 2) | (c == '~');
    uint8_t goes_on = both | ((uint8_t)(c - '-') < 14);
    uint8_t digit = (uint8_t)(c - '0') < 10, newline = c == '\n';
    return (uint8_t)(starts << ITEM_BEGINS | goes_on << ITEM_GOES_ON | digit << ITEM_DIGIT |
                     newline << ITEM_NEWLINE);
}

static inline uint64_t eight(const uint8_t *p) { /* the first byte lowest, on any machine */
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

static struct item_block look(const uint8_t *at) {
    uint8_t class[64];
    struct item_block b = {{0}};
    for (size_t i = 0; i < 64; i++) class[i] = class_of(at[i]);
    for (unsigned i = 0; i < 64; i += 8) {
        uint64_t w = eight(class + i);
        for (unsigned k = 0; k < ITEM_BITS; k++) /* the product has byte i's bit at 56 + i */
            b.bits[k] |= (w >> k & 0x0101010101010101u) * 0x0102040810204080u >> 56 << i;
    }
    return b;
}

/* 64 bits from `bit` of the first word on. */
static inline uint64_t window(uint64_t first, uint64_t second, unsigned bit) {
    return first >> bit | second << 1 << (63 - bit);
}

/* A name begins where it may start and goes on for five bytes; a number at four digits. A place
 * inside an item counts too: who reads from the left passes over it. */
static void find_beginnings(struct item_block *b) {
    uint64_t name = b->bits[ITEM_BEGINS], number = b->bits[ITEM_DIGIT];
    for (unsigned i = 1; i < LEAST; i++)
        name &= window(b->bits[ITEM_GOES_ON], b[1].bits[ITEM_GOES_ON], i);
    for (unsigned i = 1; i < LEAST_DIGITS; i++)
        number &= window(b->bits[ITEM_DIGIT], b[1].bits[ITEM_DIGIT], i);
    b->bits[ITEM_BEGINS] = name | number;
}

paucis_err paucis__item_text(struct item_text *t, struct span text) {
    size_t full = text.len / 64;
    t->at = text.at;
    t->len = text.len;
    t->blocks.count = 0;
    if (!VEC_ROOM(t->mem, t->blocks, full + 2)) return PAUCIS_E_NOMEM;
    t->blocks.count = full + 2;
    struct item_block *b = t->blocks.at;
    uint8_t rest[64] = {0};
    memcpy(rest, text.at + 64 * full, text.len % 64);
    for (size_t i = 0; i < full; i++) {
        b[i] = look((const uint8_t *)text.at + 64 * i);
        if (i) find_beginnings(&b[i - 1]);
    }
    b[full] = look(rest);
    b[full + 1] = (struct item_block){{0}};
    if (full) find_beginnings(&b[full - 1]);
    find_beginnings(&b[full]);
    return PAUCIS_OK;
}

/* ---- bits to items ------------------------------------------------------------------------- */

static inline unsigned first_bit(uint64_t bits) {
#ifdef __GNUC__
    return (unsigned)__builtin_ctzll(bits);
#else
    unsigned n = 0;
    for (; !(bits & 1); bits >>= 1) n++;
    return n;
#endif
}

/* The first place from `at` on that has this bit, or has it not; `end` if there is none before. */
static inline size_t find(const struct item_text *t, enum item_bit bit, bool has, size_t at,
                          size_t end) {
    for (; at < end; at += 64) {
        const struct item_block *b = &t->blocks.at[at / 64];
        uint64_t bits = window(b[0].bits[bit], b[1].bits[bit], at % 64);
        if (!has) bits = ~bits;
        if (!bits) continue;
        at += first_bit(bits);
        return at < end ? at : end;
    }
    return end;
}

bool paucis__item_next(const struct item_text *t, size_t *from, size_t end, struct item *out) {
    for (size_t at = *from; (at = find(t, ITEM_BEGINS, true, at, end)) < end; at++) {
        bool number = is_digit(t->at[at]);
        size_t most = number || end - at < MOST ? end : at + MOST;
        size_t stop = find(t, number ? ITEM_DIGIT : ITEM_GOES_ON, false, at + 1, most);
        if (stop - at < (number ? LEAST_DIGITS : LEAST)) continue; /* `end` cuts it off */
        *out = (struct item){.at = t->at + at, .len = (uint32_t)(stop - at)};
        *from = stop;
        return true;
    }
    *from = end;
    return false;
}

size_t paucis__item_line_end(const struct item_text *t, size_t at) {
    size_t newline = find(t, ITEM_NEWLINE, true, at, t->len);
    return newline < t->len ? newline + 1 : t->len;
}

bool paucis__item_is_code(const char *at, size_t len) {
    char before = 0;
    unsigned capitals = 0;
    for (size_t k = 0; k < len; before = at[k++]) {
        char c = at[k];
        if (is_digit(c) || c == '_' || c == '/' || c == '~') return true;
        if (is_upper(c) && is_lower(before)) return true;
        if ((c == '.' || c == ':') && (is_lower(before) || is_upper(before)) && k + 1 < len &&
            (is_lower(at[k + 1]) || is_upper(at[k + 1]) || is_digit(at[k + 1])))
            return true;
        if (k < 3) capitals += is_upper(c);
        if (capitals == 3) return true;
    }
    return false;
}

/* ---- the set ------------------------------------------------------------------------------- */

#define LEAST_SLOTS 1024

static size_t place_of(const struct item_set *s, uint64_t hash) {
    return (size_t)(((hash ^ s->seed) * 0x9E3779B97F4A7C15u) >> 32) & (s->size - 1);
}

static uint64_t slot_of(uint64_t hash, size_t entry) { return (hash >> 32 << 32) | (entry + 1); }

static bool make_room(struct item_set *s) {
    size_t count = s->entries.count;
    if (!VEC_ROOM(s->mem, s->entries, 1) || count >= UINT32_MAX - 1) return false;
    if (2 * (count + 1) <= s->size) return true;
    size_t size = s->size ? 2 * s->size : LEAST_SLOTS;
    uint64_t *slots = paucis__mem_resize(s->mem, NULL, 0, size * sizeof *slots);
    if (!slots) return false;
    memset(slots, 0, size * sizeof *slots);
    paucis__mem_resize(s->mem, s->slots, s->size * sizeof *slots, 0);
    s->slots = slots;
    s->size = size;
    for (size_t k = 0; k < count; k++) {
        size_t i = place_of(s, s->entries.at[k].hash);
        while (slots[i]) i = (i + 1) & (size - 1);
        slots[i] = slot_of(s->entries.at[k].hash, k);
    }
    return true;
}

struct item_entry *paucis__item_add(struct item_set *s, uint64_t hash) {
    if (!make_room(s)) return NULL;
    size_t i = place_of(s, hash);
    for (; s->slots[i]; i = (i + 1) & (s->size - 1)) {
        if ((s->slots[i] ^ hash) >> 32) continue;
        struct item_entry *e = &s->entries.at[(uint32_t)s->slots[i] - 1];
        if (e->hash == hash) return e;
    }
    size_t count = s->entries.count++;
    s->slots[i] = slot_of(hash, count);
    s->entries.at[count] = (struct item_entry){hash, 0};
    return &s->entries.at[count];
}

void paucis__items_clear(struct item_set *s) {
    size_t count = s->entries.count;
    s->entries.count = 0;
    if (s->size > LEAST_SLOTS && s->size / 16 > count) /* else small ones would pay for a large */
        paucis__items_free(s);
    else if (count)
        memset(s->slots, 0, s->size * sizeof *s->slots);
}

void paucis__items_free(struct item_set *s) {
    paucis__mem_resize(s->mem, s->slots, s->size * sizeof *s->slots, 0);
    VEC_FREE(s->mem, s->entries);
    s->slots = NULL;
    s->size = 0;
}
