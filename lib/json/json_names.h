/* Names: the few keys and tags that every message is made of. Adapters ask for them again and
 * again, long after the bytes have left the cache, and each look would fetch them back. So the
 * reader recognises them when it passes by and writes into the node which one it is: a string that
 * is `unusual` without being `escaped` cannot exist otherwise, so these two bits mark it, and
 * `end` holds the number of the name instead of an offset. */
#ifndef PAUCIS_JSON_NAMES_H
#define PAUCIS_JSON_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum json_name {
#define NAME(name) NAME_##name,
#include "json/names.def"
#undef NAME
    JSON_NAMES
};

struct json_name_text {
    const char *text;
    size_t len;
};
extern const struct json_name_text paucis__json_names[JSON_NAMES];

/* The number of a literal, worked out by the compiler. */
static inline __attribute__((always_inline)) enum json_name json_literal_name(const char *text) {
#define NAME(name) \
    if (strcmp(text, #name) == 0) return NAME_##name;
#include "json/names.def"
#undef NAME
    return JSON_NAMES;
}

/* Hash table over the names, filled once per context. A name is told by its length and its first
 * and last eight bytes as words, which overlap; the middle of a longer one is compared as text. */
struct json_name_words {
    uint64_t first, last, len;
};

#define JSON_NAME_SLOTS 1024
#define JSON_NAME_MAX 24
struct json_name_table {
    uint8_t slot[JSON_NAME_SLOTS]; /* number of the name + 1, 0 = free */
    struct json_name_words words[JSON_NAMES];
};
void paucis__json_names_init(struct json_name_table *t);

/* Reads 8 bytes from `at` on whatever len is. */
static inline struct json_name_words json_name_words(const char *at, size_t len) {
    struct json_name_words w = {.len = len};
    unsigned char mask[16] = {255, 255, 255, 255, 255, 255, 255, 255};
    memcpy(&w.first, at, 8);
    if (len < 8) {
        uint64_t m;
        memcpy(&m, mask + 8 - len, 8); /* len bytes of ones in memory order */
        w.last = w.first &= m;
    } else {
        memcpy(&w.last, at + len - 8, 8);
    }
    return w;
}

static inline size_t json_name_slot(struct json_name_words w, size_t len) {
    return (size_t)((w.first * 31 + w.last + len) * 0x9e3779b97f4a7c15ULL >> 54);
}

/* The number of the name that is these bytes, JSON_NAMES if it is none. `room` bytes may be read.
 */
static inline size_t json_name_of(const struct json_name_table *t, const char *at, size_t len,
                                  size_t room) {
    if (!len || len > JSON_NAME_MAX || room < 8) return JSON_NAMES;
    struct json_name_words w = json_name_words(at, len);
    for (size_t i = json_name_slot(w, len); t->slot[i]; i = (i + 1) % JSON_NAME_SLOTS) {
        size_t name = t->slot[i] - 1u;
        const struct json_name_words *n = &t->words[name];
        if (n->first == w.first && n->last == w.last && n->len == w.len &&
            (len <= 16 || memcmp(paucis__json_names[name].text + 8, at + 8, 8) == 0))
            return name;
    }
    return JSON_NAMES;
}

#endif
