/* Strings to text and back: decoding escapes, quoting, comparing. */
#include "json/json_scalar.h"

static char *put_utf8(char *d, unsigned c) {
    if (c < 0x80) {
        *d++ = (char)c;
    } else if (c < 0x800) {
        *d++ = (char)(0xc0 | c >> 6);
        *d++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *d++ = (char)(0xe0 | c >> 12);
        *d++ = (char)(0x80 | (c >> 6 & 63));
        *d++ = (char)(0x80 | (c & 63));
    } else {
        *d++ = (char)(0xf0 | c >> 18);
        *d++ = (char)(0x80 | (c >> 12 & 63));
        *d++ = (char)(0x80 | (c >> 6 & 63));
        *d++ = (char)(0x80 | (c & 63));
    }
    return d;
}

static bool is_high_surrogate(unsigned c) { return c >> 10 == 0xd800 >> 10; }
static bool is_low_surrogate(unsigned c) { return c >> 10 == 0xdc00 >> 10; }

/* The code point of the escape at s (a backslash), and where it ends. */
static unsigned escape_value(const uint8_t *s, const uint8_t *end, const uint8_t **after) {
    *after = s + 2;
    switch (s[1]) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'u': break;
    default: return s[1]; /* " \ / */
    }
    unsigned c = (unsigned)json_hex4(s + 2);
    *after = s + 6;
    if (is_high_surrogate(c) && end - *after >= 6 && s[6] == '\\' && s[7] == 'u') {
        unsigned low = (unsigned)json_hex4(s + 8);
        if (is_low_surrogate(low)) {
            *after = s + 12;
            return 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
        }
    }
    return c;
}

/* What the short escapes stand for. */
static const uint8_t short_escape[128] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                          ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

/* Copies up to the first backslash, eight bytes at a time; dst has room for all of s. */
static size_t copy_plain(const uint8_t *s, const uint8_t *end, char *dst) {
    const uint8_t *p = s;
    for (; end - p >= 8; p += 8, dst += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        memcpy(dst, &w, 8);
        uint64_t slash = word_zeroes(w ^ WORD_ONES * '\\');
        if (slash) {
            size_t first = word_first(slash); /* 0 on a big-endian machine */
            if (p[first] == '\\') return (size_t)(p - s) + first;
            break;
        }
    }
    for (; p < end && *p != '\\'; p++) *dst++ = (char)*p;
    return (size_t)(p - s);
}

size_t paucis__json_decode(struct span raw, char *dst) {
    const uint8_t *s = (const uint8_t *)raw.at, *end = s + raw.len;
    char *d = dst;
    while (s < end) {
        size_t plain = copy_plain(s, end, d);
        d += plain;
        s += plain;
        if (s == end) break;
        if (s[1] != 'u') {
            *d++ = (char)short_escape[s[1]];
            s += 2;
        } else {
            d = put_utf8(d, escape_value(s, end, &s));
        }
    }
    return (size_t)(d - dst);
}

size_t paucis__json_decoded_len(struct span raw) {
    const uint8_t *s = (const uint8_t *)raw.at, *end = s + raw.len;
    size_t len = 0;
    char scratch[4];
    while (s < end) {
        const uint8_t *slash = memchr(s, '\\', (size_t)(end - s));
        len += (size_t)((slash ? slash : end) - s);
        s = slash ? slash : end;
        if (slash) len += (size_t)(put_utf8(scratch, escape_value(s, end, &s)) - scratch);
    }
    return len;
}

/* What a byte becomes inside a string: 0 itself, 'u' a \u escape, else the letter of its escape. */
static char escape_letter(uint8_t c) {
    switch (c) {
    case '"': return '"';
    case '\\': return '\\';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return c < 0x20 ? 'u' : 0;
    }
}

static char *put_u_escape(char *d, unsigned c) {
    static const char hex[] = "0123456789abcdef";
    const char u[6] = {'\\', 'u', hex[c >> 12], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]};
    memcpy(d, u, 6);
    return d + 6;
}

/* How many bytes from s on stay as they are, found eight at a time: up to one that must be escaped
 * or might begin a surrogate. */
static size_t plain_run(const uint8_t *s, const uint8_t *end) {
    const uint8_t *p = s;
    for (; end - p >= 8; p += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        uint64_t stop = word_quotable(w) | word_zeroes(w ^ WORD_ONES * 0xed);
        if (stop) return (size_t)(p - s) + word_first(stop);
    }
    return (size_t)(p - s);
}

size_t paucis__json_quote(struct span text, char *dst) {
    const uint8_t *s = (const uint8_t *)text.at, *end = s + text.len;
    char scratch[6];
    size_t len = 0;
    while (s < end) {
        size_t run = plain_run(s, end);
        if (dst) memcpy(dst + len, s, run);
        len += run;
        s += run;
        if (s == end) break;
        char *d = dst ? dst + len : scratch;
        char letter = escape_letter(*s);
        if (letter == 'u') {
            len += (size_t)(put_u_escape(d, *s++) - d);
        } else if (letter) {
            d[0] = '\\';
            d[1] = letter;
            len += 2;
            s++;
        } else if (*s == 0xed && end - s >= 3 && s[1] >= 0xa0) { /* a surrogate, see json_decode */
            unsigned c = 0xd000u | (s[1] & 63u) << 6 | (s[2] & 63u);
            len += (size_t)(put_u_escape(d, c) - d);
            s += 3;
        } else {
            *d = (char)*s++;
            len++;
        }
    }
    return len;
}

/* The bytes of a string one by one, escapes decoded. */
struct text_walk {
    const uint8_t *at, *end;
    char one[4]; /* what the last escape stands for */
    size_t have, used;
};

static int text_walk_next(struct text_walk *w) { /* -1 past the end */
    if (w->used == w->have) {
        if (w->at == w->end) return -1;
        if (*w->at != '\\') return *w->at++;
        w->have = (size_t)(put_utf8(w->one, escape_value(w->at, w->end, &w->at)) - w->one);
        w->used = 0;
    }
    return (uint8_t)w->one[w->used++];
}

bool paucis__json_same(struct span a, struct span b) {
    const uint8_t *s = (const uint8_t *)a.at, *t = (const uint8_t *)b.at;
    struct text_walk x = {.at = s, .end = s + a.len}, y = {.at = t, .end = t + b.len};
    int c;
    do {
        c = text_walk_next(&x);
        if (c != text_walk_next(&y)) return false;
    } while (c >= 0);
    return true;
}

bool paucis__json_equals(const struct json *j, size_t i, const char *text, size_t len) {
    struct span raw = json_inner(j, i);
    const uint8_t *s = (const uint8_t *)raw.at, *end = s + raw.len;
    while (s < end) {
        char one[4] = {(char)*s};
        size_t n = 1;
        if (*s == '\\')
            n = (size_t)(put_utf8(one, escape_value(s, end, &s)) - one);
        else
            s++;
        if (len < n || memcmp(text, one, n) != 0) return false;
        text += n;
        len -= n;
    }
    return len == 0;
}
