/* Counts of whole texts by content, shared between contexts. */
#ifndef PAUCIS_MEMO_H
#define PAUCIS_MEMO_H

#include "token/token.h"

/* What a text is known by: two words that depend on all its bytes, its length, the tokenizer and
 * the memo's secret. */
struct memo_key {
    uint64_t a, b;
};

struct memo_key paucis__memo_key(const struct paucis_memo *m, uint64_t vocab, struct span text);
bool paucis__memo_find(struct paucis_memo *m, struct memo_key k, uint64_t *count);
void paucis__memo_add(struct paucis_memo *m, struct memo_key k, uint64_t count);

#endif
