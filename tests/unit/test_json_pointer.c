/* JSON pointers: the path of every node of a body, alone and all in one call, against a plain
 * descent. */
#include "json/json_pointer.h"

#include "limits.h"
#include "support.h"
#include "test.h"

struct reading {
    struct mem mem;
    struct arena arena;
    struct json json;
};

static bool reading_open(struct reading *r, struct bytes b) {
    paucis_error e;
    *r = (struct reading){.mem = {.held = 0}};
    r->arena.mem = &r->mem;
    return CHECK_EQ(paucis__json_read(&r->json, &r->mem, NULL, b.at, b.len, &e), PAUCIS_OK);
}

static void reading_close(struct reading *r) {
    VEC_FREE(&r->mem, r->json.nodes);
    paucis__arena_free(&r->arena);
    CHECK_EQ(r->mem.held, 0);
}

static const char *pointer_to(struct reading *r, size_t node) {
    uint32_t want = (uint32_t)node;
    const char *p = NULL;
    CHECK_EQ(paucis__json_pointers(&r->json, &r->arena, &want, 1, &p), PAUCIS_OK);
    return p;
}

/* Nodes in order, with the path each must have; a key's path is that of its value, a closing
 * node has none of its own and is left out. */
static const struct {
    const char *body;
    const char *path[12];
} picked[] = {
    {"1", {""}},
    {"{}", {""}},
    {"[10,[20],[],{'a':30}]", {"", "/0", "/1", "/1/0", NULL, "/2", NULL, "/3", "/3/a", "/3/a"}},
    {"{'a':{'b':[1]},'':2}", {"", "/a", "/a", "/a/b", "/a/b", "/a/b/0", NULL, NULL, "/", "/"}},
    {"{'a/b':1,'m~n':2,'~1':3}", {"", "/a~1b", "/a~1b", "/m~0n", "/m~0n", "/~01", "/~01"}},
    {"{'a\\/b\\u007e':1,'\\u00e9\\'':2,'x\\u0000y':3}",
     {"", "/a~1b~0", "/a~1b~0", "/\xc3\xa9\"", "/\xc3\xa9\"", "/x?y", "/x?y"}},
    {"{'a':1,'a':2}", {"", "/a", "/a", "/a", "/a"}},
    {"[0,1,2,3,4,5,6,7,8,9,10]",
     {"", "/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10"}},
};

static void picked_paths(void) {
    for (size_t i = 0; i < sizeof picked / sizeof *picked; i++) {
        struct bytes b = bytes_quoted(picked[i].body);
        struct reading r;
        TEST_NOTE("%s", picked[i].body);
        if (reading_open(&r, b))
            for (size_t n = 0; n < r.json.nodes.count && n < 12; n++)
                if (picked[i].path[n]) CHECK_STR(pointer_to(&r, n), picked[i].path[n]);
        reading_close(&r);
        bytes_free(&b);
    }
}

/* Follows a pointer down from the root; keys of the bodies used here need no escaping. */
static size_t follow(const struct json *j, const char *path) {
    size_t at = 0;
    while (*path == '/') {
        size_t len = strcspn(++path, "/"), found = 0, number = 0;
        if (json_is_object(j, at)) {
            found = paucis__json_get(j, at, path, len);
        } else {
            for (size_t i = 0; i < len; i++) number = number * 10 + (size_t)(path[i] - '0');
            for (JSON_EACH(j, i, at))
                if (number-- == 0) found = i;
        }
        if (!found) return SIZE_MAX;
        at = found;
        path += len;
    }
    return at;
}

/* Every value of the sample bodies, all in one call, by one call each, and with many left out. */
static void all_paths(void) {
    struct files f = files_bodies();
    uint64_t seed = 5;
    for (size_t i = 0; i < f.count; i++) {
        struct reading r;
        TEST_NOTE("%s", f.at[i].name);
        if (reading_open(&r, f.at[i].body)) {
            size_t n = 0, count = r.json.nodes.count;
            uint32_t *want = must_malloc(count * sizeof *want);
            const char **path = must_malloc(count * sizeof *path);
            for (size_t k = 0; k < count; k++) {
                bool closes = json_type(&r.json, k) == '}' || json_type(&r.json, k) == ']';
                bool key = json_is_string(&r.json, k) && json_is_key(&r.json, k);
                if (!closes && !key && random_below(&seed, 2 + i % 3)) want[n++] = (uint32_t)k;
            }
            CHECK_EQ(paucis__json_pointers(&r.json, &r.arena, want, n, path), PAUCIS_OK);
            for (size_t k = 0; k < n; k++) {
                CHECK_EQ(follow(&r.json, path[k]), want[k]);
                if (k % 7 == 0) CHECK_STR(pointer_to(&r, want[k]), path[k]);
            }
            free(want);
            free(path);
        }
        reading_close(&r);
    }
    files_free(&f);
}

/* The same node several times, and none at all. */
static void repeats(void) {
    struct bytes b = bytes_quoted("{'a':[{'b':1},2]}");
    struct reading r;
    if (reading_open(&r, b)) {
        static const uint32_t want[] = {0, 0, 2, 2, 5, 5, 7};
        const char *path[7];
        CHECK_EQ(paucis__json_pointers(&r.json, &r.arena, want, 7, path), PAUCIS_OK);
        CHECK_STR(path[1], "");
        CHECK_STR(path[3], "/a");
        CHECK_STR(path[4], "/a/0/b");
        CHECK_STR(path[5], "/a/0/b");
        CHECK_STR(path[6], "/a/1");
        CHECK_EQ(paucis__json_pointers(&r.json, &r.arena, want, 0, path), PAUCIS_OK);
    }
    reading_close(&r);
    bytes_free(&b);
}

/* The deepest body there may be: the innermost value, and every container on the way. */
static void deepest(void) {
    struct bytes open = bytes_repeat("", "[", PAUCIS_MAX_DEPTH, "7");
    struct bytes b = {must_malloc(open.len + PAUCIS_MAX_DEPTH), open.len + PAUCIS_MAX_DEPTH};
    memcpy(b.at, open.at, open.len);
    memset(b.at + open.len, ']', PAUCIS_MAX_DEPTH);
    struct reading r;
    if (reading_open(&r, b))
        for (size_t n = 0; n <= PAUCIS_MAX_DEPTH; n += 64) {
            const char *p = pointer_to(&r, n);
            CHECK_EQ(strlen(p), 2 * n);
            CHECK(n == 0 || (p[0] == '/' && p[2 * n - 1] == '0'));
        }
    reading_close(&r);
    bytes_free(&open);
    bytes_free(&b);
}

/* Many nodes below one long key: paths end early rather than grow with the square. */
static void long_keys(void) {
    enum { NODES = 4000, KEY = 40000 };
    struct bytes key = bytes_repeat("{\"", "k", KEY, "\":[0");
    struct bytes b = bytes_repeat("", ",0", NODES - 1, "]}");
    struct bytes all = {must_malloc(key.len + b.len), key.len + b.len};
    memcpy(all.at, key.at, key.len);
    memcpy(all.at + key.len, b.at, b.len);
    static uint32_t want[NODES];
    static const char *path[NODES];
    for (size_t i = 0; i < NODES; i++) want[i] = (uint32_t)(3 + i);
    struct reading r;
    if (reading_open(&r, all)) {
        CHECK_EQ(paucis__json_pointers(&r.json, &r.arena, want, NODES, path), PAUCIS_OK);
        CHECK_EQ(strlen(path[0]), 1 + KEY + 2);
        CHECK_STR(path[NODES - 1], "");
        CHECK(r.mem.peak < 400 * all.len);
    }
    reading_close(&r);
    bytes_free(&key);
    bytes_free(&b);
    bytes_free(&all);
}

int main(void) {
    return TEST_RUN(CASE(picked_paths), CASE(all_paths), CASE(repeats), CASE(deepest),
                    CASE(long_keys));
}
