/* lingua: old assistant prose without what carries no words. */
#include "classic/support.h"

/* What becomes of an old assistant text. */
static void becomes(const char *text, const char *expected) {
    struct talk t = {0};
    TEST_NOTE("%.60s", text);
    says(&t, "assistant", text);
    chatter(&t, 6);
    run(&t, "lingua", NULL);
    CHECK_STR(now(&t, 0), expected);
    CHECK_EQ(t.stats.total_bytes_saved, strlen(text) - strlen(expected));
    CHECK_EQ(t.stats.snippet_hits, strcmp(text, expected) != 0);
    run_again(&t, "lingua", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void short_histories_are_untouched(void) {
    struct talk t = {0};
    for (int i = 0; i < 6; i++) says(&t, "assistant", "too    many    spaces");
    run(&t, "lingua", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void the_recent_window_is_protected(void) {
    struct talk t = {0};
    for (int i = 0; i < 8; i++) says(&t, "assistant", "too    many    spaces");
    run(&t, "lingua", NULL);
    for (size_t i = 0; i < 8; i++)
        CHECK_STR(now(&t, i), i < 2 ? "too many spaces" : "too    many    spaces");
    talk_free(&t);
}

static void only_assistants_prose_is_squeezed(void) {
    struct talk t = {0};
    says(&t, "system", "a    b");
    says(&t, "user", "a    b");
    answers(&t, "a", "a    b");
    calls(&t, "b", "run", "a    b");
    chatter(&t, 6);
    run(&t, "lingua", NULL);
    CHECK(unchanged(&t));
    talk_free(&t);
}

static void runs_of_spaces_become_one(void) {
    becomes("a  b   c", "a b c");
    becomes("    indented", " indented");
    becomes("a \t  b", "a \t b"); /* a tab stays and interrupts the run */
}

static void trailing_blanks_go(void) {
    becomes("line  \nnext\t\n", "line\nnext\n");
    becomes("crlf\r\nline\r\n", "crlf\nline\n");
    becomes("no-break\xc2\xa0\xe3\x80\x80\n", "no-break\n");
    becomes("zero width\xe2\x80\x8b\n", "zero width\xe2\x80\x8b\n"); /* not a blank */
}

static void blank_and_noise_lines_run_together(void) {
    becomes("a\n\n\n\nb\n", "a\n\nb\n");
    becomes("a\n-----\nb\n", "a\n\nb\n");
    becomes("a\n---\n***\n===\n\xe2\x80\xa6\nb", "a\n\nb");
    becomes("a\n  ---\nb\n", "a\n ---\nb\n");  /* indented: a line like any other */
    becomes("a\n- - -\nb\n", "a\n- - -\nb\n"); /* inner spaces too */
}

static void code_between_fences_stays(void) {
    becomes("a  b\n```\nx    y\n\n\n----\n```\nc  d\n", "a b\n```\nx    y\n\n\n----\n```\nc d\n");
    becomes("a  b\n   ```c\nx    y\r\n", "a b\n   ```c\nx    y\r\n"); /* never closed */
}

/* The same length is not shorter. */
static void only_a_shorter_text_is_taken(void) {
    becomes("-", "-");
    becomes("a\n-", "a\n-");
    becomes("plain", "plain");
}

/* The same text as the inside of a JSON string, with every w spelt \u0077. */
static const char *spelt(const char *text, char *dst) {
    static const char *const as[128] = {
        ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t", ['\\'] = "\\\\", ['w'] = "\\u0077"};
    char *d = dst;
    for (; *text; text++) {
        const char *form = (unsigned char)*text < 128 ? as[(unsigned char)*text] : NULL;
        size_t n = form ? strlen(form) : 1;
        memcpy(d, form ? form : text, n);
        d += n;
    }
    *d = 0;
    return dst;
}

/* A text as JSON usually spells it is looked at sixteen bytes at a time, with lines that cannot
 * change skipped; one with other escapes line by line. Both must come out alike. */
static void spelling_makes_no_difference(void) {
    static const char *const pieces[] = {"word",
                                         "we go on for a while and say nothing of note",
                                         " ",
                                         "  ",
                                         "\n",
                                         "\n",
                                         "\n\n",
                                         "\n- item",
                                         "---",
                                         "\n```",
                                         "```\n",
                                         "`",
                                         "\t",
                                         "\r\n",
                                         "\\",
                                         "\\n",
                                         "\\\\n",
                                         "n",
                                         "t",
                                         "\xe2\x80\xa6",
                                         "\xc2\xa0",
                                         "\xe3\x80\x80",
                                         "\xe2\x80\x94",
                                         "\n    code",
                                         "=",
                                         "w.\n"};
    enum { PIECES = sizeof pieces / sizeof *pieces, MOST = 40 };
    uint64_t seed = 1;
    for (int round = 0; round < 3000; round++) {
        char text[MOST * 48], form[sizeof text * 6];
        size_t kinds = 2 + (size_t)round % (PIECES - 2), from = (size_t)round / 7, len = 0;
        for (size_t n = (size_t)round % MOST; n > 0; n--) {
            const char *piece = pieces[(from + random_below(&seed, kinds)) % PIECES];
            memcpy(text + len, piece, strlen(piece));
            len += strlen(piece);
        }
        text[len] = 0;
        struct talk t = {0};
        says(&t, "assistant", text);
        message(&t, "assistant");
        raw_part(&t, words(&t, "{\"type\":\"text\",\"text\":\"%s\"}", spelt(text, form)));
        chatter(&t, 6);
        run(&t, "lingua", NULL);
        CHECK_STR(now(&t, 0), now(&t, 1));
        talk_free(&t);
    }
}

int main(void) {
    return TEST_RUN(CASE(short_histories_are_untouched), CASE(the_recent_window_is_protected),
                    CASE(only_assistants_prose_is_squeezed), CASE(runs_of_spaces_become_one),
                    CASE(trailing_blanks_go), CASE(blank_and_noise_lines_run_together),
                    CASE(code_between_fences_stays), CASE(only_a_shorter_text_is_taken),
                    CASE(spelling_makes_no_difference));
}
