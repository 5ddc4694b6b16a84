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
    if (j->memo) j->memo->object = SIZE_MAX;
    if (size > PAUCIS_MAX_BODY) {
        *e = (paucis_error){PAUCIS_E_LIMIT, "body too large", size};
        return PAUCIS_E_LIMIT;
    }
    return (kernel ? kernel : paucis__json_best_kernel())->read(j, m, e);
}

static size_t get_by_text(const struct json *j, size_t object, const char *key, size_t len) {
    size_t found = 0;
    if (!json_is_object(j, object)) return 0;
    for (JSON_EACH_KEY(j, k, object))
        if (json_is_text(j, k, key, len)) found = k + 1;
    return found;
}

/* The name a key is, also if it is spelt with escapes; JSON_NAMES if none. */
static inline size_t key_name(const struct json *j, size_t key) {
    const struct node *n = json_node(j, key);
    if (node_is_name(n)) return n->end;
    size_t name = JSON_NAMES;
    if (n->escaped)
        for (name = 0; name < JSON_NAMES; name++)
            if (json_is_text(j, key, paucis__json_names[name].text, paucis__json_names[name].len))
                break;
    return name;
}

static void memo_fill(const struct json *j, size_t object) {
    struct json_memo *m = j->memo;
    m->object = object;
    m->count = 0;
    m->more = false;
    if (!json_is_object(j, object)) return;
    for (JSON_EACH_KEY(j, k, object)) {
        size_t name = key_name(j, k);
        if (name == JSON_NAMES) continue;
        m->more = m->count == JSON_MEMO;
        if (m->more) return;
        m->name[m->count] = (uint8_t)name;
        m->value[m->count++] = (uint32_t)k + 1;
    }
}

size_t paucis__json_get_name(const struct json *j, size_t object, enum json_name name) {
    const struct json_name_text *text = &paucis__json_names[name];
    struct json_memo *m = j->memo;
    if (!m) return get_by_text(j, object, text->text, text->len);
    if (m->object != object) memo_fill(j, object);
    if (m->more) return get_by_text(j, object, text->text, text->len);
    for (size_t i = m->count; i-- > 0;)
        if (m->name[i] == name) return m->value[i];
    return 0;
}

size_t paucis__json_get(const struct json *j, size_t object, const char *key, size_t len) {
    char room[JSON_NAME_MAX + 8] = {0};
    if (!j->memo || len > JSON_NAME_MAX) return get_by_text(j, object, key, len);
    memcpy(room, key, len);
    size_t name = json_name_of(j->names, room, len, sizeof room);
    if (name == JSON_NAMES) return get_by_text(j, object, key, len);
    return paucis__json_get_name(j, object, (enum json_name)name);
}

bool paucis__json_has_twins(const struct json *j, size_t object) {
    if (!json_is_object(j, object)) return false;
    if (j->memo) {
        if (j->memo->object != object) memo_fill(j, object);
        for (size_t i = 0; i < j->memo->count; i++)
            if (memchr(j->memo->name, j->memo->name[i], i)) return true;
        return j->memo->more;
    }
    uint8_t seen[JSON_NAMES] = {0};
    size_t names = 0;
    for (JSON_EACH_KEY(j, k, object)) {
        size_t name = 0;
        while (name < JSON_NAMES &&
               !json_is_text(j, k, paucis__json_names[name].text, paucis__json_names[name].len))
            name++;
        if (name == JSON_NAMES) continue;
        if (seen[name]++ || ++names > JSON_MEMO) return true;
    }
    return false;
}
