/* Strings to text and back: decoding escapes, quoting, comparing. */
#include "json/json_scalar.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

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

/* Bytes that decoding, or quoting, cannot simply copy; exact up to the first. 0xed may begin a
 * surrogate, see json_decode. */
static inline uint64_t word_stops(uint64_t w, bool quoting) {
    if (!quoting) return word_zeroes(w ^ WORD_ONES * '\\');
    return word_quotable(w) | word_zeroes(w ^ WORD_ONES * 0xed);
}

#ifdef __SSE2__ /* every x86-64 has it */
static inline unsigned vector_stops(__m128i v, bool quoting) {
    __m128i stop = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    if (quoting) {
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
        stop = _mm_or_si128(stop, _mm_or_si128(low, _mm_cmpeq_epi8(v, _mm_set1_epi8('"'))));
        stop = _mm_or_si128(stop, _mm_cmpeq_epi8(v, _mm_set1_epi8((char)0xed)));
    }
    return (unsigned)_mm_movemask_epi8(stop);
}
#endif

/* Copies up to the first stop, a vector or word at a time, and fewer than eight at the end; dst has
 * room for all of s. */
static inline size_t copy_plain(const uint8_t *s, const uint8_t *end, char *dst, bool quoting) {
    const uint8_t *p = s;
#ifdef __SSE2__
    for (; end - p >= 32; p += 32, dst += 32) {
        const __m128i *from = (const __m128i *)(const void *)p;
        __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
        _mm_storeu_si128((__m128i *)(void *)dst, a);
        _mm_storeu_si128((__m128i *)(void *)(dst + 16), b);
        unsigned stop = vector_stops(a, quoting) | vector_stops(b, quoting) << 16;
        if (stop) return (size_t)(p - s) + (size_t)__builtin_ctz(stop);
    }
    for (; end - p >= 16; p += 16, dst += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        _mm_storeu_si128((__m128i *)(void *)dst, v);
        unsigned stop = vector_stops(v, quoting);
        if (stop) return (size_t)(p - s) + (size_t)__builtin_ctz(stop);
    }
#endif
    for (; end - p >= 8; p += 8, dst += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        memcpy(dst, &w, 8);
        uint64_t stop = word_stops(w, quoting);
        if (stop) return (size_t)(p - s) + word_first(stop); /* + 0 on a big-endian machine */
    }
    return (size_t)(p - s);
}

size_t paucis__json_decode(struct span raw, char *dst) {
    const uint8_t *s = (const uint8_t *)raw.at, *end = s + raw.len;
    char *d = dst;
    while (s < end) {
        size_t plain = copy_plain(s, end, d, false);
        d += plain;
        s += plain;
        if (s == end) break;
        if (*s != '\\') {
            *d++ = (char)*s++;
        } else if (s[1] != 'u') {
            *d++ = (char)short_escape[s[1]];
            s += 2;
        } else {
            d = put_utf8(d, escape_value(s, end, &s));
        }
    }
    return (size_t)(d - dst);
}

/* Steps over all escapes that begin before `end`, and takes what they save off *len. */
static const uint8_t *step_escapes(const uint8_t *s, const uint8_t *end, const uint8_t *last,
                                   size_t *len) {
    while (s < end) {
        const uint8_t *slash = memchr(s, '\\', (size_t)(end - s)), *after;
        if (!slash) return end;
        char scratch[4];
        size_t n = (size_t)(put_utf8(scratch, escape_value(slash, last, &after)) - scratch);
        *len -= (size_t)(after - slash) - n;
        s = after;
    }
    return s;
}

/* Most escapes are a backslash and a letter. A stretch that has no others, and no two backslashes
 * side by side, is shorter by its backslashes; to count them the compiler makes vector code. */
size_t paucis__json_decoded_len(struct span raw) {
    const uint8_t *s = (const uint8_t *)raw.at, *end = s + raw.len;
    size_t len = raw.len;
    while (end - s > 128) {
        uint8_t slashes = 0, odd = 0;
        for (size_t i = 0; i < 128; i++) {
            uint8_t slash = s[i] == '\\', next = (s[i + 1] == '\\') | (s[i + 1] == 'u');
            slashes = (uint8_t)(slashes + slash);
            odd |= slash & next;
        }
        if (odd) {
            s = step_escapes(s, s + 128, end, &len);
        } else {
            len -= slashes;
            s += 128;
        }
    }
    step_escapes(s, end, end, &len);
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

/* A surrogate, see json_decode. */
static bool is_surrogate(const uint8_t *s, const uint8_t *end) {
    return s[0] == 0xed && end - s >= 3 && s[1] >= 0xa0;
}

/* Writes what stands at s, which is not plain, and steps over it. */
static char *put_quoted(char *d, const uint8_t **s, const uint8_t *end) {
    const uint8_t *c = *s;
    char letter = escape_letter(*c);
    if (is_surrogate(c, end)) {
        *s += 3;
        return put_u_escape(d, 0xd000u | (c[1] & 63u) << 6 | (c[2] & 63u));
    }
    ++*s;
    if (letter == 'u') return put_u_escape(d, *c);
    if (letter) *d++ = '\\';
    *d++ = letter ? letter : (char)*c;
    return d;
}

/* Written so that the compiler makes vector code of it. */
static size_t quoted_len(struct span text) {
    const uint8_t *s = (const uint8_t *)text.at, *end = s + text.len;
    size_t len = text.len;
    bool may_be_surrogate = false;
    for (size_t n; s < end; s += n) {
        uint8_t two = 0, six = 0, ed = 0; /* 128 at a time are counted in a byte */
        n = end - s < 128 ? (size_t)(end - s) : 128;
        for (size_t i = 0; i < n; i++) {
            uint8_t c = s[i], white = (c >= '\b') & (c <= '\r') & (c != '\v');
            two = (uint8_t)(two + (white | (c == '"') | (c == '\\')));
            six = (uint8_t)(six + ((c < 0x20) & !white));
            ed |= c == 0xed;
        }
        len += two + (size_t)5 * six;
        may_be_surrogate |= ed;
    }
    if (may_be_surrogate)
        for (s = (const uint8_t *)text.at; s < end; s++) len += is_surrogate(s, end) ? 3 : 0;
    return len;
}

size_t paucis__json_quote(struct span text, char *dst) {
    const uint8_t *s = (const uint8_t *)text.at, *end = s + text.len;
    char *d = dst;
    if (!dst) return quoted_len(text);
    while (s < end) {
        size_t plain = copy_plain(s, end, d, true);
        d += plain;
        s += plain;
        if (s < end) d = put_quoted(d, &s, end);
    }
    return (size_t)(d - dst);
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
