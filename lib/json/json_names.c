/* See json_names.h. */
#include "json/json_names.h"

const struct json_name_text paucis__json_names[JSON_NAMES] = {
#define NAME(name) {#name, sizeof #name - 1},
#include "json/names.def"
#undef NAME
};

_Static_assert(JSON_NAMES * 2 < JSON_NAME_SLOTS, "the table of names is more than half full");

#define NAME(name) _Static_assert(sizeof #name - 1 <= JSON_NAME_MAX, "a name is too long");
#include "json/names.def"
#undef NAME

void paucis__json_names_init(struct json_name_table *t) {
    memset(t, 0, sizeof *t);
    for (uint32_t k = 0; k < JSON_NAMES; k++) {
        char text[JSON_NAME_MAX + 8] = {0};
        uint32_t len = (uint32_t)paucis__json_names[k].len;
        memcpy(text, paucis__json_names[k].text, len);
        struct json_name_words w = json_name_words(text, len);
        size_t i = json_name_slot(w, len);
        while (t->slot[i].len) i = (i + 1) % JSON_NAME_SLOTS;
        t->slot[i].first = w.first;
        t->slot[i].last = w.last;
        t->slot[i].name = k;
        t->slot[i].len = len;
    }
}
