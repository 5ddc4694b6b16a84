/* What several unit tests need: files, sample bodies, a seeded generator, an allocator that
 * counts and fails, and a body opened as a view. */
#ifndef PAUCIS_TEST_SUPPORT_H
#define PAUCIS_TEST_SUPPORT_H

#include "paucis/paucis.h"
#include "view/view.h"
#include "write/write.h"

/* ---- surroundings -------------------------------------------------------------------------- */

bool test_is_long(void);      /* the caller asked for the long form: PAUCIS_LONG=1 */
bool test_is_sanitized(void); /* every step is an order slower: do fewer of the same kind */

/* ---- bytes --------------------------------------------------------------------------------- */

/* Bytes in a block of exactly their size, so that a sanitizer sees a read past either end. */
struct bytes {
    char *at;
    size_t len;
};

void *must_malloc(size_t n); /* never NULL */
struct bytes bytes_copy(const char *at, size_t len);
/* `unit` n times, between head and tail. */
struct bytes bytes_repeat(const char *head, const char *unit, size_t n, const char *tail);
/* Bytes of a text that has ' for ", so that JSON can be read inside C. */
struct bytes bytes_quoted(const char *text);
void bytes_free(struct bytes *b);

/* ---- files --------------------------------------------------------------------------------- */

struct file {
    char *name; /* without its folder */
    struct bytes body;
};

struct files {
    struct file *at;
    size_t count;
};

/* All *.json files of a folder under SHARED, by name; none if it is not there. */
struct files files_shared(const char *folder);
void files_free(struct files *f);

/* ---- sample bodies ------------------------------------------------------------------------- */

/* A body a format with many kinds of part in it and none of its rules broken, as text for
 * bytes_quoted. */
struct sample {
    const char *format, *body;
};

extern const struct sample samples[]; /* a NULL format ends */

/* The samples, and every body in tests/formats, valid or not, as files. */
struct files files_bodies(void);

/* ---- chance -------------------------------------------------------------------------------- */

uint64_t random_next(uint64_t *state);
size_t random_below(uint64_t *state, size_t n); /* 0 .. n-1 */

/* ---- memory -------------------------------------------------------------------------------- */

/* An allocator that knows every block's size, compares it with what it is told, moves a block on
 * every resize, and fails on demand. */
struct counter {
    size_t calls;        /* allocations and growths asked for */
    size_t blocks, held; /* now */
    size_t peak;         /* most bytes held */
    size_t wrong_sizes;  /* times the old size was not the true one */
    size_t fail_from;    /* calls with these numbers (from 0) fail; SIZE_MAX none */
    size_t fail_to;
};

void counter_init(struct counter *c);
paucis_alloc counter_alloc(struct counter *c);

/* ---- a body as a view ---------------------------------------------------------------------- */

struct opened {
    struct mem mem;
    struct arena arena;
    struct json_name_table names;
    struct json json;
    struct view view;
    struct splices splices;
};

/* Reads a body; format NULL detects. The body must outlive it. */
paucis_err opened_read(struct opened *o, const char *body, size_t size, const char *format);
void opened_free(struct opened *o);

/* Writes what the edits made of it; the caller frees it. On an error at is NULL. */
paucis_err opened_write(struct opened *o, struct bytes *out);

#endif
