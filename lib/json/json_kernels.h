/* Which kernels this build has, and the lookup tables they share. */
#ifndef PAUCIS_JSON_KERNELS_H
#define PAUCIS_JSON_KERNELS_H

#include "json/json.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define PAUCIS_JSON_AVX512 1
#define PAUCIS_JSON_AVX2 1
extern const struct json_kernel paucis__json_avx512, paucis__json_avx2;
#elif defined(__aarch64__)
#define PAUCIS_JSON_NEON 1
extern const struct json_kernel paucis__json_neon;
#endif
extern const struct json_kernel paucis__json_portable;

/* What a kernel says about 64 bytes, one bit a byte; see json_block.h. */
struct block_classes {
    uint64_t quote, slash, low, letter;
};

/* The letters of the usual escapes, each at the place of its low four bits: a byte is one of them
 * iff it equals the entry it points to. \" and \\ have masks of their own; b would share the place
 * of r. */
static const uint8_t json_letters[16] = {[0x2] = 'r', [0x4] = 't', [0x6] = 'f', [0xe] = 'n'};

/* UTF-8 by three lookups, the method of Keiser and Lemire ("Validating UTF-8 in less than one
 * instruction per byte", 2020). Every way in which two neighbouring bytes can be wrong has a bit;
 * the pair is wrong iff the first byte's two nibbles and the second byte's high nibble all allow
 * it. TWO_CONT is not an error by itself: it must agree with "two or three bytes ago a lead byte
 * asked for one more", which the kernels test with saturating subtraction. */
enum {
    U_SHORT = 1,      /* a lead byte without its continuation */
    U_LONG = 2,       /* ASCII followed by a continuation */
    U_OVER3 = 4,      /* E0 80..9F */
    U_LARGE = 8,      /* above U+10FFFF */
    U_SURROGATE = 16, /* ED A0..BF */
    U_OVER2 = 32,     /* C0, C1 */
    U_OVER4 = 64,     /* F0 80..8F; also F5 and above with 80..8F */
    U_TWO_CONT = 128,
    U_ANY = U_SHORT | U_LONG | U_TWO_CONT, /* decided by the high nibbles alone */
    UTF8_THIRD = 0xe0 - 0x80,
    UTF8_FOURTH = 0xf0 - 0x80
};
static const uint8_t utf8_first_high[16] = {U_LONG,
                                            U_LONG,
                                            U_LONG,
                                            U_LONG,
                                            U_LONG,
                                            U_LONG,
                                            U_LONG,
                                            U_LONG,
                                            U_TWO_CONT,
                                            U_TWO_CONT,
                                            U_TWO_CONT,
                                            U_TWO_CONT,
                                            U_SHORT | U_OVER2,
                                            U_SHORT,
                                            U_SHORT | U_OVER3 | U_SURROGATE,
                                            U_SHORT | U_LARGE | U_OVER4};
static const uint8_t utf8_first_low[16] = {U_ANY | U_OVER2 | U_OVER3 | U_OVER4,
                                           U_ANY | U_OVER2,
                                           U_ANY,
                                           U_ANY,
                                           U_ANY | U_LARGE,
                                           U_ANY | U_LARGE | U_OVER4,
                                           U_ANY | U_LARGE | U_OVER4,
                                           U_ANY | U_LARGE | U_OVER4,
                                           U_ANY | U_LARGE | U_OVER4,
                                           U_ANY | U_LARGE | U_OVER4,
                                           U_ANY | U_LARGE | U_OVER4,
                                           U_ANY | U_LARGE | U_OVER4,
                                           U_ANY | U_LARGE | U_OVER4,
                                           U_ANY | U_LARGE | U_OVER4 | U_SURROGATE,
                                           U_ANY | U_LARGE | U_OVER4,
                                           U_ANY | U_LARGE | U_OVER4};
static const uint8_t utf8_second_high[16] = {U_SHORT,
                                             U_SHORT,
                                             U_SHORT,
                                             U_SHORT,
                                             U_SHORT,
                                             U_SHORT,
                                             U_SHORT,
                                             U_SHORT,
                                             U_LONG | U_OVER2 | U_TWO_CONT | U_OVER3 | U_OVER4,
                                             U_LONG | U_OVER2 | U_TWO_CONT | U_OVER3 | U_LARGE,
                                             U_LONG | U_OVER2 | U_TWO_CONT | U_SURROGATE | U_LARGE,
                                             U_LONG | U_OVER2 | U_TWO_CONT | U_SURROGATE | U_LARGE,
                                             U_SHORT,
                                             U_SHORT,
                                             U_SHORT,
                                             U_SHORT};

#endif
