/* The contract of paucis.h, as its head states it: sizes, NULLs, errors, buffers, reuse, tables. */
#include "paucis/paucis.h"

#include "support.h"
#include "test.h"

static paucis_ctx *ctx; /* one for all cases: it must stay usable after every error */

static paucis_opts options(void) {
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    return o;
}

/* With these any JSON passes. */
static paucis_opts change_nothing(void) {
    paucis_opts o = options();
    o.policy = "none";
    return o;
}

/* ---- layout -------------------------------------------------------------------------------- */

#define AT(type, member, offset) CHECK_EQ(offsetof(type, member), offset)

/* What a binding may have compiled in. A new member goes at the end of a struct that has a size. */
static void layout(void) {
    CHECK_EQ(sizeof(paucis_err), 4);
    if (sizeof(void *) != 8) return;
    CHECK_EQ(sizeof(paucis_error), 24);
    AT(paucis_error, code, 0), AT(paucis_error, msg, 8), AT(paucis_error, pos, 16);
    CHECK_EQ(sizeof(paucis_alloc), 16);
    AT(paucis_alloc, ud, 0), AT(paucis_alloc, resize, 8);
    CHECK_EQ(sizeof(paucis_kv), 16);
    AT(paucis_opts, size, 0), AT(paucis_opts, flags, 4), AT(paucis_opts, format, 8);
    AT(paucis_opts, policy, 16), AT(paucis_opts, strategies, 24);
    AT(paucis_opts, budget_tokens, 32), AT(paucis_opts, kv, 40), AT(paucis_opts, nkv, 48);
    AT(paucis_opts, log, 56), AT(paucis_opts, log_ud, 64);
    AT(paucis_opts, tokenizer, 72), AT(paucis_opts, memo, 80), AT(paucis_opts, handle, 88);
    AT(paucis_opts, handle_ud, 96), AT(paucis_opts, level, 104), AT(paucis_opts, price, 112);
    CHECK_EQ(sizeof(paucis_opts), 120);
    AT(paucis_stats, size, 0), AT(paucis_stats, budget_met, 4), AT(paucis_stats, format, 8);
    AT(paucis_stats, policy, 16), AT(paucis_stats, bytes_in, 24), AT(paucis_stats, bytes_out, 32);
    AT(paucis_stats, tokens_in, 40), AT(paucis_stats, tokens_out, 48);
    AT(paucis_stats, messages_in, 56), AT(paucis_stats, messages_out, 64);
    AT(paucis_stats, edits, 72), AT(paucis_stats, first_changed_byte, 80);
    AT(paucis_stats, breaks, 88), AT(paucis_stats, dedup_hits, 96);
    AT(paucis_stats, snippet_hits, 104), AT(paucis_stats, total_bytes_saved, 112);
    AT(paucis_stats, original_tokens, 120), AT(paucis_stats, final_tokens, 128);
    AT(paucis_stats, elided_messages, 136), AT(paucis_stats, peak_alloc, 144);
    AT(paucis_stats, tokenizer, 152), AT(paucis_stats, tokens_exact, 160);
    AT(paucis_stats, cuts, 168), AT(paucis_stats, cut_now, 176), AT(paucis_stats, render, 180);
    AT(paucis_stats, budget, 184);
    CHECK_EQ(sizeof(paucis_stats), 208);
    AT(paucis_edit, op, 0), AT(paucis_edit, strategy, 8), AT(paucis_edit, reason, 16);
    AT(paucis_edit, message, 24), AT(paucis_edit, part, 32), AT(paucis_edit, role, 40);
    AT(paucis_edit, kind, 48), AT(paucis_edit, pos, 56), AT(paucis_edit, len, 64);
    AT(paucis_edit, before, 72), AT(paucis_edit, after, 80), AT(paucis_edit, text, 88);
    AT(paucis_edit, text_len, 96);
    CHECK_EQ(sizeof(paucis_edit), 104);
    AT(paucis_break, rule, 0), AT(paucis_break, text, 8), AT(paucis_break, pointer, 16);
    AT(paucis_break, pos, 24), AT(paucis_break, message, 32);
    CHECK_EQ(sizeof(paucis_break), 40);
    AT(paucis_check_with, before, 0), AT(paucis_check_with, before_len, 8);
    AT(paucis_check_with, sent, 16), AT(paucis_check_with, sent_len, 24);
    CHECK_EQ(sizeof(paucis_check_with), 32);
    AT(paucis_info, name, 0), AT(paucis_info, summary, 8), AT(paucis_info, detail, 16);
    CHECK_EQ(sizeof(paucis_info), 24);
}

static void version(void) {
    char text[40];
    CHECK_EQ(paucis_version_number(), PAUCIS_VERSION_NUMBER);
    CHECK_STR(paucis_version_string(), PAUCIS_VERSION_STRING);
    (void)snprintf(text, sizeof text, "%d.%d.%d", PAUCIS_VERSION_MAJOR, PAUCIS_VERSION_MINOR,
                   PAUCIS_VERSION_PATCH);
    CHECK_STR(text, PAUCIS_VERSION_STRING);
}

/* ---- errors -------------------------------------------------------------------------------- */

static void error_texts(void) {
    static const struct {
        paucis_err code;
        const char *name;
        int value; /* never changes */
    } codes[] = {
        {PAUCIS_OK, "OK", 0},
        {PAUCIS_E_ARG, "ARG", 10},
        {PAUCIS_E_NOMEM, "NOMEM", 12},
        {PAUCIS_E_LIMIT, "LIMIT", 14},
        {PAUCIS_E_PARSE, "PARSE", 20},
        {PAUCIS_E_FORMAT, "FORMAT", 22},
        {PAUCIS_E_INVARIANT, "INVARIANT", 30},
        {PAUCIS_E_NOSPACE, "NOSPACE", 32},
        {PAUCIS_E_CALLBACK, "CALLBACK", 40},
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        CHECK_EQ(codes[i].code, codes[i].value);
        CHECK_STR(paucis_err_name(codes[i].code), codes[i].name);
        const char *text = paucis_err_text(codes[i].code);
        CHECK(text && *text && text[strlen(text) - 1] != '.');
        for (size_t k = 0; k < i; k++) CHECK(strcmp(text, paucis_err_text(codes[k].code)) != 0);
    }
    CHECK_STR(paucis_err_name((paucis_err)99), "UNKNOWN");
    CHECK(paucis_err_text((paucis_err)99) != NULL);
}

/* ---- arguments ----------------------------------------------------------------------------- */

static void null_arguments(void) {
    const char *out = "x";
    size_t n = 7;
    char buf[8] = "abc";
    paucis_error e;
    paucis_edit edit;
    const paucis_break *breaks = (const paucis_break *)(const void *)buf;
    paucis_alloc no_function = {NULL, NULL};
    paucis_ctx *none = (paucis_ctx *)(void *)buf;
    paucis_opts o = change_nothing();
    CHECK_EQ(paucis_ctx_new(NULL, NULL), PAUCIS_E_ARG);
    CHECK_EQ(paucis_ctx_new(&none, &no_function), PAUCIS_E_ARG);
    CHECK(none == NULL);
    paucis_ctx_free(NULL);
    paucis_opts_init(NULL, 8);

    CHECK_EQ(paucis_compact(NULL, "1", 1, NULL, &out, &n, NULL, &e), PAUCIS_E_ARG);
    CHECK(out == NULL && n == 0 && e.code == PAUCIS_E_ARG && e.msg);
    CHECK_EQ(paucis_compact(ctx, "1", 1, NULL, NULL, &n, NULL, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_compact(ctx, "1", 1, NULL, &out, NULL, NULL, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_compact(ctx, NULL, 1, NULL, &out, &n, NULL, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_compact(ctx, NULL, 0, NULL, &out, &n, NULL, &e), PAUCIS_E_PARSE);
    CHECK_EQ(paucis_compact(ctx, "1", 1, NULL, &out, &n, NULL, &e), PAUCIS_E_FORMAT);
    CHECK_EQ(paucis_compact(ctx, "1", 1, &o, &out, &n, NULL, NULL), PAUCIS_OK);

    CHECK_EQ(paucis_compact_into(NULL, "1", 1, NULL, buf, 8, &n, NULL, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_compact_into(ctx, "1", 1, NULL, NULL, 8, &n, NULL, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_compact_into(ctx, "1", 1, NULL, buf, 8, NULL, NULL, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_compact_into(ctx, "1", 1, &o, NULL, 0, &n, NULL, NULL), PAUCIS_E_NOSPACE);
    CHECK_EQ(n, 1);

    CHECK_EQ(paucis_plan(NULL, "{}", 2, NULL, &n, NULL, &e), PAUCIS_E_ARG);
    CHECK_EQ(n, 0);
    CHECK_EQ(paucis_plan(ctx, "{}", 2, NULL, NULL, NULL, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_plan_get(NULL, 0, &edit), PAUCIS_E_ARG);
    CHECK_EQ(paucis_plan_get(ctx, 0, NULL), PAUCIS_E_ARG);
    memset(&edit, 0x55, sizeof edit);
    CHECK_EQ(paucis_plan_get(ctx, 0, &edit), PAUCIS_E_ARG);
    CHECK(!edit.op && !edit.text && !edit.text_len);

    CHECK_EQ(paucis_check(NULL, "{}", 2, NULL, NULL, &breaks, &n, &e), PAUCIS_E_ARG);
    CHECK(breaks == NULL && n == 0);
    CHECK_EQ(paucis_check(ctx, "{}", 2, NULL, NULL, NULL, &n, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_check(ctx, "{}", 2, NULL, NULL, &breaks, NULL, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_check(ctx, NULL, 2, NULL, NULL, &breaks, &n, &e), PAUCIS_E_ARG);
    CHECK_EQ(paucis_check(ctx, "{}", 2, NULL, NULL, &breaks, &n, NULL), PAUCIS_E_FORMAT);
}

/* Rule (e), for a struct that is shorter and one that is longer than this version's. */
static void option_sizes(void) {
    struct {
        paucis_opts o;
        char more[24];
    } big;
    const char *out;
    size_t n;
    paucis_opts o = options();
    CHECK_EQ(o.size, sizeof o);
    CHECK(!o.flags && !o.format && !o.policy && !o.strategies && !o.kv && !o.nkv && !o.log);
    CHECK(!o.level && !o.price && o.budget_tokens == PAUCIS_NO_BUDGET);
    o.policy = "none";
    o.budget_tokens = 1;
    o.strategies = "no such strategy";
    CHECK_EQ(paucis_compact(ctx, "1", 1, &o, &out, &n, NULL, NULL), PAUCIS_E_ARG);
    o.size = offsetof(paucis_opts, strategies); /* now past the caller's size: not looked at */
    CHECK_EQ(paucis_compact(ctx, "1", 1, &o, &out, &n, NULL, NULL), PAUCIS_OK);
    o.strategies = NULL;
    o.size = sizeof o;
    o.level = "no such level";
    CHECK_EQ(paucis_compact(ctx, "1", 1, &o, &out, &n, NULL, NULL), PAUCIS_E_ARG);
    o.size = offsetof(paucis_opts, level); /* a caller of before there were levels */
    CHECK_EQ(paucis_compact(ctx, "1", 1, &o, &out, &n, NULL, NULL), PAUCIS_OK);
    for (uint32_t size = 0; size < sizeof(uint32_t); size++) {
        o.size = size;
        CHECK_EQ(paucis_compact(ctx, "1", 1, &o, &out, &n, NULL, NULL), PAUCIS_E_ARG);
    }
    memset(&big, 0xff, sizeof big);
    paucis_opts_init(&big.o, sizeof big);
    CHECK_EQ(big.o.size, sizeof big);
    big.o.policy = "none";
    CHECK_EQ(paucis_compact(ctx, "1", 1, &big.o, &out, &n, NULL, NULL), PAUCIS_OK);
    big.more[23] = 1;
    CHECK_EQ(paucis_compact(ctx, "1", 1, &big.o, &out, &n, NULL, NULL), PAUCIS_E_ARG);
    big.o.size = sizeof(paucis_opts);
    CHECK_EQ(paucis_compact(ctx, "1", 1, &big.o, &out, &n, NULL, NULL), PAUCIS_OK);
    memset(&o, 0x55, sizeof o);
    paucis_opts_init(&o, 3); /* no room for its own size: untouched */
    CHECK_EQ(o.size, 0x55555555);
}

static void statistics_sizes(void) {
    struct {
        paucis_stats st;
        char more[8];
    } big;
    const char *out;
    size_t n;
    paucis_opts o = change_nothing();
    memset(&big, 0x55, sizeof big);
    big.st.size = sizeof big;
    CHECK_EQ(paucis_compact(ctx, "[1]", 3, &o, &out, &n, &big.st, NULL), PAUCIS_OK);
    CHECK_EQ(big.st.size, sizeof big);
    CHECK(big.st.bytes_in == 3 && big.st.bytes_out == 3 && !big.more[0] && !big.more[7]);
    CHECK(big.st.first_changed_byte == PAUCIS_NO_BYTE && big.st.budget_met == 1);
    memset(&big, 0x55, sizeof big);
    big.st.size = offsetof(paucis_stats, tokens_in);
    CHECK_EQ(paucis_compact(ctx, "[1]", 3, &o, &out, &n, &big.st, NULL), PAUCIS_OK);
    CHECK(big.st.bytes_out == 3 && big.st.tokens_in == 0x5555555555555555);
    big.st.size = 0;
    CHECK_EQ(paucis_compact(ctx, "[1]", 3, &o, &out, &n, &big.st, NULL), PAUCIS_OK);
}

static void options_by_name(void) {
    static const struct {
        const char *key, *val;
        paucis_err want;
    } rows[] = {
        {"format", "anthropic", PAUCIS_OK},
        {"format", "x", PAUCIS_E_ARG},
        {"policy", "none", PAUCIS_OK},
        {"policy", "x", PAUCIS_E_ARG},
        {"kernel", "portable", PAUCIS_OK},
        {"kernel", "x", PAUCIS_E_ARG},
        {"level", "deep", PAUCIS_OK},
        {"level", "x", PAUCIS_E_ARG},
        {"form", "snippet", PAUCIS_OK},
        {"form", "x", PAUCIS_E_ARG},
        {"price", "openai", PAUCIS_OK},
        {"price", "x", PAUCIS_E_ARG},
        {"history", "sent", PAUCIS_OK},
        {"history", "x", PAUCIS_E_ARG},
        {"keep", "30", PAUCIS_OK},
        {"keep", "x", PAUCIS_E_ARG},
        {"window", "4294967295", PAUCIS_OK},
        {"window", "4294967296", PAUCIS_E_ARG},
        {"no such option", "1", PAUCIS_E_ARG},
        {NULL, "1", PAUCIS_E_ARG},
        {"format", NULL, PAUCIS_E_ARG},
        {"", "", PAUCIS_E_ARG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        paucis_kv kv = {rows[i].key, rows[i].val};
        paucis_opts o = change_nothing();
        paucis_error e;
        const char *out;
        size_t n;
        o.kv = &kv;
        o.nkv = 1;
        TEST_NOTE("%s=%s", kv.key ? kv.key : "NULL", kv.val ? kv.val : "NULL");
        CHECK_EQ(paucis_compact(ctx, "{}", 2, &o, &out, &n, NULL, &e), rows[i].want);
        CHECK_EQ(e.code, rows[i].want);
    }
    paucis_opts o = options();
    size_t n;
    const char *out;
    o.strategies = "no such strategy";
    CHECK_EQ(paucis_compact(ctx, "{}", 2, &o, &out, &n, NULL, NULL), PAUCIS_E_ARG);
    o = options();
    o.nkv = 1; /* without a list */
    CHECK_EQ(paucis_compact(ctx, "{}", 2, &o, &out, &n, NULL, NULL), PAUCIS_E_ARG);
    static const paucis_kv kernels[] = {{"kernel", "portable"}, {"kernel", "x"}};
    o.kv = kernels;
    o.nkv = 2;
    CHECK_EQ(paucis_compact(ctx, "{}", 2, &o, &out, &n, NULL, NULL), PAUCIS_E_ARG);
    static const paucis_kv policy = {"policy", "none"};
    o.kv = &policy;
    o.nkv = 1;
    CHECK_EQ(paucis_compact(ctx, "{}", 2, &o, &out, &n, NULL, NULL), PAUCIS_OK);
    o.strategies = "dedup"; /* by whichever door, a policy excludes a list */
    CHECK_EQ(paucis_compact(ctx, "{}", 2, &o, &out, &n, NULL, NULL), PAUCIS_E_ARG);
}

/* ---- compact ------------------------------------------------------------------------------- */

static void identity(void) {
    struct files f = files_bodies();
    paucis_opts o = options();
    o.policy = "none";
    for (size_t i = 0; i < f.count; i++) {
        const char *out;
        size_t n = 0, nedits = 9;
        paucis_stats st = {.size = sizeof st};
        struct bytes *b = &f.at[i].body;
        TEST_NOTE("%s", f.at[i].name);
        CHECK_EQ(paucis_compact(ctx, b->at, b->len, &o, &out, &n, &st, NULL), PAUCIS_OK);
        CHECK_BYTES(out, n, b->at, b->len);
        CHECK(st.bytes_in == b->len && st.bytes_out == b->len && !st.edits && st.peak_alloc);
        CHECK(st.first_changed_byte == PAUCIS_NO_BYTE && st.messages_in == st.messages_out);
        CHECK_STR(st.policy, "none");
        struct bytes dst = {must_malloc(b->len), b->len};
        CHECK_EQ(paucis_compact_into(ctx, b->at, b->len, &o, dst.at, dst.len, &n, &st, NULL),
                 PAUCIS_OK);
        CHECK_BYTES(dst.at, n, b->at, b->len);
        CHECK_EQ(paucis_bound(b->len, &o), b->len);
        CHECK_EQ(paucis_plan(ctx, b->at, b->len, &o, &nedits, &st, NULL), PAUCIS_OK);
        CHECK_EQ(nedits, 0);
        bytes_free(&dst);
    }
    files_free(&f);
}

static void no_space(void) {
    static const char body[] = "{\"messages\":[]}";
    char dst[sizeof body + 8];
    size_t n;
    paucis_error e;
    for (size_t cap = 0; cap < sizeof body - 1; cap++) {
        memset(dst, 0x77, sizeof dst);
        n = 0;
        CHECK_EQ(paucis_compact_into(ctx, body, sizeof body - 1, NULL, dst, cap, &n, NULL, &e),
                 PAUCIS_E_NOSPACE);
        CHECK_EQ(n, sizeof body - 1);
        CHECK_EQ(e.code, PAUCIS_E_NOSPACE);
        for (size_t i = 0; i < sizeof dst; i++) CHECK_EQ(dst[i], 0x77);
    }
    CHECK_EQ(
        paucis_compact_into(ctx, body, sizeof body - 1, NULL, dst, sizeof body - 1, &n, NULL, &e),
        PAUCIS_OK);
    CHECK_BYTES(dst, n, body, sizeof body - 1);
    CHECK_EQ(dst[sizeof body - 1], 0x77);
}

/* Rule (d): after each kind of error the next good call works, and outputs were cleared. */
static void reuse_after_errors(void) {
    static const struct {
        const char *body, *format;
        paucis_err want;
        size_t pos;
    } rows[] = {
        {"{\"a\":", NULL, PAUCIS_E_PARSE, 5},
        {"\"\xff\"", NULL, PAUCIS_E_PARSE, 1},
        {"", NULL, PAUCIS_E_PARSE, 0},
        {"{}", "x", PAUCIS_E_ARG, 0},
    };
    struct bytes good = bytes_quoted(samples[0].body);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        paucis_opts o = options();
        paucis_error e = {PAUCIS_OK, NULL, 99};
        const char *out = "x";
        size_t n = 9, nedits = 9;
        paucis_edit edit;
        o.format = rows[i].format;
        struct bytes b = bytes_copy(rows[i].body, strlen(rows[i].body));
        CHECK_EQ(paucis_compact(ctx, b.at, b.len, &o, &out, &n, NULL, &e), rows[i].want);
        CHECK(!out && !n && e.code == rows[i].want && e.msg && e.pos == rows[i].pos);
        CHECK_EQ(paucis_plan(ctx, b.at, b.len, &o, &nedits, NULL, &e), rows[i].want);
        CHECK_EQ(nedits, 0);
        bytes_free(&b);
        CHECK_EQ(paucis_plan_get(ctx, 0, &edit), PAUCIS_E_ARG);
        CHECK_EQ(paucis_compact(ctx, good.at, good.len, NULL, &out, &n, NULL, &e), PAUCIS_OK);
        CHECK_EQ(e.code, PAUCIS_OK);
        CHECK_BYTES(out, n, good.at, good.len);
    }
    bytes_free(&good);
}

/* Any JSON passes with policy none; another policy wants a known format or the flag. */
static void unknown_formats(void) {
    paucis_opts o = change_nothing();
    paucis_stats st = {.size = sizeof st};
    const char *out;
    size_t n;
    CHECK_EQ(paucis_compact(ctx, "[\"x\"]", 5, &o, &out, &n, &st, NULL), PAUCIS_OK);
    CHECK(st.format == NULL);
    CHECK_BYTES(out, n, "[\"x\"]", 5);
    for (size_t p = 0; paucis_policy_at(p); p++) {
        o.policy = paucis_policy_at(p)->name;
        if (strcmp(o.policy, "none") == 0) continue;
        o.flags = 0;
        o.budget_tokens = 1000;
        CHECK_EQ(paucis_compact(ctx, "[\"x\"]", 5, &o, &out, &n, &st, NULL), PAUCIS_E_FORMAT);
        o.flags = PAUCIS_PASS_THROUGH;
        CHECK_EQ(paucis_compact(ctx, "[\"x\"]", 5, &o, &out, &n, &st, NULL), PAUCIS_OK);
        CHECK_BYTES(out, n, "[\"x\"]", 5);
    }
}

/* ---- plan ---------------------------------------------------------------------------------- */

/* Every policy on every body: plan and compact agree, compact_into fits where bound says so, and
 * the edits can be read when the body is gone (rule a). */
static void check_plan(const struct file *f, const char *policy) {
    struct bytes b = bytes_copy(f->body.at, f->body.len);
    paucis_opts o = options();
    paucis_stats st = {.size = sizeof st}, planned = {.size = sizeof planned};
    const char *out;
    size_t n = 0, nedits = 0;
    paucis_edit edit;
    o.policy = policy;
    o.budget_tokens = 100;
    o.flags = PAUCIS_PASS_THROUGH;
    CHECK_EQ(paucis_compact(ctx, b.at, b.len, &o, &out, &n, &st, NULL), PAUCIS_OK);
    struct bytes kept = bytes_copy(out, n);
    size_t bound = paucis_bound(b.len, &o), m = 0;
    CHECK(n <= bound && st.bytes_out == n && st.bytes_in == b.len);
    struct bytes dst = {must_malloc(n), n};
    CHECK_EQ(paucis_compact_into(ctx, b.at, b.len, &o, dst.at, dst.len, &m, NULL, NULL), PAUCIS_OK);
    CHECK_BYTES(dst.at, m, kept.at, kept.len);
    CHECK_EQ(paucis_plan(ctx, b.at, b.len, &o, &nedits, &planned, NULL), PAUCIS_OK);
    CHECK(nedits == st.edits && planned.bytes_out == n);
    size_t size = b.len;
    bytes_free(&b);
    for (size_t i = 0; i < nedits; i++) {
        memset(&edit, 0, sizeof edit);
        CHECK_EQ(paucis_plan_get(ctx, i, &edit), PAUCIS_OK);
        CHECK(edit.op && edit.strategy && edit.reason && edit.role && edit.kind);
        CHECK(edit.pos + edit.len <= size && (edit.text || !edit.text_len));
        for (size_t k = 0; k < edit.text_len; k++) m += (unsigned char)edit.text[k];
    }
    CHECK_EQ(paucis_plan_get(ctx, nedits, &edit), PAUCIS_E_ARG);
    CHECK_EQ(paucis_plan_get(ctx, SIZE_MAX, &edit), PAUCIS_E_ARG);
    const paucis_break *breaks;
    (void)paucis_check(ctx, kept.at, kept.len, NULL, NULL, &breaks, &m, NULL);
    CHECK_EQ(paucis_plan_get(ctx, 0, &edit), PAUCIS_E_ARG); /* valid until the next call */
    bytes_free(&kept);
    bytes_free(&dst);
}

static void plans(void) {
    struct files f = files_bodies();
    for (size_t p = 0; paucis_policy_at(p); p++)
        for (size_t i = 0; i < f.count; i++) {
            TEST_NOTE("%s of %s", paucis_policy_at(p)->name, f.at[i].name);
            check_plan(&f.at[i], paucis_policy_at(p)->name);
        }
    files_free(&f);
}

/* What a call has handed out cannot be asked for behind another one, which may have another body or
 * none: not even by paucis_name_again, whose texts lie in the body. */
static size_t names_given;

static size_t give_name(void *ud, const char *text, size_t n, char *handle) {
    size_t said = *(const size_t *)ud;
    names_given++;
    for (size_t i = 0; i < n; i++) handle[0] = text[i]; /* reads all of it */
    memcpy(handle, "name", 4);
    return said;
}

static struct bytes long_results(size_t steps) {
    struct bytes lines = bytes_repeat("", "one of many lines, see src/reader.c\\n", 400, "");
    size_t room = 400 + steps * (lines.len + 400), n = 0;
    struct bytes b = {must_malloc(room), 0};
    n += (size_t)snprintf(
        b.at, room, "{\"model\":\"gpt-5\",\"messages\":[{\"role\":\"user\",\"content\":\"go\"}");
    for (size_t i = 0; i < steps; i++)
        n += (size_t)snprintf(
            b.at + n, room - n,
            ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c%zu\","
            "\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":"
            "\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c%zu\",\"content\":"
            "\"%zu\\n%.*s\"}",
            i, i, i, (int)lines.len, lines.at);
    n += (size_t)snprintf(b.at + n, room - n, "]}");
    bytes_free(&lines);
    b.len = n;
    return b;
}

static void nothing_is_left(void) {
    static const char prices[] = "{\"rows\":[{\"name\":\"x\",\"read\":0.1,\"write\":1}]}";
    for (int other = 0; other < 6; other++) {
        struct bytes b = long_results(20);
        paucis_opts o = options(), wrong = options();
        paucis_counts counts = {.size = sizeof counts};
        paucis_price price;
        paucis_splice splice;
        paucis_part part;
        paucis_edit edit;
        paucis_cut cut;
        const paucis_break *breaks;
        const char *out;
        size_t n, length = 4;
        o.handle = give_name;
        o.handle_ud = &length;
        wrong.level = "none such";
        CHECK_EQ(paucis_plan(ctx, b.at, b.len, &o, &n, NULL, NULL), PAUCIS_OK);
        CHECK(n > 3 && paucis_splice_get(ctx, 0, &splice) == PAUCIS_OK);
        names_given = 0;
        CHECK_EQ(paucis_name_again(ctx), PAUCIS_OK);
        CHECK(names_given > 3);
        if (other == 5) CHECK_EQ(paucis_read(ctx, b.at, b.len, NULL, &n, NULL), PAUCIS_OK);
        bytes_free(&b);
        if (other == 0) CHECK_EQ(paucis_read(ctx, "{", 1, NULL, &n, NULL), PAUCIS_E_PARSE);
        if (other == 1)
            CHECK_EQ(paucis_check(ctx, "1", 1, NULL, NULL, &breaks, &n, NULL), PAUCIS_E_FORMAT);
        if (other == 2) CHECK_EQ(paucis_count(ctx, "1", 1, NULL, &counts, NULL), PAUCIS_E_FORMAT);
        if (other == 3)
            CHECK_EQ(paucis_price_parse(ctx, prices, sizeof prices - 1, NULL, &price, NULL),
                     PAUCIS_OK);
        if (other >= 4)
            CHECK_EQ(paucis_compact(ctx, "{}", 2, &wrong, &out, &n, NULL, NULL), PAUCIS_E_ARG);
        TEST_NOTE("other call %d", other);
        names_given = 0;
        CHECK_EQ(paucis_name_again(ctx), PAUCIS_OK);
        CHECK_EQ(names_given, 0);
        CHECK_EQ(paucis_splice_get(ctx, 0, &splice), PAUCIS_E_ARG);
        CHECK_EQ(paucis_plan_get(ctx, 0, &edit), PAUCIS_E_ARG);
        CHECK_EQ(paucis_plan_cut(ctx, 0, &cut), PAUCIS_E_ARG);
        CHECK_EQ(paucis_read_get(ctx, 0, &part), PAUCIS_E_ARG);
    }
}

/* A name that is too long is none, however long the function says it is. */
static void too_long_a_name(void) {
    static const size_t lengths[] = {0, PAUCIS_MAX_HANDLE + 1, 1 << 20, SIZE_MAX};
    struct bytes b = long_results(20);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        paucis_opts o = options();
        const char *out;
        size_t n, length = lengths[i];
        o.handle = give_name;
        o.handle_ud = &length;
        TEST_NOTE("a name of %zu bytes", length);
        CHECK_EQ(paucis_compact(ctx, b.at, b.len, &o, &out, &n, NULL, NULL), PAUCIS_OK);
        struct bytes text = bytes_copy(out, n + 1);
        text.at[n] = 0;
        CHECK(n < b.len && !strstr(text.at, "[full text: name"));
        bytes_free(&text);
    }
    bytes_free(&b);
}

/* Rule (d): a price is there as a whole or not at all. */
static void prices_from_files(void) {
    static const struct {
        const char *json, *name;
        paucis_err want;
    } rows[] = {
        {"{'rows':[{'name':'a','read':0.1,'write':1.25},{'name':'b','read':0,'write':1}]}", "b",
         PAUCIS_OK},
        {"{'rows':[{'name':'a','read':0.1,'write':1.25}]}", "b", PAUCIS_E_ARG},
        {"{'rows':[{'name':'a','read':0.1,'write':1.25,'minimum':-1}]}", NULL, PAUCIS_E_ARG},
        {"{'rows':[{'name':'a','read':1.1,'write':1.25}]}", NULL, PAUCIS_E_ARG},
        {"{'rows':[{'name':'a','read':0.1,'write':99999999999999999999}]}", NULL, PAUCIS_E_ARG},
        {"{'rows':[{'name':'a','read':0.1,'write':1e0}]}", NULL, PAUCIS_E_ARG},
        {"{'rows':[", NULL, PAUCIS_E_PARSE},
        {"[]", NULL, PAUCIS_E_ARG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = bytes_quoted(rows[i].json);
        paucis_price p = {.name = "x", .read = 7, .match = 9}, none = {.name = NULL};
        TEST_NOTE("%s", rows[i].json);
        CHECK_EQ(paucis_price_parse(ctx, b.at, b.len, rows[i].name, &p, NULL), rows[i].want);
        if (rows[i].want)
            CHECK(!p.name && p.read == none.read && p.write == none.write && p.base == none.base &&
                  p.match == none.match);
        else
            CHECK(!strcmp(p.name, "b") && p.read == 0 && p.write == 1000 && p.base == 1000);
        bytes_free(&b);
    }
}

/* The largest value says never, as a large one does, and overflows nothing. */
static void present_thinking(void) {
    struct bytes thought = bytes_repeat("", "what to do next ", 20000, "");
    struct bytes lines = bytes_repeat("", "one of many lines, see src/reader.c\\n", 400, "");
    enum { STEPS = 40 };
    size_t room = 400 + STEPS * (thought.len + lines.len + 400), n = 0, size[2];
    char *b = must_malloc(room);
    paucis_price price = {.read = 100, .write = 10000, .match = PAUCIS_MATCH_PREFIX};
    n += (size_t)snprintf(b, room,
                          "{\"model\":\"claude-opus-5-5\",\"max_tokens\":9,\"messages\":["
                          "{\"role\":\"user\",\"content\":\"go\"}");
    for (size_t i = 0; i < STEPS; i++)
        n += (size_t)snprintf(
            b + n, room - n,
            ",{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
            "\"%.*s\",\"signature\":\"c2ln%zu\"},{\"type\":\"tool_use\",\"id\":\"t%zu\","
            "\"name\":\"bash\",\"input\":{\"command\":\"make %zu\"}}]},{\"role\":"
            "\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t%zu\","
            "\"content\":\"%zu %.*s\"}]}",
            (int)thought.len, thought.at, i, i, i, i, i, (int)lines.len, lines.at);
    n += (size_t)snprintf(b + n, room - n, "]}");
    for (size_t i = 0; i < 2; i++) {
        paucis_kv kv[] = {{"thought", i ? "4294967295" : "1000000"}, {"risk", "1000000"}};
        paucis_opts o = options();
        const char *out;
        o.kv = kv;
        o.nkv = 2;
        o.price = &price;
        CHECK_EQ(paucis_compact(ctx, b, n, &o, &out, &size[i], NULL, NULL), PAUCIS_OK);
    }
    CHECK(size[0] < n && size[0] > STEPS * thought.len);
    CHECK_EQ(size[0], size[1]);
    free(b);
    bytes_free(&thought);
    bytes_free(&lines);
}

/* ---- check --------------------------------------------------------------------------------- */

static bool is_rule(const char *id) {
    for (size_t i = 0; paucis_rule_at(i); i++)
        if (strcmp(paucis_rule_at(i)->name, id) == 0) return true;
    return false;
}

static void breaks_are_rules(void) {
    struct files f = files_bodies();
    size_t seen = 0;
    for (size_t i = 0; i < f.count; i++) {
        const struct bytes *b = &f.at[i].body;
        const paucis_break *list = NULL;
        size_t n = 0, last = 0;
        paucis_check_with with = {f.at[0].body.at, f.at[0].body.len, b->at, b->len};
        TEST_NOTE("%s", f.at[i].name);
        paucis_err err =
            paucis_check(ctx, b->at, b->len, NULL, i % 2 ? NULL : &with, &list, &n, NULL);
        CHECK(err == PAUCIS_OK || err == PAUCIS_E_FORMAT);
        for (size_t k = 0; k < n; k++) {
            CHECK(is_rule(list[k].rule));
            CHECK(list[k].text && *list[k].text && list[k].pointer);
            CHECK(list[k].pointer[0] == '/' || !list[k].pointer[0]);
            CHECK(list[k].pos < b->len && list[k].pos >= last); /* in order of their place */
            last = list[k].pos;
        }
        seen += n;
    }
    CHECK(seen > 0 || f.count < 20);
    files_free(&f);
}

/* Samples break no rule, alone and compared with themselves; their formats are detected. */
static void samples_are_valid(void) {
    for (const struct sample *s = samples; s->format; s++) {
        struct bytes b = bytes_quoted(s->body);
        const paucis_break *list = NULL;
        size_t n = 9;
        const char *out;
        paucis_stats st = {.size = sizeof st};
        paucis_check_with with = {b.at, b.len, b.at, b.len};
        TEST_NOTE("%s", s->format);
        CHECK_EQ(paucis_check(ctx, b.at, b.len, NULL, &with, &list, &n, NULL), PAUCIS_OK);
        CHECK_EQ(n, 0);
        for (size_t k = 0; k < n; k++)
            printf("    %s %s %s\n", list[k].rule, list[k].pointer, list[k].text);
        CHECK_EQ(paucis_compact(ctx, b.at, b.len, NULL, &out, &n, &st, NULL), PAUCIS_OK);
        CHECK_STR(st.format, s->format);
        bytes_free(&b);
    }
}

/* An error in a body to compare with is reported like one in the body. */
static void bad_comparison(void) {
    struct bytes b = bytes_quoted(samples[0].body);
    const paucis_break *list;
    size_t n;
    paucis_error e;
    paucis_check_with before = {"{", 1, NULL, 0}, sent = {NULL, 0, "[1", 2};
    CHECK_EQ(paucis_check(ctx, b.at, b.len, NULL, &before, &list, &n, &e), PAUCIS_E_PARSE);
    CHECK(e.code == PAUCIS_E_PARSE && e.pos == 1 && !list && !n);
    CHECK_EQ(paucis_check(ctx, b.at, b.len, NULL, &sent, &list, &n, &e), PAUCIS_E_PARSE);
    CHECK(e.code == PAUCIS_E_PARSE && e.pos == 2);
    CHECK_EQ(paucis_check(ctx, "[]", 2, NULL, NULL, &list, &n, &e), PAUCIS_E_FORMAT);
    CHECK_EQ(e.code, PAUCIS_E_FORMAT);
    bytes_free(&b);
}

/* ---- tables -------------------------------------------------------------------------------- */

static void check_table(const char *what, const paucis_info *(*at)(size_t), size_t least) {
    size_t n = 0;
    TEST_NOTE("%s", what);
    while (at(n)) n++;
    CHECK(n >= least);
    for (size_t i = 0; i < n; i++) {
        CHECK(at(i)->name && *at(i)->name && at(i)->summary && *at(i)->summary);
        CHECK(at(i) == at(i));
        for (size_t k = 0; k < i; k++) CHECK(strcmp(at(i)->name, at(k)->name) != 0);
    }
    for (size_t i = 0; i < 5; i++) CHECK(!at(n + i));
    CHECK(!at(SIZE_MAX));
}

static void tables(void) {
    check_table("formats", paucis_format_at, 6);
    check_table("policies", paucis_policy_at, 1);
    check_table("strategies", paucis_strategy_at, 0);
    check_table("options", paucis_option_at, 1);
    check_table("rules", paucis_rule_at, 50);
    check_table("kernels", paucis_kernel_at, 1);
    check_table("levels", paucis_level_at, 4);
    check_table("forms", paucis_form_at, 2);
    CHECK_STR(paucis_policy_at(0)->name, "stable");
    for (size_t i = 0; paucis_rule_at(i); i++) CHECK(paucis_rule_at(i)->detail != NULL);
    for (size_t i = 0; paucis_option_at(i); i++) CHECK(paucis_option_at(i)->detail != NULL);
    for (const struct sample *s = samples; s->format; s++) {
        size_t i = 0;
        while (paucis_format_at(i) && strcmp(paucis_format_at(i)->name, s->format) != 0) i++;
        TEST_NOTE("%s", s->format);
        CHECK(paucis_format_at(i) != NULL);
    }
}

/* Every kernel gives the same output and the same error through the option. */
static void kernels(void) {
    for (size_t i = 0; paucis_kernel_at(i); i++) {
        paucis_opts o = change_nothing();
        paucis_kv kv = {"kernel", paucis_kernel_at(i)->name};
        paucis_error e;
        const char *out;
        size_t n;
        o.kv = &kv;
        o.nkv = 1;
        CHECK_EQ(paucis_compact(ctx, "[\"a\"]", 5, &o, &out, &n, NULL, &e), PAUCIS_OK);
        CHECK_EQ(paucis_compact(ctx, "[\"a\x01\"]", 6, &o, &out, &n, NULL, &e), PAUCIS_E_PARSE);
        CHECK_EQ(e.pos, 3);
    }
}

/* Seven eighths of a window: of the model, or of the format where a body names none. */
static void auto_budget(void) {
    static const struct {
        const char *body;
        uint64_t window;
    } rows[] = {
        {"{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]}]}", 1048576},
        {"{\"anthropic_version\":\"vertex-2023-10-16\",\"max_tokens\":25000,"
         "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}",
         200000},
        {"{\"model\":\"gpt-4.1\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", 1047576},
        {"{\"model\":\"mine\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", 128000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        paucis_stats st = {.size = sizeof st};
        paucis_opts o = options();
        const char *out;
        size_t n;
        TEST_NOTE("%s", rows[i].body);
        o.budget_tokens = PAUCIS_AUTO_BUDGET;
        CHECK_EQ(paucis_compact(ctx, rows[i].body, strlen(rows[i].body), &o, &out, &n, &st, NULL),
                 PAUCIS_OK);
        CHECK_EQ(st.budget, rows[i].window - rows[i].window / 8);
    }
}

/* Rule (h): all memory is given back, and old sizes are right. */
static void memory(void) {
    struct counter c;
    counter_init(&c);
    paucis_alloc a = counter_alloc(&c);
    paucis_ctx *own = NULL;
    CHECK_EQ(paucis_ctx_new(&own, &a), PAUCIS_OK);
    memset(&a, 0, sizeof a); /* it was copied */
    struct files f = files_bodies();
    for (size_t i = 0; i < f.count; i++) {
        const paucis_break *list;
        const char *out;
        size_t n;
        const struct bytes *b = &f.at[i].body;
        paucis_stats st = {.size = sizeof st};
        paucis_opts o = options();
        o.flags = PAUCIS_PASS_THROUGH;
        CHECK_EQ(paucis_compact(own, b->at, b->len, &o, &out, &n, &st, NULL), PAUCIS_OK);
        CHECK_EQ(st.peak_alloc, c.peak);
        (void)paucis_check(own, b->at, b->len, NULL, NULL, &list, &n, NULL);
    }
    files_free(&f);
    CHECK(c.blocks > 0);
    paucis_ctx_free(own);
    CHECK(c.blocks == 0 && c.held == 0 && c.wrong_sizes == 0);
}

int main(void) {
    if (paucis_ctx_new(&ctx, NULL) != PAUCIS_OK) return EXIT_FAILURE;
    int code = TEST_RUN(CASE(layout), CASE(version), CASE(error_texts), CASE(null_arguments),
                        CASE(option_sizes), CASE(statistics_sizes), CASE(options_by_name),
                        CASE(identity), CASE(no_space), CASE(reuse_after_errors),
                        CASE(unknown_formats), CASE(plans), CASE(nothing_is_left),
                        CASE(too_long_a_name), CASE(prices_from_files), CASE(present_thinking),
                        CASE(breaks_are_rules), CASE(samples_are_valid), CASE(bad_comparison),
                        CASE(tables), CASE(kernels), CASE(auto_budget), CASE(memory));
    paucis_ctx_free(ctx);
    return code;
}
