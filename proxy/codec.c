/* Content codings, decoded piece by piece with a bound on what comes out: a few bytes can stand for
 * gigabytes. One row a coding. Used for request bodies and, without touching them, for answers. */
#include "proxy.h"

#include <brotli/decode.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { ROOM = 32 * 1024 };

/* One step: takes from *in, writes to out, says how much. */
struct step {
    const char *in;
    size_t in_len;
    char *out;
    size_t out_len;
};

enum outcome { STEP_MORE, STEP_END, STEP_BROKEN };

struct coding {
    const char *name;
    void *(*open)(void);
    enum outcome (*step)(void *state, struct step *s); /* leaves in s what is left */
    void (*close)(void *state);
};

struct codec {
    const struct coding *coding;
    void *state;
    bool ended, broken;
};

/* ---- zlib: gzip and deflate, told apart by their first bytes --------------------------------- */

static void *zlib_open(void) {
    z_stream *z = calloc(1, sizeof *z);
    if (z && inflateInit2(z, 15 + 32) != Z_OK) {
        free(z);
        return NULL;
    }
    return z;
}

static enum outcome zlib_step(void *state, struct step *s) {
    z_stream *z = state;
    unsigned in = s->in_len < UINT_MAX ? (unsigned)s->in_len : UINT_MAX;
    z->next_in = (Bytef *)(uintptr_t)s->in;
    z->avail_in = in;
    z->next_out = (Bytef *)s->out;
    z->avail_out = (unsigned)s->out_len;
    int r = inflate(z, Z_NO_FLUSH);
    s->in += in - z->avail_in;
    s->in_len -= in - z->avail_in;
    s->out_len = z->avail_out;
    if (r == Z_STREAM_END) return STEP_END;
    return r == Z_OK || r == Z_BUF_ERROR ? STEP_MORE : STEP_BROKEN;
}

static void zlib_close(void *state) {
    inflateEnd(state);
    free(state);
}

/* ---- zstd ------------------------------------------------------------------------------------ */

static void *zstd_open(void) {
    ZSTD_DCtx *d = ZSTD_createDCtx();
    if (d) ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, 23); /* 8 MB, as RFC 8878 asks of HTTP */
    return d;
}

static enum outcome zstd_step(void *state, struct step *s) {
    ZSTD_inBuffer in = {s->in, s->in_len, 0};
    ZSTD_outBuffer out = {s->out, s->out_len, 0};
    size_t left = ZSTD_decompressStream(state, &out, &in);
    if (ZSTD_isError(left)) return STEP_BROKEN;
    s->in += in.pos;
    s->in_len -= in.pos;
    s->out_len -= out.pos;
    return left == 0 ? STEP_END : STEP_MORE;
}

static void zstd_close(void *state) { ZSTD_freeDCtx(state); }

/* ---- brotli ---------------------------------------------------------------------------------- */

static void *br_open(void) { return BrotliDecoderCreateInstance(NULL, NULL, NULL); }

static enum outcome br_step(void *state, struct step *s) {
    const uint8_t *in = (const uint8_t *)s->in;
    uint8_t *out = (uint8_t *)s->out;
    BrotliDecoderResult r =
        BrotliDecoderDecompressStream(state, &s->in_len, &in, &s->out_len, &out, NULL);
    s->in = (const char *)in;
    if (r == BROTLI_DECODER_RESULT_ERROR) return STEP_BROKEN;
    return r == BROTLI_DECODER_RESULT_SUCCESS ? STEP_END : STEP_MORE;
}

static void br_close(void *state) { BrotliDecoderDestroyInstance(state); }

/* ---- the table ------------------------------------------------------------------------------- */

static const struct coding codings[] = {
    {"gzip", zlib_open, zlib_step, zlib_close},
    {"x-gzip", zlib_open, zlib_step, zlib_close},
    {"deflate", zlib_open, zlib_step, zlib_close},
    {"zstd", zstd_open, zstd_step, zstd_close},
    {"br", br_open, br_step, br_close},
};

static const struct coding *find(const char *name) {
    for (size_t i = 0; i < sizeof codings / sizeof *codings; i++)
        if (name_is(name, codings[i].name)) return &codings[i];
    return NULL;
}

bool codec_known(const char *name) { return find(name) != NULL; }

struct codec *codec_open(const char *name) {
    const struct coding *coding = find(name);
    struct codec *c = coding ? calloc(1, sizeof *c) : NULL;
    if (!c) return NULL;
    c->coding = coding;
    c->state = coding->open();
    if (c->state) return c;
    free(c);
    return NULL;
}

/* Bytes behind the end are refused: a second member would be read by some and not by others. */
bool codec_feed(struct codec *c, const char *in, size_t n, struct buf *out, size_t cap) {
    struct step s = {.in = in, .in_len = n};
    bool full = true;
    if (c->ended && n > 0) c->broken = true;
    while (!c->broken && !c->ended && (s.in_len > 0 || full)) {
        size_t before = s.in_len;
        if (out->len > cap || !buf_reserve(out, ROOM)) {
            c->broken = true;
            break;
        }
        s.out = out->data + out->len;
        s.out_len = out->cap - out->len;
        size_t room = s.out_len;
        enum outcome r = c->coding->step(c->state, &s);
        out->len += room - s.out_len;
        full = s.out_len == 0;
        if (r == STEP_BROKEN || (r == STEP_END && s.in_len > 0)) c->broken = true;
        if (r == STEP_END) c->ended = true;
        if (s.in_len == before && s.out_len == room) break; /* it needs more */
    }
    return !c->broken && out->len <= cap;
}

bool codec_done(const struct codec *c) { return c->ended && !c->broken; }

void codec_close(struct codec *c) {
    if (!c) return;
    c->coding->close(c->state);
    free(c);
}
