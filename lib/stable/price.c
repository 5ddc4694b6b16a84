/* See price.h. */
#include "stable/price.h"

#include <stdbool.h>
#include <string.h>

#define PRICES_AS_OF(month)
#define PRICE(name, read, write, base, minimum, step, ttl, match, lookback) \
    {name, read, write, base, minimum, step, ttl, PAUCIS_MATCH_##match, lookback},
static const paucis_price prices[] = {
#include "stable/prices.def"
};
#undef PRICES_AS_OF
#undef PRICE

const char *paucis_prices_as_of(void) {
#define PRICES_AS_OF(month) return month;
#define PRICE(...)
#include "stable/prices.def"
}

const paucis_price *paucis_price_at(size_t i) {
    return i < sizeof prices / sizeof *prices ? &prices[i] : NULL;
}

const paucis_price *paucis__price_named(const char *name) {
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++)
        if (strcmp(prices[i].name, name) == 0) return &prices[i];
    return NULL;
}

/* The fold multiplies a price with the tokens of a body and the number of its requests. With a body
 * of at most 2^30 bytes these bounds keep everything far inside 63 bits: tokens times requests is
 * largest, 2^52, if half of the body are messages of 20 bytes. */
bool paucis__price_is_sane(const paucis_price *p) {
    return p->read <= 1000 && p->write <= 10000 && p->base <= 10000 && p->read <= p->write &&
           p->match <= PAUCIS_MATCH_BREAKPOINTS;
}
