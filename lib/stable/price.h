/* Prices of prompts, see paucis_price. One dated table; a user's file may bring other rows. */
#ifndef PAUCIS_PRICE_H
#define PAUCIS_PRICE_H

#include <stdbool.h>

#include "core/mem.h"

/* By name; NULL if unknown. */
const paucis_price *paucis__price_named(const char *name);

/* Are the numbers ones that the fold can work with? */
bool paucis__price_is_sane(const paucis_price *p);

#endif
