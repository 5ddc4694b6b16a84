/* The stable policy over a view: feeds the conversation to the fold, request by request, and turns
 * the forms that it ends with into edits. */
#ifndef PAUCIS_STABLE_H
#define PAUCIS_STABLE_H

#include "core/option.h"
#include "stable/fold.h"
#include "view/edit.h"

enum stable_option {
    STABLE_KEEP,
    STABLE_CAP,
    STABLE_CAP_READ,
    STABLE_WINDOW,
    STABLE_WINDOW_READ,
    STABLE_RISK,
    STABLE_THOUGHT,
    STABLE_ATTACH,
    STABLE_STOP,
    STABLE_EDITED,
    STABLE_LEARNT,
    STABLE_LEARNT_AT,
    STABLE_SINKS,
    STABLE_LOW_WATER,
    STABLE_OPTIONS
};
extern const struct option paucis__stable_options[STABLE_OPTIONS];
#define STABLE_NOT_TOLD 4294967295 /* the default of `edited` and `learnt` */

/* How much may go, in one word. */
struct level {
    TABLE_ROW;                                       /* name, summary */
    uint64_t keep, cap, cap_read, window_read, risk; /* no cap is 0 */
    bool cuts;
};
extern const struct level paucis__levels[]; /* a NULL name ends; the second is the default */

struct stable { /* past.c compares what of it the fold depends on */
    const struct level *level;
    const struct form_kind *form;
    uint64_t option[STABLE_OPTIONS];
    bool sent;                /* history=sent */
    bool leave;               /* only what must go because forms were sent before */
    paucis_handle_fn *handle; /* NULL = no handles */
    void *handle_ud;
    bool remember;             /* the next body may continue this one, see past.h */
    bool name_new;             /* ... and what was named then is not named again */
    const char *never;         /* see never.h; NULL = nothing is excluded */
    const char *still, *cold;  /* see fold.h; NULL = none */
    const paucis_price *price; /* of the present request */
    uint64_t fixed;            /* tokens that the request has beside its messages, at most */
    uint64_t budget;           /* tokens, PAUCIS_NO_BUDGET = none */
};

/* The budget that counts in the end: the given one, or one that was learnt. */
static inline uint64_t stable_budget(const struct stable *s, uint64_t given) {
    uint64_t learnt = s->option[STABLE_LEARNT];
    return learnt != STABLE_NOT_TOLD && learnt < given ? learnt : given;
}

/* What a fold needs of the settings; arena, source and memory are the caller's. */
void paucis__stable_begin(struct fold *f, const struct stable *s, bool bound);

/* Runs the fold over the view and asks for the edits. The fold keeps texts in an arena of its own,
 * which this may empty. */
paucis_err paucis__stable_run(struct fold *f, struct view *v, const struct stable *s);

#endif
