/* thinking_prune: thinking outside the newest four messages goes. */
#include "classic/support.h"

static void thinks(struct talk *t, const char *thought, const char *text) {
    message(t, "assistant");
    thinking_part(t, thought);
    if (text) text_part(t, text);
}

static void short_histories_are_untouched(void) {
    struct talk t = {0};
    for (int i = 0; i < 4; i++) thinks(&t, "hm", "so");
    run(&t, "thinking_prune", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void the_recent_window_is_protected(void) {
    struct talk t = {0};
    for (int i = 0; i < 6; i++) thinks(&t, "hm", "so");
    run(&t, "thinking_prune", NULL);
    for (size_t i = 0; i < 6; i++) CHECK_EQ(parts_now(&t, i), i < 2 ? 1 : 2);
    CHECK_STR(now(&t, 0), "so");
    CHECK_EQ(t.stats.snippet_hits, 2);
    CHECK_EQ(t.stats.total_bytes_saved, 4);
    talk_free(&t);
}

static void several_thoughts_of_a_message_count_as_one_hit(void) {
    struct talk t = {0};
    message(&t, "assistant");
    thinking_part(&t, "one");
    text_part(&t, "said");
    thinking_part(&t, "three");
    chatter(&t, 4);
    run(&t, "thinking_prune", NULL);
    CHECK_STR(now(&t, 0), "said");
    CHECK_EQ(t.stats.snippet_hits, 1);
    CHECK_EQ(t.stats.total_bytes_saved, 8);
    talk_free(&t);
}

/* A message that only thought goes, and so does one that never said anything. */
static void emptied_messages_go(void) {
    struct talk t = {0};
    thinks(&t, "only a thought", NULL);
    message(&t, "assistant");
    message(&t, "user");
    chatter(&t, 4);
    run(&t, "thinking_prune", NULL);
    CHECK_EQ(count_now(&t), 1 + 4);
    CHECK_STR(role_now(&t, 0), "user");
    talk_free(&t);
}

/* Empty thinking goes without being counted. */
static void empty_thinking_goes_uncounted(void) {
    struct talk t = {0};
    thinks(&t, "", "said");
    chatter(&t, 4);
    run(&t, "thinking_prune", NULL);
    CHECK_EQ(parts_now(&t, 0), 1);
    CHECK_EQ(t.stats.snippet_hits, 0);
    talk_free(&t);
}

static void only_assistants_are_pruned(void) {
    struct talk t = {0};
    message(&t, "user");
    thinking_part(&t, "hm");
    message(&t, "tool");
    thinking_part(&t, "hm");
    chatter(&t, 4);
    run(&t, "thinking_prune", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void a_call_survives_its_thinking(void) {
    struct talk t = {0};
    message(&t, "assistant");
    thinking_part(&t, "let me see");
    call_part(&t, "a", "ls", "{}");
    answers(&t, "a", "files");
    chatter(&t, 4);
    run(&t, "thinking_prune", NULL);
    CHECK_STR(id_now(&t, 0), "a");
    CHECK(all_paired(&t));
    run_again(&t, "thinking_prune", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

int main(void) {
    return TEST_RUN(CASE(short_histories_are_untouched), CASE(the_recent_window_is_protected),
                    CASE(several_thoughts_of_a_message_count_as_one_hit), CASE(emptied_messages_go),
                    CASE(empty_thinking_goes_uncounted), CASE(only_assistants_are_pruned),
                    CASE(a_call_survives_its_thinking));
}
