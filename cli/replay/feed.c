/* Sessions out of files, one at a time; and the user's own logs, if no file is named. */
#include "replay/replay.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool feed_open(struct feed *f) {
    if (!input_open(&f->in, f->files[f->file])) return false;
    f->open = true;
    f->line = 0;
    f->lines = (struct lines){.in = &f->in, .buf = f->lines.buf};
    f->lines.buf.len = 0;
    return true;
}

static void feed_shut(struct feed *f) {
    if (f->open) input_close(&f->in);
    f->open = false;
    while (f->nready > f->ready_next) free(f->ready[--f->nready]);
    free(f->ready);
    f->ready = NULL;
    f->nready = f->ready_next = 0;
}

/* A session that was made out of a log. */
static bool feed_ready(struct feed *f, char **line, size_t *len, uint64_t *number) {
    if (f->ready_next == f->nready) return false;
    *line = f->ready[f->ready_next++];
    *len = strlen(*line);
    *number = f->ready_next;
    return true;
}

/* Does a body begin here that goes on in the next lines? One a line ends where it began. */
static bool is_spread(const char *text, size_t n) {
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\r' || text[n - 1] == '\t')) n--;
    return n && (text[n - 1] == '{' || text[n - 1] == '[' || text[n - 1] == ',');
}

/* The rest of the file behind its first line, as one body. */
static bool feed_rest(struct feed *f, char **line, size_t *len, bool *failed) {
    struct buf all = {0};
    const char *text;
    size_t n, end;
    buf_add(&all, *line, *len);
    while (lines_next(&f->lines, &text, &n, &end, failed)) {
        buf_str(&all, "\n");
        buf_add(&all, text, n);
    }
    free(*line);
    if (*failed || all.failed) return *failed = true, buf_free(&all), false;
    *line = all.data;
    *len = all.len;
    return true;
}

bool feed_next(struct feed *f, char **line, size_t *len, const char **name, uint64_t *number,
               bool *failed) {
    const char *text;
    size_t n, end;
    while (f->file < f->nfiles) {
        if (!f->open && !feed_open(f)) return *failed = true, false;
        *name = f->files[f->file];
        if (feed_ready(f, line, len, number)) return true;
        while (lines_next(&f->lines, &text, &n, &end, failed)) {
            bool first = f->line == 0;
            f->line += !line_blank(text, n);
            if (line_blank(text, n)) continue;
            *line = heap_get(n);
            memcpy(*line, text, n);
            *len = n;
            *number = f->line;
            if (first && is_spread(text, n)) return feed_rest(f, line, len, failed);
            if (!first || !log_begins(text, n)) return true;
            bool ok = log_read(&f->lines, *line, n, *name, &f->ready, &f->nready);
            free(*line);
            if (!ok) return *failed = true, false;
            if (feed_ready(f, line, len, number)) return true;
        }
        if (*failed) return false;
        feed_shut(f);
        f->file++;
    }
    return false;
}

void feed_close(struct feed *f) {
    feed_shut(f);
    buf_free(&f->lines.buf);
    for (size_t i = 0; f->found && i < f->nfiles; i++) free(f->found[i]);
    free(f->found);
}

/* ---- the user's own logs --------------------------------------------------------------------- */

/* nftw has no argument for the caller; the command looks for logs once, before any thread runs. */
static struct {
    char **list;
    size_t count, cap;
} found;

static int on_file(const char *path, const struct stat *st, int type, struct FTW *at) {
    size_t n = strlen(path);
    (void)st;
    (void)at;
    if (type != FTW_F || n < 6 || strcmp(path + n - 6, ".jsonl") != 0) return 0;
    char *copy = heap_get(n + 1);
    memcpy(copy, path, n);
    *PUSH(found.list, found.count, found.cap) = copy;
    return 0;
}

static int by_path(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool feed_find(struct feed *f) {
    static const struct {
        const char *variable, *home, *folder;
    } places[] = {{"CLAUDE_CONFIG_DIR", ".claude", "projects"},
                  {"CODEX_HOME", ".codex", "sessions"}};
    const char *home = getenv("HOME");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *set = getenv(places[i].variable);
        char path[4096];
        int n = set && *set ? snprintf(path, sizeof path, "%s/%s", set, places[i].folder)
                            : snprintf(path, sizeof path, "%s/%s/%s", home ? home : "",
                                       places[i].home, places[i].folder);
        if (n < 0 || (size_t)n >= sizeof path || (!set && !home)) continue;
        if (nftw(path, on_file, 16, FTW_PHYS) != 0 && errno != ENOENT)
            complain("cannot look into '%s': %s", path, strerror(errno));
    }
    if (found.count) qsort(found.list, found.count, sizeof *found.list, by_path);
    f->found = found.list;
    f->files = (const char *const *)found.list;
    f->nfiles = found.count;
    return found.count > 0;
}
