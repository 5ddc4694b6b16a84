/* Arguments cut to the heads of their strings: JSON stays JSON of the same keys, nothing is cut
 * inside a character or an escape, twice is as once; and what counts as a result that says a call
 * was made. */
#include "stable/arguments.h"

#include "support.h"
#include "test.h"

static const struct arguments_limits small = {.head = 24, .old_head = 4, .note = {"", 0}};

/* A text made of a head, so many units and a tail, cut. The caller frees it. */
static struct bytes cut(const char *head, const char *unit, size_t n, const char *tail,
                        const struct arguments_limits *limits, bool *changed) {
    struct counter counter;
    struct arguments a = {0};
    struct span out = {0};
    counter_init(&counter);
    struct mem m = {.alloc = counter_alloc(&counter)};
    struct bytes text = bytes_repeat(head, unit, n, tail);
    CHECK_EQ(paucis__arguments_cut(&a, &m, span_of(text.at, text.len), limits, &out), PAUCIS_OK);
    *changed = out.at != text.at;
    struct bytes copy = bytes_copy(out.at, out.len);
    bytes_free(&text);
    paucis__arguments_free(&a, &m);
    CHECK_EQ(counter.held, 0);
    CHECK_EQ(counter.wrong_sizes, 0);
    return copy;
}

static void known_texts(void) {
    static const struct {
        const char *head, *unit;
        size_t n;
        const char *tail, *after; /* NULL: stays */
    } rows[] = {
        {"{\"content\":\"", "one line\\n", 40, "\", \"n\": 1.50}",
         "{\"content\":\"one line\\none line\\n[... 38 lines, 342 bytes left out]\", \"n\": 1.50}"},
        {"{\"edits\":[{\"old_str\":\"", "abcdef", 60, "\",\"new_str\":\"x\"}]}",
         "{\"edits\":[{\"old_str\":\"abcd[... 1 lines, 356 bytes left out]\",\"new_str\":\"x\"}]}"},
        {"{\"a\":\"ab", "\\ud83d\\ude00", 50, "\"}",
         "{\"a\":\"ab\\ud83d\\ude00[... 1 lines, 196 bytes left out]\"}"},
        {"{\"a\":\"abc", "\\\\", 120, "\"}",
         "{\"a\":\"abc\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\[... 1 lines, 110 bytes left "
         "out]\"}"},
        {"*** Begin Patch\n", "+\xE2\x82\xAC", 60, "",
         "*** Begin Patch\n[... 1 lines, 240 bytes left out]"},
        {"{\"a\":\"", "abcd", 40, "\"}", NULL},      /* too little would go */
        {"{\"a\":", "[1,", 300, "", NULL},           /* no JSON */
        {"[\"", "abcdefgh", 80, "\"]", NULL},        /* no object */
        {"{\"", "a_long_key", 80, "\":\"b\"}", NULL} /* keys stay */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool changed;
        TEST_NOTE("row %zu", i);
        struct bytes b = cut(rows[i].head, rows[i].unit, rows[i].n, rows[i].tail, &small, &changed);
        CHECK_EQ(changed, rows[i].after != NULL);
        if (rows[i].after) CHECK_BYTES(b.at, b.len, rows[i].after, strlen(rows[i].after));
        bytes_free(&b);
    }
}

/* The note stands once, and is quoted where it has to be. What was cut is not cut again. */
static void notes_and_twice(void) {
    struct arguments_limits limits = small;
    limits.note = SPAN("[full text: \"7\"]");
    bool changed;
    struct bytes b = cut("{\"a\":\"", "abcdefgh", 80, "\",\"b\":\"x\"}", &limits, &changed);
    static const char want[] =
        "{\"a\":\"abcdefghabcdefghabcdefgh[... 1 lines, 616 bytes left out]"
        "[full text: \\\"7\\\"]\",\"b\":\"x\"}";
    CHECK_BYTES(b.at, b.len, want, sizeof want - 1);
    struct bytes again = cut(want, "", 0, "", &small, &changed);
    CHECK(!changed);
    bytes_free(&again);
    bytes_free(&b);
}

static void out_of_memory(void) {
    struct bytes text = bytes_repeat("{\"a\":\"", "abcdefgh", 80, "\"}");
    for (size_t fail = 0;; fail++) {
        struct counter counter;
        struct arguments a = {0};
        struct span out;
        counter_init(&counter);
        counter.fail_from = fail;
        counter.fail_to = fail + 1;
        struct mem m = {.alloc = counter_alloc(&counter)};
        paucis_err err = paucis__arguments_cut(&a, &m, span_of(text.at, text.len), &small, &out);
        paucis__arguments_free(&a, &m);
        CHECK_EQ(counter.held, 0);
        if (counter.calls <= fail) break;
        CHECK_EQ(err, PAUCIS_E_NOMEM);
    }
    bytes_free(&text);
}

static void what_says_success(void) {
    static const struct {
        const char *text;
        bool success;
    } rows[] = {
        {"The file a.c has been updated successfully.", true},
        {"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\n",
         true},
        {"File created successfully at: a/error_test.go", true},
        {"Wrote 12 lines", true},
        {"", false},
        {"ok", false},
        {"1\n2\n3\n4\n5\n6\n7\n8\nupdated", false}, /* too far down to be the tool's own words */
        {"No replacement was performed, old_str did not appear verbatim in a.c.", false},
        {"The file was not updated.", false},
        {"error: cannot apply patch\nThe file was saved before.", false},
        {"Exit code: 1\nUpdated nothing", false},
        {"The user doesn't want the file edited.", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TEST_NOTE("row %zu", i);
        struct bytes b = bytes_copy(rows[i].text, strlen(rows[i].text));
        CHECK_EQ(paucis__tells_success(span_of(b.at, b.len)), rows[i].success);
        bytes_free(&b);
    }
}

int main(void) {
    return TEST_RUN(CASE(known_texts), CASE(notes_and_twice), CASE(out_of_memory),
                    CASE(what_says_success));
}
