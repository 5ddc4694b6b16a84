/* See pledge.h. */
#include "pledge.h"

#include "kind.h"
#include "known.h"

enum { ALL = KEPT_TEXT | KEPT_PIECE | KEPT_LIST };

paucis_opts pledge_begin(struct pledge *p, const paucis_opts *opts) {
    paucis_opts with = *opts;
    undo_clear(&p->undo);
    batch_clear(&p->batch);
    p->undo.known = p->known;
    with.handle = undo_handle;
    with.handle_ud = &p->undo;
    with.flags |= PAUCIS_NAME_NEW; /* undo_batch asks for the others if it needs them */
    return with;
}

static void set_conv(struct store_batch *b, const char *conv) {
    size_t n = strnlen(conv, CONV_MAX - 1);
    memcpy(b->conv, conv, n);
    b->conv[n] = '\0';
}

bool pledge_take(struct pledge *p, const char *conv, paucis_ctx *ctx, const char *in, size_t n,
                 const char *out, size_t outn) {
    int64_t now = p->store->now();
    uint64_t gone = p->known ? store_gone(p->store, p->gone) : 0;
    bool safe = p->known && p->safe == ALL && p->gone == gone && now - p->since < FRESH_S &&
                strncmp(p->batch.conv, conv, CONV_MAX - 1) == 0;
    p->safe = 0;
    p->gone = gone;
    if (!safe) p->since = now;
    set_conv(&p->batch, conv);
    return undo_batch(&p->undo, ctx, in, n, out, outn, safe, &p->batch);
}

/* Was it acknowledged for this conversation, within the hour? */
static bool is_kept(struct pledge *p, const struct store_item *item, int64_t now) {
    int64_t when = known_kept(p->known, p->batch.conv, p->gone, &item->hash);
    if (now - when >= FRESH_S) return false;
    if (when < p->since) p->since = when;
    return true;
}

bool pledge_is_kept(struct pledge *p, unsigned kinds) {
    const struct store_batch *b = &p->batch;
    int64_t now = p->store->now();
    for (size_t i = 0; i < b->count; i++)
        if ((b->items[i].kind & kinds) && !is_kept(p, &b->items[i], now)) return false;
    return !b->failed;
}

enum store_err pledge_keep(struct pledge *p, unsigned kinds) {
    const struct store_batch *all = &p->batch;
    struct store_batch *b = &p->todo;
    int64_t now = p->store->now();
    batch_clear(b);
    set_conv(b, all->conv);
    for (size_t i = 0; i < all->count; i++) {
        const struct store_item *item = &all->items[i];
        if ((item->kind & kinds) && !is_kept(p, item, now))
            batch_add_hashed(b, item->kind, item->at, item->len, &item->hash);
    }
    b->failed = b->failed || all->failed;
    b->has_note = all->has_note && (kinds & KEPT_LIST);
    b->body = all->body;
    b->list = all->list;
    b->lazy = kinds == KEPT_LIST;
    b->quick = p->quick && !b->lazy;
    bool none = !b->count && !b->has_note && !b->failed;
    enum store_err err = none ? STORE_OK : store_put(p->store, b);
    if (!err) p->safe |= kinds;
    for (size_t i = 0; !err && i < b->count; i++)
        known_note_kept(p->known, b->conv, p->gone, &b->items[i].hash, now);
    return err;
}

void pledge_squeeze(struct pledge *p) {
    if (!p->todo.failed) (void)store_squeeze(p->store, &p->todo);
}

void pledge_free(struct pledge *p) {
    undo_free(&p->undo);
    batch_free(&p->batch);
    batch_free(&p->todo);
}
