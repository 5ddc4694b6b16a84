/* Every allocation fails, once and then for ever: the answer is NOMEM or the right result, nothing
 * leaks, and the same context then does the job as if nothing had happened. */
#include "paucis/paucis.h"

#include "support.h"
#include "test.h"

enum call { COMPACT, PLAN, CHECK_ALONE, CHECK_COMPARED, CALLS };
static const char *const call_names[] = {"compact", "plan", "check", "check with others"};

/* What a call answers, as one text, so that two answers can be compared. */
struct answer {
    paucis_err err;
    struct bytes text;
};

static void answer_add(struct answer *a, const char *at, size_t len) {
    char *grown = realloc(a->text.at, a->text.len + len + 1);
    if (!grown) exit(2);
    if (len) memcpy(grown + a->text.len, at, len);
    a->text.at = grown;
    a->text.len += len;
}

static void add_plan(struct answer *a, const paucis_ctx *ctx, size_t n) {
    paucis_edit edit;
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(paucis_plan_get(ctx, i, &edit), PAUCIS_OK);
        answer_add(a, edit.op, strlen(edit.op));
        answer_add(a, edit.strategy, strlen(edit.strategy));
        answer_add(a, edit.text, edit.text ? edit.text_len : 0);
    }
}

static void add_breaks(struct answer *a, const paucis_break *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        answer_add(a, list[i].rule, strlen(list[i].rule));
        answer_add(a, list[i].pointer, strlen(list[i].pointer));
    }
}

static size_t named; /* texts, so far */

static size_t name(void *ud, const char *text, size_t n, char *handle) {
    (void)ud, (void)text;
    named++;
    return (size_t)snprintf(handle, PAUCIS_MAX_HANDLE, "n%zu", n);
}

static struct answer ask(paucis_ctx *ctx, enum call call, const char *policy,
                         const struct bytes *body, const struct bytes *other) {
    struct answer a = {PAUCIS_OK, {NULL, 0}};
    paucis_opts o;
    paucis_error e = {PAUCIS_OK, NULL, 0};
    const char *out;
    const paucis_break *list;
    size_t n = 0;
    paucis_opts_init(&o, sizeof o);
    o.policy = policy;
    o.budget_tokens = 60;
    o.flags = PAUCIS_WITH_BREAKS | PAUCIS_WITH_TOKENS | PAUCIS_REMEMBER;
    if (call == COMPACT) {
        o.handle = name;
        o.flags |= PAUCIS_NAME_NEW;
        a.err = paucis_compact(ctx, body->at, body->len, &o, &out, &n, NULL, &e);
        answer_add(&a, out, n);
        paucis_err again = a.err ? PAUCIS_OK : paucis_name_again(ctx);
        CHECK(again == PAUCIS_OK || again == PAUCIS_E_NOMEM);
    } else if (call == PLAN) {
        a.err = paucis_plan(ctx, body->at, body->len, &o, &n, NULL, &e);
        add_plan(&a, ctx, n);
    } else {
        paucis_check_with with = {other->at, other->len, body->at, body->len};
        a.err = paucis_check(ctx, body->at, body->len, NULL, call == CHECK_ALONE ? NULL : &with,
                             &list, &n, &e);
        add_breaks(&a, list, n);
    }
    CHECK_EQ(e.code, a.err);
    if (a.err) CHECK(e.msg && n == 0);
    return a;
}

struct trial {
    enum call call;
    const char *policy;
    const struct bytes *body, *other;
    struct answer want;
};

static size_t tried, refused; /* failures made, and calls that said NOMEM */

/* Allocation `at` fails, alone or with all that follow. False when there are no more of them. */
static bool fail_at(const struct trial *t, size_t at, bool for_ever) {
    struct counter c;
    counter_init(&c);
    c.fail_from = at;
    c.fail_to = for_ever ? SIZE_MAX : at + 1;
    paucis_alloc a = counter_alloc(&c);
    paucis_ctx *ctx = NULL;
    bool reached = true;
    paucis_err err = paucis_ctx_new(&ctx, &a);
    if (err) {
        CHECK(err == PAUCIS_E_NOMEM && !ctx);
    } else {
        struct answer first = ask(ctx, t->call, t->policy, t->body, t->other);
        reached = c.calls > at;
        CHECK(first.err == PAUCIS_E_NOMEM || first.err == t->want.err);
        tried += reached;
        refused += first.err == PAUCIS_E_NOMEM;
        if (first.err == t->want.err)
            CHECK_BYTES(first.text.at, first.text.len, t->want.text.at, t->want.text.len);
        c.fail_from = SIZE_MAX;
        struct answer again = ask(ctx, t->call, t->policy, t->body, t->other);
        CHECK_EQ(again.err, t->want.err);
        CHECK_BYTES(again.text.at, again.text.len, t->want.text.at, t->want.text.len);
        bytes_free(&first.text);
        bytes_free(&again.text);
    }
    paucis_ctx_free(ctx);
    CHECK(c.blocks == 0 && c.held == 0 && c.wrong_sizes == 0);
    return reached;
}

static void try_all(struct trial *t) {
    paucis_ctx *ctx;
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    t->want = ask(ctx, t->call, t->policy, t->body, t->other);
    paucis_ctx_free(ctx);
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (size_t at = 0; at < 10000 && fail_at(t, at, for_ever); at++) continue;
    bytes_free(&t->want.text);
}

/* The body with one byte of text more, so that a comparison has something to find. */
static struct bytes changed(const struct bytes *b) {
    static const char brief[] = "Be brief.";
    struct bytes c = bytes_copy(b->at, b->len);
    for (size_t i = 0; i + sizeof brief <= c.len; i++)
        if (memcmp(c.at + i, brief, sizeof brief - 1) == 0) c.at[i] = 'X';
    return c;
}

/* The sample with the lines of its messages but the last four times over, so that lists grow
 * more than once; equal ids give breaks to write down. */
static struct bytes enlarged(const struct sample *s) {
    enum { TIMES = 4 };
    struct bytes b = bytes_quoted(s->body);
    size_t from = 0, to = b.len - 1;
    while (b.at[from++] != '\n') continue;
    while (b.at[to - 1] != '\n') to--;
    size_t line = to - from;
    struct bytes big = {must_malloc(b.len + (TIMES - 1) * line), b.len + (TIMES - 1) * line};
    memcpy(big.at, b.at, from);
    for (size_t i = 0; i < TIMES; i++) memcpy(big.at + from + i * line, b.at + from, line);
    memcpy(big.at + from + TIMES * line, b.at + to, b.len - to);
    bytes_free(&b);
    return big;
}

static void every_allocation(void) {
    for (const struct sample *s = samples; s->format; s++) {
        struct bytes body = enlarged(s), other = changed(&body);
        for (int call = 0; call < CALLS; call++)
            for (size_t p = 0; paucis_policy_at(p) && (p == 0 || call < CHECK_ALONE); p++) {
                struct trial t = {.call = (enum call)call, .body = &body, .other = &other};
                t.policy = paucis_policy_at(p)->name;
                TEST_NOTE("%s, %s, policy %s", s->format, call_names[call], t.policy);
                try_all(&t);
            }
        bytes_free(&body);
        bytes_free(&other);
    }
    printf("  %zu failures, %zu answers NOMEM\n", tried, refused);
    CHECK(refused > 100 && named > 100); /* the test does what it says */
}

int main(void) { return TEST_RUN(CASE(every_allocation)); }
