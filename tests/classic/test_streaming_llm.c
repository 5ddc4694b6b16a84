/* streaming_llm: the first messages and the newest stay, what lies between becomes one line. */
#include "classic/support.h"

#define MARKER(n, bytes)                             \
    "[...streaming-llm trim: " n " messages (" bytes \
    " bytes) elided between sinks and recent window...]"

/* n messages with one text each that tells their number. */
static void numbered(struct talk *t, size_t n) {
    for (size_t i = 0; i < n; i++)
        says(t, t->messages % 2 ? "assistant" : "user", words(t, "message %zu", t->messages));
}

static void short_histories_are_untouched(void) {
    struct talk t = {0};
    numbered(&t, 21);
    run(&t, "streaming_llm", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void sinks_and_recent_window_are_kept(void) {
    struct talk t = {0};
    numbered(&t, 40);
    run(&t, "streaming_llm", NULL);
    CHECK_EQ(count_now(&t), 2 + 1 + 16);
    CHECK_STR(now(&t, 0), "message 0");
    CHECK_STR(now(&t, 1), "message 1");
    CHECK_STR(role_now(&t, 2), "user");
    for (size_t i = 0; i < 16; i++) CHECK_STR(now(&t, 3 + i), was(&t, 24 + i));
    talk_free(&t);
}

/* 22 messages of 9 or 10 bytes; those numbered 2 to 23 go. */
static void the_marker_counts_what_went(void) {
    struct talk t = {0};
    numbered(&t, 40);
    run(&t, "streaming_llm", NULL);
    CHECK_STR(now(&t, 2), MARKER("22", "212"));
    CHECK_EQ(t.stats.snippet_hits, 1);
    CHECK_EQ(t.stats.total_bytes_saved, 212 - (85 + 2 + 3));
    talk_free(&t);
}

/* Texts, results, names and arguments count; thinking and ids do not; an image is 1024. */
static void what_counts_as_bytes(void) {
    struct talk t = {0};
    numbered(&t, 2);
    message(&t, "assistant");
    text_part(&t, "12345");
    thinking_part(&t, "not counted");
    call_part(&t, "long id that does not count", "name", "{args}");
    answers(&t, "x", "result");
    message(&t, "user");
    image_part(&t);
    says(&t, "assistant", "");
    numbered(&t, 16);
    run(&t, "streaming_llm", NULL);
    CHECK_STR(now(&t, 2), MARKER("4", "1045"));
    talk_free(&t);
}

/* The window begins behind a call: its results, which stand in it, go with the call. */
static void a_call_is_never_parted_from_its_result_at_the_end(void) {
    struct talk t = {0};
    numbered(&t, 8);
    calls(&t, "a", "ls", "{}");
    answers(&t, "a", "one");
    answers(&t, "a", "two");
    numbered(&t, 14);
    run(&t, "streaming_llm", NULL);
    CHECK_EQ(count_now(&t), 2 + 1 + 14);
    CHECK_STR(now(&t, 3), "message 11");
    CHECK(all_paired(&t));
    talk_free(&t);
}

/* The second sink is a call: its results stay with it. */
static void a_call_is_never_parted_from_its_result_at_the_start(void) {
    struct talk t = {0};
    says(&t, "user", "begin");
    message(&t, "assistant");
    call_part(&t, "a", "ls", "{}");
    call_part(&t, "b", "ls", "{}");
    answers(&t, "a", "one");
    answers(&t, "b", "two");
    numbered(&t, 30);
    run(&t, "streaming_llm", NULL);
    CHECK_STR(now(&t, 2), "one");
    CHECK_STR(now(&t, 3), "two");
    CHECK(begins(now(&t, 4), "[...streaming-llm"));
    CHECK(all_paired(&t));
    talk_free(&t);
}

static void a_second_run_changes_nothing(void) {
    struct talk t = {0};
    numbered(&t, 60);
    run(&t, "streaming_llm", NULL);
    run_again(&t, "streaming_llm", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* One message between sinks and window is not worth a marker. */
static void a_single_message_is_not_trimmed(void) {
    struct talk t = {0};
    numbered(&t, 22);
    run(&t, "streaming_llm", "streaming_llm.recent=19");
    CHECK(unchanged(&t));
    run(&t, "streaming_llm", "streaming_llm.recent=18");
    CHECK_EQ(count_now(&t), 2 + 1 + 18);
    talk_free(&t);
}

int main(void) {
    return TEST_RUN(CASE(short_histories_are_untouched), CASE(sinks_and_recent_window_are_kept),
                    CASE(the_marker_counts_what_went), CASE(what_counts_as_bytes),
                    CASE(a_call_is_never_parted_from_its_result_at_the_end),
                    CASE(a_call_is_never_parted_from_its_result_at_the_start),
                    CASE(a_second_run_changes_nothing), CASE(a_single_message_is_not_trimmed));
}
