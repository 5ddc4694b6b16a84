/* apply_all: thinking_prune, dedup, lingua, pairing, each on the output of the one before. */
#include "classic/support.h"

static void an_old_step(struct talk *t, const char *id) {
    message(t, "assistant");
    thinking_part(t, "hm");
    text_part(t, "let   me   see");
    call_part(t, id, "read", "{}");
    answers(t, id, letters(t, 'x', 300));
}

static void short_histories_are_untouched(void) {
    struct talk t = {0};
    chatter(&t, 4);
    run(&t, "apply_all", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void every_stage_does_its_part(void) {
    struct talk t = {0};
    an_old_step(&t, "a");
    an_old_step(&t, "b");
    calls(&t, "open", "read", "{}");
    chatter(&t, 6);
    run(&t, "apply_all", NULL);
    CHECK_STR(now(&t, 0), "let me see"); /* thinking gone, blanks gone */
    CHECK(begins(now(&t, 3), "[DEDUP]"));
    CHECK(begins(now(&t, 5), "[tool result unavailable"));
    CHECK(all_paired(&t));
    talk_free(&t);
}

/* dedup 1; thinking_prune 2, lingua 2 and pairing 1 all count as snippets. */
static void counters_are_summed(void) {
    struct talk t = {0};
    an_old_step(&t, "a");
    an_old_step(&t, "b");
    calls(&t, "open", "read", "{}");
    chatter(&t, 6);
    run(&t, "apply_all", NULL);
    CHECK_EQ(t.stats.dedup_hits, 1);
    CHECK_EQ(t.stats.snippet_hits, 2 + 2 + 1);
    CHECK_EQ(t.stats.total_bytes_saved, 2 * 2 + (300 - 47) + 2 * 4);
    talk_free(&t);
}

static void it_is_the_sequence_of_its_stages(void) {
    struct talk a = {0}, b = {0};
    for (struct talk *t = &a;; t = &b) {
        for (int i = 0; i < 5; i++) an_old_step(t, words(t, "%d", i % 3));
        chatter(t, 5);
        if (t == &b) break;
    }
    run(&a, "apply_all", NULL);
    run(&b, "thinking_prune,dedup,lingua,pairing", NULL);
    CHECK_BYTES(a.out.at, a.out.len, b.out.at, b.out.len);
    CHECK_EQ(a.stats.total_bytes_saved, b.stats.total_bytes_saved);
    talk_free(&a);
    talk_free(&b);
}

/* A message that thinking_prune removed no longer counts in lingua's window. */
static void windows_are_reckoned_anew_for_every_stage(void) {
    struct talk t = {0};
    says(&t, "assistant", "a   b");
    message(&t, "assistant");
    thinking_part(&t, "hm");
    chatter(&t, 5);
    run(&t, "lingua", NULL);
    CHECK_STR(now(&t, 0), "a b");
    run(&t, "thinking_prune,lingua", NULL);
    CHECK_EQ(count_now(&t), 6);
    CHECK_STR(now(&t, 0), "a   b");
    talk_free(&t);
}

int main(void) {
    return TEST_RUN(CASE(short_histories_are_untouched), CASE(every_stage_does_its_part),
                    CASE(counters_are_summed), CASE(it_is_the_sequence_of_its_stages),
                    CASE(windows_are_reckoned_anew_for_every_stage));
}
