/* See json_names.h. */
#include "json/json_names.h"

const struct json_name_text paucis__json_names[JSON_NAMES] = {
#define NAME(name) {#name, sizeof #name - 1},
#include "json/names.def"
#undef NAME
};

_Static_assert(JSON_NAMES < 128 && JSON_NAMES * 2 < JSON_NAME_SLOTS,
               "the table of names is more than half full");

#define NAME(name) _Static_assert(sizeof #name - 1 <= JSON_NAME_MAX, "a name is too long");
#include "json/names.def"
#undef NAME

void paucis__json_names_init(struct json_name_table *t) {
    memset(t, 0, sizeof *t);
    for (size_t k = 0; k < JSON_NAMES; k++) {
        char text[JSON_NAME_MAX + 8] = {0};
        size_t len = paucis__json_names[k].len;
        memcpy(text, paucis__json_names[k].text, len);
        t->words[k] = json_name_words(text, len);
        size_t i = json_name_slot(t->words[k], len);
        while (t->slot[i]) i = (i + 1) % JSON_NAME_SLOTS;
        t->slot[i] = (uint8_t)(k + 1);
    }
}
