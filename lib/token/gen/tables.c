/* Makes the read-only tables of the tokenizers, as C, while the library is built:
 *
 *   tables unicode.txt nfc.txt [NAME BITS FILE.pairs]... > tables.c
 *
 * Classes of code points become blocks of 128, equal blocks stored once. Merge pairs become an open
 * hash table of 64-bit words, filled by the same function that looks them up (pair_slot). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "token/nfc_table.h"
#include "token/pairs.h"
#include "token/unicode.h"

enum { POINTS = 0x110000, INDEXES = POINTS / UNICODE_BLOCK, MAX_BLOCKS = 256 };

static void die(const char *what) {
    fprintf(stderr, "tables: %s\n", what);
    exit(1);
}

/* ---- classes of code points ----------------------------------------------------------------- */

static uint8_t classes[POINTS], blocks[MAX_BLOCKS][UNICODE_BLOCK / 2], block_of[INDEXES];

static void read_classes(const char *path) {
    FILE *f = fopen(path, "r");
    unsigned long from = 0, next;
    unsigned now = 0, then;
    if (!f) die("cannot open the classes");
    while (fscanf(f, "%lx %u", &next, &then) == 2) {
        if (next < from || next >= POINTS || then > 7) die("a line that is not a range");
        memset(classes + from, (int)now, next - from);
        from = next;
        now = then;
    }
    memset(classes + from, (int)now, POINTS - from);
    fclose(f);
}

static void print_bytes(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) printf("%s%d,", i % 32 ? "" : "\n", p[i]);
}

static void make_classes(void) {
    size_t count = 0;
    for (size_t i = 0; i < INDEXES; i++) {
        uint8_t block[UNICODE_BLOCK / 2];
        const uint8_t *c = classes + i * UNICODE_BLOCK;
        for (size_t k = 0; k < sizeof block; k++)
            block[k] = (uint8_t)(c[2 * k] | c[2 * k + 1] << 4);
        size_t same = 0;
        while (same < count && memcmp(blocks[same], block, sizeof block) != 0) same++;
        if (same == MAX_BLOCKS) die("too many different blocks");
        memcpy(blocks[same], block, sizeof block);
        count += same == count;
        block_of[i] = (uint8_t)same;
    }
    printf("const uint8_t paucis__unicode_index[%d] = {", INDEXES);
    print_bytes(block_of, INDEXES);
    printf("};\nconst uint8_t paucis__unicode_blocks[][%d] = {", UNICODE_BLOCK / 2);
    for (size_t i = 0; i < count; i++) {
        printf("{");
        print_bytes(blocks[i], sizeof blocks[i]);
        printf("},");
    }
    printf("};\n");
}

/* ---- normalisation -------------------------------------------------------------------------- */

enum { MAX_ROWS = 4096, MAY_COMBINE = 8 };

static struct nfc_class marks[MAX_ROWS];
static struct nfc_parts parts[MAX_ROWS], pairs[MAX_ROWS];
static size_t nmarks, nparts, npairs;
static uint8_t is_kept_apart[POINTS];

static int by_pair(const void *a, const void *b) {
    const struct nfc_parts *x = a, *y = b;
    if (x->a != y->a) return x->a > y->a ? 1 : -1;
    return (x->b > y->b) - (x->b < y->b);
}

static void nfc_line(const char *line) {
    char kind;
    unsigned long point, a = 0, b = 0;
    int n = sscanf(line, "%c %lx %lx %lx", &kind, &point, &a, &b);
    if (n < 2 || point >= POINTS || nmarks == MAX_ROWS || nparts == MAX_ROWS)
        die("a line that is no rule of normalisation");
    if (kind == 'c') marks[nmarks++] = (struct nfc_class){(uint32_t)point, (uint32_t)a};
    if (kind == 'd')
        parts[nparts++] = (struct nfc_parts){(uint32_t)point, (uint32_t)a, (uint32_t)b};
    if (kind == 'x') is_kept_apart[point] = 1;
    if (kind == 'c' || kind == 'x') classes[point] |= MAY_COMBINE;
}

static void print_parts(const char *name, const struct nfc_parts *p, size_t n) {
    printf("const struct nfc_parts paucis__nfc_%s[] = {\n", name);
    for (size_t i = 0; i < n; i++)
        printf("{0x%lx,0x%lx,0x%lx},%s", (unsigned long)p[i].point, (unsigned long)p[i].a,
               (unsigned long)p[i].b, i % 8 == 7 ? "\n" : "");
    printf("};\n");
}

static void make_nfc(const char *path) {
    FILE *f = fopen(path, "r");
    char line[128];
    if (!f) die("cannot open the rules of normalisation");
    while (fgets(line, sizeof line, f)) nfc_line(line);
    fclose(f);
    for (size_t i = 0; i < nparts; i++)
        if (parts[i].b && !is_kept_apart[parts[i].point]) {
            pairs[npairs++] = parts[i];
            classes[parts[i].b] |= MAY_COMBINE;
        }
    for (size_t i = 0x1161; i <= 0x11c2; i++) /* Hangul vowels and last consonants */
        if (i <= 0x1175 || i >= 0x11a8) classes[i] |= MAY_COMBINE;
    qsort(pairs, npairs, sizeof *pairs, by_pair);
    printf("const struct nfc_class paucis__nfc_classes[] = {\n");
    for (size_t i = 0; i < nmarks; i++)
        printf("{0x%lx,%lu},%s", (unsigned long)marks[i].point, (unsigned long)marks[i].class,
               i % 8 == 7 ? "\n" : "");
    printf("};\n");
    print_parts("parts", parts, nparts);
    print_parts("pairs", pairs, npairs);
    printf("const size_t paucis__nfc_counts[3] = {%lu,%lu,%lu};\n", (unsigned long)nmarks,
           (unsigned long)nparts, (unsigned long)npairs);
}

/* ---- merge pairs ---------------------------------------------------------------------------- */

static uint32_t read_bits(FILE *f, unsigned bits, uint64_t *word, unsigned *have) {
    while (*have < bits) {
        int c = getc(f);
        if (c == EOF) return UINT32_MAX;
        *word = *word << 8 | (uint64_t)c;
        *have += 8;
    }
    *have -= bits;
    return (uint32_t)(*word >> *have) & ((1u << bits) - 1);
}

static void print_byte_pairs(const struct pair_table *t) {
    uint8_t token[256];
    pair_byte_order(token);
    for (unsigned i = 0; i < 65536; i++)
        printf("%s%ld,", i % 16 ? "" : "\n", (long)pair_merge(t, token[i >> 8], token[i & 255]));
}

static void print_words(const char *name, const char *what, const uint64_t *p, size_t n) {
    printf("static _Alignas(64) const uint64_t %s_%s[%lu] = {", name, what, (unsigned long)n);
    for (size_t i = 0; i < n; i++)
        printf(p[i] ? "%s0x%llx," : "%s%llu,", i % 16 ? "" : "\n", (unsigned long long)p[i]);
    printf("};\n");
}

static void make_pairs(const char *name, unsigned bits, const char *path) {
    FILE *f = fopen(path, "rb");
    unsigned log = bits + 1, have = 0; /* so that the table is at most half full */
    uint64_t *slots = calloc((size_t)1 << log, sizeof *slots), word = 0;
    uint64_t *filter = calloc(pair_filter_size(log), sizeof *filter);
    uint32_t id = 256, left, right;
    if (!f || !slots || !filter || bits > PAIR_BITS - 2) die("cannot read the pairs");
    while ((left = read_bits(f, bits, &word, &have)) != UINT32_MAX &&
           (right = read_bits(f, bits, &word, &have)) != UINT32_MAX) {
        if (left >= id || right >= id || id >> bits) die("a pair of later tokens");
        *pair_slot(slots, filter, log, left, right) = pair_entry(left, right, id);
        id++;
    }
    print_words(name, "pairs", slots, (size_t)1 << log);
    print_words(name, "filter", filter, pair_filter_size(log));
    printf("static const int32_t %s_bytes[65536] = {", name);
    print_byte_pairs(&(struct pair_table){.slots = slots, .log = log});
    printf(
        "};\nconst struct pair_table paucis__%s_pairs = {%s_pairs, %s_filter, %s_bytes, %u, %u};\n",
        name, name, name, name, log, (unsigned)id);
    free(slots);
    free(filter);
    fclose(f);
}

int main(int argc, char **argv) {
    if (argc < 3 || argc % 3) die("usage: tables unicode.txt nfc.txt [NAME BITS FILE]...");
    printf(
        "/* Made by lib/token/gen/tables.c. */\n"
        "#include \"token/nfc_table.h\"\n#include \"token/pairs.h\"\n"
        "#include \"token/unicode.h\"\n");
    read_classes(argv[1]);
    make_nfc(argv[2]);
    make_classes();
    for (int i = 3; i < argc; i += 3)
        make_pairs(argv[i], (unsigned)strtoul(argv[i + 1], NULL, 10), argv[i + 2]);
    return fflush(stdout) || ferror(stdout);
}
