/* Strings to text and back: every code point in every spelling, surrogates in pairs and alone,
 * NUL, and the promise that decoded_len, quote's measure and json_equals say the same as
 * decoding. */
#include "json/json.h"

#include "reference.h"
#include "support.h"
#include "test.h"

/* UTF-8 of a code point, surrogates too (their three-byte form). */
static size_t encode(uint32_t c, char *dst) {
    if (c < 0x80) {
        dst[0] = (char)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i; i--, c >>= 6) dst[i] = (char)(0x80 | (c & 0x3f));
    static const uint32_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    dst[0] = (char)(lead[len] | c);
    return len;
}

static size_t escape(uint32_t c, char *dst, bool upper) {
    if (c >= 0x10000) {
        size_t n = escape(0xd800 + ((c - 0x10000) >> 10), dst, upper);
        return n + escape(0xdc00 + ((c - 0x10000) & 0x3ff), dst + n, !upper);
    }
    return (size_t)snprintf(dst, 13, upper ? "\\u%04X" : "\\u%04x", (unsigned)c);
}

/* Decodes raw from a block of its exact size, checks the promises, and compares with text. */
static bool decodes_to(const char *raw, size_t rawn, const char *text, size_t textn) {
    struct bytes r = bytes_copy(raw, rawn);
    struct bytes d = {must_malloc(rawn), rawn};
    size_t n = paucis__json_decode(span_of(r.at, r.len), d.at);
    bool ok = CHECK_BYTES(d.at, n, text, textn);
    ok = CHECK_EQ(paucis__json_decoded_len(span_of(r.at, r.len)), n) && ok;
    bytes_free(&r);
    bytes_free(&d);
    return ok;
}

/* Quotes into a block of the measured size and compares. */
static bool quotes_to(const char *text, size_t textn, const char *raw, size_t rawn) {
    struct bytes t = bytes_copy(text, textn);
    size_t n = paucis__json_quote(span_of(t.at, t.len), NULL);
    struct bytes q = {must_malloc(n), n};
    bool ok = CHECK_EQ(paucis__json_quote(span_of(t.at, t.len), q.at), n);
    ok = CHECK_BYTES(q.at, n, raw, rawn) && CHECK(n <= 6 * textn) && ok;
    bytes_free(&t);
    bytes_free(&q);
    return ok;
}

/* What quoting must make of a code point: the short escape, \u for other controls and surrogates,
 * else itself. */
static size_t expected_quote(uint32_t c, char *dst) {
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof shorts; i += 2)
        if ((uint32_t)shorts[i] == c) {
            dst[0] = '\\';
            dst[1] = shorts[i + 1];
            return 2;
        }
    return c < 0x20 || c >> 11 == 0xd800 >> 11 ? escape(c, dst, false) : encode(c, dst);
}

static void every_code_point(void) {
    uint32_t step = test_is_sanitized() ? 7 : 1;
    for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x11000 || c >= 0x10ff00 ? 1 : step) {
        char text[8], raw[16], quoted[16];
        size_t n = encode(c, text), q = expected_quote(c, quoted);
        TEST_NOTE("U+%04X", (unsigned)c);
        bool ok = decodes_to(raw, escape(c, raw, false), text, n);
        ok = ok && decodes_to(raw, escape(c, raw, true), text, n);
        ok = ok && quotes_to(text, n, quoted, q) && decodes_to(quoted, q, text, n);
        if (!ok) return;
    }
}

#define PAIR(raw, text) \
    { raw, sizeof(raw) - 1, text, sizeof(text) - 1 }
static const struct {
    const char *raw;
    size_t rawn;
    const char *text;
    size_t textn;
} picked[] = {
    PAIR("", ""),
    PAIR("plain", "plain"),
    PAIR("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"),
    PAIR("a\\u0000b", "a\0b"),
    PAIR("\\u0000\\u0000", "\0\0"),
    PAIR("\\ud83d\\ude00", "\xf0\x9f\x98\x80"),
    PAIR("\\uD83D\\uDE00x", "\xf0\x9f\x98\x80x"),
    PAIR("\\ud83d", "\xed\xa0\xbd"),
    PAIR("\\ude00", "\xed\xb8\x80"),
    PAIR("\\ud83dx", "\xed\xa0\xbdx"),
    PAIR("\\ud83d\\n", "\xed\xa0\xbd\n"),
    PAIR("\\ud83d\\u0041", "\xed\xa0\xbd\x41"),
    PAIR("\\ude00\\ud83d", "\xed\xb8\x80\xed\xa0\xbd"),
    PAIR("\\ud83d\\ud83d\\ude00", "\xed\xa0\xbd\xf0\x9f\x98\x80"),
    PAIR("\\ud83d\\ude00\\ude00", "\xf0\x9f\x98\x80\xed\xb8\x80"),
    PAIR("\\udbff\\udfff", "\xf4\x8f\xbf\xbf"),
    PAIR("\\ud800\\udc00", "\xf0\x90\x80\x80"),
    PAIR("\\\\ud83d\\\\", "\\ud83d\\"),
    PAIR("\\\\\\u005c\\u005C", "\\\\\\"),
    PAIR("\xc3\xa9\\u00e9\xf0\x9f\x98\x80", "\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80"),
};

static void picked_strings(void) {
    for (size_t i = 0; i < sizeof picked / sizeof *picked; i++) {
        TEST_NOTE("%s", picked[i].raw);
        decodes_to(picked[i].raw, picked[i].rawn, picked[i].text, picked[i].textn);
    }
    quotes_to("a\0\x1f\x7f/\"\\\xc3\xa9", 9, "a\\u0000\\u001f\x7f/\\\"\\\\\xc3\xa9", 21);
    quotes_to("\xed\xa0\xbd", 3, "\\ud83d", 6);
    quotes_to("\xed\x9f\xbf", 3, "\xed\x9f\xbf", 3);
    quotes_to("", 0, "", 0);
}

/* Any text that decoding can give: quoting it makes a valid string that decodes to it again.
 * Halves of a pair that stand side by side stay two: JSON cannot tell them from one character,
 * so they are left out here, as decoding cannot give them. */
static void random_round_trips(void) {
    size_t cases = test_is_sanitized() ? 20000 : 200000;
    uint64_t seed = 3;
    for (size_t n = 0; n < cases; n++) {
        char text[200], quoted[1300];
        size_t len = 0;
        bool high = false;
        for (size_t k = random_below(&seed, 40); k; k--) {
            static const size_t most[] = {0x20, 0x80, 0x80, 0x800, 0x10000, 0x110000};
            uint32_t c = (uint32_t)random_below(&seed, most[random_below(&seed, 6)]);
            if (random_below(&seed, 20) == 0) c = 0xd800 + (uint32_t)random_below(&seed, 0x800);
            if (high && c >= 0xdc00 && c < 0xe000) continue;
            high = c >= 0xd800 && c < 0xdc00;
            len += encode(c, text + len);
        }
        size_t q = paucis__json_quote(span_of(text, len), quoted + 1);
        quoted[0] = quoted[q + 1] = '"';
        unsigned flags = 0;
        size_t bad;
        bool ok = CHECK_EQ(reference_string((uint8_t *)quoted, 1, q + 2, &flags, &bad), q + 1);
        if (!ok || !decodes_to(quoted + 1, q, text, len)) return;
    }
}

/* json_is against decoding, on strings that are equal, cut short, longer, or spelled
 * differently. */
static void comparing(void) {
    struct mem m = {.held = 0};
    struct json j = {.size = 0};
    paucis_error e;
    for (size_t i = 0; i < sizeof picked / sizeof *picked; i++) {
        char body[100];
        size_t n = picked[i].rawn;
        body[0] = body[n + 1] = '"';
        memcpy(body + 1, picked[i].raw, n);
        struct bytes b = bytes_copy(body, n + 2);
        TEST_NOTE("%s", picked[i].raw);
        CHECK_EQ(paucis__json_read(&j, &m, NULL, b.at, b.len, &e), PAUCIS_OK);
        const char *text = picked[i].text;
        size_t len = picked[i].textn;
        CHECK(json_is_text(&j, 0, text, len));
        CHECK(paucis__json_equals(&j, 0, text, len));
        for (size_t cut = 0; cut < len; cut++) CHECK(!json_is_text(&j, 0, text, cut));
        char longer[100];
        memcpy(longer, text, len);
        longer[len] = 'x';
        CHECK(!json_is_text(&j, 0, longer, len + 1));
        if (len) longer[len - 1] ^= 1;
        if (len) CHECK(!json_is_text(&j, 0, longer, len));
        bytes_free(&b);
    }
    VEC_FREE(&m, j.nodes);
}

/* json_same against the texts, every string with every other. */
static void comparing_strings(void) {
    size_t n = sizeof picked / sizeof *picked;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            bool same = picked[i].textn == picked[k].textn &&
                        memcmp(picked[i].text, picked[k].text, picked[i].textn) == 0;
            struct bytes a = bytes_copy(picked[i].raw, picked[i].rawn);
            struct bytes b = bytes_copy(picked[k].raw, picked[k].rawn);
            TEST_NOTE("%s and %s", picked[i].raw, picked[k].raw);
            CHECK_EQ(paucis__json_same(span_of(a.at, a.len), span_of(b.at, b.len)), same);
            bytes_free(&a);
            bytes_free(&b);
        }
#define SAME(a, b) paucis__json_same(SPAN(a), SPAN(b))
    CHECK(SAME("\\u0061\\/", "a/") && SAME("a/", "\\u0061\\/") && SAME("", ""));
    CHECK(SAME("\\ud83d\\ude00x", "\xf0\x9f\x98\x80\\u0078"));
    CHECK(!SAME("\\ud83d", "\\ud83d\\ude00") && !SAME("\\u00e9", "\xc3") && !SAME("\\u0000", ""));
#undef SAME
}

int main(void) {
    return TEST_RUN(CASE(every_code_point), CASE(picked_strings), CASE(random_round_trips),
                    CASE(comparing), CASE(comparing_strings));
}
