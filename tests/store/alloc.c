/* See alloc.h. */
#include "alloc.h"

#include <stdlib.h>

static size_t left;
static bool failed;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);

void alloc_fail_at(size_t n) {
    left = n;
    failed = n ? false : failed;
}

bool alloc_failed(void) { return failed; }

static bool fails(void) {
    bool now = left > 0 && --left == 0;
    failed = failed || now;
    return now;
}

void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { return fails() ? NULL : __real_calloc(n, m); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }
