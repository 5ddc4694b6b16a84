/* Unicode normalisation form C, for the tokenizers that ask for it. */
#ifndef PAUCIS_NFC_H
#define PAUCIS_NFC_H

#include <stdbool.h>

#include "core/mem.h"

struct nfc_text {
    VEC(char) out;
    VEC(uint32_t) points; /* of the part that is worked on */
};

/* True only if the text is surely in form C already; nearly all text is. */
bool paucis__is_nfc(struct span text);

/* The text in form C, in n->out. Bytes that are not UTF-8 stay. NOMEM only. */
paucis_err paucis__nfc(struct mem *m, struct span text, struct nfc_text *n);
void paucis__nfc_free(struct mem *m, struct nfc_text *n);

#endif
