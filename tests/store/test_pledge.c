/* Requests of conversations one after another, as the proxy has them: what a body relies on is in
 * the store, and its list is the one that is made without remembering anything, whatever was there
 * before: steps that are added, altered and taken back, other conversations, lists that could not
 * be kept, hours that pass, and texts that look like markers. */
#include "kind.h"
#include "known.h"
#include "pledge.h"

#include "unit/test.h"

#include <unistd.h>

static char folder[] = "/tmp/paucis-pledge-XXXXXX";
static int64_t clock_s = 1000000;

static int64_t now(void) { return clock_s; }

static struct store *open_named(const char *name) {
    char url[80], why[STORE_WHY] = "";
    struct store *s = NULL;
    snprintf(url, sizeof url, "sqlite:%s/%s.db", folder, name);
    struct store_opts o = {.url = url, .now = now};
    if (!store_open(&s, &o, why)) printf("  %s\n", why);
    return s;
}

enum { MOST = 160 };

struct talk {
    uint32_t step[MOST]; /* each a seed for its texts */
    int count;
};

static void make_body(struct buf *b, const struct talk *t) {
    buf_str(b, "{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"go\"}");
    for (int i = 0; i < t->count; i++) {
        uint32_t seed = t->step[i];
        buf_fmt(b,
                ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c%d\","
                "\"type\":\"function\",\"function\":{\"name\":\"run\",\"arguments\":\"{}\"}}]}",
                i);
        buf_fmt(b, ",{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"", i);
        if (seed % 9 == 0) buf_str(b, "[full text: 0123456789abcdef, 3 lines, 9 bytes]\\n");
        for (uint32_t k = 0; k < 40 + seed % 200; k++)
            buf_fmt(b, "%06u word%u %08x%s\\n", seed, k, (seed * 7919 + k * 104729) * 2654435761u,
                    seed % 4 == 0 ? " \\/ \\u00e9" : "");
        buf_str(b, "\"}");
    }
    buf_str(b, "]}");
}

struct side { /* one that remembers, and one that does not */
    paucis_ctx *ctx;
    struct pledge pledge;
    struct buf out;
};

static void side_free(struct side *s) {
    pledge_free(&s->pledge);
    known_free(s->pledge.known);
    buf_free(&s->out);
    paucis_ctx_free(s->ctx);
}

static void request(struct side *s, const char *conv, const struct buf *body, bool remembers) {
    paucis_opts o;
    const char *out;
    size_t n;
    paucis_opts_init(&o, sizeof o);
    o.level = "deep";
    if (remembers) o.flags |= PAUCIS_REMEMBER;
    paucis_opts with = pledge_begin(&s->pledge, &o);
    CHECK_EQ(paucis_compact(s->ctx, body->data, body->len, &with, &out, &n, NULL, NULL), PAUCIS_OK);
    CHECK(pledge_take(&s->pledge, conv, s->ctx, body->data, body->len, out, n));
    s->out.len = 0;
    buf_add(&s->out, out, n);
}

/* What can happen between two requests. An altered text is as long as it was. */
static void change(struct talk *t, uint32_t x, uint32_t *steps) {
    uint32_t near = x >> 28 < 8 ? 4 : (uint32_t)t->count;
    if (x % 16 == 0 && t->count > 3)
        t->step[(uint32_t)t->count - 1 - (x >> 8) % near] += 200 * 9;
    else if (x % 16 == 1 && t->count > 20)
        t->count -= 1 + (int)((x >> 8) % 10);
    if (x % 16 == 2) clock_s += 3601;
    if (t->count < MOST) t->step[t->count++] = ++*steps;
}

static void same_list(struct side *a, struct side *b) {
    CHECK_BYTES(a->out.data, a->out.len, b->out.data, b->out.len);
    CHECK(hash_same(&a->pledge.batch.list, &b->pledge.batch.list));
    CHECK(hash_same(&a->pledge.batch.body, &b->pledge.batch.body));
}

static void as_without_memory(void) {
    struct store *store = open_named("kept"), *other = open_named("other");
    struct side a = {.pledge = {.store = store, .known = known_new()}};
    struct side b = {.pledge = {.store = other}};
    struct talk talks[2] = {0};
    uint32_t x = 7, steps = 0, skipped = 0;
    CHECK(a.pledge.known);
    CHECK_EQ(paucis_ctx_new(&a.ctx, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_ctx_new(&b.ctx, NULL), PAUCIS_OK);
    for (int round = 0; round < 300; round++) {
        struct buf body = {0}, back = {0};
        struct hash which;
        x = x * 1664525 + 1013904223;
        uint32_t who = (x >> 20) % 24 == 0;
        int64_t was = clock_s;
        change(&talks[who], x >> 4, &steps);
        make_body(&body, &talks[who]);
        const char *conv = who ? "two" : "one";
        request(&a, conv, &body, true);
        request(&b, conv, &body, false);
        same_list(&a, &b);
        CHECK(clock_s == was || a.pledge.batch.count == b.pledge.batch.count); /* all of it */
        CHECK_EQ(pledge_keep(&a.pledge, KEPT_TEXT | KEPT_PIECE), STORE_OK);
        CHECK_EQ(store_has(store, &b.pledge.batch, KEPT_TEXT | KEPT_PIECE), STORE_OK);
        if ((x >> 12) % 10 == 0) {
            skipped++;
        } else {
            CHECK_EQ(pledge_keep(&a.pledge, KEPT_LIST), STORE_OK);
            CHECK_EQ(undo_restore(store, a.out.data, a.out.len, &back, &which), STORE_OK);
            CHECK_BYTES(back.data, back.len, body.data, body.len);
        }
        buf_free(&body);
        buf_free(&back);
    }
    CHECK(skipped > 5 && a.out.len < 400000);
    side_free(&a);
    side_free(&b);
    store_close(store);
    store_close(other);
}

/* A request that continues the last one puts its list and nothing else. */
static void little_is_new(void) {
    struct store *store = open_named("little");
    struct side a = {.pledge = {.store = store, .known = known_new()}};
    struct talk t = {0};
    CHECK(a.pledge.known);
    CHECK_EQ(paucis_ctx_new(&a.ctx, NULL), PAUCIS_OK);
    for (uint32_t i = 0; i < 60; i++) {
        struct buf body = {0};
        t.step[t.count++] = i + 1;
        make_body(&body, &t);
        for (int again = 0; again < 2; again++) {
            request(&a, "c", &body, true);
            CHECK(!again || a.pledge.batch.count <= 2);
            CHECK_EQ(pledge_keep(&a.pledge, KEPT_TEXT | KEPT_PIECE), STORE_OK);
            CHECK(!again || a.pledge.todo.count == 0);
            CHECK_EQ(pledge_keep(&a.pledge, KEPT_LIST), STORE_OK);
        }
        if (i == 59) { /* it is new to another conversation */
            request(&a, "d", &body, true);
            CHECK(a.pledge.batch.count > 2);
        }
        buf_free(&body);
    }
    side_free(&a);
    store_close(store);
}

/* One request after another; another hand on the same store takes texts away in between. */
static void sees_what_has_gone(void) {
    struct store *store = open_named("gone"), *hand = open_named("gone");
    struct side a = {.pledge = {.store = store, .known = known_new()}};
    struct side b = {.pledge = {.store = open_named("gone-other")}};
    struct talk t = {0};
    uint64_t count;
    CHECK(a.pledge.known);
    CHECK_EQ(paucis_ctx_new(&a.ctx, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_ctx_new(&b.ctx, NULL), PAUCIS_OK);
    for (uint32_t i = 0; i < 60; i++) {
        struct buf body = {0}, back = {0};
        struct hash which;
        t.step[t.count++] = i + 1;
        make_body(&body, &t);
        request(&a, "c", &body, true);
        request(&b, "c", &body, false);
        CHECK_EQ(pledge_keep(&a.pledge, KEPT_TEXT | KEPT_PIECE), STORE_OK);
        CHECK_EQ(store_has(store, &b.pledge.batch, KEPT_TEXT | KEPT_PIECE), STORE_OK);
        CHECK_EQ(pledge_keep(&a.pledge, KEPT_LIST), STORE_OK);
        CHECK_EQ(undo_restore(store, a.out.data, a.out.len, &back, &which), STORE_OK);
        CHECK_BYTES(back.data, back.len, body.data, body.len);
        hand->max_bytes = i == 50 ? 1 : 1000000000;
        if (i % 20 == 10) {
            uint64_t before = store_gone(store, 0);
            CHECK_EQ(i == 50 ? store_evict(hand) : store_purge(hand, "c", &count), 0);
            pthread_mutex_lock(&store->lock); /* also while somebody writes */
            CHECK(store_gone(store, before) != before);
            pthread_mutex_unlock(&store->lock);
        }
        buf_free(&body);
        buf_free(&back);
    }
    side_free(&a);
    side_free(&b);
    store_close(b.pledge.store);
    store_close(hand);
    store_close(store);
}

/* The number that stands for "it could not be found out" is none that a purge will give. */
static void not_knowing_is_no_number(void) {
    struct store *store = open_named("untold"), *hand = open_named("untold");
    char path[80], away[80];
    uint64_t count, untold, again;
    snprintf(path, sizeof path, "%s/untold.db", folder);
    snprintf(away, sizeof away, "%s/away.db", folder);
    CHECK_EQ(rename(path, away), 0);
    untold = store_gone(store, 0);
    again = store_gone(store, 0);
    CHECK_EQ(rename(away, path), 0);
    CHECK(untold != 0 && again != 0 && untold != again);
    CHECK_EQ(store_purge(hand, "c", &count), STORE_OK);
    CHECK(store_gone(store, untold) != untold && store_gone(store, untold) != again);
    store_close(hand);
    store_close(store);
}

int main(void) {
    if (!mkdtemp(folder)) return 2;
    int code = TEST_RUN(CASE(as_without_memory), CASE(little_is_new), CASE(sees_what_has_gone),
                        CASE(not_knowing_is_no_number));
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) ? 2 : code;
}
