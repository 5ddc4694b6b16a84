/* See items.h. */
#include "stable/items.h"

#include "core/chars.h"

#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define LEAST 6 /* bytes of a name */
#define MOST 80
#define LEAST_DIGITS 4

/* ---- bytes to bits ------------------------------------------------------------------------- */

/* Letters, _ / . start and go on; digits, : and - go on; ~ starts. Note that - . / 0 ... 9 : are
 * neighbours. ITEM_BEGINS only says here that a name may start. */
#ifdef __SSE2__ /* every x86-64 has it */

/* Bytes from `first` on, `count` of them. */
static inline __m128i among(__m128i v, char first, char count) {
    v = _mm_sub_epi8(v, _mm_set1_epi8(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8((char)(count - 1))), v);
}
static inline __m128i is(__m128i v, char c) { return _mm_cmpeq_epi8(v, _mm_set1_epi8(c)); }
static inline uint64_t bits(__m128i v) { return (uint64_t)_mm_movemask_epi8(v); }

static struct item_block look(const uint8_t *at) {
    struct item_block b = {{0}};
    for (unsigned i = 0; i < 64; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        __m128i letter = among(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 26);
        __m128i both = _mm_or_si128(letter, is(v, '_'));
        __m128i starts = _mm_or_si128(among(v, '.', 2), is(v, '~'));
        b.bits[ITEM_BEGINS] |= bits(_mm_or_si128(both, starts)) << i;
        b.bits[ITEM_GOES_ON] |= bits(_mm_or_si128(both, among(v, '-', 14))) << i;
        b.bits[ITEM_DIGIT] |= bits(among(v, '0', 10)) << i;
        b.bits[ITEM_NEWLINE] |= bits(is(v, '\n')) << i;
    }
    return b;
}

#else

static inline bool among(uint8_t c, char first, unsigned count) {
    return (unsigned)(c - first) < count;
}

static struct item_block look(const uint8_t *at) {
    struct item_block b = {{0}};
    for (unsigned i = 0; i < 64; i++) {
        uint8_t c = at[i];
        bool both = among(c | 0x20, 'a', 26) || c == '_';
        b.bits[ITEM_BEGINS] |= (uint64_t)(both || among(c, '.', 2) || c == '~') << i;
        b.bits[ITEM_GOES_ON] |= (uint64_t)(both || among(c, '-', 14)) << i;
        b.bits[ITEM_DIGIT] |= (uint64_t)among(c, '0', 10) << i;
        b.bits[ITEM_NEWLINE] |= (uint64_t)(c == '\n') << i;
    }
    return b;
}
#endif

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
    t->text = text;
    t->items.count = 0;
    if (!VEC_ROOM(t->mem, t->blocks, full + 2)) return PAUCIS_E_NOMEM;
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

size_t paucis__item_seek(const struct item_text *t, enum item_bit bit, bool has, size_t at,
                         size_t end) {
    for (; at < end; at += 64) {
        uint64_t bits = item_window(t, bit, at);
        if (!has) bits = ~bits;
        if (!bits) continue;
        at += item_first_bit(bits);
        return at < end ? at : end;
    }
    return end;
}

/* An item of 64 bytes or more, or a run of many: names end after MOST bytes. Returns where
 * it ends. */
static size_t long_item(struct item_text *t, size_t at, bool number) {
    enum item_bit bit = number ? ITEM_DIGIT : ITEM_GOES_ON;
    size_t end = paucis__item_seek(t, bit, false, at + 1, t->text.len), from = at;
    while (at < end) {
        number = t->blocks.at[at / 64].bits[ITEM_DIGIT] >> at % 64 & 1;
        from = number ? paucis__item_seek(t, ITEM_DIGIT, false, at, end) : at + MOST;
        if (from > end) from = end;
        t->items.at[t->items.count++] = (struct item_spot){(uint32_t)at, (uint32_t)(from - at)};
        at = paucis__item_seek(t, ITEM_BEGINS, true, from, end);
    }
    return end;
}

/* Places where an item may begin are looked at from left to right, the first of each stretch of
 * them; those inside the last item are passed over. Nothing here but the number of places is hard
 * to foresee for a processor: that is what makes it fast. */
paucis_err paucis__item_scan(struct item_text *t) {
    size_t from = 0, nblocks = t->text.len / 64 + 1, most = t->text.len / LEAST_DIGITS + 1;
    uint64_t before = 0;
    if (!VEC_ROOM(t->mem, t->items, most)) return PAUCIS_E_NOMEM;
    for (size_t block = 0; block < nblocks; block++) {
        const struct item_block *b = &t->blocks.at[block];
        uint64_t begins = b->bits[ITEM_BEGINS], places = begins & ~(begins << 1 | before);
        before = begins >> 63;
        for (; places; places &= places - 1) {
            unsigned bit = item_first_bit(places);
            size_t at = block * 64 + bit;
            bool number = b->bits[ITEM_DIGIT] >> bit & 1;
            enum item_bit kind = number ? ITEM_DIGIT : ITEM_GOES_ON;
            uint64_t more = item_window(t, kind, at) >> 1;
            size_t len = 1 + item_first_bit(~more);
            bool is_new = at >= from;
            if (is_new && len == 64) {
                from = long_item(t, at, number);
                continue;
            }
            t->items.at[t->items.count] = (struct item_spot){(uint32_t)at, (uint32_t)len};
            t->items.count += is_new;
            from = is_new ? at + len : from;
        }
    }
    return PAUCIS_OK;
}

bool paucis__item_is_code(const char *at, size_t len) {
    bool letter = false, lower = false, capitals = len >= 3; /* of the byte before; all so far */
    for (size_t k = 0; k < len; k++) {
        char c = at[k];
        if (is_lower(c)) {
            letter = lower = true;
            capitals = false;
        } else if (is_upper(c)) {
            if (lower || (capitals && k == 2)) return true;
            letter = true;
        } else if (is_digit(c) || c == '_' || c == '/' || c == '~') {
            return true;
        } else { /* . : - */
            char next = k + 1 < len ? at[k + 1] : 0;
            if (c != '-' && letter && (is_lower(next) || is_upper(next) || is_digit(next)))
                return true;
            letter = lower = capitals = false;
        }
    }
    return false;
}

/* ---- the set ------------------------------------------------------------------------------- */

#define LEAST_SLOTS 1024

/* Twice as many slots. */
bool paucis__items_grow(struct item_set *s) {
    size_t count = s->values.count, size = s->size ? 2 * s->size : LEAST_SLOTS;
    if (size / 2 >= NO_ITEM || !VEC_ROOM(s->mem, s->values, size / 2 - count) ||
        !VEC_ROOM(s->mem, s->hashes, size / 2 - count))
        return false;
    if (size > s->room) {
        uint64_t *slots = paucis__mem_resize(s->mem, NULL, 0, size * sizeof *slots);
        if (!slots) return false;
        paucis__mem_resize(s->mem, s->slots, s->room * sizeof *slots, 0);
        s->slots = slots;
        s->room = size;
    }
    s->size = size;
    memset(s->slots, 0, size * sizeof *s->slots);
    for (size_t i = 0; i < count; i++)
        *item_slot(s, s->hashes.at[i]) = item_tag(s->hashes.at[i], i);
    return true;
}

/* The table shrinks to what was needed: clearing it must not cost more than filling it did. */
void paucis__items_clear(struct item_set *s) {
    while (s->size > LEAST_SLOTS && s->size / 8 > s->values.count) s->size /= 2;
    if (s->size) memset(s->slots, 0, s->size * sizeof *s->slots);
    s->hashes.count = s->values.count = 0;
}

void paucis__items_free(struct item_set *s) {
    paucis__mem_resize(s->mem, s->slots, s->room * sizeof *s->slots, 0);
    VEC_FREE(s->mem, s->hashes);
    VEC_FREE(s->mem, s->values);
    s->slots = NULL;
    s->size = s->room = 0;
}
