/* See support.h. */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/format.h"

/* ---- surroundings -------------------------------------------------------------------------- */

static bool is_set(const char *name) {
    const char *val = getenv(name);
    return val && *val && strcmp(val, "0") != 0;
}

bool test_is_long(void) { return is_set("PAUCIS_LONG"); }
bool test_is_sanitized(void) { return is_set("SANITIZED"); }

/* ---- bytes --------------------------------------------------------------------------------- */

void *must_malloc(size_t n) {
    void *p = malloc(n ? n : 1);
    if (p) return p;
    (void)fprintf(stderr, "the test itself ran out of memory\n");
    exit(2);
}

struct bytes bytes_copy(const char *at, size_t len) {
    struct bytes b = {must_malloc(len), len};
    if (len) memcpy(b.at, at, len);
    return b;
}

struct bytes bytes_repeat(const char *head, const char *unit, size_t n, const char *tail) {
    size_t h = strlen(head), u = strlen(unit), t = strlen(tail);
    struct bytes b = {must_malloc(h + u * n + t), h + u * n + t};
    memcpy(b.at, head, h);
    for (size_t i = 0; i < n; i++) memcpy(b.at + h + i * u, unit, u);
    memcpy(b.at + h + n * u, tail, t);
    return b;
}

struct bytes bytes_quoted(const char *text) {
    struct bytes b = bytes_copy(text, strlen(text));
    for (size_t i = 0; i < b.len; i++)
        if (b.at[i] == '\'') b.at[i] = '"';
    return b;
}

void bytes_free(struct bytes *b) {
    free(b->at);
    *b = (struct bytes){NULL, 0};
}

/* ---- files --------------------------------------------------------------------------------- */

static struct bytes read_whole(const char *path) {
    struct bytes b = {NULL, 0};
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (f && stat(path, &st) == 0) {
        b = (struct bytes){must_malloc((size_t)st.st_size), (size_t)st.st_size};
        if (fread(b.at, 1, b.len, f) != b.len) bytes_free(&b);
    }
    if (f) (void)fclose(f);
    return b;
}

static void files_add(struct files *f, const char *name, struct bytes body) {
    struct file *at = realloc(f->at, (f->count + 1) * sizeof *at);
    if (!at) exit(2);
    f->at = at;
    f->at[f->count++] = (struct file){bytes_copy(name, strlen(name) + 1).at, body};
}

static int file_compare(const void *a, const void *b) {
    return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

/* All *.json files of a folder below the one that an environment variable names. */
static void files_add_folder(struct files *f, const char *variable, const char *folder) {
    const char *root = getenv(variable);
    char dir[2048], path[4096];
    if (!root || !*root) return;
    (void)snprintf(dir, sizeof dir, "%s/%s", root, folder);
    DIR *d = opendir(dir);
    size_t first = f->count;
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 6 || strcmp(e->d_name + n - 5, ".json") != 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        struct bytes b = read_whole(path);
        if (b.at) files_add(f, e->d_name, b);
    }
    if (d) (void)closedir(d);
    if (f->count > first) qsort(f->at + first, f->count - first, sizeof *f->at, file_compare);
}

struct files files_shared(const char *folder) {
    struct files f = {NULL, 0};
    files_add_folder(&f, "SHARED", folder);
    return f;
}

struct files files_bodies(void) {
    struct files f = {NULL, 0};
    for (const struct sample *s = samples; s->format; s++)
        files_add(&f, s->format, bytes_quoted(s->body));
    files_add_folder(&f, "SRC", "tests/formats/examples");
    files_add_folder(&f, "SRC", "tests/formats/examples/invalid");
    files_add_folder(&f, "SRC", "tests/formats/own");
    return f;
}

void files_free(struct files *f) {
    for (size_t i = 0; i < f->count; i++) {
        free(f->at[i].name);
        bytes_free(&f->at[i].body);
    }
    free(f->at);
    *f = (struct files){NULL, 0};
}

/* ---- chance -------------------------------------------------------------------------------- */

/* splitmix64 */
uint64_t random_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

size_t random_below(uint64_t *state, size_t n) {
    return (size_t)((random_next(state) >> 32) * n >> 32);
}

/* ---- memory -------------------------------------------------------------------------------- */

#define COUNTER_HEADER ((size_t)16) /* holds the size; keeps the alignment */

void counter_init(struct counter *c) {
    *c = (struct counter){.fail_from = SIZE_MAX, .fail_to = SIZE_MAX};
}

static void *counter_resize(void *ud, void *p, size_t old, size_t now) {
    struct counter *c = ud;
    char *block = p ? (char *)p - COUNTER_HEADER : NULL, *fresh = NULL;
    size_t truth = 0;
    if (p) memcpy(&truth, block, sizeof truth);
    c->wrong_sizes += truth != old;
    if (now) {
        size_t call = c->calls++;
        if (call >= c->fail_from && call < c->fail_to) return NULL;
        fresh = malloc(COUNTER_HEADER + now);
        if (!fresh) return NULL;
        memcpy(fresh, &now, sizeof now);
        if (p) memcpy(fresh + COUNTER_HEADER, p, truth < now ? truth : now);
    }
    c->blocks = c->blocks + (now > 0) - (p != NULL);
    c->held = c->held + now - truth;
    if (c->held > c->peak) c->peak = c->held;
    free(block);
    return fresh ? fresh + COUNTER_HEADER : NULL;
}

paucis_alloc counter_alloc(struct counter *c) { return (paucis_alloc){c, counter_resize}; }

/* ---- a body as a view ---------------------------------------------------------------------- */

paucis_err opened_read(struct opened *o, const char *body, size_t size, const char *format) {
    paucis_error e;
    memset(o, 0, sizeof *o);
    o->arena.mem = o->view.mem = &o->mem;
    o->view.arena = &o->arena;
    paucis__json_names_init(&o->names);
    o->json.names = &o->names;
    PAUCIS_TRY(paucis__json_read(&o->json, &o->mem, NULL, body, size, &e));
    o->view.j = &o->json;
    o->view.format = format ? paucis__format_named(format) : paucis__format_detect(&o->json);
    if (!o->view.format) return PAUCIS_E_FORMAT;
    return paucis__format_read(o->view.format, &o->view);
}

void opened_free(struct opened *o) {
    VEC_FREE(&o->mem, o->json.nodes);
    VEC_FREE(&o->mem, o->splices.list);
    paucis__view_free(&o->view);
    paucis__arena_free(&o->arena);
}

paucis_err opened_write(struct opened *o, struct bytes *out) {
    *out = (struct bytes){NULL, 0};
    PAUCIS_TRY(paucis__write_plan(&o->view, &o->splices));
    *out = (struct bytes){must_malloc(o->splices.size), o->splices.size};
    paucis__write_apply(&o->json, &o->splices, out->at);
    return PAUCIS_OK;
}
