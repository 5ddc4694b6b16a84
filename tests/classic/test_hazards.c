/* The known hazards of the classic strategies, in the order in which docs/strategies.md lists them.
 * Each case shows the hazard as it is with the classic settings, and then that an option removes
 * it. */
#include "classic/support.h"

static void step(struct talk *t, const char *id, const char *output) {
    calls(t, id, "read", "{}");
    answers(t, id, output);
}

/* ---- 1: dedup and snippet ------------------------------------------------------------------ */

/* "identical to a (5000 bytes)", while a itself shows two thousand. */
static void reference_to_a_snippet(void) {
    struct talk t = {0};
    step(&t, "a", letters(&t, 'x', 5000));
    step(&t, "b", letters(&t, 'x', 5000));
    chatter(&t, 8);
    run(&t, "dedup,snippet", NULL);
    CHECK(is_in(now(&t, 1), "[...elided"));
    CHECK_STR(now(&t, 3), "[DEDUP] identical to tool_call_id=a (5000 bytes)");

    run(&t, "dedup,snippet", "snippet.spare_referred=yes");
    CHECK_STR(now(&t, 1), was(&t, 1));
    CHECK_STR(now(&t, 3), "[DEDUP] identical to tool_call_id=a (5000 bytes)");
    talk_free(&t);
}

/* Two outputs that differ in the middle only are declared identical once that is cut out. */
static void different_texts_called_identical(void) {
    struct talk t = {0};
    const char *end = letters(&t, 'x', 2500);
    step(&t, "a", words(&t, "%s1%s", end, end));
    step(&t, "b", words(&t, "%s2%s", end, end));
    chatter(&t, 8);
    run(&t, "snippet,dedup", NULL);
    CHECK(begins(now(&t, 3), "[DEDUP] identical to tool_call_id=a"));

    run(&t, "snippet,dedup", "dedup.whole=yes");
    CHECK(is_in(now(&t, 1), "[...elided") && is_in(now(&t, 3), "[...elided"));
    talk_free(&t);
}

/* ---- 2: references that dangle ------------------------------------------------------------- */

static size_t dangling(struct talk *t, const char *id) {
    const char *marker = words(t, "tool_call_id=%s (", id);
    size_t n = 0;
    for (size_t i = 0; i < count_now(t); i++) {
        if (strcmp(id_now(t, i), id) == 0 && strlen(now(t, i)) == 400) return 0; /* it is there */
        n += is_in(now(t, i), marker);
    }
    return n;
}

static void the_first_sighting_is_trimmed(void) {
    struct talk t = {0};
    chatter(&t, 2);
    step(&t, "a", letters(&t, 'x', 400));
    chatter(&t, 16);
    step(&t, "b", letters(&t, 'x', 400));
    step(&t, "c", letters(&t, 'x', 400));
    run(&t, "dedup,streaming_llm", NULL);
    CHECK_EQ(dangling(&t, "a"), 2);

    /* The next copy is whole again, and the others refer to it. */
    run(&t, "dedup,streaming_llm", "mend=yes");
    size_t last = count_now(&t) - 1;
    CHECK_STR(now(&t, last - 2), letters(&t, 'x', 400));
    CHECK_STR(now(&t, last), "[DEDUP] identical to tool_call_id=b (400 bytes)");
    talk_free(&t);
}

static void the_first_sighting_is_elided(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    step(&t, "a", letters(&t, 'x', 400));
    step(&t, "b", letters(&t, 'x', 400));
    step(&t, "c", letters(&t, 'y', 400));
    chatter(&t, 4);
    run(&t, "dedup,compact_to_budget", "budget=300");
    CHECK(begins(now(&t, 2), "(elided"));
    CHECK_EQ(dangling(&t, "a"), 1);

    /* What a reference needs stays; another goes instead. */
    run(&t, "dedup,compact_to_budget", "budget=300 mend=yes");
    CHECK_EQ(dangling(&t, "a"), 0);
    CHECK(begins(now(&t, 6), "(elided"));
    talk_free(&t);
}

static void the_first_sighting_is_an_orphan(void) {
    struct talk t = {0};
    answers(&t, "a", letters(&t, 'x', 400)); /* no call: pairing removes it */
    step(&t, "b", letters(&t, 'x', 400));
    run(&t, "dedup,pairing", NULL);
    CHECK_EQ(dangling(&t, "a"), 1);

    run(&t, "dedup,pairing", "mend=yes");
    CHECK_STR(now(&t, 1), letters(&t, 'x', 400));
    talk_free(&t);
}

/* The id is replaced where it stands, not where the marker's own words look like it. */
static void mending_finds_the_id(void) {
    struct talk t = {0};
    chatter(&t, 2);
    step(&t, "i", letters(&t, 'x', 400));
    chatter(&t, 16);
    step(&t, "bb", letters(&t, 'x', 400));
    step(&t, "c", letters(&t, 'x', 400));
    run(&t, "dedup,streaming_llm", "mend=yes");
    CHECK_STR(now(&t, count_now(&t) - 1), "[DEDUP] identical to tool_call_id=bb (400 bytes)");
    talk_free(&t);
}

/* ---- 3: the active turn -------------------------------------------------------------------- */

/* The output of a retry, fresh and last, becomes a reference to something long ago. */
static void a_fresh_result_becomes_a_reference(void) {
    struct talk t = {0};
    step(&t, "a", letters(&t, 'x', 400));
    chatter(&t, 10);
    step(&t, "retry", letters(&t, 'x', 400));
    run(&t, "dedup", NULL);
    CHECK(begins(now(&t, 13), "[DEDUP]"));

    run(&t, "dedup", "dedup.keep_last=8");
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* ---- 4: ambiguous references --------------------------------------------------------------- */

static void an_id_used_twice(void) {
    struct talk t = {0};
    step(&t, "call_0", letters(&t, 'x', 400));
    step(&t, "call_0", letters(&t, 'y', 400));
    step(&t, "call_1", letters(&t, 'y', 400));
    run(&t, "dedup", NULL); /* which call_0? */
    CHECK_STR(now(&t, 5), "[DEDUP] identical to tool_call_id=call_0 (400 bytes)");

    run(&t, "dedup", "dedup.clear_ids=yes");
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void an_id_that_breaks_the_marker(void) {
    struct talk t = {0};
    const char *id = "a (9 bytes)\n[DEDUP] identical to tool_call_id=b";
    calls(&t, id, "run", letters(&t, 'x', 80));
    answers(&t, id, letters(&t, 'x', 400));
    calls(&t, "c", "run", letters(&t, 'x', 80));
    answers(&t, "c", letters(&t, 'x', 400));
    chatter(&t, 8);
    run(&t, "dedup,tool_call_dedup", NULL);
    CHECK(is_in(now(&t, 3), "(9 bytes)\n") && is_in(now(&t, 2), "(9 bytes)\n"));

    run(&t, "dedup,tool_call_dedup", "dedup.clear_ids=yes tool_call_dedup.clear_ids=yes");
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* ---- 5: texts that look like markers ------------------------------------------------------- */

static void a_text_that_mentions_the_marker_is_immune(void) {
    struct talk t = {0};
    const char *log = letters(&t, 'x', 9000);
    answers(&t, "a", words(&t, "grep: [...elided %s", log));
    answers(&t, "b", words(&t, "[DEDUP] %s", log));
    calls(&t, "c", "run", words(&t, "[REPEAT %s", log));
    calls(&t, "d", "run", words(&t, "[REPEAT %s", log));
    chatter(&t, 8);
    run(&t, "snippet,tool_call_dedup", NULL);
    CHECK(unchanged(&t));

    run(&t, "snippet,tool_call_dedup", "snippet.trust=no tool_call_dedup.trust=no");
    CHECK(strlen(now(&t, 0)) < 4096 && strlen(now(&t, 1)) < 4096);
    CHECK(begins(now(&t, 3), "[REPEAT of call_id=c"));
    run_again(&t, "snippet,tool_call_dedup", "snippet.trust=no tool_call_dedup.trust=no");
    CHECK(unchanged(&t)); /* what was cut is short: it needs no trust to be left alone */
    talk_free(&t);
}

/* ---- 6: growth ----------------------------------------------------------------------------- */

static void markers_longer_than_what_they_replace(void) {
    struct talk t = {0};
    const char *id = letters(&t, 'i', 400);
    step(&t, id, letters(&t, 'x', 256));
    step(&t, "b", letters(&t, 'x', 256));
    calls(&t, id, "run", letters(&t, 'x', 64));
    calls(&t, "c", "run", letters(&t, 'x', 64));
    chatter(&t, 8);
    run(&t, "dedup,tool_call_dedup", NULL);
    CHECK(t.out.len > t.in.len);
    CHECK_EQ(t.stats.total_bytes_saved, 0); /* the counter hides the loss, the sizes do not */
    CHECK(t.stats.bytes_out > t.stats.bytes_in);

    run(&t, "dedup,tool_call_dedup", "grow=no");
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void trimming_nothing_costs_a_marker(void) {
    struct talk t = {0};
    chatter(&t, 2);
    for (int i = 0; i < 4; i++) message(&t, "assistant"); /* empty */
    chatter(&t, 16);
    run(&t, "streaming_llm", NULL);
    CHECK(begins(now(&t, 2), "[...streaming-llm trim: 4 messages (0 bytes)"));

    run(&t, "streaming_llm", "grow=no");
    CHECK(t.out.len <= t.in.len);
    talk_free(&t);
}

/* A marker for a long id is long enough to be taken for a result worth a reference. */
static void references_to_references(void) {
    struct talk t = {0};
    const char *id = letters(&t, 'i', 300);
    for (int i = 0; i < 3; i++) step(&t, i ? words(&t, "%d", i) : id, letters(&t, 'x', 2000));
    run(&t, "dedup", NULL);
    run_again(&t, "dedup", NULL);
    CHECK(!unchanged(&t));

    run(&t, "dedup", "dedup.min=1400"); /* longer than any marker */
    run_again(&t, "dedup", "dedup.min=1400");
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* ---- 7: streaming_llm ---------------------------------------------------------------------- */

static void the_recent_window_is_swallowed(void) {
    struct talk t = {0};
    chatter(&t, 6);
    says(&t, "user", "the question");
    message(&t, "assistant");
    for (int i = 0; i < 16; i++) call_part(&t, words(&t, "%d", i), "run", "{}");
    for (int i = 0; i < 16; i++) answers(&t, words(&t, "%d", i), "done");
    run(&t, "streaming_llm", NULL);
    CHECK_EQ(count_now(&t), 3); /* neither the question nor its results are left */

    run(&t, "streaming_llm", "streaming_llm.whole_units=yes");
    CHECK_STR(now(&t, 3), "the question");
    CHECK_EQ(count_now(&t), 2 + 1 + 1 + 1 + 16);
    CHECK(all_paired(&t));
    talk_free(&t);
}

static void results_of_users_are_parted_from_their_calls(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    calls(&t, "a", "run", "{}");
    message(&t, "user");
    result_part(&t, "a", "done");
    for (int i = 0; i < 4; i++) {
        calls(&t, words(&t, "b%d", i), "run", "{}");
        message(&t, "user");
        result_part(&t, words(&t, "b%d", i), "done");
    }
    chatter(&t, 15);
    run(&t, "streaming_llm", NULL);
    CHECK(!all_paired(&t));

    run(&t, "streaming_llm", "streaming_llm.whole_units=yes");
    CHECK(count_now(&t) < count_was(&t));
    CHECK(all_paired(&t));
    talk_free(&t);
}

/* A sink that calls, its result not right behind it. */
static void a_sink_loses_its_result(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    calls(&t, "a", "run", "{}");
    says(&t, "user", "hurry");
    answers(&t, "a", "done");
    chatter(&t, 24);
    run(&t, "streaming_llm", NULL);
    CHECK(!all_paired(&t));

    run(&t, "streaming_llm", "streaming_llm.whole_units=yes");
    CHECK(count_now(&t) < count_was(&t));
    CHECK(all_paired(&t));
    talk_free(&t);
}

static size_t users_in_a_row(struct talk *t) {
    size_t n = 0;
    for (size_t i = 1; i < count_now(t); i++)
        n += strcmp(role_now(t, i - 1), "user") == 0 && strcmp(role_now(t, i), "user") == 0;
    return n;
}

static void two_user_messages_in_a_row(void) {
    struct talk t = {0};
    says(&t, "system", "be brief");
    chatter(&t, 31); /* the sinks end with a user, and the window begins with one */
    run(&t, "streaming_llm", NULL);
    CHECK_EQ(users_in_a_row(&t), 1);
    run(&t, "streaming_llm", "streaming_llm.recent=15");
    CHECK_EQ(users_in_a_row(&t), 2);

    run(&t, "streaming_llm", "streaming_llm.alternate=yes");
    CHECK_EQ(users_in_a_row(&t), 0);
    CHECK_EQ(count_now(&t), 2 + 1 + 1 + 16);
    run(&t, "streaming_llm", "streaming_llm.alternate=yes streaming_llm.recent=15");
    CHECK_EQ(users_in_a_row(&t), 0);
    CHECK_EQ(count_now(&t), 2 + 1 + 1 + 1 + 15);
    talk_free(&t);
}

/* Trimmed again, the line forgets what it said before, and never knew of thinking and ids. */
static void totals_are_forgotten(void) {
    struct talk t = {0};
    chatter(&t, 2);
    message(&t, "assistant");
    thinking_part(&t, "12345");
    call_part(&t, "id", "run", "{}");
    answers(&t, "id", "done");
    chatter(&t, 20);
    run(&t, "streaming_llm", NULL);
    CHECK(is_in(now(&t, 2), ": 6 messages (25 bytes)"));
    run_again(&t, "streaming_llm", "streaming_llm.recent=14 streaming_llm.min_messages=0");
    CHECK(is_in(now(&t, 2), ": 3 messages (96 bytes)"));

    run(&t, "streaming_llm", "streaming_llm.totals=yes");
    CHECK(is_in(now(&t, 2), ": 6 messages (34 bytes)"));
    run_again(&t, "streaming_llm",
              "streaming_llm.recent=14 streaming_llm.min_messages=0 streaming_llm.totals=yes");
    CHECK(is_in(now(&t, 2), ": 8 messages (42 bytes)"));
    talk_free(&t);
}

/* ---- 8: pairing ---------------------------------------------------------------------------- */

static void a_half_orphaned_message_stays_invalid(void) {
    struct talk t = {0};
    calls(&t, "a", "run", "{}");
    message(&t, "tool");
    result_part(&t, "a", "done");
    result_part(&t, "nobody", "lost");
    says(&t, "user", "go on");
    run(&t, "pairing", NULL);
    CHECK(!all_paired(&t));

    run(&t, "pairing", "pairing.strict=yes");
    CHECK(all_paired(&t));
    CHECK_EQ(parts_now(&t, 1), 1);
    CHECK_EQ(t.stats.total_bytes_saved, 4);
    talk_free(&t);
}

static void results_of_users_are_called_unavailable(void) {
    struct talk t = {0};
    calls(&t, "a", "run", "{}");
    message(&t, "user");
    result_part(&t, "a", "the answer");
    run(&t, "pairing", NULL);
    CHECK(begins(now(&t, 1), "[tool result unavailable"));

    run(&t, "pairing", "pairing.strict=yes");
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void a_result_before_its_call_needs_two_runs(void) {
    struct talk t = {0};
    answers(&t, "a", "early");
    calls(&t, "a", "run", "{}");
    says(&t, "user", "go on");
    run(&t, "pairing", NULL);
    CHECK(!all_paired(&t));

    run(&t, "pairing", "pairing.strict=yes");
    CHECK(all_paired(&t));
    run_again(&t, "pairing", "pairing.strict=yes");
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void surplus_results_pass(void) {
    struct talk t = {0};
    calls(&t, "a", "run", "{}");
    answers(&t, "a", "once");
    answers(&t, "a", "twice");
    says(&t, "user", "go on");
    run(&t, "pairing", NULL);
    CHECK_EQ(count_now(&t), 4);

    run(&t, "pairing", "pairing.strict=yes");
    CHECK_EQ(count_now(&t), 3);
    CHECK(all_paired(&t));
    talk_free(&t);
}

static void a_call_being_executed_is_answered(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    calls(&t, "a", "run", "{}");
    run(&t, "pairing", NULL);
    CHECK_EQ(count_now(&t), 3);

    run(&t, "pairing", "pairing.strict=yes");
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* ---- 9: tool_call_dedup -------------------------------------------------------------------- */

static void arguments_that_are_no_json(void) {
    struct talk t = {0};
    const char *arguments = words(&t, "{\"path\":\"%s\"}", letters(&t, 'x', 80));
    calls(&t, "the \"first\"", "read", arguments);
    calls(&t, "b", "read", arguments);
    chatter(&t, 8);
    run(&t, "tool_call_dedup", NULL);
    CHECK_STR(now(&t, 1), "[REPEAT of call_id=the \"first\", 91 bytes]");

    run(&t, "tool_call_dedup", "tool_call_dedup.object=yes");
    CHECK_STR(now(&t, 1), "{\"repeat_of_call_id\":\"the \\\"first\\\"\",\"bytes\":91}");
    run_again(&t, "tool_call_dedup", "tool_call_dedup.object=yes");
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* Name and arguments are joined by a NUL, so that ("n\0m", x) and ("n", "m\0x") look alike. */
static void two_calls_that_are_not_the_same(void) {
    struct talk t = {0};
    const char *x = letters(&t, 'x', 80);
    message(&t, "assistant");
    raw_part(&t, words(&t,
                       "{\"type\":\"tool_call\",\"id\":\"a\",\"name\":\"n\\u0000m\","
                       "\"arguments\":\"%s\"}",
                       x));
    raw_part(&t, words(&t,
                       "{\"type\":\"tool_call\",\"id\":\"b\",\"name\":\"n\","
                       "\"arguments\":\"m\\u0000%s\"}",
                       x));
    chatter(&t, 8);
    run(&t, "tool_call_dedup", NULL);
    CHECK_EQ(t.stats.dedup_hits, 1);

    run(&t, "tool_call_dedup", "tool_call_dedup.exact=yes");
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* ---- 10: lingua ---------------------------------------------------------------------------- */

static void structure_is_lost(void) {
    static const struct {
        const char *text, *classic, *careful;
    } rows[] = {
        {"- a\n    - b\n", "- a\n - b\n", "- a\n    - b\n"},                 /* nested list */
        {"Title\n=====\ntext\n", "Title\n\ntext\n", "Title\n=====\ntext\n"}, /* setext heading */
        {"a\n\n\nb\n", "a\n\nb\n", "a\n\n\nb\n"},                            /* two blank lines */
        {"a\n\n\n\n\nb\n", "a\n\nb\n", "a\n\n\nb\n"},                        /* four */
        {"line  \nbreak\n", "line\nbreak\n", "line  \nbreak\n"},             /* hard break */
        {"| a   | b |\n", "| a | b |\n", "| a   | b |\n"},                   /* table */
        {"~~~\nx    y\n~~~\n", "~~~\nx y\n~~~\n", "~~~\nx    y\n~~~\n"},     /* tildes */
        {"````\n```\na   b\n````\nc   \n", "````\n```\na b\n````\nc   \n",
         "````\n```\na   b\n````\nc  \n"},                        /* four backticks */
        {"```x```\na   \n", "```x```\na   \n", "```x```\na  \n"}, /* inline code */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct talk t = {0};
        TEST_NOTE("row %zu", i);
        says(&t, "assistant", rows[i].text);
        chatter(&t, 6);
        run(&t, "lingua", NULL);
        CHECK_STR(now(&t, 0), rows[i].classic);
        run(&t, "lingua", "lingua.careful=yes");
        CHECK_STR(now(&t, 0), rows[i].careful);
        run_again(&t, "lingua", "lingua.careful=yes");
        CHECK(unchanged(&t));
        talk_free(&t);
    }
}

/* ---- 11: thinking_prune -------------------------------------------------------------------- */

static void thinking_of_the_open_tool_loop_goes(void) {
    struct talk t = {0};
    says(&t, "user", "old question");
    message(&t, "assistant");
    thinking_part(&t, "old thought");
    text_part(&t, "answer");
    says(&t, "user", "question");
    message(&t, "assistant");
    thinking_part(&t, "present thought");
    for (int i = 0; i < 4; i++) call_part(&t, words(&t, "%d", i), "run", "{}");
    for (int i = 0; i < 4; i++) answers(&t, words(&t, "%d", i), "done");
    run(&t, "thinking_prune", NULL);
    CHECK_EQ(parts_now(&t, 3), 4);

    run(&t, "thinking_prune", "thinking_prune.spare_loop=yes");
    CHECK_STR(now(&t, 3), "present thought");
    CHECK_STR(now(&t, 1), "answer");
    talk_free(&t);
}

static void an_emptied_message_leaves_two_users(void) {
    struct talk t = {0};
    says(&t, "user", "one");
    message(&t, "assistant");
    thinking_part(&t, "hm");
    chatter(&t, 4);
    run(&t, "thinking_prune", NULL);
    CHECK_EQ(users_in_a_row(&t), 1);

    run(&t, "thinking_prune", "thinking_prune.spare_alone=yes");
    CHECK(unchanged(&t));
    talk_free(&t);
}

/* ---- 12: prompt caches --------------------------------------------------------------------- */

/* What two outputs of successive turns have in common a prefix cache can read. Over so many turns,
 * how often was something rewritten that had been sent before? */
static size_t rewrites(const char *strategies, const char *options, size_t turns) {
    struct talk t = {0};
    struct bytes sent = {NULL, 0};
    size_t n = 0;
    says(&t, "user", "go");
    for (size_t i = 0; i < turns; i++) {
        message(&t, "assistant");
        thinking_part(&t, "let me think");
        text_part(&t, words(&t, "step   %zu %s", i, letters(&t, 'p', 300)));
        call_part(&t, words(&t, "%zu", i), "read", "{}");
        answers(&t, words(&t, "%zu", i), words(&t, "%zu%s", i, letters(&t, 'x', 5000)));
        run(&t, strategies, options);
        size_t end = sent.len >= 4 ? sent.len - 4 : 0; /* the closing brackets are always new */
        n += end && (t.out.len < end || memcmp(sent.at, t.out.at, end) != 0);
        bytes_free(&sent);
        sent = bytes_copy(t.out.at, t.out.len);
    }
    bytes_free(&sent);
    talk_free(&t);
    return n;
}

static void every_turn_rewrites_what_was_sent(void) {
    static const char *const windowed[] = {"snippet", "lingua", "thinking_prune", "streaming_llm"};
    for (size_t i = 0; i < sizeof windowed / sizeof *windowed; i++) {
        TEST_NOTE("%s", windowed[i]);
        size_t classic = rewrites(windowed[i], NULL, 40),
               batched = rewrites(windowed[i], "step=20", 40);
        CHECK(classic >= 28); /* once a window is full, at every turn */
        CHECK(batched >= 1 && batched <= 4);
    }
}

static void every_turn_over_budget_elides_one_more(void) {
    size_t classic = rewrites("compact_to_budget", "budget=20000", 40);
    size_t batched = rewrites("compact_to_budget", "budget=20000 compact_to_budget.step=10000", 40);
    CHECK(classic >= 20);
    CHECK(batched >= 1 && batched <= 6);
}

/* ---- 13 is about time, see script/test_classic_linear.py ----------------------------------- */

/* ---- 14: compact_to_budget ----------------------------------------------------------------- */

static void arguments_and_media_are_never_reduced(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    calls(&t, "a", "write_file", letters(&t, 'x', 9000));
    answers(&t, "a", "ok");
    chatter(&t, 4);
    run(&t, "compact_to_budget", "budget=500");
    CHECK(unchanged(&t) && !t.stats.budget_met);

    run(&t, "compact_to_budget", "budget=500 compact_to_budget.arguments=yes");
    CHECK_STR(now(&t, 1), "(elided: 9000 bytes of arguments)");
    CHECK(t.stats.budget_met);
    talk_free(&t);
}

static void system_messages_are_elided(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    says(&t, "system", letters(&t, 's', 1000));
    says(&t, "assistant", letters(&t, 'a', 1000));
    chatter(&t, 4);
    run(&t, "compact_to_budget", "budget=0");
    CHECK_STR(now(&t, 1), "(elided: 1000 bytes of assistant prose)");

    run(&t, "compact_to_budget", "budget=0 compact_to_budget.spare_system=yes");
    CHECK_STR(now(&t, 1), was(&t, 1));
    CHECK(begins(now(&t, 2), "(elided"));
    talk_free(&t);
}

/* Ten small results go although the large one behind them would have been enough. */
static void the_oldest_go_not_the_largest(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    for (int i = 0; i < 10; i++) step(&t, words(&t, "%d", i), letters(&t, 's', 500));
    step(&t, "large", letters(&t, 'l', 20000));
    chatter(&t, 4);
    run(&t, "compact_to_budget", "budget=3000");
    CHECK_EQ(t.stats.elided_messages, 11);

    run(&t, "compact_to_budget", "budget=3000 compact_to_budget.largest_first=yes");
    CHECK_EQ(t.stats.elided_messages, 1);
    CHECK_STR(now(&t, 22), "(elided: 20000 bytes of tool result)");
    CHECK(t.stats.budget_met);
    talk_free(&t);
}

static void small_old_results_and_a_huge_new_one_stay(void) {
    struct talk t = {0};
    says(&t, "user", "go");
    step(&t, "old", letters(&t, 's', 200));
    step(&t, "new", letters(&t, 'l', 20000));
    says(&t, "user", "well?");
    run(&t, "compact_to_budget", "budget=300");
    CHECK(unchanged(&t));

    run(&t, "compact_to_budget",
        "budget=140 compact_to_budget.min=64 compact_to_budget.keep_last=1");
    CHECK(begins(now(&t, 2), "(elided: 200"));
    CHECK(begins(now(&t, 4), "(elided: 20000"));
    CHECK(t.stats.budget_met);
    talk_free(&t);
}

static void the_price_of_an_image(void) {
    struct talk t = {0};
    message(&t, "user");
    image_part(&t);
    run(&t, "compact_to_budget", "budget=0");
    CHECK_EQ(t.stats.original_tokens, 8 + 438);
    run(&t, "compact_to_budget", "budget=0 compact_to_budget.media_bytes=1792");
    CHECK_EQ(t.stats.original_tokens, 8 + 512);
    talk_free(&t);
}

/* Single precision is one token off from 14,680,067 bytes on. */
static void rounding_errors_of_large_messages(void) {
    struct talk t = {0};
    says(&t, "user", letters(&t, 'x', 14680067));
    run(&t, "compact_to_budget", "budget=0");
    CHECK_EQ(t.stats.original_tokens, 14680067 * 2 / 7 + 8 + 1);
    run(&t, "compact_to_budget", "budget=0 compact_to_budget.exact=yes");
    CHECK_EQ(t.stats.original_tokens, 14680067 * 2 / 7 + 8);
    talk_free(&t);
}

/* ---- 16: messages or units ----------------------------------------------------------------- */

/* Six parallel results: as six messages they fill the window, as one they do not. */
static void windows_depend_on_the_transport(void) {
    struct talk many = {0}, one = {0};
    for (int k = 0; k < 2; k++) {
        struct talk *t = k ? &one : &many;
        for (int turn = 0; turn < 4; turn++) {
            message(t, "assistant");
            thinking_part(t, words(t, "thought %d", turn));
            for (int i = 0; i < 6; i++) call_part(t, words(t, "%d.%d", turn, i), "run", "{}");
            if (k) message(t, "tool");
            for (int i = 0; i < 6; i++)
                if (k)
                    result_part(t, words(t, "%d.%d", turn, i), "done");
                else
                    answers(t, words(t, "%d.%d", turn, i), "done");
        }
    }
    run(&many, "thinking_prune", NULL);
    run(&one, "thinking_prune", NULL);
    CHECK_EQ(many.stats.snippet_hits, 4); /* even the present thought */
    CHECK_EQ(one.stats.snippet_hits, 2);

    run(&many, "thinking_prune", "units=yes thinking_prune.keep_last=2");
    run(&one, "thinking_prune", "units=yes thinking_prune.keep_last=2");
    CHECK_EQ(many.stats.snippet_hits, 2);
    CHECK_EQ(one.stats.snippet_hits, 2);
    talk_free(&many);
    talk_free(&one);
}

int main(void) {
    return TEST_RUN(
        CASE(reference_to_a_snippet), CASE(different_texts_called_identical),
        CASE(the_first_sighting_is_trimmed), CASE(the_first_sighting_is_elided),
        CASE(the_first_sighting_is_an_orphan), CASE(mending_finds_the_id),
        CASE(a_fresh_result_becomes_a_reference), CASE(an_id_used_twice),
        CASE(an_id_that_breaks_the_marker), CASE(a_text_that_mentions_the_marker_is_immune),
        CASE(markers_longer_than_what_they_replace), CASE(trimming_nothing_costs_a_marker),
        CASE(references_to_references), CASE(the_recent_window_is_swallowed),
        CASE(results_of_users_are_parted_from_their_calls), CASE(a_sink_loses_its_result),
        CASE(two_user_messages_in_a_row), CASE(totals_are_forgotten),
        CASE(a_half_orphaned_message_stays_invalid), CASE(results_of_users_are_called_unavailable),
        CASE(a_result_before_its_call_needs_two_runs), CASE(surplus_results_pass),
        CASE(a_call_being_executed_is_answered), CASE(arguments_that_are_no_json),
        CASE(two_calls_that_are_not_the_same), CASE(structure_is_lost),
        CASE(thinking_of_the_open_tool_loop_goes), CASE(an_emptied_message_leaves_two_users),
        CASE(every_turn_rewrites_what_was_sent), CASE(every_turn_over_budget_elides_one_more),
        CASE(arguments_and_media_are_never_reduced), CASE(system_messages_are_elided),
        CASE(the_oldest_go_not_the_largest), CASE(small_old_results_and_a_huge_new_one_stay),
        CASE(the_price_of_an_image), CASE(rounding_errors_of_large_messages),
        CASE(windows_depend_on_the_transport));
}
