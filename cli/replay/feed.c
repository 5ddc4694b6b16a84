/* Sessions out of files, one at a time. */
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

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
}

bool feed_next(struct feed *f, char **line, size_t *len, const char **name, uint64_t *number,
               bool *failed) {
    const char *text;
    size_t n, end;
    while (f->file < f->nfiles) {
        if (!f->open && !feed_open(f)) return *failed = true, false;
        while (lines_next(&f->lines, &text, &n, &end, failed)) {
            f->line++;
            if (line_blank(text, n)) continue;
            *line = heap_get(n);
            memcpy(*line, text, n);
            *len = n;
            *name = f->in.name;
            *number = f->line;
            return true;
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
}
