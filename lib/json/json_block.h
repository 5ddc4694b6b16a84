/* The vector kernel, written once: the including file gives the primitives for its instruction set
 * and gets block_string_end. All masks have one bit a byte, the lowest for the first.
 *
 *   block_classes(p, &c)   c.quote, c.slash (backslash), c.control (< 0x20), c.high (>= 0x80), and
 *                          c.letter, the usual bytes behind a backslash: " \ b f n r t
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
    memset(pad->at, 0,
           sizeof pad->at); /* zeroes are control bytes: a string cannot run past them */
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

/* The escapes that block_classes does not know: \u and \/ are good, anything else is not. `odd` are
 * the bytes behind those backslashes. */
static bool block_odd_escapes_ok(const uint8_t *body, size_t i, size_t size, uint64_t odd) {
    for (; odd; odd &= odd - 1) {
        size_t at = i + (size_t)__builtin_ctzll(odd);
        bool ok =
            body[at] == '/' || (body[at] == 'u' && size - at >= 5 && json_hex4(body + at + 1) >= 0);
        if (!ok) return false;
    }
    return true;
}

/* One branch a block in the usual case: whether the string ends here. Everything rare is gathered
 * into masks that are nearly always zero. */
static size_t block_string_end(const uint8_t *body, size_t from, size_t size, unsigned *flags) {
    struct block_padded pad;
    uint64_t carry = 0, tail_high = 0, slashes = 0;
    for (size_t i = from; i < size; i += BLOCK) {
        bool inside = i >= BLOCK_BEFORE && size - i >= BLOCK;
        const uint8_t *p = inside ? body + i : block_pad(&pad, body, i, size);
        struct block_classes c;
        block_classes(p, &c);
        uint64_t escaped = block_escaped(c.slash, &carry);
        c.quote &= ~escaped;
        uint64_t upto = c.quote ^ (c.quote - 1); /* up to and with the closing quote; all if none */
        uint64_t before = upto & ~c.quote;
        uint64_t odd = escaped & ~c.letter & before;
        slashes |= c.slash & before;
        if (odd | (c.control & before)) {
            if ((c.control & before) || !block_odd_escapes_ok(body, i, size, odd)) return size;
            *flags |= STRING_UNUSUAL;
        }
        if (((c.high & before) | tail_high) && (block_utf8_errors(p) & upto)) return size;
        tail_high = c.high >> (BLOCK - BLOCK_BEFORE);
        if (c.quote) {
            if (slashes) *flags |= STRING_ESCAPED;
            return i + (size_t)__builtin_ctzll(c.quote);
        }
    }
    return size;
}
