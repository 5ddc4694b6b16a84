/* Listens to an answer as it streams by and notes the token counts the provider gives.
 *
 * No framing is parsed. In every format the numbers are members of an object called "usage",
 * "usageMetadata" or "cache_..." inside one, in a JSON text, whether that text is the whole
 * answer, the data of a server-sent event or the payload of a binary frame. So the listener
 * walks over bytes, keeping a nesting depth and the last key, and takes numbers under known keys
 * inside such an object. A raw line end cannot stand inside a JSON string, so it always puts the
 * walk back on its feet. Counts of one stream are cumulative or repeated: the largest is the
 * last word. Memory is a few bytes. */
#include "proxy.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 40, DEPTH_MAX = 250, UNPACKED_MAX = 64 * 1024 * 1024 };

/* What a key counts. PROMPT includes what was cached, FRESH does not. */
enum count {
    COUNT_PROMPT,
    COUNT_FRESH,
    COUNT_CACHED,
    COUNT_WRITTEN,
    COUNT_OUTPUT,
    COUNT_THOUGHT,
    COUNTS
};

static const struct {
    const char *key;
    enum count count;
} keys[] = {
    {"prompt_tokens", COUNT_PROMPT},
    {"completion_tokens", COUNT_OUTPUT},
    {"cached_tokens", COUNT_CACHED},
    {"cache_write_tokens", COUNT_WRITTEN},
    {"prompt_cache_hit_tokens", COUNT_CACHED},
    {"input_tokens", COUNT_FRESH}, /* Responses: see listener_usage */
    {"output_tokens", COUNT_OUTPUT},
    {"cache_creation_input_tokens", COUNT_WRITTEN},
    {"cache_read_input_tokens", COUNT_CACHED},
    {"promptTokenCount", COUNT_PROMPT},
    {"cachedContentTokenCount", COUNT_CACHED},
    {"candidatesTokenCount", COUNT_OUTPUT},
    {"thoughtsTokenCount", COUNT_THOUGHT},
    {"inputTokens", COUNT_FRESH},
    {"outputTokens", COUNT_OUTPUT},
    {"cacheReadInputTokens", COUNT_CACHED},
    {"cacheWriteInputTokens", COUNT_WRITTEN},
};

struct listener {
    struct codec *codec; /* NULL: the answer is plain */
    size_t unpacked;
    bool deaf; /* an unknown or broken coding */
    bool in_string, escaped, key_over, in_number;
    char key[KEY_MAX + 1];
    size_t key_len;
    bool key_ready; /* a colon came after it */
    unsigned depth, usage_depth;
    uint64_t number, counts[COUNTS];
    unsigned seen; /* bit per count */
    bool details;  /* cached_tokens stood in "input_tokens_details": FRESH includes it */
};

struct listener *listener_new(const char *coding) {
    struct listener *l = calloc(1, sizeof *l);
    if (!l || !coding || name_is(coding, "identity")) return l;
    l->codec = codec_open(coding);
    l->deaf = !l->codec;
    return l;
}

static void take_number(struct listener *l) {
    l->in_number = false;
    if (!l->key_ready || l->usage_depth == 0) return;
    l->key[l->key_len] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(l->key, keys[i].key) != 0) continue;
        enum count c = keys[i].count;
        if (l->number > l->counts[c]) l->counts[c] = l->number;
        l->seen |= 1u << c;
    }
}

static void open_object(struct listener *l) {
    l->depth++;
    l->key[l->key_len] = '\0';
    if (l->key_ready && l->usage_depth == 0 &&
        (strcmp(l->key, "usage") == 0 || strcmp(l->key, "usageMetadata") == 0))
        l->usage_depth = l->depth;
    if (l->key_ready && l->usage_depth > 0 && strcmp(l->key, "input_tokens_details") == 0)
        l->details = true;
}

static void in_string(struct listener *l, char c) {
    if (l->escaped) {
        l->escaped = false;
    } else if (c == '\\') {
        l->escaped = true;
    } else if (c == '"') {
        l->in_string = false;
        return;
    }
    if (l->key_len < KEY_MAX)
        l->key[l->key_len++] = c;
    else
        l->key_over = true;
}

static void outside(struct listener *l, char c) {
    if (c >= '0' && c <= '9') {
        if (!l->in_number) l->number = 0;
        l->in_number = true;
        if (l->number < UINT32_MAX) l->number = l->number * 10 + (uint64_t)(c - '0');
        return;
    }
    if (l->in_number) take_number(l);
    switch (c) {
    case '"':
        l->in_string = true;
        l->key_len = 0;
        l->key_over = l->key_ready = false;
        break;
    case ':': l->key_ready = !l->key_over; break;
    case '{':
        open_object(l);
        l->key_ready = false;
        break;
    case '[': l->depth++; break;
    case '}':
    case ']':
        if (l->depth == l->usage_depth) l->usage_depth = 0;
        if (l->depth > 0) l->depth--;
        break;
    case ',': l->key_ready = false; break;
    default: break;
    }
    if (l->depth > DEPTH_MAX) l->depth = l->usage_depth = 0;
}

static void listen_plain(struct listener *l, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (l->in_string && !l->escaped && l->key_over) { /* a long text: on to what may end it */
            while (i < n && p[i] != '"' && p[i] != '\\' && p[i] != '\n') i++;
            if (i == n) return;
        }
        char c = p[i];
        if (c == '\n' && l->in_string)
            l->in_string = l->escaped = false, l->depth = l->usage_depth = 0;
        if (l->in_string)
            in_string(l, c);
        else
            outside(l, c);
    }
}

void listener_feed(struct listener *l, const char *p, size_t n) {
    if (l->deaf) return;
    if (!l->codec) {
        listen_plain(l, p, n);
        return;
    }
    struct buf b = {0};
    if (!codec_feed(l->codec, p, n, &b, UNPACKED_MAX) || (l->unpacked += b.len) > UNPACKED_MAX)
        l->deaf = true;
    listen_plain(l, b.data, b.len);
    buf_free(&b);
}

void listener_usage(const struct listener *l, struct usage *u) {
    const uint64_t *c = l->counts;
    u->seen = (l->seen & (1u << COUNT_PROMPT | 1u << COUNT_FRESH)) != 0;
    u->has_cache = (l->seen & (1u << COUNT_CACHED | 1u << COUNT_WRITTEN)) != 0;
    u->cached = c[COUNT_CACHED];
    u->written = c[COUNT_WRITTEN];
    u->output = c[COUNT_OUTPUT] + c[COUNT_THOUGHT];
    /* "input_tokens" is the sum in the Responses API, where the cached ones stand in a details
     * object, and only the rest with Anthropic. */
    bool sum = (l->seen & (1u << COUNT_PROMPT)) || l->details;
    uint64_t all = l->seen & (1u << COUNT_PROMPT) ? c[COUNT_PROMPT] : c[COUNT_FRESH];
    uint64_t known = u->cached + u->written;
    u->fresh = !sum ? all : all > known ? all - known : 0;
}

uint64_t usage_prompt(const struct usage *u) { return u->fresh + u->cached + u->written; }

void listener_free(struct listener *l) {
    if (!l) return;
    codec_close(l->codec);
    free(l);
}
