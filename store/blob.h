/* A text as it lies in the store: see batch.c. */
#ifndef PAUCIS_STORE_BLOB_H
#define PAUCIS_STORE_BLOB_H

#include "kind.h"

enum {
    BLOB_ZSTD = 1,
    BLOB_SEALED = 2,
    BLOB_LEVEL = 1,       /* zstd; 3 saves 2 % of the space for a quarter more time */
    BLOB_MOST = 900000000 /* longest text: SQLite takes less than a billion bytes */
};

struct blob_maker {
    void *zstd;
};

/* Overwrites out. False: no memory. */
bool blob_make(struct blob_maker *m, const unsigned char *key, const struct hash *name,
               const char *at, size_t len, struct buf *out);
void blob_maker_free(struct blob_maker *m);

/* Appends the text, tested against its name; DAMAGED or FAILED (no memory) leave out as it was. */
enum store_err blob_open(const unsigned char *key, const struct hash *name, const struct buf *blob,
                         struct buf *out);

#endif
