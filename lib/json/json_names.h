/* Names: the few keys and tags that every message is made of. Adapters ask for them again and again, long
 * after the bytes have left the cache, and each look would fetch them back. So the reader recognises them
 * when it passes by and writes into the node which one it is: a string that is `unusual` without being
 * `escaped` cannot exist otherwise, so these two bits mark it, and `end` holds the number of the name
 * instead of an offset. */
#ifndef PAUCIS_JSON_NAMES_H
#define PAUCIS_JSON_NAMES_H

#include <stddef.h>
#include <stdint.h>

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

/* Hash table over the names, filled once per context. */
#define JSON_NAME_SLOTS 256
struct json_name_table {
    uint8_t at[JSON_NAME_SLOTS]; /* number of the name + 1, 0 = free */
};
void paucis__json_names_init(struct json_name_table *t);

/* The number of the name that is these bytes, JSON_NAMES if it is none. */
size_t paucis__json_name_of(const struct json_name_table *t, const char *at, size_t len);

#endif
