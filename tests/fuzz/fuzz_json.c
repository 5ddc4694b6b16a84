/* The JSON reader: every kernel gives the same nodes or the same error; nodes nest; strings survive
 * decoding and quoting; members are found; pointers lead where they say. */
#include "fuzz.h"
#include "json/json_pointer.h"

enum { MANY = 300 }; /* more nodes than this are not looked at one by one where that is quadratic */

static void check_string(const struct json *j, size_t i) {
    const struct node *n = json_node(j, i);
    struct span raw = json_inner(j, i);
    char *text = malloc(raw.len + 1), *quoted = malloc(raw.len * 6 + 1), *again;
    FUZZ_CHECK(text && quoted);
    size_t len = paucis__json_decode(raw, text);
    FUZZ_CHECK(len <= raw.len && len == paucis__json_decoded_len(raw));
    FUZZ_CHECK(n->escaped == (memchr(raw.at, '\\', raw.len) != NULL));
    FUZZ_CHECK(n->escaped || len == raw.len);
    FUZZ_CHECK(paucis__json_equals(j, i, text, len));
    size_t qlen = paucis__json_quote(span_of(text, len), NULL);
    FUZZ_CHECK(qlen <= len * 6);
    FUZZ_CHECK(paucis__json_quote(span_of(text, len), quoted) == qlen);
    if (!n->unusual) FUZZ_CHECK(qlen == raw.len && memcmp(quoted, raw.at, qlen) == 0);
    again = malloc(qlen + 1);
    FUZZ_CHECK(again);
    FUZZ_CHECK(paucis__json_decode(span_of(quoted, qlen), again) == len);
    FUZZ_CHECK(memcmp(again, text, len) == 0);
    free(again);
    free(quoted);
    free(text);
}

/* Members are found by their decoded keys, the last of twins; twins among the names are seen. */
static void check_object(const struct json *j, size_t object) {
    bool twins = false;
    for (JSON_EACH_KEY(j, k, object)) {
        struct span raw = json_inner(j, k);
        char *key = malloc(raw.len + 1);
        FUZZ_CHECK(key);
        size_t len = paucis__json_decode(raw, key), last = 0;
        for (JSON_EACH_KEY(j, other, object))
            if (paucis__json_equals(j, other, key, len)) last = other + 1;
        FUZZ_CHECK(paucis__json_get(j, object, key, len) == last);
        FUZZ_CHECK(json_is_key(j, k));
        for (size_t name = 0; name < JSON_NAMES; name++)
            if (paucis__json_names[name].len == len &&
                memcmp(paucis__json_names[name].text, key, len) == 0)
                twins = twins || last != k + 1;
        free(key);
    }
    FUZZ_CHECK(!twins || paucis__json_has_twins(j, object));
}

static void check_nodes(const struct json *j) {
    size_t strings = 0;
    for (size_t i = 0; i < j->nodes.count; i++) {
        const struct node *n = json_node(j, i);
        char type = json_type(j, i);
        FUZZ_CHECK(n->at < j->size && (!i || n->at > json_node(j, i - 1)->at));
        if (type == '{' || type == '[') {
            const struct node *close = json_node(j, n->end);
            FUZZ_CHECK(n->end > i && close->end == i);
            FUZZ_CHECK(j->body[close->at] == (type == '{' ? '}' : ']'));
            if (type == '{' && j->nodes.count < MANY) check_object(j, i);
        } else if (type == '}' || type == ']') {
            FUZZ_CHECK(json_node(j, n->end)->end == i);
        } else {
            FUZZ_CHECK(n->end > n->at && n->end <= j->size);
        }
        if (type == '"' && strings++ < MANY) check_string(j, i);
    }
}

/* Does the key, decoded, say this? A pointer holds no NUL, but a question mark for it. */
static bool is_called(const struct json *j, size_t key, const char *name, size_t len) {
    struct span raw = json_inner(j, key);
    char *text = malloc(raw.len + 1);
    FUZZ_CHECK(text);
    size_t n = paucis__json_decode(raw, text);
    for (size_t i = 0; i < n; i++)
        if (!text[i]) text[i] = '?';
    bool same = n == len && memcmp(text, name, n) == 0;
    free(text);
    return same;
}

/* One step of a pointer, from its text; the container's child that it names, 0 if none. Of twin
 * keys the one at or before `want`. */
static size_t step(const struct json *j, size_t container, const char *token, size_t len,
                   size_t want) {
    size_t found = 0, index = 0;
    char text[24];
    if (json_is_array(j, container)) {
        for (JSON_EACH(j, i, container)) {
            int n = snprintf(text, sizeof text, "%zu", index++);
            if ((size_t)n == len && memcmp(text, token, len) == 0) return i;
        }
        return 0;
    }
    if (!json_is_object(j, container)) return 0;
    char *key = malloc(len + 1);
    size_t n = 0;
    FUZZ_CHECK(key);
    for (size_t i = 0; i < len; i++)
        key[n++] = token[i] != '~' ? token[i] : token[++i] == '0' ? '~' : '/';
    for (JSON_EACH_KEY(j, k, container))
        if (k + 1 <= want && is_called(j, k, key, n)) found = k + 1;
    free(key);
    return found;
}

static void check_pointers(const struct json *j, struct mem *m) {
    uint32_t want[MANY] = {0};
    const char *pointer[MANY];
    size_t n = 0;
    struct arena arena = {.mem = m};
    for (size_t i = 0; i < j->nodes.count && n < MANY; i++) {
        char type = json_type(j, i);
        if (type == '}' || type == ']' || (type == '"' && json_is_key(j, i))) continue;
        want[n++] = (uint32_t)i;
        if (i % 3 == 0 && n < MANY) want[n++] = (uint32_t)i; /* a place may be wanted twice */
    }
    FUZZ_CHECK(paucis__json_pointers(j, &arena, want, n, pointer) == PAUCIS_OK);
    size_t total = 0; /* bytes of paths so far; long ones may end at what holds the node */
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        total += strlen(pointer[i]) + 1;
        for (const char *p = pointer[i]; *p;) {
            FUZZ_CHECK(*p == '/');
            size_t len = strcspn(++p, "/");
            at = step(j, at, p, len, want[i]);
            FUZZ_CHECK(at);
            p += len;
        }
        bool holds = at <= want[i] && want[i] < json_next(j, at);
        FUZZ_CHECK(at == want[i] || (holds && total > 4 * j->size));
    }
    paucis__arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct mem mem = {0};
    struct json first = {0}, j = {0};
    paucis_error e1 = {0}, e2 = {0};
    const char *body = (const char *)data;
    paucis_err err = paucis__json_read(
        &first, &mem, paucis__json_kernels[0]->usable() ? paucis__json_kernels[0] : NULL, body,
        size, &e1);
    FUZZ_CHECK(err == PAUCIS_OK || (e1.code == err && e1.msg && e1.pos <= size));
    for (const struct json_kernel *const *k = paucis__json_kernels; *k; k++) {
        if (!(*k)->usable()) continue;
        FUZZ_CHECK(paucis__json_read(&j, &mem, *k, body, size, &e2) == err);
        if (err) {
            FUZZ_CHECK(e1.pos == e2.pos && e1.code == e2.code && strcmp(e1.msg, e2.msg) == 0);
            continue;
        }
        FUZZ_CHECK(j.nodes.count == first.nodes.count);
        FUZZ_CHECK(memcmp(j.nodes.at, first.nodes.at, j.nodes.count * sizeof *j.nodes.at) == 0);
    }
    if (!err) {
        check_nodes(&first);
        check_pointers(&first, &mem);
    }
    VEC_FREE(&mem, j.nodes);
    VEC_FREE(&mem, first.nodes);
    FUZZ_CHECK(mem.held == 0);
    return 0;
}

FUZZ_MUTATOR(0)
