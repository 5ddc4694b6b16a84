/* --inspect: what went, word by word, for the live page. The newest changed requests are kept in
 * memory only, each as the JSON that the page asks for, and shown only to who has the token that is
 * printed at the start. Without --inspect none of this is there. */
#include "door.h"
#include "proxy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { KEPT = 32, MOST = 256 * 1024, PIECE = 2000 }; /* requests, bytes of each, of a text */

struct inspect {
    pthread_mutex_t lock;
    struct {
        uint64_t id;
        struct buf json;
    } at[KEPT];
    size_t next;
    char token[33];
};

struct inspect *inspect_new(void) {
    struct inspect *in = calloc(1, sizeof *in);
    unsigned char random[16];
    if (!in || getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        free(in);
        return NULL;
    }
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(in->token + 2 * i, 3, "%02x", (unsigned)random[i]);
    pthread_mutex_init(&in->lock, NULL);
    return in;
}

void inspect_free(struct inspect *in) {
    if (!in) return;
    for (size_t i = 0; i < KEPT; i++) buf_free(&in->at[i].json);
    pthread_mutex_destroy(&in->lock);
    free(in);
}

const char *inspect_token(const struct inspect *in) { return in->token; }

/* The beginning of a text, not cut inside a character. */
static void add_piece(struct buf *b, const char *name, const char *s, size_t n) {
    size_t take = n < PIECE ? n : PIECE;
    while (take > 0 && take < n && ((unsigned char)s[take] & 0xC0) == 0x80) take--;
    buf_fmt(b, ",\"%s\":", name);
    json_str(b, s, take);
}

void inspect_keep(struct inspect *in, const struct xfer *x, const paucis_ctx *ctx,
                  const char *body) {
    struct buf b = {0};
    paucis_splice s;
    buf_fmt(&b, "{\"id\":\"%" PRIx64 "\",\"edits\":[", x->id);
    size_t i = 0;
    for (; paucis_splice_get(ctx, i, &s) == PAUCIS_OK && b.len < MOST; i++) {
        buf_fmt(&b, "%s{\"message\":%zu,\"bytes\":%zu", i ? "," : "",
                scan_message_at(&x->scan, s.from), s.to - s.from);
        add_piece(&b, "was", body + s.from, s.to - s.from);
        add_piece(&b, "now", s.text, s.text_len);
        buf_str(&b, "}");
    }
    buf_fmt(&b, "],\"all\":%s}\n", paucis_splice_get(ctx, i, &s) == PAUCIS_OK ? "false" : "true");
    pthread_mutex_lock(&in->lock);
    struct buf *slot = &in->at[in->next % KEPT].json;
    buf_free(slot);
    *slot = b;
    in->at[in->next++ % KEPT].id = b.failed ? 0 : x->id;
    pthread_mutex_unlock(&in->lock);
}

bool inspect_allows(const struct xfer *x) {
    const struct inspect *in = x->serve->inspect;
    const char *query = strchr(x->uri, '?'), *token = query ? strstr(query, "token=") : NULL;
    if (!in) return false;
    if (x->config->token) return true; /* asked for at the door */
    return token && same_secret(token + 6, strcspn(token + 6, "&"), in->token);
}

bool inspect_show(struct inspect *in, uint64_t id, struct buf *b) {
    bool found = false;
    pthread_mutex_lock(&in->lock);
    for (size_t i = 0; i < KEPT && !found; i++) {
        found = id && in->at[i].id == id;
        if (found) buf_add(b, in->at[i].json.data, in->at[i].json.len);
    }
    pthread_mutex_unlock(&in->lock);
    return found;
}
