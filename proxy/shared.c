/* The record where many machines share a store: conversations and their tips are small notes in
 * it, so that the next request may come to any replica. As in record.c, a conversation is found by
 * the longest run of its messages that was a request; one look-up is one question, so only so many
 * messages are gone back as a turn can have. What a request changes in a record is its
 * conversation's own business, and requests of one follow each other: the last writer wins. */
#include "proxy.h"

#ifdef PAUCIS_STORE
#include "store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BACK = 128, TRIES = 3, LAYOUT = 1 }; /* LAYOUT: goes up when struct conv changes */

struct note { /* as it lies in the store: of this layout, or it is not known */
    uint32_t size;
    uint32_t layout;
    uint64_t tip; /* messages of its newest request */
    struct conv conv;
};

static bool read_note(struct store *s, const char *name, void *to, size_t size, uint64_t *version,
                      bool *there) {
    struct buf b = {0};
    enum store_err err = store_record_get(s, name, &b, version);
    *there = !err && b.len == size;
    if (*there) memcpy(to, b.data, size);
    buf_free(&b);
    return !err || err == STORE_ABSENT;
}

/* Whatever stands there is replaced. */
static bool write_note(struct store *s, const char *name, const void *at, size_t size) {
    for (int i = 0; i < TRIES; i++) {
        struct buf b = {0};
        uint64_t version = 0;
        enum store_err err = store_record_get(s, name, &b, &version);
        buf_free(&b);
        if (err && err != STORE_ABSENT) return false;
        if (!store_record_put(s, name, at, size, version)) return true;
    }
    return false;
}

static void tip_name(const struct chain *c, char name[CONV_MAX]) {
    snprintf(name, CONV_MAX, "tip-%016" PRIx64 "%016" PRIx64, c->hi, c->lo);
}

static void conv_name(int64_t id, char name[CONV_MAX]) {
    snprintf(name, CONV_MAX, "conv-%016" PRIx64, (uint64_t)id);
}

#define END(text) ((text)[sizeof(text) - 1] = '\0')

static bool get(struct store *s, int64_t id, struct note *n, uint64_t *version, bool *there) {
    char name[CONV_MAX];
    conv_name(id, name);
    if (!read_note(s, name, n, sizeof *n, version, there)) return false;
    *there = *there && n->size == sizeof *n && n->layout == LAYOUT && n->conv.id == id &&
             n->conv.mode <= MODE_LEAVING;
    if (!*there) return true;
    struct conv *c = &n->conv; /* whatever lies there, texts end */
    END(c->still), END(c->cold), END(c->begun), END(c->name), END(c->stop), END(c->model);
    return true;
}

static bool put(struct store *s, const struct conv *c, uint64_t tip) {
    char name[CONV_MAX];
    struct note n;
    memset(&n, 0, sizeof n);
    n = (struct note){.size = sizeof n, .layout = LAYOUT, .tip = tip, .conv = *c};
    conv_name(c->id, name);
    return write_note(s, name, &n, sizeof n);
}

static bool find_tip(struct store *s, const struct scan *scan, int64_t *id, size_t *n) {
    char name[CONV_MAX];
    size_t last = scan->n > MOST_BACK ? scan->n - MOST_BACK : 0;
    for (*n = scan->n; *n > last; --*n) {
        uint64_t version;
        bool there;
        tip_name(&scan->at[*n - 1], name);
        if (!read_note(s, name, id, sizeof *id, &version, &there)) return false;
        if (there) return true;
    }
    *n = 0;
    return true;
}

bool shared_find(struct store *s, const struct scan *scan, bool peek, struct conv *c) {
    struct note note;
    char name[CONV_MAX];
    int64_t id = 0;
    size_t n;
    bool there = false;
    uint64_t version;
    *c = (struct conv){0};
    if (!find_tip(s, scan, &id, &n) || (n && !get(s, id, &note, &version, &there))) return false;
    if (!there) n = 0;
    bool known = n > 0 && n >= note.tip;
    if (n > 0) *c = note.conv;
    record_begin(c, scan, n, known);
    if (peek || (known && n == scan->n)) return true;
    if (!known) c->id = (int64_t)(scan->at[scan->n - 1].lo >> 1 | 1);
    tip_name(&scan->at[scan->n - 1], name);
    return put(s, c, scan->n) && write_note(s, name, &c->id, sizeof c->id);
}

bool shared_put(struct store *s, const struct conv *c) {
    struct note note;
    uint64_t version;
    bool there;
    if (!get(s, c->id, &note, &version, &there)) return false;
    return put(s, c, there ? note.tip : 0);
}

/* The turn is over, and the next may have begun elsewhere: only what the answer told changes. */
bool shared_turn(struct store *s, const struct conv *c) {
    char name[CONV_MAX];
    conv_name(c->id, name);
    for (int i = 0; i < TRIES; i++) {
        struct note note;
        uint64_t version;
        bool there;
        if (!get(s, c->id, &note, &version, &there) || !there) return false;
        struct conv *to = &note.conv;
        to->prompt = c->prompt;
        to->cached = c->cached;
        to->written = c->written;
        to->raw = c->raw;
        to->bad_turns = c->bad_turns;
        to->last = c->last;
        memcpy(to->model, c->model, sizeof to->model);
        enum store_err err = store_record_put(s, name, (const char *)&note, sizeof note, version);
        if (err != STORE_CONFLICT) return !err;
    }
    return false;
}
#endif
