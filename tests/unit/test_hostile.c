/* Bodies made to hurt: deep, wide, long, repeated, cut. Each gives a clear error or the right
 * result, and its memory grows with its size and no faster: every body is made twice, once
 * double as large, and the most bytes held and the number of allocations are compared. Time is
 * not measured here, but work that grew with the square would not end. */
#include "paucis/paucis.h"

#include "limits.h"
#include "support.h"
#include "test.h"

/* ---- making them --------------------------------------------------------------------------- */

struct maker {
    char *at;
    size_t len, cap;
};

static void put(struct maker *m, const char *text) {
    size_t n = strlen(text);
    if (m->len + n > m->cap) {
        m->cap = (m->len + n) * 2;
        m->at = realloc(m->at, m->cap);
        if (!m->at) exit(2);
    }
    for (size_t i = 0; i < n; i++) m->at[m->len + i] = text[i] == '\'' ? '"' : text[i];
    m->len += n;
}

/* The bytes in a block of their exact size. */
static struct bytes done(struct maker *m) {
    struct bytes b = bytes_copy(m->at, m->len);
    free(m->at);
    return b;
}

/* head, n times `form` with every # replaced by the number, with commas, tail. */
static struct bytes numbered(const char *head, const char *form, size_t n, const char *tail) {
    struct maker m = {NULL, 0, 0};
    put(&m, head);
    for (size_t i = 0; i < n; i++) {
        char one[1024], *d = one;
        for (const char *f = form; *f; f++) {
            if (*f == '#')
                d += snprintf(d, 24, "%zu", i);
            else
                *d++ = *f;
        }
        *d = 0;
        if (i) put(&m, ",");
        put(&m, one);
    }
    put(&m, tail);
    return done(&m);
}

#define CHAT_HEAD "{'model':'m','messages':["
#define TOOL_CALL(id)                                             \
    "{'role':'assistant','content':null,'tool_calls':[{'id':'" id \
    "','type':'function',"                                        \
    "'function':{'name':'f','arguments':'{}'}}]}"
#define TOOL_RESULT(id) "{'role':'tool','tool_call_id':'" id "','content':'r'}"

static struct bytes deep_arrays(size_t n) { return bytes_repeat("", "[", n, ""); }
static struct bytes deep_objects(size_t n) { return bytes_repeat("", "{\"a\":", n, ""); }
static struct bytes empty_messages(size_t n) { return numbered(CHAT_HEAD, "{}", n, "]}"); }
static struct bytes empty_contents(size_t n) { return numbered("{'contents':[", "{}", n, "]}"); }
static struct bytes empty_items(size_t n) {
    return numbered("{'store':false,'tools':[],'input':[", "{}", n, "]}");
}
static struct bytes empty_converse(size_t n) {
    return numbered("{'inferenceConfig':{},'messages':[", "{}", n, "]}");
}
static struct bytes empty_anthropic(size_t n) {
    return numbered("{'system':'s','max_tokens':1,'messages':[", "{}", n, "]}");
}
static struct bytes empty_arrays(size_t n) { return numbered("[", "[]", n, "]"); }
static struct bytes small_numbers(size_t n) { return numbered("[", "0", n, "]"); }
static struct bytes users(size_t n) {
    return numbered(CHAT_HEAD, "{'role':'user','content':'#'}", n, "]}");
}
static struct bytes assistants(size_t n) {
    return numbered(CHAT_HEAD, "{'role':'assistant','content':'#'}", n, "]}");
}
static struct bytes many_keys(size_t n) {
    return numbered(CHAT_HEAD "{'role':'user','content':'x'}],", "'k#':1", n, "}");
}
static struct bytes many_message_keys(size_t n) {
    return numbered(CHAT_HEAD "{'role':'user','content':'x',", "'k#':1", n, "}]}");
}
static struct bytes equal_keys(size_t n) {
    return numbered("{", "'messages':[{'role':'user','content':'x'}]", n, "}");
}
static struct bytes escaped_keys(size_t n) {
    return numbered(CHAT_HEAD "{'role':'user','content':'x',", "'\\u006b#':1", n, "}]}");
}
static struct bytes many_parts(size_t n) {
    return numbered(CHAT_HEAD "{'role':'user','content':[", "{'type':'text','text':'#'}", n,
                    "]}]}");
}
static struct bytes many_blocks(size_t n) {
    return numbered(
        "{'max_tokens':1,'messages':[{'role':'user','content':'q'},{'role':'assistant',"
        "'content':[{'type':'tool_use','id':'t','name':'f','input':{}}]},"
        "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t','content':[",
        "{'type':'text','text':'#'}", n, "]}]}]}");
}
static struct bytes many_calls(size_t n) {
    return numbered(CHAT_HEAD, TOOL_CALL("c#") "," TOOL_RESULT("c#"), n, "]}");
}
static struct bytes equal_ids(size_t n) {
    return numbered(CHAT_HEAD, TOOL_CALL("c") "," TOOL_RESULT("c"), n, "]}");
}
static struct bytes equal_escaped_ids(size_t n) {
    return numbered(CHAT_HEAD, TOOL_CALL("\\u0063") "," TOOL_RESULT("\\u0063"), n, "]}");
}
static struct bytes open_calls(size_t n) { return numbered(CHAT_HEAD, TOOL_CALL("c#"), n, "]}"); }
static struct bytes orphan_results(size_t n) {
    return numbered(CHAT_HEAD, TOOL_RESULT("c#"), n, "]}");
}
static struct bytes late_results(size_t n) { /* all calls first, then all answers in order */
    struct bytes a = numbered(CHAT_HEAD, TOOL_CALL("c#"), n, ","), b;
    b = numbered("", TOOL_RESULT("c#"), n, "]}");
    struct bytes all = {must_malloc(a.len + b.len), a.len + b.len};
    memcpy(all.at, a.at, a.len);
    memcpy(all.at + a.len, b.at, b.len);
    bytes_free(&a);
    bytes_free(&b);
    return all;
}
static struct bytes parallel_calls(size_t n) {
    return numbered(CHAT_HEAD "{'role':'assistant','content':null,'tool_calls':[",
                    "{'id':'c#','type':'function','function':{'name':'f','arguments':'{}'}}", n,
                    "]}]}");
}
static struct bytes nameless_calls(size_t n) {
    return numbered("{'contents':[", "{'role':'model','parts':[{'functionCall':{'name':'f#'}}]}", n,
                    "]}");
}
static struct bytes reasoning_items(size_t n) {
    return numbered("{'store':false,'input':[", "{'type':'reasoning','id':'rs_#','summary':[]}", n,
                    "]}");
}
static struct bytes anthropic_extras(size_t n) { /* a rule broken at every block */
    return numbered("{'max_tokens':1,'system':'s','messages':[{'role':'user','content':[",
                    "{'type':'text','text':'x','extra':1}", n, "]}]}");
}
static struct bytes cache_marks(size_t n) {
    return numbered("{'max_tokens':1,'system':'s','messages':[{'role':'user','content':[",
                    "{'type':'text','text':'x','cache_control':{'type':'ephemeral'}}", n, "]}]}");
}
static struct bytes nested_arguments(
    size_t n) { /* JSON in a string, of every depth a rule may read */
    struct maker m = {NULL, 0, 0};
    put(&m, CHAT_HEAD
        "{'role':'assistant','content':null,'tool_calls':[{'id':'c','type':'function',"
        "'function':{'name':'f','arguments':'");
    for (size_t i = 0; i < n; i++) put(&m, "{\\'a\\':");
    put(&m, "'}}]}]}");
    return done(&m);
}
static struct bytes long_string(size_t n) {
    return bytes_repeat("{\"messages\":[{\"role\":\"user\",\"content\":\"", "0123456789abcdef", n,
                        "\"}]}");
}
static struct bytes long_escapes(size_t n) {
    return bytes_repeat("{\"messages\":[{\"role\":\"user\",\"content\":\"", "\\u0001\\ud800\\n\\/",
                        n, "\"}]}");
}
static struct bytes long_key(size_t n) {
    return bytes_repeat(
        "{\"max_tokens\":1,\"system\":\"s\",\"messages\":[{\"role\":\"user\","
        "\"content\":[{\"type\":\"text\",\"text\":\"x\",\"",
        "abcdefgh", n, "\":1}]}]}");
}
static struct bytes white_space(size_t n) {
    return bytes_repeat("{\"messages\"", " \n\t\r", n, ":[]}");
}
static struct bytes spaces_after_strings(size_t n) {
    return bytes_repeat(
        "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"functionResponse\":"
        "{\"name\":\"f\",\"response\":{\"r\":[\"x\"",
        ",\"y\"        ", n, "]}}}]}]}");
}
static struct bytes backslashes(size_t n) { return bytes_repeat("[\"", "\\\\", n, "\"]"); }
static struct bytes unclosed_string(size_t n) { return bytes_repeat("[\"", "abcdefgh", n, ""); }
static struct bytes long_number(size_t n) { return bytes_repeat("", "1234567890", n, ""); }
static struct bytes many_tools(size_t n) {
    return numbered(CHAT_HEAD "{'role':'user','content':'x'}],'tools':[",
                    "{'type':'function','function':{'name':'f#'}}", n, "]}");
}

/* One long thing that n short ones are compared with or ask again and again. */
static struct bytes one_long_id(size_t n) {
    struct maker m = {NULL, 0, 0};
    put(&m, CHAT_HEAD
        "{'role':'user','content':'x'},{'role':'assistant','content':null,'tool_calls':["
        "{'id':'\\u0062','type':'function','function':{'name':'f','arguments':'{}'}},{'id':'"
        "\\u0061");
    for (size_t i = 0; i < n; i++) put(&m, "0123456789");
    put(&m, "','type':'function','function':{'name':'f','arguments':'{}'}}]}");
    for (size_t i = 0; i < n; i++) put(&m, "," TOOL_RESULT("\\u0063"));
    put(&m, "]}");
    return done(&m);
}
static struct bytes one_wide_call(size_t n) {
    struct maker m = {NULL, 0, 0};
    put(&m, "{'store':false,'tools':[],'input':[{'type':'computer_call','call_id':'c'");
    for (size_t i = 0; i < n; i++) put(&m, ",'k':1");
    put(&m, "}");
    for (size_t i = 0; i < n; i++)
        put(&m, ",{'type':'computer_call_output','call_id':'c','output':{}}");
    put(&m, "]}");
    return done(&m);
}
static struct bytes wide_root(size_t n) {
    struct maker m = {NULL, 0, 0};
    put(&m, "{'max_tokens':1,'system':'s',");
    for (size_t i = 0; i < n; i++) put(&m, "'k':1,");
    put(&m, "'messages':[{'role':'user','content':'x'},{'role':'assistant','content':[");
    for (size_t i = 0; i < n; i++) {
        if (i) put(&m, ",");
        put(&m,
            "{'type':'tool_use','id':'t','name':'f','input':{},'caller':"
            "{'type':'code_execution_1'}}");
    }
    put(&m, "]}]}");
    return done(&m);
}

/* Large containers where strings belong. */
#define NOT_A_STRING(name, head, tail) \
    static struct bytes name(size_t n) { return numbered(head, "[#]", n, tail); }
NOT_A_STRING(role_is_array, "{'messages':[{'role':[", "],'content':'x'}]}")
NOT_A_STRING(type_is_array, "{'messages':[{'role':'user','content':[{'type':[", "]}]}]}")
NOT_A_STRING(id_is_array, CHAT_HEAD "{'role':'tool','tool_call_id':[", "],'content':'x'}]}")
NOT_A_STRING(part_is_array, "{'contents':[{'role':'user','parts':[{'text':[", "]}]}]}")
NOT_A_STRING(item_is_array, "{'store':false,'input':[{'role':'user','type':[", "]}]}")
NOT_A_STRING(model_is_array, "{'messages':[{'role':'user','content':'x'}],'model':[", "]}")
NOT_A_STRING(block_is_array, "{'max_tokens':1,'system':[", "],'messages':[]}")

/* ---- running them -------------------------------------------------------------------------- */

struct hostile {
    const char *name;
    struct bytes (*make)(size_t n);
    size_t n;        /* how many in a long run; others take fewer */
    paucis_err want; /* from reading; check may also say FORMAT */
    size_t ratio;    /* bytes of memory for a byte of body, at most, for reading */
};

struct cost {
    size_t size, peak, calls;
};

/* With these any JSON passes, and comes out as it went in. */
static paucis_opts change_nothing(void) {
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    o.policy = "none";
    return o;
}

/* What may be said of a body that can be read. */
static bool is_answer(paucis_err err) {
    return err == PAUCIS_OK || err == PAUCIS_E_FORMAT || err == PAUCIS_E_LIMIT;
}

static void check_body(paucis_ctx *ctx, const struct bytes *b, paucis_err want) {
    const paucis_break *list;
    size_t n, nedits;
    paucis_error e;
    paucis_err err = paucis_check(ctx, b->at, b->len, NULL, NULL, &list, &n, &e);
    CHECK(want ? err == want : is_answer(err));
    CHECK(n <= PAUCIS_MAX_BREAKS);
    for (size_t i = 0; i < n; i++) CHECK(list[i].pos < b->len);
    if (want) return;
    paucis_check_with with = {b->at, b->len, b->at, b->len};
    err = paucis_check(ctx, b->at, b->len, NULL, &with, &list, &n, &e);
    CHECK(is_answer(err));
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    for (size_t p = 0; paucis_policy_at(p); p++) {
        o.policy = paucis_policy_at(p)->name;
        o.budget_tokens = 1000;
        err = paucis_plan(ctx, b->at, b->len, &o, &nedits, NULL, &e);
        CHECK(is_answer(err) || err == PAUCIS_E_INVARIANT);
    }
}

/* Reads the body, expecting itself or the error; then judges it. */
static struct cost run_body(const struct hostile *h, const struct bytes *b, bool judge) {
    struct counter c;
    counter_init(&c);
    paucis_alloc a = counter_alloc(&c);
    paucis_ctx *ctx = NULL;
    paucis_error e = {PAUCIS_OK, NULL, 0};
    struct bytes dst = {must_malloc(b->len), b->len};
    size_t n = 0;
    paucis_opts o = change_nothing();
    CHECK_EQ(paucis_ctx_new(&ctx, &a), PAUCIS_OK);
    paucis_err err = paucis_compact_into(ctx, b->at, b->len, &o, dst.at, dst.len, &n, NULL, &e);
    CHECK_EQ(err, h->want);
    if (err)
        CHECK(e.code == err && e.msg && e.pos <= b->len && n == 0);
    else
        CHECK(n == b->len && memcmp(dst.at, b->at, n) == 0);
    bytes_free(&dst);
    struct cost cost = {b->len, c.peak, c.calls};
    if (judge) {
        check_body(ctx, b, h->want);
        struct cost after = {b->len, c.peak, c.calls};
        CHECK(after.peak <= 16 * cost.peak + 400 * b->len + 200000);
    }
    paucis_ctx_free(ctx);
    CHECK(c.blocks == 0 && c.held == 0 && c.wrong_sizes == 0);
    return cost;
}

static const struct hostile hostiles[] = {
    {"deep arrays", deep_arrays, 100000, PAUCIS_E_LIMIT, 1},
    {"deep objects", deep_objects, 100000, PAUCIS_E_LIMIT, 1},
    {"empty messages", empty_messages, 1000000, PAUCIS_OK, 60},
    {"empty contents", empty_contents, 300000, PAUCIS_OK, 60},
    {"empty items", empty_items, 300000, PAUCIS_OK, 60},
    {"empty Converse messages", empty_converse, 300000, PAUCIS_OK, 60},
    {"empty Anthropic messages", empty_anthropic, 300000, PAUCIS_OK, 60},
    {"empty arrays", empty_arrays, 1000000, PAUCIS_OK, 9},
    {"small numbers", small_numbers, 1000000, PAUCIS_OK, 7},
    {"users", users, 200000, PAUCIS_OK, 8},
    {"assistants", assistants, 200000, PAUCIS_OK, 8},
    {"many keys", many_keys, 1000000, PAUCIS_OK, 4},
    {"many keys in a message", many_message_keys, 1000000, PAUCIS_OK, 4},
    {"equal keys", equal_keys, 100000, PAUCIS_OK, 5},
    {"escaped keys", escaped_keys, 300000, PAUCIS_OK, 4},
    {"many parts", many_parts, 1000000, PAUCIS_OK, 6},
    {"many blocks in a result", many_blocks, 300000, PAUCIS_OK, 6},
    {"many calls", many_calls, 100000, PAUCIS_OK, 5},
    {"equal ids", equal_ids, 100000, PAUCIS_OK, 5},
    {"equal escaped ids", equal_escaped_ids, 100000, PAUCIS_OK, 5},
    {"open calls", open_calls, 100000, PAUCIS_OK, 5},
    {"orphan results", orphan_results, 100000, PAUCIS_OK, 5},
    {"late results", late_results, 100000, PAUCIS_OK, 5},
    {"parallel calls", parallel_calls, 100000, PAUCIS_OK, 5},
    {"calls without an id", nameless_calls, 100000, PAUCIS_OK, 6},
    {"reasoning items", reasoning_items, 100000, PAUCIS_OK, 6},
    {"a break at every block", anthropic_extras, 200000, PAUCIS_OK, 6},
    {"cache marks", cache_marks, 100000, PAUCIS_OK, 5},
    {"nested arguments", nested_arguments, 100000, PAUCIS_OK, 1},
    {"long string", long_string, 4000000, PAUCIS_OK, 1},
    {"long escapes", long_escapes, 1000000, PAUCIS_OK, 1},
    {"long key", long_key, 1000000, PAUCIS_OK, 1},
    {"white space", white_space, 1000000, PAUCIS_OK, 1},
    {"spaces after strings", spaces_after_strings, 200000, PAUCIS_OK, 4},
    {"backslashes", backslashes, 1000000, PAUCIS_OK, 1},
    {"unclosed string", unclosed_string, 1000000, PAUCIS_E_PARSE, 1},
    {"long number", long_number, 1000000, PAUCIS_OK, 1},
    {"many tools", many_tools, 200000, PAUCIS_OK, 5},
    {"a long id among short ones", one_long_id, 100000, PAUCIS_OK, 6},
    {"a wide call with many answers", one_wide_call, 100000, PAUCIS_OK, 6},
    {"a wide root", wide_root, 100000, PAUCIS_OK, 6},
    {"a role that is an array", role_is_array, 100000, PAUCIS_OK, 8},
    {"a type that is an array", type_is_array, 100000, PAUCIS_OK, 8},
    {"an id that is an array", id_is_array, 100000, PAUCIS_OK, 8},
    {"a text that is an array", part_is_array, 100000, PAUCIS_OK, 8},
    {"an item that is an array", item_is_array, 100000, PAUCIS_OK, 8},
    {"a model that is an array", model_is_array, 100000, PAUCIS_OK, 8},
    {"blocks that are arrays", block_is_array, 100000, PAUCIS_OK, 20},
};

static void linear(void) {
    for (size_t i = 0; i < sizeof hostiles / sizeof *hostiles; i++) {
        const struct hostile *h = &hostiles[i];
        size_t n = h->n / (test_is_sanitized() ? 40 : test_is_long() ? 2 : 8);
        if (n <= PAUCIS_MAX_DEPTH) n = h->n;
        struct bytes one = h->make(n), two = h->make(2 * n);
        TEST_NOTE("%s", h->name);
        struct cost a = run_body(h, &one, false), b = run_body(h, &two, true);
        CHECK(b.peak <= h->ratio * b.size + 100000);
        CHECK(b.peak <= 2 * a.peak + a.peak / 2 + 100000);
        CHECK(b.calls <= a.calls + 40);
        bytes_free(&one);
        bytes_free(&two);
    }
}

/* The sizes the long run asks for: ten million messages, a string of a gigabyte. */
static void largest(void) {
    if (!test_is_long() || test_is_sanitized() || sizeof(void *) < 8) return;
    static const struct hostile two[] = {
        {"ten million messages", empty_messages, 10000000, PAUCIS_OK, 60},
        {"a string of a gigabyte", long_string, (size_t)1 << 26, PAUCIS_OK, 1},
    };
    for (size_t i = 0; i < 2; i++) {
        struct bytes b = two[i].make(two[i].n);
        TEST_NOTE("%s", two[i].name);
        struct cost cost = run_body(&two[i], &b, true);
        printf("  %s: body %zu, memory %zu\n", two[i].name, cost.size, cost.peak);
        CHECK(cost.peak <= two[i].ratio * cost.size + 100000);
        bytes_free(&b);
    }
}

/* ---- limits -------------------------------------------------------------------------------- */

/* A size above the limit is refused before a byte is read. */
static void too_large(void) {
    paucis_ctx *ctx;
    paucis_error e;
    const char *out;
    size_t n;
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_compact(ctx, "1", PAUCIS_MAX_BODY + 1, NULL, &out, &n, NULL, &e),
             PAUCIS_E_LIMIT);
    CHECK_EQ(paucis_compact(ctx, "1", SIZE_MAX, NULL, &out, &n, NULL, &e), PAUCIS_E_LIMIT);
    CHECK(e.code == PAUCIS_E_LIMIT && e.msg && !out && !n);
    paucis_ctx_free(ctx);
}

static void where_too_deep(void) {
    paucis_ctx *ctx;
    paucis_error e;
    const char *out;
    size_t n;
    struct bytes b = deep_arrays(100000);
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_compact(ctx, b.at, b.len, NULL, &out, &n, NULL, &e), PAUCIS_E_LIMIT);
    CHECK_EQ(e.pos, PAUCIS_MAX_DEPTH);
    paucis_ctx_free(ctx);
    bytes_free(&b);
}

/* More breaks than are written down: the first are given, all are counted. */
static void many_breaks(void) {
    paucis_ctx *ctx;
    const paucis_break *list;
    const char *out;
    size_t n = 0;
    struct bytes b = anthropic_extras(PAUCIS_MAX_BREAKS + 5000);
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    CHECK_EQ(paucis_check(ctx, b.at, b.len, NULL, NULL, &list, &n, NULL), PAUCIS_OK);
    CHECK_EQ(n, PAUCIS_MAX_BREAKS);
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    o.flags = PAUCIS_WITH_BREAKS;
    paucis_stats st = {.size = sizeof st};
    CHECK_EQ(paucis_compact(ctx, b.at, b.len, &o, &out, &n, &st, NULL), PAUCIS_OK);
    CHECK(st.breaks >= PAUCIS_MAX_BREAKS + 5000);
    bytes_free(&b);
    b = orphan_results(PAUCIS_MAX_BREAKS + 1); /* too many to judge edits by: none, and said so */
    o.policy = "budget";
    o.budget_tokens = 10;
    CHECK_EQ(paucis_compact(ctx, b.at, b.len, &o, &out, &n, &st, NULL), PAUCIS_OK);
    CHECK(n == b.len && st.edits == 0 && !st.budget_met);
    CHECK(st.original_tokens > 10 && st.final_tokens == st.original_tokens);
    paucis_ctx_free(ctx);
    bytes_free(&b);
}

/* ---- small ones ---------------------------------------------------------------------------- */

static const struct {
    const char *body;
    size_t len;
    paucis_err want;
    size_t pos;
} smalls[] = {
#define SMALL(text, want, pos) \
    { text, sizeof(text) - 1, want, pos }
    SMALL("\0", PAUCIS_E_PARSE, 0),
    SMALL("{\"messages\":[]}\0", PAUCIS_E_PARSE, 15),
    SMALL("{\"a\0b\":1}", PAUCIS_E_PARSE, 3),
    SMALL("{\"messages\":[\0]}", PAUCIS_E_PARSE, 13),
    SMALL("{\"messages\":[{\"role\":\"user\",\"content\":\"\\u0000\"}]}", PAUCIS_OK, 0),
    SMALL("{\"messages\":[{\"role\":\"user\",\"content\":\"\\ud800\"}]}", PAUCIS_OK, 0),
    SMALL("{\"messages\":[{\"\\udc00\":1,\"role\":\"\\ud800\\ud800\"}]}", PAUCIS_OK, 0),
    SMALL("{\"messages\":[],\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", PAUCIS_OK, 0),
    SMALL("{\"messages\":1,\"messages\":[]}", PAUCIS_OK, 0),
    SMALL("{\"messages\":[{\"role\":\"user\",\"role\":\"tool\",\"content\":[],\"content\":1}]}",
          PAUCIS_OK, 0),
    SMALL("{\"m\\u0065ssages\":[{\"r\\u006fle\":\"us\\u0065r\",\"content\":\"x\"}]}", PAUCIS_OK, 0),
    SMALL("{\"messages\":[null,1,\"a\",[],true,{\"role\":{}},{\"role\":null,\"content\":{}}]}",
          PAUCIS_OK, 0),
    SMALL("{\"contents\":[null,1,{\"parts\":1},{\"parts\":[1,null,{\"text\":{}}]}]}", PAUCIS_OK, 0),
    SMALL("{\"input\":[null,1,{\"type\":1},{\"type\":\"message\"}],\"tools\":1}", PAUCIS_OK, 0),
    SMALL("{\"toolConfig\":1,\"messages\":[1,{\"content\":[1,{\"toolUse\":1}]}]}", PAUCIS_OK, 0),
    SMALL("{\"request\":{\"contents\":[]},\"request\":1}", PAUCIS_OK, 0),
    SMALL("{\"input\":\"x\",\"instructions\":{},\"tools\":null}", PAUCIS_OK, 0),
};

/* Every small one, as it is and read as each format. */
static void small_bodies(void) {
    for (size_t i = 0; i < sizeof smalls / sizeof *smalls; i++)
        for (size_t f = 0; f == 0 || paucis_format_at(f - 1); f++) {
            struct bytes b = bytes_copy(smalls[i].body, smalls[i].len);
            paucis_ctx *ctx;
            paucis_opts o = change_nothing();
            paucis_error e = {PAUCIS_OK, NULL, 0};
            const paucis_break *list;
            const char *out;
            size_t n;
            o.format = f ? paucis_format_at(f - 1)->name : NULL;
            TEST_NOTE("small %zu as %s", i, o.format ? o.format : "it is");
            CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
            CHECK_EQ(paucis_compact(ctx, b.at, b.len, &o, &out, &n, NULL, &e), smalls[i].want);
            CHECK_EQ(e.pos, smalls[i].pos);
            if (!smalls[i].want) CHECK_BYTES(out, n, b.at, b.len);
            o.policy = NULL;
            paucis_err err = paucis_compact(ctx, b.at, b.len, &o, &out, &n, NULL, &e);
            CHECK(err == smalls[i].want || err == PAUCIS_E_FORMAT);
            err = paucis_check(ctx, b.at, b.len, &o, NULL, &list, &n, &e);
            CHECK(err == smalls[i].want || err == PAUCIS_E_FORMAT);
            paucis_ctx_free(ctx);
            bytes_free(&b);
        }
}

/* A body cut at every byte is not JSON, and the error is at or before the cut. */
static void cut_everywhere(void) {
    struct files f = files_bodies();
    paucis_ctx *ctx;
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    size_t step = test_is_sanitized() ? 5 : 1;
    for (size_t i = 0; i < f.count; i++) {
        const struct bytes *b = &f.at[i].body;
        size_t whole = b->len; /* white space at the end may go */
        while (whole && b->at[whole - 1] <= ' ') whole--;
        for (size_t cut = i % step; cut < whole; cut += step) {
            struct bytes part = bytes_copy(b->at, cut);
            const paucis_break *list;
            const char *out;
            size_t n;
            paucis_error e;
            TEST_NOTE("%s cut at %zu", f.at[i].name, cut);
            CHECK_EQ(paucis_compact(ctx, part.at, cut, NULL, &out, &n, NULL, &e), PAUCIS_E_PARSE);
            CHECK(e.pos <= cut && !out);
            CHECK_EQ(paucis_check(ctx, part.at, cut, NULL, NULL, &list, &n, &e), PAUCIS_E_PARSE);
            bytes_free(&part);
        }
    }
    paucis_ctx_free(ctx);
    files_free(&f);
}

/* One byte changed anywhere: whatever it is then, it is answered; and JSON comes out as it went
 * in. */
static void mutated(void) {
    struct files f = files_bodies();
    uint64_t seed = 7;
    paucis_ctx *ctx;
    CHECK_EQ(paucis_ctx_new(&ctx, NULL), PAUCIS_OK);
    size_t step = test_is_sanitized() ? 7 : 1;
    paucis_opts o = change_nothing();
    for (size_t i = 0; i < f.count; i++) {
        struct bytes *b = &f.at[i].body;
        for (size_t at = i % step; at < b->len; at += step) {
            static const char others[] = "{}[],:\"\\01tfnabcz_";
            const paucis_break *list;
            const char *out;
            size_t n;
            char was = b->at[at];
            b->at[at] = others[random_below(&seed, sizeof others - 1)];
            TEST_NOTE("%s, byte %zu is %c", f.at[i].name, at, b->at[at]);
            paucis_err err = paucis_compact(ctx, b->at, b->len, &o, &out, &n, NULL, NULL);
            CHECK(err == PAUCIS_E_PARSE || (err == PAUCIS_OK && n == b->len));
            paucis_err stable = paucis_compact(ctx, b->at, b->len, NULL, &out, &n, NULL, NULL);
            CHECK(stable == err || stable == PAUCIS_E_FORMAT);
            CHECK(stable || n <= b->len);
            paucis_err check = paucis_check(ctx, b->at, b->len, NULL, NULL, &list, &n, NULL);
            CHECK(check == err || check == PAUCIS_E_FORMAT);
            b->at[at] = was;
        }
    }
    paucis_ctx_free(ctx);
    files_free(&f);
}

int main(void) {
    return TEST_RUN(CASE(linear), CASE(largest), CASE(too_large), CASE(where_too_deep),
                    CASE(many_breaks), CASE(small_bodies), CASE(cut_everywhere), CASE(mutated));
}
