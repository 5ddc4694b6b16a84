/* paucis restore: a shortened body, or with --jsonl one a line, back to the original. */
#include "keep.h"

#ifdef PAUCIS_STORE
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Appends the original; false: reported, *code is the exit code. */
static bool restore(struct store *s, const char *name, const char *body, size_t n, struct buf *out,
                    int *code) {
    struct hash which, self;
    char hex[HASH_DIGITS + 1], why[STORE_WHY] = "out of memory";
    enum store_err err = undo_restore(s, body, n, out, &which);
    if (err == STORE_OK) return true;
    *code = err == STORE_FAILED ? EXIT_STORE : EXIT_INPUT;
    hash_hex(&which, hex);
    hash_of(body, n, &self);
    if (err == STORE_FAILED) {
        store_why(s, why);
        complain("cannot restore '%s': the store failed: %s", name, why);
    } else if (hash_same(&which, &self)) {
        complain("cannot restore '%s': a body with the hash %s is %s", name, hex,
                 store_err_text(err));
    } else {
        complain("cannot restore '%s': its piece %s is %s", name, hex, store_err_text(err));
    }
    return false;
}

/* A line that cannot be restored gives an empty one. */
static int restore_lines(const struct args *a, struct store *s, const char *file) {
    struct input in;
    struct output o;
    struct buf out = {0};
    const char *line;
    size_t n, end;
    bool failed = false;
    int code = EXIT_DONE;
    if (!input_open(&in, file)) return EXIT_USAGE;
    struct lines lines = {.in = &in};
    failed = !output_open(&o, a->value[FLAG_OUTPUT], STDOUT_FILENO);
    while (!failed && lines_next(&lines, &line, &n, &end, &failed)) {
        if (line_blank(line, n))
            buf_add(&out, line, n);
        else
            restore(s, in.name, line, n, &out, &code);
        buf_add(&out, line + n, end);
        failed = !output_buf(&o, &out);
    }
    failed = failed || !output_commit(&o);
    output_abort(&o);
    buf_free(&out);
    buf_free(&lines.buf);
    input_close(&in);
    return failed ? EXIT_USAGE : code;
}

static int restore_body(const struct args *a, struct store *s, const char *file) {
    struct buf body = {0}, out = {0};
    int code = EXIT_USAGE;
    if (input_file(file, &body) &&
        restore(s, file ? file : "stdin", body.data ? body.data : "", body.len, &out, &code))
        code = output_text(a, &out);
    buf_free(&body);
    buf_free(&out);
    return code;
}

int cmd_restore(const struct args *a) {
    struct store *s;
    const char *file;
    if (!args_file(a, &file)) return EXIT_USAGE;
    int code = keep_open(a, false, true, &s);
    if (code) return code;
    if (!s) return usage_error("there is nothing to restore from: the store is 'none'");
    code = a->count[FLAG_JSONL] ? restore_lines(a, s, file) : restore_body(a, s, file);
    store_close(s);
    return code;
}
#endif
