/* See kind_json.h. The nodes are walked once, with a stack of the containers around; sizes of
 * subtrees are known, so that none is walked to be measured. */
#include "stable/kind_json.h"

#include <string.h>

#define MANY_MEMBERS 32   /* an object with more is a table */
#define SHORT_STRING 48   /* bytes: these stay whole */
#define LONG_STRING 240   /* bytes: longer ones are cut into pieces ... */
#define PIECE_FROM 80     /* ... of at least so many, if there is a place to cut, */
#define PIECE_TO 160      /* ... and at most so many */
#define TABLE 0x80000000u /* in the stack: a container whose members or elements are units */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static struct span skip_blanks(struct span s) {
    while (s.len && is_blank(*s.at)) s.at++, s.len--;
    return s;
}

bool paucis__json_may_begin(struct span s) {
    s = skip_blanks(s);
    if (!s.len || (*s.at != '[' && *s.at != '{')) return false;
    struct span inside = skip_blanks(span_of(s.at + 1, s.len - 1));
    if (!inside.len) return false;
    if (*s.at == '{') return *inside.at == '"' || *inside.at == '}';
    return memchr("[{\"-0123456789tfn]", *inside.at, 18);
}

bool paucis__json_may_be(struct span s) {
    while (s.len && is_blank(s.at[s.len - 1])) s.len--;
    s = skip_blanks(s);
    return s.len > 1 && s.at[s.len - 1] == (*s.at == '[' ? ']' : '}') && paucis__json_may_begin(s);
}

paucis_err paucis__json_begin(struct json_pieces *p, struct mem *m, struct span text, size_t unit,
                              bool *is) {
    paucis_error e;
    *is = false;
    if (!paucis__json_may_be(text)) return PAUCIS_OK;
    paucis_err err = paucis__json_read(&p->json, m, NULL, text.at, text.len, &e);
    if (err) return err == PAUCIS_E_NOMEM ? err : PAUCIS_OK;
    p->inside.count = p->next = 0;
    p->at = text.at;
    p->string_end = NULL;
    p->ahead.at = NULL;
    p->unit = unit;
    *is = true;
    return PAUCIS_OK;
}

/* ---- strings ------------------------------------------------------------------------------- */

static size_t escape_len(struct span s) {
    if (*s.at != '\\' || s.len < 2) return 1;
    if (s.at[1] != 'u' || s.len < 6) return 2;
    bool high = (s.at[2] | 0x20) == 'd' && memchr("89abAB", s.at[3], 6);
    return high && s.len >= 12 && s.at[6] == '\\' && s.at[7] == 'u' ? 12 : 6;
}

/* The first piece of the inside of a string: never ends inside an escape or a character. */
static size_t string_piece(struct span s) {
    size_t good = 0, safe = 0;
    if (s.len <= LONG_STRING) return s.len;
    for (size_t i = 0; i <= PIECE_TO;) {
        if (((unsigned char)s.at[i] & 0xC0) != 0x80) safe = i;
        size_t n = escape_len(span_of(s.at + i, s.len - i));
        bool end = memchr(" ,;", s.at[i], 3) || (n == 2 && s.at[i + 1] == 'n');
        i += n;
        if (end && i > PIECE_FROM && i <= PIECE_TO) good = i;
    }
    return good ? good : safe;
}

/* ---- the walk ------------------------------------------------------------------------------ */

static bool is_table(const struct json *j, size_t i) {
    if (json_is_array(j, i)) return true;
    size_t members = 0;
    for (JSON_EACH_KEY(j, k, i))
        if (++members > MANY_MEMBERS) return true;
    return false;
}

static const char *byte_at(const struct json_pieces *p, size_t offset) {
    return p->json.body + offset;
}

/* The element, or member, that begins at node i: a unit if it is small enough. */
static bool unit_at(struct json_pieces *p, size_t i, size_t container, struct json_piece *out) {
    const struct json *j = &p->json;
    bool member = json_is_object(j, container);
    if (member && !json_is_key(j, i)) return false; /* its key was looked at and stays */
    size_t value = member ? i + 1 : i, after = json_next(j, value);
    size_t from = json_from(j, i), to = json_to(j, value);
    if (to - from > p->unit) return false;
    size_t next = after == json_node(j, container)->end ? to : json_from(j, after);
    *out = (struct json_piece){.at = byte_at(p, from),
                               .len = next - from,
                               .tail = next - to,
                               .kind = member ? PIECE_MEMBER : PIECE_ELEMENT};
    p->next = after;
    return true;
}

static bool string_at(struct json_pieces *p, struct json_piece *out) {
    size_t left = (size_t)(p->string_end - p->at);
    if (!left) return false;
    *out = (struct json_piece){.at = p->at, .kind = PIECE_STRING};
    out->len = string_piece(span_of(p->at, left));
    return true;
}

/* Goes on to the next piece that is not fixed; at == NULL if none is left. */
static paucis_err find(struct json_pieces *p, struct mem *m, struct json_piece *out) {
    const struct json *j = &p->json;
    *out = (struct json_piece){0};
    for (; p->next < j->nodes.count; p->next++) {
        size_t i = p->next, top = p->inside.count;
        uint32_t around = top ? p->inside.at[top - 1] : 0;
        size_t container = around & ~TABLE;
        if (top && i == json_node(j, container)->end) {
            p->inside.count--;
            continue;
        }
        if ((around & TABLE) && unit_at(p, i, container, out)) return PAUCIS_OK;
        if (json_is_container(j, i)) {
            if (!VEC_ROOM(m, p->inside, 1)) return PAUCIS_E_NOMEM;
            p->inside.at[p->inside.count++] = (uint32_t)i | (is_table(j, i) ? TABLE : 0);
        } else if (json_is_string(j, i) && !json_is_key(j, i) &&
                   json_inner(j, i).len > SHORT_STRING) {
            struct span inner = json_inner(j, i);
            p->string_end = inner.at + inner.len;
            *out = (struct json_piece){.at = inner.at, .kind = PIECE_STRING};
            out->len = string_piece(inner);
            p->next++;
            return PAUCIS_OK;
        }
    }
    return PAUCIS_OK;
}

paucis_err paucis__json_piece(struct json_pieces *p, struct mem *m, struct json_piece *out) {
    const char *end = p->json.body + p->json.size;
    if (p->ahead.at) {
        *out = p->ahead;
        p->ahead.at = NULL;
    } else if (!p->string_end || !string_at(p, out)) {
        p->string_end = NULL;
        PAUCIS_TRY(find(p, m, out));
    }
    const char *stop = out->at ? out->at : end;
    if (p->at < stop) {
        p->ahead = *out;
        *out = (struct json_piece){.at = p->at, .kind = PIECE_FIXED};
        out->len = (size_t)(stop - p->at);
    }
    if (out->at) p->at = out->at + out->len;
    return PAUCIS_OK;
}

void paucis__json_end(struct json_pieces *p, struct mem *m) {
    VEC_FREE(m, p->json.nodes);
    VEC_FREE(m, p->inside);
}
