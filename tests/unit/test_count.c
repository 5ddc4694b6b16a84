/* Counting through the public header: requests part by part, the memo over a session and over
 * threads, tokenizer.json files, images, and every allocation failing. */
#include "paucis/paucis.h"

#include <pthread.h>

#include "support.h"
#include "test.h"
#include "token/frame.h"

/* a, b, c and their merges "ab", "abc"; the 256 bytes are added by make_json. */
#define REGEX                                                                         \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| " \
    "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"
#define SPLIT(regex)                                      \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex \
    "\"},\"behavior\":\"Isolated\",\"invert\":false}"
#define PRE "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT(REGEX) "," BYTE_LEVEL "]}"
#define MERGES "[\"a b\",[\"ab\",\"c\"]]"

static struct bytes make_json(const char *normalizer, const char *pre, const char *more,
                              const char *merges) {
    enum { ROOM = 1 << 16 };
    struct bytes b = {must_malloc(ROOM), 0};
#define ADD(...) (b.len += (size_t)snprintf(b.at + b.len, ROOM - b.len, __VA_ARGS__))
    ADD("{\"normalizer\":%s,\"pre_tokenizer\":%s,", normalizer, pre);
    ADD("\"model\":{\"type\":\"BPE\",%s\"vocab\":{", more);
    for (unsigned i = 0, hidden = 256; i < 256; i++) {
        bool shown = (i > 32 && i < 127) || (i > 160 && i != 173);
        ADD("\"\\u%04x\":%u,", shown ? i : hidden, 1000 + i);
        hidden += !shown;
    }
    ADD("\"ab\":7,\"abc\":8},\"merges\":%s}}", merges);
    return b;
}

static paucis_ctx *new_ctx(void) {
    paucis_ctx *ctx = NULL;
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    return ctx;
}

static paucis_tokenizer *open_named(const char *name) {
    paucis_tokenizer *t = NULL;
    CHECK_EQ(paucis_tokenizer_open(&t, name, NULL, NULL), PAUCIS_OK);
    return t;
}

static uint64_t text_tokens(paucis_ctx *ctx, const paucis_tokenizer *t, const char *text) {
    paucis_opts o;
    uint64_t tokens = 0;
    paucis_opts_init(&o, sizeof o);
    o.tokenizer = t;
    CHECK_EQ(paucis_count_text(ctx, text, strlen(text), &o, &tokens, NULL, NULL), PAUCIS_OK);
    return tokens;
}

/* ---- tokenizer.json ------------------------------------------------------------------------- */

static void from_file(void) {
    struct bytes b = make_json("{\"type\":\"NFC\"}", PRE, "\"ignore_merges\":true,", MERGES);
    paucis_tokenizer *t = NULL;
    paucis_ctx *ctx = new_ctx();
    paucis_opts o;
    uint64_t n = 0;
    const uint32_t *ids = NULL;
    paucis_error e = {PAUCIS_OK, "", 0};
    if (!CHECK_EQ(paucis_tokenizer_read(&t, b.at, b.len, NULL, &e), PAUCIS_OK)) puts(e.msg);
    bytes_free(&b); /* it was only borrowed */
    paucis_opts_init(&o, sizeof o);
    o.tokenizer = t;
    CHECK_EQ(paucis_count_text(ctx, "abcab xab", 9, &o, &n, &ids, &e), PAUCIS_OK);
    static const uint32_t want[] = {8, 7, 1032, 1120, 7};
    if (CHECK_EQ(n, 5)) CHECK(memcmp(ids, want, sizeof want) == 0);
    CHECK_EQ(text_tokens(ctx, t, "e\xcc\x81"), 2); /* two code points, composed: two bytes */
    CHECK(paucis_tokenizer_is_exact(t));
    paucis_tokenizer_free(t);
    paucis_ctx_free(ctx);
}

static void refused(void) {
    static const struct {
        const char *normalizer, *pre, *more, *merges, *why;
    } files[] = {
        {"{\"type\":\"NFKC\"}", PRE, "", MERGES, "its normalizer is not NFC"},
        {"null", BYTE_LEVEL, "", MERGES, "its pre-tokenizer is not a split and then bytes"},
        {"null", "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT("x+") "," BYTE_LEVEL "]}", "",
         MERGES, "its split pattern is not a known one"},
        {"null", PRE, "\"byte_fallback\":true,", MERGES,
         "its BPE has a dropout, a prefix, a suffix or a fallback to bytes"},
        {"null", PRE, "", "[\"a x\"]", "a merge to an unknown token"},
        {"null", PRE, "", "[\"a\"]", "a merge that is no pair"},
        {"null", PRE, "", "[\"a b\",\"a b\"]", "a merge twice"},
        {"null", PRE, "", "[\"a b\",\"ab c\",\"a b\"]",
         "merges to one token that do not stand together"},
    };
    paucis_tokenizer *t;
    paucis_error e;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct bytes b =
            make_json(files[i].normalizer, files[i].pre, files[i].more, files[i].merges);
        TEST_NOTE("%s", files[i].why);
        CHECK_EQ(paucis_tokenizer_read(&t, b.at, b.len, NULL, &e), PAUCIS_E_FORMAT);
        CHECK(!t && strcmp(e.msg, files[i].why) == 0);
        bytes_free(&b);
    }
    CHECK_EQ(paucis_tokenizer_read(&t, "{", 1, NULL, &e), PAUCIS_E_PARSE);
    CHECK_EQ(paucis_tokenizer_read(&t, "{}", 2, NULL, &e), PAUCIS_E_FORMAT);
    CHECK_EQ(paucis_tokenizer_open(&t, "no such", NULL, &e), PAUCIS_E_ARG);
}

/* ---- requests ------------------------------------------------------------------------------- */

static void parts(void) {
    static const char body[] =
        "{\"model\":\"x/gpt-4o-mini\",\"messages\":[{\"role\":\"user\",\"content\":\"hello "
        "world\"},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"a.c\"}]}";
    paucis_ctx *ctx = new_ctx();
    paucis_counts c = {.size = sizeof c};
    uint64_t sum = 0;
    CHECK_EQ(paucis_count(ctx, body, sizeof body - 1, NULL, &c, NULL), PAUCIS_OK);
    CHECK(c.exact && strcmp(c.tokenizer, "o200k_base") == 0 && c.upper == c.tokens);
    if (CHECK_EQ(c.nparts, 7)) { /* three parts, a frame each, and one for the request */
        CHECK_EQ(c.parts[0].tokens, 2);
        CHECK(strcmp(c.parts[2].tool, "ls") == 0 && strcmp(c.parts[4].tool, "ls") == 0);
        CHECK(c.parts[6].message == SIZE_MAX);
    }
    for (size_t i = 0; i < c.nparts; i++) sum += c.parts[i].tokens;
    CHECK_EQ(sum, c.tokens);
    CHECK_EQ(c.bytes_tokenized, 11 + 2 + 2 + 3);
    CHECK_EQ(paucis_count(ctx, "[1]", 3, NULL, &c, NULL), PAUCIS_E_FORMAT);
    CHECK_EQ(c.tokens, 0);
    paucis_ctx_free(ctx);
}

static void models(void) {
    CHECK(strcmp(paucis_tokenizer_of_model("openai/gpt-oss-20b", 18), "o200k_harmony") == 0);
    CHECK(strcmp(paucis_tokenizer_of_model("gpt-4-turbo", 11), "cl100k_base") == 0);
    CHECK(strcmp(paucis_tokenizer_of_model("claude-opus-4", 13), "estimate") == 0);
    CHECK(strcmp(paucis_tokenizer_of_model("ft:gpt-4.1-mini:x", 17), "o200k_base") == 0);
    CHECK(!paucis_tokenizer_of_model("gemini-3-pro", 12));
    CHECK(!paucis_tokenizer_of_model("unknown", 7) && !paucis_tokenizer_of_model(NULL, 0));
}

/* A session of 300 turns, counted turn by turn: only what is new is tokenized. */
static void session(void) {
    paucis_ctx *ctx = new_ctx();
    paucis_tokenizer *t = open_named("o200k_base");
    paucis_memo *memo = NULL;
    paucis_opts o;
    struct bytes body = {must_malloc(4 << 20), 0};
    uint64_t seed = 1, tokenized = 0, last = 0;
    CHECK_EQ(paucis_memo_new(&memo, 4096, NULL), PAUCIS_OK);
    paucis_opts_init(&o, sizeof o);
    o.tokenizer = t;
    o.memo = memo;
    body.len = (size_t)snprintf(body.at, 100, "{\"messages\":[");
    for (size_t turn = 0; turn < 300; turn++) {
        size_t n = 200 + random_below(&seed, 3000);
        body.len += (size_t)snprintf(body.at + body.len, 100, "%s{\"role\":\"%s\",\"content\":\"",
                                     turn ? "," : "", turn % 2 ? "assistant" : "user");
        for (size_t i = 0; i < n; i++)
            body.at[body.len++] = "etaoin shrdlu"[random_below(&seed, 13)];
        memcpy(body.at + body.len, "\"}]}", 4);
        paucis_counts c = {.size = sizeof c}, fresh = {.size = sizeof fresh};
        CHECK_EQ(paucis_count(ctx, body.at, body.len + 4, &o, &c, NULL), PAUCIS_OK);
        tokenized += c.bytes_tokenized;
        last = c.bytes;
        if (turn % 60 == 59) { /* and the count is the one without a memo */
            uint64_t tokens = c.tokens;
            o.memo = NULL;
            CHECK_EQ(paucis_count(ctx, body.at, body.len + 4, &o, &fresh, NULL), PAUCIS_OK);
            CHECK_EQ(fresh.tokens, tokens);
            o.memo = memo;
        }
        body.len += 2;
    }
    CHECK(last > 300000 && tokenized * 100 <= last * 105);
    bytes_free(&body);
    paucis_memo_free(memo);
    paucis_tokenizer_free(t);
    paucis_ctx_free(ctx);
}

/* ---- threads -------------------------------------------------------------------------------- */

static paucis_tokenizer *shared;
static paucis_memo *shared_memo;

static void *work(void *arg) {
    uint64_t *sum = arg;
    paucis_ctx *ctx = new_ctx();
    paucis_opts o;
    char body[200];
    paucis_opts_init(&o, sizeof o);
    o.tokenizer = shared;
    o.memo = shared_memo;
    for (size_t i = 0; i < 5000; i++) {
        paucis_counts c = {.size = sizeof c};
        int n = snprintf(body, sizeof body,
                         "{\"messages\":[{\"role\":\"user\",\"content\":\"text %zu of many, 1\"}]}",
                         i * 7 % 300);
        CHECK_EQ(paucis_count(ctx, body, (size_t)n, &o, &c, NULL), PAUCIS_OK);
        *sum += c.tokens;
    }
    paucis_ctx_free(ctx);
    return NULL;
}

static void threads(void) {
    enum { THREADS = 4 };
    pthread_t id[THREADS];
    uint64_t sum[THREADS] = {0}, alone = 0;
    shared = open_named("o200k_base");
    work(&alone);
    CHECK_EQ(paucis_memo_new(&shared_memo, 64, NULL), PAUCIS_OK); /* too small: it forgets */
    for (size_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&id[i], NULL, work, &sum[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(id[i], NULL);
        CHECK_EQ(sum[i], alone);
    }
    paucis_memo_free(shared_memo);
    paucis_tokenizer_free(shared);
}

/* ---- images --------------------------------------------------------------------------------- */

static void images(void) {
    /* a PNG of 2000 by 1000, a GIF of 100 by 50 */
    struct span png = SPAN("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAB9AAAAPoCAYAAAAAAAAA"),
                gif = SPAN("R0lGODlhZAAyAIAAAAAAAP///yH5BAEAAAAALAAAAABkADIA"),
                far = SPAN("https://example.org/x.png");
    CHECK_EQ(paucis__image_tokens(AREA_750, png), (1568 * 784 + 749) / 750);
    CHECK_EQ(paucis__image_tokens(TILES_512, png), 85 + 170 * 3 * 2);
    CHECK_EQ(paucis__image_tokens(TILES_768, png), 258 * 3 * 2);
    CHECK_EQ(paucis__image_tokens(AREA_750, gif), 7);
    CHECK_EQ(paucis__image_tokens(TILES_768, gif), 258);
    CHECK_EQ(paucis__image_tokens(TILES_512, far), 85 + 170 * 4);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Opens a file, counts a text and a request; *done is how far it came. */
static paucis_err everything(const paucis_alloc *alloc, const struct bytes *json,
                             uint64_t *tokens) {
    static const char body[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"abc \\n e\xcc\x81 abcabc\"}]}";
    paucis_tokenizer *t = NULL;
    paucis_ctx *ctx = NULL;
    paucis_memo *memo = NULL;
    paucis_opts o;
    const uint32_t *ids;
    char text[400];
    uint64_t n = 0;
    paucis_counts c = {.size = sizeof c};
    paucis_opts_init(&o, sizeof o);
    memset(text, 'a', sizeof text);
    paucis_err err = paucis_tokenizer_read(&t, json->at, json->len, alloc, NULL);
    if (!err) err = paucis_memo_new(&memo, 8, alloc);
    if (!err) err = paucis_ctx_new(&ctx, alloc);
    o.tokenizer = t;
    o.memo = memo;
    if (!err) err = paucis_count_text(ctx, text, sizeof text, &o, &n, &ids, NULL);
    if (!err) err = paucis_count(ctx, body, sizeof body - 1, &o, &c, NULL);
    *tokens = n + c.tokens;
    paucis_ctx_free(ctx);
    paucis_memo_free(memo);
    paucis_tokenizer_free(t);
    return err;
}

static void every_allocation(void) {
    struct bytes json = make_json("{\"type\":\"NFC\"}", PRE, "\"ignore_merges\":true,", MERGES);
    struct counter c;
    counter_init(&c);
    paucis_alloc alloc = counter_alloc(&c);
    uint64_t want, got;
    CHECK_EQ(everything(&alloc, &json, &want), PAUCIS_OK);
    size_t calls = c.calls, refusals = 0;
    for (int ever = 0; ever < 2; ever++)
        for (size_t i = 0; i < calls; i++) {
            counter_init(&c);
            c.fail_from = i;
            c.fail_to = ever ? SIZE_MAX : i + 1;
            paucis_err err = everything(&alloc, &json, &got);
            CHECK(err == PAUCIS_E_NOMEM || (!err && got == want));
            CHECK_EQ(c.blocks, 0);
            CHECK_EQ(c.wrong_sizes, 0);
            refusals += err != PAUCIS_OK;
        }
    CHECK(refusals > 10);
    bytes_free(&json);
}

static void arguments(void) {
    paucis_ctx *ctx = new_ctx();
    paucis_tokenizer *t = open_named("estimate");
    paucis_counts c = {0};
    paucis_opts o;
    uint64_t n;
    const uint32_t *ids;
    paucis_opts_init(&o, sizeof o);
    o.tokenizer = t;
    CHECK_EQ(paucis_count(ctx, "{}", 2, NULL, &c, NULL), PAUCIS_E_ARG); /* no size */
    CHECK_EQ(paucis_count_text(ctx, "x", 1, &o, &n, &ids, NULL), PAUCIS_E_ARG);
    CHECK_EQ(paucis_count_text(NULL, "x", 1, &o, &n, NULL, NULL), PAUCIS_E_ARG);
    CHECK_EQ(paucis_memo_new(NULL, 1, NULL), PAUCIS_E_ARG);
    CHECK_EQ(text_tokens(ctx, t, ""), 0);
    CHECK(text_tokens(ctx, t, "hello world") >= 2);
    CHECK_EQ(text_tokens(ctx, NULL, "1234567"), 2);
    paucis_tokenizer_free(t);
    paucis_ctx_free(ctx);
}

int main(void) {
    if (!paucis_tokenizer_of_model("gpt-4o", 6)) return TEST_SKIPPED; /* built without tables */
    return TEST_RUN(CASE(from_file), CASE(refused), CASE(parts), CASE(models), CASE(session),
                    CASE(threads), CASE(images), CASE(every_allocation), CASE(arguments));
}
