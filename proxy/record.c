/* The record: a few bytes per conversation in a small SQLite file, and one line per request.
 *
 * A conversation is found by what was said, not by an id: `tip` maps the hash of all messages of
 * a request to the conversation they belong to. The next request holds the same messages and
 * more, so the longest run of its messages that is a tip tells where it continues. If that tip
 * is not the newest of its conversation, the client went back and took another way: the new
 * branch gets a record of its own that begins with what both share. A retry is the newest tip
 * itself.
 *
 * A known conversation's tip is written when its turn is over. Until then it is a claim, in memory:
 * whoever else continues what the claim continues is a branch at once.
 *
 * Of a conversation's tips the newest stay, the first, and those where a branch would begin with
 * something else than at the one before. So a client that goes back to any turn is found, by an
 * earlier tip of its chain, with the same record as if every tip were there.
 *
 * WAL and synchronous=NORMAL: what was written survives the end of the process in any way, and
 * no request waits for a disk. One connection reads and another writes, each behind its lock, so
 * that a look-up, which takes microseconds, never waits for a commit. */
#include "proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEEP_DAYS = 30, KEEP_REQUESTS = 20000, TIDY = 256, CLAIMS = 256 };
enum { NEWEST = 16, MOST_THINNED = 256 }; /* tips that stay; that are looked at in one turn */

/* The number of this layout. What is in the tables `conv` and `tip` must outlive it; requests of
 * another layout are only a log and go. */
#define LAYOUT "3"

static const char settings[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=250;"
    "PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=4000000;";
static const char other_layout[] = "DROP TABLE IF EXISTS request; PRAGMA user_version=" LAYOUT ";";
/* What earlier layouts did not have; it fails where the table is not there yet. */
static const char *const later[] = {"ALTER TABLE conv ADD COLUMN name TEXT DEFAULT ''",
                                    "ALTER TABLE conv ADD COLUMN still TEXT DEFAULT ''",
                                    "ALTER TABLE conv ADD COLUMN cold TEXT DEFAULT ''",
                                    "ALTER TABLE conv ADD COLUMN begun TEXT DEFAULT ''",
                                    "ALTER TABLE conv ADD COLUMN budget_at INT DEFAULT 0"};
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS conv(id INTEGER PRIMARY KEY, tip INT, attach INT, render INT,"
    " mode INT, stopped_at INT, first_edit INT, budget INT, stop TEXT, prompt INT, cached INT,"
    " written INT, raw INT, bad INT, last INT, model TEXT, used INT, name TEXT, still TEXT,"
    " cold TEXT, begun TEXT, budget_at INT);"
    "CREATE TABLE IF NOT EXISTS tip(hash BLOB PRIMARY KEY, conv INT, n INT) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS tip_conv ON tip(conv);"
    "CREATE TABLE IF NOT EXISTS request(id INTEGER PRIMARY KEY, at INT, conv INT, provider TEXT,"
    " model TEXT, path TEXT, status INT, rung INT, reason TEXT, what TEXT, messages INT,"
    " bytes_in INT, bytes_out INT, edits INT, cuts INT, prompt INT, cached INT, written INT, "
    "output INT,"
    " cost REAL, saved REAL, work_us INT, head_us INT, total_us INT);";

/* Switched off by hand, and the request that writes has not seen it. */
#define IS_OFF "mode=4 AND stopped_at=0 AND ?4<4"

enum {
    FIND,
    GET,
    NEW,
    TIP,
    PUT,
    TURN,
    TOLD,
    WARM,
    LOG,
    STOP,
    COUNT,
    TIPS,
    THIN,
    STATEMENTS,
    READS = NEW
};

static const char *const sql[STATEMENTS] = {
    [FIND] = "SELECT conv,n FROM tip WHERE hash=?1",
    [GET] =
        "SELECT tip,attach,render,mode,stopped_at,first_edit,budget,stop,prompt,cached,written,"
        "raw,bad,last,model,name,still,cold,begun,budget_at FROM conv WHERE id=?1",
    [NEW] =
        "INSERT INTO conv VALUES(NULL,?1,?2,?3,?4,?5,?6,?7,?8,0,0,0,?15,0,?16,?17,?9,?10,?11,?12,"
        "?13,?14)",
    [TIP] = "INSERT OR REPLACE INTO tip VALUES(?1,?2,?3)",
    [PUT] = "UPDATE conv SET attach=?2,render=?3,mode=iif(" IS_OFF
            ",mode,?4),"
            "stopped_at=iif(" IS_OFF ",0,?5),first_edit=?6,budget=?7,stop=iif(" IS_OFF
            ",stop,?8),"
            "still=?9,cold=?10,begun=?11,budget_at=?12 WHERE id=?1",
    [TURN] = "UPDATE conv SET tip=max(tip,?2),used=?3 WHERE id=?1",
    [TOLD] =
        "UPDATE conv SET prompt=?2,cached=?3,written=?4,raw=?5,bad=?6,last=?7,model=?8"
        " WHERE id=?1 AND last<=?7",
    [WARM] = "UPDATE conv SET last=?2 WHERE id=?1 AND last<?2",
    [LOG] =
        "INSERT OR REPLACE INTO request VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,"
        "?15,?16,?17,?18,?19,?20,?21,?22,?23,?24)",
    [STOP] = "UPDATE conv SET mode=?2,stop=?3 WHERE id=?1 AND mode=0",
    [COUNT] = "SELECT count(*) FROM tip WHERE conv=?1",
    [TIPS] = "SELECT n,hash FROM tip WHERE conv=?1 AND length(hash)=16 ORDER BY n LIMIT ?2",
    [THIN] = "DELETE FROM tip WHERE hash=?1",
};

struct record {
    struct store *shared; /* conversations lie there; NULL: here */
    sqlite3 *from, *to;   /* for reading, for writing */
    sqlite3_stmt *st[STATEMENTS];
    pthread_mutex_t reading, writing;
    struct claim *claims[CLAIMS]; /* by conversation; under `reading` */
    unsigned logged;
};

/* ---- small tools; the lock is held ----------------------------------------------------------- */

static sqlite3_stmt *begin(struct record *r, int which, int64_t first) {
    sqlite3_stmt *st = r->st[which];
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    sqlite3_bind_int64(st, 1, first);
    return st;
}

static void bind(sqlite3_stmt *st, int i, uint64_t v) { sqlite3_bind_int64(st, i, (int64_t)v); }

static void bind_text(sqlite3_stmt *st, int i, const char *s) {
    sqlite3_bind_text(st, i, s ? s : "", -1, SQLITE_TRANSIENT);
}

static bool done(sqlite3_stmt *st) {
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return rc == SQLITE_DONE;
}

static uint64_t column(sqlite3_stmt *st, int i) { return (uint64_t)sqlite3_column_int64(st, i); }

static void column_text(sqlite3_stmt *st, int i, char *to, size_t cap) {
    const unsigned char *s = sqlite3_column_text(st, i);
    snprintf(to, cap, "%s", s ? (const char *)s : "");
}

/* ---- open ------------------------------------------------------------------------------------ */

/* Old rows go, and what is new is moved into the file. */
static void tidy(struct record *r) {
    char text[512];
    int64_t before = (int64_t)time(NULL) - KEEP_DAYS * 86400;
    snprintf(text, sizeof text,
             "DELETE FROM tip WHERE conv IN (SELECT id FROM conv WHERE used<%" PRId64
             ");"
             "DELETE FROM conv WHERE used<%" PRId64
             ";"
             "DELETE FROM request WHERE id <= (SELECT id FROM request ORDER BY id DESC LIMIT 1"
             " OFFSET %d);",
             before, before, KEEP_REQUESTS);
    sqlite3_exec(r->to, text, NULL, NULL, NULL);
    sqlite3_wal_checkpoint_v2(r->to, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

/* Made with its mode before SQLite sees it. */
static bool make_file(const char *path) {
    char *dir = strdup(path);
    for (char *p = dir ? strchr(dir + 1, '/') : NULL; p; p = strchr(p + 1, '/')) {
        *p = '\0';
        (void)mkdir(dir, 0700);
        *p = '/';
    }
    free(dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static bool layout_is_ours(sqlite3 *db) {
    sqlite3_stmt *st = NULL;
    bool ours = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL) == SQLITE_OK &&
                sqlite3_step(st) == SQLITE_ROW &&
                sqlite3_column_int(st, 0) == (int)strtol(LAYOUT, NULL, 10);
    sqlite3_finalize(st);
    return ours;
}

static bool run(sqlite3 *db, const char *text) {
    return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK;
}

struct record *record_open(const char *path) {
    struct record *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    pthread_mutex_init(&r->reading, NULL);
    pthread_mutex_init(&r->writing, NULL);
    bool made = make_file(path);
    if (!made) complain("cannot open '%s': %s", path, strerror(errno));
    bool ok = made && sqlite3_open(path, &r->to) == SQLITE_OK && run(r->to, settings);
    if (ok && !layout_is_ours(r->to)) {
        ok = run(r->to, other_layout);
        for (size_t i = 0; i < sizeof later / sizeof *later; i++) (void)run(r->to, later[i]);
    }
    ok = ok && run(r->to, schema) && sqlite3_open(path, &r->from) == SQLITE_OK &&
         run(r->from, settings);
    for (int i = 0; ok && i < STATEMENTS; i++)
        ok = sqlite3_prepare_v2(i < READS ? r->from : r->to, sql[i], -1, &r->st[i], NULL) ==
             SQLITE_OK;
    if (ok) {
        tidy(r);
        return r;
    }
    if (made) complain("cannot use '%s': %s", path, r->to ? sqlite3_errmsg(r->to) : "no memory");
    record_close(r);
    return NULL;
}

void record_share(struct record *r, struct store *store) { r->shared = store; }

void record_close(struct record *r) {
    if (!r) return;
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(r->st[i]);
    sqlite3_close(r->from);
    sqlite3_close(r->to);
    pthread_mutex_destroy(&r->reading);
    pthread_mutex_destroy(&r->writing);
    free(r);
}

/* ---- conversations --------------------------------------------------------------------------- */

/* The deepest run of messages that is known; *n is its length, 0 if there is none. */
static bool find_tip(struct record *r, const struct scan *s, int64_t *conv, size_t *n) {
    for (size_t i = s->n; i > 0; i--) {
        sqlite3_stmt *st = begin(r, FIND, 0);
        sqlite3_bind_blob(st, 1, &s->at[i - 1], sizeof *s->at, SQLITE_STATIC);
        int rc = sqlite3_step(st);
        if (rc == SQLITE_ROW) {
            *conv = sqlite3_column_int64(st, 0);
            *n = i;
        }
        sqlite3_reset(st);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE) return false;
        if (rc == SQLITE_ROW) return true;
    }
    *n = 0;
    return true;
}

static bool get(struct record *r, int64_t id, struct conv *c, uint64_t *tip) {
    sqlite3_stmt *st = begin(r, GET, id);
    bool ok = sqlite3_step(st) == SQLITE_ROW;
    if (ok) {
        *tip = column(st, 0);
        *c = (struct conv){.id = id,
                           .attach = column(st, 1),
                           .render = column(st, 2),
                           .mode = column(st, 3),
                           .stopped_at = column(st, 4),
                           .first_edit = column(st, 5),
                           .budget = column(st, 6),
                           .prompt = column(st, 8),
                           .cached = column(st, 9),
                           .written = column(st, 10),
                           .raw = column(st, 11),
                           .bad_turns = column(st, 12),
                           .last = sqlite3_column_int64(st, 13),
                           .budget_at = column(st, 19)};
        column_text(st, 7, c->stop, sizeof c->stop);
        column_text(st, 14, c->model, sizeof c->model);
        column_text(st, 15, c->name, sizeof c->name);
        column_text(st, 16, c->still, sizeof c->still);
        column_text(st, 17, c->cold, sizeof c->cold);
        column_text(st, 18, c->begun, sizeof c->begun);
    }
    sqlite3_reset(st);
    return ok;
}

/* Numbers of a list up to n. */
static void keep_up_to(char *list, size_t n) {
    for (char *p = list; *p;) {
        char *end;
        if (strtoull(p, &end, 10) > n) {
            p[p > list ? -1 : 0] = '\0';
            return;
        }
        p = *end ? end + 1 : end;
    }
}

/* What a branch that leaves after `n` messages has in common with the one it leaves. The library
 * may count a system text in front, so numbers up to n + 1 are of these messages. What was cached
 * of the other's last turn is not this one's, but it kept the common part warm. */
static void branch(struct conv *c, size_t n) {
    struct conv old = *c;
    *c = (struct conv){.attach = old.attach, .render = old.render, .budget = old.budget};
    c->budget_at = old.budget_at;
    c->last = old.last;
    c->raw = old.raw;
    memcpy(c->model, old.model, sizeof c->model);
    if (old.first_edit <= n) c->first_edit = old.first_edit;
    memcpy(c->begun, old.begun, sizeof c->begun);
    memcpy(c->name, old.name, sizeof c->name);
    memcpy(c->still, old.still, sizeof c->still);
    memcpy(c->cold, old.cold, sizeof c->cold);
    keep_up_to(c->still, n + 1);
    keep_up_to(c->cold, n + 1);
    if (old.mode != MODE_RUNS && old.stopped_at <= n + 1) {
        c->mode = old.mode;
        c->stopped_at = old.stopped_at;
        memcpy(c->stop, old.stop, sizeof c->stop);
    }
}

static bool insert(struct record *r, struct conv *c, size_t tip) {
    sqlite3_stmt *st = begin(r, NEW, (int64_t)tip);
    bind(st, 2, c->attach);
    bind(st, 3, c->render);
    bind(st, 4, c->mode);
    bind(st, 5, c->stopped_at);
    bind(st, 6, c->first_edit);
    bind(st, 7, c->budget);
    bind_text(st, 8, c->stop);
    sqlite3_bind_int64(st, 9, (int64_t)time(NULL));
    bind_text(st, 10, c->name);
    bind_text(st, 11, c->still);
    bind_text(st, 12, c->cold);
    bind_text(st, 13, c->begun);
    bind(st, 14, c->budget_at);
    bind(st, 15, c->raw);
    sqlite3_bind_int64(st, 16, c->last);
    bind_text(st, 17, c->model);
    if (!done(st)) return false;
    c->id = sqlite3_last_insert_rowid(r->to);
    return true;
}

static bool put_tip(struct record *r, const struct conv *c, size_t n) {
    sqlite3_stmt *st = begin(r, TIP, 0);
    sqlite3_bind_blob(st, 1, &c->tip, sizeof c->tip, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, c->id);
    bind(st, 3, n);
    return done(st);
}

void record_begin(struct conv *c, const struct scan *s, size_t n, bool known) {
    if (n > 0 && !known) branch(c, n);
    if (n == 0) *c = (struct conv){.attach = s->answered ? ATTACH_NOW : 0};
    if (!known && !c->name[0]) snprintf(c->name, sizeof c->name, "%016" PRIx64, s->at[s->n - 1].lo);
    c->tip = s->at[s->n - 1];
}

static bool is_on(const struct scan *s, const struct claim *k) {
    return k->n <= s->n && memcmp(&s->at[k->n - 1], &k->tip, sizeof k->tip) == 0;
}

/* Requests under way count as if their turns were over; those before this one keep it warm. */
static void see_claims(const struct record *r, const struct scan *s, struct conv *c, size_t *n,
                       uint64_t *tip) {
    for (const struct claim *k = r->claims[(uint64_t)c->id % CLAIMS]; k; k = k->next) {
        if (k->conv != c->id) continue;
        if (k->n > *tip) *tip = k->n;
        if (!is_on(s, k)) continue;
        if (k->n > *n) *n = k->n;
        if (c->last) c->last = (int64_t)time(NULL);
    }
}

static void claim(struct record *r, const struct conv *c, size_t n, struct claim *k) {
    struct claim **at = &r->claims[(uint64_t)c->id % CLAIMS];
    *k = (struct claim){.next = *at, .link = at, .conv = c->id, .n = n, .tip = c->tip};
    if (*at) (*at)->link = &k->next;
    *at = k;
}

void record_release(struct record *r, struct claim *k) {
    if (!k->conv) return;
    pthread_mutex_lock(&r->reading);
    *k->link = k->next;
    if (k->next) k->next->link = k->link;
    pthread_mutex_unlock(&r->reading);
}

/* Reads only. c->id is 0 for one that is new, or a branch. */
static bool find(struct record *r, const struct scan *s, struct conv *c) {
    int64_t id = 0;
    size_t n = 0;
    uint64_t tip = 0;
    if (!find_tip(r, s, &id, &n)) return false;
    if (n > 0 && !get(r, id, c, &tip)) n = 0; /* its record was purged */
    if (n > 0) see_claims(r, s, c, &n, &tip);
    record_begin(c, s, n, n > 0 && n >= tip);
    return true;
}

static bool end(struct record *r, bool ok) {
    ok = run(r->to, ok ? "COMMIT" : "ROLLBACK") && ok;
    if (!ok && !sqlite3_get_autocommit(r->to)) run(r->to, "ROLLBACK");
    return ok;
}

/* A new one is written before anything is sent. One that is known keeps the tip it has until its
 * turn is over: the next request is found by either. */
bool record_find(struct record *r, const struct scan *s, bool peek, struct conv *c,
                 struct claim *k) {
    *c = (struct conv){0};
    if (r->shared) return shared_find(r->shared, s, peek, c);
    pthread_mutex_lock(&r->reading);
    bool ok =
        run(r->from, "BEGIN") && find(r, s, c); /* a tip and its conversation as of one moment */
    run(r->from, "COMMIT");
    if (ok && c->id && !peek) claim(r, c, s->n, k);
    pthread_mutex_unlock(&r->reading);
    if (!ok || c->id || peek) return ok;
    pthread_mutex_lock(&r->writing);
    ok = run(r->to, "BEGIN IMMEDIATE");
    if (ok) ok = end(r, insert(r, c, s->n) && put_tip(r, c, s->n));
    pthread_mutex_unlock(&r->writing);
    return ok;
}

bool record_put(struct record *r, const struct conv *c) {
    if (r->shared) return shared_put(r->shared, c);
    pthread_mutex_lock(&r->writing);
    sqlite3_stmt *st = begin(r, PUT, c->id);
    bind(st, 2, c->attach);
    bind(st, 3, c->render);
    bind(st, 4, c->mode);
    bind(st, 5, c->stopped_at);
    bind(st, 6, c->first_edit);
    bind(st, 7, c->budget);
    bind_text(st, 8, c->stop);
    bind_text(st, 9, c->still);
    bind_text(st, 10, c->cold);
    bind_text(st, 11, c->begun);
    bind(st, 12, c->budget_at);
    bool ok = done(st);
    pthread_mutex_unlock(&r->writing);
    return ok;
}

void record_warm(struct record *r, int64_t id) {
    if (r->shared) return; /* noted when it was found */
    pthread_mutex_lock(&r->writing);
    sqlite3_stmt *st = begin(r, WARM, id);
    sqlite3_bind_int64(st, 2, (int64_t)time(NULL));
    (void)done(st);
    pthread_mutex_unlock(&r->writing);
}

/* What the answer told, if no later one has told more. */
static bool put_turn(struct record *r, const struct conv *c, size_t n) {
    sqlite3_stmt *st = begin(r, TURN, c->id);
    bind(st, 2, n);
    sqlite3_bind_int64(st, 3, (int64_t)time(NULL));
    if (!done(st)) return false;
    st = begin(r, TOLD, c->id);
    bind(st, 2, c->prompt);
    bind(st, 3, c->cached);
    bind(st, 4, c->written);
    bind(st, 5, c->raw);
    bind(st, 6, c->bad_turns);
    sqlite3_bind_int64(st, 7, c->last);
    bind_text(st, 8, c->model);
    return done(st);
}

static bool begins_alike(const struct conv *c, size_t n, size_t m) {
    struct conv a = *c, b = *c;
    branch(&a, n);
    branch(&b, m);
    return a.first_edit == b.first_edit && a.mode == b.mode && strcmp(a.still, b.still) == 0 &&
           strcmp(a.cold, b.cold) == 0;
}

/* Leaves out tips that tell nothing. */
static bool thin(struct record *r, const struct conv *c) {
    struct {
        size_t n;
        struct chain hash;
    } at[MOST_THINNED], *kept = at;
    sqlite3_stmt *st = begin(r, COUNT, c->id);
    size_t rows = 0, count = sqlite3_step(st) == SQLITE_ROW ? (size_t)column(st, 0) : 0;
    sqlite3_reset(st);
    if (count <= 2 * NEWEST) return true;
    st = begin(r, TIPS, c->id);
    bind(st, 2, count - NEWEST < MOST_THINNED ? count - NEWEST : MOST_THINNED);
    for (; rows < MOST_THINNED && sqlite3_step(st) == SQLITE_ROW; rows++) {
        at[rows].n = (size_t)column(st, 0);
        memcpy(&at[rows].hash, sqlite3_column_blob(st, 1), sizeof at->hash);
    }
    sqlite3_reset(st);
    bool ok = true;
    for (size_t i = 1; ok && i < rows; i++) {
        if (!begins_alike(c, kept->n, at[i].n)) {
            kept = &at[i];
            continue;
        }
        st = begin(r, THIN, 0);
        sqlite3_bind_blob(st, 1, &at[i].hash, sizeof at->hash, SQLITE_STATIC);
        ok = done(st);
    }
    return ok;
}

bool record_off(struct record *r, int64_t id, const char *why) {
    pthread_mutex_lock(&r->writing);
    sqlite3_stmt *st = begin(r, STOP, id);
    bind(st, 2, MODE_LEAVING);
    bind_text(st, 3, why);
    bool ok = done(st) && sqlite3_changes(r->to) > 0;
    pthread_mutex_unlock(&r->writing);
    return ok;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int64_t span(int64_t from, int64_t to) { return from && to > from ? to - from : 0; }

static bool put_log(struct record *r, const struct xfer *x) {
    sqlite3_stmt *st = begin(r, LOG, (int64_t)x->id);
    char path[96];
    snprintf(path, sizeof path, "%.*s", (int)strcspn(x->uri, "?"), x->uri);
    sqlite3_bind_int64(st, 2, (int64_t)time(NULL));
    sqlite3_bind_int64(st, 3, x->conv.id);
    bind_text(st, 4, providers[x->route.provider].name);
    bind_text(st, 5, x->model);
    bind_text(st, 6, path);
    bind(st, 7, (uint64_t)x->status);
    bind(st, 8, x->rung);
    bind_text(st, 9, x->reason);
    bind_text(st, 10, x->what);
    bind(st, 11, x->scan.n);
    bind(st, 12, x->stats.bytes_in);
    bind(st, 13, x->stats.bytes_out);
    bind(st, 14, x->stats.edits);
    bind(st, 15, x->stats.cuts);
    bind(st, 16, usage_prompt(&x->usage));
    bind(st, 17, x->usage.cached);
    bind(st, 18, x->usage.written);
    bind(st, 19, x->usage.output);
    sqlite3_bind_double(st, 20, x->cost);
    sqlite3_bind_double(st, 21, x->saved);
    sqlite3_bind_int64(st, 22, x->work_us);
    sqlite3_bind_int64(st, 23, span(x->t_sent, x->t_head));
    sqlite3_bind_int64(st, 24, span(x->t_begin, x->t_end));
    return done(st);
}

void record_turn(struct record *r, const struct xfer *x) {
    const struct conv *c = &x->conv;
    bool turn = c->id && !x->route.counts;
    if (turn && r->shared) {
        (void)shared_turn(r->shared, c); /* its tip was written when it was found */
        turn = false;
    }
    pthread_mutex_lock(&r->writing);
    if (run(r->to, "BEGIN IMMEDIATE")) {
        bool ok = !turn || (put_tip(r, c, x->scan.n) && put_turn(r, c, x->scan.n) && thin(r, c));
        (void)end(r, ok && put_log(r, x));
    }
    if (++r->logged % TIDY == 0) tidy(r);
    pthread_mutex_unlock(&r->writing);
}

/* ---- for people ------------------------------------------------------------------------------ */

static const char about_one[] =
    "SELECT printf('%x',r.id) AS request, datetime(at,'unixepoch')||' UTC' AS at, path,"
    " provider||', '||r.model AS 'for', status,"
    " CASE WHEN rung=1 THEN 'the original, after a refusal'"
    "  WHEN rung=2 THEN 'the exit body, after a refusal'"
    "  WHEN bytes_out<bytes_in THEN 'a shorter body' ELSE 'the body as it came' END AS sent,"
    " reason AS because, what AS went,"
    " printf('%d bytes in %d messages, %d bytes sent, %d edits',bytes_in,messages,bytes_out,edits)"
    "  AS size,"
    " printf('%d tokens, %d of them from the cache, %d written to it',r.prompt,r.cached,r.written)"
    "  AS prompt, output||' tokens' AS output,"
    " printf('%.0f uncached tokens, %s %.0f against no paucis',cost,"
    "  CASE WHEN saved<0 THEN 'lost' ELSE 'saved' END,abs(saved)) AS cost,"
    " printf('decision %.1f ms, first byte %.1f ms after it was sent, all %.1f ms',"
    "  work_us/1e3,head_us/1e3,total_us/1e3) AS time,"
    " printf('%d, %d cuts so far',r.conv,cuts) AS conversation,"
    " CASE c.mode WHEN 0 THEN 'runs' WHEN 1 THEN 'stopped: its forms stay'"
    "  WHEN 2 THEN 'stopped: sent as it comes' WHEN 3 THEN 'left: sent as it comes, without bound"
    " thinking' ELSE 'about to be left' END AS state, c.stop AS since,"
    " CASE WHEN c.attach>0 THEN printf('met after %d messages',c.attach) END AS attached,"
    " CASE WHEN c.budget>0 THEN printf('%d tokens, learnt from a refusal',c.budget) END AS window,"
    " c.begun AS options"
    " FROM request r LEFT JOIN conv c ON c.id=r.conv WHERE r.id=?1";
static const char about_all[] =
    "SELECT printf('%-13x %s %5d %-22.22s %3d %9d %9d %7d %7d %8.0f %s',id,"
    "strftime('%m-%d %H:%M:%S',at,'unixepoch'),conv,model,status,bytes_in,bytes_out,prompt,cached,"
    "saved,reason) FROM request ORDER BY id DESC LIMIT 50";

static const char *meaning(const char *reason) {
#define REASON(word, text) \
    if (strcmp(reason, word) == 0) return text;
#include "reasons.def"
#undef REASON
    return "";
}

static void add_row(sqlite3_stmt *st, struct buf *b) {
    for (int i = 0; i < sqlite3_column_count(st); i++) {
        const char *v = (const char *)sqlite3_column_text(st, i),
                   *name = sqlite3_column_name(st, i);
        if (!v || !*v) continue;
        buf_fmt(b, "%-13s %s", name, v);
        if (strcmp(name, "because") == 0) buf_fmt(b, ": %s", meaning(v));
        buf_str(b, "\n");
    }
}

/* One request in words, or the newest fifty, a line each. No texts are kept, so none appear. */
bool record_why(struct record *r, const char *id, struct buf *b) {
    sqlite3_stmt *st;
    bool found = false;
    if (sqlite3_prepare_v2(r->from, id ? about_one : about_all, -1, &st, NULL) != SQLITE_OK)
        return false;
    if (id) sqlite3_bind_int64(st, 1, (int64_t)strtoull(id, NULL, 16));
    for (; sqlite3_step(st) == SQLITE_ROW; found = true) {
        if (!id && !found)
            buf_str(b,
                    "request       time (UTC)      conv model                  status  bytes in"
                    "      sent  prompt  cached    saved because\n");
        if (id)
            add_row(st, b);
        else
            buf_fmt(b, "%s\n", (const char *)sqlite3_column_text(st, 0));
    }
    sqlite3_finalize(st);
    return found;
}
