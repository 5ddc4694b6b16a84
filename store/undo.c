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
    for (; u->slots[k]; k = (k + 1) & u->mask) {
        if (!hash_same(&u->named[u->slots[k] - 1].hash, &one.hash)) continue;
        u->named[u->slots[k] - 1] = one; /* where it lies now */
        return HANDLE_DIGITS;
    }
    u->named[u->count] = one;
    u->slots[k] = (uint32_t)++u->count;
    return HANDLE_DIGITS;
}

/* The texts with this handle, one after the other: *k is where to go on, SIZE_MAX at first. Two
 * texts may have been made to share a handle; then both are kept, and recalling it says so. */
static const struct undo_named *named_next(struct undo *u, const char *handle, size_t *k) {
    struct hash h;
    bool first = *k == SIZE_MAX;
    if (!hash_begin(handle, &h)) return NULL;
    *k = first ? named_slot(h.at, u->mask) : (*k + 1) & u->mask;
    for (; u->slots && u->slots[*k]; *k = (*k + 1) & u->mask) {
        const struct undo_named *one = &u->named[u->slots[*k] - 1];
        if (memcmp(one->hash.at, h.at, HANDLE_DIGITS / 2) == 0) return one;
    }
    if (first && !u->complete) u->unnamed = true;
    return NULL;
}

void undo_clear(struct undo *u) {
    if (u->slots) memset(u->slots, 0, (u->mask + 1) * sizeof *u->slots);
    u->count = 0;
    u->failed = u->unnamed = u->complete = false;
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
static void keep_index(struct undo *u, const char *handle, struct store_batch *b) {
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
static const char *keep_named(struct undo *u, const char *text, size_t len, struct store_batch *b) {
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
static const struct undo_named *quoted_as(struct undo *u, const char *handle, const char *was,
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

static void add_range(struct undo *u, const paucis_splice *s, const char *in, size_t gap,
                      struct buf *block, struct store_batch *b) {
    const char *was = in + s->from;
    size_t n = s->to - s->from;
    char tag = 0;
    struct hash h;
    add_number(block, gap);
    add_number(block, s->text_len);
    const char *handle = keep_named(u, s->text, s->text_len, b);
    if (u->unnamed) return; /* it is looked at once more, with all names */
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

/* ---- what the last body had ----------------------------------------------------------------- */

struct range {
    size_t from, to, there; /* as in the splice: bytes that went, number of those that came */
    size_t end;             /* of its entry */
};

struct undo_past {
    struct known_start in, out;
    struct range *ranges;
    size_t count, cap;
    struct buf entries; /* of all ranges, as they stand in the blocks */
    struct buf blocks;  /* hashes of those that are full */
};

static size_t entries_end(const struct undo_past *p, size_t count) {
    return count ? p->ranges[count - 1].end : 0;
}

static bool add_past(struct undo_past *p, const paucis_splice *s) {
    if (p->count == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        struct range *ranges = realloc(p->ranges, cap * sizeof *ranges);
        if (!ranges) return false;
        p->ranges = ranges;
        p->cap = cap;
    }
    p->ranges[p->count++] = (struct range){s->from, s->to, s->text_len, p->entries.len};
    return true;
}

/* How many ranges at the beginning this body has in common with the last one: the same places in
 * bytes that are the same, before and after. Both bodies are hashed on the way. */
static bool find_same(struct undo *u, const paucis_ctx *ctx, const char *in, size_t n,
                      const char *out, size_t outn, bool safe, size_t *same, struct hash *original,
                      struct hash *body) {
    struct undo_past *p = u->past;
    size_t same_in, same_out, at = 0, i = 0;
    paucis_splice s;
    if (!known_body(u->known, in, n, &p->in, &same_in, original) ||
        !known_body(u->known, out, outn, &p->out, &same_out, body))
        return false;
    for (; safe && i < p->count && paucis_splice_get(ctx, i, &s) == PAUCIS_OK; i++) {
        const struct range *r = &p->ranges[i];
        at += s.from - (i ? p->ranges[i - 1].to : 0) + s.text_len;
        if (s.from != r->from || s.to != r->to || s.text_len != r->there) break;
        if (s.to > same_in || at > same_out) break;
    }
    *same = i;
    return true;
}

static void forget_past(struct undo_past *p, size_t count) {
    p->count = count;
    p->entries.len = entries_end(p, count);
    p->blocks.len = count / PER_BLOCK * HASH_SIZE;
}

static void free_past(struct undo_past *p) {
    if (!p) return;
    known_start_free(&p->in);
    known_start_free(&p->out);
    free(p->ranges);
    buf_free(&p->entries);
    buf_free(&p->blocks);
    free(p);
}

void undo_free(struct undo *u) {
    free(u->named);
    free(u->slots);
    free_past(u->past);
    *u = (struct undo){0};
}

/* ---- a list --------------------------------------------------------------------------------- */

/* The block that ends with the last range. */
static void end_block(const struct undo_past *p, struct buf *blocks, struct store_batch *b) {
    size_t from = entries_end(p, (p->count - 1) / PER_BLOCK * PER_BLOCK);
    struct buf block = {0};
    buf_add(&block, p->entries.data + from, p->entries.len - from);
    size_t i = batch_take(b, KEPT_LIST, &block);
    if (!b->failed) buf_add(blocks, (const char *)b->items[i].hash.at, HASH_SIZE);
}

/* All ranges but the first `same` are looked at, or those up to one whose marker names a text that
 * is not among the named. */
static void add_ranges(struct undo *u, const paucis_ctx *ctx, const char *in, size_t same,
                       struct store_batch *b) {
    struct undo_past *p = u->past;
    paucis_splice s;
    batch_clear(b);
    forget_past(p, same);
    while (!b->failed && !u->unnamed && paucis_splice_get(ctx, p->count, &s) == PAUCIS_OK) {
        size_t at = p->count ? p->ranges[p->count - 1].to : 0;
        add_range(u, &s, in, s.from - at, &p->entries, b);
        b->failed = b->failed || p->entries.failed || !add_past(p, &s);
        if (!b->failed && p->count % PER_BLOCK == 0) end_block(p, &p->blocks, b);
    }
    b->failed = b->failed || p->blocks.failed || u->failed;
}

/* How far both bodies are worth remembering: to the end of the last range. */
static void end_past(struct undo *u, const char *in, const char *out) {
    struct undo_past *p = u->past;
    size_t to = p->count ? p->ranges[p->count - 1].to : 0, at = to;
    for (size_t i = 0; i < p->count; i++)
        at = at - (p->ranges[i].to - p->ranges[i].from) + p->ranges[i].there;
    known_start_is(u->known, &p->in, in, to);
    known_start_is(u->known, &p->out, out, at);
}

static void add_list(const struct undo_past *p, const struct hash *original, size_t n, size_t outn,
                     struct store_batch *b) {
    struct buf list = {0};
    buf_str(&list, magic);
    buf_add(&list, (const char *)original->at, HASH_SIZE);
    add_number(&list, n);
    add_number(&list, outn);
    buf_add(&list, p->blocks.data, p->blocks.len);
    if (p->count % PER_BLOCK) end_block(p, &list, b);
    size_t i = batch_take(b, KEPT_LIST, &list);
    if (!b->failed) b->list = b->items[i].hash;
}

bool undo_batch(struct undo *u, paucis_ctx *ctx, const char *in, size_t n, const char *out,
                size_t outn, bool safe, struct store_batch *b) {
    struct hash original, body = {0};
    size_t same = 0;
    if (!u->past) u->past = calloc(1, sizeof *u->past);
    bool ok = u->past && find_same(u, ctx, in, n, out, outn, safe, &same, &original, &body);
    if (ok) add_ranges(u, ctx, in, same, b);
    if (ok && u->unnamed) { /* not by this call, but perhaps by one before it */
        ok = paucis_name_again(ctx) == PAUCIS_OK;
        u->unnamed = false;
        u->complete = true;
        add_ranges(u, ctx, in, same, b);
    }
    b->has_note = true;
    b->body = b->list = body;
    if (ok && !b->failed && u->past->count) add_list(u->past, &original, n, outn, b);
    b->failed = b->failed || !ok;
    if (ok) end_past(u, in, out);
    if (!b->failed) return true;
    free_past(u->past);
    u->past = NULL;
    return false;
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
