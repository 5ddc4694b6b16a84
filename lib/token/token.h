/* Tokenizers: text is cut into pieces by a split pattern, and each piece is merged into tokens by
 * byte pair encoding, by itself. So a count is a sum over pieces, and pieces repeat: a cache of
 * them makes most of the work a lookup.
 *
 *   split.c       one piece of any text, by the plain rules; the patterns
 *   window.h      many pieces of ASCII text at once, from 64-bit masks
 *   merge.h       one piece into tokens
 *   count.h       the loop over both, with the cache; compiled into each kernel_*.c
 *   vocab.c       the built-in vocabularies; hf.c: those of a tokenizer.json
 *   estimate.c    a guess from the pieces alone
 *   memo.c        counts of whole texts, by content */
#ifndef PAUCIS_TOKEN_H
#define PAUCIS_TOKEN_H

#include <stdbool.h>

#include "core/mem.h"
#include "token/pairs.h"

/* ---- patterns ------------------------------------------------------------------------------- */

enum contraction {
    CONTRACT_NONE,
    CONTRACT_PREFIX, /* 's and so on are pieces, in either case */
    CONTRACT_LOWER,  /* the same, lower case only */
    CONTRACT_SUFFIX  /* they belong to the word before, in either case */
};

/* The family of patterns that began with GPT-2's. */
struct split {
    const char *name;
    const char *regex; /* as tokenizer.json spells it */
    enum contraction contraction;
    uint8_t digits;  /* most in one piece; 0: any number of them, with a space in front */
    bool case_cut;   /* a word ends before a capital that follows a small letter */
    bool slash;      /* slashes are taken with the line ends behind signs */
    bool any_prefix; /* a word may begin with any one sign or blank, not only with a space */
    bool deepseek;   /* three patterns, one inside the other */
};

extern const struct split paucis__splits[]; /* a NULL name ends */
enum { SPLIT_O200K, SPLIT_CL100K, SPLIT_QWEN2, SPLIT_TEKKEN, SPLIT_GPT2, SPLIT_DEEPSEEK };

/* Length of the piece at p; p < end. */
size_t paucis__split_one(const struct split *s, const uint8_t *p, const uint8_t *end);

/* ---- tokenizers ----------------------------------------------------------------------------- */

/* A token that no merge makes; a piece equal to it is it all the same (Llama 3 has some). */
struct whole {
    struct span bytes;
    uint32_t token;
};

/* A vocabulary. Tokens are numbered in the order in which they merge, the bytes first. */
struct vocab {
    struct pair_table pairs;
    const struct split *split;
    uint64_t key;               /* no other vocabulary of this process has it */
    uint8_t byte[256];          /* token of each byte */
    const uint32_t *ids;        /* numbers the outside knows tokens by; NULL: the same */
    const struct whole *wholes; /* by paucis__whole_order */
    size_t nwholes;
};

int paucis__whole_order(struct span a, struct span b);
/* The token that the piece is as a whole; NULL if there is none. */
const struct whole *paucis__whole_find(const struct vocab *v, struct span piece);

enum token_kind { TOKEN_HEURISTIC, TOKEN_ESTIMATE, TOKEN_EXACT };

/* Never changes once it is open, so any number of contexts may share it. */
struct paucis_tokenizer {
    struct mem mem;
    const char *name;
    enum token_kind kind;
    struct vocab vocab; /* TOKEN_EXACT only */
    bool nfc;           /* text is normalised first */
    uint32_t scale;     /* TOKEN_ESTIMATE: a factor found from real usage, in thousandths */
    char label[24];     /* the name with that factor */
    uint64_t *slots;    /* its own tables, where it has any */
    uint32_t *ids;
    size_t slots_size, ids_size; /* in bytes */
    VEC(struct whole) wholes;
};

/* The vocabularies that are linked in; NULL past the end. */
const paucis_info *paucis__token_name(size_t i);
/* Fills a tokenizer by its name, or "estimate:FACTOR"; false if it is unknown. */
bool paucis__token_named(struct paucis_tokenizer *t, const char *name);

/* ---- kernels -------------------------------------------------------------------------------- */

/* Pieces that were counted before, by content. Keys are the bytes themselves, or from 121 bytes on
 * a hash with a secret seed, so a wrong answer cannot be prepared; what was pushed out is counted
 * again. */
#define CACHE_SHORT 15 /* most bytes of a piece in the table of short ones */
#define CACHE_LONG 120

struct cache_bucket { /* one cache line: 4 pieces of 15 bytes, then length and count in a byte */
    uint64_t word[4][2];
};
struct cache_long { /* two cache lines: length 0 = empty */
    uint8_t key[CACHE_LONG];
    uint32_t len, count;
};

struct cache {
    uint64_t key; /* of the vocabulary whose counts these are */
    struct cache_bucket *buckets;
    struct cache_long *longs;
    unsigned log;       /* of the number of buckets; a quarter as many long pieces */
    uint64_t seed, fed; /* bytes counted with this size of table */
};

/* What one context works with. */
struct token_run {
    struct mem *mem;
    struct cache cache;
    int32_t *scratch; /* of the merge, see merge.h */
    size_t scratch_size;
};

/* Tokens as they come; ids only if they are wanted. */
struct tokens {
    uint64_t count;
    bool keep;
    VEC(uint32_t) ids;
};

/* One way to work: the loops of count.h over a way to look at 64 bytes. */
struct token_kernel {
    TABLE_ROW;
    bool (*usable)(void);
    /* Ends of the next pieces as offsets, at most `most` (> 64) of them; *at moves on. */
    size_t (*split)(const struct split *s, const uint8_t *text, size_t n, size_t *at, size_t *ends,
                    size_t most);
    /* How many tokens a text has. NOMEM only, as for the next. */
    paucis_err (*count)(struct token_run *r, const struct vocab *v, const uint8_t *text, size_t n,
                        uint64_t *count);
    /* The tokens of one piece. */
    paucis_err (*piece)(struct token_run *r, const struct vocab *v, const uint8_t *piece, size_t n,
                        struct tokens *out);
};

extern const struct token_kernel *const paucis__token_kernels[]; /* best first, NULL ends */
const struct token_kernel *paucis__token_best_kernel(void);

paucis_err paucis__cache_ready(struct token_run *r, const struct vocab *v, size_t n);
void paucis__token_run_free(struct token_run *r);

#endif
