/* The stable policy over a conversation that grows. The last bytes say how it is run (format,
 * model, level, form, price, window, budget); the others are the conversation, two bytes a step:
 * what happens (a user speaks, calls with their results, thinking) and which texts there are, so
 * that repeats, long results and calls made again are likely.
 *
 * Each request is compacted as an agent would send it. Its output is not longer than its input, the
 * same from a context that remembers the one before, breaks no rule more often than the input,
 * alone or after the one sent before it; and it begins with what was sent before, up to the cut
 * that the plan names. */
#include "fuzz.h"

enum { MOST_MESSAGES = 50, MOST_RULES = 256 };

struct words { /* a text under construction */
    char *at;
    size_t len, room;
};

static void put(struct words *w, const char *text) {
    size_t n = strlen(text);
    if (w->len + n + 1 > w->room) {
        w->room = 2 * (w->len + n + 1);
        w->at = realloc(w->at, w->room);
        FUZZ_CHECK(w->at);
    }
    memcpy(w->at + w->len, text, n + 1);
    w->len += n;
}

static void put_number(struct words *w, size_t n) {
    char digits[24];
    snprintf(digits, sizeof digits, "%zu", n);
    put(w, digits);
}

/* The text with this number: a few words and sizes, so that the same come again. */
static void put_text(struct words *w, unsigned which) {
    static const unsigned lines[] = {1, 3, 9, 14, 40, 90, 150, 0};
    unsigned n = lines[which >> 5 & 7];
    for (unsigned i = 0; i < n; i++) {
        put(w, i % 7 == 3 ? "see src/file_" : "a line of output ");
        put_number(w, (which & 31) * (i % 5 + 1));
        put(w, "\\n");
    }
    if (!n)
        for (unsigned i = 0; i < 90; i++) put(w, which & 1 ? "name_x\xE2\x82\xAC " : "0123456789");
}

struct talk {
    bool chat; /* else anthropic */
    size_t start[MOST_MESSAGES + 1], count;
    bool reply[MOST_MESSAGES]; /* the assistant's */
    struct words body;         /* without its end */
    size_t calls;
};

static void begin_message(struct talk *t, bool reply) {
    if (t->count) put(&t->body, ",");
    t->reply[t->count] = reply;
    t->start[t->count++] = t->body.len;
}

static void say(struct talk *t, const char *role, unsigned which) {
    begin_message(t, role[0] == 'a');
    put(&t->body, "{\"role\":\"");
    put(&t->body, role);
    put(&t->body, "\",\"content\":\"said ");
    put_text(&t->body, which & 95);
    put(&t->body, ".\"}");
}

static void put_call(struct talk *t, unsigned which, size_t id) {
    put(&t->body,
        t->chat ? "{\"type\":\"function\",\"id\":\"c" : "{\"type\":\"tool_use\",\"id\":\"c");
    put_number(&t->body, id);
    put(&t->body, t->chat ? "\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"f"
                          : "\",\"name\":\"read\",\"input\":{\"path\":\"f");
    put_number(&t->body, which & 7);
    put(&t->body, t->chat ? "\\\"}\"}}" : "\"}}");
}

static void put_result(struct talk *t, unsigned which, size_t id, bool failed) {
    put(&t->body, t->chat ? "{\"role\":\"tool\",\"tool_call_id\":\"c"
                          : "{\"type\":\"tool_result\",\"tool_use_id\":\"c");
    put_number(&t->body, id);
    put(&t->body, failed && !t->chat ? "\",\"is_error\":true,\"content\":\"" : "\",\"content\":\"");
    put_text(&t->body, which);
    put(&t->body, "\"}");
}

/* An assistant with `n` calls, perhaps thinking first, and their results. */
static void act(struct talk *t, size_t n, unsigned which, bool thinks, bool failed) {
    size_t first = t->calls;
    begin_message(t, true);
    put(&t->body, t->chat ? "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
                          : "{\"role\":\"assistant\",\"content\":[");
    if (thinks && !t->chat) {
        put(&t->body, "{\"type\":\"thinking\",\"thinking\":\"hm ");
        put_text(&t->body, which & 63);
        put(&t->body, "\",\"signature\":\"c2ln");
        put_number(&t->body, first);
        put(&t->body, "\"},");
    }
    for (size_t i = 0; i < n; i++) {
        if (i) put(&t->body, ",");
        put_call(t, which + (unsigned)i, t->calls++);
    }
    put(&t->body, "]}");
    if (!t->chat) {
        begin_message(t, false);
        put(&t->body, "{\"role\":\"user\",\"content\":[");
    }
    for (size_t i = 0; i < n; i++) {
        if (t->chat)
            begin_message(t, false);
        else if (i)
            put(&t->body, ",");
        put_result(t, which + 37u * (unsigned)i, first + i, failed);
    }
    if (!t->chat) put(&t->body, "]}");
}

static void step(struct talk *t, unsigned what, unsigned which) {
    unsigned kind = what & 7;
    if (kind == 0)
        say(t, "user", which);
    else if (kind == 1) {
        say(t, "assistant", which);
        say(t, "user", which / 2);
    } else {
        act(t, kind == 2 ? 3 : kind == 3 ? 2 : 1, which, what & 16, what & 32);
    }
}

/* ---- judging ------------------------------------------------------------------------------- */

struct sent {
    char *at;
    size_t len;
};

static void count_breaks(paucis_ctx *c, const struct sent *body, const struct sent *before,
                         size_t *counts) {
    const paucis_break *b;
    size_t n;
    paucis_check_with with = {NULL, 0, before ? before->at : NULL, before ? before->len : 0};
    FUZZ_CHECK(!paucis_check(c, body->at, body->len, NULL, &with, &b, &n, NULL));
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; paucis_rule_at(r); r++)
            counts[r] += strcmp(paucis_rule_at(r)->name, b[i].rule) == 0;
}

static void breaks_nothing(paucis_ctx *c, const struct sent *in, const struct sent *out,
                           const struct sent *in_before, const struct sent *out_before) {
    size_t had[MOST_RULES] = {0}, has[MOST_RULES] = {0};
    count_breaks(c, in, in_before, had);
    count_breaks(c, out, out_before, has);
    for (size_t r = 0; r < MOST_RULES && paucis_rule_at(r); r++)
        if (has[r] > had[r]) {
            fprintf(stderr, "gains a break of %s\n", paucis_rule_at(r)->name);
            abort();
        }
}

/* Bytes of the output that the plan promises to be as before: up to the message of the cut that the
 * last request makes. */
static size_t promised(paucis_ctx *c, const struct talk *t, const struct sent *in,
                       const paucis_opts *o, size_t all) {
    paucis_stats st = {.size = sizeof st};
    size_t edits, message = SIZE_MAX;
    paucis_cut cut;
    paucis_splice splice;
    FUZZ_CHECK(!paucis_plan(c, in->at, in->len, o, &edits, &st, NULL));
    if (!st.cut_now) return all;
    for (size_t i = 0; !paucis_plan_cut(c, i, &cut); i++)
        if (!cut.planned) message = cut.message;
    FUZZ_CHECK(message != SIZE_MAX);
    if (!t->chat && message) message--; /* the system text is the first */
    size_t at = t->start[message] ? t->start[message] - (message > 0) : 0, out = at;
    for (size_t i = 0; !paucis_splice_get(c, i, &splice); i++)
        if (splice.to <= at) out -= splice.to - splice.from - splice.text_len;
    return out < all ? out : all;
}

/* The body is gone when this returns: nobody may have kept a part of it. */
static struct sent compacted(paucis_ctx *c, const struct sent *in, const paucis_opts *o) {
    const char *out;
    struct sent s = {NULL, 0};
    char *body = malloc(in->len);
    FUZZ_CHECK(body);
    memcpy(body, in->at, in->len);
    FUZZ_CHECK(!paucis_compact(c, body, in->len, o, &out, &s.len, NULL, NULL));
    free(body);
    FUZZ_CHECK(s.len <= in->len);
    s.at = malloc(s.len + 1);
    FUZZ_CHECK(s.at);
    memcpy(s.at, out, s.len);
    return s;
}

/* The request with the first n messages. */
static struct sent request(const struct talk *t, size_t n) {
    size_t len = n < t->count ? t->start[n] - 1 : t->body.len;
    struct sent s = {malloc(len + 3), len + 2};
    FUZZ_CHECK(s.at);
    memcpy(s.at, t->body.at, len);
    memcpy(s.at + len, "]}", 3);
    return s;
}

static void converse(const struct talk *t, const paucis_opts *o) {
    struct sent in_before = {NULL, 0}, out_before = {NULL, 0};
    paucis_ctx *c, *other;
    paucis_opts remember = *o;
    remember.flags |= PAUCIS_REMEMBER;
    FUZZ_CHECK(!paucis_ctx_new(&c, NULL) && !paucis_ctx_new(&other, NULL));
    for (size_t n = 1; n <= t->count; n++) {
        if (n < t->count && (!t->reply[n] || t->reply[n - 1])) continue;
        struct sent in = request(t, n), out = compacted(c, &in, o),
                    again = compacted(other, &in, &remember);
        FUZZ_CHECK(out.len == again.len && !memcmp(out.at, again.at, out.len));
        if (out_before.at) {
            size_t same = promised(c, t, &in, o, out_before.len - 2);
            FUZZ_CHECK(same <= out.len && !memcmp(out.at, out_before.at, same));
        }
        if (in_before.at)
            breaks_nothing(c, &in, &out, &in_before, &out_before);
        else
            breaks_nothing(c, &in, &out, NULL, NULL);
        free(again.at);
        free(in_before.at);
        free(out_before.at);
        in_before = in;
        out_before = out;
    }
    free(in_before.at);
    free(out_before.at);
    paucis_ctx_free(c);
    paucis_ctx_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const models[] = {"claude-opus-5-5", "claude-sonnet-4-5"};
    static const char *const settings[] = {
        "", "\"thinking\":{\"type\":\"adaptive\"},",
        "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":9},"};
    static const char *const windows[] = {"0", "2", "8"};
    struct fuzz_input in = {data, size};
    struct talk t = {.chat = false};
    unsigned how = fuzz_byte(&in), price = fuzz_byte(&in), budget = fuzz_byte(&in);
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    t.chat = how & 1;
    paucis_kv kv[] = {{"window", windows[how / 2 % 3]},
                      {"form", paucis_form_at(how / 8 & 1)->name},
                      {"level", paucis_level_at(how / 16 % 3)->name}};
    size_t nprices = 0;
    while (paucis_price_at(nprices)) nprices++;
    o.kv = kv;
    o.nkv = 3;
    o.price = paucis_price_at(price % nprices);
    if (budget & 128) o.budget_tokens = 40 * (budget & 127);
    put(&t.body, "{");
    if (!t.chat) {
        put(&t.body, settings[how / 64 % 3]);
        put(&t.body, "\"max_tokens\":9,\"system\":\"Be brief.\",");
    }
    put(&t.body, "\"model\":\"");
    put(&t.body, t.chat ? "gpt-5" : models[price / 16 & 1]);
    put(&t.body, "\",\"messages\":[");
    say(&t, "user", 1);
    for (size_t i = 0; i + 1 < in.size && t.count + 5 < MOST_MESSAGES; i += 2)
        step(&t, in.data[i], in.data[i + 1]);
    converse(&t, &o);
    free(t.body.at);
    return 0;
}
