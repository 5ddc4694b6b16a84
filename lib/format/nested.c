/* See nested.h. The text is decoded and read like a body of its own; both are given back at
 * once, since a long history holds thousands of them. */
#include "format/nested.h"

static bool nested_is_object(struct view *v, struct span text) {
    struct json j = {0};
    paucis_error e;
    paucis_err err = paucis__json_read(&j, v->mem, NULL, text.at, text.len, &e);
    bool object = err == PAUCIS_OK ? json_is_object(&j, 0) : err != PAUCIS_E_PARSE;
    if (err == PAUCIS_E_NOMEM) v->failed = true;
    VEC_FREE(v->mem, j.nodes);
    return object;
}

bool paucis__json_is_object_text(struct view *v, size_t node) {
    struct span raw = json_inner(v->j, node);
    if (!json_node(v->j, node)->escaped) return nested_is_object(v, raw);
    char *text = paucis__mem_resize(v->mem, NULL, 0, raw.len);
    if (!text) {
        v->failed = true;
        return true;
    }
    bool object = nested_is_object(v, span_of(text, paucis__json_decode(raw, text)));
    paucis__mem_resize(v->mem, text, raw.len, 0);
    return object;
}
