/* The JSON reader: strict RFC 8259, one pass, no recursion.
 *
 * Why by hand: the product is a splice of the body's own bytes, so every value must be known by
 * its byte range. The fast libraries in reach (simdjson, yyjson, RapidJSON) copy and decode
 * strings into a document of their own and forget where they stood; the small ones that keep
 * ranges (jsmn) read a byte at a time and check neither grammar nor UTF-8.
 *
 * Agent bodies are long strings with a little structure between them. So the strings are left to a
 * vector kernel that does everything at once (find the end, check escapes, control bytes and
 * UTF-8), and the structure is read by a plain loop. The stack of open containers lies in the
 * nodes themselves: while a container is open, its `end` names its parent.
 *
 * Kernels only say that a string is bad; json_string_defect, the obvious byte-by-byte reader, then
 * says what and where. */
#include "json/json.h"

#include "json/json_scalar.h"
#include "limits.h"

struct reader {
    struct json *j;
    struct mem *m;
    const struct json_kernel *kernel;
    const uint8_t *body;
    size_t at, size;
    bool tag_next;      /* the next value's key says that it is a tag */
    size_t open, depth; /* innermost open container (only if depth > 0) and how many there are */
    paucis_error *e;
};

static paucis_err reader_fail(struct reader *r, paucis_err code, const char *msg, size_t pos) {
    *r->e = (paucis_error){code, msg, pos};
    return code;
}

static paucis_err reader_unexpected(struct reader *r, const char *msg) {
    return reader_fail(r, PAUCIS_E_PARSE, r->at < r->size ? msg : "unexpected end of input", r->at);
}

static inline void reader_skip_space(struct reader *r) {
    const uint8_t *b = r->body;
    size_t i = r->at, n = r->size;
    while (i < n && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r')) i++;
    r->at = i;
}

static inline paucis_err reader_push(struct reader *r, size_t at, size_t end, unsigned flags) {
    struct json *j = r->j;
    if (!VEC_ROOM(r->m, j->nodes, 1)) return reader_fail(r, PAUCIS_E_NOMEM, "out of memory", at);
    if (j->nodes.count >= PAUCIS_MAX_TOKENS)
        return reader_fail(r, PAUCIS_E_LIMIT, "too many values", at);
    struct node *n = &j->nodes.at[j->nodes.count++];
    n->at = (uint32_t)at & 0x7fffffff;
    n->end = (uint32_t)end & 0x7fffffff;
    n->escaped = flags & 1;      /* STRING_ESCAPED */
    n->unusual = flags >> 1 & 1; /* STRING_UNUSUAL */
    return PAUCIS_OK;
}

/* A string; `tag` if it may be one of the names. */
static inline paucis_err reader_string(struct reader *r, bool tag) {
    unsigned flags = 0;
    size_t from = r->at, end = r->kernel->string_end(r->body, from + 1, r->size, &flags);
    if (end == r->size) {
        const char *msg = "invalid string";
        size_t pos = json_string_defect(r->body, from + 1, r->size, &msg);
        return reader_fail(r, PAUCIS_E_PARSE, msg, pos);
    }
    r->at = end + 1;
    if (tag && !flags && r->j->names) {
        const char *text = r->j->body + from + 1;
        size_t name = json_name_of(r->j->names, text, end - from - 1, r->size - from - 1);
        r->tag_next = name == NAME_role || name == NAME_type;
        if (name != JSON_NAMES) return reader_push(r, from, name, STRING_UNUSUAL);
    }
    return reader_push(r, from, end + 1, flags);
}

static inline bool is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }

/* The byte at the cursor, or 0 at the end: 0 fits nowhere in the grammar, so it stops every loop.
 */
static inline uint8_t reader_peek(const struct reader *r) {
    return r->at < r->size ? r->body[r->at] : 0;
}

static paucis_err reader_digits(struct reader *r) {
    if (!is_digit(reader_peek(r))) return reader_unexpected(r, "expected a digit");
    while (is_digit(reader_peek(r))) r->at++;
    return PAUCIS_OK;
}

static paucis_err reader_number(struct reader *r) {
    size_t from = r->at;
    if (reader_peek(r) == '-') r->at++;
    if (reader_peek(r) == '0')
        r->at++;
    else
        PAUCIS_TRY(reader_digits(r));
    if (reader_peek(r) == '.') {
        r->at++;
        PAUCIS_TRY(reader_digits(r));
    }
    if ((reader_peek(r) | 0x20) == 'e') {
        r->at++;
        if (reader_peek(r) == '+' || reader_peek(r) == '-') r->at++;
        PAUCIS_TRY(reader_digits(r));
    }
    return reader_push(r, from, r->at, 0);
}

static paucis_err reader_literal(struct reader *r, const char *word, size_t len) {
    size_t from = r->at;
    for (size_t i = 0; i < len; i++, r->at++)
        if (reader_peek(r) != (uint8_t)word[i]) return reader_unexpected(r, "invalid literal");
    return reader_push(r, from, r->at, 0);
}

static paucis_err reader_open(struct reader *r) {
    if (r->depth == PAUCIS_MAX_DEPTH)
        return reader_fail(r, PAUCIS_E_LIMIT, "nested too deeply", r->at);
    PAUCIS_TRY(reader_push(r, r->at++, r->open, 0));
    r->open = r->j->nodes.count - 1;
    r->depth++;
    return PAUCIS_OK;
}

static paucis_err reader_close(struct reader *r) {
    size_t open = r->open;
    PAUCIS_TRY(reader_push(r, r->at++, open, 0));
    struct node *nodes = r->j->nodes.at;
    r->open = nodes[open].end;
    nodes[open].end = (uint32_t)(r->j->nodes.count - 1) & 0x7fffffff;
    r->depth--;
    return PAUCIS_OK;
}

static paucis_err reader_key(struct reader *r) {
    reader_skip_space(r);
    if (reader_peek(r) != '"') return reader_unexpected(r, "expected a key");
    r->tag_next = false;
    PAUCIS_TRY(reader_string(r, true));
    reader_skip_space(r);
    if (reader_peek(r) != ':') return reader_unexpected(r, "expected ':'");
    r->at++;
    return PAUCIS_OK;
}

/* Reads one scalar, or opens a container; *opened tells which. */
static inline paucis_err reader_value(struct reader *r, bool *opened) {
    *opened = false;
    reader_skip_space(r);
    switch (reader_peek(r)) {
    case '"': return reader_string(r, r->tag_next);
    case '{':
    case '[': *opened = true; return reader_open(r);
    case 't': return reader_literal(r, "true", 4);
    case 'f': return reader_literal(r, "false", 5);
    case 'n': return reader_literal(r, "null", 4);
    default:
        if (reader_peek(r) == '-' || is_digit(reader_peek(r))) return reader_number(r);
        return reader_unexpected(r, "expected a value");
    }
}

/* After a value: closes what ends here and steps over the comma before the next value. The
 * document is done when nothing is open any more. */
static inline paucis_err reader_after_value(struct reader *r) {
    while (r->depth) {
        reader_skip_space(r);
        uint8_t c = reader_peek(r), open = r->body[r->j->nodes.at[r->open].at];
        if (c == ',') {
            r->at++;
            return open == '{' ? reader_key(r) : PAUCIS_OK;
        }
        if (c != open + 2) /* '{' + 2 is '}', '[' + 2 is ']' */
            return reader_unexpected(r,
                                     open == '{' ? "expected ',' or '}'" : "expected ',' or ']'");
        PAUCIS_TRY(reader_close(r));
    }
    return PAUCIS_OK;
}

static paucis_err reader_document(struct reader *r) {
    do {
        bool opened;
        PAUCIS_TRY(reader_value(r, &opened));
        if (opened) {
            reader_skip_space(r);
            uint8_t open = r->body[r->j->nodes.at[r->open].at];
            if (reader_peek(r) != open + 2) { /* not empty */
                if (open == '{') PAUCIS_TRY(reader_key(r));
                continue;
            }
            PAUCIS_TRY(reader_close(r));
        }
        PAUCIS_TRY(reader_after_value(r));
    } while (r->depth);
    reader_skip_space(r);
    if (r->at < r->size) return reader_unexpected(r, "expected the end of the body");
    return PAUCIS_OK;
}

paucis_err paucis__json_read(struct json *j, struct mem *m, const struct json_kernel *kernel,
                             const char *body, size_t size, paucis_error *e) {
    j->body = body;
    j->size = size;
    j->nodes.count = 0;
    struct reader r = {.j = j, .m = m, .body = (const uint8_t *)body, .size = size, .e = e};
    r.kernel = kernel ? kernel : paucis__json_best_kernel();
    if (size > PAUCIS_MAX_BODY) return reader_fail(&r, PAUCIS_E_LIMIT, "body too large", size);
    return reader_document(&r);
}

size_t paucis__json_get(const struct json *j, size_t object, const char *key, size_t len) {
    size_t found = 0;
    if (!json_is_object(j, object)) return 0;
    for (JSON_EACH_KEY(j, k, object))
        if (json_is_text(j, k, key, len)) found = k + 1;
    return found;
}

bool paucis__json_has_twins(const struct json *j, size_t object) {
    size_t keys[64], n = 0; /* a message has a handful; comparing each with each is the quick way */
    if (!json_is_object(j, object)) return false;
    for (JSON_EACH_KEY(j, k, object)) {
        struct span key = json_inner(j, k);
        for (size_t i = 0; i < n; i++)
            if (json_is_text(j, keys[i], key.at, key.len)) return true;
        if (n == sizeof keys / sizeof *keys || json_node(j, k)->escaped) return true;
        keys[n++] = k;
    }
    return false;
}
