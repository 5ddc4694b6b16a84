/* See price_file.h. */
#include "plan/price_file.h"

#include <string.h>

#include "stable/price.h"

/* A plain decimal number in units of 1/scale, rounded down; false if it is something else. */
static bool read_decimal(const struct json *j, size_t node, uint64_t scale, uint32_t *out) {
    struct span s = json_raw(j, node);
    uint64_t value = 0, unit = scale;
    bool point = false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (s.at[i] < '0' || s.at[i] > '9') return false;
        uint64_t digit = (uint64_t)(s.at[i] - '0');
        if (point)
            value += digit * (unit /= 10);
        else
            value = value * 10 + digit * scale;
        if (value > UINT32_MAX) return false;
    }
    *out = (uint32_t)value;
    return s.len > 0;
}

static bool says(struct span text, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.len; i++)
        if (!memcmp(text.at + i, word, n)) return true;
    return false;
}

/* The match rule in words: "no cache", "longest prefix", "breakpoints, 20-block lookback". */
static void read_match(struct span text, paucis_price *p) {
    if (says(text, "no cache")) {
        p->match = PAUCIS_MATCH_NONE;
    } else if (says(text, "breakpoint") || says(text, "cache point")) {
        p->match = PAUCIS_MATCH_BREAKPOINTS;
        p->lookback = 20;
    }
}

static bool read_row(const struct json *j, size_t row, paucis_price *p) {
    struct {
        const char *key;
        uint64_t scale;
        uint32_t *to;
    } numbers[] = {{"read", 1000, &p->read}, {"write", 1000, &p->write},
                   {"base", 1000, &p->base}, {"minimum", 1, &p->minimum},
                   {"step", 1, &p->step},    {"ttl_s", 1, &p->ttl_s}};
    *p = (paucis_price){.base = 1000, .step = 1, .match = PAUCIS_MATCH_PREFIX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t node = paucis__json_get(j, row, numbers[i].key, strlen(numbers[i].key));
        bool needed = i < 2;
        if (!node && needed) return false;
        if (node && !read_decimal(j, node, numbers[i].scale, numbers[i].to)) return false;
    }
    size_t match = paucis__json_get(j, row, "match", 5);
    if (match && json_is_string(j, match)) read_match(json_inner(j, match), p);
    return paucis__price_is_sane(p);
}

paucis_err paucis__price_read(const struct json *j, const char *name, paucis_price *out,
                              size_t *name_node, const char **what) {
    size_t rows = json_is_object(j, 0) ? paucis__json_get(j, 0, "rows", 4) : 0;
    *what = "a price file is an object with an array called rows";
    if (!rows || !json_is_array(j, rows)) return PAUCIS_E_ARG;
    *what = "no such row in the price file";
    for (JSON_EACH(j, row, rows)) {
        size_t node = json_is_object(j, row) ? paucis__json_get(j, row, "name", 4) : 0;
        if (!node || !json_is_string(j, node)) continue;
        if (name && !json_is_text(j, node, name, strlen(name))) continue;
        *name_node = node;
        *what = "a price row needs read and write, plain numbers within bounds";
        return read_row(j, row, out) ? PAUCIS_OK : PAUCIS_E_ARG;
    }
    return PAUCIS_E_ARG;
}
