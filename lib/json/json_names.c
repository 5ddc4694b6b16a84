/* See json_names.h. */
#include "json/json_names.h"

#include <string.h>

const struct json_name_text paucis__json_names[JSON_NAMES] = {
#define NAME(name) {#name, sizeof #name - 1},
#include "json/names.def"
#undef NAME
};

_Static_assert(JSON_NAMES * 2 < JSON_NAME_SLOTS, "the table of names is more than half full");

#define NAME_MIN 2 /* length of the shortest and the longest name */
#define NAME_MAX 23

/* First and last eight bytes (they may overlap) and the length tell all names apart well enough. */
static size_t name_slot(const char *at, size_t len) {
    uint64_t first = 0, last = 0;
    size_t n = len < 8 ? len : 8;
    memcpy(&first, at, n);
    memcpy(&last, at + len - n, n);
    return (size_t)((first * 31 + last + len) * 0x9e3779b97f4a7c15ULL >> 56);
}

void paucis__json_names_init(struct json_name_table *t) {
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < JSON_NAMES; i++) {
        size_t slot = name_slot(paucis__json_names[i].text, paucis__json_names[i].len);
        while (t->at[slot]) slot = (slot + 1) % JSON_NAME_SLOTS;
        t->at[slot] = (uint8_t)(i + 1);
    }
}

size_t paucis__json_name_of(const struct json_name_table *t, const char *at, size_t len) {
    if (len < NAME_MIN || len > NAME_MAX) return JSON_NAMES;
    for (size_t slot = name_slot(at, len); t->at[slot]; slot = (slot + 1) % JSON_NAME_SLOTS) {
        const struct json_name_text *n = &paucis__json_names[t->at[slot] - 1];
        if (n->len == len && memcmp(n->text, at, len) == 0) return t->at[slot] - 1u;
    }
    return JSON_NAMES;
}
