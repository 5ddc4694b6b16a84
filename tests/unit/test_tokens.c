/* Tokens, ids and all: the vectors on every kernel; kernels against the plain rules over generated
 * text; merging against the obvious way; any bytes at all. */
#include "token/token.h"

#include "core/os.h"
#include "support.h"
#include "test.h"
#include "token/unicode.h"

enum { ENDS = 160 };

static struct mem mem;

/* The same text again and again: everything that a pattern tells apart. */
static const char *const atoms[] = {"the",
                                    "Word",
                                    "camelCase",
                                    "HTTPServer",
                                    "don't",
                                    "we'LL",
                                    "x's's",
                                    "'s",
                                    "'",
                                    "''",
                                    "'re",
                                    "'ſ",
                                    "0",
                                    "12",
                                    "123",
                                    "1234567",
                                    " ",
                                    "  ",
                                    "    ",
                                    "\n",
                                    "\n\n",
                                    "\r\n",
                                    " \n",
                                    "\n  ",
                                    "  \n ",
                                    "\t",
                                    "\t\t",
                                    "\v",
                                    "\f",
                                    "\r",
                                    "(",
                                    ")",
                                    ");",
                                    "{\n",
                                    "//",
                                    "/",
                                    "/\n",
                                    "/\n/",
                                    "\n/",
                                    "==",
                                    "-",
                                    ".",
                                    ",",
                                    "_",
                                    "\xc3\xa9",
                                    "\xc3\x89",
                                    "\xe4\xb8\xad",
                                    "\xcc\x81",
                                    "\xc2\xa0",
                                    "\xe3\x80\x80",
                                    "\xd9\xa3",
                                    "\xc7\x85",
                                    "\xf0\x9f\x98\x80",
                                    "\xe2\x80\x8d",
                                    "\xff",
                                    "\x80",
                                    "\xe4\xb8",
                                    "\xed\xa0\x80",
                                    "\x7f",
                                    "\x1c",
                                    "a",
                                    "A",
                                    "Z",
                                    "zz",
                                    "aB",
                                    "=",
                                    "AAAAAAAAAAAAAAAA"};

static struct bytes mixed(uint64_t *seed, size_t size) {
    struct bytes b = {must_malloc(size), 0};
    while (b.len < size) {
        size_t k = random_below(seed, sizeof atoms / sizeof *atoms + 1), times = 1;
        const char *atom = k ? atoms[k - 1] : "\0";
        size_t n = k ? strlen(atom) : 1;
        if (random_below(seed, 64) == 0) times = random_below(seed, 90);
        for (; times > 0 && b.len + n <= size; times--, b.len += n) memcpy(b.at + b.len, atom, n);
        if (b.len + 16 > size) break;
    }
    return b;
}

static size_t ids_of(const struct token_kernel *k, const struct vocab *v, struct token_run *r,
                     const char *text, size_t n, struct tokens *out) {
    const uint8_t *p = (const uint8_t *)text;
    size_t ends[ENDS], at = 0, from = 0;
    out->count = out->ids.count = 0;
    out->keep = true;
    while (at < n) {
        size_t pieces = k->split(v->split, p, n, &at, ends, ENDS);
        for (size_t i = 0; i < pieces; from = ends[i++])
            CHECK_EQ(k->piece(r, v, p + from, ends[i] - from, out), PAUCIS_OK);
    }
    CHECK_EQ(out->count, out->ids.count);
    return out->ids.count;
}

/* ---- vectors -------------------------------------------------------------------------------- */

static uint64_t number(const struct json *j, size_t i) {
    uint64_t n = 0;
    struct span raw = json_raw(j, i);
    for (size_t k = 0; k < raw.len; k++) n = n * 10 + (uint64_t)(raw.at[k] - '0');
    return n;
}

static struct bytes vector_text(const struct json *j) {
    size_t node = paucis__json_get(j, 0, "text", 4), repeat = 1;
    if (!node) {
        node = paucis__json_get(j, 0, "unit", 4);
        repeat = (size_t)number(j, paucis__json_get(j, 0, "repeat", 6));
    }
    struct span raw = json_inner(j, node);
    char *unit = must_malloc(raw.len + 1);
    size_t len = paucis__json_decode(raw, unit);
    struct bytes b = {must_malloc(len * repeat + 1), len * repeat};
    for (size_t i = 0; i < repeat; i++) memcpy(b.at + i * len, unit, len);
    free(unit);
    return b;
}

static void check_vector(const struct paucis_tokenizer *t, const struct token_kernel *k,
                         const struct json *j, const struct bytes *text) {
    struct token_run r = {.mem = &mem};
    struct tokens out = {0};
    uint64_t count = 0;
    size_t ids = paucis__json_get(j, 0, "ids", 3), i = 0;
    ids_of(k, &t->vocab, &r, text->at, text->len, &out);
    CHECK_EQ(k->count(&r, &t->vocab, (const uint8_t *)text->at, text->len, &count), PAUCIS_OK);
    CHECK_EQ(count, number(j, paucis__json_get(j, 0, "n", 1)));
    CHECK_EQ(out.count, count);
    for (JSON_EACH(j, id, ids)) {
        if (i >= out.count || !CHECK_EQ(out.ids.at[i], number(j, id))) break;
        i++;
    }
    VEC_FREE(&mem, out.ids);
    paucis__token_run_free(&r);
}

static void check_file(const char *name, size_t least) {
    char path[512];
    struct paucis_tokenizer t = {0};
    struct json j = {0};
    size_t lines = 0;
    paucis_error e;
    if (!CHECK(paucis__token_named(&t, name))) return;
    snprintf(path, sizeof path, "%s/tests/tokens/%s.jsonl", getenv("SRC"), name);
    FILE *f = fopen(path, "rb");
    if (!CHECK(f)) return;
    size_t cap = 4 << 20;
    char *line = must_malloc(cap);
    while (fgets(line, (int)cap, f)) {
        size_t n = strcspn(line, "\n");
        TEST_NOTE("%s line %zu", name, ++lines);
        if (!CHECK_EQ(paucis__json_read(&j, &mem, NULL, line, n, &e), PAUCIS_OK)) continue;
        struct bytes text = vector_text(&j);
        for (const struct token_kernel *const *k = paucis__token_kernels; *k; k++)
            if ((*k)->usable()) check_vector(&t, *k, &j, &text);
        bytes_free(&text);
    }
    CHECK(lines >= least);
    VEC_FREE(&mem, j.nodes);
    free(line);
    fclose(f);
}

static void vectors(void) {
    check_file("o200k_base", 895);
    check_file("cl100k_base", 889);
}

/* ---- kernels against the plain rules -------------------------------------------------------- */

static void check_split(const struct split *s, const struct bytes *b) {
    const uint8_t *p = (const uint8_t *)b->at;
    for (const struct token_kernel *const *k = paucis__token_kernels; *k; k++) {
        size_t ends[ENDS], at = 0, from = 0;
        if (!(*k)->usable()) continue;
        while (at < b->len) {
            size_t n = (*k)->split(s, p, b->len, &at, ends, ENDS);
            for (size_t i = 0; i < n; from = ends[i++])
                if (from + paucis__split_one(s, p + from, p + b->len) != ends[i]) {
                    TEST_NOTE("%s, %s, at %zu", s->name, (*k)->name, from);
                    CHECK_EQ(from + paucis__split_one(s, p + from, p + b->len), ends[i]);
                    return;
                }
        }
        CHECK_EQ(at, b->len);
    }
}

static void split_agrees(void) {
    uint64_t seed = 11;
    size_t total = test_is_long() ? (size_t)220 << 20 : test_is_sanitized() ? 1 << 20 : 6 << 20;
    for (size_t done = 0; done < total;) {
        struct bytes b = mixed(&seed, 1 + random_below(&seed, done % 3 ? 300 : 200000));
        for (const struct split *s = paucis__splits; s->name; s++) check_split(s, &b);
        done += b.len;
        bytes_free(&b);
    }
}

/* ---- merging -------------------------------------------------------------------------------- */

static int32_t pair_at(const struct vocab *v, const uint32_t *token, size_t i, size_t n) {
    return i + 1 < n ? pair_merge(&v->pairs, token[i], token[i + 1]) : NO_MERGE;
}

/* The obvious way: look at all pairs, merge the first with the lowest number. */
static size_t merge_plainly(const struct vocab *v, const uint8_t *p, size_t n, uint32_t *out) {
    int32_t *pair = must_malloc(n * sizeof *pair);
    for (size_t i = 0; i < n; i++) out[i] = v->byte[p[i]];
    for (size_t i = 0; i < n; i++) pair[i] = pair_at(v, out, i, n);
    for (;;) {
        size_t at = 0;
        for (size_t i = 1; i < n; i++)
            if (pair[i] < pair[at]) at = i;
        if (pair[at] == NO_MERGE) break;
        out[at] = (uint32_t)pair[at];
        n--;
        memmove(out + at + 1, out + at + 2, (n - at - 1) * sizeof *out);
        memmove(pair + at + 1, pair + at + 2, (n - at - 1) * sizeof *pair);
        pair[at] = pair_at(v, out, at, n);
        if (at) pair[at - 1] = pair_at(v, out, at - 1, n);
    }
    free(pair);
    return n;
}

static void check_merge(const struct vocab *v, const uint8_t *p, size_t n, uint32_t *want) {
    size_t count = merge_plainly(v, p, n, want);
    for (const struct token_kernel *const *k = paucis__token_kernels; *k; k++) {
        struct token_run r = {.mem = &mem};
        struct tokens out = {.keep = true};
        if (!(*k)->usable()) continue;
        CHECK_EQ((*k)->piece(&r, v, p, n, &out), PAUCIS_OK);
        if (CHECK_EQ(out.count, count)) CHECK(memcmp(out.ids.at, want, count * sizeof *want) == 0);
        VEC_FREE(&mem, out.ids);
        paucis__token_run_free(&r);
    }
}

static void merging_agrees(void) {
    static const char *const letters[] = {"a",
                                          "ab",
                                          " ",
                                          "=-",
                                          "abcdefghijklmnopqrstuvwxyz",
                                          " \n",
                                          "\xe2\x94\x80",
                                          "\xe3\x81\x82\xe4\xb8\x80",
                                          "etaoin shr",
                                          "aaaaaaaaaa-"};
    const char *names[] = {"o200k_base", "cl100k_base"};
    uint8_t text[2000];
    uint32_t want[2000];
    uint64_t seed = 5;
    size_t rounds = test_is_long() ? 60000 : test_is_sanitized() ? 600 : 4000;
    for (size_t i = 0; i < rounds; i++) {
        struct paucis_tokenizer t = {0};
        const char *set = letters[random_below(&seed, sizeof letters / sizeof *letters)];
        size_t n = 1 + random_below(&seed, i % 8 ? 200 : 2000), period = 1 + random_below(&seed, n);
        paucis__token_named(&t, names[i % 2]);
        for (size_t k = 0; k < n; k++)
            text[k] = k >= period && i % 3 == 0 ? text[k - period]
                                                : (uint8_t)set[random_below(&seed, strlen(set))];
        if (i % 5 == 0) text[random_below(&seed, n)] = (uint8_t)random_next(&seed);
        TEST_NOTE("round %zu, %zu bytes", i, n);
        check_merge(&t.vocab, text, n, want);
    }
}

/* Runs make the longest tokens, so that windows meet last of all; the text has several of the
 * larger ones. */
static void long_runs_agree(void) {
    static const char signs[] = "-=*#~_./a ";
    static const size_t longest[] = {3, 40, 130, 600, 5000};
    const char *names[] = {"o200k_base", "cl100k_base"};
    size_t rounds = test_is_long() ? 150 : test_is_sanitized() ? 2 : 10, most = 15000;
    uint8_t *text = must_malloc(most);
    uint32_t *want = must_malloc(most * sizeof *want);
    uint64_t seed = 23;
    for (size_t i = 0; i < rounds; i++) {
        struct paucis_tokenizer t = {0};
        size_t n = most / 3 + random_below(&seed, most - most / 3);
        paucis__token_named(&t, names[i & 1]);
        for (size_t k = 0, left = 0, sign = 0; k < n; k++, left--) {
            if (!left) {
                left = 1 + random_below(&seed, longest[i % 5]);
                sign = random_below(&seed, sizeof signs - 1);
            }
            text[k] = (uint8_t)signs[sign];
        }
        TEST_NOTE("round %zu, %zu bytes", i, n);
        check_merge(&t.vocab, text, n, want);
    }
    free(text);
    free(want);
}

/* Counting merges short pieces side by side, unlike `piece`; so it is compared by itself. */
static void counting_agrees(void) {
    static const char *const letters[] = {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", "etaoin shr", "=- \n",
        "\xe3\x81\x82\xe4\xb8\x80", "abcdefghijklmnopqrstuvwxyz  "};
    const char *names[] = {"o200k_base", "cl100k_base"};
    uint64_t seed = 17;
    size_t rounds = test_is_long() ? 5000 : test_is_sanitized() ? 60 : 300;
    for (size_t i = 0; i < rounds; i++) {
        struct paucis_tokenizer t = {0};
        struct bytes b = {must_malloc(5000), 1 + random_below(&seed, 5000)};
        const char *set = letters[random_below(&seed, sizeof letters / sizeof *letters)];
        uint32_t *room = must_malloc(b.len * sizeof *room);
        uint64_t want = 0, got;
        paucis__token_named(&t, names[i % 2]);
        for (size_t k = 0; k < b.len; k++) b.at[k] = set[random_below(&seed, strlen(set))];
        const uint8_t *p = (const uint8_t *)b.at, *end = p + b.len;
        for (size_t n; p < end; p += n) {
            n = paucis__split_one(t.vocab.split, p, end);
            want += merge_plainly(&t.vocab, p, n, room);
        }
        for (const struct token_kernel *const *k = paucis__token_kernels; *k; k++) {
            struct token_run r = {.mem = &mem};
            if (!(*k)->usable()) continue;
            TEST_NOTE("round %zu, %s", i, (*k)->name);
            for (int again = 0; again < 2; again++) {
                got = 0;
                CHECK_EQ((*k)->count(&r, &t.vocab, (uint8_t *)b.at, b.len, &got), PAUCIS_OK);
                CHECK_EQ(got, want);
            }
            paucis__token_run_free(&r);
        }
        free(room);
        bytes_free(&b);
    }
}

/* ---- any bytes ------------------------------------------------------------------------------ */

static void any_bytes(void) {
    struct paucis_tokenizer t = {0};
    uint64_t seed = 3;
    paucis__token_named(&t, "o200k_base");
    for (size_t i = 0; i < 300; i++) {
        struct bytes b = {must_malloc(2000), random_below(&seed, 2000)};
        uint64_t first = 0;
        for (size_t k = 0; k < b.len; k++) b.at[k] = (char)(i % 2 ? random_next(&seed) : 0);
        for (const struct token_kernel *const *k = paucis__token_kernels; *k; k++) {
            struct token_run r = {.mem = &mem};
            struct tokens out = {0};
            uint64_t count = 0;
            if (!(*k)->usable()) continue;
            ids_of(*k, &t.vocab, &r, b.at, b.len, &out);
            for (int again = 0; again < 2; again++, count = 0) {
                CHECK_EQ((*k)->count(&r, &t.vocab, (uint8_t *)b.at, b.len, &count), PAUCIS_OK);
                CHECK_EQ(count, out.count);
            }
            if (!first) first = out.count;
            CHECK_EQ(out.count, first);
            VEC_FREE(&mem, out.ids);
            paucis__token_run_free(&r);
        }
        bytes_free(&b);
    }
}

/* One piece of many megabytes: done in time that shows only if it is not linear. */
static void huge_pieces(void) {
    static const char *const units[] = {"a", " ", "=", "ab", "\xe3\x81\x82", "A", "\n", "0", "aB"};
    size_t n = test_is_long() ? (size_t)1 << 30 : test_is_sanitized() ? 1 << 19 : 8 << 20;
    struct paucis_tokenizer t = {0};
    paucis__token_named(&t, "o200k_base");
    char *text = malloc(n);
    if (!text) return;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct token_run r = {.mem = &mem};
        size_t unit = strlen(units[i]), size = i ? n / 16 : n;
        uint64_t count = 0;
        for (size_t k = 0; k < size; k++) text[k] = units[i][k % unit];
        size -= size % unit;
        CHECK_EQ(paucis__token_best_kernel()->count(&r, &t.vocab, (uint8_t *)text, size, &count),
                 PAUCIS_OK);
        CHECK(count > 0 && count <= size);
        if (i == 0) CHECK_EQ(count, (size + 7) / 8); /* eight of them are a token */
        paucis__token_run_free(&r);
    }
    free(text);
}

static void nothing_held(void) { CHECK_EQ(mem.held, 0); }

int main(void) {
    struct paucis_tokenizer t = {0};
    if (!paucis__token_named(&t, "o200k_base")) return TEST_SKIPPED;
    return TEST_RUN(CASE(vectors), CASE(split_agrees), CASE(merging_agrees), CASE(long_runs_agree),
                    CASE(counting_agrees), CASE(any_bytes), CASE(huge_pieces), CASE(nothing_held));
}
