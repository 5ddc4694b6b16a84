/* See hf.h. Byte-level BPE with a split pattern of the table in split.c; all else is refused.
 *
 * A file lists merges in the order of their rank, often several that make the same token. Of those
 * at most one can ever happen, since what happens inside a token's bytes before its last merge is
 * always the same. So tokens may be numbered in the order of their first merge, provided that the
 * merges of one token stand together, and the vocabulary is then like a built-in one. */
#include "token/hf.h"

#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/os.h"
#include "json/json.h"

#define NONE UINT32_MAX
#define MAX_TOKEN 4096 /* bytes of one token; the longest known is 256 spaces */

struct word {          /* one row of the vocabulary */
    struct span bytes; /* what it stands for; at NULL: it is no sequence of bytes */
    uint32_t id;       /* in the file */
    uint32_t token;    /* our number, NONE until it is made */
    bool added;        /* matched before the model sees the text */
};

struct merge { /* by place in the list of words */
    uint32_t left, right, whole;
};

struct reading {
    struct paucis_tokenizer *t;
    struct json j;
    struct mem *mem;
    struct arena arena;
    paucis_error *e;
    struct word *words;
    uint32_t nwords;
    uint32_t *table; /* bytes -> word, open addressing */
    size_t mask;
    uint64_t seed;
    struct merge *merges;
    size_t nmerges;
    int32_t *byte_pairs;
    unsigned log; /* of the number of slots */
    uint64_t *filter;
    struct token_run run;
};

static paucis_err refuse(struct reading *r, const char *why) {
    *r->e = (paucis_error){PAUCIS_E_FORMAT, why, 0};
    return PAUCIS_E_FORMAT;
}

static paucis_err no_memory(struct reading *r) {
    *r->e = (paucis_error){PAUCIS_E_NOMEM, "out of memory", 0};
    return PAUCIS_E_NOMEM;
}

/* ---- looking at the file ------------------------------------------------------------------- */

static size_t get(const struct reading *r, size_t object, const char *key) {
    if (object == NONE || !json_is_object(&r->j, object)) return 0;
    return paucis__json_get(&r->j, object, key, strlen(key));
}

static bool says(const struct reading *r, size_t i, const char *text) {
    return i && json_is_string(&r->j, i) && paucis__json_equals(&r->j, i, text, strlen(text));
}
static bool is_type(const struct reading *r, size_t object, const char *type) {
    return says(r, get(r, object, "type"), type);
}
static bool is_true(const struct reading *r, size_t i) { return i && json_type(&r->j, i) == 't'; }
/* Absent, null, false or an empty string. */
static bool is_unset(const struct reading *r, size_t i) {
    return !i || json_is_null(&r->j, i) || json_type(&r->j, i) == 'f' || says(r, i, "");
}

static paucis_err check_model(struct reading *r, size_t model) {
    static const char *const unset[] = {"dropout", "continuing_subword_prefix",
                                        "end_of_word_suffix", "byte_fallback"};
    if (!is_type(r, model, "BPE")) return refuse(r, "its model is not BPE");
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        if (!is_unset(r, get(r, model, unset[i])))
            return refuse(r, "its BPE has a dropout, a prefix, a suffix or a fallback to bytes");
    return PAUCIS_OK;
}

static paucis_err check_normalizer(struct reading *r) {
    size_t normalizer = get(r, 0, "normalizer"), list = get(r, normalizer, "normalizers");
    if (is_unset(r, normalizer)) return PAUCIS_OK;
    if (is_type(r, normalizer, "Sequence") && list && json_is_array(&r->j, list) &&
        json_count(&r->j, list) == 0)
        return PAUCIS_OK;
    r->t->nfc = is_type(r, normalizer, "NFC");
    return r->t->nfc ? PAUCIS_OK : refuse(r, "its normalizer is not NFC");
}

/* ByteLevel without a regex of its own, unless `regex`. */
static bool is_byte_level(const struct reading *r, size_t step, bool regex) {
    size_t use = get(r, step, "use_regex");
    return is_type(r, step, "ByteLevel") && is_unset(r, get(r, step, "add_prefix_space")) &&
           (!use || is_true(r, use)) == regex;
}

/* The regex of a step that makes each match a piece and keeps what lies between. Dropping what lies
 * between is the same where a pattern matches everything, as all but DeepSeek's do. */
static size_t split_regex(const struct reading *r, size_t step, bool matches_all) {
    size_t behavior = get(r, step, "behavior");
    bool inverted = is_true(r, get(r, step, "invert"));
    bool isolated = says(r, behavior, "Isolated") && !inverted;
    bool removed = says(r, behavior, "Removed") && inverted && matches_all;
    if (!is_type(r, step, "Split") || (!isolated && !removed)) return 0;
    return get(r, get(r, step, "pattern"), "Regex");
}

static const char *const deepseek[] = {
    "\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./"
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"};

static paucis_err check_split(struct reading *r) {
    size_t pre = get(r, 0, "pre_tokenizer"), list = get(r, pre, "pretokenizers"), step[4] = {0};
    size_t n = 0;
    if (is_byte_level(r, pre, true)) {
        r->t->vocab.split = &paucis__splits[SPLIT_GPT2];
        return PAUCIS_OK;
    }
    if (is_type(r, pre, "Sequence") && list && json_is_array(&r->j, list) &&
        json_count(&r->j, list) <= 4)
        for (JSON_EACH(&r->j, i, list)) step[n++] = i;
    if (n < 2 || !is_byte_level(r, step[n - 1], false))
        return refuse(r, "its pre-tokenizer is not a split and then bytes");
    size_t regex = split_regex(r, step[0], n == 2);
    for (const struct split *s = paucis__splits; n == 2 && s->name; s++)
        if (s->regex && says(r, regex, s->regex)) r->t->vocab.split = s;
    if (n == 4 && says(r, regex, deepseek[0]) &&
        says(r, split_regex(r, step[1], false), deepseek[1]) &&
        says(r, split_regex(r, step[2], false), deepseek[2]))
        r->t->vocab.split = &paucis__splits[SPLIT_DEEPSEEK];
    return r->t->vocab.split ? PAUCIS_OK : refuse(r, "its split pattern is not a known one");
}

/* ---- the vocabulary ------------------------------------------------------------------------ */

/* The bytes that a token's text stands for: each is written as a printable character. */
static bool token_bytes(struct span text, char *out, size_t *len) {
    *len = 0;
    for (size_t i = 0; i < text.len; (*len)++) {
        uint8_t c = (uint8_t)text.at[i], d = i + 1 < text.len ? (uint8_t)text.at[i + 1] : 0;
        uint32_t point = c < 0x80 ? c : (c & 0x1fu) << 6 | (d & 0x3f);
        if (c >= 0x80 && (c & 0xe0) != 0xc0) return false;
        i += c < 0x80 ? 1 : 2;
        bool shown = (point > 32 && point < 127) || (point > 160 && point < 256 && point != 173);
        if (!shown) { /* hidden bytes, in their order, are 256, 257, ... */
            if (point < 256 || point > 323) return false;
            point -= 256;
            point = point <= 32 ? point : point <= 66 ? point - 33 + 127 : 173;
        }
        out[*len] = (char)point;
    }
    return true;
}

static uint32_t *word_slot(const struct reading *r, struct span bytes) {
    size_t i = (size_t)hash_bytes(bytes, r->seed) & r->mask;
    while (r->table[i] != NONE) {
        struct span other = r->words[r->table[i]].bytes;
        if (span_same(other, bytes)) break;
        i = (i + 1) & r->mask;
    }
    return &r->table[i];
}

/* A decoded string in the arena; at NULL if memory ran out. */
static struct span decoded(struct reading *r, size_t i) {
    struct span raw = json_inner(&r->j, i);
    char *text = paucis__arena_alloc(&r->arena, raw.len + 1);
    return text ? span_of(text, paucis__json_decode(raw, text)) : span_of(NULL, 0);
}

static bool read_id(const struct reading *r, size_t i, uint32_t *id) {
    struct span raw = json_raw(&r->j, i);
    *id = 0;
    for (size_t k = 0; k < raw.len; k++) {
        if (raw.at[k] < '0' || raw.at[k] > '9' || *id > 100000000) return false;
        *id = *id * 10 + (uint32_t)(raw.at[k] - '0');
    }
    return true;
}

static paucis_err read_word(struct reading *r, size_t key, uint32_t index) {
    struct word *w = &r->words[index];
    *w = (struct word){.token = NONE};
    if (!read_id(r, key + 1, &w->id)) return refuse(r, "a token without a number");
    struct span text = decoded(r, key);
    if (!text.at) return no_memory(r);
    char *bytes = paucis__arena_alloc(&r->arena, text.len + 1);
    size_t len;
    if (!bytes) return no_memory(r);
    if (!token_bytes(text, bytes, &len) || !len || len > MAX_TOKEN) return PAUCIS_OK;
    w->bytes = span_of(bytes, len);
    uint32_t *slot = word_slot(r, w->bytes);
    if (*slot != NONE) return refuse(r, "a token twice");
    *slot = index;
    return PAUCIS_OK;
}

static paucis_err read_words(struct reading *r, size_t vocab) {
    size_t n = 0, size = 1024;
    for (JSON_EACH_KEY(&r->j, k, vocab)) n++;
    if (n >= PAIR_MAX) return refuse(r, "too many tokens");
    while (size < 2 * n) size *= 2;
    r->words = paucis__arena_alloc(&r->arena, (n + 1) * sizeof *r->words);
    r->table = paucis__arena_alloc(&r->arena, size * sizeof *r->table);
    if (!r->words || !r->table) return no_memory(r);
    memset(r->table, 0xff, size * sizeof *r->table);
    r->mask = size - 1;
    for (JSON_EACH_KEY(&r->j, k, vocab)) PAUCIS_TRY(read_word(r, k, r->nwords++));
    return PAUCIS_OK;
}

/* The tables that the tokenizer keeps; slots, filter and pairs of bytes are one block. */
static paucis_err make_tables(struct reading *r, size_t merges) {
    struct paucis_tokenizer *t = r->t;
    for (r->log = 12; (size_t)1 << r->log < 2 * merges; r->log++) continue;
    size_t words = ((size_t)1 << r->log) + pair_filter_size(r->log);
    t->slots_size = words * sizeof *t->slots + 65536 * sizeof *r->byte_pairs;
    t->slots = paucis__mem_resize(&t->mem, NULL, 0, t->slots_size);
    t->ids_size = ((size_t)r->nwords + 256) * sizeof *t->ids;
    t->ids = paucis__mem_resize(&t->mem, NULL, 0, t->ids_size);
    if (!t->slots || !t->ids) return no_memory(r);
    memset(t->slots, 0, words * sizeof *t->slots);
    r->filter = t->slots + ((size_t)1 << r->log);
    r->byte_pairs = (int32_t *)(void *)(t->slots + words);
    for (size_t i = 0; i < 65536; i++) r->byte_pairs[i] = NO_MERGE;
    for (unsigned b = 0; b < 256; b++) {
        char c = (char)b;
        uint32_t w = *word_slot(r, span_of(&c, 1));
        if (w == NONE) return refuse(r, "not every byte is a token");
        r->words[w].token = b;
        t->ids[b] = r->words[w].id;
        t->vocab.byte[b] = (uint8_t)b;
    }
    t->vocab.pairs = (struct pair_table){t->slots, r->filter, r->byte_pairs, r->log, 256};
    return PAUCIS_OK;
}

/* ---- merges -------------------------------------------------------------------------------- */

/* A merge, first by words: a part may get its number later than the whole. */
static paucis_err add_merge(struct reading *r, uint32_t a, uint32_t b, uint32_t whole) {
    struct pair_table *p = &r->t->vocab.pairs;
    struct word *w = &r->words[whole];
    if (w->token != NONE && w->token != p->tokens - 1)
        return refuse(r, "merges to one token that do not stand together");
    if (w->token == NONE) w->token = p->tokens++;
    r->t->ids[w->token] = w->id;
    r->merges[r->nmerges++] = (struct merge){a, b, whole};
    return PAUCIS_OK;
}

/* Fills the tables; a merge of a token that nothing makes cannot happen. */
static paucis_err number_merges(struct reading *r) {
    for (size_t i = 0; i < r->nmerges; i++) {
        uint32_t a = r->words[r->merges[i].left].token, b = r->words[r->merges[i].right].token;
        uint32_t w = r->words[r->merges[i].whole].token;
        if (a == NONE || b == NONE) continue;
        uint64_t *slot = pair_slot(r->t->slots, r->filter, r->log, a, b);
        if (*slot) return refuse(r, "a merge twice");
        *slot = pair_entry(a, b, w);
        if (a < 256 && b < 256) r->byte_pairs[a << 8 | b] = (int32_t)w;
    }
    return PAUCIS_OK;
}

static uint32_t find_word(struct reading *r, struct span text, char *bytes, size_t *len) {
    if (text.len > MAX_TOKEN || !token_bytes(text, bytes, len) || !*len) return NONE;
    return *word_slot(r, span_of(bytes, *len));
}

/* "a b", or ["a", "b"]. */
static bool merge_sides(struct reading *r, size_t i, struct span *left, struct span *right) {
    if (json_is_array(&r->j, i)) {
        if (json_count(&r->j, i) != 2 || !json_is_string(&r->j, i + 1) ||
            !json_is_string(&r->j, i + 2))
            return false;
        *left = decoded(r, i + 1);
        *right = decoded(r, i + 2);
        return left->at && right->at;
    }
    struct span text = json_is_string(&r->j, i) ? decoded(r, i) : span_of(NULL, 0);
    const char *space = text.at ? memchr(text.at, ' ', text.len) : NULL;
    if (!space) return false;
    *left = span_of(text.at, (size_t)(space - text.at));
    *right = span_of(space + 1, text.len - left->len - 1);
    return true;
}

static paucis_err read_merges(struct reading *r, size_t merges) {
    char bytes[2 * MAX_TOKEN];
    size_t most = json_count(&r->j, merges);
    r->merges = paucis__arena_alloc(&r->arena, (most + 1) * sizeof *r->merges);
    if (!r->merges) return no_memory(r);
    for (JSON_EACH(&r->j, i, merges)) {
        struct span left, right;
        size_t n = 0, m = 0;
        if (!merge_sides(r, i, &left, &right)) return refuse(r, "a merge that is no pair");
        uint32_t a = find_word(r, left, bytes, &n), b = NONE;
        if (a != NONE) b = find_word(r, right, bytes + n, &m);
        if (b == NONE) return refuse(r, "a merge of unknown tokens");
        uint32_t w = *word_slot(r, span_of(bytes, n + m));
        if (w == NONE) return refuse(r, "a merge to an unknown token");
        PAUCIS_TRY(add_merge(r, a, b, w));
    }
    return number_merges(r);
}

/* Notes which words are added tokens: those are matched before the model sees the text. */
static paucis_err note_added(struct reading *r) {
    char bytes[MAX_TOKEN];
    size_t added = get(r, 0, "added_tokens"), n;
    if (!added || !json_is_array(&r->j, added)) return PAUCIS_OK;
    for (JSON_EACH(&r->j, i, added)) {
        size_t content = get(r, i, "content");
        if (!content || !json_is_string(&r->j, content)) continue;
        struct span text = decoded(r, content);
        if (!text.at) return no_memory(r);
        uint32_t w = find_word(r, text, bytes, &n);
        if (w != NONE) r->words[w].added = true;
    }
    return PAUCIS_OK;
}

/* A token that merging does not give, but a piece that is equal to it does. */
static paucis_err add_whole(struct reading *r, struct word *w) {
    struct paucis_tokenizer *t = r->t;
    char *bytes = paucis__mem_resize(&t->mem, NULL, 0, w->bytes.len);
    if (!bytes || !VEC_ROOM(&t->mem, t->wholes, 1)) {
        paucis__mem_resize(&t->mem, bytes, bytes ? w->bytes.len : 0, 0);
        return no_memory(r);
    }
    memcpy(bytes, w->bytes.at, w->bytes.len);
    if (w->token == NONE) w->token = t->vocab.pairs.tokens++;
    t->ids[w->token] = w->id;
    t->wholes.at[t->wholes.count++] = (struct whole){span_of(bytes, w->bytes.len), w->token};
    return PAUCIS_OK;
}

static int by_bytes(const void *a, const void *b) {
    const struct whole *x = a, *y = b;
    return paucis__whole_order(x->bytes, y->bytes);
}

/* With ignore_merges a piece that is a token is that token. Merging says the same of nearly all. */
static paucis_err read_wholes(struct reading *r, size_t model) {
    const struct token_kernel *kernel = paucis__token_best_kernel();
    if (!is_true(r, get(r, model, "ignore_merges"))) return PAUCIS_OK;
    PAUCIS_TRY(note_added(r));
    for (uint32_t i = 0; i < r->nwords; i++) {
        struct tokens out = {0};
        struct span bytes = r->words[i].bytes;
        if (!bytes.at || r->words[i].added) continue;
        if (kernel->piece(&r->run, &r->t->vocab, (const uint8_t *)bytes.at, bytes.len, &out))
            return no_memory(r);
        if (out.count != 1) PAUCIS_TRY(add_whole(r, &r->words[i]));
    }
    struct paucis_tokenizer *t = r->t;
    if (t->wholes.count) qsort(t->wholes.at, t->wholes.count, sizeof *t->wholes.at, by_bytes);
    t->vocab.wholes = t->wholes.at;
    t->vocab.nwholes = t->wholes.count;
    return PAUCIS_OK;
}

static paucis_err read_all(struct reading *r, const char *json, size_t n) {
    PAUCIS_TRY(paucis__json_read(&r->j, r->mem, NULL, json, n, r->e));
    size_t model = get(r, 0, "model"), vocab = get(r, model, "vocab");
    size_t merges = get(r, model, "merges");
    if (!model) return refuse(r, "not a tokenizer.json");
    PAUCIS_TRY(check_model(r, model));
    if (!vocab || !json_is_object(&r->j, vocab) || !merges || !json_is_array(&r->j, merges))
        return refuse(r, "a model without tokens or merges");
    PAUCIS_TRY(check_normalizer(r));
    PAUCIS_TRY(check_split(r));
    PAUCIS_TRY(read_words(r, vocab));
    PAUCIS_TRY(make_tables(r, json_count(&r->j, merges)));
    PAUCIS_TRY(read_merges(r, merges));
    return read_wholes(r, model);
}

paucis_err paucis__hf_read(struct paucis_tokenizer *t, const char *json, size_t n,
                           paucis_error *e) {
    struct mem mem = {.alloc = t->mem.alloc};
    struct reading r = {.t = t, .mem = &mem, .arena = {.mem = &mem}, .e = e};
    r.run.mem = &mem;
    r.seed = paucis__os_seed();
    t->name = "tokenizer.json";
    t->kind = TOKEN_EXACT;
    t->vocab.key = paucis__os_seed() | 1; /* the built-in ones are even */
    paucis_err err = read_all(&r, json, n);
    t->vocab.ids = t->ids;
    VEC_FREE(&mem, r.j.nodes);
    paucis__token_run_free(&r.run);
    paucis__arena_free(&r.arena);
    return err;
}

void paucis__hf_free(struct paucis_tokenizer *t) {
    for (size_t i = 0; i < t->wholes.count; i++)
        paucis__mem_resize(&t->mem, (char *)(uintptr_t)t->wholes.at[i].bytes.at,
                           t->wholes.at[i].bytes.len, 0);
    VEC_FREE(&t->mem, t->wholes);
    paucis__mem_resize(&t->mem, t->slots, t->slots_size, 0);
    paucis__mem_resize(&t->mem, t->ids, t->ids_size, 0);
    t->slots = NULL;
    t->ids = NULL;
}
