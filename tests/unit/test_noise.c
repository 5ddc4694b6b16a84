/* Noise goes and nothing else: a tiny terminal shows the same before and after, text without noise
 * is not touched, and what is left is what was there, in its order. */
#include "stable/noise.h"

#include "support.h"
#include "test.h"

/* ---- a terminal ---------------------------------------------------------------------------- */

#define WIDTH 400
#define ROWS 64

struct screen {
    char cell[ROWS][WIDTH];
    size_t row, column;
};

static size_t sequence_len(const char *s, size_t n) {
    size_t i = 2;
    if (n >= 2 && s[1] == '(') return n < 3 ? n : 3;
    if (n >= 2 && s[1] == ']') {
        while (i < n && s[i] != '\a') i++;
        return i < n ? i + 1 : n;
    }
    if (n < 2 || s[1] != '[') return n < 2 ? n : 2;
    while (i < n && s[i] < 0x40) i++;
    return i < n ? i + 1 : n;
}

static void erase(struct screen *t, size_t from) {
    memset(t->cell[t->row] + from, ' ', WIDTH - from);
}

static void act(struct screen *t, const char *s, size_t n) {
    if (s[1] != '[') return;
    if (s[n - 1] == 'K') erase(t, n == 4 && s[2] == '2' ? 0 : t->column);
    if (s[n - 1] == 'C') t->column += 2;
    if (s[n - 1] == 'D' && t->column) t->column--;
}

/* What a text looks like; blanks at the end of a line cannot be seen. */
static void show(struct screen *t, const char *s, size_t n) {
    memset(t, ' ', sizeof *t);
    t->row = t->column = 0;
    for (size_t i = 0; i < n;) {
        char c = s[i];
        size_t len = c == '\x1b' ? sequence_len(s + i, n - i) : 1;
        if (c == '\x1b')
            act(t, s + i, len);
        else if (c == '\n')
            t->row++, t->column = 0;
        else if (c == '\r')
            t->column = 0;
        else if (c == '\b')
            t->column -= t->column > 0;
        else if (c == '\t')
            t->column = (t->column / 8 + 1) * 8;
        else
            t->cell[t->row][t->column++] = c;
        i += len;
    }
}

/* ---- cases --------------------------------------------------------------------------------- */

static void becomes(const char *text, const char *clean) {
    struct bytes t = bytes_copy(text, strlen(text));
    char *dst = must_malloc(t.len + 1);
    size_t n = paucis__strip_noise(span_of(t.at, t.len), dst);
    CHECK_BYTES(dst, n, clean, strlen(clean));
    CHECK(paucis__has_noise(span_of(t.at, t.len)) || n == t.len);
    free(dst);
    bytes_free(&t);
}

static void known_texts(void) {
    becomes("", "");
    becomes("plain\ntext\r\nof two kinds\n", "plain\ntext\r\nof two kinds\n");
    becomes("\x1b[31;1mFAIL\x1b[0m x.c\n", "FAIL x.c\n");
    becomes("\x1b[?25lhidden\x1b[?25h\x1b(B", "hidden");
    becomes("\x1b]0;a title\a$ ls\n", "$ ls\n");
    becomes("\x1b]0;broken off\x1b[1m$ ls\x1b[0m\a\n", "\x1b]0;broken off$ ls\a\n");
    becomes("fetch  9%\rfetch 10%\rfetch 100%\ndone\n", "fetch 100%\ndone\n");
    becomes("fetch 99%\r\x1b[Kok\n", "ok\n");
    becomes("fetch 99%\x1b[2K\rok\n", "ok\n");
    becomes("fetch 99%\r         \rok\n", "ok\n");
    becomes("N\bNA\bAM\bME\bE _\bx\n", "NAME x\n");
    becomes("|\b/\b-\bdone\n", "done\n");
    becomes("\xE2\x96\x88 1\r\xE2\x96\x88\xE2\x96\x88 2\n", "\xE2\x96\x88\xE2\x96\x88 2\n");
}

static void what_is_unclear_stays(void) {
    static const char *const texts[] = {"abcdef\rxy\n",
                                        "one\rtwo\rthree",
                                        "a\b\n",
                                        "\x1b[3Cmoved\n",
                                        "\x1b",
                                        "\x1b[",
                                        "\x1b[12;",
                                        "a\tb\rxyz\n",
                                        "\b\bxy\n",
                                        "abc\x1b[2Kd\n",
                                        "\x1b]8;;http://x\alink\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) becomes(texts[i], texts[i]);
}

static bool is_subsequence(const char *s, size_t n, const char *of, size_t len) {
    size_t k = 0;
    for (size_t i = 0; i < len && k < n; i++) k += s[k] == of[i];
    return k == n;
}

static void a_terminal_shows_the_same(void) {
    static const char *const bits[] = {
        "a",       "bc",      "word ",     " ",          "    ",      "\r",      "\r",
        "\b",      "\b\b",    "\n",        "\t",         "10%",       "\x1b[0m", "\x1b[1;3m",
        "\x1b[K",  "\x1b[2K", "\x1b[2K\r", "\r\x1b[K",   "xyz",       "\r\n",    "q",
        "\x1b[2C", "\x1b(B",  "\x1b[?25h", "\x1b]0;t\a", "\r      \r"};
    size_t rounds = test_is_sanitized() ? 20000 : 200000, shorter = 0;
    uint64_t seed = 7;
    struct screen *before = must_malloc(sizeof *before), *after = must_malloc(sizeof *after);
    for (size_t k = 0; k < rounds; k++) {
        char text[WIDTH], clean[WIDTH];
        size_t n = 0, bits_used = 1 + random_below(&seed, 24);
        for (size_t i = 0; i < bits_used; i++) {
            const char *bit = bits[random_below(&seed, sizeof bits / sizeof *bits)];
            memcpy(text + n, bit, strlen(bit));
            n += strlen(bit);
        }
        text[n++] = '\n';
        size_t len = paucis__strip_noise(span_of(text, n), clean);
        show(before, text, n);
        show(after, clean, len);
        if (!CHECK(!memcmp(before->cell, after->cell, sizeof before->cell)) ||
            !CHECK(is_subsequence(clean, len, text, n))) {
            test_show_bytes("text", text, n);
            test_show_bytes("clean", clean, len);
            break;
        }
        shorter += len < n;
    }
    CHECK(shorter > rounds / 4); /* the test is not idle */
    free(before);
    free(after);
}

/* Once is enough, and twice the text takes no more than a copy of twice the length. */
static void long_texts(void) {
    struct bytes b = bytes_repeat("head\n", "\x1b[32m 10%|##  |\x1b[0m\r", 100000, "100%|####|\n");
    char *dst = must_malloc(b.len), *again = must_malloc(b.len);
    size_t n = paucis__strip_noise(span_of(b.at, b.len), dst);
    CHECK_BYTES(dst, n, "head\n100%|####|\n", 16);
    CHECK_EQ(paucis__strip_noise(span_of(dst, n), again), n);
    bytes_free(&b);
    b = bytes_repeat("", "\b\b\b\b\b\b\b\b", 100000, "x\n");
    free(dst);
    dst = must_malloc(b.len);
    CHECK_EQ(paucis__strip_noise(span_of(b.at, b.len), dst), b.len);
    bytes_free(&b);
    free(dst);
    free(again);
}

int main(void) {
    return TEST_RUN(CASE(known_texts), CASE(what_is_unclear_stays), CASE(a_terminal_shows_the_same),
                    CASE(long_texts));
}
