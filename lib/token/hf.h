/* Tokenizers from Hugging Face's tokenizer.json. */
#ifndef PAUCIS_HF_H
#define PAUCIS_HF_H

#include "token/token.h"

/* Fills t, which has an allocator and is empty otherwise. FORMAT with the reason for a file that
 * would not be reproduced exactly. */
paucis_err paucis__hf_read(struct paucis_tokenizer *t, const char *json, size_t n, paucis_error *e);
void paucis__hf_free(struct paucis_tokenizer *t);

#endif
