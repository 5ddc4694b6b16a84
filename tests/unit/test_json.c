/* The reader: every kernel this machine can run against the others and against reference.c, on
 * the public test suite, on hand-picked and mutated bodies, on strings made to trip a kernel at
 * the borders of its 64-byte blocks, and on all of UTF-8. Bodies lie in blocks of exactly their
 * size. */
#include "json/json.h"

#include "limits.h"
#include "reference.h"
#include "support.h"
#include "test.h"

#define MAX_KERNELS 8

static const struct json_kernel *kernels[MAX_KERNELS];
static size_t nkernels;
static struct reference reference;
static struct json json;  /* its memory is used again and again, as in a context */
static struct json named; /* the same with names recognised */
static struct json_name_table names;
static struct mem mem;

static void find_kernels(void) {
    for (size_t i = 0; paucis__json_kernels[i] && i < MAX_KERNELS; i++)
        if (paucis__json_kernels[i]->usable()) kernels[nkernels++] = paucis__json_kernels[i];
}

/* ---- comparing ----------------------------------------------------------------------------- */

/* Does kernel k read the body as the reference did? `first` is what the first kernel said. */
static bool agrees(size_t k, const char *body, size_t size, paucis_error *first) {
    paucis_error e = {PAUCIS_OK, NULL, 0};
    paucis_err code = paucis__json_read(&json, &mem, kernels[k], body, size, &e);
    if (k == 0) *first = e;
    if (code != reference.code || (code && e.code != code)) return false;
    if (code)
        return e.pos == reference.pos && e.pos <= size && e.msg && strcmp(e.msg, first->msg) == 0;
    return json.nodes.count == reference.count &&
           memcmp(json.nodes.at, reference.nodes, reference.count * sizeof(struct node)) == 0;
}

/* All kernels and the reference agree on the body. */
static bool same(const char *body, size_t size) {
    paucis_error first = {PAUCIS_OK, NULL, 0};
    reference_read(&reference, body, size);
    for (size_t k = 0; k < nkernels; k++) {
        if (agrees(k, body, size, &first)) continue;
        TEST_NOTE("kernel %s, reference %d at %zu, first %d at %zu", kernels[k]->name,
                  (int)reference.code, reference.pos, (int)first.code, first.pos);
        TEST_FAIL("the kernel reads as the reference does");
        test_show_bytes("body", body, size);
        return false;
    }
    return true;
}

/* With names recognised, every question about a node has the same answer as without. */
static bool same_node(size_t i) {
    struct span a = json_raw(&json, i), b = json_raw(&named, i);
    bool ok = a.at == b.at && a.len == b.len && json_next(&json, i) == json_next(&named, i);
    ok = ok && json_is_container(&json, i) == json_is_container(&named, i);
    ok = ok && !json_is_text(&named, i, "\xff", 1) && !json_is_text(&json, i, "\xff", 1);
    if (!ok || !json_is_string(&json, i)) return ok;
    a = json_inner(&json, i);
    b = json_inner(&named, i);
    ok = a.at == b.at && a.len == b.len && json_is_key(&json, i) == json_is_key(&named, i);
    ok = ok && (json_node(&json, i)->escaped || json_is_text(&named, i, a.at, a.len));
    return ok && !json_is_text(&named, i, a.at, a.len + 1);
}

static bool same_members(size_t object) {
    for (size_t k = 0; k < JSON_NAMES; k++) {
        const struct json_name_text *t = &paucis__json_names[k];
        size_t want = paucis__json_get(&json, object, t->text, t->len);
        if (paucis__json_get(&named, object, t->text, t->len) != want) return false;
        if (paucis__json_get_name(&named, object, (enum json_name)k) != want) return false;
        if (paucis__json_get_name(&json, object, (enum json_name)k) != want) return false;
    }
    return paucis__json_has_twins(&json, object) == paucis__json_has_twins(&named, object);
}

static bool same_named(const char *body, size_t size) {
    paucis_error e, f;
    named.names = &names;
    for (size_t k = 0; k < nkernels; k++) {
        paucis_err a = paucis__json_read(&json, &mem, kernels[k], body, size, &e);
        paucis_err b = paucis__json_read(&named, &mem, kernels[k], body, size, &f);
        bool ok = a == b && (a ? e.pos == f.pos : json.nodes.count == named.nodes.count);
        for (size_t i = 0; ok && !a && i < json.nodes.count; i++)
            ok = same_node(i) && (json_type(&json, i) != '{' || same_members(i));
        if (ok) continue;
        TEST_NOTE("kernel %s with names", kernels[k]->name);
        TEST_FAIL("names change nothing");
        test_show_bytes("body", body, size);
        return false;
    }
    return true;
}

static bool same_copy(const char *body, size_t size) {
    struct bytes b = bytes_copy(body, size);
    bool ok = same(b.at, b.len);
    bytes_free(&b);
    return ok;
}

/* ---- the public suite ---------------------------------------------------------------------- */

/* Where RFC 8259 leaves the choice: numbers of any size are accepted, since their spelling is only
 * carried along; so are lone surrogates in escapes, which are ASCII on the wire; bytes that are not
 * UTF-8 are not, nor is a byte order mark. */
static const struct {
    const char *name;
    bool accepted;
} choices[] = {
    {"i_number_double_huge_neg_exp.json", true},
    {"i_number_huge_exp.json", true},
    {"i_number_neg_int_huge_exp.json", true},
    {"i_number_pos_double_huge_exp.json", true},
    {"i_number_real_neg_overflow.json", true},
    {"i_number_real_pos_overflow.json", true},
    {"i_number_real_underflow.json", true},
    {"i_number_too_big_neg_int.json", true},
    {"i_number_too_big_pos_int.json", true},
    {"i_number_very_big_negative_int.json", true},
    {"i_object_key_lone_2nd_surrogate.json", true},
    {"i_string_1st_surrogate_but_2nd_missing.json", true},
    {"i_string_1st_valid_surrogate_2nd_invalid.json", true},
    {"i_string_UTF-16LE_with_BOM.json", false},
    {"i_string_UTF-8_invalid_sequence.json", false},
    {"i_string_UTF8_surrogate_U+D800.json", false},
    {"i_string_incomplete_surrogate_and_escape_valid.json", true},
    {"i_string_incomplete_surrogate_pair.json", true},
    {"i_string_incomplete_surrogates_escape_valid.json", true},
    {"i_string_invalid_lonely_surrogate.json", true},
    {"i_string_invalid_surrogate.json", true},
    {"i_string_invalid_utf-8.json", false},
    {"i_string_inverted_surrogates_U+1D11E.json", true},
    {"i_string_iso_latin_1.json", false},
    {"i_string_lone_second_surrogate.json", true},
    {"i_string_lone_utf8_continuation_byte.json", false},
    {"i_string_not_in_unicode_range.json", false},
    {"i_string_overlong_sequence_2_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes_null.json", false},
    {"i_string_truncated-utf-8.json", false},
    {"i_string_utf16BE_no_BOM.json", false},
    {"i_string_utf16LE_no_BOM.json", false},
    {"i_structure_500_nested_arrays.json", true},
    {"i_structure_UTF-8_BOM_empty_object.json", false},
};

static bool suite_accepts(const char *name) {
    if (name[0] != 'i') return name[0] == 'y';
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (strcmp(choices[i].name, name) == 0) return choices[i].accepted;
    TEST_FAIL("a choice is written down for every i_ file");
    return false;
}

static void suite(void) {
    struct files f = files_shared("json-suite");
    size_t seen[3] = {0};
    for (size_t i = 0; i < f.count; i++) {
        const char *name = f.at[i].name;
        struct bytes *b = &f.at[i].body;
        paucis_error e = {PAUCIS_OK, NULL, 0};
        same(b->at, b->len);
        same_named(b->at, b->len);
        TEST_NOTE("%s", name);
        paucis_err err = paucis__json_read(&json, &mem, NULL, b->at, b->len, &e);
        CHECK_EQ(err == PAUCIS_OK, suite_accepts(name));
        if (err) CHECK(e.code == err && e.msg && e.pos <= b->len);
        seen[name[0] == 'y' ? 0 : name[0] == 'n' ? 1 : 2]++;
    }
    if (f.count) {
        TEST_NOTE("files of the suite");
        CHECK_EQ(seen[0], 95);
        CHECK_EQ(seen[1], 188);
        CHECK_EQ(seen[2], 35);
    }
    files_free(&f);
}

/* ---- picked documents ---------------------------------------------------------------------- */

/* What the error is and where; PAUCIS_OK: accepted. */
static const struct {
    const char *body;
    size_t pos;
    const char *msg; /* NULL: accepted */
} documents[] = {
    {"", 0, "unexpected end of input"},
    {"  \n", 3, "unexpected end of input"},
    {"{}", 0, NULL},
    {" [ ] ", 0, NULL},
    {"[[],[]]", 0, NULL},
    {"{\"a\":{},\"a\":[]}", 0, NULL},
    {"[1,]", 3, "expected a value"},
    {"[,1]", 1, "expected a value"},
    {"[1 2]", 3, "expected ',' or ']'"},
    {"[1}", 2, "expected ',' or ']'"},
    {"{\"a\":1]", 6, "expected ',' or '}'"},
    {"{\"a\" 1}", 5, "expected ':'"},
    {"{\"a\":}", 5, "expected a value"},
    {"{a:1}", 1, "expected a key"},
    {"{\"a\":1,}", 7, "expected a key"},
    {"{,}", 1, "expected a key"},
    {"[1]x", 3, "expected the end of the body"},
    {"[1]]", 3, "expected the end of the body"},
    {"]", 0, "expected a value"},
    {"0", 0, NULL},
    {"-0.5e+10", 0, NULL},
    {"01", 1, "expected the end of the body"},
    {"-", 1, "unexpected end of input"},
    {"-x", 1, "expected a digit"},
    {"1.", 2, "unexpected end of input"},
    {"1.e", 2, "expected a digit"},
    {"1e", 2, "unexpected end of input"},
    {"1e+,", 3, "expected a digit"},
    {"+1", 0, "expected a value"},
    {".5", 0, "expected a value"},
    {"tru", 3, "unexpected end of input"},
    {"trux", 3, "invalid literal"},
    {"nulll", 4, "expected the end of the body"},
    {"NaN", 0, "expected a value"},
    {"'a'", 0, "expected a value"},
    {"\"", 1, "unterminated string"},
    {"\"\\", 1, "unterminated string"},
    {"\"\\\"", 3, "unterminated string"},
    {"\"\\x\"", 1, "invalid escape"},
    {"\"\\u12\"", 1, "invalid \\u escape"},
    {"\"\\u12g4\"", 1, "invalid \\u escape"},
    {"\"\\U0041\"", 1, "invalid escape"},
    {"\"\\u\"", 1, "invalid \\u escape"},
    {"\"\\uD83D\\uDE00\\ud800\\udc0\"", 19, "invalid \\u escape"},
    {"\"a\nb\"", 2, "control character in a string"},
    {"\"a\x1f\"", 2, "control character in a string"},
    {"\"a\x7f\"", 0, NULL},
    {"\"\xff\"", 1, "invalid UTF-8"},
    {"\"a\xc3\"", 2, "invalid UTF-8"},
    {"\"\xed\xa0\x80\"", 1, "invalid UTF-8"},
    {"\"\xf4\x90\x80\x80\"", 1, "invalid UTF-8"},
    {"\"\xf4\x8f\xbf\xbf\xf0\x90\x80\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"", 0, NULL},
    {"\"\\u0000\\/\\b\\f\\n\\r\\t\\\\\\\"\"", 0, NULL},
    {"\xef\xbb\xbf{}", 0, "expected a value"},
    {"[1]\x0c", 3, "expected the end of the body"},
    {"[1,\x0b 2]", 3, "expected a value"},
    {"// c\n1", 0, "expected a value"},
    {"[\"a\",\n\"\\a\"]", 7, "invalid escape"},
};

static void picked_documents(void) {
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        struct bytes b = bytes_copy(documents[i].body, strlen(documents[i].body));
        paucis_error e = {PAUCIS_OK, NULL, 0};
        same(b.at, b.len);
        TEST_NOTE("%s", documents[i].body);
        paucis_err err = paucis__json_read(&json, &mem, NULL, b.at, b.len, &e);
        CHECK_EQ(err, documents[i].msg ? PAUCIS_E_PARSE : PAUCIS_OK);
        CHECK_EQ(e.pos, documents[i].pos);
        CHECK_STR(e.msg, documents[i].msg);
        bytes_free(&b);
    }
    static const char nul[] = "[\"a\0b\",\0]";
    same_copy(nul, sizeof nul - 1);
    same_copy("\0", 1);
    same_copy("[1\0]", 4);
}

/* The nodes of the example in json.h, and what the walking helpers say about them. */
static void picked_nodes(void) {
    static const char body[] = "{\"role\":\"user\",\"n\":[1], \"role\" : {\"x\":[]} }";
    paucis_error e;
    CHECK_EQ(paucis__json_read(&json, &mem, NULL, body, sizeof body - 1, &e), PAUCIS_OK);
    CHECK_EQ(json.nodes.count, 14);
    CHECK_EQ(json_node(&json, 0)->end, 13);
    CHECK_EQ(json_node(&json, 13)->end, 0);
    CHECK_EQ(json_node(&json, 4)->end, 6);
    CHECK_EQ(json_next(&json, 4), 7);
    CHECK_EQ(json_to(&json, 4), 22);
    CHECK(json_is_key(&json, 1) && !json_is_key(&json, 2) && json_is_key(&json, 7));
    CHECK(json_is(&json, 2, "user") && !json_is(&json, 2, "use"));
    CHECK_EQ(json_get(&json, 0, "role"), 8); /* the last one */
    CHECK_EQ(json_get(&json, 0, "n"), 4);
    CHECK_EQ(json_get(&json, 0, "x"), 0);
    CHECK_EQ(json_get(&json, 4, "x"), 0);
    CHECK(paucis__json_has_twins(&json, 0) && !paucis__json_has_twins(&json, 8));
    CHECK_EQ(json_count(&json, 4), 1);
    CHECK_EQ(json_count(&json, 10), 0);
}

static void depth(void) {
    for (size_t n = PAUCIS_MAX_DEPTH - 1; n <= PAUCIS_MAX_DEPTH + 1; n++)
        for (int object = 0; object < 2; object++) {
            struct bytes open = bytes_repeat("", object ? "{\"a\":" : "[", n, "1");
            struct bytes close = bytes_repeat("", object ? "}" : "]", n, "");
            struct bytes b = {must_malloc(open.len + close.len), open.len + close.len};
            memcpy(b.at, open.at, open.len);
            memcpy(b.at + open.len, close.at, close.len);
            CHECK(same(b.at, b.len));
            CHECK_EQ(reference.code, n > PAUCIS_MAX_DEPTH ? PAUCIS_E_LIMIT : PAUCIS_OK);
            bytes_free(&open);
            bytes_free(&close);
            bytes_free(&b);
        }
}

/* ---- mutations ----------------------------------------------------------------------------- */

static const uint8_t mutants[] = {0x00, '"', '\\', '{', ']', ',', '0', 0x80, 0xc3, 0xed, 0xff};

/* One byte of the body changed, at every place; a few values each, and all in turn. */
static void mutate(struct bytes *b, uint64_t *seed) {
    size_t each = test_is_sanitized() ? 1 : 3;
    for (size_t i = 0; i < b->len; i++) {
        char was = b->at[i];
        for (size_t k = 0; k < each; k++) {
            b->at[i] = k ? (char)mutants[random_below(seed, sizeof mutants)]
                         : (char)(random_next(seed) & 0xff);
            if (!same(b->at, b->len)) break;
        }
        b->at[i] = was;
    }
}

static void truncate_everywhere(const struct bytes *b) {
    size_t step = test_is_sanitized() ? 3 : 1;
    for (size_t cut = 0; cut <= b->len; cut += step)
        if (!same_copy(b->at, cut)) return;
}

static void mutations(void) {
    uint64_t seed = 1;
    struct files f = files_bodies();
    for (size_t i = 0; i < f.count; i++) {
        same(f.at[i].body.at, f.at[i].body.len);
        same_named(f.at[i].body.at, f.at[i].body.len);
        truncate_everywhere(&f.at[i].body);
        mutate(&f.at[i].body, &seed);
    }
    files_free(&f);
}

/* ---- strings ------------------------------------------------------------------------------- */

/* Do all kernels find the end of the string that begins at `from` where the reference does? The
 * flags count only if it is good. */
static bool same_string(const char *body, size_t from, size_t size) {
    const uint8_t *p = (const uint8_t *)body;
    unsigned want_flags = 0;
    size_t bad, want = reference_string(p, from, size, &want_flags, &bad);
    for (size_t k = 0; k < nkernels; k++) {
        unsigned flags = 0;
        size_t end = kernels[k]->string_end(p, from, size, &flags);
        if (end == want && (end == size || flags == want_flags)) continue;
        TEST_NOTE("kernel %s from %zu, flags %u", kernels[k]->name, from, flags);
        CHECK_EQ(end, want);
        CHECK_EQ(flags, want_flags);
        test_show_bytes("body", body, size);
        return false;
    }
    return true;
}

struct draft {
    char at[1500];
    size_t len;
};

static void put(struct draft *d, const char *text, size_t len) {
    if (d->len + len > sizeof d->at) return;
    memcpy(d->at + d->len, text, len);
    d->len += len;
}

static void put_times(struct draft *d, const char *text, size_t len, size_t times) {
    while (times--) put(d, text, len);
}

#define PIECE(literal) \
    { literal, sizeof(literal) - 1 }
static const struct {
    const char *text;
    size_t len;
} good_pieces[] =
    {
        PIECE("\\\""),
        PIECE("\\\\"),
        PIECE("\\n"),
        PIECE("\\/"),
        PIECE("\\u0041"),
        PIECE("\\uD83D"),
        PIECE("\\ud83d\\udE00"),
        PIECE("\\u005C"),
        PIECE("\xc2\x80"),
        PIECE("\xdf\xbf"),
        PIECE("\xe0\xa0\x80"),
        PIECE("\xed\x9f\xbf"),
        PIECE("\xee\x80\x80"),
        PIECE("\xef\xbf\xbf"),
        PIECE("\xf0\x90\x80\x80"),
        PIECE("\xf4\x8f\xbf\xbf"),
        PIECE("\x7f"),
        PIECE("/"),
        PIECE("u"),
        PIECE("\\t"),
},
  bad_pieces[] = {
      PIECE("\\"),
      PIECE("\\x"),
      PIECE("\\u12"),
      PIECE("\\u123g"),
      PIECE("\\\x80"),
      PIECE("\x00"),
      PIECE("\x1f"),
      PIECE("\n"),
      PIECE("\x80"),
      PIECE("\xbf"),
      PIECE("\xc0\x80"),
      PIECE("\xc1\xbf"),
      PIECE("\xc3"),
      PIECE("\xe0\x9f\xbf"),
      PIECE("\xe2\x82"),
      PIECE("\xed\xa0\x80"),
      PIECE("\xf0\x8f\xbf\xbf"),
      PIECE("\xf4\x90\x80\x80"),
      PIECE("\xf5\x80\x80\x80"),
      PIECE("\xff"),
      PIECE("\xf0\x90\x80"),
      PIECE("\""),
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void put_piece(struct draft *d, uint64_t *seed) {
    size_t i;
    switch (random_below(seed, 8)) {
    case 0:
    case 1: put_times(d, "a", 1, random_below(seed, 70)); break;
    case 2: put_times(d, "\\\\", 2, random_below(seed, 40)); break;
    case 3: put_times(d, "\xc3\xa9", 2, random_below(seed, 40)); break;
    case 4:
        if (random_below(seed, 8)) break;
        i = random_below(seed, COUNT(bad_pieces));
        put(d, bad_pieces[i].text, bad_pieces[i].len);
        break;
    default:
        i = random_below(seed, COUNT(good_pieces));
        put(d, good_pieces[i].text, good_pieces[i].len);
    }
}

/* Strings of random pieces; most end, some do not, and what follows the end is often rubbish. */
static void random_strings(void) {
    size_t cases = test_is_long() ? 3000000 : test_is_sanitized() ? 60000 : 300000;
    uint64_t seed = 2;
    for (size_t n = 0; n < cases; n++) {
        struct draft d;
        d.len = 0;
        put_times(&d, " ", 1, random_below(&seed, 5));
        put(&d, "\"", 1);
        size_t from = d.len;
        for (size_t k = random_below(&seed, 9); k; k--) put_piece(&d, &seed);
        if (random_below(&seed, 10)) put(&d, "\"", 1);
        if (random_below(&seed, 2)) put_piece(&d, &seed);
        struct bytes b = bytes_copy(d.at, d.len);
        bool ok = same_string(b.at, from, b.len) && (n % 8 || same(b.at, b.len));
        bytes_free(&b);
        if (!ok) return;
    }
}

/* ---- documents ----------------------------------------------------------------------------- */

static void put_string(struct draft *d, uint64_t *seed) {
    put(d, "\"", 1);
    size_t kind = random_below(seed, 16);
    const struct json_name_text *name = &paucis__json_names[random_below(seed, JSON_NAMES)];
    if (kind < 5)
        put_times(d, "k", 1, random_below(seed, 20));
    else if (kind < 9)
        put(d, name->text, name->len - (kind == 8)); /* a name, or nearly */
    else if (kind < 11)
        put_piece(d, seed);
    else if (kind == 11)
        put_times(d, "long", 4, random_below(seed, 20));
    put(d, "\"", 1);
}

static void put_space(struct draft *d, uint64_t *seed) {
    static const char *const spaces[] = {"", "", "", "", " ", "\n", "  \t", "\r\n"};
    const char *text = spaces[random_below(seed, COUNT(spaces))];
    put(d, text, strlen(text));
}

static void put_value(struct draft *d, uint64_t *seed, size_t level) {
    static const char *const scalars[] = {"0", "-1.5e+3", "true", "false", "null", "12345678901"};
    size_t kind = random_below(seed, level > 5 ? 5 : 9);
    put_space(d, seed);
    if (kind < 4) {
        put_string(d, seed);
    } else if (kind == 4) {
        const char *text = scalars[random_below(seed, COUNT(scalars))];
        put(d, text, strlen(text));
    } else {
        bool object = kind < 7;
        put(d, object ? "{" : "[", 1);
        for (size_t n = random_below(seed, 6), i = 0; i < n; i++) {
            if (i) put(d, ",", 1);
            put_space(d, seed);
            if (object) put_string(d, seed);
            if (object) put(d, ":", 1);
            put_value(d, seed, level + 1);
        }
        put_space(d, seed);
        put(d, object ? "}" : "]", 1);
    }
    put_space(d, seed);
}

/* Documents of many short strings, names among them; a third has one byte changed. */
static void random_documents(void) {
    size_t cases = test_is_long() ? 1000000 : test_is_sanitized() ? 15000 : 100000;
    uint64_t seed = 8;
    for (size_t n = 0; n < cases; n++) {
        struct draft d;
        d.len = 0;
        put_value(&d, &seed, 0);
        struct bytes b = bytes_copy(d.at, d.len);
        if (n % 3 == 0) b.at[random_below(&seed, b.len)] = (char)(random_next(&seed) & 0xff);
        bool ok = same(b.at, b.len) && (n % 8 || same_named(b.at, b.len));
        bytes_free(&b);
        if (!ok) return;
    }
}

/* Every name, and every name with a byte changed, missing or added, as a key and as a role. */
static void every_name(void) {
    for (size_t k = 0; k < JSON_NAMES; k++)
        for (size_t at = 0; at <= paucis__json_names[k].len; at++)
            for (int change = 0; change < 3; change++) {
                char name[40];
                size_t len = paucis__json_names[k].len;
                memcpy(name, paucis__json_names[k].text, len + 1);
                if (change == 0 && at < len) name[at] ^= 1;
                if (change == 1) memmove(name + at + 1, name + at, len + 1 - at), name[at] = '_';
                if (change == 2 && at < len) memmove(name + at, name + at + 1, len - at);
                char body[200];
                int n = snprintf(body, sizeof body, "{\"%s\":1,\"role\":\"%s\"}", name, name);
                struct bytes b = bytes_copy(body, (size_t)n);
                bool ok = same(b.at, b.len) && same_named(b.at, b.len);
                bytes_free(&b);
                if (!ok) return;
            }
}

/* A run of backslashes of any length up to 140 at any place, before a quote. */
static void backslash_runs(void) {
    for (size_t before = 0; before < 70; before++)
        for (size_t run = 0; run < 140; run++) {
            struct draft d;
            d.len = 0;
            put_times(&d, "x", 1, before);
            put_times(&d, "\\", 1, run);
            put(&d, "\"n\"", 3);
            struct bytes b = bytes_copy(d.at, d.len);
            bool ok = same_string(b.at, 0, b.len);
            bytes_free(&b);
            if (!ok) return;
        }
}

/* ---- UTF-8 --------------------------------------------------------------------------------- */

/* One byte of every class that the rules tell apart, and those at the edges of a class. */
static const uint8_t classes[] = {0x00, 0x1f, 0x20, '"',  'a',  '\\', 0x7f, 0x80, 0x8f, 0x90,
                                  0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec,
                                  0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xff};

/* A string of `before` plain bytes, 4 bytes to be set at `place`, `after` plain ones, a quote. */
struct stage {
    struct bytes body;
    char *place;
};

static struct stage stage_set(size_t before, size_t after) {
    struct stage s = {{must_malloc(before + 4 + after + 1), before + 4 + after + 1}, NULL};
    memset(s.body.at, 'a', s.body.len);
    s.body.at[s.body.len - 1] = '"';
    s.place = s.body.at + before;
    return s;
}

/* Every pair, and every triple that does not begin with ASCII, across the border of two blocks. */
static void utf8_pairs_and_triples(void) {
    bool quick = test_is_sanitized();
    struct stage s = stage_set(62, 5);
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++) {
            memcpy(s.place, (char[]){(char)a, (char)b, 'a', 'a'}, 4);
            if (!same_string(s.body.at, 0, s.body.len)) goto out;
            if (a < 0x80) continue;
            for (unsigned c = 0; c < (quick ? COUNT(classes) : 256); c++) {
                s.place[2] = (char)(quick ? classes[c] : c);
                if (!same_string(s.body.at, 0, s.body.len)) goto out;
            }
        }
out:
    bytes_free(&s.body);
}

/* Every four bytes of the classes; at many places for those that begin with a lead byte. */
static bool utf8_four(struct stage *s) {
    for (size_t a = 7; a < COUNT(classes); a++)
        for (size_t b = 0; b < COUNT(classes); b++)
            for (size_t c = 0; c < COUNT(classes); c++)
                for (size_t d = 0; d < COUNT(classes); d++) {
                    memcpy(s->place,
                           (char[]){(char)classes[a], (char)classes[b], (char)classes[c],
                                    (char)classes[d]},
                           4);
                    if (!same_string(s->body.at, 0, s->body.len)) return false;
                }
    return true;
}

static void utf8_fours(void) {
    static const size_t before[] = {61, 62, 63, 0, 1, 2, 3, 31, 60, 64, 125};
    size_t places = test_is_long() ? COUNT(before) : test_is_sanitized() ? 1 : 4;
    for (size_t i = 0; i < places; i++) {
        struct stage s = stage_set(before[i], i % 2 ? 0 : 70);
        TEST_NOTE("%zu bytes before", before[i]);
        bool ok = utf8_four(&s);
        bytes_free(&s.body);
        if (!ok) return;
    }
}

/* Every valid and invalid short sequence at every distance from both ends of a string. */
static void utf8_places(void) {
    for (size_t before = 0; before <= 130; before++)
        for (size_t after = 0; after <= 66; after += after < 4 ? 1 : 31) {
            struct stage s = stage_set(before, after);
            bool ok = true;
            for (size_t i = 0; ok && i < COUNT(good_pieces) + COUNT(bad_pieces); i++) {
                bool good = i < COUNT(good_pieces);
                size_t k = good ? i : i - COUNT(good_pieces);
                const char *text = good ? good_pieces[k].text : bad_pieces[k].text;
                size_t len = good ? good_pieces[k].len : bad_pieces[k].len;
                if (len > 4) continue;
                memset(s.place, 'a', 4);
                memcpy(s.place + 4 - len, text, len);
                ok = same_string(s.body.at, 0, s.body.len);
                s.body.at[s.body.len - 1] = 'a'; /* and the same without an end */
                ok = ok && same_string(s.body.at, 0, s.body.len);
                s.body.at[s.body.len - 1] = '"';
            }
            bytes_free(&s.body);
            if (!ok) return;
        }
}

static void best_kernel_is_usable(void) {
    CHECK(nkernels > 0);
    CHECK(paucis__json_best_kernel() == kernels[0]);
    for (size_t k = 0; k < nkernels; k++) printf("  kernel %s\n", kernels[k]->name);
}

int main(void) {
    find_kernels();
    paucis__json_names_init(&names);
    int code = TEST_RUN(CASE(best_kernel_is_usable), CASE(suite), CASE(picked_documents),
                        CASE(picked_nodes), CASE(depth), CASE(mutations), CASE(random_strings),
                        CASE(random_documents), CASE(every_name), CASE(backslash_runs),
                        CASE(utf8_pairs_and_triples), CASE(utf8_fours), CASE(utf8_places));
    VEC_FREE(&mem, json.nodes);
    VEC_FREE(&mem, named.nodes);
    reference_free(&reference);
    return code;
}
