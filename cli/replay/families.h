/* The rules of families.def, declared; and what their files share. */
#ifndef PAUCIS_REPLAY_FAMILIES_H
#define PAUCIS_REPLAY_FAMILIES_H

#include "replay/replay.h"

#define FAMILY(name) extern const struct family family_##name;
#include "replay/families.def"
#undef FAMILY

/* Messages up to t, as they came. */
void append_whole(struct run *r, size_t t);

/* The message with all its results replaced. */
typedef struct str result_fn(struct run *r, const struct part *p);
const struct form *cleared(struct run *r, size_t msg, result_fn *fn);

#endif
