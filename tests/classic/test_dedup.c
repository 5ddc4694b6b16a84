/* dedup: a result that says what an earlier one said becomes a reference to the first. */
#include "classic/support.h"

/* A call and its answer, twice two messages. */
static void step(struct talk *t, const char *id, const char *output) {
    calls(t, id, "read", "{}");
    answers(t, id, output);
}

static void short_outputs_are_not_deduplicated(void) {
    struct talk t = {0};
    step(&t, "a", letters(&t, 'x', 255));
    step(&t, "b", letters(&t, 'x', 255));
    run(&t, "dedup", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void outputs_of_256_bytes_are(void) {
    struct talk t = {0};
    step(&t, "a", letters(&t, 'x', 256));
    step(&t, "b", letters(&t, 'x', 256));
    run(&t, "dedup", NULL);
    CHECK_STR(now(&t, 1), was(&t, 1));
    CHECK_STR(now(&t, 3), "[DEDUP] identical to tool_call_id=a (256 bytes)");
    CHECK_EQ(t.stats.dedup_hits, 1);
    CHECK_EQ(t.stats.snippet_hits, 0);
    CHECK_EQ(t.stats.total_bytes_saved, 256 - (43 + 1 + 3));
    talk_free(&t);
}

static void distinct_outputs_are_kept(void) {
    struct talk t = {0};
    step(&t, "a", words(&t, "%s1", letters(&t, 'x', 400)));
    step(&t, "b", words(&t, "%s2", letters(&t, 'x', 400)));
    step(&t, "c", letters(&t, 'x', 400));
    run(&t, "dedup", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* Not the third to the second: the reference always names the first sighting. */
static void three_copies_refer_to_the_first(void) {
    struct talk t = {0};
    for (int i = 0; i < 3; i++) step(&t, words(&t, "id%d", i), letters(&t, 'x', 1000));
    run(&t, "dedup", NULL);
    CHECK_STR(now(&t, 1), was(&t, 1));
    CHECK_STR(now(&t, 3), "[DEDUP] identical to tool_call_id=id0 (1000 bytes)");
    CHECK_STR(now(&t, 5), "[DEDUP] identical to tool_call_id=id0 (1000 bytes)");
    CHECK_EQ(t.stats.dedup_hits, 2);
    talk_free(&t);
}

static void a_copy_keeps_its_own_id(void) {
    struct talk t = {0};
    step(&t, "a", letters(&t, 'x', 300));
    step(&t, "b", letters(&t, 'x', 300));
    run(&t, "dedup", NULL);
    CHECK_STR(id_now(&t, 3), "b");
    CHECK(all_paired(&t));
    talk_free(&t);
}

/* Equal prose and equal arguments are not its business; results of any role are. */
static void only_results_count_but_in_every_role(void) {
    struct talk t = {0};
    const char *same = letters(&t, 'x', 300);
    says(&t, "user", same);
    says(&t, "assistant", same);
    calls(&t, "a", "run", same);
    message(&t, "user");
    result_part(&t, "a", same);
    message(&t, "assistant");
    result_part(&t, "b", same);
    run(&t, "dedup", NULL);
    for (size_t i = 0; i < 4; i++) CHECK_STR(now(&t, i), was(&t, i));
    CHECK_STR(now(&t, 4), "[DEDUP] identical to tool_call_id=a (300 bytes)");
    talk_free(&t);
}

static void two_results_of_one_message_are_compared_too(void) {
    struct talk t = {0};
    message(&t, "tool");
    result_part(&t, "a", letters(&t, 'x', 300));
    result_part(&t, "b", letters(&t, 'x', 300));
    run(&t, "dedup", NULL);
    CHECK_STR(now_part(&t, 0, 1), "[DEDUP] identical to tool_call_id=a (300 bytes)");
    talk_free(&t);
}

/* With keep_last=8 the newest eight messages are neither replaced nor remembered. */
static void the_recent_window_is_protected_on_demand(void) {
    struct talk t = {0};
    step(&t, "a", letters(&t, 'x', 300));
    step(&t, "b", letters(&t, 'x', 300));
    step(&t, "c", letters(&t, 'x', 300));
    chatter(&t, 6);
    run(&t, "dedup", "dedup.keep_last=8");
    CHECK(begins(now(&t, 3), "[DEDUP]"));
    CHECK_STR(now(&t, 5), was(&t, 5));
    CHECK_EQ(t.stats.dedup_hits, 1);
    talk_free(&t);
}

static void short_histories_are_untouched_by_the_window(void) {
    struct talk t = {0};
    for (int i = 0; i < 4; i++) step(&t, words(&t, "%d", i), letters(&t, 'x', 300));
    run(&t, "dedup", "dedup.keep_last=8");
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* Escapes in the body do not count: both spell the same text. */
static void a_text_is_what_it_says_not_how_it_is_spelled(void) {
    struct talk t = {0};
    step(&t, "a", words(&t, "%s\n\"", letters(&t, 'x', 254)));
    step(&t, "b", words(&t, "%s\n\"", letters(&t, 'x', 254)));
    run(&t, "dedup", NULL);
    CHECK_STR(now(&t, 3), "[DEDUP] identical to tool_call_id=a (256 bytes)");
    talk_free(&t);
}

static void a_second_run_changes_nothing(void) {
    struct talk t = {0};
    for (int i = 0; i < 4; i++) step(&t, words(&t, "%d", i), letters(&t, 'x', 600));
    run(&t, "dedup", NULL);
    run_again(&t, "dedup", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

int main(void) {
    return TEST_RUN(CASE(short_outputs_are_not_deduplicated), CASE(outputs_of_256_bytes_are),
                    CASE(distinct_outputs_are_kept), CASE(three_copies_refer_to_the_first),
                    CASE(a_copy_keeps_its_own_id), CASE(only_results_count_but_in_every_role),
                    CASE(two_results_of_one_message_are_compared_too),
                    CASE(the_recent_window_is_protected_on_demand),
                    CASE(short_histories_are_untouched_by_the_window),
                    CASE(a_text_is_what_it_says_not_how_it_is_spelled),
                    CASE(a_second_run_changes_nothing));
}
