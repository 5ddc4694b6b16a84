/* Edits: the only way to change a view. Each is refused where FORMATS.md's G-rules or the part's
 * own flags forbid it, and written down with who wanted it and why; the list is the plan.
 *
 * What is refused, besides what the part's flags say:
 *   a frozen unit (unless it is being mended), a locked body;
 *   on formats with rules: the last message; calls and thinking in the current tool loop (G9); a
 *     blank text (G4); on models with bound thinking, anything before thinking that stays (B-R15);
 *   the last part of a message, a top-level text as a message;
 *   (the stable policy, v->folded, may shorten the last message's results, since it sends them the
 *     same way ever after, and removes bound thinking behind its cuts, as B-R15 wants);
 *   with v->no_grow, whatever would make the output longer than the input. */
#ifndef PAUCIS_EDIT_H
#define PAUCIS_EDIT_H

#include "view/view.h"

/* All return PAUCIS_OK, PAUCIS_E_INVARIANT (refused, nothing changed) or PAUCIS_E_NOMEM. Texts are
 * borrowed and must live as long as the view. */

/* Another text for a part. For call arguments with PART_OBJECT the text becomes a note inside an
 * object, see write.h. */
paucis_err paucis__edit_replace(struct view *v, struct why why, size_t part, struct span text);

/* The same with a text that points to another part. */
paucis_err paucis__edit_refer(struct view *v, struct why why, size_t part, struct span text,
                              size_t refers);

/* The same for a call: if the text is the spelling of an object, that object is its arguments. */
paucis_err paucis__edit_arguments(struct view *v, struct why why, size_t part, struct span text);

/* Tells how JSON spells the text that the part has now, which saves the writer to find out. */
void paucis__edit_spell(struct view *v, size_t part, struct span quoted);

/* Gives a part back the text it came with. */
void paucis__edit_restore(struct view *v, size_t part);

/* Refused for the last live part of a message: drop the message instead. */
paucis_err paucis__edit_drop(struct view *v, struct why why, size_t part);

/* Dropped and inserted messages are seen in v->order only after paucis__edit_settle. */

/* One message. Refused for top-level texts. */
paucis_err paucis__edit_drop_message(struct view *v, struct why why, size_t message);

/* All messages of the unit that begins with message `unit`, or none of them. */
paucis_err paucis__edit_drop_unit(struct view *v, struct why why, size_t unit);

/* A new message right after message `after`, which stands in the array: a user text, or (call !=
 * NO_INDEX) the result of that call. *made is its index. Refused where the format has no form for
 * it. */
paucis_err paucis__edit_insert(struct view *v, struct why why, size_t after, size_t call,
                               struct span text, size_t *made);

/* Brings v->order and v->thought up to date. */
void paucis__edit_settle(struct view *v);

/* Takes back all edits but the first `keep`; freezing stays. */
void paucis__edit_undo(struct view *v, size_t keep);

/* Bytes of decoded text that the edit found. */
size_t paucis__edit_before(const struct view *v, const struct edit *e);

/* Would dropping this message be refused? */
bool paucis__edit_may_drop_message(const struct view *v, size_t message);

#endif
