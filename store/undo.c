/* A shortened body back to the original, exactly.
 *
 * The library says which ranges of the body it replaced (paucis_splice). A list holds for each:
 *
 *   gap       bytes that stayed since the last range
 *   there     bytes that stand there now
 *   what stood there before:
 *     'i' n bytes        short ones, in the list itself
 *     'p' hash           a piece of the body, as it was
 *     'r' 'a' hash       a text that a marker names, quoted as JSON in one of two ways: nearly all
 *                        of what goes, and then it need not be kept a second time as a piece
 *
 * Numbers are varints. As long as no cut is made, a later request of the same conversation has the
 * same ranges and a few more. So a list is broken into blocks of PER_BLOCK ranges, which are texts
 * of the store themselves and are shared; what is new for each request is a line of hashes:
 *
 *   "pul1", hash of the original, its length, length of the shortened body, hashes of the blocks
 *
 * A body that nothing was taken from has a note that leads to itself. */
#include "kind.h"
#include "known.h"
#include "quote.h"

#include <stdlib.h>

enum { PER_BLOCK = 16, INLINE_MOST = 48, HEAD = 4 + HASH_SIZE };
static const char magic[] = "pul1";
/* As the library writes them: a text's name, and that of an index of texts. */
static const char *const note_starts[] = {"[full text: ", "[left out so far: "};

/* ---- texts that markers name ---------------------------------------------------------------- */

static size_t named_slot(const unsigned char *hash, size_t mask) {
    size_t k;
    memcpy(&k, hash, sizeof k);
    return k & mask;
}

static bool named_room(struct undo *u) {
    if (u->count == u->cap) {
        size_t cap = u->cap ? 2 * u->cap : 64;
        struct undo_named *named = realloc(u->named, cap * sizeof *named);
        if (!named || cap > UINT32_MAX / 2) return false;
        u->named = named;
        u->cap = cap;
    }
    if (u->slots && 2 * u->count <= u->mask) return true;
    size_t slots = u->slots ? 2 * (u->mask + 1) : 128;
    uint32_t *wide = calloc(slots, sizeof *wide);
    if (!wide) return false;
    free(u->slots);
    u->slots = wide;
    u->mask = slots - 1;
    for (size_t i = 0; i < u->count; i++) {
        size_t k = named_slot(u->named[i].hash.at, u->mask);
        while (u->slots[k]) k = (k + 1) & u->mask;
        u->slots[k] = (uint32_t)i + 1;
    }
    return true;
}

size_t undo_handle(void *ud, const char *text, size_t n, char *handle) {
    struct undo *u = ud;
    struct undo_named one = {.at = text, .len = n};
    char hex[HASH_DIGITS + 1];
    if (u->failed || !named_room(u)) {
        u->failed = true; /* what has no handle cannot be promised: the batch fails */
        return 0;
    }
    known_hash(u->known, text, n, &one.hash);
    hash_hex(&one.hash, hex);
    memcpy(handle, hex, HANDLE_DIGITS);
    size_t k = named_slot(one.hash.at, u->mask);
    for (; u->slots[k]; k = (k + 1) & u->mask)
        if (hash_same(&u->named[u->slots[k] - 1].hash, &one.hash)) return HANDLE_DIGITS;
    u->named[u->count] = one;
    u->slots[k] = (uint32_t)++u->count;
    return HANDLE_DIGITS;
}

/* The texts with this handle, one after the other: *k is where to go on, SIZE_MAX at first. Two
 * texts may have been made to share a handle; then both are kept, and recalling it says so. */
static const struct undo_named *named_next(const struct undo *u, const char *handle, size_t *k) {
    char hex[HASH_DIGITS + 1];
    struct hash h;
    memset(hex, '0', HASH_DIGITS);
    memcpy(hex, handle, HANDLE_DIGITS);
    if (!u->slots || !hash_read(hex, &h)) return NULL;
    *k = *k == SIZE_MAX ? named_slot(h.at, u->mask) : (*k + 1) & u->mask;
    for (; u->slots[*k]; *k = (*k + 1) & u->mask) {
        const struct undo_named *one = &u->named[u->slots[*k] - 1];
        if (memcmp(one->hash.at, h.at, HANDLE_DIGITS / 2) == 0) return one;
    }
    return NULL;
}

void undo_clear(struct undo *u) {
    if (u->slots) memset(u->slots, 0, (u->mask + 1) * sizeof *u->slots);
    u->count = 0;
    u->failed = false;
}

void undo_free(struct undo *u) {
    free(u->named);
    free(u->slots);
    *u = (struct undo){0};
}

/* ---- making a list -------------------------------------------------------------------------- */

static void add_number(struct buf *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7) buf_add(b, &(char){(char)(v | 0x80)}, 1);
    buf_add(b, &(char){(char)v}, 1);
}

static void add_tagged(struct buf *b, char tag, const struct hash *h) {
    buf_add(b, &tag, 1);
    buf_add(b, (const char *)h->at, HASH_SIZE);
}

/* Keeps an index, every text that a line of it names, and the index before it, unless they are in
 * the batch already. */
static void keep_index(const struct undo *u, const char *handle, struct store_batch *b) {
    static const char before[] = " all before that";
    const struct undo_named *one;
    for (size_t k = SIZE_MAX; handle && (one = named_next(u, handle, &k));) {
        if (batch_has(b, &one->hash)) return;
        batch_add_hashed(b, KEPT_TEXT, one->at, one->len, &one->hash);
        const char *at = one->at, *end = at + one->len, *line;
        handle = NULL;
        for (; (line = memchr(at, '\n', (size_t)(end - at))); at = line + 1) {
            const struct undo_named *named;
            if ((size_t)(line - at) < HANDLE_DIGITS) continue;
            if ((size_t)(line - at) == HANDLE_DIGITS + sizeof before - 1 &&
                memcmp(at + HANDLE_DIGITS, before, sizeof before - 1) == 0)
                handle = at;
            else
                for (size_t i = SIZE_MAX; (named = named_next(u, at, &i));)
                    batch_add_hashed(b, KEPT_TEXT, named->at, named->len, &named->hash);
        }
        k = SIZE_MAX;
    }
}

/* Keeps every text that a marker in `text` names; the last of these handles, or NULL. */
static const char *keep_named(const struct undo *u, const char *text, size_t len,
                              struct store_batch *b) {
    const size_t full = strlen(note_starts[0]), index = strlen(note_starts[1]);
    const char *last = NULL, *p;
    while (len >= full + HANDLE_DIGITS && (p = memchr(text, '[', len - full - HANDLE_DIGITS + 1))) {
        size_t left = len - (size_t)(p - text);
        len = left - 1;
        text = p + 1;
        if (left >= index + HANDLE_DIGITS && memcmp(p, note_starts[1], index) == 0)
            keep_index(u, p + index, b);
        if (memcmp(p, note_starts[0], full) != 0) continue;
        const struct undo_named *one;
        for (size_t k = SIZE_MAX; (one = named_next(u, p + full, &k)); last = p + full)
            batch_add_hashed(b, KEPT_TEXT, one->at, one->len, &one->hash);
    }
    return last;
}

/* Of the texts with this handle the one that `was` is when quoted, and how. */
static const struct undo_named *quoted_as(const struct undo *u, const char *handle, const char *was,
                                          size_t n, char *style) {
    static const char styles[] = {QUOTE_RAW, QUOTE_ASCII};
    const struct undo_named *one;
    for (size_t k = SIZE_MAX; handle && (one = named_next(u, handle, &k));)
        for (size_t i = 0; one->len <= n && i < sizeof styles; i++) {
            *style = styles[i];
            if (quote_is(one->at, one->len, (enum quote_style)styles[i], was, n)) return one;
        }
    return NULL;
}

/* How a range is kept, if that was found out before; a text must be kept for this body too. */
static bool seen_before(const struct undo *u, const char *was, size_t n, struct store_batch *b,
                        char *tag, struct hash *h) {
    if (!known_range(u->known, was, n, tag, h)) return false;
    if (*tag == 'p') batch_add_hashed(b, KEPT_PIECE, was, n, h);
    return *tag == 'p' || batch_has(b, h);
}

static void add_range(const struct undo *u, const paucis_splice *s, const char *in, size_t gap,
                      struct buf *block, struct store_batch *b) {
    const char *was = in + s->from;
    size_t n = s->to - s->from;
    char tag = 0;
    struct hash h;
    add_number(block, gap);
    add_number(block, s->text_len);
    const char *handle = keep_named(u, s->text, s->text_len, b);
    if (n <= INLINE_MOST) {
        buf_str(block, "i");
        add_number(block, n);
        buf_add(block, was, n);
        return;
    }
    if (!seen_before(u, was, n, b, &tag, &h)) {
        const struct undo_named *one = quoted_as(u, handle, was, n, &tag);
        if (one) {
            h = one->hash;
        } else {
            tag = 'p';
            hash_of(was, n, &h);
            batch_add_hashed(b, KEPT_PIECE, was, n, &h);
        }
        known_note_range(u->known, was, n, tag, &h);
    }
    add_tagged(block, tag, &h);
}

static void end_block(struct buf *block, struct buf *blocks, struct store_batch *b) {
    size_t i = batch_take(b, KEPT_LIST, block);
    if (!b->failed) buf_add(blocks, (const char *)b->items[i].hash.at, HASH_SIZE);
}

bool undo_batch(struct undo *u, const paucis_ctx *ctx, const char *in, size_t n, const char *out,
                size_t outn, struct store_batch *b) {
    struct buf block = {0}, blocks = {0}, list = {0};
    struct hash original;
    paucis_splice s;
    size_t count = 0, at = 0;
    b->failed = b->failed || u->failed;
    b->has_note = true;
    known_body(u->known, out, outn, &b->body);
    for (; paucis_splice_get(ctx, count, &s) == PAUCIS_OK; count++) {
        add_range(u, &s, in, s.from - at, &block, b);
        at = s.to;
        if (count % PER_BLOCK == PER_BLOCK - 1) end_block(&block, &blocks, b);
    }
    if (block.len || block.failed) end_block(&block, &blocks, b);
    b->list = b->body;
    if (count) {
        known_body(u->known, in, n, &original);
        buf_str(&list, magic);
        buf_add(&list, (const char *)original.at, HASH_SIZE);
        add_number(&list, n);
        add_number(&list, outn);
        buf_add(&list, blocks.data, blocks.len);
        size_t i = batch_take(b, KEPT_LIST, &list);
        if (!b->failed) b->list = b->items[i].hash;
    }
    b->failed = b->failed || blocks.failed;
    buf_free(&blocks);
    return !b->failed;
}

/* ---- using a list --------------------------------------------------------------------------- */

struct reader {
    const unsigned char *p, *end;
    bool bad;
};

static struct reader reader_of(const char *at, size_t len) {
    const unsigned char *p = (const unsigned char *)(len ? at : "");
    return (struct reader){p, p + len, false};
}

static uint64_t read_number(struct reader *r) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        unsigned char c = *r->p++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) return v;
    }
    r->bad = true;
    return 0;
}

static const unsigned char *read_bytes(struct reader *r, uint64_t n) {
    const unsigned char *p = r->p;
    if (r->bad || n > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return NULL;
    }
    r->p += n;
    return p;
}

struct undoing {
    struct store *store;
    struct reader body; /* the shortened one */
    struct buf scratch, *out;
    struct hash *which;
};

/* What stood in a range. */
static enum store_err put_back(struct undoing *u, struct reader *r) {
    const unsigned char *tag = read_bytes(r, 1), *p;
    if (!tag) return STORE_DAMAGED;
    if (*tag == 'i') {
        uint64_t n = read_number(r);
        if (!(p = read_bytes(r, n))) return STORE_DAMAGED;
        buf_add(u->out, (const char *)p, (size_t)n);
        return STORE_OK;
    }
    if (!(p = read_bytes(r, HASH_SIZE))) return STORE_DAMAGED;
    struct hash h;
    memcpy(h.at, p, HASH_SIZE);
    struct buf *to = *tag == 'p' ? u->out : &u->scratch;
    u->scratch.len = 0;
    enum store_err err = store_get(u->store, &h, to);
    if (err) *u->which = h;
    if (!err && to == &u->scratch) quote(u->out, to->data, to->len, (enum quote_style) * tag);
    return err;
}

static enum store_err undo_block(struct undoing *u, const struct buf *block) {
    struct reader r = reader_of(block->data, block->len);
    enum store_err err = STORE_OK;
    while (!err && r.p < r.end) {
        uint64_t gap = read_number(&r), there = read_number(&r);
        const unsigned char *stayed = read_bytes(&u->body, gap);
        if (!stayed || !read_bytes(&u->body, there) || r.bad) return STORE_DAMAGED;
        buf_add(u->out, (const char *)stayed, (size_t)gap);
        err = put_back(u, &r);
    }
    return err;
}

static enum store_err undo_list(struct undoing *u, const struct buf *list) {
    struct reader r = reader_of(list->data, list->len);
    const unsigned char *head = read_bytes(&r, HEAD), *p;
    uint64_t size = read_number(&r), shortened = read_number(&r);
    size_t had = u->out->len;
    if (r.bad || memcmp(head, magic, 4) != 0 || shortened != (uint64_t)(u->body.end - u->body.p))
        return STORE_DAMAGED;
    while (r.p < r.end) {
        struct buf block = {0};
        struct hash h;
        if (!(p = read_bytes(&r, HASH_SIZE))) return STORE_DAMAGED;
        memcpy(h.at, p, HASH_SIZE);
        *u->which = h;
        enum store_err err = store_get(u->store, &h, &block);
        if (!err) err = undo_block(u, &block);
        buf_free(&block);
        if (err) return err;
    }
    buf_add(u->out, (const char *)u->body.p, (size_t)(u->body.end - u->body.p));
    if (u->out->failed) return STORE_FAILED;
    struct hash h;
    hash_of(u->out->data + had, u->out->len - had, &h);
    return u->out->len - had == size && memcmp(h.at, head + 4, HASH_SIZE) == 0 ? STORE_OK
                                                                               : STORE_DAMAGED;
}

enum store_err undo_restore(struct store *s, const char *body, size_t n, struct buf *out,
                            struct hash *which) {
    struct buf note = {0}, list = {0};
    char key[NOTE_KEY];
    size_t had = out->len;
    hash_of(body, n, which);
    note_key(which, key);
    enum store_err err = s->kind->note_get(s, key, &note, NULL);
    if (!err && note.len != HASH_SIZE) err = STORE_DAMAGED;
    if (!err && memcmp(note.data, which->at, HASH_SIZE) == 0) {
        buf_add(out, body, n); /* nothing was taken from it */
    } else if (!err) {
        struct undoing u = {.store = s, .body = reader_of(body, n), .out = out, .which = which};
        memcpy(which->at, note.data, HASH_SIZE);
        err = store_get(s, which, &list);
        if (!err) err = undo_list(&u, &list);
        buf_free(&u.scratch);
    }
    if (!err && out->failed) err = STORE_FAILED;
    if (err) out->len = had;
    buf_free(&note);
    buf_free(&list);
    return err;
}
