/* See frame.h. The size of an image is in its first bytes (PNG, GIF, WebP) or behind a few segments
 * (JPEG); only so much of it is decoded. */
#include "token/frame.h"

#include <stdbool.h>
#include <string.h>

const struct frame *paucis__frame_of(const char *format) {
    static const struct frame frames[] = {
#define FRAME(format, message, call, result, request, tools, images) \
    {format, message, call, result, request, tools, images},
#include "token/frames.def"
    };
    size_t count = sizeof frames / sizeof *frames;
    for (size_t i = 0; i < count; i++)
        if (strcmp(frames[i].format, format) == 0) return &frames[i];
    return &frames[count - 1];
}

/* ---- size of an image ---------------------------------------------------------------------- */

enum { HEAD = 8192, ASSUMED = 1024, MOST_PIXELS = 65535 };

struct size {
    uint32_t w, h;
};

static int base64_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* The first bytes of what a base64 text says. */
static size_t decode_head(struct span text, uint8_t out[HEAD]) {
    size_t n = 0;
    uint32_t word = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < text.len && n < HEAD; i++) {
        int x = base64_value(text.at[i]);
        if (x < 0) break;
        word = word << 6 | (uint32_t)x;
        bits += 6;
        if (bits >= 8) out[n++] = (uint8_t)(word >> (bits -= 8));
    }
    return n;
}

static uint32_t big(const uint8_t *p, size_t n) {
    uint32_t x = 0;
    for (size_t i = 0; i < n; i++) x = x << 8 | p[i];
    return x;
}
static uint32_t little(const uint8_t *p, size_t n) {
    uint32_t x = 0;
    while (n-- > 0) x = x << 8 | p[n];
    return x;
}

static struct size jpeg_size(const uint8_t *p, size_t n) {
    for (size_t i = 2; i + 9 < n && p[i] == 0xff;) {
        bool frame = p[i + 1] >= 0xc0 && p[i + 1] <= 0xcf && p[i + 1] != 0xc4 && p[i + 1] != 0xc8 &&
                     p[i + 1] != 0xcc;
        if (frame) return (struct size){big(p + i + 7, 2), big(p + i + 5, 2)};
        i += 2 + big(p + i + 2, 2);
    }
    return (struct size){0, 0};
}

static struct size webp_size(const uint8_t *p) {
    if (memcmp(p + 12, "VP8X", 4) == 0)
        return (struct size){little(p + 24, 3) + 1, little(p + 27, 3) + 1};
    if (memcmp(p + 12, "VP8L", 4) == 0) {
        uint32_t x = little(p + 21, 4);
        return (struct size){(x & 0x3fff) + 1, (x >> 14 & 0x3fff) + 1};
    }
    return (struct size){little(p + 26, 2) & 0x3fff, little(p + 28, 2) & 0x3fff};
}

static struct size image_size(struct span data) {
    uint8_t head[HEAD] = {0};
    const char *comma = data.len > 5 && memcmp(data.at, "data:", 5) == 0
                            ? memchr(data.at, ',', data.len < 256 ? data.len : 256)
                            : NULL;
    if (comma) data = span_of(comma + 1, data.len - (size_t)(comma + 1 - data.at));
    size_t n = decode_head(data, head);
    struct size s = {0, 0};
    if (n < 30) return s;
    if (memcmp(head, "\x89PNG", 4) == 0) s = (struct size){big(head + 16, 4), big(head + 20, 4)};
    if (memcmp(head, "GIF8", 4) == 0) s = (struct size){little(head + 6, 2), little(head + 8, 2)};
    if (memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBP", 4) == 0) s = webp_size(head);
    if (head[0] == 0xff && head[1] == 0xd8) s = jpeg_size(head, n);
    return s;
}

/* ---- rules --------------------------------------------------------------------------------- */

static uint32_t tiles(uint32_t pixels, uint32_t tile) { return (pixels + tile - 1) / tile; }

/* Shrinks so that `side` becomes at most `most`; never enlarges. */
static struct size shrink(struct size s, uint32_t side, uint32_t most) {
    if (side <= most) return s;
    s.w = (uint32_t)((uint64_t)s.w * most / side);
    s.h = (uint32_t)((uint64_t)s.h * most / side);
    return (struct size){s.w ? s.w : 1, s.h ? s.h : 1};
}

uint64_t paucis__image_tokens(enum image_rule rule, struct span data) {
    struct size s = image_size(data);
    if (!s.w || !s.h || s.w > MOST_PIXELS || s.h > MOST_PIXELS) s = (struct size){ASSUMED, ASSUMED};
    uint32_t longer = s.w > s.h ? s.w : s.h;
    switch (rule) {
    case TILES_512:
        s = shrink(s, longer, 2048);
        s = shrink(s, s.w < s.h ? s.w : s.h, 768);
        return 85 + (uint64_t)170 * tiles(s.w, 512) * tiles(s.h, 512);
    case TILES_768:
        if (longer <= 384) return 258;
        return (uint64_t)258 * tiles(s.w, 768) * tiles(s.h, 768);
    case AREA_750: break;
    }
    s = shrink(s, longer, 1568);
    return ((uint64_t)s.w * s.h + 749) / 750;
}
