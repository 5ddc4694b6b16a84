/* The tokenizers by name. The big tables come from gen/tables.c; the build may leave them out. */
#include "token/token.h"

#include <string.h>

static const struct token_row {
    TABLE_ROW;
    enum token_kind kind;
    const struct pair_table *pairs;
    int split;
} rows[] = {
    {.name = "heuristic",
     .summary = "2/7 of a token a byte and 8 a message, the classic rule",
     .detail = "estimate",
     .kind = TOKEN_HEURISTIC},
    {.name = "estimate",
     .summary = "from the pieces of the text, for models without a public vocabulary",
     .detail = "estimate",
     .kind = TOKEN_ESTIMATE,
     .split = SPLIT_O200K},
#ifdef PAUCIS_TOKENS
#define VOCAB(text, about, table, pattern)                                                       \
    {                                                                                            \
        .name = text, .summary = about, .detail = "exact", .kind = TOKEN_EXACT, .pairs = &table, \
        .split = pattern                                                                         \
    }
    VOCAB("o200k_base", "GPT-4o, GPT-4.1, GPT-5, o1 and later", paucis__o200k_base_pairs,
          SPLIT_O200K),
    VOCAB("o200k_harmony", "GPT-OSS: the same tokens of text, other special ones",
          paucis__o200k_base_pairs, SPLIT_O200K),
    VOCAB("cl100k_base", "GPT-4, GPT-3.5", paucis__cl100k_base_pairs, SPLIT_CL100K),
#endif
};
#define ROWS (sizeof rows / sizeof *rows)

const paucis_info *paucis__token_name(size_t i) { return i < ROWS ? &rows[i].info : NULL; }

/* A decimal number from 0.1 to 10 in thousandths, at most three digits behind the point; 0: none.
 * Not strtod, which asks the locale. */
static uint32_t factor_read(const char *s) {
    uint32_t x = 0, unit = 1000;
    size_t digits = 0;
    for (; *s >= '0' && *s <= '9' && digits < 3; s++, digits++) x = x * 10 + (uint32_t)(*s - '0');
    x *= unit;
    if (digits && *s == '.')
        for (s++; *s >= '0' && *s <= '9' && unit > 1; s++) x += (uint32_t)(*s - '0') * (unit /= 10);
    return digits && !*s && x >= 100 && x <= 10000 ? x : 0;
}

/* "estimate:1.18" is the estimate times 1.18. */
static bool estimate_named(struct paucis_tokenizer *t, const char *name) {
    static const char base[] = "estimate:";
    uint32_t factor =
        strncmp(name, base, sizeof base - 1) ? 0 : factor_read(name + sizeof base - 1);
    if (!factor || strlen(name) >= sizeof t->label) return false;
    paucis__token_named(t, "estimate");
    t->scale = factor;
    memcpy(t->label, name, strlen(name) + 1);
    t->name = t->label;
    return true;
}

bool paucis__token_named(struct paucis_tokenizer *t, const char *name) {
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        t->name = rows[i].name;
        t->scale = 1000;
        t->kind = rows[i].kind;
        t->vocab.split = &paucis__splits[rows[i].split];
        if (rows[i].pairs) {
            t->vocab.pairs = *rows[i].pairs;
            t->vocab.key = (uint64_t)(uintptr_t)rows[i].pairs; /* harmony is o200k */
        }
        pair_byte_order(t->vocab.byte);
        return true;
    }
    return estimate_named(t, name);
}

int paucis__whole_order(struct span a, struct span b) {
    if (a.len != b.len) return a.len < b.len ? -1 : 1;
    return memcmp(a.at, b.at, a.len);
}

const struct whole *paucis__whole_find(const struct vocab *v, struct span piece) {
    size_t from = 0, to = v->nwholes;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int order = paucis__whole_order(v->wholes[mid].bytes, piece);
        if (!order) return &v->wholes[mid];
        if (order < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}
