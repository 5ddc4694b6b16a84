/* pairing: every call gets a result, every result has a call. */
#include "classic/support.h"

#define UNAVAILABLE "[tool result unavailable: elided by context management]"

static void a_paired_conversation_is_untouched(void) {
    struct talk t = {0};
    says(&t, "user", "look");
    calls(&t, "a", "ls", "{}");
    answers(&t, "a", "files");
    run(&t, "pairing", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void a_call_without_a_result_gets_one(void) {
    struct talk t = {0};
    message(&t, "assistant");
    call_part(&t, "a", "ls", "{}");
    call_part(&t, "b", "ls", "{}");
    call_part(&t, "c", "ls", "{}");
    answers(&t, "b", "files");
    says(&t, "user", "thanks");
    run(&t, "pairing", NULL);
    CHECK_EQ(count_now(&t), 5);
    CHECK_STR(role_now(&t, 1), "tool");
    CHECK_STR(id_now(&t, 1), "a");
    CHECK_STR(now(&t, 1), UNAVAILABLE);
    CHECK_STR(id_now(&t, 2), "c"); /* in the order of the calls, right behind them */
    CHECK_STR(id_now(&t, 3), "b");
    CHECK_EQ(t.stats.snippet_hits, 2);
    CHECK_EQ(t.stats.total_bytes_saved, 0);
    CHECK(all_paired(&t));
    talk_free(&t);
}

static void a_result_without_a_call_goes(void) {
    struct talk t = {0};
    says(&t, "user", "look");
    message(&t, "tool");
    result_part(&t, "gone", "one");
    result_part(&t, "gone too", "two");
    says(&t, "user", "thanks");
    run(&t, "pairing", NULL);
    CHECK_EQ(count_now(&t), 2);
    CHECK_EQ(t.stats.snippet_hits, 1); /* a message, not its parts */
    talk_free(&t);
}

static void messages_with_something_else_stay(void) {
    struct talk t = {0};
    message(&t, "tool"); /* empty */
    message(&t, "tool");
    result_part(&t, "gone", "one");
    text_part(&t, "and a text");
    message(&t, "user");
    result_part(&t, "gone", "one");
    run(&t, "pairing", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void a_result_anywhere_answers(void) {
    struct talk t = {0};
    calls(&t, "a", "ls", "{}");
    says(&t, "user", "what takes so long?");
    answers(&t, "a", "files");
    run(&t, "pairing", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

int main(void) {
    return TEST_RUN(CASE(a_paired_conversation_is_untouched),
                    CASE(a_call_without_a_result_gets_one), CASE(a_result_without_a_call_goes),
                    CASE(messages_with_something_else_stay), CASE(a_result_anywhere_answers));
}
