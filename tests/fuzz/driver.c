/* Replays inputs through a libFuzzer target without libFuzzer: every file given, and every file in
 * each folder given, in the order of their names. A folder that does not exist counts as empty, and
 * the empty input always runs, so that a new target works before it has a corpus. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input lies in a block of exactly its size, so that a sanitizer sees a read past its end. */
static int run_file(const char *path) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    uint8_t *data = NULL;
    int failed = !f || stat(path, &st) != 0;
    if (!failed) {
        size_t size = (size_t)st.st_size;
        data = malloc(size ? size : 1);
        failed = !data || fread(data, 1, size, f) != size;
        if (!failed) (void)LLVMFuzzerTestOneInput(data, size);
    }
    if (failed) fprintf(stderr, "cannot read '%s'\n", path);
    free(data);
    if (f) fclose(f);
    return failed;
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static int run_folder(const char *path, size_t *count) {
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_visible, alphasort), failed = 0;
    for (int i = 0; i < n; i++) {
        size_t room = strlen(path) + strlen(entries[i]->d_name) + 2;
        char *file = malloc(room);
        if (file) {
            snprintf(file, room, "%s/%s", path, entries[i]->d_name);
            failed |= run_file(file);
            ++*count;
        }
        failed |= !file;
        free(file);
        free(entries[i]);
    }
    free(entries);
    return failed;
}

int main(int argc, char **argv) {
    size_t count = 0;
    int failed = 0;
    uint8_t *nothing = calloc(1, 1);
    if (!nothing) return 2;
    (void)LLVMFuzzerTestOneInput(nothing, 0);
    free(nothing);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) continue;
        if (S_ISDIR(st.st_mode)) {
            failed |= run_folder(argv[i], &count);
        } else {
            failed |= run_file(argv[i]);
            count++;
        }
    }
    printf("%zu inputs\n", count);
    return failed;
}
