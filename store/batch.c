/* What one request relies on, put in one go. First the store is asked what it has, so that only
 * what is new is compressed, outside of any lock, or when the request is on its way if somebody
 * waits; then all is written and acknowledged.
 *
 * A blob, as it lies in the store, is a byte of flags and the text: as it is, compressed with zstd
 * if that is shorter, and then sealed if there is a key. */
#include "blob.h"

#include <stdlib.h>
#include <zstd.h>

enum { TRIES = 3 };

/* ---- items ---------------------------------------------------------------------------------- */

static size_t slot_of(const struct hash *h, size_t mask) {
    size_t k;
    memcpy(&k, h->at, sizeof k);
    return k & mask;
}

bool batch_has(const struct store_batch *b, const struct hash *h) {
    for (size_t k = b->slots ? slot_of(h, b->mask) : 0; b->slots && b->slots[k];
         k = (k + 1) & b->mask)
        if (hash_same(&b->items[b->slots[k] - 1].hash, h)) return true;
    return false;
}

static bool widen(struct store_batch *b) {
    size_t slots = b->slots ? 2 * (b->mask + 1) : 64;
    uint32_t *wide = calloc(slots, sizeof *wide);
    if (!wide) return false;
    free(b->slots);
    b->slots = wide;
    b->mask = slots - 1;
    for (size_t i = 0; i < b->count; i++) {
        size_t k = slot_of(&b->items[i].hash, b->mask);
        while (b->slots[k]) k = (k + 1) & b->mask;
        b->slots[k] = (uint32_t)i + 1;
    }
    return true;
}

static bool room(struct store_batch *b) {
    if ((!b->slots || 2 * b->count > b->mask) && !widen(b)) return false;
    if (b->count < b->cap) return true;
    size_t cap = b->cap ? 2 * b->cap : 32;
    struct store_item *items = realloc(b->items, cap * sizeof *items);
    if (!items || cap > UINT32_MAX / 2) return false;
    memset(items + b->cap, 0, (cap - b->cap) * sizeof *items);
    b->items = items;
    b->cap = cap;
    return true;
}

size_t batch_add_hashed(struct store_batch *b, unsigned kind, const char *at, size_t len,
                        const struct hash *h) {
    if (b->failed || !room(b)) {
        b->failed = true;
        return 0;
    }
    size_t k = slot_of(h, b->mask);
    for (; b->slots[k]; k = (k + 1) & b->mask) {
        struct store_item *have = &b->items[b->slots[k] - 1];
        if (!hash_same(&have->hash, h)) continue;
        have->kind |= kind;
        return b->slots[k] - 1;
    }
    struct buf blob = b->items[b->count].blob; /* its memory is used again */
    blob.len = 0;
    b->items[b->count] =
        (struct store_item){.hash = *h, .kind = kind, .at = at, .len = len, .blob = blob};
    b->slots[k] = (uint32_t)++b->count;
    return b->count - 1;
}

size_t batch_add(struct store_batch *b, unsigned kind, const char *at, size_t len) {
    struct hash h;
    hash_of(at, len, &h);
    return batch_add_hashed(b, kind, at, len, &h);
}

size_t batch_take(struct store_batch *b, unsigned kind, struct buf *text) {
    size_t had = b->count;
    b->failed = b->failed || text->failed;
    size_t i = batch_add(b, kind, text->data ? text->data : "", text->len);
    if (b->count > had)
        b->items[i].own = text->data;
    else
        free(text->data);
    *text = (struct buf){0};
    return i;
}

void batch_clear(struct store_batch *b) {
    for (size_t i = 0; i < b->count; i++) {
        free(b->items[i].own);
        b->items[i].own = NULL;
    }
    if (b->slots) memset(b->slots, 0, (b->mask + 1) * sizeof *b->slots);
    b->count = 0;
    b->has_note = b->lazy = b->failed = false;
}

void batch_free(struct store_batch *b) {
    for (size_t i = 0; i < b->cap; i++) {
        if (i < b->count) free(b->items[i].own);
        buf_free(&b->items[i].blob);
    }
    free(b->items);
    free(b->slots);
    blob_maker_free(&(struct blob_maker){b->zstd});
    *b = (struct store_batch){0};
}

/* ---- blobs ---------------------------------------------------------------------------------- */

static bool compress(ZSTD_CCtx *z, const char *at, size_t len, struct buf *out) {
    size_t bound = ZSTD_compressBound(len);
    if (!buf_reserve(out, 1 + bound)) return false;
    size_t n = ZSTD_compressCCtx(z, out->data + 1, bound, at, len, BLOB_LEVEL);
    bool shorter = !ZSTD_isError(n) && n < len;
    if (!shorter && len) memcpy(out->data + 1, at, len);
    out->data[0] = shorter ? BLOB_ZSTD : 0;
    out->len = 1 + (shorter ? n : len);
    return true;
}

bool blob_make(struct blob_maker *m, const unsigned char *key, const struct hash *name,
               const char *at, size_t len, struct buf *out) {
    if (!m->zstd && !(m->zstd = ZSTD_createCCtx())) return false;
    out->len = 0;
    if (!key) return compress(m->zstd, at, len, out);
    struct buf plain = {0};
    bool ok = compress(m->zstd, at, len, &plain) && buf_reserve(out, 1);
    if (ok) {
        out->data[0] = (char)(plain.data[0] | BLOB_SEALED);
        out->len = 1;
        ok = seal(key, name, plain.data + 1, plain.len - 1, out);
    }
    buf_free(&plain);
    return ok;
}

void blob_maker_free(struct blob_maker *m) { ZSTD_freeCCtx(m->zstd); }

static bool expand(const char *at, size_t len, struct buf *out) {
    unsigned long long size = ZSTD_getFrameContentSize(at, len);
    if (size >= BLOB_MOST || !buf_reserve(out, (size_t)size)) return false;
    size_t n = ZSTD_decompress(out->data + out->len, (size_t)size, at, len);
    if (ZSTD_isError(n) || n != size) return false;
    out->len += n;
    return true;
}

enum store_err blob_open(const unsigned char *key, const struct hash *name, const struct buf *blob,
                         struct buf *out) {
    struct buf plain = {0};
    size_t had = out->len;
    if (blob->len == 0 || (blob->data[0] & ~(BLOB_ZSTD | BLOB_SEALED))) return STORE_DAMAGED;
    const char *at = blob->data + 1;
    size_t len = blob->len - 1;
    bool ok = true;
    if (blob->data[0] & BLOB_SEALED) {
        ok = key && unseal(key, name, at, len, &plain);
        at = plain.data;
        len = plain.len;
    }
    if (ok && (blob->data[0] & BLOB_ZSTD))
        ok = expand(at, len, out);
    else if (ok)
        buf_add(out, at, len);
    enum store_err err = out->failed || plain.failed ? STORE_FAILED : STORE_OK;
    struct hash h;
    if (ok && !err) hash_of(out->data ? out->data + had : "", out->len - had, &h);
    if (!err && (!ok || !hash_same(&h, name))) err = STORE_DAMAGED;
    if (err) out->len = had;
    buf_free(&plain);
    return err;
}

/* ---- put ------------------------------------------------------------------------------------ */

/* Without the lock. */
static enum store_err fail_alone(struct store *s, const char *why) {
    pthread_mutex_lock(&s->lock);
    enum store_err err = store_fail(s, "%s", why);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static enum store_err no_memory(struct store *s) { return fail_alone(s, "out of memory"); }

/* A sealed text would have to be opened again to be compressed, and so is compressed at once. */
static bool stays_raw(const struct store *s, const struct store_batch *b) {
    return b->quick && s->kind->shrink && !s->has_key;
}

static bool make_raw(struct store_item *item) {
    if (!buf_reserve(&item->blob, 1 + item->len)) return false;
    item->blob.data[0] = 0;
    if (item->len) memcpy(item->blob.data + 1, item->at, item->len);
    item->blob.len = 1 + item->len;
    return true;
}

static bool make_blobs(struct store *s, struct store_batch *b) {
    struct blob_maker m = {b->zstd};
    const unsigned char *key = s->has_key ? s->key : NULL;
    bool raw = stays_raw(s, b), ok = true;
    for (size_t i = 0; ok && i < b->count; i++) {
        struct store_item *item = &b->items[i];
        if (item->there)
            item->blob.len = 0;
        else if (!item->blob.len)
            ok = raw ? make_raw(item)
                     : blob_make(&m, key, &item->hash, item->at, item->len, &item->blob);
    }
    b->zstd = m.zstd;
    return ok;
}

enum store_err store_put(struct store *s, struct store_batch *b) {
    if (b->failed) return no_memory(s);
    for (size_t i = 0; i < b->count; i++)
        if (b->items[i].len >= BLOB_MOST) return fail_alone(s, "a text is too long for it");
    for (int i = 0; i < TRIES; i++) {
        enum store_err err = s->kind->look(s, b);
        if (err) return err;
        if (!make_blobs(s, b)) return no_memory(s);
        err = s->kind->put(s, b);
        if (!err) s->kind->evict(s); /* if that fails, the next put tries again */
        if (err != STORE_ABSENT) return err;
    }
    return fail_alone(s, "texts vanish while they are used: its limits are too low");
}

enum store_err store_squeeze(struct store *s, struct store_batch *b) {
    struct blob_maker m = {b->zstd};
    bool ok = stays_raw(s, b), any = false;
    for (size_t i = 0; ok && i < b->count; i++) {
        struct store_item *item = &b->items[i];
        struct buf text = item->blob;
        if (text.len == 0) continue; /* it was there before */
        item->blob = (struct buf){0};
        ok = blob_make(&m, NULL, &item->hash, text.data + 1, text.len - 1, &item->blob);
        if (ok && !(item->blob.data[0] & BLOB_ZSTD)) item->blob.len = 0;
        any = any || item->blob.len;
        buf_free(&text);
    }
    b->zstd = m.zstd;
    b->quick = false; /* once */
    return ok && any ? s->kind->shrink(s, b) : STORE_OK;
}

enum store_err store_has(struct store *s, struct store_batch *b, unsigned kinds) {
    enum store_err err = b->failed ? no_memory(s) : s->kind->look(s, b);
    for (size_t i = 0; !err && i < b->count; i++)
        if (!b->items[i].there && (b->items[i].kind & kinds)) err = STORE_ABSENT;
    return err;
}
