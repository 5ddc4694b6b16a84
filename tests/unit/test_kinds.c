/* Kinds of content in the novelty form: JSON stays JSON, headings stay with what they govern, names
 * are whole, failures stay; whatever the text, the form is shorter, made of what was there, and the
 * same every time; and memory may run out at any step. */
#include "stable/form.h"

#include "json/json.h"
#include "stable/joints.h"
#include "support.h"
#include "test.h"

#define KEEP 21

/* ---- a conversation's forms ---------------------------------------------------------------- */

struct desk {
    struct counter counter;
    struct mem mem;
    struct arena arena;
    struct forms forms;
};

static void desk_open(struct desk *d) {
    memset(d, 0, sizeof *d);
    counter_init(&d->counter);
    d->mem.alloc = counter_alloc(&d->counter);
    d->arena.mem = &d->mem;
    d->forms = (struct forms){
        .kind = paucis__form_kinds[0], .mem = &d->mem, .arena = &d->arena, .seed = 5, .keep = KEEP};
}

static void desk_close(struct desk *d) {
    d->forms.kind->free(&d->forms);
    paucis__arena_free(&d->arena);
    CHECK_EQ(d->counter.held, 0);
    CHECK_EQ(d->counter.wrong_sizes, 0);
}

/* The form of a text alone in its conversation: its short one, or cut to `cap` bytes. */
static paucis_err form_of(struct desk *d, struct span text, enum tool tool, size_t cap,
                          struct span *out) {
    struct form_text t = {.text = text, .part = 1, .is_result = true, .tool = tool};
    paucis_err err = d->forms.kind->born(&d->forms, &t);
    if (err) return err;
    return cap ? d->forms.kind->capped(&d->forms, &t, cap, out)
               : d->forms.kind->brief(&d->forms, &t, out);
}

/* The same as a text of its own. */
static char *made(const char *text, enum tool tool, size_t cap) {
    struct desk d;
    struct span out = {0};
    desk_open(&d);
    CHECK_EQ(form_of(&d, span_of(text, strlen(text)), tool, cap, &out), PAUCIS_OK);
    char *copy = must_malloc(out.len + 1);
    memcpy(copy, out.at, out.len);
    copy[out.len] = 0;
    desk_close(&d);
    return copy;
}

static bool has(const char *text, const char *what) { return strstr(text, what) != NULL; }

/* ---- JSON ---------------------------------------------------------------------------------- */

static bool is_json(struct span s) {
    struct counter c;
    struct mem m = {0};
    struct json j = {0};
    paucis_error e;
    counter_init(&c);
    m.alloc = counter_alloc(&c);
    bool ok = !paucis__json_read(&j, &m, NULL, s.at, s.len, &e);
    VEC_FREE(&m, j.nodes);
    return ok;
}

struct writer {
    uint64_t seed;
    char *at;
    size_t len, most;
};

static void add(struct writer *w, const char *s) {
    size_t n = strlen(s);
    if (w->len + n > w->most) return;
    memcpy(w->at + w->len, s, n);
    w->len += n;
}

static const char *pick(struct writer *w) {
    static const char *const words[] = {"alpha",
                                        "parse_header",
                                        "\\n",
                                        "\\\"",
                                        "\\u00e9",
                                        "\\ud83d\\ude00",
                                        "src/reader.c",
                                        " ",
                                        ", ",
                                        "\xC3\xA9",
                                        "max",
                                        "\\\\",
                                        "1234567",
                                        "requests",
                                        "[",
                                        "}"};
    return words[random_below(&w->seed, sizeof words / sizeof *words)];
}

static void add_string(struct writer *w) {
    size_t n = random_below(&w->seed, 8) ? random_below(&w->seed, 6) : random_below(&w->seed, 90);
    add(w, "\"");
    for (size_t i = 0; i < n; i++) add(w, pick(w));
    add(w, "\"");
}

/* A random array or object, a few levels deep. */
static void add_value(struct writer *w, size_t depth) {
    static const char *const scalars[] = {"null", "true", "-1.5e3", "0", "20260130", "{}", "[]"};
    size_t kind = depth ? random_below(&w->seed, 10) : random_below(&w->seed, 4);
    if (kind < 2 && depth < 6) {
        size_t n = random_below(&w->seed, 30) ? random_below(&w->seed, 6) : 60;
        bool object = random_below(&w->seed, 2), spaced = random_below(&w->seed, 2);
        add(w, object ? "{" : "[");
        for (size_t i = 0; i < n; i++) {
            if (i) add(w, spaced ? ",\n  " : ",");
            if (object) add_string(w), add(w, spaced ? ": " : ":");
            add_value(w, depth + 1);
        }
        add(w, object ? "}" : "]");
    } else if (kind < 6 && depth)
        add_string(w);
    else
        add(w, depth ? scalars[random_below(&w->seed, 7)] : "[1]");
}

static void random_json_stays_json(void) {
    size_t rounds = test_is_sanitized() ? 2000 : 20000, cut = 0;
    struct writer w = {.seed = 11, .at = must_malloc(1 << 20), .most = 1 << 20};
    for (size_t k = 0; k < rounds; k++) {
        w.len = 0;
        add_value(&w, 0);
        if (!CHECK(is_json(span_of(w.at, w.len)))) break;
        for (size_t cap = 0; cap <= 2048; cap = cap ? cap * 4 : 128) {
            struct desk d;
            struct span out;
            desk_open(&d);
            struct bytes exact = bytes_copy(w.at, w.len);
            CHECK_EQ(form_of(&d, span_of(exact.at, exact.len), TOOL_OTHER, cap, &out), PAUCIS_OK);
            CHECK(out.len <= w.len);
            cut += out.len < w.len;
            if (!CHECK(is_json(out))) {
                test_show_bytes("in", w.at, w.len);
                test_show_bytes("out", out.at, out.len);
                k = rounds;
            }
            desk_close(&d);
            bytes_free(&exact);
        }
    }
    CHECK(cut > rounds / 10);
    free(w.at);
}

static void json_by_structure(void) {
    struct bytes b =
        bytes_repeat("{\"total\": 400, \"rows\": [", "{\"name\": \"x\", \"ok\": true}, ", 400,
                     "{\"name\": \"last_of_them\", \"ok\": false}]}");
    char *text = must_malloc(b.len + 1);
    memcpy(text, b.at, b.len);
    text[b.len] = 0;
    char *brief = made(text, TOOL_OTHER, 0);
    CHECK_STR(brief,
              "{\"total\": 400, \"rows\": [\"[\xE2\x80\xA6"
              "401: last_of_them]\"]}");
    char *capped = made(text, TOOL_OTHER, 1024);
    CHECK(strlen(capped) < 2048);
    CHECK(has(capped, "{\"total\": 400, \"rows\": [{\"name\": \"x\""));
    CHECK(has(capped, "last_of_them\", \"ok\": false}]}"));
    CHECK(is_json(span_of(capped, strlen(capped))));
    free(capped);
    free(brief);
    free(text);
    bytes_free(&b);
}

/* ---- lines --------------------------------------------------------------------------------- */

#define FILLER                                                                    \
    " this is a line of a file\n that has no news in it\n to go back to at all\n" \
    " and so it may well go\n when it is no more of use\n"

static void a_heading_stays_with_its_lines(void) {
    char *s = made(
        "diff --git a/one.c b/one.c\nindex 1234567..89abcde 100644\n--- a/one.c\n"
        "+++ b/one.c\n@@ -1,5 +1,5 @@\n" FILLER
        "diff --git a/two.c b/two.c\nindex 2234567..99abcde 100644\n--- a/two.c\n"
        "+++ b/two.c\n@@ -7,5 +7,5 @@\n" FILLER "@@ -70,9 +70,9 @@\n" FILLER
        "+int max_depth_of_reader = parse_max_depth(argument_text);\n" FILLER,
        TOOL_READ, 0);
    CHECK(has(s, "diff --git a/two.c b/two.c\n"));
    CHECK(has(s, "@@ -70,9 +70,9 @@\n"));
    CHECK(has(s, "+int max_depth_of_reader"));
    CHECK(!has(s, "89abcde") && !has(s, "@@ -7,5"));
    free(s);
    s = made("==> a.log <==\n" FILLER "==> b.log <==\n" FILLER
             "max_depth_of_reader parse_max_depth argument_text\n" FILLER,
             TOOL_READ, 0);
    CHECK(has(s, "==> b.log <==\n") && !has(s, "==> a.log <=="));
    free(s);
    s = made(
        "| name | what it does |\n|---|---|\n| a | b and so on and on |\n"
        "| c | d and so on and on |\n| e | f and so on and on |\n| g | h and so on and on |\n"
        "| i | k and so on and on |\n| l | m and so on and on |\n| max_depth_of | "
        "parse_max_depth_of |\n",
        TOOL_RUN, 0);
    CHECK(has(s, "| name | what it does |\n|---|---|\n[") && has(s, "| max_depth_of |"));
    free(s);
}

static void names_are_whole(void) {
    char *s = made("  1145:\tone\n  1146:\ttwo\n  1147:\tthree\n" FILLER
                   "at 2026-01-30T20:40:56Z the commit 244049f was made\n"
                   "text: \\nThese are the words that stand behind an escape\n" FILLER,
                   TOOL_RUN, 0);
    CHECK(!has(s, "1145") && !has(s, ": T20:40") && !has(s, " nThese"));
    CHECK(!has(s, "244049") || has(s, "244049f"));
    free(s);
    const char *text = "path /a/b-c.d:12 end";
    struct item i = {text + 7, 2};
    CHECK(paucis__whole_name(text, text + strlen(text), &i));
    CHECK_BYTES(i.at, i.len, "/a/b-c.d:12", 11);
    text = "README.md:64:const x";
    i = (struct item){text, 9};
    CHECK(!paucis__whole_name(text, text + strlen(text), &i));
    text = "README.md-65- x";
    CHECK(!paucis__whole_name(text, text + strlen(text), &(struct item){text, 9}));
    text = "2026-01-30-notes x";
    CHECK(paucis__whole_name(text, text + strlen(text), &(struct item){text, 9}));
}

/* A line number may be longer than the first piece of its line. */
static void a_number_longer_than_a_piece(void) {
    static const char rest[] =
        ": the rest of this line, which makes it longer than a piece of it can be\n" FILLER FILLER
            FILLER FILLER FILLER FILLER FILLER;
    char text[250 + sizeof rest];
    memset(text, '1', 250);
    memcpy(text + 250, rest, sizeof rest);
    for (size_t cap = 0; cap <= 600; cap += 300) {
        char *s = made(text, TOOL_RUN, cap);
        CHECK(strlen(s) < strlen(text) && has(s, "[\xE2\x80\xA6"));
        free(s);
    }
}

/* What an exception is called, if the word for a failure is not in it, and which test failed. */
static void failures_are_named(void) {
    char *s =
        made("Traceback (most recent call last):\n" FILLER
             "  File \"a.py\", line 3, in f\n    g()\nconf.ImproperlyConfigured: no KEY\n" FILLER,
             TOOL_RUN, 0);
    CHECK(has(s, "conf.ImproperlyConfigured: no KEY\n"));
    free(s);
    s = made(FILLER "--- FAIL: TestDepth (0.01s)\n" FILLER "FAIL\n", TOOL_TEST, 0);
    CHECK(has(s, "--- FAIL: TestDepth (0.01s)\n"));
    free(s);
    s = made(FILLER "<shellId: 7 completed with exit code 2>", TOOL_RUN, 0);
    CHECK(has(s, "<shellId: 7 completed with exit code 2>"));
    free(s);
    s = made(FILLER "<shellId: 7 completed with exit code 0>", TOOL_RUN, 0);
    CHECK(!has(s, "shellId"));
    free(s);
}

static void edits_are_told(void) {
    char *s = made("The file a.c has been updated.\n" FILLER FILLER, TOOL_EDIT, 0);
    CHECK(has(s, "The file a.c has been updated.\n"));
    free(s);
}

static void failures_stay(void) {
    static const struct {
        const char *line;
        bool tells;
    } rows[] = {{"ModuleNotFoundError: No module named 'x'", true},
                {"--- FAIL: TestX", true},
                {"2 failed, 3 passed", true},
                {"0 failed, 3 passed", false},
                {"no errors found", false},
                {"handle_error(x)", false},
                {"terror", false},
                {"thread 'main' panicked at", true},
                {"Traceback (most recent call last):", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TEST_NOTE("%s", rows[i].line);
        CHECK_EQ(paucis__tells_failure(span_of(rows[i].line, strlen(rows[i].line))), rows[i].tells);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) { /* wherever it stands */
        char text[200];
        struct span line = span_of(rows[i].line, strlen(rows[i].line));
        size_t word = paucis__failure_after(line, 0);
        if (rows[i].tells && !CHECK(word < line.len)) continue;
        for (size_t at = 0; rows[i].tells && at + line.len - word <= sizeof text; at++) {
            memset(text, 'e', sizeof text);
            memcpy(text + at, line.at + word, line.len - word);
            CHECK_EQ(paucis__failure_after(span_of(text, sizeof text), 0), at);
            CHECK_EQ(paucis__failure_after(span_of(text, sizeof text), at / 2), at);
        }
        TEST_NOTE("%s", rows[i].line);
    }
    TEST_NOTE("%s", "");
    char *s =
        made("Process exited with code 3\nOutput:\n" FILLER "it failed\n" FILLER, TOOL_RUN, 0);
    CHECK(has(s, "Process exited with code 3\n") && has(s, "it failed\n"));
    free(s);
    struct bytes b =
        bytes_repeat("start\n", "all is well here and nothing is to be said\n", 2000, "end\n");
    const char *fault = "here the reader failed\n";
    memcpy(b.at + 43001, fault, strlen(fault));
    struct desk d;
    struct span out;
    desk_open(&d);
    CHECK_EQ(form_of(&d, span_of(b.at, b.len), TOOL_RUN, 1024, &out), PAUCIS_OK);
    char *copy = must_malloc(out.len + 1);
    memcpy(copy, out.at, out.len);
    copy[out.len] = 0;
    CHECK(out.len < 4096 && has(copy, "here the reader failed"));
    free(copy);
    desk_close(&d);
    bytes_free(&b);
}

/* ---- any text ------------------------------------------------------------------------------ */

static void any_text(void) {
    static const char *const bits[] = {"diff --git a/x b/x\n",
                                       "@@ -1 +1 @@\n",
                                       "+++ b/y\n",
                                       "--- a/y\n",
                                       "| a | b |\n",
                                       "|--|--|\n",
                                       "  File \"x.py\", line 3, in f\n",
                                       "    raise ValueError(name_of_it)\n",
                                       "12:text_of_line\n",
                                       "src/a.c\n",
                                       "./dir:\n",
                                       "NAME  STATUS  AGE\n",
                                       "\n",
                                       "\r\n",
                                       "word ",
                                       "Error: no\n",
                                       "\xE2\x80\xA6",
                                       "[",
                                       "{",
                                       "\"key\": ",
                                       "}",
                                       "]",
                                       "\\",
                                       "long_name_of_something_else ",
                                       "==> f <==\n",
                                       "\t"};
    uint64_t seed = 3;
    size_t rounds = test_is_sanitized() ? 3000 : 30000;
    for (size_t k = 0; k < rounds; k++) {
        char text[2000];
        size_t n = 0;
        while (n < 1200) {
            const char *bit = bits[random_below(&seed, sizeof bits / sizeof *bits)];
            memcpy(text + n, bit, strlen(bit));
            n += strlen(bit);
        }
        struct bytes exact = bytes_copy(text, n);
        struct span once, twice;
        size_t cap = random_below(&seed, 2) * 300;
        enum tool tool = random_below(&seed, 2) ? TOOL_RUN : TOOL_READ;
        struct desk d, e;
        desk_open(&d);
        desk_open(&e);
        e.forms.seed = 77;
        CHECK_EQ(form_of(&d, span_of(exact.at, n), tool, cap, &once), PAUCIS_OK);
        CHECK_EQ(form_of(&e, span_of(exact.at, n), tool, cap, &twice), PAUCIS_OK);
        CHECK_BYTES(once.at, once.len, twice.at, twice.len);
        CHECK(once.len <= n);
        desk_close(&d);
        desk_close(&e);
        bytes_free(&exact);
    }
}

static void memory_runs_out(void) {
    struct bytes b =
        bytes_repeat("[", "{\"name\": \"value_of_it\", \"n\": [1, 2, [3]]}, ", 200, "0]");
    for (size_t cap = 0; cap <= 1000; cap += 1000)
        for (size_t fail = 0;; fail++) {
            struct desk d;
            struct span out;
            desk_open(&d);
            d.counter.fail_from = fail;
            d.counter.fail_to = SIZE_MAX;
            paucis_err err = form_of(&d, span_of(b.at, b.len), TOOL_OTHER, cap, &out);
            d.counter.fail_from = SIZE_MAX;
            CHECK(err == PAUCIS_OK || err == PAUCIS_E_NOMEM);
            desk_close(&d);
            if (err == PAUCIS_OK || !CHECK(fail < 1000)) break;
        }
    bytes_free(&b);
}

int main(void) {
    return TEST_RUN(
        CASE(random_json_stays_json), CASE(json_by_structure), CASE(a_heading_stays_with_its_lines),
        CASE(names_are_whole), CASE(a_number_longer_than_a_piece), CASE(failures_are_named),
        CASE(edits_are_told), CASE(failures_stay), CASE(any_text), CASE(memory_runs_out));
}
