/* The few things that differ between systems. */
#ifndef PAUCIS_OS_H
#define PAUCIS_OS_H

#include <stdint.h>

/* A number an attacker cannot know, for hash tables. It never shows in a result. */
uint64_t paucis__os_seed(void);

#endif
