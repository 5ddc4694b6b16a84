/* JSON as byte ranges of the body: a flat list of 8-byte nodes in document order, nothing copied,
 * nothing decoded until asked.
 *
 *   {"role":"user","n":[1]}      node  0 {     end -> 7
 *   0123456789...                      1 "role"      key; its value is the next node
 *                                      2 "user"
 *                                      3 "n"
 *                                      4 [     end -> 6
 *                                      5 1
 *                                      6 ]     end -> 4
 *                                      7 }     end -> 0
 *
 * A scalar's `end` is the offset one past it (but see json_names.h: ask json_to). An opening
 * node's `end` is the index of its closing node and the other way round, so a whole subtree is
 * skipped in one step. Node 0 is the root and never a child, so 0 also means "none". Duplicate
 * keys stay; json_get finds the last, as the providers' parsers do. */
#ifndef PAUCIS_JSON_H
#define PAUCIS_JSON_H

#include <stdbool.h>
#include <string.h>

#include "core/mem.h"
#include "json/json_names.h"

enum node_kind { NODE_OTHER, NODE_STRING, NODE_OBJECT, NODE_ARRAY }; /* a closing node is "other" */

struct node {
    uint32_t at : 30;     /* offset of the first byte; a string's is its quote */
    uint32_t kind : 2;    /* so that nobody has to fetch the byte, which may be far away, to know */
    uint32_t end : 30;    /* see above */
    uint32_t escaped : 1; /* string with a backslash in it */
    uint32_t unusual : 1; /* string with an escape that another spelling would do as well: \u, \/ */
};

/* The named members of the object that was asked last: adapters ask one object several questions.
 */
#define JSON_MEMO 16
struct json_memo {
    size_t object; /* SIZE_MAX = none */
    size_t count;
    bool more; /* there are more than fit */
    uint8_t name[JSON_MEMO];
    uint32_t value[JSON_MEMO];
};

struct json {
    const struct json_name_table *names; /* set by the owner; NULL = names are not recognised */
    struct json_memo *memo;              /* the same; only with names */
    const char *body;
    size_t size;
    VEC(struct node) nodes;
};

/* Reads the whole body. On PARSE or LIMIT, *e says what and where. The nodes' memory is kept for
 * the next body. kernel NULL = the best this machine has. */
struct json_kernel;
paucis_err paucis__json_read(struct json *j, struct mem *m, const struct json_kernel *kernel,
                             const char *body, size_t size, paucis_error *e);

/* ---- walking ------------------------------------------------------------------------------- */

static inline const struct node *json_node(const struct json *j, size_t i) {
    return &j->nodes.at[i];
}
static inline char json_type(const struct json *j, size_t i) {
    return j->body[j->nodes.at[i].at]; /* one of { [ " t f n - 0..9 } ] */
}
static inline bool json_is_object(const struct json *j, size_t i) {
    return json_node(j, i)->kind == NODE_OBJECT;
}
static inline bool json_is_array(const struct json *j, size_t i) {
    return json_node(j, i)->kind == NODE_ARRAY;
}
static inline bool json_is_string(const struct json *j, size_t i) {
    return json_node(j, i)->kind == NODE_STRING;
}
static inline bool json_is_container(const struct json *j, size_t i) {
    return json_node(j, i)->kind >= NODE_OBJECT;
}
static inline bool json_is_null(const struct json *j, size_t i) {
    return json_node(j, i)->kind == NODE_OTHER && json_type(j, i) == 'n';
}

/* Index of the node after the value at i. */
static inline size_t json_next(const struct json *j, size_t i) {
    return json_is_container(j, i) ? (size_t)json_node(j, i)->end + 1 : i + 1;
}
/* First byte of the value, and one past its last. */
static inline size_t json_from(const struct json *j, size_t i) { return json_node(j, i)->at; }
static inline bool node_is_name(const struct node *n) { return n->unusual && !n->escaped; }
static inline const struct json_name_text *node_name(const struct node *n) {
    return &paucis__json_names[n->end];
}
static inline size_t json_to(const struct json *j, size_t i) {
    const struct node *n = json_node(j, i);
    if (json_is_container(j, i)) return (size_t)json_node(j, n->end)->at + 1;
    return node_is_name(n) ? n->at + node_name(n)->len + 2 : n->end;
}
/* The value's bytes as they stand. */
static inline struct span json_raw(const struct json *j, size_t i) {
    size_t from = json_from(j, i);
    return span_of(j->body + from, json_to(j, i) - from);
}
/* A string's bytes between its quotes, escapes as they stand. */
static inline struct span json_inner(const struct json *j, size_t i) {
    const struct node *n = json_node(j, i);
    size_t len = node_is_name(n) ? node_name(n)->len : (size_t)n->end - n->at - 2;
    return span_of(j->body + n->at + 1, len);
}

/* Elements of an array: for (JSON_EACH(j, i, array)). Members of an object: the same loop visits
 * keys with JSON_EACH_KEY, and i + 1 is the value. */
#define JSON_EACH(j, i, array)                                      \
    size_t i = (array) + 1, i##_end = json_node((j), (array))->end; \
    i < i##_end;                                                    \
    i = json_next((j), i)
#define JSON_EACH_KEY(j, k, object)                                   \
    size_t k = (object) + 1, k##_end = json_node((j), (object))->end; \
    k < k##_end;                                                      \
    k = json_next((j), k + 1)

/* Is the string at i a key? Only a key is followed by a colon. */
static inline bool json_is_key(const struct json *j, size_t i) {
    size_t at = json_to(j, i);
    while (at < j->size && (unsigned char)j->body[at] <= ' ') at++;
    return at < j->size && j->body[at] == ':';
}

bool paucis__json_equals(const struct json *j, size_t i, const char *text, size_t len);

/* Is i a string that says this? */
#define json_is(j, i, literal) \
    json_says((j), (i), (literal), sizeof(literal) - 1, json_literal_name(literal))
static inline bool json_is_text(const struct json *j, size_t i, const char *text, size_t len) {
    const struct node *n = json_node(j, i);
    if (n->escaped) return paucis__json_equals(j, i, text, len);
    if (n->unusual) { /* a name */
        const struct json_name_text *name = node_name(n);
        return name->len == len && name->text[0] == text[0] && memcmp(name->text, text, len) == 0;
    }
    return (size_t)n->end - n->at == len + 2 && n->kind == NODE_STRING &&
           memcmp(j->body + n->at + 1, text, len) == 0;
}

static inline bool json_says(const struct json *j, size_t i, const char *text, size_t len,
                             enum json_name name) {
    const struct node *n = json_node(j, i);
    return node_is_name(n) ? n->end == name : json_is_text(j, i, text, len);
}

/* The value of a member, the last one if the key repeats; 0 if absent or i is not an object. */
size_t paucis__json_get(const struct json *j, size_t object, const char *key, size_t len);
size_t paucis__json_get_name(const struct json *j, size_t object, enum json_name name);
#define json_get(j, object, literal) \
    json_member((j), (object), (literal), sizeof(literal) - 1, json_literal_name(literal))
static inline size_t json_member(const struct json *j, size_t object, const char *key, size_t len,
                                 enum json_name name) {
    return name < JSON_NAMES ? paucis__json_get_name(j, object, name)
                             : paucis__json_get(j, object, key, len);
}

/* Does the object hold a name twice, or so many names that nobody should rely on it? */
bool paucis__json_has_twins(const struct json *j, size_t object);

static inline size_t json_count(const struct json *j, size_t array) {
    size_t n = 0;
    for (JSON_EACH(j, i, array)) n++;
    return n;
}

/* ---- strings ------------------------------------------------------------------------------- */

/* Decodes the inner bytes of a valid JSON string into dst, which holds at least `raw.len` bytes;
 * returns the length. A lone surrogate becomes its three-byte form (as in WTF-8), which
 * json_quote writes back as the same escape, so nothing is lost. */
size_t paucis__json_decode(struct span raw, char *dst);

/* Length of what json_decode would write. */
size_t paucis__json_decoded_len(struct span raw);

/* Do the insides of two strings say the same? Looks no further than the first difference. */
bool paucis__json_same(struct span a, struct span b);

/* Writes text as the inside of a JSON string; dst NULL only measures. At most 6 bytes for one. */
size_t paucis__json_quote(struct span text, char *dst);

/* ---- kernels ------------------------------------------------------------------------------- */

enum { STRING_ESCAPED = 1, STRING_UNUSUAL = 2 };

/* One way to read: the grammar of json_reader.h over a way to find the end of a string.
 * `string_end` gets the offset after the opening quote and returns that of the closing one, or
 * `size` if anything at all is wrong; the reader then asks the scalar one what and where, so that
 * all kernels report the same position. `read` fills the nodes of a json with body and size set. */
struct json_kernel {
    TABLE_ROW;            /* name, summary */
    bool (*usable)(void); /* on this machine */
    size_t (*string_end)(const uint8_t *body, size_t from, size_t size, unsigned *flags);
    paucis_err (*read)(struct json *j, struct mem *m, paucis_error *e);
};

extern const struct json_kernel *const paucis__json_kernels[]; /* best first, NULL ends */
const struct json_kernel *paucis__json_best_kernel(void);

#endif
