/* paucis list: the tables of the library, for people and as JSON. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

typedef const paucis_info *list_fn(size_t i);

/* In the order of the words of WORDS_TABLE. */
static list_fn *const lists[] = {paucis_format_at, paucis_policy_at,   paucis_level_at,
                                 paucis_form_at,   paucis_strategy_at, price_row,
                                 paucis_option_at, paucis_rule_at,     paucis_kernel_at,
                                 family_row,       paucis_tokenizer_at};

/* Good until the next call. */
const paucis_info *price_row(size_t i) {
    static const char *const match[] = {"no cache", "longest prefix", "breakpoints"};
    static char text[160];
    static paucis_info row;
    const paucis_price *p = paucis_price_at(i);
    if (!p) return NULL;
    snprintf(text, sizeof text, "read %g, write %g; %s; from %u tokens, kept %u s (as of %s)",
             p->read / 1000.0, p->write / 1000.0, match[p->match], p->minimum, p->ttl_s,
             paucis_prices_as_of());
    row = (paucis_info){.name = p->name, .summary = text};
    return &row;
}

static void list_json(struct buf *b, const char *name, list_fn *at) {
    const paucis_info *row;
    json_cstr(b, name);
    buf_str(b, ":[");
    for (size_t i = 0; (row = at(i)); i++) {
        buf_fmt(b, "%s\n{\"name\":", i ? "," : "");
        json_cstr(b, row->name);
        buf_str(b, ",\"summary\":");
        json_cstr(b, row->summary);
        buf_str(b, ",\"detail\":");
        json_cstr(b, row->detail);
        buf_str(b, "}");
    }
    buf_str(b, "]");
}

static void list_text(struct buf *b, list_fn *at) {
    const paucis_info *row;
    int names = 0, details = 0;
    for (size_t i = 0; (row = at(i)); i++) {
        int n = (int)strlen(row->name), d = row->detail ? (int)strlen(row->detail) : 0;
        names = n > names ? n : names;
        details = d > details ? d : details;
    }
    for (size_t i = 0; (row = at(i)); i++) {
        buf_fmt(b, "%-*s  ", names, row->name);
        if (details) buf_fmt(b, "%-*s  ", details, row->detail ? row->detail : "");
        buf_fmt(b, "%s\n", row->summary ? row->summary : "");
    }
}

int cmd_list(const struct args *a) {
    const char *wanted = a->noperands ? a->operands[0] : NULL, *name;
    bool json = a->count[FLAG_JSON] > 0;
    struct buf b = {0};
    size_t shown = 0;
    if (a->noperands > 1) return usage_error("too many operands: '%s'", a->operands[1]);
    if (wanted && !known_word(WORDS_TABLE, "table", wanted)) return EXIT_USAGE;
    buf_str(&b, json ? "{\"schema\":1" : "");
    for (size_t i = 0; (name = words_at(WORDS_TABLE, i)); i++) {
        if (wanted && strcmp(wanted, name) != 0) continue;
        if (json) {
            buf_str(&b, ",");
            list_json(&b, name, lists[i]);
        } else {
            if (!wanted) buf_fmt(&b, "%s%s:\n", shown ? "\n" : "", name);
            list_text(&b, lists[i]);
        }
        shown++;
    }
    buf_str(&b, json ? "}\n" : "");
    return output_text(a, &b);
}
