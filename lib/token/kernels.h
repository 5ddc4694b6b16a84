/* Which kernels this build has. */
#ifndef PAUCIS_TOKEN_KERNELS_H
#define PAUCIS_TOKEN_KERNELS_H

#include "token/token.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define PAUCIS_TOKEN_X86 1
extern const struct token_kernel paucis__token_avx512, paucis__token_avx2;
#elif defined(__aarch64__)
#define PAUCIS_TOKEN_NEON 1
extern const struct token_kernel paucis__token_neon;
#endif
extern const struct token_kernel paucis__token_portable;

#endif
