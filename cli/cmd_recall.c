/* paucis recall: a removed text by its handle, whole or in part. */
#include "recall.h"

#ifdef PAUCIS_STORE
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int say(char *why, int code, const char *what, const char *about) {
    snprintf(why, STORE_WHY, what, about);
    return code;
}

/* ---- which lines ---------------------------------------------------------------------------- */

struct range {
    uint64_t from, to;
};

static bool read_range(const char *text, struct range *r) {
    const char *dash = strchr(text, '-');
    char first[24];
    size_t n = dash ? (size_t)(dash - text) : strlen(text);
    *r = (struct range){1, UINT64_MAX};
    if (n >= sizeof first || (n == 0 && (!dash || !dash[1]))) return false;
    memcpy(first, text, n);
    first[n] = '\0';
    if (n && !parse_count(first, &r->from)) return false;
    if (!dash) r->to = r->from;
    if (dash && dash[1] && !parse_count(dash + 1, &r->to)) return false;
    return r->from >= 1 && r->from <= r->to;
}

/* regexec wants a text that ends; a line with a NUL in it is seen up to there. */
static bool matches(const regex_t *re, struct buf *scratch, const char *line, size_t n) {
    scratch->len = 0;
    buf_add(scratch, line, n);
    buf_add(scratch, "", 1);
    return !scratch->failed && regexec(re, scratch->data, 0, NULL, 0) == 0;
}

static uint64_t add_lines(struct buf *out, const struct buf *text, struct range range,
                          const regex_t *re, bool numbers) {
    struct buf scratch = {0};
    const char *p = text->data;
    size_t left = text->len;
    uint64_t number = 1, added = 0;
    for (; left > 0 && number <= range.to; number++) {
        const char *nl = memchr(p, '\n', left);
        size_t n = nl ? (size_t)(nl - p) : left, whole = n + (nl != NULL);
        if (number >= range.from && (!re || matches(re, &scratch, p, n))) {
            if (re && numbers) buf_fmt(out, "%llu:", (unsigned long long)number);
            buf_add(out, p, whole);
            added++;
        }
        p += whole;
        left -= whole;
    }
    out->failed = out->failed || scratch.failed;
    buf_free(&scratch);
    return added;
}

/* ---- finding it ----------------------------------------------------------------------------- */

/* "[full text: 3f9a..., 12 lines, 400 bytes]", copied whole out of a marker, is fine too. */
static bool digits_of(const char *handle, char digits[HASH_DIGITS + 1]) {
    static const char *const starts[] = {"[full text: ", "[left out so far: "};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(handle, starts[i], strlen(starts[i])) == 0) handle += strlen(starts[i]);
    size_t n = strspn(handle, "0123456789abcdefABCDEF");
    if (n < HANDLE_DIGITS || n > HASH_DIGITS || (handle[n] && !strchr(",]", handle[n])))
        return false;
    memcpy(digits, handle, n);
    digits[n] = '\0';
    return true;
}

static int fetch(struct store *s, const struct recall *r, struct buf *text, char *why) {
    char digits[HASH_DIGITS + 1], fault[STORE_WHY] = "out of memory";
    struct hash h;
    if (!digits_of(r->handle, digits))
        return say(why, EXIT_USAGE, "'%.100s' is not a handle: those have 16 hexadecimal digits",
                   r->handle);
    enum store_err err = store_find(s, digits, r->conv, &h);
    if (!err) err = store_get(s, &h, text);
    if (!err) {
        store_recalled(s, &h); /* only a count */
        return EXIT_DONE;
    }
    if (err != STORE_FAILED) {
        snprintf(why, STORE_WHY, "%s: %s", digits, store_err_text(err));
        return EXIT_INPUT;
    }
    store_why(s, fault);
    return say(why, EXIT_STORE, "the store failed: %.300s", fault);
}

int recall(struct store *s, const struct recall *r, struct buf *out, char *why) {
    struct range range = {1, UINT64_MAX};
    struct buf text = {0};
    regex_t re;
    if (r->lines && !read_range(r->lines, &range))
        return say(why, EXIT_USAGE, "'%.100s' is not a range of lines like 10-20", r->lines);
    if (r->grep && regcomp(&re, r->grep, REG_EXTENDED | REG_NOSUB) != 0)
        return say(why, EXIT_USAGE, "'%.100s' is not a regular expression", r->grep);
    int code = fetch(s, r, &text, why);
    if (code == EXIT_DONE && !r->lines && !r->grep)
        buf_add(out, text.data, text.len);
    else if (code == EXIT_DONE && !add_lines(out, &text, range, r->grep ? &re : NULL, r->numbers))
        code = say(why, EXIT_INPUT, "%s", r->grep ? "no line matches" : "it has fewer lines");
    if (r->grep) regfree(&re);
    buf_free(&text);
    return code;
}

int cmd_recall(const struct args *a) {
    struct store *s;
    struct buf out = {0};
    char why[STORE_WHY];
    if (a->noperands != 1) return usage_error("recall takes one handle");
    int code = keep_open(a, false, true, &s);
    if (code) return code;
    if (!s) return usage_error("there is nothing to recall: the store is 'none'");
    struct recall r = {.handle = a->operands[0],
                       .conv = a->value[FLAG_CONVERSATION],
                       .lines = a->value[FLAG_LINES],
                       .grep = a->value[FLAG_GREP],
                       .numbers = true};
    code = recall(s, &r, &out, why);
    if (code)
        complain("cannot recall: %s", why);
    else
        code = output_text(a, &out);
    buf_free(&out);
    store_close(s);
    return code;
}
#endif
