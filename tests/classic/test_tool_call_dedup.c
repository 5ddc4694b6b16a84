/* tool_call_dedup: a call with the name and arguments of an earlier one says so instead. */
#include "classic/support.h"

static void short_histories_are_untouched(void) {
    struct talk t = {0};
    for (int i = 0; i < 8; i++) calls(&t, "a", "run", letters(&t, 'x', 100));
    run(&t, "tool_call_dedup", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void the_recent_window_is_protected(void) {
    struct talk t = {0};
    for (int i = 0; i < 12; i++) calls(&t, words(&t, "%d", i), "run", letters(&t, 'x', 100));
    run(&t, "tool_call_dedup", NULL);
    for (size_t i = 0; i < 12; i++) CHECK_EQ(begins(now(&t, i), "[REPEAT"), i > 0 && i < 4);
    talk_free(&t);
}

static void repeats_refer_to_the_first(void) {
    struct talk t = {0};
    for (int i = 0; i < 3; i++) calls(&t, words(&t, "id%d", i), "run", letters(&t, 'x', 64));
    chatter(&t, 8);
    run(&t, "tool_call_dedup", NULL);
    CHECK_STR(now(&t, 0), was(&t, 0));
    CHECK_STR(now(&t, 1), "[REPEAT of call_id=id0, 64 bytes]");
    CHECK_STR(now(&t, 2), "[REPEAT of call_id=id0, 64 bytes]");
    CHECK_STR(id_now(&t, 2), "id2");
    CHECK_EQ(t.stats.dedup_hits, 2);
    CHECK_EQ(t.stats.total_bytes_saved, 2 * (64 - (28 + 3 + 2)));
    run_again(&t, "tool_call_dedup", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void short_arguments_stay(void) {
    struct talk t = {0};
    for (int i = 0; i < 3; i++) calls(&t, words(&t, "%d", i), "run", letters(&t, 'x', 63));
    chatter(&t, 8);
    run(&t, "tool_call_dedup", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void other_names_and_other_arguments_stay(void) {
    struct talk t = {0};
    calls(&t, "a", "run", letters(&t, 'x', 80));
    calls(&t, "b", "walk", letters(&t, 'x', 80));
    calls(&t, "c", "run", letters(&t, 'x', 81));
    chatter(&t, 8);
    run(&t, "tool_call_dedup", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

int main(void) {
    return TEST_RUN(CASE(short_histories_are_untouched), CASE(the_recent_window_is_protected),
                    CASE(repeats_refer_to_the_first), CASE(short_arguments_stay),
                    CASE(other_names_and_other_arguments_stay));
}
