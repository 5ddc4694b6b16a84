/* Every adapter through the public interface. The last byte picks the format (0 to 5, else
 * detection), the one before an allocation that fails (0: none; even: once, odd: and all after
 * it).
 *
 * Without edits the output is the input; check answers the same whenever it is asked, names
 * known rules and places inside the body; all memory comes back, whatever fails. */
#include "fuzz.h"

static bool is_rule(const char *name) {
    const paucis_info *rule;
    for (size_t i = 0; (rule = paucis_rule_at(i)); i++)
        if (strcmp(rule->name, name) == 0) return true;
    return false;
}

struct answer {
    paucis_err err;
    size_t n;
    uint64_t digest; /* of rules and places */
};

static struct answer ask(paucis_ctx *c, const char *body, size_t size, const paucis_opts *o) {
    const paucis_break *b;
    paucis_error e;
    struct answer a = {.digest = 1469598103934665603u};
    a.err = paucis_check(c, body, size, o, NULL, &b, &a.n, &e);
    FUZZ_CHECK(e.code == a.err && e.msg && e.pos <= size && (!a.err || !a.n));
    for (size_t i = 0; i < a.n; i++) {
        FUZZ_CHECK(is_rule(b[i].rule) && b[i].text && b[i].pos < size);
        FUZZ_CHECK(b[i].pointer && (!b[i].pointer[0] || b[i].pointer[0] == '/'));
        FUZZ_CHECK(!i || b[i].pos >= b[i - 1].pos);
        a.digest = (a.digest ^ b[i].pos) * 1099511628211u;
        for (const char *s = b[i].rule; *s; s++)
            a.digest = (a.digest ^ (uint8_t)*s) * 1099511628211u;
    }
    return a;
}

/* Also says whether the format was known. */
static bool keeps_body(paucis_ctx *c, const char *body, size_t size, const paucis_opts *o,
                       paucis_err expected, const struct answer *a) {
    paucis_stats st = {.size = sizeof st};
    paucis_error e;
    const char *out;
    size_t n;
    paucis_err err = paucis_compact(c, body, size, o, &out, &n, &st, &e);
    FUZZ_CHECK(err == expected);
    if (err) {
        FUZZ_CHECK(!out && !n && e.pos <= size);
        return false;
    }
    FUZZ_CHECK(n == size && memcmp(out, body, size) == 0);
    FUZZ_CHECK(st.bytes_in == size && st.bytes_out == size && !st.edits);
    FUZZ_CHECK(st.first_changed_byte == PAUCIS_NO_BYTE && st.messages_in == st.messages_out);
    FUZZ_CHECK(!st.format || st.breaks == a->n);
    char *dst = malloc(size + 1);
    FUZZ_CHECK(dst);
    FUZZ_CHECK(paucis_compact_into(c, body, size, o, dst, size, &n, NULL, &e) == PAUCIS_OK);
    FUZZ_CHECK(n == size && memcmp(dst, body, size) == 0);
    FUZZ_CHECK(!size || paucis_compact_into(c, body, size, o, dst, size - 1, &n, NULL, &e) ==
                            PAUCIS_E_NOSPACE);
    FUZZ_CHECK(n == size);
    free(dst);
    return st.format != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_input in = {data, size};
    unsigned which = fuzz_byte(&in), fail = fuzz_byte(&in);
    struct fuzz_heap heap = {0};
    paucis_alloc alloc = {&heap, fuzz_resize};
    paucis_ctx *c;
    paucis_opts o;
    const char *body = (const char *)in.data;
    paucis_opts_init(&o, sizeof o);
    o.flags = PAUCIS_WITH_BREAKS;
    o.policy = "none";
    const paucis_info *format = paucis_format_at(which);
    if (format) o.format = format->name;
    FUZZ_CHECK(paucis_ctx_new(&c, &alloc) == PAUCIS_OK);

    if (fail) {
        heap.count = 0;
        heap.fail_at = (fail + 1) / 2;
        heap.for_ever = fail & 1;
        struct answer a = ask(c, body, in.size, &o);
        FUZZ_CHECK((a.err == PAUCIS_E_NOMEM) == heap.failed);
        heap.fail_at = 0;
    }
    struct answer first = ask(c, body, in.size, &o);
    FUZZ_CHECK(first.err != PAUCIS_E_NOMEM);
    bool known = keeps_body(c, body, in.size, &o,
                            first.err == PAUCIS_E_FORMAT ? PAUCIS_OK : first.err, &first);
    FUZZ_CHECK(known == (first.err == PAUCIS_OK));
    struct answer second = ask(c, body, in.size, &o);
    FUZZ_CHECK(first.err == second.err && first.n == second.n && first.digest == second.digest);
    paucis_ctx_free(c);
    FUZZ_CHECK(heap.held == 0);
    return 0;
}

FUZZ_MUTATOR(2)
