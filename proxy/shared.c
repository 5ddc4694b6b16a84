/* The record where many machines share a store: conversations and their tips are small notes in
 * it, so that the next request may come to any replica. As in record.c, a conversation is found by
 * the longest run of its messages that was a request; one look-up is one question, so only so many
 * messages are gone back as a turn can have. A request claims its conversation by making itself its
 * newest before it is sent; whoever else continues the same point then finds a newer one, and is a
 * branch. A note is only replaced as it was read, so that of two that do so at once one looks
 * again, and a word that came from outside (`paucis off`) is never lost. */
#include "proxy.h"

#ifdef PAUCIS_STORE
#include "store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BACK = 128, TRIES = 8, LAYOUT = 1 }; /* LAYOUT: goes up when struct conv changes */

struct note { /* as it lies in the store: of this layout, or it is not known */
    uint32_t size;
    uint32_t layout;
    uint64_t tip; /* messages of its newest request; conv.tip is their chain */
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

/* Only if it is still the one that was read; version 0: if there is none. */
static enum store_err put(struct store *s, const struct conv *c, uint64_t tip, uint64_t version) {
    char name[CONV_MAX];
    struct note n;
    memset(&n, 0, sizeof n);
    n.size = sizeof n;
    n.layout = LAYOUT;
    n.tip = tip;
    n.conv = *c;
    conv_name(c->id, name);
    return store_record_put(s, name, (const char *)&n, sizeof n, version);
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

/* As far as these messages are known; *there: as a conversation's, in *note. Its newest request may
 * have no tip yet. */
static bool find(struct store *s, const struct scan *scan, size_t *n, struct note *note,
                 uint64_t *version, bool *there) {
    int64_t id = 0;
    *there = false;
    if (!find_tip(s, scan, &id, n) || (*n && !get(s, id, note, version, there))) return false;
    if (!*there) *n = 0;
    if (*there && note->tip > *n && note->tip <= scan->n &&
        memcmp(&scan->at[note->tip - 1], &note->conv.tip, sizeof note->conv.tip) == 0)
        *n = note->tip;
    return true;
}

bool shared_find(struct store *s, const struct scan *scan, bool peek, struct conv *c) {
    char name[CONV_MAX];
    tip_name(&scan->at[scan->n - 1], name);
    for (int i = 0; i < TRIES; i++) {
        struct note note;
        size_t n;
        bool there;
        uint64_t version = 0;
        *c = (struct conv){0};
        if (!find(s, scan, &n, &note, &version, &there)) return false;
        bool known = there && n >= note.tip;
        if (there) *c = note.conv;
        record_begin(c, scan, n, known);
        if (peek || (known && n == scan->n)) return true;
        if (!known) { /* by its first request, unless that has given its name away */
            uint64_t more = i || there ? (uint64_t)now_us() * 0x9e3779b97f4a7c15 : 0;
            c->id = (int64_t)((scan->at[scan->n - 1].lo ^ more) >> 12 | 1); /* exact in a page */
            version = 0;
        }
        struct conv now = *c; /* for the next: this one keeps it warm */
        if (now.last) now.last = (int64_t)time(NULL);
        enum store_err err = put(s, &now, scan->n, version);
        if (!err) return write_note(s, name, &c->id, sizeof c->id);
        if (err != STORE_CONFLICT) return false;
    }
    return false;
}

/* Switched off by hand, and no request has seen it. */
static bool is_off(const struct conv *c) { return c->mode == MODE_LEAVING && !c->stopped_at; }

/* All but the newest request and the last turn, which may be another's; and a word from outside
 * stands until a request has seen it. */
bool shared_put(struct store *s, const struct conv *c) {
    for (int i = 0; i < TRIES; i++) {
        struct note note;
        uint64_t version;
        bool there;
        if (!get(s, c->id, &note, &version, &there)) return false;
        struct conv now = *c;
        if (there) {
            const struct conv *old = &note.conv;
            now.tip = old->tip;
            now.prompt = old->prompt;
            now.cached = old->cached;
            now.written = old->written;
            now.raw = old->raw;
            now.bad_turns = old->bad_turns;
            now.last = old->last;
            memcpy(now.model, old->model, sizeof now.model);
        }
        if (there && is_off(&note.conv) && c->mode != MODE_LEAVING) {
            now.mode = MODE_LEAVING;
            now.stopped_at = 0;
            memcpy(now.stop, note.conv.stop, sizeof now.stop);
        }
        enum store_err err = put(s, &now, there ? note.tip : 0, version);
        if (err != STORE_CONFLICT) return !err;
    }
    return false;
}

/* The turn is over, and the next may have begun elsewhere: only what the answer told changes. */
bool shared_turn(struct store *s, const struct conv *c) {
    for (int i = 0; i < TRIES; i++) {
        struct note note;
        uint64_t version;
        bool there;
        if (!get(s, c->id, &note, &version, &there) || !there) return false;
        struct conv *to = &note.conv;
        if (c->last < to->last) return true; /* it told nothing, or a later one has told more */
        to->prompt = c->prompt;
        to->cached = c->cached;
        to->written = c->written;
        to->raw = c->raw;
        to->bad_turns = c->bad_turns;
        to->last = c->last;
        memcpy(to->model, c->model, sizeof to->model);
        enum store_err err = put(s, to, note.tip, version);
        if (err != STORE_CONFLICT) return !err;
    }
    return false;
}

bool shared_off(struct store *s, int64_t id, const char *why) {
    for (int i = 0; i < TRIES; i++) {
        struct note note;
        uint64_t version;
        bool there;
        if (!get(s, id, &note, &version, &there) || !there || note.conv.mode != MODE_RUNS)
            return false;
        note.conv.mode = MODE_LEAVING;
        note.conv.stopped_at = 0;
        snprintf(note.conv.stop, sizeof note.conv.stop, "%s", why);
        enum store_err err = put(s, &note.conv, note.tip, version);
        if (err != STORE_CONFLICT) return !err;
    }
    return false;
}
#endif
