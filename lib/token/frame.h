/* What a request costs beside its texts: the frame a provider puts around messages, and images. */
#ifndef PAUCIS_FRAME_H
#define PAUCIS_FRAME_H

#include "core/mem.h"

enum image_rule {
    TILES_512, /* OpenAI: 85 and 170 a tile of 512, the image shrunk to 2048 and to 768 */
    AREA_750,  /* Anthropic: a token for 750 pixels, the image shrunk to 1568 */
    TILES_768  /* Gemini: 258 a tile of 768, small images one */
};

struct frame {
    const char *format;
    uint16_t message, call, result, request, tools;
    enum image_rule images;
};

const struct frame *paucis__frame_of(const char *format);

/* Tokens of an image. data is its base64 text, perhaps behind "data:...,"; from it the size is
 * read. An address or an unknown kind of image counts as one of 1024 by 1024. */
uint64_t paucis__image_tokens(enum image_rule rule, struct span data);

#endif
