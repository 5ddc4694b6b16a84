/* How fast a store is: store_speed URL TEXTS [SMALL]
 *
 * 10,000 texts of 10 KB, cut out of the file TEXTS, put in one batch (hash, zstd, commit), put
 * again, and read one by one; three times. Then SMALL short texts, and lookups among them. */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    COUNT = 10000,
    LENGTH = 10000,
    REPEATS = 3,
    SHORT = 100,
    PER_BATCH = 20000,
    LOOKUPS = 20000
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void percentiles(const char *what, double *t, size_t n) {
    qsort(t, n, sizeof *t, ascending);
    printf("%s: p50 %.1f us, p99 %.1f us\n", what, t[n / 2] * 1e6, t[n * 99 / 100] * 1e6);
}

static void need(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

/* ---- large texts ----------------------------------------------------------------------------- */

static void put_large(struct store *s, const char *source, size_t n, int repeat) {
    char *texts = malloc((size_t)COUNT * LENGTH);
    double *times = malloc(COUNT * sizeof *times);
    struct store_batch b = {.conv = "speed"};
    struct buf out = {0};
    need(texts && times, "memory");
    for (size_t i = 0; i < COUNT; i++) {
        char *t = texts + i * LENGTH;
        memcpy(t, source + (i * 5237 + (size_t)repeat * 777) % (n - LENGTH), LENGTH);
        snprintf(t, 40, "%d-%zu-%lld ", repeat, i, (long long)time(NULL)); /* all different */
    }
    double start = now();
    for (size_t i = 0; i < COUNT; i++) batch_add(&b, KEPT_TEXT, texts + i * LENGTH, LENGTH);
    need(store_put(s, &b) == STORE_OK, "put");
    double put = now() - start;
    start = now();
    need(store_put(s, &b) == STORE_OK, "put again");
    printf("put %.0f MB/s; again %.0f MB/s\n", (double)COUNT * LENGTH / put / 1e6,
           (double)COUNT * LENGTH / (now() - start) / 1e6);
    for (size_t i = 0; i < COUNT; i++) {
        out.len = 0;
        start = now();
        need(store_get(s, &b.items[i * 7919 % COUNT].hash, &out) == STORE_OK, "get");
        times[i] = now() - start;
    }
    percentiles("get of 10 KB", times, COUNT);
    batch_free(&b);
    buf_free(&out);
    free(times);
    free(texts);
}

/* ---- many ------------------------------------------------------------------------------------ */

static void put_small(struct store *s, size_t count, struct hash *hashes) {
    static char texts[PER_BATCH][SHORT];
    for (size_t i = 0; i < count;) {
        struct store_batch b = {0};
        snprintf(b.conv, sizeof b.conv, "speed %zu", i);
        for (size_t k = 0; k < PER_BATCH && i < count; k++, i++) {
            int n = snprintf(texts[k], SHORT, "a short text, the %zu of many: %zu", i, i * 7919);
            size_t at = batch_add(&b, KEPT_TEXT, texts[k], (size_t)n);
            hashes[i] = b.items[at].hash;
        }
        need(store_put(s, &b) == STORE_OK, "put");
        batch_free(&b);
    }
}

static void look_up(struct store *s, size_t count, const struct hash *hashes) {
    static double find[LOOKUPS], get[LOOKUPS];
    struct buf out = {0};
    for (size_t i = 0; i < LOOKUPS; i++) {
        char hex[HASH_DIGITS + 1];
        struct hash h;
        hash_hex(&hashes[i * 7919999 % count], hex);
        hex[HANDLE_DIGITS] = '\0';
        double start = now();
        need(store_find(s, hex, NULL, &h) == STORE_OK, "find");
        double found = now();
        out.len = 0;
        need(store_get(s, &h, &out) == STORE_OK, "get");
        find[i] = found - start;
        get[i] = now() - found;
    }
    percentiles("handle to hash", find, LOOKUPS);
    percentiles("get of a short text", get, LOOKUPS);
    buf_free(&out);
}

int main(int argc, char **argv) {
    static char source[64000000];
    char why[STORE_WHY];
    struct store *s;
    if (argc < 3) return fprintf(stderr, "store_speed URL TEXTS [SMALL]\n"), 2;
    struct store_opts o = {.url = argv[1]};
    FILE *f = fopen(argv[2], "rb");
    size_t n = f ? fread(source, 1, sizeof source, f) : 0;
    if (f) fclose(f);
    need(n > (size_t)2 * LENGTH, "a file with texts");
    need(store_open(&s, &o, why), why);
    for (int i = 0; i < REPEATS; i++) put_large(s, source, n, i);
    size_t count = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    struct hash *hashes = count ? malloc(count * sizeof *hashes) : NULL;
    if (hashes) {
        put_small(s, count, hashes);
        look_up(s, count, hashes);
    }
    free(hashes);
    store_close(s);
    return 0;
}
