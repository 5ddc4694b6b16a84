/* How replay counts. LAB.md's tokens are a quarter of the characters, and so are those in the rules
 * of peers; with --tokenizer the bill is reckoned in real ones instead. */
#include "replay/replay.h"

#include <stdlib.h>

enum { MEMO_ENTRIES = 1 << 18 };

/* Set before the threads start. */
static paucis_opts counting;
static paucis_memo *memo;

static _Thread_local paucis_ctx *counter;

uint64_t tokens_of(struct str text) { return (utf8_count(text) + 3) / 4; }

bool tokens_by(const paucis_tokenizer *t) {
    paucis_opts_init(&counting, sizeof counting);
    counting.tokenizer = t;
    if (t && paucis_memo_new(&memo, MEMO_ENTRIES, NULL) != PAUCIS_OK) return false;
    counting.memo = memo;
    return true;
}

void tokens_end(void) {
    paucis_ctx_free(counter);
    counter = NULL;
}

void tokens_free(void) {
    paucis_memo_free(memo);
    memo = NULL;
    counting.tokenizer = NULL;
}

static uint64_t real_tokens(struct str text) {
    uint64_t n = 0;
    if (!counter && paucis_ctx_new(&counter, NULL) != PAUCIS_OK) exit(EXIT_USAGE);
    if (paucis_count_text(counter, text.at, text.len, &counting, &n, NULL, NULL) != PAUCIS_OK)
        exit(EXIT_USAGE);
    return n;
}

uint64_t bill_tokens(struct str text) {
    return counting.tokenizer ? real_tokens(text) : tokens_of(text);
}

uint64_t bill_tokens_prefix(struct str text, size_t bytes) {
    struct str prefix = {text.at, bytes};
    return counting.tokenizer ? real_tokens(prefix) : utf8_count(prefix) / 4;
}
