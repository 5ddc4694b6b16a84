/* The few things the proxy reads from a body itself: where its messages end, which model is
 * asked, and a hash over each run of messages from the start, by which a conversation is found
 * again.
 *
 * The hash looks at what a message says, not at how it is written: blanks and commas do not
 * count; cache marks, which clients move from message to message, do not; and a plain string
 * counts as much as a list with that one text, because clients change one into the other to
 * place a mark. Objects and lists are walked with a counter, not by recursion. A body that is
 * not JSON may be read in any way: the library, which checks it, refuses it later. */
#include "proxy.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct reader {
    const char *p, *end;
    XXH3_state_t *hash; /* NULL: nothing is hashed */
    bool answered;      /* a message of the model was met */
};

struct text {
    const char *p;
    size_t n; /* with its quotes */
};

static void skip_blanks(struct reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
        r->p++;
}

static bool eat(struct reader *r, char c) {
    skip_blanks(r);
    if (r->p == r->end || *r->p != c) return false;
    r->p++;
    return true;
}

/* At a quote: behind the string. A quote ends it unless an odd number of backslashes is before
 * it. */
static bool read_string(struct reader *r, struct text *t) {
    const char *from = r->p++;
    for (;;) {
        const char *q = r->p < r->end ? memchr(r->p, '"', (size_t)(r->end - r->p)) : NULL;
        if (!q) return false;
        const char *b = q;
        while (b > from + 1 && b[-1] == '\\') b--;
        r->p = q + 1;
        if ((q - b) % 2 == 0) break;
    }
    *t = (struct text){from, (size_t)(r->p - from)};
    return true;
}

static bool is(struct text t, const char *word) {
    size_t n = strlen(word);
    return t.n == n + 2 && memcmp(t.p + 1, word, n) == 0;
}

static void add(struct reader *r, const char *p, size_t n) {
    if (r->hash) XXH3_128bits_update(r->hash, p, n);
}

static bool skip_value(struct reader *r);

/* A key has been read. Members that say nothing about the message are passed over; true: done. */
static bool silent_member(struct reader *r, struct text key, bool *ok) {
    if (is(key, "cache_control") || is(key, "prompt_cache_breakpoint")) {
        XXH3_state_t *hash = r->hash;
        r->hash = NULL;
        *ok =
            eat(r, ':') && skip_value(r); /* one level deep: nothing is silent while hash is NULL */
        r->hash = hash;
        return true;
    }
    if (!is(key, "type") && !is(key, "role")) return false;
    struct reader ahead = *r;
    struct text value;
    if (!eat(&ahead, ':') || (skip_blanks(&ahead), ahead.p == ahead.end) || *ahead.p != '"' ||
        !read_string(&ahead, &value))
        return false;
    if (is(value, "assistant") || is(value, "model") || is(value, "function_call"))
        r->answered = true;
    if (!is(value, "text")) return false;
    r->p = ahead.p;
    return true;
}

/* A string: a key if a colon follows. */
static bool walk_string(struct reader *r) {
    struct text t;
    bool ok = true;
    if (!read_string(r, &t)) return false;
    if (!r->hash) return true;
    skip_blanks(r);
    bool key = r->p < r->end && *r->p == ':';
    if (key && (silent_member(r, t, &ok) || is(t, "text"))) return ok;
    add(r, t.p, t.n);
    return true;
}

/* Any value, hashed on the way. */
static bool skip_value(struct reader *r) {
    size_t depth = 0;
    do {
        skip_blanks(r);
        if (r->p == r->end) return false;
        char c = *r->p;
        if (c == '"') {
            if (!walk_string(r)) return false;
        } else if (c == '{' || c == '[') {
            depth++;
            r->p++;
        } else if (c == '}' || c == ']') {
            if (depth == 0) return false;
            depth--;
            r->p++;
        } else if (c == ',' || c == ':') {
            if (depth == 0) return false;
            r->p++;
        } else {
            const char *from = r->p;
            while (r->p < r->end && !strchr(" \n\r\t,:{}[]\"", *r->p)) r->p++;
            if (r->p == from) return false; /* a NUL byte */
            add(r, from, (size_t)(r->p - from));
        }
    } while (depth > 0);
    return true;
}

static bool scan_more(struct scan *s) {
    size_t cap = s->cap ? s->cap * 2 : 64;
    struct chain *at = realloc(s->at, cap * sizeof *at);
    if (at) s->at = at;
    size_t *end = at ? realloc(s->end, cap * sizeof *end) : NULL;
    if (end) s->end = end;
    if (end) s->cap = cap;
    return end != NULL;
}

static bool scan_messages(struct scan *s, struct reader *r, const char *body, struct chain chain) {
    if (!eat(r, '[')) return false;
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    s->n = 0;
    if (eat(r, ']')) return true;
    do {
        XXH3_128bits_reset(&state);
        XXH3_128bits_update(&state, &chain, sizeof chain);
        r->hash = &state;
        bool ok = skip_value(r);
        r->hash = NULL;
        if (!ok || (s->n == s->cap && !scan_more(s))) return false;
        XXH128_hash_t h = XXH3_128bits_digest(&state);
        chain = (struct chain){h.low64, h.high64};
        s->at[s->n] = chain;
        s->end[s->n++] = (size_t)(r->p - body);
    } while (eat(r, ','));
    return eat(r, ']');
}

/* One member of the body's object, or of Code Assist's object `request` inside it. */
static bool scan_member(struct scan *s, struct reader *r, const char *body,
                        const struct chain *seed, unsigned *wrapped) {
    struct text key, value;
    skip_blanks(r);
    if (r->p == r->end || *r->p != '"' || !read_string(r, &key) || !eat(r, ':')) return false;
    skip_blanks(r);
    char c = r->p < r->end ? *r->p : '\0';
    if (is(key, "model") && c == '"') {
        if (!read_string(r, &value)) return false;
        s->model = value.p + 1;
        s->model_len = value.n - 2;
        return true;
    }
    if (c == '[' && (is(key, "messages") || is(key, "input") || is(key, "contents")))
        return scan_messages(s, r, body, *seed);
    if (c == '{' && *wrapped == 0 && is(key, "request")) {
        r->p++;
        *wrapped = 1;
        return true;
    }
    return skip_value(r);
}

bool scan_body(struct scan *s, const char *p, size_t n, const struct chain *seed) {
    struct reader r = {p, p + n, NULL, false};
    unsigned wrapped = 0;
    bool first = true; /* of its object: a comma may not stand here */
    if (!eat(&r, '{')) return false;
    for (;;) {
        if (eat(&r, '}')) {
            if (wrapped != 1) break;
            wrapped = 2;
            first = false;
            continue;
        }
        if (!first && !eat(&r, ',')) return false;
        unsigned before = wrapped;
        if (!scan_member(s, &r, p, seed, &wrapped)) return false;
        first = before == 0 && wrapped == 1;
    }
    skip_blanks(&r);
    s->answered = r.answered;
    return s->n > 0 && r.p == r.end;
}

void scan_free(struct scan *s) {
    free(s->at);
    free(s->end);
    *s = (struct scan){0};
}

size_t scan_message_at(const struct scan *s, size_t byte) {
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->end[mid] <= byte)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct chain scan_seed(const char *const *texts, size_t n) {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    for (size_t i = 0; i < n; i++)
        XXH3_128bits_update(&state, texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) + 1 : 1);
    XXH128_hash_t h = XXH3_128bits_digest(&state);
    return (struct chain){h.low64, h.high64};
}
