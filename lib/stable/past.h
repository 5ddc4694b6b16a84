/* The past: a context that is asked to remember keeps the fold of its last body. If the next one
 * continues that, as requests of a conversation do, only what is new is folded. The result is the
 * same as without: a fold depends on nothing but its parts and its settings, and both are compared,
 * the parts by hashes of the body's bytes under a seed that nobody knows. */
#ifndef PAUCIS_PAST_H
#define PAUCIS_PAST_H

#include <stdbool.h>

#include "core/hash.h"

struct fold;
struct stable;
struct view;

struct past {
    VEC(XXH128_hash_t) keys; /* of the parts in the fold */
    size_t messages;         /* that they are of ... */
    uint64_t roles;          /* ... and whose: one without parts has no key */
    XXH128_hash_t settings;  /* what decides beside them */
    bool wanted;             /* the keys are kept */
    bool good;               /* the fold has come to its end and can go on */
};

/* Was the fold made with these settings, and can it go on? */
bool paucis__past_is_of(const struct fold *f, const struct stable *s, const struct view *v);
/* For a fold that begins. */
void paucis__past_begin(struct fold *f, const struct stable *s, const struct view *v);

/* Notes the next part, with its flags in the fold; asks whether it is the one that was noted. */
paucis_err paucis__past_add(struct fold *f, const struct view *v, size_t part, unsigned flags);
bool paucis__past_has(const struct fold *f, const struct view *v, size_t part, unsigned flags);

/* Who speaks in the first n messages. */
uint64_t paucis__past_roles(const struct view *v, size_t n);

/* The bodies that the fold has seen are gone: what it has of them is from now on of this one. */
paucis_err paucis__past_rebind(struct fold *f, struct view *v);

#endif
