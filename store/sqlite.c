/* sqlite:PATH, a file of the user's own. One connection behind one lock; other processes are kept
 * apart by SQLite. WAL with synchronous=FULL: what was committed survives a power cut.
 *
 *   text    every text by its hash; evicted ones stay as a row without data
 *   given   which conversation relies on which text
 *   note    small values by name: body -> list, conversation -> record
 *   conv    conversations and their last use
 *   total   bytes and number of texts that are not evicted */
#include "kind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    VERSION = 1,
    BUSY_MS = 10000, /* others hold the lock for a transaction, which is milliseconds */
    REST_MS = 1000,  /* who comes so soon after one has waited in vain does not wait in its turn */
    EVICT_STEP = 256
};

static const char pragmas[] =
    "PRAGMA busy_timeout=10000; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL; PRAGMA cache_size=-16000;";

static const char schema[] =
    "CREATE TABLE text(hash BLOB PRIMARY KEY, kind INT, size INT, stored INT, used INT,"
    " recalls INT, data BLOB);"
    "CREATE INDEX text_used ON text(used) WHERE stored>0;"
    "CREATE TABLE given(conv TEXT, hash BLOB, PRIMARY KEY(conv,hash)) WITHOUT ROWID;"
    "CREATE INDEX given_hash ON given(hash);"
    "CREATE TABLE note(key TEXT PRIMARY KEY, conv TEXT, version INT, used INT, value BLOB)"
    " WITHOUT ROWID;"
    "CREATE INDEX note_conv ON note(conv);"
    "CREATE INDEX note_used ON note(used);"
    "CREATE TABLE conv(id TEXT PRIMARY KEY, used INT) WITHOUT ROWID;"
    "CREATE TABLE total(bytes INT, texts INT);"
    "INSERT INTO total VALUES(0,0);"
    "PRAGMA user_version=1;";

enum statement {
    LOOK,
    KEEP,
    SHRINK,
    USE,
    GIVE,
    CONV,
    NOTE,
    SUM,
    GET,
    FIND,
    FIND_IN,
    RECALLED,
    NOTE_GET,
    NOTE_NEW,
    NOTE_SET,
    TOTAL,
    OLDEST,
    EVICT,
    STATEMENTS
};

static const char *const sql[STATEMENTS] = {
    [LOOK] = "SELECT used FROM text WHERE hash=?1 AND stored>0",
    [KEEP] =
        "INSERT INTO text VALUES(?1,?2,?3,?4,?5,0,?6) ON CONFLICT(hash) DO UPDATE SET"
        " kind=kind|?2,size=?3,stored=?4,used=?5,data=?6 WHERE stored=0",
    [SHRINK] = "UPDATE text SET stored=?2,data=?3 WHERE hash=?1 AND stored=?4",
    [USE] = "UPDATE text SET used=max(used,?2),kind=kind|?3 WHERE hash=?1 AND stored>0",
    [GIVE] = "INSERT OR IGNORE INTO given VALUES(?1,?2)",
    [CONV] = "INSERT INTO conv VALUES(?1,?2) ON CONFLICT(id) DO UPDATE SET used=?2",
    [NOTE] =
        "INSERT INTO note VALUES(?1,?2,1,?3,?4) ON CONFLICT(key) DO UPDATE SET"
        " version=version+1,used=?3,value=?4",
    [SUM] = "UPDATE total SET bytes=bytes+?1,texts=texts+?2",
    [GET] = "SELECT stored,data FROM text WHERE hash=?1",
    [FIND] = "SELECT hash FROM text WHERE hash BETWEEN ?1 AND ?2 AND kind&1 LIMIT 2",
    [FIND_IN] =
        "SELECT DISTINCT text.hash FROM given JOIN text ON text.hash=given.hash WHERE"
        " given.hash BETWEEN ?1 AND ?2 AND substr(conv,1,?4)=substr(?3,1,?4) AND kind&1 LIMIT 2",
    [RECALLED] = "UPDATE text SET recalls=recalls+1,used=max(used,?2) WHERE hash=?1 AND stored>0",
    [NOTE_GET] = "SELECT version,value FROM note WHERE key=?1",
    [NOTE_NEW] = "INSERT OR IGNORE INTO note VALUES(?1,?2,1,?3,?4)",
    [NOTE_SET] = "UPDATE note SET version=version+1,used=?3,value=?4 WHERE key=?1 AND version=?5",
    [TOTAL] = "SELECT bytes FROM total",
    [OLDEST] = "SELECT hash,stored,used FROM text WHERE stored>0 ORDER BY used LIMIT 256",
    [EVICT] = "UPDATE text SET stored=0,data=NULL,used=?2 WHERE hash=?1",
};

struct lite {
    sqlite3 *db;
    sqlite3_stmt *st[STATEMENTS];
    sqlite3 *side; /* for lite_gone, which must not wait for those who write; opened when needed */
    sqlite3_stmt *gone;
    uint64_t untold;           /* how often lite_gone could not find out */
    pthread_mutex_t side_lock; /* of these three */
    int64_t busy_ms;           /* when somebody last waited for other processes in vain */
};

/* ---- small tools; the lock is held ---------------------------------------------------------- */

static struct lite *lite(struct store *s) { return s->state; }

static enum store_err broken(struct store *s) {
    return store_fail(s, "%s", sqlite3_errmsg(lite(s)->db));
}

static bool run(struct store *s, const char *text) {
    if (sqlite3_exec(lite(s)->db, text, NULL, NULL, NULL) == SQLITE_OK) return true;
    broken(s);
    return false;
}

static sqlite3_stmt *begin(struct store *s, enum statement which) {
    sqlite3_stmt *st = lite(s)->st[which];
    sqlite3_reset(st);
    return st;
}

static void bind_hash(sqlite3_stmt *st, int i, const struct hash *h) {
    sqlite3_bind_blob(st, i, h->at, HASH_SIZE, SQLITE_STATIC);
}

static void bind_text(sqlite3_stmt *st, int i, const char *text) {
    sqlite3_bind_text(st, i, text, -1, SQLITE_STATIC);
}

static void bind_blob(sqlite3_stmt *st, int i, const char *at, size_t len) {
    sqlite3_bind_blob64(st, i, at ? at : "", len, SQLITE_STATIC);
}

/* Runs a statement that gives no rows. */
static bool done(struct store *s, sqlite3_stmt *st) {
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    if (rc != SQLITE_DONE) broken(s);
    return rc == SQLITE_DONE;
}

static bool changed(struct store *s) { return sqlite3_changes(lite(s)->db) > 0; }

static bool column_hash(sqlite3_stmt *st, int i, struct hash *out) {
    const void *at = sqlite3_column_blob(st, i);
    if (!at || sqlite3_column_bytes(st, i) != HASH_SIZE) return false;
    memcpy(out->at, at, HASH_SIZE);
    return true;
}

static void column_buf(sqlite3_stmt *st, int i, struct buf *out) {
    const void *at = sqlite3_column_blob(st, i);
    if (at) buf_add(out, at, (size_t)sqlite3_column_bytes(st, i));
}

/* The end of a transaction: the answer is that of the work, unless it could not be committed. */
static enum store_err finish(struct store *s, enum store_err err) {
    if (!err && !run(s, "COMMIT")) err = STORE_FAILED;
    if (err && !sqlite3_get_autocommit(lite(s)->db))
        sqlite3_exec(lite(s)->db, "ROLLBACK", NULL, NULL, NULL);
    return err;
}

/* ---- open ----------------------------------------------------------------------------------- */

static bool default_path(char *path, size_t cap) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int n = data && *data == '/'   ? snprintf(path, cap, "%s/paucis/store.db", data)
            : home && *home == '/' ? snprintf(path, cap, "%s/.local/share/paucis/store.db", home)
                                   : -1;
    return n > 0 && (size_t)n < cap;
}

static void make_folders(char *path) {
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        (void)mkdir(path, 0700);
        *p = '/';
    }
}

/* Made with its mode before SQLite sees it; its companions get the same one. */
static bool make_file(struct store *s, char *path, bool must_exist) {
    if (!must_exist) make_folders(path);
    int fd = open(path, O_RDWR | O_CLOEXEC | (must_exist ? 0 : O_CREAT), 0600);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (ok && (st.st_mode & 077)) ok = fchmod(fd, 0600) == 0;
    if (!ok) store_fail(s, "'%s': %s", path, fd < 0 || errno ? strerror(errno) : "not a file");
    if (fd >= 0) close(fd);
    return ok;
}

static int64_t number(struct store *s, const char *query) {
    sqlite3_stmt *st = NULL;
    int64_t n = -1;
    if (sqlite3_prepare_v2(lite(s)->db, query, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

/* Several processes may come to a new file at once: one of them makes the tables. */
static bool make_tables(struct store *s) {
    int64_t version = number(s, "PRAGMA user_version");
    if (version == 0) {
        if (!run(s, "BEGIN IMMEDIATE")) return false;
        version = number(s, "PRAGMA user_version");
        bool ok = version != 0 || run(s, schema);
        if (finish(s, ok ? STORE_OK : STORE_FAILED)) return false;
        version = number(s, "PRAGMA user_version");
    }
    if (version == VERSION) return true;
    if (version < 0)
        broken(s);
    else
        store_fail(s, "made by another version (%" PRId64 ")", version);
    return false;
}

/* Changing to WAL takes the whole file for a moment, and is not waited for by SQLite. */
static bool set_up(struct store *s) {
    for (int tries = 0;; tries++) {
        if (run(s, pragmas)) return true;
        if (tries == 50 || sqlite3_errcode(lite(s)->db) != SQLITE_BUSY) return false;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static bool lite_open(struct store *s, const char *rest, const struct store_opts *o) {
    char path[4096];
    struct lite *l = calloc(1, sizeof *l);
    s->state = l;
    if (!l) return store_fail(s, "out of memory"), false;
    pthread_mutex_init(&l->side_lock, NULL);
    bool named = *rest ? (size_t)snprintf(path, sizeof path, "%s", rest) < sizeof path
                       : default_path(path, sizeof path);
    errno = 0;
    if (!named) return store_fail(s, "no path: neither XDG_DATA_HOME nor HOME is set"), false;
    if (!make_file(s, path, o->must_exist)) return false;
    if (sqlite3_open_v2(path, &l->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL))
        return l->db ? broken(s) : store_fail(s, "out of memory"), false;
    sqlite3_busy_timeout(l->db, BUSY_MS);
    if (!set_up(s) || !make_tables(s)) return false;
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(l->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &l->st[i], NULL))
            return broken(s), false;
    return true;
}

static void lite_close(struct store *s) {
    struct lite *l = lite(s);
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(l->st[i]);
    sqlite3_close(l->db);
    sqlite3_finalize(l->gone);
    sqlite3_close(l->side);
    pthread_mutex_destroy(&l->side_lock);
    free(l);
}

/* ---- put ------------------------------------------------------------------------------------ */

static enum store_err look(struct store *s, struct store_batch *b) {
    int64_t now = s->now();
    for (size_t i = 0; i < b->count; i++) {
        struct store_item *item = &b->items[i];
        sqlite3_stmt *st = begin(s, LOOK);
        bind_hash(st, 1, &item->hash);
        int rc = sqlite3_step(st);
        item->there = rc == SQLITE_ROW;
        item->fresh = item->there && sqlite3_column_int64(st, 0) > now - FRESH_S;
        sqlite3_reset(st);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE) return broken(s);
    }
    return STORE_OK;
}

static enum store_err lite_look(struct store *s, struct store_batch *b) {
    pthread_mutex_lock(&s->lock);
    /* One view of all, and one lock instead of one a text. */
    enum store_err err = run(s, "BEGIN") ? look(s, b) : STORE_FAILED;
    err = finish(s, err);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static enum store_err keep(struct store *s, const struct store_item *item, int64_t now,
                           int64_t *bytes, int64_t *texts) {
    sqlite3_stmt *st = begin(s, KEEP);
    bind_hash(st, 1, &item->hash);
    sqlite3_bind_int(st, 2, (int)item->kind);
    sqlite3_bind_int64(st, 3, (int64_t)item->len);
    sqlite3_bind_int64(st, 4, (int64_t)item->blob.len);
    sqlite3_bind_int64(st, 5, now);
    bind_blob(st, 6, item->blob.data, item->blob.len);
    if (!done(s, st)) return STORE_FAILED;
    if (!changed(s)) return STORE_OK; /* somebody else was faster */
    *bytes += (int64_t)item->blob.len;
    *texts += 1;
    return STORE_OK;
}

static enum store_err use(struct store *s, const struct store_item *item, int64_t now) {
    sqlite3_stmt *st = begin(s, USE);
    bind_hash(st, 1, &item->hash);
    sqlite3_bind_int64(st, 2, now);
    sqlite3_bind_int(st, 3, (int)item->kind);
    if (!done(s, st)) return STORE_FAILED;
    return changed(s) ? STORE_OK : STORE_ABSENT;
}

/* What is marked as fresh was used within the hour and cannot have been evicted by age; whether the
 * size limit took it is seen by asking again, which is cheaper than writing. */
static enum store_err still_there(struct store *s, const struct hash *h) {
    sqlite3_stmt *st = begin(s, LOOK);
    bind_hash(st, 1, h);
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return rc == SQLITE_ROW ? STORE_OK : rc == SQLITE_DONE ? STORE_ABSENT : broken(s);
}

static enum store_err give(struct store *s, const char *conv, const struct hash *h) {
    sqlite3_stmt *st = begin(s, GIVE);
    bind_text(st, 1, conv);
    bind_hash(st, 2, h);
    return done(s, st) ? STORE_OK : STORE_FAILED;
}

/* The list that is noted for the batch's body, if it is there still. */
static enum store_err noted(struct store *s, const char *key, struct hash *list) {
    sqlite3_stmt *st = begin(s, NOTE_GET);
    bind_text(st, 1, key);
    int rc = sqlite3_step(st);
    bool is_hash = rc == SQLITE_ROW && column_hash(st, 1, list);
    sqlite3_reset(st);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) return broken(s);
    return is_hash ? STORE_OK : STORE_ABSENT;
}

static enum store_err put_note(struct store *s, const struct store_batch *b, int64_t now) {
    char key[NOTE_KEY];
    struct hash old;
    note_key(&b->body, key);
    enum store_err err = noted(s, key, &old);
    if (err == STORE_FAILED) return err;
    bool other = !err && !hash_same(&old, &b->list) && !hash_same(&old, &b->body) &&
                 still_there(s, &old) == STORE_OK;
    bool itself = hash_same(&b->list, &b->body);
    if (other && !itself) return STORE_CONFLICT;
    sqlite3_stmt *st = begin(s, NOTE);
    bind_text(st, 1, key);
    bind_text(st, 2, b->conv);
    sqlite3_bind_int64(st, 3, now);
    bind_hash(st, 4, other ? &old : &b->list);
    return done(s, st) ? STORE_OK : STORE_FAILED;
}

static enum store_err put(struct store *s, const struct store_batch *b) {
    int64_t now = s->now(), bytes = 0, texts = 0;
    enum store_err err = STORE_OK;
    for (size_t i = 0; !err && i < b->count; i++) {
        const struct store_item *item = &b->items[i];
        err = !item->there  ? keep(s, item, now, &bytes, &texts)
              : item->fresh ? still_there(s, &item->hash)
                            : use(s, item, now);
        if (!err) err = give(s, b->conv, &item->hash);
    }
    if (!err && b->has_note) err = put_note(s, b, now);
    if (err) return err;
    sqlite3_stmt *st = begin(s, CONV);
    bind_text(st, 1, b->conv);
    sqlite3_bind_int64(st, 2, now);
    if (!done(s, st)) return STORE_FAILED;
    st = begin(s, SUM);
    sqlite3_bind_int64(st, 1, bytes);
    sqlite3_bind_int64(st, 2, texts);
    return !texts || done(s, st) ? STORE_OK : STORE_FAILED;
}

/* What is still there as it was kept. */
static enum store_err shrink(struct store *s, const struct store_batch *b) {
    int64_t saved = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct store_item *item = &b->items[i];
        if (item->blob.len == 0) continue;
        sqlite3_stmt *st = begin(s, SHRINK);
        bind_hash(st, 1, &item->hash);
        sqlite3_bind_int64(st, 2, (int64_t)item->blob.len);
        bind_blob(st, 3, item->blob.data, item->blob.len);
        sqlite3_bind_int64(st, 4, (int64_t)item->len + 1);
        if (!done(s, st)) return STORE_FAILED;
        if (changed(s)) saved += (int64_t)item->len + 1 - (int64_t)item->blob.len;
    }
    sqlite3_stmt *st = begin(s, SUM);
    sqlite3_bind_int64(st, 1, -saved);
    sqlite3_bind_int64(st, 2, 0);
    return done(s, st) ? STORE_OK : STORE_FAILED;
}

/* Threads that stood behind one that waited in vain have waited as long, and would do so once
 * more, one after the other. */
static bool begin_write(struct store *s) {
    struct lite *l = lite(s);
    if (l->busy_ms && store_clock_ms() - l->busy_ms < REST_MS)
        return store_fail(s, "database is locked"), false;
    bool ok = run(s, "BEGIN IMMEDIATE");
    l->busy_ms = !ok && sqlite3_errcode(l->db) == SQLITE_BUSY ? store_clock_ms() : 0;
    return ok;
}

/* In one transaction; a lazy one need not be on the disk at once. */
static enum store_err write_all(struct store *s, const struct store_batch *b, bool lazy,
                                enum store_err (*write)(struct store *,
                                                        const struct store_batch *)) {
    pthread_mutex_lock(&s->lock);
    bool ok = !lazy || run(s, "PRAGMA synchronous=NORMAL");
    enum store_err err = ok && begin_write(s) ? write(s, b) : STORE_FAILED;
    err = finish(s, err);
    if (lazy && !run(s, "PRAGMA synchronous=FULL")) err = STORE_FAILED;
    pthread_mutex_unlock(&s->lock);
    return err;
}

static enum store_err lite_put(struct store *s, const struct store_batch *b) {
    return write_all(s, b, b->lazy, put);
}

static enum store_err lite_shrink(struct store *s, const struct store_batch *b) {
    return write_all(s, b, true, shrink);
}

/* ---- get ------------------------------------------------------------------------------------ */

static enum store_err lite_get(struct store *s, const struct hash *h, struct buf *blob) {
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = begin(s, GET);
    bind_hash(st, 1, h);
    int rc = sqlite3_step(st);
    enum store_err err = rc == SQLITE_DONE ? STORE_ABSENT : rc == SQLITE_ROW ? STORE_OK : broken(s);
    if (!err && sqlite3_column_int64(st, 0) == 0) err = STORE_EVICTED;
    if (!err) column_buf(st, 1, blob);
    sqlite3_reset(st);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static enum store_err lite_find(struct store *s, const char *digits, const char *conv,
                                struct hash *out) {
    char hex[HASH_DIGITS + 1];
    struct hash from, to;
    size_t n = strlen(digits);
    for (int end = 0; end < 2; end++) {
        memset(hex, end ? 'f' : '0', HASH_DIGITS);
        memcpy(hex, digits, n);
        if (!hash_read(hex, end ? &to : &from)) return STORE_ABSENT;
    }
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = begin(s, conv ? FIND_IN : FIND);
    bind_hash(st, 1, &from);
    bind_hash(st, 2, &to);
    size_t len = conv ? strlen(conv) : 0;
    bool begins = len && conv[len - 1] == '*'; /* else the whole name counts */
    if (conv) bind_text(st, 3, conv);
    if (conv) sqlite3_bind_int64(st, 4, begins ? (int64_t)len - 1 : CONV_MAX);
    int rc = sqlite3_step(st);
    enum store_err err = rc == SQLITE_DONE ? STORE_ABSENT : rc == SQLITE_ROW ? STORE_OK : broken(s);
    if (!err && !column_hash(st, 0, out)) err = STORE_DAMAGED;
    if (!err && sqlite3_step(st) == SQLITE_ROW) err = STORE_AMBIGUOUS;
    sqlite3_reset(st);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static enum store_err lite_recalled(struct store *s, const struct hash *h) {
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = begin(s, RECALLED);
    bind_hash(st, 1, h);
    sqlite3_bind_int64(st, 2, s->now());
    enum store_err err = !done(s, st) ? STORE_FAILED : changed(s) ? STORE_OK : STORE_ABSENT;
    pthread_mutex_unlock(&s->lock);
    return err;
}

/* ---- notes ---------------------------------------------------------------------------------- */

static enum store_err lite_note_get(struct store *s, const char *key, struct buf *out,
                                    uint64_t *version) {
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = begin(s, NOTE_GET);
    bind_text(st, 1, key);
    int rc = sqlite3_step(st);
    enum store_err err = rc == SQLITE_DONE ? STORE_ABSENT : rc == SQLITE_ROW ? STORE_OK : broken(s);
    if (!err && version) *version = (uint64_t)sqlite3_column_int64(st, 0);
    if (!err) column_buf(st, 1, out);
    sqlite3_reset(st);
    pthread_mutex_unlock(&s->lock);
    return !err && out->failed ? STORE_FAILED : err;
}

static enum store_err lite_note_put(struct store *s, const char *conv, const char *key,
                                    const char *at, size_t len, const uint64_t *version) {
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = begin(s, !version ? NOTE : *version ? NOTE_SET : NOTE_NEW);
    bind_text(st, 1, key);
    bind_text(st, 2, conv);
    sqlite3_bind_int64(st, 3, s->now());
    bind_blob(st, 4, at, len);
    if (version && *version) sqlite3_bind_int64(st, 5, (int64_t)*version);
    enum store_err err = !done(s, st) ? STORE_FAILED : changed(s) ? STORE_OK : STORE_CONFLICT;
    pthread_mutex_unlock(&s->lock);
    return err;
}

/* ---- looking after it ----------------------------------------------------------------------- */

/* Rows are read completely before any is given to fn, which may use the store itself. */
static enum store_err lite_each(struct store *s, const char *conv, uint64_t max, store_row_fn *fn,
                                void *ud) {
    static const char all[] =
        "SELECT hash,kind,size,stored,used,recalls FROM text ORDER BY used DESC,hash LIMIT ?2";
    static const char one[] =
        "SELECT text.hash,kind,size,stored,used,recalls FROM given JOIN text ON"
        " text.hash=given.hash WHERE conv=?1 ORDER BY used DESC,text.hash LIMIT ?2";
    struct buf rows = {0};
    struct store_row row;
    sqlite3_stmt *st = NULL;
    pthread_mutex_lock(&s->lock);
    int rc = sqlite3_prepare_v2(lite(s)->db, conv ? one : all, -1, &st, NULL);
    if (rc == SQLITE_OK && conv) bind_text(st, 1, conv);
    if (rc == SQLITE_OK) sqlite3_bind_int64(st, 2, max ? (int64_t)max : -1);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        if ((rc = sqlite3_step(st)) != SQLITE_ROW || !column_hash(st, 0, &row.hash)) break;
        row.kind = (unsigned)sqlite3_column_int(st, 1);
        row.size = (uint64_t)sqlite3_column_int64(st, 2);
        row.stored = (uint64_t)sqlite3_column_int64(st, 3);
        row.used = sqlite3_column_int64(st, 4);
        row.recalls = (uint64_t)sqlite3_column_int64(st, 5);
        buf_add(&rows, (const char *)&row, sizeof row);
    }
    enum store_err err = rc == SQLITE_DONE ? STORE_OK : broken(s);
    if (rows.failed) err = store_fail(s, "out of memory");
    sqlite3_finalize(st);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; !err && i < rows.len; i += sizeof row) {
        memcpy(&row, rows.data + i, sizeof row);
        if (!fn(ud, &row)) break;
    }
    buf_free(&rows);
    return err;
}

static enum store_err lite_convs(struct store *s, store_conv_fn *fn, void *ud) {
    static const char query[] =
        "SELECT id,used,(SELECT count(*) FROM given WHERE conv=id) FROM conv ORDER BY used DESC,id";
    sqlite3_stmt *st = NULL;
    pthread_mutex_lock(&s->lock);
    int rc = sqlite3_prepare_v2(lite(s)->db, query, -1, &st, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        if ((rc = sqlite3_step(st)) != SQLITE_ROW) break;
        struct store_conv conv = {.id = (const char *)sqlite3_column_text(st, 0),
                                  .used = sqlite3_column_int64(st, 1),
                                  .texts = (uint64_t)sqlite3_column_int64(st, 2)};
        if (!conv.id || !fn(ud, &conv)) {
            rc = SQLITE_DONE;
            break;
        }
    }
    enum store_err err = rc == SQLITE_DONE ? STORE_OK : broken(s);
    sqlite3_finalize(st);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static enum store_err lite_sums(struct store *s, struct store_sums *out) {
    static const char query[] =
        "SELECT total(kind&1 AND stored>0),total(NOT kind&1 AND kind&2 AND stored>0),"
        "total(NOT kind&3 AND stored>0),total(stored=0),total(recalls),"
        "total(size*(stored>0)),total(stored),(SELECT count(*) FROM conv),"
        "(SELECT count(*) FROM note) FROM text";
    sqlite3_stmt *st = NULL;
    pthread_mutex_lock(&s->lock);
    bool ok = sqlite3_prepare_v2(lite(s)->db, query, -1, &st, NULL) == SQLITE_OK &&
              sqlite3_step(st) == SQLITE_ROW;
    uint64_t *const to[] = {&out->texts,   &out->pieces,        &out->lists,
                            &out->evicted, &out->recalls,       &out->bytes,
                            &out->stored,  &out->conversations, &out->notes};
    for (int i = 0; ok && i < (int)(sizeof to / sizeof *to); i++)
        *to[i] = (uint64_t)sqlite3_column_int64(st, i);
    enum store_err err = ok ? STORE_OK : broken(s);
    sqlite3_finalize(st);
    pthread_mutex_unlock(&s->lock);
    return err;
}

/* Those who remember what they have put here ask for this note. */
#define GONE "meta:gone"
static const char more_gone[] = "INSERT INTO note VALUES('" GONE
                                "','',1,0,x'') ON CONFLICT(key) DO UPDATE SET version=version+1";

static bool open_side(struct lite *l) {
    if (l->gone) return true;
    sqlite3_close(l->side);
    l->side = NULL;
    return !sqlite3_open_v2(sqlite3_db_filename(l->db, "main"), &l->side,
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) &&
           !sqlite3_prepare_v3(l->side, sql[NOTE_GET], -1, SQLITE_PREPARE_PERSISTENT, &l->gone,
                               NULL);
}

static uint64_t lite_gone(struct store *s, uint64_t last) {
    struct lite *l = lite(s);
    uint64_t now = 0;
    int rc = SQLITE_ERROR;
    (void)last;
    pthread_mutex_lock(&l->side_lock);
    if (open_side(l)) {
        bind_text(l->gone, 1, GONE);
        rc = sqlite3_step(l->gone);
        if (rc == SQLITE_ROW) now = (uint64_t)sqlite3_column_int64(l->gone, 0);
        sqlite3_reset(l->gone);
    }
    /* Who cannot be told must ask for everything, and no later number may be taken for this one. */
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) now = (uint64_t)1 << 63 | ++l->untold;
    pthread_mutex_unlock(&l->side_lock);
    return now;
}

/* One statement of several steps, each with the conversation as its only parameter. */
static enum store_err purge(struct store *s, const char *conv, uint64_t *count) {
    static const char *const steps[] = {
        "CREATE TEMP TABLE IF NOT EXISTS going(hash BLOB PRIMARY KEY)",
        "DELETE FROM going",
        "INSERT INTO going SELECT hash FROM given a WHERE conv=?1 AND NOT EXISTS"
        " (SELECT 1 FROM given b WHERE b.hash=a.hash AND b.conv<>?1)",
        "DELETE FROM given WHERE conv=?1",
        "DELETE FROM note WHERE conv=?1",
        "DELETE FROM conv WHERE id=?1",
        more_gone,
        "UPDATE total SET"
        " bytes=bytes-(SELECT total(stored) FROM text WHERE hash IN (SELECT hash FROM going)),"
        " texts=texts-(SELECT count(*) FROM text WHERE hash IN (SELECT hash FROM going)"
        " AND stored>0)",
        "DELETE FROM text WHERE hash IN (SELECT hash FROM going)",
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        sqlite3_stmt *st = NULL;
        bool ok = sqlite3_prepare_v2(lite(s)->db, steps[i], -1, &st, NULL) == SQLITE_OK;
        if (ok && sqlite3_bind_parameter_count(st)) bind_text(st, 1, conv);
        ok = ok && sqlite3_step(st) == SQLITE_DONE;
        sqlite3_finalize(st);
        if (!ok) return broken(s);
    }
    *count = (uint64_t)sqlite3_changes(lite(s)->db);
    return STORE_OK;
}

/* Overwritten in the file, and out of its companion: purged is gone. */
static enum store_err lite_purge(struct store *s, const char *conv, uint64_t *count) {
    pthread_mutex_lock(&s->lock);
    enum store_err err =
        run(s, "PRAGMA temp_store=MEMORY; PRAGMA secure_delete=ON; BEGIN IMMEDIATE")
            ? purge(s, conv, count)
            : STORE_FAILED;
    err = finish(s, err);
    if (!err && !run(s,
                     "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);"
                     "PRAGMA secure_delete=OFF"))
        err = STORE_FAILED;
    pthread_mutex_unlock(&s->lock);
    return err;
}

/* ---- limits --------------------------------------------------------------------------------- */

/* The oldest texts, until the limits are kept; *more if there are further ones to look at. */
static enum store_err evict_step(struct store *s, int64_t limit, bool *more) {
    struct {
        struct hash hash;
        int64_t stored;
    } going[EVICT_STEP];
    int64_t now = s->now(), old = now - (int64_t)s->days * DAY_S, total, bytes = 0;
    int n = 0, rc;
    bool fresh = false;
    sqlite3_stmt *st = begin(s, TOTAL);
    total = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    st = begin(s, OLDEST);
    while (n < EVICT_STEP && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        bool too_old = sqlite3_column_int64(st, 2) < old;
        if (!too_old && total - bytes <= limit) break;
        if (!column_hash(st, 0, &going[n].hash)) break;
        fresh = sqlite3_column_int64(st, 2) > now - FRESH_S; /* they are in order */
        bytes += sqlite3_column_int64(st, 1);
        n++;
    }
    sqlite3_reset(st);
    if (fresh && !run(s, more_gone)) return STORE_FAILED;
    *more = n == EVICT_STEP;
    for (int i = 0; i < n; i++) {
        st = begin(s, EVICT);
        bind_hash(st, 1, &going[i].hash);
        sqlite3_bind_int64(st, 2, now);
        if (!done(s, st)) return STORE_FAILED;
    }
    st = begin(s, SUM);
    sqlite3_bind_int64(st, 1, -bytes);
    sqlite3_bind_int64(st, 2, -n);
    return !n || done(s, st) ? STORE_OK : STORE_FAILED;
}

static bool over_limits(struct store *s) {
    sqlite3_stmt *st = begin(s, TOTAL);
    int64_t old = s->now() - (int64_t)s->days * DAY_S;
    bool over =
        sqlite3_step(st) == SQLITE_ROW && (uint64_t)sqlite3_column_int64(st, 0) > s->max_bytes;
    sqlite3_reset(st);
    st = begin(s, OLDEST);
    over = over || (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int64(st, 2) < old);
    sqlite3_reset(st);
    return over;
}

/* What was evicted is forgotten at last, with the notes and conversations of that age. */
static bool forget(struct store *s) {
    char text[512];
    int64_t before = s->now() - (int64_t)s->days * DAY_S * TOMBS;
    snprintf(
        text, sizeof text,
        "DELETE FROM given WHERE hash IN (SELECT hash FROM text WHERE stored=0 AND used<%" PRId64
        "); DELETE FROM text WHERE stored=0 AND used<%" PRId64
        "; DELETE FROM note WHERE used<%" PRId64
        " AND key LIKE 'body:%%'"
        "; DELETE FROM conv WHERE used<%" PRId64 ";",
        before, before, before, before);
    return run(s, text);
}

static enum store_err lite_evict(struct store *s) {
    enum store_err err = STORE_OK;
    pthread_mutex_lock(&s->lock);
    bool over = over_limits(s), more = over;
    /* A little more than must be, or every further put would have to evict again. */
    int64_t limit = (int64_t)(s->max_bytes - s->max_bytes / 32);
    while (!err && more) {
        err = run(s, "BEGIN IMMEDIATE") ? evict_step(s, limit, &more) : STORE_FAILED;
        if (!err && !more && !forget(s)) err = STORE_FAILED;
        err = finish(s, err);
    }
    if (over && !err) run(s, "PRAGMA incremental_vacuum(4096)");
    pthread_mutex_unlock(&s->lock);
    return err;
}

const struct store_kind paucis__store_sqlite = {
    .scheme = "sqlite:",
    .summary = "sqlite:PATH",
    .open = lite_open,
    .close = lite_close,
    .look = lite_look,
    .put = lite_put,
    .shrink = lite_shrink,
    .get = lite_get,
    .find = lite_find,
    .recalled = lite_recalled,
    .note_get = lite_note_get,
    .note_put = lite_note_put,
    .each = lite_each,
    .convs = lite_convs,
    .sums = lite_sums,
    .purge = lite_purge,
    .evict = lite_evict,
    .gone = lite_gone,
};
