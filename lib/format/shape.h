/* Small questions that adapters and rules ask of JSON nodes. Everywhere node 0 means "not
 * there", so answers can be chained: shape_get(j, shape_get(j, call, "function"), "name"). */
#ifndef PAUCIS_SHAPE_H
#define PAUCIS_SHAPE_H

#include "view/view.h"

/* A word in a constant table. */
#define WORD(literal) \
    { (literal), sizeof(literal) - 1 }

/* Member of an object; for the root's members use json_get. */
#define shape_get(j, object, literal) \
    shape_member((j), (object), (literal), sizeof(literal) - 1, json_literal_name(literal))
static inline size_t shape_member(const struct json *j, size_t object, const char *key, size_t len,
                                  enum json_name name) {
    return object ? json_member(j, object, key, len, name) : 0;
}

/* Is i a string that says this? */
#define shape_is(j, i, literal) \
    shape_says((j), (i), (literal), sizeof(literal) - 1, json_literal_name(literal))
static inline bool shape_says(const struct json *j, size_t i, const char *text, size_t len,
                              enum json_name name) {
    return i && json_is_string(j, i) && json_says(j, i, text, len, name);
}

/* i if it is of that type, else 0. */
static inline uint32_t shape_string(const struct json *j, size_t i) {
    return i && json_is_string(j, i) ? (uint32_t)i : 0;
}
static inline uint32_t shape_array(const struct json *j, size_t i) {
    return i && json_is_array(j, i) ? (uint32_t)i : 0;
}
static inline uint32_t shape_object(const struct json *j, size_t i) {
    return i && json_is_object(j, i) ? (uint32_t)i : 0;
}
/* i unless it is null. */
static inline uint32_t shape_value(const struct json *j, size_t i) {
    return i && !json_is_null(j, i) ? (uint32_t)i : 0;
}

/* An array or a string without anything in it? */
static inline bool shape_empty(const struct json *j, size_t i) {
    return json_is_array(j, i)    ? json_node(j, i)->end == i + 1
           : json_is_string(j, i) ? json_inner(j, i).len == 0
                                  : false;
}

/* What an adapter does not know: a part nobody may touch, in a unit that is left alone. */
static inline void shape_opaque(struct view *v, size_t node) {
    paucis__view_part(v, PART_OPAQUE, node, 0);
    if (!v->failed) v->messages.at[v->messages.count - 1].flags |= MESSAGE_FROZEN;
}

/* More permissions for the part added last. */
static inline void shape_grant(struct view *v, unsigned flags) {
    if (!v->failed) v->parts.at[v->parts.count - 1].flags |= (uint16_t)flags;
}

#endif
