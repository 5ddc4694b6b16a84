/* The parts of the stable policy, each against something obvious: the kinetic tree against a plain
 * array, the sums against a loop, items against a matcher that follows their definition word by
 * word, and the tables row by row. */
#include "plan/models.h"
#include "stable/form.h"
#include "stable/never.h"
#include "stable/price.h"
#include "stable/reading.h"
#include "stable/rent.h"
#include "stable/sums.h"
#include "stable/supersede.h"
#include "stable/tools.h"
#include "support.h"
#include "test.h"

static struct span text_of(const char *text) { return span_of(text, strlen(text)); }

static size_t rounds(size_t n) {
    return test_is_long() ? 20 * n : test_is_sanitized() ? n / 10 : n;
}

/* ---- rent ---------------------------------------------------------------------------------- */

#define MOST 300

struct plain {
    struct line gain[MOST];
    bool candidate[MOST];
    size_t n;
    int64_t turn;
};

static int64_t plain_gain(const struct plain *p, size_t i) {
    return p->gain[i].slope * p->turn + p->gain[i].at_zero;
}

static size_t plain_best(const struct plain *p, size_t from, int64_t least, int64_t *gain) {
    size_t best = SIZE_MAX;
    for (size_t i = from; i < p->n; i++)
        if (p->candidate[i] && plain_gain(p, i) >= least) {
            least = plain_gain(p, i);
            best = i;
        }
    *gain = least;
    return best;
}

/* One random step on both. */
static void rent_step(struct rent *r, struct plain *p, uint64_t *seed, size_t most) {
    size_t from = p->n ? random_below(seed, p->n) : 0, to = p->n ? random_below(seed, p->n + 1) : 0;
    int64_t a, b, least = (int64_t)random_below(seed, 400) - 200;
    switch (p->n ? random_below(seed, 6) : 0) {
    case 0:
        if (p->n == most) break;
        CHECK_EQ(paucis__rent_room(r, ++p->n), PAUCIS_OK);
        p->gain[p->n - 1] = (struct line){0, 0};
        p->candidate[p->n - 1] = false;
        break;
    case 1: {
        struct line line = {(int64_t)random_below(seed, 20) - 6,
                            (int64_t)random_below(seed, 300) - 180};
        if (from >= to) break;
        paucis__rent_add(r, from, to, line);
        for (size_t i = from; i < to; i++) {
            p->gain[i].slope += line.slope;
            p->gain[i].at_zero += line.at_zero;
        }
        break;
    }
    case 2:
    case 3:
        p->candidate[from] = !p->candidate[from];
        paucis__rent_candidate(r, from, p->candidate[from]);
        break;
    case 4:
        p->turn += (int64_t)random_below(seed, 3);
        paucis__rent_turn(r, p->turn);
        break;
    default: {
        size_t want = plain_best(p, from, least, &a), got = paucis__rent_best(r, from, least, &b);
        CHECK_EQ(got, want);
        if (want != SIZE_MAX) CHECK_EQ(a, b);
    }
    }
}

static void rent_is_a_plain_scan(void) {
    static struct plain p;
    uint64_t seed = 1;
    for (size_t round = 0; round < rounds(2000); round++) {
        struct counter c;
        counter_init(&c);
        struct mem mem = {.alloc = counter_alloc(&c)};
        struct rent r = {.mem = &mem};
        int64_t gain;
        memset(&p, 0, sizeof p);
        TEST_NOTE("round %zu", round);
        CHECK_EQ(paucis__rent_best(&r, 0, 0, &gain), SIZE_MAX);
        size_t most = 1 + random_below(&seed, MOST);
        for (size_t i = 0; i < 500; i++) rent_step(&r, &p, &seed, most);
        paucis__rent_free(&r);
        CHECK(c.blocks == 0 && c.wrong_sizes == 0);
    }
}

/* Gains as large as prices and bodies can make them, see paucis__price_is_sane. */
static void rent_is_far_from_overflow(void) {
    struct counter c;
    counter_init(&c);
    struct mem mem = {.alloc = counter_alloc(&c)};
    struct rent r = {.mem = &mem};
    int64_t gain, large = (int64_t)1 << 52;
    CHECK_EQ(paucis__rent_room(&r, 3), PAUCIS_OK);
    for (size_t i = 0; i < 3; i++) paucis__rent_candidate(&r, i, true);
    paucis__rent_add(&r, 0, 2, (struct line){1000, large});
    paucis__rent_add(&r, 1, 3, (struct line){large / 100000000, -large});
    paucis__rent_turn(&r, 50000000);
    CHECK_EQ(paucis__rent_best(&r, 0, 0, &gain), 0);
    CHECK_EQ(gain, large + 50000000000);
    paucis__rent_free(&r);
}

/* ---- sums ---------------------------------------------------------------------------------- */

static void sums_are_sums(void) {
    uint64_t seed = 2;
    for (size_t round = 0; round < rounds(300); round++) {
        struct counter c;
        counter_init(&c);
        struct mem mem = {.alloc = counter_alloc(&c)};
        struct sums s = {.total = 0};
        int64_t plain[MOST], total = 0;
        size_t n = 0;
        for (size_t step = 0; step < 800; step++) {
            int64_t value = (int64_t)random_below(&seed, 2000) - 1000;
            if (n < MOST && random_below(&seed, 3) == 0) {
                plain[n++] = value;
                CHECK(sums_append(&s, &mem, value));
                total += value;
            } else if (n) {
                size_t i = random_below(&seed, n), to = random_below(&seed, n + 1);
                sums_change(&s, i, value);
                plain[i] += value;
                total += value;
                int64_t sum = 0;
                for (size_t k = 0; k < to; k++) sum += plain[k];
                CHECK_EQ(sums_before(&s, to), sum);
            }
            CHECK_EQ(s.total, total);
        }
        VEC_FREE(&mem, s.tree);
        CHECK_EQ(c.blocks, 0);
    }
}

/* ---- items --------------------------------------------------------------------------------- */

static bool is_one_of(char c, const char *set) { return c && strchr(set, c); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool starts(char c) { return is_letter(c) || is_one_of(c, "_~/."); }
static bool goes_on(char c) { return is_letter(c) || is_digit(c) || is_one_of(c, "_./:-"); }

/* Bytes of the item that begins right here, 0 if none does: a name of 6 to 80, else four digits and
 * more. */
static size_t item_here(struct span s) {
    size_t n = 0;
    if (s.len && starts(*s.at))
        for (n = 1; n < s.len && n < 80 && goes_on(s.at[n]);) n++;
    if (n >= 6) return n;
    for (n = 0; n < s.len && is_digit(s.at[n]);) n++;
    return n >= 4 ? n : 0;
}

/* The next item at or after *at by the definition; false if there is none. */
static bool next_item(struct span text, size_t *at, struct span *item) {
    for (size_t n; *at < text.len; ++*at) {
        if (!(n = item_here(span_of(text.at + *at, text.len - *at)))) continue;
        *item = span_of(text.at + *at, n);
        *at += n;
        return true;
    }
    return false;
}

static void check_items(struct span text) {
    struct mem mem = {0};
    struct item_text t = {.mem = &mem};
    struct span item;
    size_t k = 0;
    CHECK_EQ(paucis__item_text(&t, text), PAUCIS_OK);
    CHECK_EQ(paucis__item_scan(&t), PAUCIS_OK);
    for (size_t at = 0; next_item(text, &at, &item); k++) {
        if (!CHECK(k < t.items.count)) break;
        CHECK_EQ(t.items.at[k].at, item.at - text.at);
        CHECK_EQ(t.items.at[k].len, item.len);
    }
    CHECK_EQ(k, t.items.count);
    for (size_t at = 0, end; at < text.len; at = end) {
        const char *newline = memchr(text.at + at, '\n', text.len - at);
        end = newline ? (size_t)(newline - text.at) + 1 : text.len;
        CHECK_EQ(paucis__item_seek(&t, ITEM_NEWLINE, true, at, text.len), end - (newline != NULL));
    }
    VEC_FREE(&mem, t.blocks);
    VEC_FREE(&mem, t.items);
}

/* Words, numbers and all else, some of them long. */
static size_t random_text(uint64_t *seed, char *text, size_t most) {
    static const char alphabet[] = "aZ09_~/.:- \n\xC3(~,";
    size_t n = random_below(seed, most), run = 0, kind = 0;
    for (size_t i = 0; i < n; i++, run--) {
        if (!run) {
            run = random_below(seed, 30) ? 1 : 1 + random_below(seed, 200);
            kind = random_below(seed, 4) ? 10 : sizeof alphabet - 1;
            if (run > 1 && random_below(seed, 2)) kind = 2;
        }
        text[i] = kind == 2 ? '7' : alphabet[random_below(seed, kind)];
    }
    return n;
}

static void items_are_matched(void) {
    char text[500];
    uint64_t seed = 3;
    check_items(text_of("see src/reader.c: parse_header(12345, x) ~/notes a.b.c.d 1234 99 _____x"));
    check_items(text_of("ab~cdefgh ~ab/cdefg 123abcdef 12ab34cd a1234 -abcdef :abcdef .abcde"));
    for (size_t round = 0; round < rounds(30000); round++) {
        size_t n = random_text(&seed, text, sizeof text);
        struct bytes exact = bytes_copy(text, n);
        TEST_NOTE("round %zu: %.*s", round, (int)n, text);
        check_items(span_of(exact.at, exact.len));
        bytes_free(&exact);
    }
}

/* Cut anywhere, a stretch of a result has the items that it has by itself. */
static void check_stretches(struct readings *r, const struct reading *result, uint64_t *seed) {
    size_t cursor = 0;
    for (size_t from = 0, to; from < result->text.len; from = to) {
        to = from + 1 + random_below(seed, 150);
        if (to > result->text.len) to = result->text.len;
        size_t skip = random_below(seed, 4) ? 0 : random_below(seed, to - from), k = 0;
        struct span stretch = span_of(result->text.at + from + skip, to - from - skip), item;
        struct reading_items found;
        CHECK_EQ(paucis__reading_items(r, result, from + skip, to, &cursor, &found), PAUCIS_OK);
        for (size_t at = 0; next_item(stretch, &at, &item); k++) {
            if (!CHECK(k < found.count)) return;
            CHECK_EQ(found.at[k].at, item.at - result->text.at);
            CHECK_EQ(found.at[k].len, item.len);
            CHECK_EQ(found.at[k].place, item_find(&r->items, item_hash(item.at, item.len)));
            CHECK_EQ(r->code.at[found.at[k].place], paucis__item_is_code(item.at, item.len));
        }
        CHECK_EQ(k, found.count);
    }
}

static void check_lines(const struct readings *r, const struct reading *result, size_t part) {
    size_t n = 0;
    for (size_t at = 0, end; at < result->text.len && CHECK(n < result->nlines); at = end, n++) {
        const char *newline = memchr(result->text.at + at, '\n', result->text.len - at);
        end = newline ? (size_t)(newline - result->text.at) + 1 : result->text.len;
        const struct reading_line *l = &r->begun.at[result->line + n];
        struct span line = span_of(result->text.at + at, end - at);
        CHECK_EQ(l->at, at);
        CHECK_EQ(reading_is_last(r, l->place, part), paucis__reading_is_last(r, line, part));
    }
    CHECK_EQ(n, result->nlines);
}

static void results_are_taken_apart(void) {
    struct counter c;
    counter_init(&c);
    struct mem mem = {.alloc = counter_alloc(&c)};
    struct readings r;
    paucis__readings_init(&r, &mem, 9);
    enum { PARTS = 8 };
    static char text[PARTS][3000];
    uint64_t seed = 5;
    for (size_t round = 0; round < rounds(300); round++) {
        size_t len[PARTS];
        TEST_NOTE("round %zu", round);
        for (size_t i = 0; i < PARTS; i++) { /* every other part is no result */
            len[i] = random_text(&seed, text[i], sizeof text[i]);
            if (i % 2) CHECK_EQ(paucis__reading_add(&r, i, span_of(text[i], len[i])), PAUCIS_OK);
        }
        for (size_t i = 1; i < PARTS; i += 2) {
            const struct reading *result;
            size_t read = r.found.count;
            CHECK_EQ(paucis__reading_of(&r, i, span_of(text[i], len[i]), &result), PAUCIS_OK);
            CHECK_EQ(r.found.count, read); /* not once more */
            check_stretches(&r, result, &seed);
            check_lines(&r, result, i);
        }
        paucis__readings_clear(&r);
    }
    paucis__readings_free(&r);
    CHECK(c.blocks == 0 && c.wrong_sizes == 0);
}

/* A gap has a number; what people quote with has none. JSON that was cut may have a note behind
 * it. */
static void gaps_are_ours(void) {
    CHECK_EQ(paucis__form_gap(text_of("he wrote [\xE2\x80\xA6] and [\xE2\x80\xA6x] [\xE2\x80\xA6")),
             SIZE_MAX);
    CHECK_EQ(paucis__form_gap(text_of("[[\xE2\x80\xA6] [\xE2\x80\xA6"
                                      "3: foo]")),
             7);
    CHECK(
        paucis__form_is_ours(text_of("{\"a\":[\"[\xE2\x80\xA6"
                                     "3: foo]\"]}\n[full text: 0123]")));
    CHECK(
        paucis__form_is_ours(text_of("[12:00] up\n[Output: [\xE2\x80\xA6"
                                     "3: foo]\n[12:09] down\n")));
    CHECK(!paucis__form_is_ours(text_of("{\"a\":[\"[\xE2\x80\xA6]\"]}\n")));
}

/* A line is known by its words: not by blanks around it, nor by the number a tool put in front. */
static void lines_are_the_same(void) {
    static const char *const lines[] = {
        "    return paucis__view_text(v, part, text);",
        "return paucis__view_text(v, part, text);  \n",
        "  120\treturn paucis__view_text(v, part, text);\n",
        "17:return paucis__view_text(v, part, text);",
        "lib/view/view.c:17:  return paucis__view_text(v, part, text);\n",
        "lib/view/view.c-18-  return paucis__view_text(v, part, text);\n",
        "3\xE2\x86\x92    return paucis__view_text(v, part, text);",
    };
    struct mem mem = {0};
    struct readings r;
    paucis__readings_init(&r, &mem, 9);
    size_t count = sizeof lines / sizeof *lines;
    for (size_t i = 0; i < count; i++) {
        TEST_NOTE("%s", lines[i]);
        CHECK_EQ(paucis__reading_add(&r, i, text_of(lines[i])), PAUCIS_OK);
        CHECK_EQ(r.begun.at[r.begun.count - 1].place, 0);
        CHECK_EQ(r.lines.values.at[0], i + 1);
        CHECK(paucis__reading_is_last(&r, text_of(lines[i]), i));
        CHECK(!i || !paucis__reading_is_last(&r, text_of(lines[i]), i - 1));
    }
    CHECK_EQ(paucis__reading_add(&r, count, text_of("    return paucis__view(v, part)\n}")), 0);
    CHECK_EQ(r.begun.at[count].place, 1);
    CHECK_EQ(r.begun.at[count + 1].place, NO_LINE);
    CHECK_EQ(r.lines.values.at[0], count);
    paucis__readings_free(&r);
}

static void items_that_look_like_code(void) {
    static const struct {
        const char *word;
        bool code;
    } rows[] = {
        {"parse_header", true}, {"src/reader", true}, {"camelCase", true}, {"reader.c", true},
        {"std:vector", true},   {"HTTPServer", true}, {"version2", true},  {"~notes", true},
        {"12345", true},        {"sentence", false},  {"Sentence", false}, {"well-known", false},
        {"std::vector", false}, {"ending.", false},   {"note:", false},    {".hidden", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TEST_NOTE("%s", rows[i].word);
        CHECK_EQ(paucis__item_is_code(rows[i].word, strlen(rows[i].word)), rows[i].code);
    }
}

static void items_are_a_set(void) {
    struct counter c;
    counter_init(&c);
    struct mem mem = {.alloc = counter_alloc(&c)};
    struct item_set s = {.mem = &mem, .seed = 77};
    enum { N = 5000 };
    for (size_t round = 0, n = N; round < 3; round++, n /= 50) {
        for (uint64_t i = 1; i <= n; i++) {
            uint32_t place = item_add(&s, i * i << 20);
            if (!CHECK_EQ(place, i - 1)) break;
            CHECK_EQ(s.values.at[place], 0);
            s.values.at[place] = (uint32_t)i;
        }
        CHECK_EQ(s.values.count, n);
        for (uint64_t i = 1; i <= n; i++) {
            CHECK_EQ(item_add(&s, i * i << 20), i - 1);
            CHECK_EQ(s.values.at[i - 1], i);
        }
        CHECK_EQ(s.values.count, n);
        CHECK_EQ(item_find(&s, 3), NO_ITEM);
        paucis__items_clear(&s);
        CHECK(s.values.count == 0 && s.size <= 16 * n + 1024);
    }
    paucis__items_free(&s);
    CHECK(c.blocks == 0 && c.wrong_sizes == 0);
}

/* ---- tools --------------------------------------------------------------------------------- */

static void tools_by_shape(void) {
    static const struct {
        const char *name, *arguments;
        enum tool tool;
    } rows[] = {
        {"Read", "{\"file_path\":\"a.c\"}", TOOL_READ},
        {"read_file", "{}", TOOL_READ},
        {"mcp__files__read_text_file", "{}", TOOL_READ},
        {"functions.read_file", "{}", TOOL_READ},
        {"Grep", "{\"pattern\":\"x\"}", TOOL_SEARCH},
        {"Glob", "{}", TOOL_LIST},
        {"LS", "{}", TOOL_LIST},
        {"Edit", "{}", TOOL_EDIT},
        {"MultiEdit", "{}", TOOL_EDIT},
        {"Write", "{}", TOOL_EDIT},
        {"apply_patch", "{}", TOOL_EDIT},
        {"str_replace_editor", "{\"command\":\"view\",\"path\":\"a\"}", TOOL_READ},
        {"str_replace_editor", "{\"command\":\"create\",\"path\":\"a\"}", TOOL_EDIT},
        {"str_replace_based_edit_tool", "{\"command\": \"view\"}", TOOL_READ},
        {"Bash", "{\"command\":\"cat a.c\"}", TOOL_READ},
        {"Bash", "{\"command\":\"cd /x && sed -n 1,9p a.c\"}", TOOL_READ},
        {"shell", "{\"command\":[\"bash\",\"-lc\",\"rg foo\"]}", TOOL_SEARCH},
        {"shell", "{\"command\":[\"bash\",\"-lc\",\"cd x; ls -la\"]}", TOOL_LIST},
        {"exec_command", "{\"cmd\":\"git status --short\"}", TOOL_STATUS},
        {"exec_command", "{\"cmd\":\"git diff\"}", TOOL_READ},
        {"bash", "{\"command\":\"git push\"}", TOOL_RUN},
        {"bash", "{\"command\":\"cat > a.py <<'EOF'\\nx\\nEOF\\npython a.py\"}", TOOL_RUN},
        {"bash", "{\"command\":\"cat <<'EOF' > a.py\\nx\\nEOF\"}", TOOL_RUN},
        {"bash", "{\"command\":\"cat < a.py\"}", TOOL_READ},
        {"bash", "{\"command\":\"sed -i s/a/b/ a.py && python a.py\"}", TOOL_RUN},
        {"bash", "{\"command\":\"/usr/bin/grep -n x y\"}", TOOL_SEARCH},
        {"bash", "{\"command\":\"FOO=1 timeout 9 pytest -q\"}", TOOL_TEST},
        {"bash", "{\"command\":\"uv run pytest\"}", TOOL_TEST},
        {"bash", "{\"command\":\"go test ./...\"}", TOOL_TEST},
        {"bash", "{\"command\":\"go build\"}", TOOL_RUN},
        {"bash", "{\"command\":\"python3 x.py\"}", TOOL_RUN},
        {"bash", "{\"command\":\"\"}", TOOL_RUN},
        {"bash", "", TOOL_RUN},
        {"bash", "make", TOOL_TEST},
        {"bash", "{\"command\":\"scroll_down\"}", TOOL_PAGE},
        {"goto", "{\"command\":\"goto 300\"}", TOOL_PAGE},
        {"weather", "{\"command\":\"cat a.c\"}", TOOL_OTHER},
        {"reader", "{}", TOOL_OTHER},
        {"", "", TOOL_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes args = bytes_copy(rows[i].arguments, strlen(rows[i].arguments));
        TEST_NOTE("%s %s", rows[i].name, rows[i].arguments);
        CHECK_EQ(paucis__tool_of(text_of(rows[i].name), span_of(args.at, args.len)), rows[i].tool);
        bytes_free(&args);
    }
}

/* ' stands for ", and @ for '. */
static struct bytes call_arguments(const char *text) {
    struct bytes b = bytes_quoted(text);
    for (size_t i = 0; i < b.len; i++)
        if (b.at[i] == '@') b.at[i] = '\'';
    return b;
}

/* Does the second call show all that the first has shown? */
static void subjects(void) {
    static const struct {
        const char *name, *old, *new;
        bool again;
    } rows[] = {
        {"Read", "{'file_path':'a'}", "{'file_path':'a'}", true},
        {"Read", "{'file_path':'a','offset':40,'limit':20}", "{'file_path':'a'}", true},
        {"Read", "{'file_path':'a'}", "{'file_path':'a','offset':40,'limit':20}", false},
        {"Read", "{'file_path':'a','offset':40,'limit':20}", "{'offset':'41','file_path':'a'}",
         false},
        {"Read", "{'file_path':'a','offset':1990,'limit':20}", "{'file_path':'a'}", false},
        {"Read", "{'file_path':'a','limit':9}", "{'file_path':'b'}", false},
        {"Read", "{'file_path':'a','limit':9}", "{'file_path':'a','raw':true}", false},
        {"view", "{'path':'a','view_range':[3,9]}", "{'path':'a','view_range':[2,-1]}", true},
        {"view", "{'path':'a','view_range':[2,-1]}", "{'path':'a','view_range':[3,9]}", false},
        {"view", "{'path':'a','start_line':3,'end_line':9}", "{'path':'a','end_line':9}", true},
        {"bash", "{'command':'sed -n 40,60p a'}", "{'command':'cat a'}", true},
        {"bash", "{'command':'cat a'}", "{'command':'cat b'}", false},
        {"bash", "{'command':'cat a'}", "{'command':'head -n 90 a'}", false},
        {"bash", "{'command':'head -20 a'}", "{'command':'cat -n a | head -n 30'}", true},
        {"bash", "{'command':'nl -ba a | sed -n 40,60p'}", "{'command':'sed -n @40,$p@ a'}", true},
        {"bash", "{'command':'sed -n 5p a'}", "{'command':'sed -n 2,9p a | sed -n 3,4p'}", true},
        {"bash", "{'command':'sed -n 7p a'}", "{'command':'sed -n 2,9p a | sed -n 3,4p'}", false},
        {"bash", "{'command':'cd x && cat a'}", "{'command':'cat a'}", false},
        {"bash", "{'command':'cd x && head -5 a'}", "{'command':'cd x && cat a'}", true},
        {"bash", "{'command':'head -5 a','workdir':'x'}", "{'command':'cat a','workdir':'y'}",
         false},
        {"bash", "{'command':'head -5 a','description':'x'}", "{'command':'cat a'}", true},
        {"bash", "{'command':'head -5 a'}", "{'command':'cat a; rm a'}", false},
        {"bash", "{'command':'head -5 a'}", "{'command':'cat a b'}", false},
        {"bash", "{'command':'head -5 a'}", "{'command':'cat a | grep x'}", false},
        {"bash", "{'command':'head -5 a'}", "{'command':'cat a > b'}", false},
        {"bash", "{'command':'cat a > b'}", "{'command':'cat a > b'}", true},
        {"bash", "{'command':'cat $F'}", "{'command':'cat $F'}", false},
        {"bash", "{'command':'cat ${F}/a'}", "{'command':'cat ${F}/a'}", false},
        {"bash", "{'command':'cat $(ls)'}", "{'command':'cat $(ls)'}", false},
        {"bash", "{'command':'cat `ls`'}", "{'command':'cat `ls`'}", false},
        {"bash", "{'command':'cat *.c'}", "{'command':'cat *.c'}", false},
        {"bash", "{'command':'cat \\'$F\\''}", "{'command':'cat \\'$F\\''}", false},
        {"bash", "{'command':'cat \\'*\\' a'}", "{'command':'cat \\'*\\' a'}", true},
        {"bash", "{'command':'cat \\\\$F'}", "{'command':'cat \\\\$F'}", true},
        {"bash", "{'command':'cat a; echo $?'}", "{'command':'cat a; echo $?'}", true},
        {"bash", "{'command':'sed -n 5,$p a'}", "{'command':'sed -n 5,$p a'}", false},
        {"bash", "{'command':'awk @{print $a}@ a'}", "{'command':'awk @{print $a}@ a'}", true},
        {"Read", "{'file_path':'$a/*.c'}", "{'file_path':'$a/*.c'}", true},
        {"cat", "$a", "$a", false},
        {"cat", "a", "a", true},
        {"cat", "a", "b", false},
        {"Read", "{", "{", true},
    };
    struct counter counter;
    struct json j = {0};
    counter_init(&counter);
    struct mem m = {.alloc = counter_alloc(&counter)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes old = call_arguments(rows[i].old), new = call_arguments(rows[i].new);
        struct subject a, b;
        TEST_NOTE("%s %s, then %s", rows[i].name, rows[i].old, rows[i].new);
        CHECK_EQ(paucis__subject_of(&j, &m, TOOL_READ, text_of(rows[i].name),
                                    span_of(old.at, old.len), &a),
                 PAUCIS_OK);
        CHECK_EQ(paucis__subject_of(&j, &m, TOOL_READ, text_of(rows[i].name),
                                    span_of(new.at, new.len), &b),
                 PAUCIS_OK);
        CHECK_EQ(subject_has(&b, &a), rows[i].again);
        bytes_free(&old);
        bytes_free(&new);
    }
    VEC_FREE(&m, j.nodes);
    CHECK_EQ(counter.held, 0);
}

static void never_cut(void) {
    static const struct {
        const char *patterns, *name, *arguments;
        bool fits;
    } rows[] = {
        {"read:*.md", "Read", "{\"file_path\":\"docs/a.md\"}", true},
        {"read:*.md", "Read", "{\"file_path\":\"docs/a.c\"}", false},
        {"read:*.md", "Bash", "{\"command\":\"cat README.md\"}", true},
        {"todo*", "TodoWrite", "{}", true},
        {"todo*", "Read", "{}", false},
        {"x,read", "Read", "{}", true},
        {"*", "anything", "", true},
        {"", "Read", "{}", false},
        {"r?ad", "Read", "", true},
        {"*a*a*a*a*b:*", "aaaaaaaaaaaaaaaaaaaaaaaa", "aaaa", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TEST_NOTE("%s: %s %s", rows[i].patterns, rows[i].name, rows[i].arguments);
        CHECK_EQ(
            paucis__never_cut(rows[i].patterns, text_of(rows[i].name), text_of(rows[i].arguments)),
            rows[i].fits);
    }
}

/* ---- prices and models --------------------------------------------------------------------- */

static void prices(void) {
    size_t n = 0;
    for (const paucis_price *p; (p = paucis_price_at(n)); n++) {
        TEST_NOTE("%s", p->name);
        CHECK(paucis__price_is_sane(p) && paucis__price_named(p->name) == p);
        CHECK(p->step > 0 && (p->match != PAUCIS_MATCH_BREAKPOINTS || p->lookback > 0));
        for (size_t k = 0; k < n; k++) CHECK(strcmp(p->name, paucis_price_at(k)->name) != 0);
    }
    CHECK_EQ(n, 11);
    CHECK(!paucis_price_at(n) && !paucis_price_at(SIZE_MAX) && !paucis__price_named("x"));
    CHECK_EQ(strlen(paucis_prices_as_of()), strlen("2026-11"));
    const paucis_price *p = paucis__price_named("anthropic");
    CHECK(p->read == 100 && p->write == 1250 && p->minimum == 1024 && p->lookback == 20);
    paucis_price wrong[] = {*p, *p, *p, *p};
    wrong[0].write = 10001;
    wrong[1].read = 1251;
    wrong[2].match = 3;
    wrong[3].base = 10001;
    for (size_t i = 0; i < 4; i++) CHECK(!paucis__price_is_sane(&wrong[i]));
}

static void models(void) {
    static const struct {
        const char *model, *price;
        bool bound;
    } rows[] = {
        {"claude-opus-5-5", "anthropic-opus-5.5", true},
        {"claude-fable-5.1", "anthropic-fable-5.1", true},
        {"us.anthropic.claude-fable-5-1-20260801-v1:0", "anthropic-fable-5.1", true},
        {"claude-sonnet-4-5-20250929", "anthropic", false},
        {"anthropic/claude-3-7-sonnet", "anthropic", false},
        {"claude-mythos-5-1", "anthropic", false},
        {"claude-next", "anthropic", true},
        {"gpt-5.6-codex", "openai-gpt-5.6", false},
        {"openai/gpt-5", "openai", false},
        {"ft:gpt-4.1-mini:x", "openai", false},
        {"gemini-3-pro", "gemini", false},
        {"deepseek-chat", "deepseek", false},
        {"gpt-oss-120b", "local", false},
        {"unheard-of", NULL, false},
        {"", NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct model *m = paucis__model_named(text_of(rows[i].model));
        TEST_NOTE("%s", rows[i].model);
        CHECK((m != NULL) == (rows[i].price != NULL));
        if (m && rows[i].price) CHECK_STR(m->price, rows[i].price);
        if (m) CHECK(paucis__price_named(m->price) && m->window >= 100000);
        CHECK_EQ(paucis__model_is_bound(text_of(rows[i].model)), rows[i].bound);
    }
}

/* ---- forms --------------------------------------------------------------------------------- */

/* A form is shorter than the text or the text itself, and cut between characters; lines that it
 * keeps are the text's own. */
static void check_form(const struct form_kind *kind, struct span text, uint64_t keep, size_t cap) {
    struct counter c;
    counter_init(&c);
    struct mem mem = {.alloc = counter_alloc(&c)};
    struct arena arena = {.mem = &mem};
    struct forms f = {.kind = kind, .mem = &mem, .arena = &arena, .seed = 5, .keep = keep};
    struct form_text t = {.text = text, .is_result = true};
    struct span out, again;
    if (kind->born) CHECK_EQ(kind->born(&f, &t), PAUCIS_OK);
    CHECK_EQ(kind->capped(&f, &t, cap, &out), PAUCIS_OK);
    CHECK(out.at == text.at ? out.len == text.len : out.len < text.len);
    CHECK(!text.len || !out.len || (out.at[0] & 0xC0) != 0x80 || out.at == text.at);
    CHECK_EQ(kind->brief(&f, &t, &out), PAUCIS_OK);
    CHECK(out.at == text.at ? out.len == text.len : out.len < text.len);
    CHECK_EQ(kind->brief(&f, &t, &again), PAUCIS_OK);
    CHECK_BYTES(out.at, out.len, again.at, again.len);
    if (kind->stays) {
        CHECK_EQ(kind->stays(&f, text), PAUCIS_OK);
        CHECK_EQ(kind->brief(&f, &t, &again), PAUCIS_OK);
        CHECK(again.len <= out.len); /* what stands elsewhere need not be said again */
    }
    if (kind->free) kind->free(&f);
    paucis__arena_free(&arena);
    CHECK(c.blocks == 0 && c.wrong_sizes == 0);
}

static void forms(void) {
    static const char *const words[] = {
        "parse_header",        " the ", "\n", "src/x.c:12: ", "1234567", "\xE2\x82\xAC", "\n\n",
        "    return value;\n", ","};
    uint64_t seed = 9;
    for (size_t round = 0; round < rounds(2000); round++) {
        char text[6000];
        size_t n = 0, most = random_below(&seed, sizeof text - 40);
        while (n < most) {
            const char *word = words[random_below(&seed, sizeof words / sizeof *words)];
            memcpy(text + n, word, strlen(word));
            n += strlen(word);
            if (random_below(&seed, 9) == 0)
                n += (size_t)snprintf(text + n, 12, "v%zu", round % 97);
        }
        struct bytes b = bytes_copy(text, n);
        TEST_NOTE("round %zu", round);
        for (const struct form_kind *const *k = paucis__form_kinds; *k; k++)
            check_form(*k, span_of(b.at, b.len), random_below(&seed, 60),
                       100 + random_below(&seed, 3000));
        bytes_free(&b);
    }
}

int main(void) {
    return TEST_RUN(CASE(rent_is_a_plain_scan), CASE(rent_is_far_from_overflow),
                    CASE(sums_are_sums), CASE(items_are_matched), CASE(items_that_look_like_code),
                    CASE(items_are_a_set), CASE(results_are_taken_apart), CASE(gaps_are_ours),
                    CASE(lines_are_the_same), CASE(tools_by_shape), CASE(subjects), CASE(never_cut),
                    CASE(prices), CASE(models), CASE(forms));
}
