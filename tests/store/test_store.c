/* The store by its interface: what is put comes back or is known to be gone, never anything else.
 * Every case has a file of its own; with STORE_URL the cases that do not look into the file run on
 * that store instead. */
#include "store.h"

#include "alloc.h"
#include "unit/test.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/paucis-store-XXXXXX";
static char path[64], url[80];
static int64_t clock_at = 1000000;
static int64_t clock_now(void) { return clock_at; }

static struct store *open_with(struct store_opts o) {
    char why[STORE_WHY] = "";
    struct store *s = NULL;
    o.url = url;
    o.now = clock_now;
    if (!store_open(&s, &o, why)) printf("  %s\n", why);
    return s;
}

static struct store *open_new(void) {
    static int number;
    const char *other = getenv("STORE_URL");
    snprintf(path, sizeof path, "%s/%d.db", folder, ++number);
    snprintf(url, sizeof url, "%s%s", other ? other : "sqlite:", other ? "" : path);
    return open_with((struct store_opts){0});
}

/* A text of its own for each number, n bytes long and hard to compress. */
static char *text_of(unsigned number, size_t n) {
    char *t = malloc(n + 1);
    uint64_t x = number * 0x9e3779b97f4a7c15u + 1;
    if (!t) exit(2);
    for (size_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        t[i] = (char)(' ' + (x >> 57) % 95);
    }
    t[n] = '\0';
    return t;
}

static enum store_err put(struct store *s, const char *conv, const char *text, size_t n,
                          struct hash *h) {
    struct store_batch b = {0};
    snprintf(b.conv, sizeof b.conv, "%s", conv);
    size_t i = batch_add(&b, KEPT_TEXT, text, n);
    *h = b.items[i].hash;
    enum store_err err = store_put(s, &b);
    batch_free(&b);
    return err;
}

static enum store_err get(struct store *s, const struct hash *h, const char *want, size_t n) {
    struct buf out = {0};
    buf_str(&out, "front");
    enum store_err err = store_get(s, h, &out);
    CHECK(!memcmp(out.data, "front", 5));
    CHECK(err ? out.len == 5 : out.len == n + 5 && !memcmp(out.data + 5, want, n));
    buf_free(&out);
    return err;
}

static enum store_err find(struct store *s, const struct hash *h, size_t digits, const char *conv) {
    char hex[HASH_DIGITS + 1];
    struct hash found;
    hash_hex(h, hex);
    hex[digits] = '\0';
    enum store_err err = store_find(s, hex, conv, &found);
    CHECK(err || hash_same(&found, h));
    return err;
}

/* SQL on the file, behind the store's back. */
static void meddle(const char *sql) {
    sqlite3 *db = NULL;
    char *fault = NULL;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    if (!CHECK(sqlite3_exec(db, sql, NULL, NULL, &fault) == SQLITE_OK)) printf("  %s\n", fault);
    sqlite3_free(fault);
    sqlite3_close(db);
}

static bool in_file(const char *what) {
    static char all[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(all, 1, sizeof all, f) : 0, len = strlen(what);
    if (f) fclose(f);
    for (size_t i = 0; i + len <= n; i++)
        if (!memcmp(all + i, what, len)) return true;
    return false;
}

static bool inside(void) { return !getenv("STORE_URL"); }

/* ---- cases ---------------------------------------------------------------------------------- */

static void keeps(void) {
    static const struct {
        const char *at;
        size_t len;
    } texts[] = {{"", 0}, {"a", 1}, {"a\0b", 3}, {"\xff\xfe not UTF-8", 12}, {"[full text: x", 13}};
    struct store *s = open_new();
    struct hash h;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_EQ(put(s, "c", texts[i].at, texts[i].len, &h), STORE_OK);
        CHECK_EQ(get(s, &h, texts[i].at, texts[i].len), STORE_OK);
        CHECK_EQ(find(s, &h, HANDLE_DIGITS, NULL), STORE_OK);
        CHECK_EQ(find(s, &h, HASH_DIGITS, NULL), STORE_OK);
    }
    char *large = text_of(1, 3000000);
    memset(large + 1000, 'x', 2000000);
    CHECK_EQ(put(s, "c", large, 3000000, &h), STORE_OK);
    CHECK_EQ(get(s, &h, large, 3000000), STORE_OK);
    free(large);
    hash_of("never put", 9, &h);
    CHECK_EQ(get(s, &h, "", 0), STORE_ABSENT);
    CHECK_EQ(find(s, &h, HANDLE_DIGITS, NULL), STORE_ABSENT);
    store_close(s);
}

static bool count_row(void *ud, const struct store_row *row) {
    (void)row;
    ++*(size_t *)ud;
    return true;
}

static void once(void) {
    struct store *s = open_new();
    struct store_sums before, after;
    struct hash h;
    char *t = text_of(2, 10000);
    CHECK_EQ(put(s, "c", t, 10000, &h), STORE_OK);
    CHECK_EQ(store_sums(s, &before), STORE_OK);
    for (int i = 0; i < 3; i++) CHECK_EQ(put(s, "other", t, 10000, &h), STORE_OK);
    CHECK_EQ(store_sums(s, &after), STORE_OK);
    CHECK_EQ(after.texts, before.texts);
    CHECK_EQ(after.stored, before.stored);
    size_t rows = 0;
    CHECK_EQ(store_each(s, "other", 0, count_row, &rows), STORE_OK);
    CHECK_EQ(rows, 1);
    free(t);
    store_close(s);
}

static void given(void) {
    struct store *s = open_new();
    struct hash h;
    CHECK_EQ(put(s, "mine", "some text of mine", 17, &h), STORE_OK);
    CHECK_EQ(find(s, &h, HANDLE_DIGITS, "mine"), STORE_OK);
    CHECK_EQ(find(s, &h, HANDLE_DIGITS, "yours"), STORE_ABSENT);
    CHECK_EQ(find(s, &h, HANDLE_DIGITS - 1, NULL), STORE_ABSENT);
    struct hash out;
    CHECK_EQ(store_find(s, "0123456789abcdeg", NULL, &out), STORE_ABSENT);
    CHECK_EQ(store_find(s, "", NULL, &out), STORE_ABSENT);
    store_close(s);
}

/* Two texts may be made to share a handle. */
static void ambiguous(void) {
    if (!inside()) return;
    struct store *s = open_new();
    struct hash h;
    CHECK_EQ(put(s, "c", "one of two", 10, &h), STORE_OK);
    meddle(
        "INSERT INTO text SELECT CAST(substr(hash,1,31)||x'41' AS BLOB),1,1,1,1,0,x'00' FROM text");
    char hex[HASH_DIGITS + 1];
    struct hash found;
    hash_hex(&h, hex);
    hex[HANDLE_DIGITS] = '\0';
    CHECK_EQ(store_find(s, hex, NULL, &found), STORE_AMBIGUOUS);
    CHECK_EQ(find(s, &h, HASH_DIGITS, NULL), STORE_OK);
    store_close(s);
}

static void evicts_by_size(void) {
    if (!inside()) return;
    struct store *s = open_new();
    store_close(s);
    s = open_with((struct store_opts){.max_bytes = 200000});
    struct hash h[50];
    char *t[50];
    for (unsigned i = 0; i < 50; i++) {
        clock_at += 10;
        t[i] = text_of(i, 10000);
        CHECK_EQ(put(s, "c", t[i], 10000, &h[i]), STORE_OK);
        if (i >= 5) CHECK_EQ(store_recalled(s, &h[3]), STORE_OK); /* 3 is used all the time */
    }
    struct store_sums sums;
    CHECK_EQ(store_sums(s, &sums), STORE_OK);
    CHECK(sums.stored <= 200000 && sums.stored > 150000);
    CHECK_EQ(sums.evicted + sums.texts, 50);
    CHECK_EQ(get(s, &h[0], t[0], 10000), STORE_EVICTED);
    CHECK_EQ(find(s, &h[0], HANDLE_DIGITS, NULL), STORE_OK); /* it is known that it was here */
    CHECK_EQ(get(s, &h[3], t[3], 10000), STORE_OK);
    CHECK_EQ(get(s, &h[49], t[49], 10000), STORE_OK);
    CHECK_EQ(put(s, "c", t[0], 10000, &h[0]), STORE_OK); /* put anew it is back */
    CHECK_EQ(get(s, &h[0], t[0], 10000), STORE_OK);
    for (int i = 0; i < 50; i++) free(t[i]);
    store_close(s);
}

static void evicts_by_age(void) {
    if (!inside()) return;
    struct store *s = open_new();
    struct hash old, used, fresh;
    CHECK_EQ(put(s, "c", "an old text", 11, &old), STORE_OK);
    CHECK_EQ(put(s, "c", "a text that is used", 19, &used), STORE_OK);
    clock_at += 20 * 86400;
    CHECK_EQ(put(s, "c", "a text that is used", 19, &used), STORE_OK);
    CHECK_EQ(get(s, &old, "an old text", 11), STORE_OK);
    clock_at += 11 * 86400;
    CHECK_EQ(put(s, "c", "a new text", 10, &fresh), STORE_OK);
    CHECK_EQ(get(s, &old, "an old text", 11), STORE_EVICTED);
    CHECK_EQ(get(s, &used, "a text that is used", 19), STORE_OK);
    clock_at += 320ll * 86400; /* at last even that is forgotten */
    CHECK_EQ(store_evict(s), STORE_OK);
    clock_at += 320ll * 86400;
    CHECK_EQ(put(s, "c", "another new text", 16, &fresh), STORE_OK);
    CHECK_EQ(store_evict(s), STORE_OK);
    CHECK_EQ(get(s, &old, "an old text", 11), STORE_ABSENT);
    store_close(s);
}

static void damage_is_seen(void) {
    static const char *const ways[] = {
        "UPDATE text SET data=zeroblob(length(data))",
        "UPDATE text SET data=substr(data,1,length(data)-1)",
        "UPDATE text SET data=x''",
        "UPDATE text SET data=x'01'",
        "UPDATE text SET data=x'00'||data",
        "UPDATE text SET data=x'ff'||substr(data,2)",
        "UPDATE text SET data=x'02'||substr(data,2)",
        "UPDATE text SET data=x'0128b52ffdffffffffffffffff'",
        "UPDATE text SET data=NULL",
    };
    if (!inside()) return;
    struct hash h;
    char t[4000];
    memset(t, 'a', sizeof t);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        TEST_NOTE("%s", ways[i]);
        struct store *s = open_new();
        CHECK_EQ(put(s, "c", t, sizeof t, &h), STORE_OK);
        meddle(ways[i]);
        CHECK_EQ(get(s, &h, t, sizeof t), STORE_DAMAGED);
        store_close(s);
    }
}

static void encrypts(void) {
    unsigned char key[KEY_SIZE] = "0123456789abcdef0123456789abcde", other[KEY_SIZE] = "other";
    static const char secret[] = "a secret that must not lie in the file, a secret that must not";
    struct hash h, plain;
    char why[STORE_WHY];
    struct store *s = open_new();
    if (!inside()) return store_close(s);
    CHECK_EQ(put(s, "c", "written before there was a key", 30, &plain), STORE_OK);
    store_close(s);
    s = open_with((struct store_opts){.key = key});
    CHECK_EQ(put(s, "c", secret, sizeof secret, &h), STORE_OK);
    CHECK_EQ(get(s, &h, secret, sizeof secret), STORE_OK);
    CHECK_EQ(get(s, &plain, "written before there was a key", 30), STORE_OK);
    store_close(s);
    CHECK(!in_file("a secret") && in_file("written before"));
    struct store_opts o = {.url = url};
    CHECK(!store_open(&s, &o, why) && strstr(why, "needs its key"));
    o.key = other;
    CHECK(!store_open(&s, &o, why) && strstr(why, "not the one"));
    s = open_with((struct store_opts){.key = key});
    CHECK_EQ(get(s, &h, secret, sizeof secret), STORE_OK);
    meddle("UPDATE text SET data=substr(data,1,20)||zeroblob(8)||substr(data,29)");
    CHECK_EQ(get(s, &h, secret, sizeof secret), STORE_DAMAGED);
    store_close(s);
}

static void purges(void) {
    struct store *s = open_new();
    struct hash mine, ours, yours;
    uint64_t count;
    CHECK_EQ(put(s, "purge-mine", "mine alone", 10, &mine), STORE_OK);
    CHECK_EQ(put(s, "purge-mine", "both have it", 12, &ours), STORE_OK);
    CHECK_EQ(put(s, "purge-yours", "both have it", 12, &ours), STORE_OK);
    CHECK_EQ(put(s, "purge-yours", "yours alone", 11, &yours), STORE_OK);
    CHECK_EQ(store_record_put(s, "purge-mine", "r", 1, 0), STORE_OK);
    CHECK_EQ(store_purge(s, "purge-mine", &count), STORE_OK);
    CHECK_EQ(count, 1);
    CHECK_EQ(get(s, &mine, "", 0), STORE_ABSENT); /* no trace of it, not even as evicted */
    CHECK_EQ(get(s, &ours, "both have it", 12), STORE_OK);
    CHECK_EQ(get(s, &yours, "yours alone", 11), STORE_OK);
    CHECK_EQ(find(s, &ours, HANDLE_DIGITS, "purge-mine"), STORE_ABSENT);
    uint64_t version;
    struct buf b = {0};
    CHECK_EQ(store_record_get(s, "purge-mine", &b, &version), STORE_ABSENT);
    CHECK_EQ(store_purge(s, "purge-yours", &count), STORE_OK);
    CHECK_EQ(count, 2);
    struct store_sums sums;
    CHECK_EQ(store_sums(s, &sums), STORE_OK);
    CHECK(!inside() || (!sums.texts && !sums.stored && !sums.conversations));
    buf_free(&b);
    store_close(s);
}

static void records(void) {
    struct store *s = open_new();
    struct buf b = {0};
    uint64_t version = 7, first;
    CHECK_EQ(store_record_get(s, "conv-r", &b, &version), STORE_ABSENT);
    CHECK_EQ(version, 0);
    CHECK_EQ(store_record_put(s, "conv-r", "one", 3, 0), STORE_OK);
    CHECK_EQ(store_record_put(s, "conv-r", "two", 3, 0), STORE_CONFLICT);
    CHECK_EQ(store_record_get(s, "conv-r", &b, &first), STORE_OK);
    CHECK(b.len == 3 && !memcmp(b.data, "one", 3) && first > 0);
    CHECK_EQ(store_record_put(s, "conv-r", "", 0, first), STORE_OK);
    CHECK_EQ(store_record_put(s, "conv-r", "three", 5, first), STORE_CONFLICT);
    b.len = 0;
    CHECK_EQ(store_record_get(s, "conv-r", &b, &version), STORE_OK);
    CHECK(b.len == 0 && version != first);
    uint64_t count;
    CHECK_EQ(store_purge(s, "conv-r", &count), STORE_OK);
    buf_free(&b);
    store_close(s);
}

static void is_private(void) {
    if (!inside()) return;
    static const char *const endings[] = {"", "-wal", "-shm"};
    struct stat st;
    struct hash h;
    char name[80];
    mode_t old = umask(0);
    struct store *s = open_new();
    umask(old);
    CHECK_EQ(put(s, "c", "private", 7, &h), STORE_OK);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        CHECK(stat(name, &st) == 0 && (st.st_mode & 0777) == 0600);
    }
    store_close(s);
    CHECK(chmod(path, 0644) == 0); /* somebody was careless */
    store_close(open_with((struct store_opts){0}));
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
}

static void refuses(void) {
    char why[STORE_WHY];
    struct store *s;
    struct store_opts o = {.url = "ftp://x"};
    CHECK(!store_open(&s, &o, why) && !s && strstr(why, "sqlite:PATH"));
    o.url = "sqlite:/proc/no/such";
    CHECK(!store_open(&s, &o, why) && strstr(why, "/proc/no/such"));
    o = (struct store_opts){.url = "sqlite:/tmp/paucis-no-such.db", .must_exist = true};
    CHECK(!store_open(&s, &o, why) && access("/tmp/paucis-no-such.db", F_OK) != 0);
    if (!inside()) return;
    s = open_new();
    meddle("PRAGMA user_version=99");
    store_close(s);
    o = (struct store_opts){.url = url};
    CHECK(!store_open(&s, &o, why) && strstr(why, "another version"));
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < 1000; i++) fputs("this is not a database\n", f);
    if (f) fclose(f);
    CHECK(!store_open(&s, &o, why) && strstr(why, "not a database"));
}

/* What was put in a hurry is there at once, and squeezed it takes as much room as after a patient
 * put; a second squeeze changes nothing. */
static void squeezes(void) {
    enum { COUNT = 40, LONG = 9000 };
    char *t = malloc(COUNT * LONG);
    for (size_t i = 0; i < COUNT * LONG; i++) t[i] = (char)('a' + i % 7 + i / LONG % 19);
    struct store_sums sums[2][2];
    for (int quick = 0; quick < 2; quick++) {
        struct store *s = open_new();
        struct store_batch b = {.conv = "hurry", .quick = quick};
        for (size_t i = 0; i < COUNT; i++)
            batch_add(&b, KEPT_TEXT, t + i * LONG, LONG - i % 3 * 4499);
        CHECK_EQ(store_put(s, &b), STORE_OK);
        CHECK_EQ(store_sums(s, &sums[quick][0]), STORE_OK);
        for (int round = 0; round < 3; round++) {
            for (size_t i = 0; i < b.count; i++)
                CHECK_EQ(get(s, &b.items[i].hash, b.items[i].at, b.items[i].len), STORE_OK);
            CHECK_EQ(store_squeeze(s, &b), STORE_OK);
        }
        CHECK_EQ(store_sums(s, &sums[quick][1]), STORE_OK);
        batch_free(&b);
        store_close(s);
    }
    CHECK(!inside() || sums[1][0].stored > 2 * sums[0][0].stored);
    CHECK(!inside() || sums[1][1].stored == sums[0][1].stored);
    free(t);
}

/* A key seals what was compressed; one who evicts meanwhile is not overruled. */
static void squeezes_only_what_is_there(void) {
    unsigned char key[KEY_SIZE] = "0123456789abcdef0123456789abcde";
    char text[5000];
    uint64_t gone;
    memset(text, 'x', sizeof text);
    struct store *s = open_new();
    if (!inside()) return store_close(s);
    store_close(s);
    for (int sealed = 0; sealed < 2; sealed++) {
        s = open_with((struct store_opts){.key = sealed ? key : NULL});
        struct store_batch b = {.conv = "gone", .quick = true};
        batch_add(&b, KEPT_TEXT, text, sizeof text - (size_t)sealed);
        CHECK_EQ(store_put(s, &b), STORE_OK);
        CHECK(b.items[0].blob.len < 1000 || !sealed);
        CHECK_EQ(store_purge(s, "gone", &gone), STORE_OK);
        CHECK_EQ(store_squeeze(s, &b), STORE_OK);
        CHECK(get(s, &b.items[0].hash, text, b.items[0].len) != STORE_OK);
        struct store_sums sums;
        CHECK_EQ(store_sums(s, &sums), STORE_OK);
        CHECK_EQ(sums.stored, 0);
        batch_free(&b);
        store_close(s);
    }
}

/* Each allocation of the store fails once: an error or the right thing, and nothing leaks. */
static void survives_no_memory(void) {
    char *t = text_of(9, 5000);
    struct store *s = open_new();
    bool failed = true;
    for (size_t n = 1; failed && n < 200; n++) {
        struct store_batch b = {.quick = n % 2};
        struct buf out = {0};
        struct hash h;
        snprintf(b.conv, sizeof b.conv, "oom");
        hash_of(t + n, 4000, &h);
        alloc_fail_at(n);
        for (size_t k = 0; k < 40; k++) batch_add(&b, KEPT_PIECE, t + n + k, 4000 - k);
        enum store_err put_err = store_put(s, &b), get_err = STORE_ABSENT;
        if (!put_err) (void)store_squeeze(s, &b);
        if (!put_err) get_err = store_get(s, &h, &out);
        failed = alloc_failed();
        alloc_fail_at(0);
        CHECK(failed || !put_err);
        CHECK(put_err || failed || !get_err);
        CHECK(get_err || (out.len == 4000 && !memcmp(out.data, t + n, 4000)));
        if (!put_err) CHECK_EQ(get(s, &h, t + n, 4000), STORE_OK);
        batch_free(&b);
        buf_free(&out);
    }
    CHECK(!failed);
    free(t);
    store_close(s);
}

int main(void) {
    if (!mkdtemp(folder)) return 2;
    int code = TEST_RUN(CASE(keeps), CASE(once), CASE(given), CASE(ambiguous), CASE(evicts_by_size),
                        CASE(evicts_by_age), CASE(damage_is_seen), CASE(encrypts), CASE(purges),
                        CASE(records), CASE(is_private), CASE(refuses), CASE(squeezes),
                        CASE(squeezes_only_what_is_there), CASE(survives_no_memory));
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) ? 2 : code;
}
