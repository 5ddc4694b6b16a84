/* See estimate.h. The numbers are fitted by scripts/token-fit on one half of a corpus and judged on
 * the other; docs/tokens.md says what came out. */
#include "token/estimate.h"

#define BATCH 160

enum {                       /* in thousandths */
       ASCII_PIECE = 1126,   /* tokens a piece of ASCII has */
       OTHER_BYTE = 203,     /* tokens a byte of any other piece has */
       UPPER = 1200,         /* 95 of 100 documents have at most so much of the estimate */
       UPPER_CLASSIC = 1400, /* and of the classic rule */
};

static bool is_ascii(const uint8_t *p, size_t n) {
    uint8_t all = 0;
    for (size_t i = 0; i < n; i++) all |= p[i];
    return all < 0x80;
}

uint64_t paucis__estimate(const struct token_kernel *k, struct span text, uint32_t scale) {
    const uint8_t *p = (const uint8_t *)text.at;
    size_t ends[BATCH], at = 0, from = 0;
    uint64_t sum = 0;
    while (at < text.len) {
        size_t n = k->split(&paucis__splits[SPLIT_O200K], p, text.len, &at, ends, BATCH);
        if (is_ascii(p + from, at - from)) {
            sum += n * ASCII_PIECE;
            from = at;
            continue;
        }
        for (size_t i = 0; i < n; from = ends[i++]) {
            size_t len = ends[i] - from;
            sum += is_ascii(p + from, len) ? ASCII_PIECE : len * OTHER_BYTE;
        }
    }
    sum = sum / 1000 * scale + sum % 1000 * scale / 1000; /* thousandths of a token */
    return (sum + 500) / 1000;
}

uint64_t paucis__estimate_upper(enum token_kind kind, uint64_t tokens) {
    uint64_t bound = kind == TOKEN_HEURISTIC ? UPPER_CLASSIC : UPPER;
    return tokens + tokens * (bound - 1000) / 1000;
}
