/* A small JSON reader for trace lines, session logs and call arguments, and the one way of writing
 * JSON that the measure needs: that of Python's json.dumps. Nodes lie in document order; a node
 * knows where its subtree ends. An object's members are a key and its value, one after the other.
 * NaN and the infinities are taken, as Python takes them. */
#include "replay/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading -------------------------------------------------------------------------------- */

struct reader {
    struct jdoc *d;
    const char *p, *end;
};

static void skip_blanks(struct reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
}

static void add_node(struct reader *r, enum jkind kind, const char *from, const char *to) {
    struct jdoc *d = r->d;
    struct jnode *n = PUSH(d->node, d->count, d->cap);
    *n = (struct jnode){kind, (uint32_t)d->count, (size_t)(from - d->text), (size_t)(to - d->text)};
}

static bool hex4(const char *p, const char *end, unsigned *out) {
    *out = 0;
    if (end - p < 4) return false;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        unsigned v = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                            : 16;
        if (v == 16) return false;
        *out = *out << 4 | v;
    }
    return true;
}

static bool read_string(struct reader *r) {
    const char *from = r->p++;
    unsigned unit;
    while (r->p < r->end) {
        unsigned char c = (unsigned char)*r->p;
        if (c == '"') {
            r->p++;
            add_node(r, J_STRING, from, r->p);
            return true;
        }
        if (c < 0x20) return false;
        if (c == '\\') {
            if (r->end - r->p < 2) return false;
            if (r->p[1] == 'u' ? !hex4(r->p + 2, r->end, &unit) : !strchr("\"\\/bfnrt", r->p[1]))
                return false;
            r->p += r->p[1] == 'u' ? 6 : 2;
            continue;
        }
        r->p++;
    }
    return false;
}

static size_t digits(struct reader *r) {
    const char *from = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9') r->p++;
    return (size_t)(r->p - from);
}

static bool read_number(struct reader *r) {
    const char *from = r->p;
    if (*r->p == '-') r->p++;
    const char *first = r->p;
    if (digits(r) == 0) return false;
    if (*first == '0') r->p = first + 1; /* 01 is 0 and something behind it */
    if (r->p < r->end && *r->p == '.') {
        const char *dot = r->p++;
        if (digits(r) == 0) r->p = dot;
    }
    if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        const char *e = r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-')) r->p++;
        if (digits(r) == 0) r->p = e;
    }
    add_node(r, J_NUMBER, from, r->p);
    return true;
}

static bool read_scalar(struct reader *r) {
    static const struct {
        const char *word;
        enum jkind kind;
    } words[] = {{"null", J_NULL},  {"true", J_TRUE},       {"false", J_FALSE},
                 {"NaN", J_NUMBER}, {"Infinity", J_NUMBER}, {"-Infinity", J_NUMBER}};
    if (*r->p == '"') return read_string(r);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(r->end - r->p) < n || memcmp(r->p, words[i].word, n) != 0) continue;
        add_node(r, words[i].kind, r->p, r->p + n);
        r->p += n;
        return true;
    }
    return (*r->p == '-' || (*r->p >= '0' && *r->p <= '9')) && read_number(r);
}

/* A key and its colon, if the innermost container is an object. */
static bool read_key(struct reader *r) {
    struct jdoc *d = r->d;
    if (d->depth == 0 || d->node[d->stack[d->depth - 1]].kind != J_OBJECT) return true;
    skip_blanks(r);
    if (r->p == r->end || *r->p != '"' || !read_string(r)) return false;
    skip_blanks(r);
    if (r->p == r->end || *r->p != ':') return false;
    r->p++;
    return true;
}

static void close_container(struct reader *r) {
    struct jdoc *d = r->d;
    struct jnode *n = &d->node[d->stack[--d->depth]];
    n->end = (uint32_t)d->count;
    n->to = (size_t)(++r->p - d->text);
}

/* After a value: closes what ends here; *more says that another value follows. */
static bool read_after(struct reader *r, bool *more) {
    struct jdoc *d = r->d;
    *more = false;
    while (d->depth > 0) {
        skip_blanks(r);
        if (r->p == r->end) return false;
        bool object = d->node[d->stack[d->depth - 1]].kind == J_OBJECT;
        if (*r->p == ',') {
            r->p++;
            *more = true;
            return true;
        }
        if (*r->p != (object ? '}' : ']')) return false;
        close_container(r);
    }
    return true;
}

static bool read_value(struct reader *r, bool *opened) {
    struct jdoc *d = r->d;
    *opened = false;
    skip_blanks(r);
    if (r->p == r->end) return false;
    if (*r->p != '{' && *r->p != '[') return read_scalar(r);
    bool object = *r->p == '{';
    *PUSH(d->stack, d->depth, d->stack_cap) = (uint32_t)d->count;
    add_node(r, object ? J_OBJECT : J_ARRAY, r->p, r->p);
    r->p++;
    skip_blanks(r);
    if (r->p < r->end && *r->p == (object ? '}' : ']'))
        close_container(r);
    else
        *opened = true;
    return true;
}

bool jdoc_read(struct jdoc *d, const char *text, size_t len) {
    struct reader r = {d, text, text + len};
    bool more = true, opened;
    d->text = text;
    d->len = len;
    d->count = d->depth = 0;
    if (len >= UINT32_MAX) return false;
    while (more) {
        if (!read_key(&r) || !read_value(&r, &opened)) return false;
        if (!opened && !read_after(&r, &more)) return false;
    }
    skip_blanks(&r);
    return r.p == r.end;
}

void jdoc_free(struct jdoc *d) {
    free(d->node);
    free(d->stack);
    *d = (struct jdoc){0};
}

/* ---- looking -------------------------------------------------------------------------------- */

struct str j_raw(const struct jdoc *d, size_t i) {
    return (struct str){d->text + d->node[i].from, d->node[i].to - d->node[i].from};
}

static bool key_is(const struct jdoc *d, size_t key, const char *name, size_t n) {
    const struct jnode *k = &d->node[key];
    return k->to - k->from == n + 2 && memcmp(d->text + k->from + 1, name, n) == 0;
}

size_t j_get(const struct jdoc *d, size_t object, const char *name) {
    size_t found = 0, n = strlen(name);
    if (d->node[object].kind != J_OBJECT) return 0;
    for (size_t k = object + 1; k < d->node[object].end; k = d->node[k + 1].end)
        if (key_is(d, k, name, n)) found = k + 1; /* of several the last counts */
    return found && d->node[found].kind == J_NULL ? 0 : found;
}

enum { SHADOW_MAX = 256 }; /* in larger objects repeated keys are not looked for */

bool j_is_shadowed(const struct jdoc *d, size_t object, size_t key) {
    size_t end = d->node[object].end;
    struct str name = j_raw(d, key);
    if (end - object > SHADOW_MAX) return false;
    for (size_t k = d->node[key + 1].end; k < end; k = d->node[k + 1].end)
        if (str_eq(name, j_raw(d, k))) return true;
    return false;
}

static void put_utf8(char **to, unsigned c) {
    char *p = *to;
    if (c < 0x80)
        *p++ = (char)c;
    else if (c < 0x800)
        *p++ = (char)(0xc0 | c >> 6), *p++ = (char)(0x80 | (c & 63));
    else if (c < 0x10000)
        *p++ = (char)(0xe0 | c >> 12), *p++ = (char)(0x80 | (c >> 6 & 63)),
        *p++ = (char)(0x80 | (c & 63));
    else
        *p++ = (char)(0xf0 | c >> 18), *p++ = (char)(0x80 | (c >> 12 & 63)),
        *p++ = (char)(0x80 | (c >> 6 & 63)), *p++ = (char)(0x80 | (c & 63));
    *to = p;
}

/* The \u escape at p, with the second half of a pair; returns what is behind it. */
static const char *unit_escape(const char *p, const char *end, char **to) {
    unsigned c, low;
    hex4(p + 2, end, &c);
    p += 6;
    bool high = c >= 0xd800 && c < 0xdc00;
    if (high && end - p >= 6 && p[0] == '\\' && p[1] == 'u' && hex4(p + 2, end, &low) &&
        low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
        p += 6;
    }
    put_utf8(to, c);
    return p;
}

struct str j_string(const struct jdoc *d, size_t i, struct arena *a) {
    struct str raw = {d->text + d->node[i].from + 1, d->node[i].to - d->node[i].from - 2};
    if (raw.len == 0 || !memchr(raw.at, '\\', raw.len)) return raw;
    char *out = arena_get(a, raw.len), *to = out;
    const char *p = raw.at, *end = raw.at + raw.len;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t n = (size_t)((slash ? slash : end) - p);
        memcpy(to, p, n);
        to += n;
        p += n;
        if (!slash) break;
        static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
        const char *name = strchr(names, p[1]);
        if (p[1] == 'u') {
            p = unit_escape(p, end, &to);
            continue;
        }
        *to++ = name ? values[name - names] : p[1];
        p += 2;
    }
    return (struct str){out, (size_t)(to - out)};
}

struct str j_text(const struct jdoc *d, size_t object, const char *key, struct arena *a) {
    size_t i = j_get(d, object, key);
    return i && d->node[i].kind == J_STRING ? j_string(d, i, a) : (struct str){"", 0};
}

bool j_number(const struct jdoc *d, size_t i, double *out) {
    if (!i || d->node[i].kind != J_NUMBER) return false;
    char text[64];
    struct str raw = j_raw(d, i);
    if (raw.len >= sizeof text) return false;
    memcpy(text, raw.at, raw.len);
    text[raw.len] = '\0';
    *out = strtod(text, NULL);
    return true;
}

/* ---- json.dumps ----------------------------------------------------------------------------- */

void dump_string(struct buf *b, struct str s, bool ascii) {
    static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    const char *p = s.at, *end = s.at + s.len, *from = p;
    buf_str(b, "\"");
    while (p < end) {
        size_t n;
        unsigned c = utf8_at(p, end, &n);
        bool plain = c >= 0x20 && c != '"' && c != '\\' && (!ascii || c < 0x7f);
        if (!plain) {
            buf_add(b, from, (size_t)(p - from));
            const char *name = c < 0x80 && c ? strchr(values, (int)c) : NULL;
            if (name)
                buf_fmt(b, "\\%c", names[name - values]);
            else if (c >= 0x10000)
                buf_fmt(b, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                        0xdc00 + ((c - 0x10000) & 0x3ff));
            else
                buf_fmt(b, "\\u%04x", c);
            from = p + n;
        }
        p += n;
    }
    buf_add(b, from, (size_t)(end - from));
    buf_str(b, "\"");
}

/* repr() of a float: the shortest digits that give it back, with an exponent outside 1e-4..1e16. */
static void dump_float(struct buf *b, double v) {
    char text[40];
    int precision = 1;
    if (isnan(v)) {
        buf_str(b, "NaN");
        return;
    }
    if (isinf(v)) {
        buf_str(b, v < 0 ? "-Infinity" : "Infinity");
        return;
    }
    do snprintf(text, sizeof text, "%.*e", precision - 1, v);
    while (strtod(text, NULL) != v && ++precision <= 17);
    int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 16) {
        int decimals = precision - 1 - exponent;
        buf_fmt(b, "%.*f", decimals > 0 ? decimals : 1, v);
    } else {
        *strchr(text, 'e') = '\0';
        buf_fmt(b, "%se%c%02d", text, exponent < 0 ? '-' : '+', abs(exponent));
    }
}

static void dump_number(const struct jdoc *d, size_t i, struct buf *b) {
    struct str raw = j_raw(d, i);
    double v = 0;
    bool whole = true;
    for (size_t k = 0; k < raw.len; k++)
        whole = whole && (raw.at[k] == '-' || (raw.at[k] >= '0' && raw.at[k] <= '9'));
    if (!whole && j_number(d, i, &v))
        dump_float(b, v);
    else if (str_is(raw, "-0"))
        buf_str(b, "0");
    else
        buf_add(b, raw.at, raw.len);
}

/* The member that counts for a key: the value of its last repetition. */
static size_t last_value(const struct jdoc *d, size_t object, size_t key) {
    size_t value = key + 1;
    struct str name = j_raw(d, key);
    for (size_t k = d->node[value].end; k < d->node[object].end; k = d->node[k + 1].end)
        if (str_eq(name, j_raw(d, k))) value = k + 1;
    return value;
}

static bool seen_before(const struct jdoc *d, size_t object, size_t key) {
    for (size_t k = object + 1; k < key; k = d->node[k + 1].end)
        if (str_eq(j_raw(d, key), j_raw(d, k))) return true;
    return false;
}

struct dump {
    size_t at, end; /* next child, and where the container ends */
    size_t container;
    bool any;
};

static void dump_scalar(const struct jdoc *d, size_t i, struct arena *a, struct buf *b) {
    static const char *const words[] = {[J_NULL] = "null", [J_TRUE] = "true", [J_FALSE] = "false"};
    if (d->node[i].kind == J_STRING)
        dump_string(b, j_string(d, i, a), true);
    else if (d->node[i].kind == J_NUMBER)
        dump_number(d, i, b);
    else
        buf_str(b, words[d->node[i].kind]);
}

/* The next child of the innermost container, with what stands in front of it; false at the end. */
static bool dump_next(const struct jdoc *d, struct dump *f, struct arena *a, struct buf *b,
                      size_t *value) {
    bool object = d->node[f->container].kind == J_OBJECT,
         small = f->end - f->container <= SHADOW_MAX;
    while (object && small && f->at < f->end && seen_before(d, f->container, f->at))
        f->at = d->node[f->at + 1].end;
    if (f->at >= f->end) return false;
    if (f->any) buf_str(b, ", ");
    f->any = true;
    if (!object) {
        *value = f->at;
        f->at = d->node[f->at].end;
        return true;
    }
    dump_string(b, j_string(d, f->at, a), true);
    buf_str(b, ": ");
    *value = small ? last_value(d, f->container, f->at) : f->at + 1;
    f->at = d->node[f->at + 1].end;
    return true;
}

void j_dump(const struct jdoc *d, size_t i, struct arena *a, struct buf *b) {
    struct dump *stack = NULL;
    size_t depth = 0, cap = 0, value = i;
    bool going = true;
    while (going) {
        if (d->node[value].kind >= J_ARRAY) {
            *PUSH(stack, depth, cap) =
                (struct dump){.at = value + 1, .end = d->node[value].end, .container = value};
            buf_str(b, d->node[value].kind == J_OBJECT ? "{" : "[");
        } else {
            dump_scalar(d, value, a, b);
        }
        while (depth > 0 && !dump_next(d, &stack[depth - 1], a, b, &value)) {
            buf_str(b, d->node[stack[depth - 1].container].kind == J_OBJECT ? "}" : "]");
            depth--;
        }
        going = depth > 0;
    }
    free(stack);
}
