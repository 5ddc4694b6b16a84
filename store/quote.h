/* Text to the inside of a JSON string, in the ways that clients write it. */
#ifndef PAUCIS_STORE_QUOTE_H
#define PAUCIS_STORE_QUOTE_H

#include "cli.h"

/* The letters stand in the lists of the store and keep their meaning. */
enum quote_style {
    QUOTE_RAW = 'r',  /* JavaScript, and Python with ensure_ascii=False: as it is, lone surrogates
                         escaped */
    QUOTE_ASCII = 'a' /* Python: everything else escaped */
};

/* Appends; bytes that are not UTF-8 stay as they are. */
void quote(struct buf *b, const char *at, size_t len, enum quote_style style);

/* Is `was`, a piece of valid JSON, this text quoted in this style? */
bool quote_is(const char *at, size_t len, enum quote_style style, const char *was, size_t n);

#endif
