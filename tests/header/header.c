/* The public header stands alone: it comes first, twice, with nothing before it; every type can be
 * named and a program links. Compiled as C11, as C17 and, through header.cpp, as C++17. */
#include <paucis/paucis.h>
#include <paucis/paucis.h>

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The layout that compiled callers rely on. Structs that carry their size may grow at the end; the
 * others may not change. */
#if UINTPTR_MAX == UINT64_MAX
#define PIN(type, size) static_assert(sizeof(type) == (size), #type " changed its size")
PIN(paucis_error, 24);
PIN(paucis_alloc, 16);
PIN(paucis_kv, 16);
PIN(paucis_opts, 120);
PIN(paucis_stats, 200);
PIN(paucis_edit, 104);
PIN(paucis_break, 40);
PIN(paucis_check_with, 32);
PIN(paucis_info, 24);
PIN(paucis_part_count, 48);
PIN(paucis_counts, 72);
PIN(paucis_price, 40);
PIN(paucis_part, 96);
PIN(paucis_step, 56);
PIN(paucis_change, 40);
PIN(paucis_cut, 56);
PIN(paucis_splice, 32);
static_assert(offsetof(paucis_opts, kv) == 40, "paucis_opts changed its layout");
static_assert(offsetof(paucis_stats, peak_alloc) == 144, "paucis_stats changed its layout");
#endif

int main(void) {
    paucis_opts opts;
    paucis_opts_init(&opts, sizeof opts);
    paucis_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.size = sizeof stats;
    paucis_error error = {PAUCIS_OK, NULL, 0};
    paucis_check_with with = {NULL, 0, NULL, 0};
    const paucis_break *breaks = NULL;
    const char body[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"max_tokens\":9}";
    const char *out = NULL;
    size_t size = 0, count = 0;
    paucis_ctx *ctx = NULL;

    if (paucis_version_number() != PAUCIS_VERSION_NUMBER) return 1;
    if (strcmp(paucis_version_string(), PAUCIS_VERSION_STRING) != 0) return 2;
    if (paucis_ctx_new(&ctx, NULL) != PAUCIS_OK) return 3;
    opts.policy = "none";
    if (paucis_compact(ctx, body, sizeof body - 1, &opts, &out, &size, &stats, &error)) return 4;
    if (size != sizeof body - 1 || memcmp(out, body, size) != 0) return 5;
    if (paucis_check(ctx, body, sizeof body - 1, &opts, &with, &breaks, &count, &error)) return 6;
    paucis_ctx_free(ctx);
    printf("%s: %s\n", paucis_version_string(), paucis_err_name(error.code));
    return 0;
}
