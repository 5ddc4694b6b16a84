/* What is cut can be had back. The last byte says how it is run (level, form of the results); the
 * others are the results of calls, a newline byte between two, made long enough to be cut by
 * repeating them. A result may be a piece of what was sent before, markers and handles in it.
 *
 * Each request goes the way of the proxy: decided by a context that remembers, everything that it
 * relies on kept in a hurry, squeezed, then its list. After each the body that was sent gives the
 * original, byte for byte; and so does the first one of the run at its end. */
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

#include "known.h"
#include "pledge.h"

enum { MOST_STEPS = 24, LEAST = 1500, MOST = 6000 };

static struct store *open_store(void) {
    static struct store *store; /* for all runs: texts are there already, or are not */
    static char path[] = "/tmp/paucis-fuzz-XXXXXX", url[80];
    char why[STORE_WHY];
    if (store) return store;
    int fd = mkstemp(path);
    FUZZ_CHECK(fd >= 0);
    close(fd);
    snprintf(url, sizeof url, "sqlite:%s", path);
    struct store_opts o = {.url = url};
    FUZZ_CHECK(store_open(&store, &o, why));
    unlink(path);
    return store;
}

static void put_quoted(struct buf *b, const uint8_t *at, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (at[i] == '"' || at[i] == '\\')
            buf_fmt(b, "\\%c", at[i]);
        else if (at[i] < ' ' || at[i] > '~')
            buf_fmt(b, "\\u00%02x", at[i]);
        else
            buf_fmt(b, "%c", at[i]);
    }
}

static void put_step(struct buf *b, size_t step, bool read, const uint8_t *at, size_t n) {
    size_t end = b->len + LEAST + n;
    buf_fmt(b,
            ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c%zu\",\"type\":"
            "\"function\",\"function\":{\"name\":\"%s\",\"arguments\":\"{\\\"path\\\":\\\"f%zu\\\"}"
            "\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c%zu\",\"content\":\"",
            step, read ? "read" : "run", step % 5, step);
    for (size_t line = 0; n && b->len < end; line++) {
        put_quoted(b, at, n < MOST ? n : MOST);
        buf_fmt(b, "\\nline_%zu\\n", line * (step + 1));
    }
    buf_str(b, "\"}");
}

struct run {
    paucis_ctx *ctx;
    struct pledge pledge;
    struct buf messages, body, sent, first_body, first_sent;
};

static void restores(struct run *r, const struct buf *sent, const struct buf *body) {
    struct buf back = {0};
    struct hash which;
    FUZZ_CHECK(undo_restore(r->pledge.store, sent->data, sent->len, &back, &which) == STORE_OK);
    FUZZ_CHECK(back.len == body->len && !memcmp(back.data, body->data, body->len));
    buf_free(&back);
}

/* A body that another was shortened to before has no list of its own. */
static void request(struct run *r, const paucis_opts *opts, const char *conv) {
    const char *out;
    size_t n;
    r->body.len = r->sent.len = 0;
    buf_str(&r->body, "{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"go\"}");
    buf_add(&r->body, r->messages.data, r->messages.len);
    buf_str(&r->body, "]}");
    paucis_opts with = pledge_begin(&r->pledge, opts);
    FUZZ_CHECK(paucis_compact(r->ctx, r->body.data, r->body.len, &with, &out, &n, NULL, NULL) ==
               PAUCIS_OK);
    FUZZ_CHECK(pledge_take(&r->pledge, conv, r->ctx, r->body.data, r->body.len, out, n));
    buf_add(&r->sent, out, n);
    FUZZ_CHECK(pledge_keep(&r->pledge, KEPT_TEXT | KEPT_PIECE) == STORE_OK);
    pledge_squeeze(&r->pledge);
    enum store_err err = pledge_keep(&r->pledge, KEPT_LIST);
    FUZZ_CHECK(err == STORE_OK || err == STORE_CONFLICT);
    if (err) return;
    restores(r, &r->sent, &r->body);
    if (r->first_sent.len || n == r->body.len) return;
    buf_add(&r->first_body, r->body.data, r->body.len);
    buf_add(&r->first_sent, out, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const levels[] = {"deep", "balanced", "whole", "safe"};
    static unsigned runs;
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_byte(&in);
    struct run r = {.pledge = {.store = open_store(), .known = known_new(), .quick = true}};
    char conv[32];
    paucis_opts o;
    FUZZ_CHECK(r.pledge.known && paucis_ctx_new(&r.ctx, NULL) == PAUCIS_OK);
    snprintf(conv, sizeof conv, "run-%u", runs++ % 64);
    paucis_opts_init(&o, sizeof o);
    o.level = levels[how & 3];
    o.flags |= PAUCIS_REMEMBER;
    if (how & 4) o.budget_tokens = 4000;
    for (size_t step = 0; step < MOST_STEPS && in.size; step++) {
        const uint8_t *end = memchr(in.data, '\n', in.size);
        size_t n = end ? (size_t)(end - in.data) : in.size;
        bool again = n && in.data[0] == '@' && r.sent.len > 300; /* what was sent comes back */
        if (again)
            put_step(&r.messages, step, how & 8, (const uint8_t *)r.sent.data + r.sent.len - 300,
                     300);
        else
            put_step(&r.messages, step, how & 8, in.data, n);
        in.data += n + (end != NULL);
        in.size -= n + (end != NULL);
        request(&r, &o, conv);
    }
    if (r.first_sent.len) restores(&r, &r.first_sent, &r.first_body);
    pledge_free(&r.pledge);
    known_free(r.pledge.known);
    paucis_ctx_free(r.ctx);
    buf_free(&r.messages);
    buf_free(&r.body);
    buf_free(&r.sent);
    buf_free(&r.first_body);
    buf_free(&r.first_sent);
    return 0;
}
