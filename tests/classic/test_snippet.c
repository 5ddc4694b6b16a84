/* snippet: a long result older than the window keeps its head and its tail. */
#include "classic/support.h"

/* One old result and the eight messages of the window behind it. */
static void old_result(struct talk *t, const char *output) {
    answers(t, "a", output);
    chatter(t, 8);
}

static void short_histories_are_untouched(void) {
    struct talk t = {0};
    for (int i = 0; i < 8; i++) answers(&t, "a", letters(&t, 'x', 9000));
    run(&t, "snippet", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void the_recent_window_is_protected(void) {
    struct talk t = {0};
    for (int i = 0; i < 10; i++) answers(&t, "a", letters(&t, 'x', 9000));
    run(&t, "snippet", NULL);
    CHECK_EQ(t.stats.snippet_hits, 2);
    for (size_t i = 0; i < 10; i++) CHECK_EQ(strlen(now(&t, i)) < 9000, i < 2);
    talk_free(&t);
}

static void short_results_stay(void) {
    struct talk t = {0};
    old_result(&t, letters(&t, 'x', 4095));
    run(&t, "snippet", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void a_long_result_keeps_head_and_tail(void) {
    struct talk t = {0};
    const char *head = letters(&t, 'h', 1024), *tail = letters(&t, 't', 1024);
    old_result(&t, words(&t, "%s%s%s", head, letters(&t, 'm', 2048), tail));
    run(&t, "snippet", NULL);
    CHECK_STR(now(&t, 0), words(&t, "%s\n[...elided 2048 bytes...]\n%s", head, tail));
    CHECK_EQ(t.stats.snippet_hits, 1);
    CHECK_EQ(t.stats.total_bytes_saved, 2048 - (23 + 4));
    talk_free(&t);
}

/* Characters of two, three and four bytes, at every offset to both cuts. */
static void cuts_fall_on_character_boundaries(void) {
    static const char *const wide[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t w = 0; w < 3; w++)
        for (size_t lead = 0; lead < 4; lead++) {
            struct talk t = {0};
            size_t width = strlen(wide[w]), n = 4200 / width;
            struct bytes run_of = bytes_repeat(letters(&t, 'x', lead), wide[w], n, "");
            const char *text = words(&t, "%.*s", (int)run_of.len, run_of.at);
            bytes_free(&run_of);
            TEST_NOTE("width %zu, lead %zu", width, lead);
            old_result(&t, text);
            run(&t, "snippet", NULL);
            size_t len = strlen(text), h = 1024, b = len - 1024;
            while ((h - lead) % width) h--;
            while ((b - lead) % width) b++;
            CHECK_STR(now(&t, 0), words(&t, "%.*s\n[...elided %zu bytes...]\n%s", (int)h, text,
                                        b - h, text + b));
            talk_free(&t);
        }
}

static void what_was_snipped_is_not_snipped_again(void) {
    struct talk t = {0};
    old_result(&t, letters(&t, 'x', 100000));
    run(&t, "snippet", NULL);
    CHECK(!unchanged(&t));
    run_again(&t, "snippet", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* Even a long text is left alone if it has the mark of one that was cut, or is a reference. */
static void what_looks_cut_is_not_cut(void) {
    struct talk t = {0};
    const char *long_text = letters(&t, 'x', 5000);
    answers(&t, "a", words(&t, "%s[...elided 7 bytes...]%s", long_text, long_text));
    answers(&t, "b", words(&t, "[DEDUP]%s", long_text));
    answers(&t, "c", words(&t, " [DEDUP]%s", long_text));
    chatter(&t, 8);
    run(&t, "snippet", NULL);
    CHECK_EQ(strlen(now(&t, 0)), strlen(was(&t, 0)));
    CHECK_EQ(strlen(now(&t, 1)), strlen(was(&t, 1)));
    CHECK(strlen(now(&t, 2)) <
          4096); /* exact case and place: a blank in front makes it plain text */
    talk_free(&t);
}

static void only_results_are_cut(void) {
    struct talk t = {0};
    says(&t, "assistant", letters(&t, 'x', 9000));
    calls(&t, "a", "write", letters(&t, 'x', 9000));
    chatter(&t, 8);
    run(&t, "snippet", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void the_constants_are_options(void) {
    struct talk t = {0};
    answers(&t, "a", "0123456789");
    says(&t, "user", "x");
    run(&t, "snippet", "snippet.keep_last=1 snippet.min=5 snippet.head=2 snippet.tail=1");
    CHECK_STR(now(&t, 0), "01\n[...elided 7 bytes...]\n9");
    talk_free(&t);
}

int main(void) {
    return TEST_RUN(CASE(short_histories_are_untouched), CASE(the_recent_window_is_protected),
                    CASE(short_results_stay), CASE(a_long_result_keeps_head_and_tail),
                    CASE(cuts_fall_on_character_boundaries),
                    CASE(what_was_snipped_is_not_snipped_again), CASE(what_looks_cut_is_not_cut),
                    CASE(only_results_are_cut), CASE(the_constants_are_options));
}
