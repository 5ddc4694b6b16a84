/* Births: a part is sent for the first time. It is shown to the forms and to the table of tools; a
 * repeat of an earlier result becomes a reference, noise goes, what is above the cap is cut to it.
 * And what else has to do with the texts that forms are made of. */
#ifndef PAUCIS_BIRTH_H
#define PAUCIS_BIRTH_H

#include "stable/fold.h"

/* `quiet`: it is only shown, and stays as it came. */
paucis_err paucis__birth(struct fold *f, size_t part, bool quiet);

/* The first shortened text of a conversation tells how to read the others, if it has the room. A
 * cut before it makes another one the first. */
paucis_err paucis__birth_legend(struct fold *f, size_t part, struct span *text);
/* The text that told it is gone: the next one that can, not far from it, does. */
paucis_err paucis__birth_retell(struct fold *f, size_t part);
bool paucis__birth_tells(const struct fold *f, struct span text); /* does this one? */

void paucis__births_clear(struct fold *f); /* for the next conversation; keeps memory */
void paucis__births_free(struct fold *f);

#endif
