/* See json_pointer.h. The walk keeps, for every open container, the node of the current key or the
 * number of the current element; a path is put together only where one is wanted, and subtrees in
 * which nothing is wanted are stepped over. */
#include "json/json_pointer.h"

#include "limits.h"

struct step {
    size_t container, child; /* child: current value's node */
    size_t index;            /* its number in the container */
};

static struct span step_key(const struct json *j, const struct step *s) {
    return json_is_object(j, s->container) ? json_inner(j, s->child - 1) : span_of(NULL, 0);
}

/* Room for one step's token, whatever has to be escaped in it. */
#define NUMBER_LEN ((size_t)20)
static size_t token_bound(struct span key) { return 1 + 2 * (key.at ? key.len : NUMBER_LEN); }

/* Writes one step's token: a number, or the decoded key with ~ and / escaped. The text is made in
 * the upper half of the room and moved down from there. A C string cannot hold the NUL that a key
 * may have; it becomes a question mark. */
static char *put_token(const struct json *j, const struct step *s, char *dst) {
    struct span key = step_key(j, s);
    size_t half = key.at ? key.len : NUMBER_LEN;
    char *t = dst + 1 + half, *end = t;
    if (key.at) {
        end += paucis__json_decode(key, t);
    } else {
        t = end = t + half;
        size_t i = s->index;
        do *--t = (char)('0' + i % 10);
        while (i /= 10);
    }
    *dst++ = '/';
    for (; t < end; t++) {
        char c = *t;
        *dst++ = c == '~' || c == '/' ? '~' : c ? c : '?';
        if (c == '~' || c == '/') *dst++ = c == '~' ? '0' : '1';
    }
    return dst;
}

/* *left: bytes that may still be spent. A path that takes more ends where they do. */
static const char *put_path(const struct json *j, struct arena *a, const struct step *steps,
                            size_t depth, uint64_t *left) {
    size_t n = 1;
    for (size_t i = 0; i < depth; i++) {
        size_t more = token_bound(step_key(j, &steps[i]));
        if (n + more > *left)
            depth = i;
        else
            n += more;
    }
    *left -= n < *left ? n : *left;
    char *path = paucis__arena_alloc(a, n), *d = path;
    if (!path) return NULL;
    for (size_t i = 0; i < depth; i++) d = put_token(j, &steps[i], d);
    *d = 0;
    return path;
}

static void enter(const struct json *j, struct step *s, size_t container) {
    *s = (struct step){container, container + 1 + json_is_object(j, container), 0};
}

static void advance(const struct json *j, struct step *s) {
    s->child = json_next(j, s->child) + json_is_object(j, s->container);
    s->index++;
}

paucis_err paucis__json_pointers(const struct json *j, struct arena *a, const uint32_t *want,
                                 size_t n, const char **pointer) {
    struct step *steps = paucis__arena_alloc(a, (PAUCIS_MAX_DEPTH + 1) * sizeof *steps);
    if (!steps) return PAUCIS_E_NOMEM;
    size_t depth = 0;
    uint64_t left = (uint64_t)j->size * 64 + 65536;
    for (size_t w = 0; w < n; w++) {
        size_t node = want[w];
        while (depth && node > json_node(j, steps[depth - 1].container)->end) depth--;
        if (!depth && node) enter(j, &steps[depth++], 0);
        while (depth) { /* down to the value that is the node, or whose key it is */
            struct step *s = &steps[depth - 1];
            while (node >= json_next(j, s->child)) advance(j, s);
            if (node <= s->child) break;
            enter(j, &steps[depth++], s->child);
        }
        pointer[w] = put_path(j, a, steps, depth, &left);
        if (!pointer[w]) return PAUCIS_E_NOMEM;
    }
    return PAUCIS_OK;
}
