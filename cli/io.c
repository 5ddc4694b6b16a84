/* Streams. Input is read in large pieces, and zstd frames are unpacked on the way if the first
 * bytes say so. Output goes straight to the file descriptor, so that every error is seen; a regular
 * file is written under a temporary name beside it and renamed when complete. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { RAW_SIZE = 128 * 1024, PIECE = 1024 * 1024 };

/* ---- input ---------------------------------------------------------------------------------- */

static bool read_fd(struct input *in, char *p, size_t n, size_t *got) {
    ssize_t r;
    do r = read(in->fd, p, n < (size_t)1 << 30 ? n : (size_t)1 << 30);
    while (r < 0 && errno == EINTR);
    if (r < 0) complain("cannot read '%s': %s", in->name, strerror(errno));
    *got = r < 0 ? 0 : (size_t)r;
    return r >= 0;
}

static bool zstd_start(struct input *in) {
    in->zstd = ZSTD_createDStream();
    in->zstd_left = 1;
    if (!in->zstd) complain("cannot read '%s': out of memory", in->name);
    return in->zstd != NULL;
}

/* Fills the buffer as far as the bytes at hand allow; waits only while there is nothing. */
static bool zstd_read(struct input *in, char *p, size_t n, size_t *got) {
    *got = 0;
    while (*got < n) {
        if (in->raw_pos == in->raw_len && !in->eof) {
            if (*got > 0) return true;
            in->raw_pos = 0;
            if (!read_fd(in, in->raw, RAW_SIZE, &in->raw_len)) return false;
            in->eof = in->raw_len == 0;
        }
        if (in->eof && in->zstd_left == 0) return true;
        ZSTD_inBuffer src = {in->raw, in->raw_len, in->raw_pos};
        ZSTD_outBuffer dst = {p, n, *got};
        size_t left = ZSTD_decompressStream(in->zstd, &dst, &src);
        if (ZSTD_isError(left) || (in->eof && dst.pos == *got)) {
            complain("cannot read '%s': %s", in->name,
                     ZSTD_isError(left) ? "not valid zstd" : "zstd data ends too early");
            return false;
        }
        in->raw_pos = src.pos;
        in->zstd_left = left;
        *got = dst.pos;
    }
    return true;
}

bool input_open(struct input *in, const char *file) {
    bool is_stdin = !file || strcmp(file, "-") == 0;
    *in = (struct input){.name = is_stdin ? "stdin" : file, .fd = STDIN_FILENO};
    if (!is_stdin) in->fd = open(file, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0) {
        complain("cannot open '%s': %s", file, strerror(errno));
        return false;
    }
    in->raw = malloc(RAW_SIZE);
    if (!in->raw) {
        complain("cannot read '%s': out of memory", in->name);
        input_close(in);
        return false;
    }
    /* Enough to see what it is; a pipe may give less than asked for. */
    size_t got = 1;
    while (in->raw_len < 4 && got > 0) {
        if (!read_fd(in, in->raw + in->raw_len, RAW_SIZE - in->raw_len, &got)) {
            input_close(in);
            return false;
        }
        in->raw_len += got;
    }
    if (in->raw_len >= 4 && memcmp(in->raw, "\x28\xb5\x2f\xfd", 4) == 0 && !zstd_start(in)) {
        input_close(in);
        return false;
    }
    return true;
}

bool input_read(struct input *in, char *p, size_t n, size_t *got) {
    if (in->zstd) return zstd_read(in, p, n, got);
    if (in->raw_pos == in->raw_len) return read_fd(in, p, n, got);
    size_t have = in->raw_len - in->raw_pos;
    *got = have < n ? have : n;
    memcpy(p, in->raw + in->raw_pos, *got);
    in->raw_pos += *got;
    return true;
}

bool input_all(struct input *in, struct buf *b) {
    struct stat st;
    size_t got = 1;
    if (fstat(in->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (uintmax_t)st.st_size < SIZE_MAX / 2)
        buf_reserve(b, (size_t)st.st_size + 1); /* + 1: the end is seen without growing */
    while (got > 0) {
        if (b->cap == b->len && !buf_reserve(b, PIECE)) break;
        if (!input_read(in, b->data + b->len, b->cap - b->len, &got)) return false;
        b->len += got;
    }
    if (b->failed) complain("cannot read '%s': out of memory", in->name);
    return !b->failed;
}

void input_close(struct input *in) {
    ZSTD_freeDStream(in->zstd); /* NULL is fine */
    free(in->raw);
    if (in->fd > STDIN_FILENO) close(in->fd);
}

bool input_file(const char *file, struct buf *b) {
    struct input in;
    if (!input_open(&in, file)) return false;
    bool ok = input_all(&in, b);
    input_close(&in);
    return ok;
}

/* ---- lines ---------------------------------------------------------------------------------- */

bool line_blank(const char *line, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') return false;
    return true;
}

/* Moves what is left to the front and reads one more piece. */
static bool lines_more(struct lines *l, size_t *got) {
    struct buf *b = &l->buf;
    if (l->pos > 0) {
        memmove(b->data, b->data + l->pos, b->len - l->pos);
        b->len -= l->pos;
        l->pos = 0;
    }
    if (!buf_reserve(b, PIECE)) {
        complain("cannot read '%s': out of memory", l->in->name);
        return false;
    }
    if (!input_read(l->in, b->data + b->len, b->cap - b->len, got)) return false;
    b->len += *got;
    return true;
}

bool lines_next(struct lines *l, const char **line, size_t *n, size_t *end, bool *failed) {
    size_t seen = 0; /* bytes of the line that hold no newline */
    size_t got = 1;
    const char *newline = NULL;
    for (;;) {
        size_t have = l->buf.len - l->pos;
        if (have > seen) newline = memchr(l->buf.data + l->pos + seen, '\n', have - seen);
        if (newline || got == 0) break;
        seen = have;
        if (!lines_more(l, &got)) {
            *failed = true;
            return false;
        }
    }
    if (l->pos == l->buf.len) return false;
    *line = l->buf.data + l->pos;
    size_t whole = newline ? (size_t)(newline - *line) + 1 : l->buf.len - l->pos;
    *end = newline ? 1 : 0;
    if (newline && whole > 1 && (*line)[whole - 2] == '\r') *end = 2;
    *n = whole - *end;
    l->pos += whole;
    return true;
}

/* ---- standard streams ------------------------------------------------------------------------ */

void io_hold_standard(void) {
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY}; /* stdin, stdout: using it fails */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", modes[fd]);
}

/* ---- output --------------------------------------------------------------------------------- */

/* Temporary files to remove if the process is stopped. Set before the file exists and cleared after
 * it is gone. */
enum { TEMPS = 2 };
static char *volatile temps[TEMPS];

static void on_signal(int number) {
    for (int i = 0; i < TEMPS; i++)
        if (temps[i]) unlink(temps[i]);
    signal(number, SIG_DFL);
    raise(number);
}

void output_catch_signals(void) {
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen as EPIPE */
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (signal(stops[i], on_signal) == SIG_IGN)
            signal(stops[i], SIG_IGN); /* nohup stays nohup */
}

static void forget_temp(struct output *o) {
    for (int i = 0; i < TEMPS; i++)
        if (temps[i] == o->temp) temps[i] = NULL;
    free(o->temp);
    o->temp = NULL;
}

static bool output_fail(struct output *o, const char *why) {
    if (!o->failed && errno != EPIPE) complain("cannot write '%s': %s", o->name, why);
    o->failed = true;
    return false;
}

/* Opens a new file beside the target, which may be a link, with the target's mode. */
static bool open_temp(struct output *o, const char *file, const struct stat *old) {
    static const char suffix[] = ".XXXXXX";
    o->target = old ? realpath(file, NULL) : strdup(file);
    size_t n = o->target ? strlen(o->target) : 0;
    o->temp = o->target ? malloc(n + sizeof suffix) : NULL;
    if (!o->temp) return output_fail(o, strerror(errno));
    memcpy(o->temp, o->target, n);
    memcpy(o->temp + n, suffix, sizeof suffix);
    o->fd = mkstemp(o->temp);
    if (o->fd < 0) {
        free(o->temp);
        o->temp = NULL;
        return output_fail(o, strerror(errno));
    }
    for (int i = 0; i < TEMPS; i++)
        if (!temps[i]) {
            temps[i] = o->temp;
            break;
        }
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(o->fd, old ? old->st_mode & 0777 : 0666 & ~mask) != 0)
        return output_fail(o, strerror(errno));
    return true;
}

bool output_open(struct output *o, const char *file, int fallback) {
    bool is_stream = !file || strcmp(file, "-") == 0;
    *o = (struct output){.name = file, .fd = fallback};
    if (is_stream) {
        o->name = fallback == STDERR_FILENO ? "stderr" : "stdout";
        return true;
    }
    struct stat st;
    bool exists = stat(file, &st) == 0;
    if (!exists || S_ISREG(st.st_mode)) {
        bool ok = open_temp(o, file, exists ? &st : NULL);
        if (!ok) output_abort(o);
        return ok;
    }
    o->fd = open(file, O_WRONLY | O_CLOEXEC);
    return o->fd >= 0 || output_fail(o, strerror(errno));
}

bool output_write(struct output *o, const char *p, size_t n) {
    while (n > 0 && !o->failed) {
        ssize_t w = write(o->fd, p, n < (size_t)1 << 30 ? n : (size_t)1 << 30);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) return output_fail(o, strerror(errno));
        p += w;
        n -= (size_t)w;
    }
    return !o->failed;
}

bool output_buf(struct output *o, struct buf *b) {
    if (b->failed) {
        errno = ENOMEM;
        return output_fail(o, "out of memory");
    }
    bool ok = output_write(o, b->data, b->len);
    b->len = 0;
    return ok;
}

bool output_commit(struct output *o) {
    int fd = o->fd;
    o->fd = -1;
    if (fd > STDERR_FILENO || fd == STDOUT_FILENO)
        if (close(fd) != 0 && errno != EINTR && !o->failed) output_fail(o, strerror(errno));
    if (o->temp && !o->failed) {
        if (rename(o->temp, o->target) == 0)
            forget_temp(o);
        else
            output_fail(o, strerror(errno));
    }
    bool ok = !o->failed;
    output_abort(o);
    return ok;
}

void output_abort(struct output *o) {
    if (o->fd > STDERR_FILENO) close(o->fd);
    o->fd = -1;
    if (o->temp) {
        unlink(o->temp);
        forget_temp(o);
    }
    free(o->target);
    o->target = NULL;
}

int output_text(const struct args *a, struct buf *b) {
    struct output o;
    bool ok = output_open(&o, a->value[FLAG_OUTPUT], STDOUT_FILENO);
    if (ok) {
        output_buf(&o, b);
        ok = output_commit(&o);
    }
    buf_free(b);
    return ok ? EXIT_DONE : EXIT_USAGE;
}
