/* redis://, one server or a cluster (redis_link.c), shared by many machines. Every command is on
 * one key and may be run twice, so it does not matter which node has what, or that one dies.
 *
 *   paucis:t:HASH    a text: k kind, s size, n stored, u last use, r recalls, d data
 *   paucis:e:HASH    its size, which stays when the text has expired: it was here once
 *   paucis:h:HANDLE  the hashes that begin like this
 *   paucis:g:HASH    conversations that rely on it; paucis:c:CONV the other way round
 *   paucis:n:KEY     a note: v version, d value; paucis:m:CONV the notes of a conversation
 *   paucis:v:all     conversations by last use
 *
 * Age is the server's business (every use sets the time to live anew), and so is size: the server
 * is to have maxmemory and maxmemory-policy volatile-lru; all texts have a time to live. */
#ifdef PAUCIS_REDIS
#include "kind.h"
#include "redis_link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PER_ITEM = 4, PER_SADD = 1000, PER_SCAN = 1000 };

static const char keep_script[] = /* kind size stored used ttl data; 1 new, 0 there, -1 gone */
    "local k=redis.call('HGET',KEYS[1],'k') if k then "
    "redis.call('HSET',KEYS[1],'k',bit.bor(k,ARGV[1]),'u',ARGV[4]) "
    "redis.call('EXPIRE',KEYS[1],ARGV[5]) return 0 end "
    "if ARGV[6]=='' then return -1 end "
    "redis.call('HSET',KEYS[1],'k',ARGV[1],'s',ARGV[2],'n',ARGV[3],'u',ARGV[4],'r',0,'d',ARGV[6]) "
    "redis.call('EXPIRE',KEYS[1],ARGV[5]) return 1";

static const char recall_script[] = /* used ttl */
    "if redis.call('EXISTS',KEYS[1])==0 then return 0 end "
    "redis.call('HINCRBY',KEYS[1],'r',1) redis.call('HSET',KEYS[1],'u',ARGV[1]) "
    "redis.call('EXPIRE',KEYS[1],ARGV[2]) return 1";

/* The value only if the version is still this one; -1 = whatever it is. */
static const char note_script[] = /* version value ttl */
    "local v=tonumber(redis.call('HGET',KEYS[1],'v') or '0') "
    "if ARGV[1]~='-1' and v~=tonumber(ARGV[1]) then return 0 end "
    "redis.call('HSET',KEYS[1],'v',v+1,'d',ARGV[2]) "
    "if ARGV[3]~='0' then redis.call('EXPIRE',KEYS[1],ARGV[3]) end return 1";

/* A body's list: another one that stands there stays, and 0 says so, unless it is the body itself
 * (ARGV[3]) or is said to be gone (ARGV[4]). */
static const char body_script[] = /* list ttl body gone */
    "local d=redis.call('HGET',KEYS[1],'d') redis.call('EXPIRE',KEYS[1],ARGV[2]) "
    "if d and d~=ARGV[1] and d~=ARGV[3] and d~=ARGV[4] then "
    "if ARGV[1]==ARGV[3] then return 1 end return 0 end "
    "redis.call('HSET',KEYS[1],'v',1,'d',ARGV[1]) redis.call('EXPIRE',KEYS[1],ARGV[2]) return 1";

/* Takes a conversation off a text's list; 1 if that was the last. */
static const char leave_script[] =
    "redis.call('SREM',KEYS[1],ARGV[1]) return redis.call('EXISTS',KEYS[1])==0 and 1 or 0";

/* ---- small tools; the lock is held --------------------------------------------------------- */

static struct link *redis(struct store *s) { return s->state; }

static bool run(struct store *s, struct call *calls, size_t n) {
    return link_run(redis(s), calls, n, s->why, sizeof s->why);
}

static long long ttl(const struct store *s) { return (long long)s->days * DAY_S; }

static void script(struct call *c, const char *text, const char *kind, const char *name) {
    call_begin(c, "EVAL");
    call_text(c, text);
    call_text(c, "1");
    call_key(c, kind, name);
}

static struct call *calls_get(struct store *s, size_t n) {
    struct call *c = calloc(n ? n : 1, sizeof *c);
    if (!c) store_fail(s, "out of memory");
    return c;
}

static void calls_free(struct call *calls, size_t n) {
    call_done(calls, n);
    free(calls);
}

static uint64_t number_of(const redisReply *r) {
    if (r->type == REDIS_REPLY_INTEGER) return (uint64_t)r->integer;
    return r->type == REDIS_REPLY_STRING ? strtoull(r->str, NULL, 10) : 0;
}

static bool has_text(const redisReply *r) { return r->type == REDIS_REPLY_STRING; }

/* ---- open ---------------------------------------------------------------------------------- */

static bool redis_open(struct store *s, const char *rest, const struct store_opts *o) {
    struct link *l;
    (void)o;
    if (!link_open(&l, rest, s->why, sizeof s->why)) return false;
    s->state = l;
    return true;
}

static void redis_close(struct store *s) { link_close(redis(s)); }

/* ---- put ----------------------------------------------------------------------------------- */

static enum store_err look(struct store *s, struct store_batch *b, struct call *calls) {
    char hex[HASH_DIGITS + 1];
    int64_t now = s->now();
    for (size_t i = 0; i < b->count; i++) {
        hash_hex(&b->items[i].hash, hex);
        call_begin(&calls[i], "HGET");
        call_key(&calls[i], "t", hex);
        call_text(&calls[i], "u");
    }
    if (!run(s, calls, b->count)) return STORE_FAILED;
    for (size_t i = 0; i < b->count; i++) {
        b->items[i].there = has_text(calls[i].reply);
        b->items[i].fresh = b->items[i].there && (int64_t)number_of(calls[i].reply) > now - FRESH_S;
    }
    return STORE_OK;
}

static enum store_err redis_look(struct store *s, struct store_batch *b) {
    pthread_mutex_lock(&s->lock);
    struct call *calls = calls_get(s, b->count);
    enum store_err err = calls ? look(s, b, calls) : STORE_FAILED;
    if (calls) calls_free(calls, b->count);
    pthread_mutex_unlock(&s->lock);
    return err;
}

/* What a text needs: itself, a trace that outlives it, its name for handles, and whose it is. */
static void item_calls(const struct store *s, const struct store_batch *b, size_t i,
                       const char *hex, struct call c[PER_ITEM]) {
    const struct store_item *item = &b->items[i];
    char handle[HANDLE_DIGITS + 1];
    snprintf(handle, sizeof handle, "%.*s", HANDLE_DIGITS, hex);
    script(&c[0], keep_script, "t", hex);
    call_number(&c[0], item->kind);
    call_number(&c[0], (long long)item->len);
    call_number(&c[0], (long long)item->blob.len);
    call_number(&c[0], s->now());
    call_number(&c[0], ttl(s));
    call_word(&c[0], item->there ? "" : item->blob.data, item->there ? 0 : item->blob.len);
    call_begin(&c[1], "SET");
    call_key(&c[1], "e", hex);
    call_number(&c[1], (long long)item->len);
    call_text(&c[1], "EX");
    call_number(&c[1], ttl(s) * TOMBS);
    call_begin(&c[2], "SADD");
    call_key(&c[2], "h", handle);
    call_word(&c[2], hex, HASH_DIGITS);
    call_begin(&c[3], "SADD");
    call_key(&c[3], "g", hex);
    call_text(&c[3], b->conv);
}

/* Sets grow by members and live as long as traces do. */
static void expire(const struct store *s, struct call *c, const char *kind, const char *name) {
    call_begin(c, "EXPIRE");
    call_key(c, kind, name);
    call_number(c, ttl(s) * TOMBS);
}

static enum store_err put_items(struct store *s, const struct store_batch *b,
                                char (*hex)[HASH_DIGITS + 1]) {
    size_t n = b->count * (PER_ITEM + 2);
    struct call *calls = calls_get(s, n), *c = calls;
    char handle[HANDLE_DIGITS + 1];
    if (!calls) return STORE_FAILED;
    for (size_t i = 0; i < b->count; i++) {
        if (b->items[i].there && b->items[i].fresh) continue; /* all of it was done then */
        item_calls(s, b, i, hex[i], c);
        snprintf(handle, sizeof handle, "%.*s", HANDLE_DIGITS, hex[i]);
        expire(s, &c[PER_ITEM], "h", handle);
        expire(s, &c[PER_ITEM + 1], "g", hex[i]);
        c += PER_ITEM + 2;
    }
    enum store_err err = run(s, calls, (size_t)(c - calls)) ? STORE_OK : STORE_FAILED;
    for (struct call *k = calls; !err && k < c; k += PER_ITEM + 2)
        if (k->reply->type == REDIS_REPLY_INTEGER && k->reply->integer < 0) err = STORE_ABSENT;
    calls_free(calls, n);
    return err;
}

/* What was fresh must be there still, and be this conversation's too. */
static enum store_err put_fresh(struct store *s, const struct store_batch *b,
                                char (*hex)[HASH_DIGITS + 1]) {
    struct call *calls = calls_get(s, 2 * b->count), *c = calls;
    if (!calls) return STORE_FAILED;
    for (size_t i = 0; i < b->count; i++) {
        if (!b->items[i].there || !b->items[i].fresh) continue;
        call_begin(c, "EXISTS");
        call_key(c++, "t", hex[i]);
        call_begin(c, "SADD");
        call_key(c, "g", hex[i]);
        call_text(c++, b->conv);
    }
    enum store_err err = run(s, calls, (size_t)(c - calls)) ? STORE_OK : STORE_FAILED;
    for (struct call *k = calls; !err && k < c; k += 2)
        if (number_of(k->reply) == 0) err = STORE_ABSENT;
    calls_free(calls, 2 * b->count);
    return err;
}

/* The conversation's side. */
static enum store_err put_conv(struct store *s, const struct store_batch *b,
                               char (*hex)[HASH_DIGITS + 1]) {
    size_t steps = (b->count + PER_SADD - 1) / PER_SADD, n = steps + 2;
    const char **words = malloc((b->count + 1) * sizeof *words);
    struct call *calls = calls_get(s, n);
    for (size_t i = 0; words && i < b->count; i++) words[i] = hex[i];
    for (size_t i = 0; words && calls && i < steps; i++) {
        call_begin(&calls[i], "SADD");
        call_key(&calls[i], "c", b->conv);
        calls[i].many = words + i * PER_SADD;
        calls[i].many_len = HASH_DIGITS;
        calls[i].nmany = i + 1 < steps ? PER_SADD : b->count - i * PER_SADD;
    }
    bool ok = words && calls;
    if (ok) {
        expire(s, &calls[steps], "c", b->conv);
        call_begin(&calls[steps + 1], "ZADD");
        call_key(&calls[steps + 1], "v", "all");
        call_number(&calls[steps + 1], s->now());
        call_text(&calls[steps + 1], b->conv);
        ok = run(s, calls, n);
    }
    if (calls) calls_free(calls, n);
    free((void *)words);
    return ok ? STORE_OK : STORE_FAILED;
}

static enum store_err list_of(struct store *s, const char *key, struct hash *list) {
    struct call c;
    call_begin(&c, "HGET");
    call_key(&c, "n", key);
    call_text(&c, "d");
    enum store_err err = run(s, &c, 1) ? STORE_OK : STORE_FAILED;
    bool there = !err && has_text(c.reply) && c.reply->len == HASH_SIZE;
    if (there) memcpy(list->at, c.reply->str, HASH_SIZE);
    call_done(&c, 1);
    return err ? err : there ? STORE_OK : STORE_ABSENT;
}

static bool is_gone(struct store *s, const struct hash *h) {
    char hex[HASH_DIGITS + 1];
    struct call c;
    hash_hex(h, hex);
    call_begin(&c, "EXISTS");
    call_key(&c, "t", hex);
    bool gone = run(s, &c, 1) && number_of(c.reply) == 0;
    call_done(&c, 1);
    return gone;
}

static enum store_err put_note(struct store *s, const struct store_batch *b) {
    char key[NOTE_KEY];
    struct hash old = b->body;
    struct call c[3];
    note_key(&b->body, key);
    enum store_err err = list_of(s, key, &old);
    if (err == STORE_FAILED) return err;
    bool gone = !err && is_gone(s, &old);
    script(&c[0], body_script, "n", key);
    call_word(&c[0], (const char *)b->list.at, HASH_SIZE);
    call_number(&c[0], ttl(s) * TOMBS);
    call_word(&c[0], (const char *)b->body.at, HASH_SIZE);
    call_word(&c[0], (const char *)old.at, gone ? HASH_SIZE : 0);
    call_begin(&c[1], "SADD");
    call_key(&c[1], "m", b->conv);
    call_text(&c[1], key);
    expire(s, &c[2], "m", b->conv);
    err = run(s, c, 3) ? STORE_OK : STORE_FAILED;
    if (!err && number_of(c[0].reply) == 0) err = STORE_CONFLICT;
    call_done(c, 3);
    return err;
}

static enum store_err put(struct store *s, const struct store_batch *b,
                          char (*hex)[HASH_DIGITS + 1]) {
    for (size_t i = 0; i < b->count; i++) hash_hex(&b->items[i].hash, hex[i]);
    enum store_err err = put_items(s, b, hex);
    if (!err) err = put_fresh(s, b, hex);
    if (!err && (b->count || b->has_note)) err = put_conv(s, b, hex);
    if (!err && b->has_note) err = put_note(s, b); /* last: it leads to all the others */
    if (!err && !link_wait(redis(s), s->why, sizeof s->why)) err = STORE_FAILED;
    return err;
}

static enum store_err redis_put(struct store *s, const struct store_batch *b) {
    pthread_mutex_lock(&s->lock);
    char(*hex)[HASH_DIGITS + 1] = malloc((b->count + 1) * sizeof *hex);
    enum store_err err = hex ? put(s, b, hex) : store_fail(s, "out of memory");
    /* A node that died between taking a text and handing it on: all may be put once more. */
    if (hex && err == STORE_FAILED) err = put(s, b, hex);
    free(hex);
    pthread_mutex_unlock(&s->lock);
    return err;
}

/* ---- get ----------------------------------------------------------------------------------- */

static enum store_err redis_get(struct store *s, const struct hash *h, struct buf *blob) {
    char hex[HASH_DIGITS + 1];
    struct call c[2];
    hash_hex(h, hex);
    call_begin(&c[0], "HGET");
    call_key(&c[0], "t", hex);
    call_text(&c[0], "d");
    call_begin(&c[1], "EXISTS");
    call_key(&c[1], "e", hex);
    pthread_mutex_lock(&s->lock);
    enum store_err err = run(s, c, 2) ? STORE_OK : STORE_FAILED;
    pthread_mutex_unlock(&s->lock);
    if (!err && has_text(c[0].reply))
        buf_add(blob, c[0].reply->str, c[0].reply->len);
    else if (!err)
        err = number_of(c[1].reply) ? STORE_EVICTED : STORE_ABSENT;
    call_done(c, 2);
    return err;
}

/* Does a conversation's name fit what was asked for, "NAME" or "NAME*"? */
static bool fits(const char *conv, const char *asked) {
    size_t n = strlen(asked);
    bool begins = n && asked[n - 1] == '*';
    return begins ? strncmp(conv, asked, n - 1) == 0 : strcmp(conv, asked) == 0;
}

/* Is it a text, not only a piece, and was this conversation given it? Of one that has expired the
 * kind is not known any more. */
static enum store_err is_asked(struct store *s, const char *hex, const char *conv, bool *asked) {
    struct call c[2];
    call_begin(&c[0], "HGET");
    call_key(&c[0], "t", hex);
    call_text(&c[0], "k");
    call_begin(&c[1], "SMEMBERS");
    call_key(&c[1], "g", hex);
    bool ok = run(s, c, 2), given = !conv;
    for (size_t i = 0; ok && !given && i < c[1].reply->elements; i++)
        given = fits(c[1].reply->element[i]->str, conv);
    *asked = ok && given && (!has_text(c[0].reply) || (number_of(c[0].reply) & KEPT_TEXT));
    call_done(c, 2);
    return ok ? STORE_OK : STORE_FAILED;
}

static enum store_err redis_find(struct store *s, const char *digits, const char *conv,
                                 struct hash *out) {
    char handle[HANDLE_DIGITS + 1];
    struct call c;
    size_t found = 0;
    snprintf(handle, sizeof handle, "%.*s", HANDLE_DIGITS, digits);
    call_begin(&c, "SMEMBERS");
    call_key(&c, "h", handle);
    pthread_mutex_lock(&s->lock);
    enum store_err err = run(s, &c, 1) ? STORE_OK : STORE_FAILED;
    for (size_t i = 0; !err && i < c.reply->elements; i++) {
        const redisReply *one = c.reply->element[i];
        bool asked = false;
        if (one->len != HASH_DIGITS || strncmp(one->str, digits, strlen(digits)) != 0) continue;
        err = is_asked(s, one->str, conv, &asked);
        if (asked && hash_read(one->str, out)) found++;
    }
    call_done(&c, 1);
    pthread_mutex_unlock(&s->lock);
    return err ? err : found == 0 ? STORE_ABSENT : found > 1 ? STORE_AMBIGUOUS : STORE_OK;
}

static enum store_err redis_recalled(struct store *s, const struct hash *h) {
    char hex[HASH_DIGITS + 1];
    struct call c;
    hash_hex(h, hex);
    script(&c, recall_script, "t", hex);
    call_number(&c, s->now());
    call_number(&c, ttl(s));
    pthread_mutex_lock(&s->lock);
    enum store_err err = run(s, &c, 1) ? STORE_OK : STORE_FAILED;
    pthread_mutex_unlock(&s->lock);
    if (!err && number_of(c.reply) == 0) err = STORE_ABSENT;
    call_done(&c, 1);
    return err;
}

/* ---- notes --------------------------------------------------------------------------------- */

static enum store_err redis_note_get(struct store *s, const char *key, struct buf *out,
                                     uint64_t *version) {
    struct call c;
    call_begin(&c, "HMGET");
    call_key(&c, "n", key);
    call_text(&c, "v");
    call_text(&c, "d");
    pthread_mutex_lock(&s->lock);
    enum store_err err = run(s, &c, 1) ? STORE_OK : STORE_FAILED;
    pthread_mutex_unlock(&s->lock);
    if (!err && (c.reply->elements != 2 || !has_text(c.reply->element[1]))) err = STORE_ABSENT;
    if (!err && version) *version = number_of(c.reply->element[0]);
    if (!err) buf_add(out, c.reply->element[1]->str, c.reply->element[1]->len);
    call_done(&c, 1);
    return !err && out->failed ? STORE_FAILED : err;
}

static enum store_err redis_note_put(struct store *s, const char *conv, const char *key,
                                     const char *at, size_t len, const uint64_t *version) {
    struct call c[3];
    size_t n = *conv ? 3 : 1; /* those of no conversation stay for ever */
    script(&c[0], note_script, "n", key);
    call_number(&c[0], version ? (long long)*version : -1);
    call_word(&c[0], at ? at : "", len);
    call_number(&c[0], *conv ? ttl(s) * TOMBS : 0);
    call_begin(&c[1], "SADD");
    call_key(&c[1], "m", conv);
    call_text(&c[1], key);
    expire(s, &c[2], "m", conv);
    pthread_mutex_lock(&s->lock);
    enum store_err err = run(s, c, n) ? STORE_OK : STORE_FAILED;
    if (!err && !link_wait(redis(s), s->why, sizeof s->why)) err = STORE_FAILED;
    pthread_mutex_unlock(&s->lock);
    if (!err && number_of(c[0].reply) == 0) err = STORE_CONFLICT;
    call_done(c, n);
    return err;
}

/* ---- looking after it ---------------------------------------------------------------------- */

/* Names behind a prefix on one node, appended with their NUL. */
static enum store_err scan_node(struct store *s, size_t node, const char *pattern, size_t skip,
                                struct buf *names) {
    char cursor[32] = "0";
    do {
        struct call c;
        call_begin(&c, "SCAN");
        c.node = (int)node;
        call_text(&c, cursor);
        call_text(&c, "MATCH");
        call_text(&c, pattern);
        call_text(&c, "COUNT");
        call_number(&c, PER_SCAN);
        if (!run(s, &c, 1)) return STORE_FAILED;
        const redisReply *r = c.reply;
        bool ok = r->elements == 2 && has_text(r->element[0]);
        snprintf(cursor, sizeof cursor, "%s", ok ? r->element[0]->str : "0");
        for (size_t i = 0; ok && i < r->element[1]->elements; i++) {
            const redisReply *name = r->element[1]->element[i];
            if (name->len > skip) buf_add(names, name->str + skip, name->len - skip + 1);
        }
        call_done(&c, 1);
    } while (strcmp(cursor, "0") != 0);
    return STORE_OK;
}

static enum store_err members(struct store *s, const char *kind, const char *name,
                              struct buf *names) {
    struct call c;
    call_begin(&c, "SMEMBERS");
    call_key(&c, kind, name);
    if (!run(s, &c, 1)) return STORE_FAILED;
    for (size_t i = 0; i < c.reply->elements; i++)
        buf_add(names, c.reply->element[i]->str, c.reply->element[i]->len + 1);
    call_done(&c, 1);
    return STORE_OK;
}

/* All texts there are traces of; replicas know them too, hence the sorting. */
static enum store_err all_names(struct store *s, struct buf *names) {
    enum store_err err = STORE_OK;
    for (size_t i = 0; !err && i < link_nodes(redis(s)); i++)
        err = scan_node(s, i, "paucis:e:*", 9, names);
    return err;
}

static enum store_err read_row(struct store *s, const char *hex, struct store_row *row) {
    static const char *const fields[] = {"k", "s", "n", "u", "r"};
    struct call c[2];
    *row = (struct store_row){0};
    if (strlen(hex) != HASH_DIGITS || !hash_read(hex, &row->hash)) return STORE_ABSENT;
    call_begin(&c[0], "HMGET");
    call_key(&c[0], "t", hex);
    for (size_t i = 0; i < 5; i++) call_text(&c[0], fields[i]);
    call_begin(&c[1], "GET");
    call_key(&c[1], "e", hex);
    if (!run(s, c, 2)) return STORE_FAILED;
    const redisReply *r = c[0].reply;
    bool there = r->elements == 5 && has_text(r->element[0]);
    row->kind = there ? (unsigned)number_of(r->element[0]) : KEPT_TEXT;
    row->size = number_of(there ? r->element[1] : c[1].reply);
    row->stored = there ? number_of(r->element[2]) : 0;
    row->used = there ? (int64_t)number_of(r->element[3]) : 0;
    row->recalls = there ? number_of(r->element[4]) : 0;
    call_done(c, 2);
    return STORE_OK;
}

static int newest_first(const void *x, const void *y) {
    const struct store_row *a = x, *b = y;
    if (a->used != b->used) return a->used > b->used ? -1 : 1;
    return memcmp(a->hash.at, b->hash.at, HASH_SIZE);
}

static enum store_err redis_each(struct store *s, const char *conv, uint64_t max, store_row_fn *fn,
                                 void *ud) {
    struct buf names = {0}, rows = {0};
    struct store_row row;
    pthread_mutex_lock(&s->lock);
    enum store_err err = conv ? members(s, "c", conv, &names) : all_names(s, &names);
    for (size_t i = 0; !err && i < names.len; i += strlen(names.data + i) + 1) {
        err = read_row(s, names.data + i, &row);
        if (!err) buf_add(&rows, (const char *)&row, sizeof row);
        if (err == STORE_ABSENT) err = STORE_OK;
    }
    if (names.failed || rows.failed) err = store_fail(s, "out of memory");
    pthread_mutex_unlock(&s->lock);
    struct store_row *list = (struct store_row *)(void *)rows.data;
    size_t n = rows.len / sizeof row, given = 0;
    if (!err && n) qsort(list, n, sizeof row, newest_first);
    for (size_t i = 0; !err && i < n && (!max || given < max); i++) {
        if (i && hash_same(&list[i].hash, &list[i - 1].hash)) continue;
        given++;
        if (!fn(ud, &list[i])) break;
    }
    buf_free(&names);
    buf_free(&rows);
    return err;
}

static enum store_err redis_convs(struct store *s, store_conv_fn *fn, void *ud) {
    struct call c, count;
    call_begin(&c, "ZREVRANGE");
    call_key(&c, "v", "all");
    call_text(&c, "0");
    call_text(&c, "-1");
    call_text(&c, "WITHSCORES");
    pthread_mutex_lock(&s->lock);
    enum store_err err = run(s, &c, 1) ? STORE_OK : STORE_FAILED;
    for (size_t i = 0; !err && i + 1 < c.reply->elements; i += 2) {
        struct store_conv one = {.id = c.reply->element[i]->str,
                                 .used = (int64_t)number_of(c.reply->element[i + 1])};
        call_begin(&count, "SCARD");
        call_key(&count, "c", one.id);
        err = run(s, &count, 1) ? STORE_OK : STORE_FAILED;
        if (!err) one.texts = number_of(count.reply);
        call_done(&count, 1);
        if (!err && !fn(ud, &one)) break;
    }
    call_done(&c, 1);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static bool add_row(void *ud, const struct store_row *row) {
    struct store_sums *sum = ud;
    if (!row->stored) {
        sum->evicted++;
        return true;
    }
    sum->texts += (row->kind & KEPT_TEXT) != 0;
    sum->pieces += (row->kind & (KEPT_TEXT | KEPT_PIECE)) == KEPT_PIECE;
    sum->lists += row->kind == KEPT_LIST;
    sum->bytes += row->size;
    sum->stored += row->stored;
    sum->recalls += row->recalls;
    return true;
}

static bool add_conv(void *ud, const struct store_conv *conv) {
    (void)conv;
    ++*(uint64_t *)ud;
    return true;
}

static enum store_err redis_sums(struct store *s, struct store_sums *out) {
    enum store_err err = redis_each(s, NULL, 0, add_row, out);
    return err ? err : redis_convs(s, add_conv, &out->conversations);
}

/* ---- purge --------------------------------------------------------------------------------- */

static bool delete_key(struct store *s, const char *kind, const char *name) {
    struct call c;
    call_begin(&c, "DEL");
    call_key(&c, kind, name);
    bool ok = run(s, &c, 1);
    call_done(&c, 1);
    return ok;
}

/* A text that no other conversation relies on goes, with its trace and its handle. */
static enum store_err purge_text(struct store *s, const char *hex, const char *conv,
                                 uint64_t *count) {
    char handle[HANDLE_DIGITS + 1];
    struct call c;
    script(&c, leave_script, "g", hex);
    call_text(&c, conv);
    bool ok = run(s, &c, 1), last = ok && number_of(c.reply) == 1;
    call_done(&c, 1);
    if (!ok || !last) return ok ? STORE_OK : STORE_FAILED;
    snprintf(handle, sizeof handle, "%.*s", HANDLE_DIGITS, hex);
    call_begin(&c, "SREM");
    call_key(&c, "h", handle);
    call_text(&c, hex);
    ok = run(s, &c, 1);
    call_done(&c, 1);
    *count += 1;
    return ok && delete_key(s, "t", hex) && delete_key(s, "e", hex) ? STORE_OK : STORE_FAILED;
}

static enum store_err purge(struct store *s, const char *conv, struct buf *names, uint64_t *count) {
    struct call c;
    enum store_err err = members(s, "c", conv, names);
    for (size_t i = 0; !err && i < names->len; i += strlen(names->data + i) + 1)
        err = purge_text(s, names->data + i, conv, count);
    names->len = 0;
    if (!err) err = members(s, "m", conv, names);
    for (size_t i = 0; !err && i < names->len; i += strlen(names->data + i) + 1)
        if (!delete_key(s, "n", names->data + i)) err = STORE_FAILED;
    if (err || names->failed) return names->failed ? store_fail(s, "out of memory") : err;
    call_begin(&c, "ZREM");
    call_key(&c, "v", "all");
    call_text(&c, conv);
    bool ok = run(s, &c, 1) && delete_key(s, "c", conv) && delete_key(s, "m", conv);
    call_done(&c, 1);
    return ok ? STORE_OK : STORE_FAILED;
}

static enum store_err redis_purge(struct store *s, const char *conv, uint64_t *count) {
    struct buf names = {0};
    pthread_mutex_lock(&s->lock);
    enum store_err err = purge(s, conv, &names, count);
    pthread_mutex_unlock(&s->lock);
    buf_free(&names);
    return err;
}

static enum store_err redis_evict(struct store *s) {
    (void)s;
    return STORE_OK;
}

const struct store_kind paucis__store_redis = {
    .scheme = "redis://",
    .summary = "redis://HOST[:PORT],...",
    .open = redis_open,
    .close = redis_close,
    .look = redis_look,
    .put = redis_put,
    .get = redis_get,
    .find = redis_find,
    .recalled = redis_recalled,
    .note_get = redis_note_get,
    .note_put = redis_note_put,
    .each = redis_each,
    .convs = redis_convs,
    .sums = redis_sums,
    .purge = redis_purge,
    .evict = redis_evict,
};
#endif
