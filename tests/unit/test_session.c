/* Sessions: arguments and limits, every allocation failing, and the promise that the same history
 * gives the same forms as paucis_compact: a conversation is read part by part from a body, goes
 * through a session request by request, and what stands at the end is what the body became. */
#include "paucis/paucis.h"

#include "limits.h"
#include "support.h"
#include "test.h"

static paucis_opts options(void) {
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    o.price = paucis_price_at(0);
    return o;
}

static paucis_part part(size_t message, const char *role, const char *kind, const char *text) {
    return (paucis_part){.message = message,
                         .role = role,
                         .kind = kind,
                         .text = text,
                         .text_len = text ? strlen(text) : 0};
}

/* ---- arguments ----------------------------------------------------------------------------- */

static void new_arguments(void) {
    paucis_session *s = (paucis_session *)(void *)&s;
    paucis_error e;
    paucis_alloc no_function = {NULL, NULL};
    paucis_opts o = options();
    CHECK_EQ(paucis_session_new(NULL, NULL, &o, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_session_new(&s, &no_function, &o, &e), PAUCIS_E_ARG);
    CHECK(!s && e.code == PAUCIS_E_ARG && e.msg);
    static const char *const others[] = {"none", "classic", "exit", "no such policy"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        o = options();
        o.policy = others[i];
        CHECK_EQ(paucis_session_new(&s, NULL, &o, &e), PAUCIS_E_ARG);
        CHECK(!s && e.code == PAUCIS_E_ARG);
    }
    o = options();
    o.strategies = "dedup";
    CHECK_EQ(paucis_session_new(&s, NULL, &o, &e), PAUCIS_E_ARG);
    o = options();
    o.level = "no such level";
    CHECK_EQ(paucis_session_new(&s, NULL, &o, &e), PAUCIS_E_ARG);
    paucis_price price = *paucis_price_at(0);
    price.write = 4000000000u;
    o = options();
    o.price = &price;
    CHECK_EQ(paucis_session_new(&s, NULL, &o, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_session_new(&s, NULL, NULL, NULL), PAUCIS_OK);
    paucis_session_free(s);
    paucis_session_free(NULL);
}

static void add_arguments(void) {
    paucis_session *s;
    paucis_step step;
    paucis_change change;
    paucis_opts o = options();
    CHECK_EQ(paucis_session_new(&s, NULL, &o, NULL), PAUCIS_OK);
    paucis_part p = part(0, "user", "text", "hello");
    CHECK_EQ(paucis_session_add(NULL, &p), PAUCIS_E_ARG);
    CHECK_EQ(paucis_session_add(s, NULL), PAUCIS_E_ARG);
    paucis_part bad[] = {p, p, p, p, p, p, p, p, p};
    bad[0].role = "nobody";
    bad[1].role = NULL;
    bad[2].kind = "nothing";
    bad[3].kind = NULL;
    bad[4].text = NULL;
    bad[5].id_len = 3;
    bad[6].name_len = 3;
    bad[7].message = 1;
    bad[8].message = SIZE_MAX;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_NOTE("bad part %zu", i);
        CHECK_EQ(paucis_session_add(s, &bad[i]), PAUCIS_E_ARG);
    }
    CHECK_EQ(paucis_session_add(s, &p), PAUCIS_OK);
    CHECK_EQ(paucis_session_add(s, &p), PAUCIS_OK); /* another part of message 0 */
    p.message = 2;
    CHECK_EQ(paucis_session_add(s, &p), PAUCIS_E_ARG);
    p.message = 1;
    CHECK_EQ(paucis_session_add(s, &p), PAUCIS_OK);
    p.message = 0;
    CHECK_EQ(paucis_session_add(s, &p), PAUCIS_E_ARG);
    p = part(1, "user", "text", NULL); /* an empty text */
    CHECK_EQ(paucis_session_add(s, &p), PAUCIS_OK);
    p.text = "x";
    p.text_len = PAUCIS_MAX_BODY + (size_t)1;
    CHECK_EQ(paucis_session_add(s, &p), PAUCIS_E_LIMIT);
    CHECK_EQ(paucis_session_request(NULL, &step), PAUCIS_E_ARG);
    CHECK_EQ(paucis_session_request(s, NULL), PAUCIS_E_ARG);
    CHECK_EQ(paucis_session_request(s, &step), PAUCIS_OK);
    CHECK(step.changes == 0 && step.cut == SIZE_MAX && step.budget_met == 1 && !step.forced);
    CHECK_EQ(step.bytes_in, 15);
    CHECK_EQ(paucis_session_change(s, 0, &change), PAUCIS_E_ARG);
    CHECK_EQ(paucis_session_change(NULL, 0, &change), PAUCIS_E_ARG);
    paucis_session_free(s);
}

/* ---- a conversation ------------------------------------------------------------------------ */

/* A tool loop with long, repeated and failed results, users in between, and thinking. `steps` many;
 * without them it ends. */
static struct bytes conversation(size_t steps, uint64_t seed) {
    size_t room = 2000 + steps * 12000, n = 0;
    char *b = must_malloc(room);
    n += (size_t)snprintf(
        b, room,
        "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":9,\"system\":\"Be brief.\","
        "\"messages\":[{\"role\":\"user\",\"content\":\"begin\"}");
    for (size_t i = 0; i < steps; i++) {
        size_t lines = random_below(&seed, 3) ? 1 + random_below(&seed, 12) : 100;
        size_t what = random_below(&seed, 4) ? i : i / 5; /* some calls are made again */
        n += (size_t)snprintf(b + n, room - n,
                              ",{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
                              "\"thinking\":\"step %zu of many\",\"signature\":\"c2ln%zu\"},"
                              "{\"type\":\"tool_use\",\"id\":\"t%zu\",\"name\":\"Read\",\"input\":"
                              "{\"path\":\"src/file_%zu.c\"}}]},{\"role\":\"user\",\"content\":[{"
                              "\"type\":\"tool_result\",\"tool_use_id\":\"t%zu\",%s\"content\":\"",
                              i, i, i, what, i, i % 7 == 6 ? "\"is_error\":true," : "");
        for (size_t k = 0; k < lines; k++)
            n += (size_t)snprintf(b + n, room - n, "line %zu of file_%zu: call_%zu(value_%zu);\\n",
                                  k, what, k * 7 % 13, what + k);
        n += (size_t)snprintf(b + n, room - n, "\"}%s]}",
                              i % 9 == 8 ? ",{\"type\":\"text\",\"text\":\"go on\"}" : "");
    }
    n += (size_t)snprintf(b + n, room - n, "]}");
    return (struct bytes){b, n};
}

struct standing { /* what stands for each part */
    struct bytes *texts;
    bool *gone;
    size_t n;
};

static void standing_set(struct standing *st, size_t i, const char *text, size_t len, bool gone) {
    bytes_free(&st->texts[i]);
    st->texts[i] = bytes_copy(text, len);
    st->gone[i] = gone;
}

static void standing_free(struct standing *st) {
    for (size_t i = 0; i < st->n; i++) bytes_free(&st->texts[i]);
    free(st->texts);
    free(st->gone);
}

static size_t cuts; /* that sessions made, so that the test knows it tests something */

static paucis_err request(paucis_session *s, struct standing *st) {
    paucis_step step;
    paucis_change change;
    paucis_err err = paucis_session_request(s, &step);
    if (err) return err;
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < step.changes; i++) {
        CHECK_EQ(paucis_session_change(s, i, &change), PAUCIS_OK);
        CHECK(change.part < st->n && change.form && change.reason);
        CHECK((change.text == NULL) == (strcmp(change.form, "gone") == 0));
        standing_set(st, change.part, change.text ? change.text : "", change.text_len,
                     !change.text);
        if (change.part < first) first = change.part;
    }
    CHECK_EQ(paucis_session_change(s, step.changes, &change), PAUCIS_E_ARG);
    CHECK(step.cut == SIZE_MAX || step.rent >= step.price || step.forced);
    cuts += step.cut != SIZE_MAX;
    return PAUCIS_OK;
}

/* Feeds what the context has read, with a request before every assistant message that follows
 * another. */
static paucis_err feed(paucis_session *s, const paucis_ctx *ctx, size_t n, struct standing *st) {
    bool assistant = true;
    for (size_t i = 0; i < n; i++) {
        paucis_part p;
        CHECK_EQ(paucis_read_get(ctx, i, &p), PAUCIS_OK);
        bool now = strcmp(p.role, "assistant") == 0;
        paucis_err err = now && !assistant ? request(s, st) : PAUCIS_OK;
        if (!err) err = paucis_session_add(s, &p);
        if (err) return err;
        assistant = now;
        standing_set(st, i, p.text, p.text_len, false);
    }
    return request(s, st);
}

/* Runs the body through a session; the caller frees what stands. */
static paucis_err run(const struct bytes *b, const paucis_opts *o, const paucis_alloc *a,
                      struct standing *st) {
    paucis_ctx *ctx;
    paucis_session *s = NULL;
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_read(ctx, b->at, b->len, NULL, &st->n, NULL), PAUCIS_OK);
    st->texts = calloc(st->n + 1, sizeof *st->texts);
    st->gone = calloc(st->n + 1, sizeof *st->gone);
    if (!st->texts || !st->gone) exit(2);
    paucis_err err = paucis_session_new(&s, a, o, NULL);
    CHECK(!err == (s != NULL));
    if (!err) err = feed(s, ctx, st->n, st);
    if (err && s) { /* it stays so */
        paucis_step step;
        paucis_part p = part(0, "user", "text", "x");
        CHECK_EQ(paucis_session_request(s, &step), PAUCIS_E_NOMEM);
        CHECK(paucis_session_add(s, &p) != PAUCIS_OK);
    }
    paucis_session_free(s);
    paucis_ctx_free(ctx);
    return err;
}

/* The body compacted, read again, has the texts that stand in the session. */
static void same_as_compact(const struct bytes *b, const paucis_opts *o) {
    struct standing st = {NULL, NULL, 0};
    paucis_ctx *ctx, *other;
    const char *out;
    size_t n, nparts = 0, k = 0;
    CHECK_EQ(run(b, o, NULL, &st), PAUCIS_OK);
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_ctx_new(&other, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_compact(ctx, b->at, b->len, o, &out, &n, NULL, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_read(other, out, n, NULL, &nparts, NULL), PAUCIS_OK);
    for (size_t i = 0; i < st.n; i++) {
        paucis_part p;
        if (st.gone[i]) continue;
        if (!CHECK_EQ(paucis_read_get(other, k++, &p), PAUCIS_OK)) break;
        CHECK_BYTES(p.text, p.text_len, st.texts[i].at, st.texts[i].len);
    }
    CHECK_EQ(k, nparts);
    paucis_ctx_free(ctx);
    paucis_ctx_free(other);
    standing_free(&st);
}

static void sessions_are_compact(void) {
    for (size_t steps = 0; steps < 130; steps += steps < 20 ? 4 : 35)
        for (size_t price = 0; paucis_price_at(price); price++)
            for (size_t level = 0; paucis_level_at(level); level++)
                for (size_t form = 0; paucis_form_at(form); form++) {
                    paucis_opts o = options();
                    paucis_kv kv[] = {{"form", paucis_form_at(form)->name}, {"window", "4"}};
                    if (test_is_sanitized() && (price + level + form) % 4) continue;
                    struct bytes b = conversation(steps, steps + price);
                    o.kv = kv;
                    o.nkv = 2;
                    o.price = paucis_price_at(price);
                    o.level = paucis_level_at(level)->name;
                    TEST_NOTE("%zu steps, %s, %s, %s", steps, o.price->name, o.level, kv[0].val);
                    same_as_compact(&b, &o);
                    bytes_free(&b);
                }
    CHECK(cuts > 50);
}

/* Calls and results without ids, as Gemini has them: a result takes the first open call. */
static struct bytes nameless_conversation(size_t steps) {
    size_t room = 2000 + steps * 9000, n = 0;
    char *b = must_malloc(room);
    n += (size_t)snprintf(b, room,
                          "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"go\"}]}");
    for (size_t i = 0; i < steps; i++) {
        n += (size_t)snprintf(b + n, room - n, ",{\"role\":\"model\",\"parts\":[");
        for (size_t k = 0; k < 2; k++)
            n += (size_t)snprintf(
                b + n, room - n,
                "%s{\"functionCall\":{\"name\":\"%s\",\"args\":{\"%s\":\"f%zu\"}}}", k ? "," : "",
                k ? "read_file" : "bash", k ? "path" : "command", k ? i % 5 : i);
        n += (size_t)snprintf(b + n, room - n, "]},{\"role\":\"user\",\"parts\":[");
        for (size_t k = 0; k < 2; k++) {
            n += (size_t)snprintf(b + n, room - n,
                                  "%s{\"functionResponse\":{\"name\":\"%s\",\"response\":{"
                                  "\"output\":\"",
                                  k ? "," : "", k ? "read_file" : "bash");
            for (size_t line = 0; line < 90; line++)
                n += (size_t)snprintf(b + n, room - n, "%zu: name_%zu(value_%zu);\\n", line,
                                      i * 7 + line, k + line);
            n += (size_t)snprintf(b + n, room - n, "\"}}}");
        }
        n += (size_t)snprintf(b + n, room - n, "]}");
    }
    n += (size_t)snprintf(b + n, room - n, "]}");
    return (struct bytes){b, n};
}

static void results_without_ids(void) {
    struct bytes b = nameless_conversation(30);
    for (size_t level = 0; paucis_level_at(level); level++) {
        paucis_opts o = options();
        o.level = paucis_level_at(level)->name;
        TEST_NOTE("%s", o.level);
        same_as_compact(&b, &o);
    }
    bytes_free(&b);
}

/* What the options point to may be gone once the session has begun. */
static void options_are_copied(void) {
    struct bytes list = bytes_copy("4,9,30,4000000000", 18), never = bytes_copy("todo*", 6);
    struct bytes body = conversation(40, 3);
    paucis_kv kv[] = {{"still", list.at}, {"cold", list.at}, {"never", never.at}, {"window", "4"}};
    paucis_opts o = options();
    paucis_session *s;
    paucis_ctx *ctx;
    struct standing st = {NULL, NULL, 0};
    o.kv = kv;
    o.nkv = 4;
    CHECK_EQ(paucis_session_new(&s, NULL, &o, NULL), PAUCIS_OK);
    bytes_free(&list);
    bytes_free(&never);
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_read(ctx, body.at, body.len, NULL, &st.n, NULL), PAUCIS_OK);
    st.texts = calloc(st.n + 1, sizeof *st.texts);
    st.gone = calloc(st.n + 1, sizeof *st.gone);
    if (!st.texts || !st.gone) exit(2);
    CHECK_EQ(feed(s, ctx, st.n, &st), PAUCIS_OK);
    paucis_session_free(s);
    paucis_ctx_free(ctx);
    standing_free(&st);
    kv[0].val = kv[1].val = "4,9,30,4000000000";
    kv[2].val = "todo*";
    same_as_compact(&body, &o);
    bytes_free(&body);
}

/* ---- memory -------------------------------------------------------------------------------- */

static bool same_standing(const struct standing *a, const struct standing *b) {
    for (size_t i = 0; i < a->n; i++)
        if (a->gone[i] != b->gone[i] || a->texts[i].len != b->texts[i].len ||
            memcmp(a->texts[i].at, b->texts[i].at, a->texts[i].len) != 0)
            return false;
    return a->n == b->n;
}

static void every_allocation(void) {
    paucis_opts o = options();
    paucis_kv kv[] = {{"window", "3"}, {"never", "todo*"}, {"cold", "40"}, {"still", "20,30"}};
    o.kv = kv;
    o.nkv = 4;
    o.budget_tokens = 9000;
    struct bytes b = conversation(test_is_sanitized() ? 25 : 60, 4);
    struct standing want = {NULL, NULL, 0};
    size_t refused = 0;
    CHECK_EQ(run(&b, &o, NULL, &want), PAUCIS_OK);
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (size_t at = 0, more = 1; more; at++) {
            struct counter c;
            struct standing st = {NULL, NULL, 0};
            counter_init(&c);
            c.fail_from = at;
            c.fail_to = for_ever ? SIZE_MAX : at + 1;
            paucis_alloc a = counter_alloc(&c);
            TEST_NOTE("allocation %zu fails%s", at, for_ever ? " and all after it" : "");
            paucis_err err = run(&b, &o, &a, &st);
            CHECK(err == PAUCIS_OK || err == PAUCIS_E_NOMEM);
            if (!err) CHECK(same_standing(&st, &want));
            refused += err == PAUCIS_E_NOMEM;
            CHECK(c.blocks == 0 && c.held == 0 && c.wrong_sizes == 0);
            more = c.calls > at;
            standing_free(&st);
        }
    CHECK(refused > 40);
    printf("  %zu failures\n", refused);
    standing_free(&want);
    bytes_free(&b);
}

int main(void) {
    return TEST_RUN(CASE(new_arguments), CASE(add_arguments), CASE(sessions_are_compact),
                    CASE(results_without_ids), CASE(options_are_copied), CASE(every_allocation));
}
