/* A shortened body back to the original: through the library and the store, with allocations that
 * fail, with lists that were never made by us, and texts quoted as clients quote them. */
#include "kind.h"
#include "quote.h"

#include "alloc.h"
#include "unit/test.h"

#include <paucis/paucis.h>
#include <unistd.h>

static char folder[] = "/tmp/paucis-undo-XXXXXX";

static struct store *open_new(void) {
    static int number;
    char url[80], why[STORE_WHY] = "";
    struct store *s = NULL;
    snprintf(url, sizeof url, "sqlite:%s/%d.db", folder, ++number);
    struct store_opts o = {.url = url};
    if (!store_open(&s, &o, why)) printf("  %s\n", why);
    return s;
}

/* A session whose old results are worth shortening. */
static void make_body(struct buf *b, int turns, bool escapes) {
    buf_str(b, "{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"go\"}");
    for (int i = 0; i < turns; i++) {
        buf_fmt(
            b,
            ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c%d\",\"type\":"
            "\"function\",\"function\":{\"name\":\"run\",\"arguments\":\"{}\"}}]}",
            i);
        buf_fmt(b, ",{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"", i);
        for (int k = 0; k < 250; k++)
            buf_fmt(b, "%d word%d %x%s\\n", i, k, (unsigned)(i * 7919 + k * 104729) * 2654435761u,
                    escapes ? " \\/ \\u00e9 \\ud83d\\ude00 \\\"" : "");
        buf_str(b, "\"}");
    }
    buf_str(b, "]}");
}

struct shortened {
    paucis_ctx *ctx;
    struct undo undo;
    struct store_batch batch;
    const char *out;
    size_t outn;
};

static void shorten(struct shortened *s, const struct buf *body, paucis_ctx *ctx) {
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    o.level = "deep";
    o.handle = undo_handle;
    o.handle_ud = &s->undo;
    undo_clear(&s->undo);
    batch_clear(&s->batch);
    snprintf(s->batch.conv, sizeof s->batch.conv, "c");
    CHECK_EQ(paucis_compact(ctx, body->data, body->len, &o, &s->out, &s->outn, NULL, NULL),
             PAUCIS_OK);
}

static void gives_back(void) {
    struct store *store = open_new();
    struct hash which;
    paucis_ctx *ctx = NULL;
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    for (int turns = 0; turns < 60; turns += 7) {
        struct buf body = {0}, out = {0};
        struct shortened s = {0};
        make_body(&body, turns, turns % 2);
        shorten(&s, &body, ctx);
        CHECK(undo_batch(&s.undo, ctx, body.data, body.len, s.out, s.outn, false, &s.batch));
        CHECK_EQ(store_put(store, &s.batch), STORE_OK);
        CHECK_EQ(undo_restore(store, s.out, s.outn, &out, &which), STORE_OK);
        CHECK_BYTES(out.data, out.len, body.data, body.len);
        CHECK(turns < 20 || s.outn < body.len);
        undo_free(&s.undo);
        batch_free(&s.batch);
        buf_free(&body);
        buf_free(&out);
    }
    paucis_ctx_free(ctx);
    store_close(store);
}

/* The batch fails as a whole, or it is complete. */
static void survives_no_memory(void) {
    struct store *store = open_new();
    struct buf body = {0};
    struct hash which;
    paucis_ctx *ctx = NULL;
    bool failed = true;
    make_body(&body, 30, true);
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    for (size_t n = 1; failed && n < 4000; n++) {
        struct shortened s = {0};
        struct buf out = {0};
        shorten(&s, &body, ctx);
        alloc_fail_at(n);
        bool made = undo_batch(&s.undo, ctx, body.data, body.len, s.out, s.outn, false, &s.batch);
        bool put = made && store_put(store, &s.batch) == STORE_OK;
        enum store_err err = put ? undo_restore(store, s.out, s.outn, &out, &which) : STORE_ABSENT;
        failed = alloc_failed();
        alloc_fail_at(0);
        CHECK(failed || !err);
        CHECK(err || (out.len == body.len && !memcmp(out.data, body.data, body.len)));
        CHECK(!put || !(out.len = 0, undo_restore(store, s.out, s.outn, &out, &which)) ||
              out.failed);
        undo_free(&s.undo);
        batch_free(&s.batch);
        buf_free(&out);
    }
    CHECK(!failed);
    paucis_ctx_free(ctx);
    buf_free(&body);
    store_close(store);
}

/* Lists that were changed and given the hash they then have: an error, and never other bytes. */
static void takes_any_list(void) {
    struct store *store = open_new();
    struct buf body = {0};
    struct shortened s = {0};
    struct hash which;
    paucis_ctx *ctx = NULL;
    uint32_t x = 1;
    make_body(&body, 30, false);
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    shorten(&s, &body, ctx);
    CHECK(undo_batch(&s.undo, ctx, body.data, body.len, s.out, s.outn, false, &s.batch));
    CHECK_EQ(store_put(store, &s.batch), STORE_OK);
    struct buf list = {0}, out = {0};
    CHECK_EQ(store_get(store, &s.batch.list, &list), STORE_OK);
    char key[NOTE_KEY];
    note_key(&s.batch.body, key);
    for (int round = 0; round < 600; round++) {
        struct store_batch b = {.conv = "c"};
        struct buf bad = {0};
        buf_add(&bad, list.data, list.len);
        for (int k = 0; k < 1 + round % 3; k++) {
            x = x * 1664525 + 1013904223;
            bad.data[(x >> 8) % bad.len] = (char)x;
        }
        if (round % 5 == 0) bad.len = (x >> 4) % (bad.len + 1);
        bool same = bad.len == list.len && !memcmp(bad.data, list.data, list.len);
        size_t i = batch_take(&b, KEPT_LIST, &bad);
        CHECK_EQ(store_put(store, &b), STORE_OK);
        CHECK_EQ(store->kind->note_put(store, "c", key, (const char *)b.items[i].hash.at, HASH_SIZE,
                                       NULL),
                 STORE_OK);
        out.len = 0;
        enum store_err err = undo_restore(store, s.out, s.outn, &out, &which);
        /* A block may be changed as well, since the list names it by its hash. */
        CHECK(err ? out.len == 0 : same && out.len == body.len);
        batch_free(&b);
    }
    buf_free(&list);
    buf_free(&out);
    buf_free(&body);
    undo_free(&s.undo);
    batch_free(&s.batch);
    paucis_ctx_free(ctx);
    store_close(store);
}

static void quotes(void) {
    static const struct {
        const char *text, *raw, *ascii;
    } rows[] = {
        {"", "", ""},
        {"a\"b\\c/", "a\\\"b\\\\c/", "a\\\"b\\\\c/"},
        {"\b\f\n\r\t\x01\x1f\x7f", "\\b\\f\\n\\r\\t\\u0001\\u001f\x7f",
         "\\b\\f\\n\\r\\t\\u0001\\u001f\x7f"},
        {"\xc3\xa9\xe2\x80\xa8", "\xc3\xa9\xe2\x80\xa8", "\\u00e9\\u2028"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\\ud83d\\ude00"},
        {"\xed\xa0\x80z", "\\ud800z", "\\ud800z"}, /* a lone surrogate */
        {"\xff\xc3", "\xff\xc3", "\xff\xc3"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b = {0};
        size_t n = strlen(rows[i].text);
        quote(&b, rows[i].text, n, QUOTE_RAW);
        CHECK_BYTES(b.data, b.len, rows[i].raw, strlen(rows[i].raw));
        b.len = 0;
        quote(&b, rows[i].text, n, QUOTE_ASCII);
        CHECK_BYTES(b.data, b.len, rows[i].ascii, strlen(rows[i].ascii));
        buf_free(&b);
    }
}

/* Whether a piece is a text's quoting is what quoting and comparing says, also where one byte of
 * the piece is another. */
static void knows_its_quoting(void) {
    static const char *const bits[] = {
        "a", "word ",       "\n", "\"", "\\", "\t", "\x01", "\xc3\xa9", "\xf0\x9f\x98\x80",
        "/", "longer text "};
    static const char bytes[] = "a\\\"n\n\xc3 u0";
    uint32_t x = 1;
    for (int round = 0; round < 20000; round++) {
        enum quote_style style = round & 1 ? QUOTE_ASCII : QUOTE_RAW;
        struct buf text = {0}, was = {0};
        buf_str(&text, "");
        for (uint32_t k = 0; k < (uint32_t)round % 23; k++) {
            x = x * 1664525 + 1013904223;
            buf_str(&text, bits[(x >> 16) % (sizeof bits / sizeof *bits)]);
        }
        buf_reserve(&text, 1);
        buf_reserve(&was, 1);
        quote(&was, text.data, text.len, style);
        CHECK(quote_is(text.data, text.len, style, was.data, was.len));
        CHECK(!quote_is(text.data, text.len, style, was.data, was.len - 1) || !was.len);
        CHECK(!quote_is(text.data, text.len - 1, style, was.data, was.len) || !text.len);
        char *other = was.len ? &was.data[(x >> 7) % was.len] : NULL;
        char as = bytes[(x >> 20) % (sizeof bytes - 1)];
        bool same = !other || *other == as;
        if (other) *other = as;
        CHECK(quote_is(text.data, text.len, style, was.data, was.len) == same);
        buf_free(&text);
        buf_free(&was);
    }
}

int main(void) {
    if (!mkdtemp(folder)) return 2;
    int code = TEST_RUN(CASE(gives_back), CASE(survives_no_memory), CASE(takes_any_list),
                        CASE(quotes), CASE(knows_its_quoting));
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) ? 2 : code;
}
