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

#include "limits.h"

paucis_err paucis__json_read(struct json *j, struct mem *m, const struct json_kernel *kernel,
                             const char *body, size_t size, paucis_error *e) {
    j->body = body;
    j->size = size;
    j->nodes.count = 0;
    if (size > PAUCIS_MAX_BODY) {
        *e = (paucis_error){PAUCIS_E_LIMIT, "body too large", size};
        return PAUCIS_E_LIMIT;
    }
    return (kernel ? kernel : paucis__json_best_kernel())->read(j, m, e);
}

size_t paucis__json_get(const struct json *j, size_t object, const char *key, size_t len) {
    size_t found = 0;
    if (!json_is_object(j, object)) return 0;
    for (JSON_EACH_KEY(j, k, object))
        if (json_is_text(j, k, key, len)) found = k + 1;
    return found;
}

size_t paucis__json_get_name(const struct json *j, size_t object, enum json_name name) {
    const struct json_name_text *text = &paucis__json_names[name];
    size_t found = 0;
    if (!j->names) return paucis__json_get(j, object, text->text, text->len);
    if (!json_is_object(j, object)) return 0;
    for (JSON_EACH_KEY(j, k, object)) {
        const struct node *n = json_node(j, k);
        bool same = n->escaped ? paucis__json_equals(j, k, text->text, text->len)
                               : n->unusual && n->end == ((uint32_t)name | NODE_NAME);
        if (same) found = k + 1;
    }
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
