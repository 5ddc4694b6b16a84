/* A removed text, or what is wanted of it; for the command and for paucis mcp. */
#ifndef PAUCIS_RECALL_H
#define PAUCIS_RECALL_H

#include "keep.h"

#ifdef PAUCIS_STORE
struct recall {
    const char *handle; /* with or without what a marker has around it */
    const char *conv;   /* only a handle that this conversation was given; NULL = any */
    const char *lines;  /* "A-B", "A-", "-B", "A"; NULL = all */
    const char *grep;   /* extended regular expression; NULL = all */
    bool numbers;       /* line numbers in front, with --grep */
};

/* Appends the text. On anything but 0 (an exit code) `why`, of STORE_WHY bytes, says what is wrong
 * in a sentence. */
int recall(struct store *s, const struct recall *r, struct buf *out, char *why);
#endif

#endif
