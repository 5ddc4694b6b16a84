/* The vector kernel, written once: the including file gives the primitives for its instruction set
 * and gets kernel_string_end. All masks have one bit a byte, the lowest for the first.
 *
 *   block_classes(p, &c)   c.quote, c.slash (backslash), c.low (< 0x20 as a signed number: control
 *                          bytes and all of UTF-8 beyond ASCII) and c.letter (f, n, r, t)
 *   block_high(p)          bytes >= 0x80
 *   block_utf8_errors(p)   bytes at which the UTF-8 that began up to 3 bytes before goes wrong
 *
 * Each may read p[-3] to p[63]. Where the body does not reach that far, the block is copied to a
 * padded place first. */
#include "json/json_scalar.h"

#define BLOCK 64
#define BLOCK_BEFORE 3 /* bytes in front of a block that the UTF-8 test looks at */

struct block_padded {
    uint8_t at[BLOCK_BEFORE + BLOCK];
};

static const uint8_t *block_pad(struct block_padded *pad, const uint8_t *body, size_t i,
                                size_t size) {
    size_t before = i < BLOCK_BEFORE ? i : BLOCK_BEFORE;
    size_t here = size - i < BLOCK ? size - i : BLOCK;
    /* Zeroes are control bytes: a string cannot run past them. */
    memset(pad->at, 0, sizeof pad->at);
    memcpy(pad->at + BLOCK_BEFORE - before, body + i - before, before + here);
    return pad->at + BLOCK_BEFORE;
}

/* Which bytes are escaped, by the parity of the run of backslashes before them. *carry: the last
 * byte of the block before was a backslash that escapes the first of this one. */
static inline uint64_t block_escaped(uint64_t slash, uint64_t *carry) {
    const uint64_t odd = 0xaaaaaaaaaaaaaaaaULL;
    slash &= ~*carry;
    uint64_t follows = slash << 1 | *carry;
    uint64_t starts_odd = slash & odd & ~follows;
    uint64_t runs = starts_odd + slash; /* a run that starts at an odd place flips its parity */
    *carry = runs < slash;
    return (~odd ^ runs << 1) & follows;
}

/* The escapes that block_classes does not know: \b, \u and \/ are good, anything else is not.
 * `odd` are the bytes behind those backslashes. */
static bool block_escapes_ok(const uint8_t *body, size_t i, size_t size, uint64_t odd,
                             unsigned *flags) {
    for (; odd; odd &= odd - 1) {
        size_t at = i + (size_t)__builtin_ctzll(odd);
        if (body[at] == 'b') continue;
        bool ok =
            body[at] == '/' || (body[at] == 'u' && size - at >= 5 && json_hex4(body + at + 1) >= 0);
        if (!ok) return false;
        *flags |= STRING_UNUSUAL;
    }
    return true;
}

/* A block with bytes that are not plain ASCII: no control bytes, good UTF-8? `before` are the bytes
 * in front of the closing quote. *tail: which of the last bytes of the block before were of UTF-8;
 * it is set for this one. */
static bool block_bytes_ok(const uint8_t *p, uint64_t low, uint64_t before, uint64_t *tail) {
    uint64_t high = block_high(p), upto = before << 1 | 1;
    if (low & ~high & before) return false;
    if (((high & before) | *tail) && (block_utf8_errors(p) & upto)) return false;
    *tail = high >> (BLOCK - BLOCK_BEFORE);
    return true;
}

/* One branch a block in the usual case: whether the string ends here. Everything rare is gathered
 * into masks that are nearly always zero. */
static size_t kernel_string_end(const uint8_t *body, size_t from, size_t size, unsigned *flags) {
    struct block_padded pad;
    uint64_t carry = 0, tail = 0, slashes = 0;
    size_t whole = size < BLOCK_BEFORE + BLOCK ? 0 : size - BLOCK - BLOCK_BEFORE + 1;
    for (size_t i = from; i < size; i += BLOCK) {
        const uint8_t *p = i - BLOCK_BEFORE < whole ? body + i : block_pad(&pad, body, i, size);
        struct block_classes c;
        block_classes(p, &c);
        uint64_t escaped = block_escaped(c.slash, &carry);
        uint64_t close = c.quote & ~escaped;
        uint64_t before = (close - 1) & ~close; /* in front of the closing quote; all if none */
        uint64_t odd = escaped & ~(c.letter | c.quote | c.slash) & before;
        slashes |= c.slash & before;
        if (((c.low & before) | tail) && !block_bytes_ok(p, c.low, before, &tail)) return size;
        if (odd && !block_escapes_ok(body, i, size, odd, flags)) return size;
        if (close) {
            if (slashes) *flags |= STRING_ESCAPED;
            return i + (size_t)__builtin_ctzll(close);
        }
    }
    return size;
}
