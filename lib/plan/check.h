/* Checking: the rules of a format against a view. The same code judges a body as it came (deep)
 * and a view with edits before a byte is written. */
#ifndef PAUCIS_CHECK_H
#define PAUCIS_CHECK_H

#include "view/view.h"

struct break_ {
    const char *rule; /* id as in rules.def */
    const char *text; /* what is wrong, static */
    uint32_t message; /* index into the view, NO_INDEX if it concerns none */
    uint32_t node;    /* where; 0 is the root */
};

/* How far a check looks. What edits can change (pairing, order, emptiness) is always judged; the
 * JSON inside messages, which no edit makes worse, in none of them, in all, or in units with an
 * edit: those must be left alone if something is wrong there. */
enum check_depth { CHECK_SHALLOW, CHECK_ALL, CHECK_TOUCHED };

struct check {
    struct view *v;
    enum check_depth depth;
    size_t total;
    VEC(struct break_) breaks; /* the first PAUCIS_MAX_BREAKS */
    bool failed;               /* memory ran out */
};

/* For the formats' check functions. `rule` must be a row of rules.def. */
void paucis__check_break(struct check *c, const char *rule, size_t message, size_t node,
                         const char *text);

/* Runs the format's rules; breaks from an earlier run are forgotten. */
paucis_err paucis__check_run(struct check *c, struct view *v, enum check_depth depth);

/* For the formats: is the JSON of this message to be judged? */
static inline bool check_goes_deep(const struct check *c, size_t message) {
    const struct message *m = view_message(c->v, message);
    if (c->depth == CHECK_SHALLOW || (m->flags & MESSAGE_INSERTED)) return false;
    return c->depth == CHECK_ALL || (view_message(c->v, m->unit)->flags & MESSAGE_TOUCHED);
}

/* Order the breaks by their place in the body, or by message and rule. */
void paucis__check_sort(struct check *c);
void paucis__check_sort_by_message(struct check *c);

/* The rules seen only by comparing: `now` against the body before compaction, or against the body
 * sent one request earlier. Adds to c->breaks, nodes and messages being those of `now` (= c->v). */
paucis_err paucis__check_before(struct check *c, struct view *before);
paucis_err paucis__check_sent(struct check *c, struct view *sent);

/* Is this request's model one whose thinking is bound to its prefix (FORMATS.md B-R15)? */
bool paucis__check_is_bound(struct view *v);

/* The model that the body names, empty if none; what it charges; and how much it takes. */
struct span paucis__body_model(struct view *v);
const paucis_price *paucis__body_price(struct view *v);
uint64_t paucis__body_window(struct view *v);

#endif
