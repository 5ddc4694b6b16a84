/* Tokens of a text without a vocabulary, from the pieces that the o200k pattern cuts it into. */
#ifndef PAUCIS_ESTIMATE_H
#define PAUCIS_ESTIMATE_H

#include "token/token.h"

/* `scale` is in thousandths. */
uint64_t paucis__estimate(const struct token_kernel *k, struct span text, uint32_t scale);

/* At most so many, in 95 of 100 cases. */
uint64_t paucis__estimate_upper(enum token_kind kind, uint64_t tokens);

#endif
