/* The covering handle (DESIGN.md, law 4). With a store, a shortened text names itself, but what
 * goes without leaving anything (thinking, whole steps) has no place for a name, and a marker that
 * is cut deeper takes its name along. So every cut names an index: a text that lists all that has
 * been left out since the cut before, each by its handle, and the index of that cut. The first
 * marker behind the place of the cut names it; from there on all is rewritten anyway, so what was
 * sent stays as it was sent up to the cut. Like everything in the fold it depends on the history
 * alone.
 *
 *   [left out so far: 9f86d081884c7d65]
 *
 *   Left out of this conversation so far:
 *   3f9a0c5d11e2b874 output, message 12, 9120 bytes
 *   88d4266fd4e6338d thinking, message 13, 1200 bytes
 *   60303ae22b998861 all before that
 */
#ifndef PAUCIS_COVER_H
#define PAUCIS_COVER_H

#include "stable/fold.h"

enum { COVER_NOTE = 96 }; /* bytes that the name of an index takes at most */

/* The name of a part's text; empty if there are no handles, or no text. */
paucis_err paucis__cover_name(struct fold *f, size_t part, struct span *name);

/* What tells it in a marker, "[full text: ...]"; empty likewise. */
paucis_err paucis__cover_note(struct fold *f, size_t part, struct span *note);

/* Is there a marker at or behind this part that can name an index? */
bool paucis__cover_has_place(const struct fold *f, size_t from);

/* After a cut. */
paucis_err paucis__cover_cut(struct fold *f);

/* Names everything again, for who is asked anew about a history that the fold remembers; the body
 * must still be there. */
paucis_err paucis__cover_again(struct fold *f);

#endif
