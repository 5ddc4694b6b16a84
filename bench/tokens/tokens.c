/* How fast paucis counts: tokens TOKENIZER FILE...; one line of JSON a file. Cold is the first pass
 * of a fresh context over the text, best of several contexts; warm the best of later passes. CPU
 * time of the thread, because machines are shared. */
#define _POSIX_C_SOURCE 200809L
#include <paucis/paucis.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 7, WARM = 5 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char *read_file(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        *n = (size_t)ftell(f);
        rewind(f);
        text = malloc(*n + 1);
        if (text && fread(text, 1, *n, f) != *n) *n = 0;
    }
    if (f) fclose(f);
    return text;
}

static double pass(paucis_ctx *ctx, const paucis_opts *o, const char *text, size_t n,
                   uint64_t *tokens) {
    double start = now();
    if (paucis_count_text(ctx, text, n, o, tokens, NULL, NULL)) exit(1);
    return now() - start;
}

static void measure(const paucis_opts *o, const char *kernel, const char *path) {
    size_t n = 0;
    char *text = read_file(path, &n);
    double cold = 1e9, warm = 1e9;
    uint64_t tokens = 0;
    if (!text) exit(1);
    for (int i = 0; i < ROUNDS; i++) {
        paucis_ctx *ctx;
        if (paucis_ctx_new(&ctx, NULL)) exit(1);
        double t = pass(ctx, o, text, n, &tokens);
        cold = t < cold ? t : cold;
        for (int k = 0; k < WARM; k++) {
            t = pass(ctx, o, text, n, &tokens);
            warm = t < warm ? t : warm;
        }
        paucis_ctx_free(ctx);
    }
    printf(
        "{\"file\":\"%s\",\"kernel\":\"%s\",\"bytes\":%zu,\"tokens\":%llu,\"cold_s\":%.6f,"
        "\"warm_s\":%.6f}\n",
        path, kernel, n, (unsigned long long)tokens, cold, warm);
    free(text);
}

int main(int argc, char **argv) {
    paucis_tokenizer *t;
    paucis_opts o;
    paucis_kv kv = {"kernel", NULL};
    paucis_opts_init(&o, sizeof o);
    if (argc < 3 || paucis_tokenizer_open(&t, argv[1], NULL, NULL)) return 2;
    o.tokenizer = t;
    o.kv = &kv;
    o.nkv = 1;
    for (int i = 2; i < argc; i++)
        for (size_t k = 0; paucis_kernel_at(k); k++) {
            kv.val = paucis_kernel_at(k)->name;
            measure(&o, kv.val, argv[i]);
        }
    paucis_tokenizer_free(t);
    return 0;
}
