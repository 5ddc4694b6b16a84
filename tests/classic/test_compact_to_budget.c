/* compact_to_budget: old results, then old prose become one line until the whole fits. */
#include "classic/support.h"

#define RESULT_OF(n) "(elided: " n " bytes of tool result)"
#define PROSE_OF(n) "(elided: " n " bytes of assistant prose)"

/* A first message, `steps` calls with prose and results of 1000 bytes, and four at the end. */
static void working(struct talk *t, int steps) {
    says(t, "system", letters(t, 's', 1000));
    for (int i = 0; i < steps; i++) {
        message(t, "assistant");
        text_part(t, letters(t, 'p', 1000));
        call_part(t, words(t, "id%d", i), "run", "{}");
        answers(t, words(t, "id%d", i), letters(t, 'r', 1000));
    }
    chatter(t, 4);
}

static void under_budget_nothing_changes(void) {
    struct talk t = {0};
    working(&t, 3);
    run(&t, "compact_to_budget", "budget=100000");
    CHECK(unchanged(&t));
    CHECK_EQ(t.stats.elided_messages, 0);
    CHECK_EQ(t.stats.final_tokens, t.stats.original_tokens);
    CHECK(t.stats.budget_met);
    char exact[40]; /* exactly the budget is within it */
    (void)snprintf(exact, sizeof exact, "budget=%d", (int)t.stats.original_tokens);
    run(&t, "compact_to_budget", exact);
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* 2 bytes of text make 0 tokens, 7 make 2; 8 for the message. */
static void the_estimate(void) {
    struct talk t = {0};
    says(&t, "user", "ab");
    says(&t, "user", "abcdefg");
    calls(&t, "id", "run", "{}"); /* 2 + 3 + 2 bytes */
    answers(&t, "id", "12345");   /* 2 + 5 bytes */
    message(&t, "user");
    image_part(&t); /* 1536 bytes */
    run(&t, "compact_to_budget", "budget=0");
    CHECK_EQ(t.stats.original_tokens, 8 + 10 + 10 + 10 + 8 + 438);
    talk_free(&t);
}

static void old_results_go_before_old_prose(void) {
    struct talk t = {0};
    working(&t, 3);
    run(&t, "compact_to_budget", "budget=1500"); /* three results make it fit */
    for (size_t i = 1; i < 7; i += 2) {
        CHECK_STR(now(&t, i), was(&t, i));
        CHECK_STR(now(&t, i + 1), RESULT_OF("1000"));
    }
    CHECK_EQ(t.stats.elided_messages, 3);
    CHECK(t.stats.budget_met && t.stats.final_tokens <= 1500);
    talk_free(&t);
}

static void it_stops_as_soon_as_it_fits(void) {
    struct talk t = {0};
    working(&t, 3);
    run(&t, "compact_to_budget", "budget=2000"); /* the oldest result is enough */
    CHECK_STR(now(&t, 2), RESULT_OF("1000"));
    CHECK_STR(now(&t, 4), was(&t, 4));
    CHECK_EQ(t.stats.elided_messages, 1);
    talk_free(&t);
}

static void then_old_prose_goes(void) {
    struct talk t = {0};
    working(&t, 3);
    run(&t, "compact_to_budget", "budget=1200");
    CHECK_STR(now(&t, 1), PROSE_OF("1000"));
    CHECK_STR(now_part(&t, 1, 1), "{}"); /* arguments stay */
    CHECK_STR(now(&t, 3), was(&t, 3));
    CHECK_EQ(t.stats.elided_messages, 4);
    talk_free(&t);
}

/* The first message, whatever its role, and every user's. */
static void system_and_user_turns_are_never_elided(void) {
    struct talk t = {0};
    says(&t, "system", letters(&t, 's', 1000));
    says(&t, "user", letters(&t, 'u', 1000));
    message(&t, "user");
    result_part(&t, "a", letters(&t, 'r', 1000));
    chatter(&t, 4);
    run(&t, "compact_to_budget", "budget=0");
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void ids_are_still_paired(void) {
    struct talk t = {0};
    working(&t, 5);
    run(&t, "compact_to_budget", "budget=0");
    CHECK(all_paired(&t));
    for (size_t i = 0; i < 5; i++) {
        CHECK_STR(id_now(&t, 1 + 2 * i), words(&t, "id%zu", i));
        CHECK_STR(id_now(&t, 2 + 2 * i), words(&t, "id%zu", i));
    }
    talk_free(&t);
}

static void the_recent_window_is_protected(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    for (int i = 0; i < 6; i++) says(&t, "assistant", letters(&t, 'p', 1000));
    run(&t, "compact_to_budget", "budget=0");
    for (size_t i = 1; i < 7; i++) CHECK_EQ(begins(now(&t, i), "(elided"), i < 3);
    talk_free(&t);
}

static void short_histories_are_untouched(void) {
    struct talk t = {0};
    for (int i = 0; i < 5; i++) says(&t, "assistant", letters(&t, 'p', 1000));
    run(&t, "compact_to_budget", "budget=0");
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void best_effort_when_the_budget_cannot_be_met(void) {
    struct talk t = {0};
    working(&t, 3);
    run(&t, "compact_to_budget", "budget=10");
    CHECK_EQ(t.stats.elided_messages, 6); /* all there is */
    CHECK(!t.stats.budget_met && t.stats.final_tokens > 10);
    run_again(&t, "compact_to_budget", "budget=10");
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void short_texts_and_texts_beside_others_stay(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    says(&t, "assistant", letters(&t, 'p', 255));
    message(&t, "assistant");
    text_part(&t, letters(&t, 'p', 1000));
    text_part(&t, letters(&t, 'p', 1000));
    message(&t, "assistant");
    text_part(&t, letters(&t, 'p', 1000));
    image_part(&t);
    chatter(&t, 4);
    run(&t, "compact_to_budget", "budget=0");
    CHECK(unchanged(&t));
    talk_free(&t);
}

int main(void) {
    return TEST_RUN(CASE(under_budget_nothing_changes), CASE(the_estimate),
                    CASE(old_results_go_before_old_prose), CASE(it_stops_as_soon_as_it_fits),
                    CASE(then_old_prose_goes), CASE(system_and_user_turns_are_never_elided),
                    CASE(ids_are_still_paired), CASE(the_recent_window_is_protected),
                    CASE(short_histories_are_untouched),
                    CASE(best_effort_when_the_budget_cannot_be_met),
                    CASE(short_texts_and_texts_beside_others_stay));
}
