/* A tiny test harness. A test program is a list of named cases:
 *
 *   static void adds(void) { CHECK_EQ(1 + 1, 2); }
 *   int main(void) { return TEST_RUN(CASE(adds)); }
 *
 * A check that fails says where and what, is counted, and the case goes on; each gives a bool, so
 * that a case may stop itself. TEST_NOTE says what the case is at, and is printed with a failure.
 * There is no way to run some of the cases only: all of them take seconds. */
#ifndef PAUCIS_TEST_H
#define PAUCIS_TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_case {
    const char *name;
    void (*run)(void);
};

#define TEST_SKIPPED 77      /* exit code for ctest */
#define TEST_SHOWN_FAULTS 10 /* a case; the rest are only counted */

struct test_state {
    size_t faults; /* of the case that runs */
    char note[200];
};

static inline struct test_state *test_state(void) {
    static struct test_state s;
    return &s;
}

#define TEST_NOTE(...) ((void)snprintf(test_state()->note, sizeof test_state()->note, __VA_ARGS__))

/* True if this fault is still to be shown; then the text may be printed behind. */
static inline bool test_fault(const char *file, int line) {
    struct test_state *s = test_state();
    if (++s->faults > TEST_SHOWN_FAULTS) return false;
    printf("  %s:%d: %s%s", file, line, s->note, s->note[0] ? ": " : "");
    return true;
}

static inline bool test_check(bool ok, const char *what, const char *file, int line) {
    if (!ok && test_fault(file, line)) printf("not so: %s\n", what);
    return ok;
}

static inline bool test_equal(intmax_t a, intmax_t b, const char *as, const char *bs,
                              const char *file, int line) {
    if (a != b && test_fault(file, line))
        printf("%s is %" PRIdMAX ", %s is %" PRIdMAX "\n", as, a, bs, b);
    return a == b;
}

static inline void test_show_bytes(const char *what, const char *p, size_t n) {
    printf("    %s (%zu): ", what, n);
    for (size_t i = 0; i < n && i < 600; i++)
        if ((unsigned char)p[i] >= 0x20 && (unsigned char)p[i] < 0x7f)
            putchar(p[i]);
        else
            printf("<%02x>", (unsigned)(unsigned char)p[i]);
    printf("%s\n", n > 600 ? " ..." : "");
}

static inline bool test_bytes(const char *a, size_t an, const char *b, size_t bn, const char *as,
                              const char *bs, const char *file, int line) {
    bool same = an == bn && (!an || (a && b && memcmp(a, b, an) == 0));
    if (!same && test_fault(file, line)) {
        printf("%s is not %s\n", as, bs);
        test_show_bytes(as, a, a ? an : 0);
        test_show_bytes(bs, b, b ? bn : 0);
    }
    return same;
}

static inline bool test_text(const char *a, const char *b, const char *as, const char *bs,
                             const char *file, int line) {
    return test_bytes(a, a ? strlen(a) : 0, b, b ? strlen(b) : 0, as, bs, file, line);
}

#define CHECK(cond) test_check((cond), #cond, __FILE__, __LINE__)
#define TEST_FAIL(what) test_check(false, what, __FILE__, __LINE__)
#define CHECK_EQ(a, b) test_equal((intmax_t)(a), (intmax_t)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_STR(a, b) test_text((a), (b), #a, #b, __FILE__, __LINE__)
#define CHECK_BYTES(a, an, b, bn) test_bytes((a), (an), (b), (bn), #a, #b, __FILE__, __LINE__)

static inline int test_run(const struct test_case *cases, size_t n) {
    size_t failed = 0;
    for (size_t i = 0; i < n; i++) {
        struct test_state *s = test_state();
        s->faults = 0;
        s->note[0] = 0;
        cases[i].run();
        if (s->faults > TEST_SHOWN_FAULTS)
            printf("  and %zu more\n", s->faults - TEST_SHOWN_FAULTS);
        printf("%-6s %s\n", s->faults ? "FAILED" : "ok", cases[i].name);
        (void)fflush(stdout);
        failed += s->faults > 0;
    }
    printf("%zu passed, %zu failed\n", n - failed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define CASE(function) \
    { #function, function }
#define TEST_RUN(...)                                 \
    test_run((const struct test_case[]){__VA_ARGS__}, \
             sizeof((const struct test_case[]){__VA_ARGS__}) / sizeof(struct test_case))

#endif
