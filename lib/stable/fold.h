/* The stable policy as a fold over the requests of a conversation, oldest first. Every request sees
 * the parts before it; what it decides depends on nothing else, so the same history gives the same
 * forms on any machine, after any restart, and what was sent once is sent the same way again.
 *
 *   born     a part is sent for the first time: a repeat of an earlier result becomes a reference,
 *            a result above the cap is cut to it, all else stays full
 *   stale    it is older than the window, or superseded: its short form is fixed, rent begins
 *   cut      the rent of the stale parts from p on has reached the price of a cut at p (rent.h), or
 *            the budget demands it: from p on stale parts take their short form
 *
 * The fold knows sizes and kinds of parts. Texts are asked for only where a form is made. */
#ifndef PAUCIS_FOLD_H
#define PAUCIS_FOLD_H

#include "stable/arguments.h"
#include "stable/form.h"
#include "stable/items.h"
#include "stable/past.h"
#include "stable/rent.h"
#include "stable/sums.h"
#include "stable/supersede.h"
#include "view/view.h"

enum form { FORM_FULL, FORM_REFERENCE, FORM_CAPPED, FORM_SHORT, FORM_MARKER, FORM_GONE };

enum fold_flags {
    FOLD_OPEN = 1,       /* may be given another text; thinking: may go */
    FOLD_ERROR = 2,      /* the result of a call that failed */
    FOLD_STALE = 4,      /* its short form is fixed and not yet taken */
    FOLD_SUPERSEDED = 8, /* proven out of date by a later call */
    FOLD_DROPPABLE = 16, /* may go with the whole step it is part of */
    FOLD_BOUND = 32,     /* thinking that is only valid behind the prefix it was made with */
    FOLD_DONE = 64,      /* a write or edit whose result says that it was made */
};

struct fold_part {
    uint32_t message;
    uint8_t role, kind, flags, form, tool;
    bool cleaned;    /* its text is without noise */
    uint32_t mate;   /* a result's call; a call's first result so far; NO_INDEX if there is none */
    uint32_t block;  /* blocks before it; what is not known, cache marks among it, is none */
    uint32_t leaf;   /* place among the parts that may be cut, NO_INDEX if it may not */
    uint32_t refers; /* reference: the part it points to. Full: the newest part that points to it */
    uint32_t chain;  /* reference: the one before it that points to the same part */
    uint32_t earlier; /* result: the one before it on the same subject; NO_INDEX if there is none */
    struct subject subject; /* of a call: what it asks for */
    int64_t since;          /* the turn since which it pays rent */
    int64_t again;          /* tokens of it that a cut before it would write again */
    size_t len;             /* bytes of text it came with */
    struct span text;       /* that text, at == NULL until somebody has asked for it */
    struct span raw;        /* ... before noise went from it, at == NULL if there was none */
    struct span handle;     /* the name of the whole text, at == NULL if nobody has asked for it */
    uint64_t lines;         /* of the text that it names */
    struct span id, name;
    struct span now, brief; /* the text it stands with, unless full; its short form */
    const char *reason;     /* why it stands as it does */
};

struct fold_source { /* where texts come from */
    paucis_err (*text)(void *ud, size_t part, struct span *out);
    /* Bytes that are equal for two parts iff their texts are. */
    paucis_err (*key)(void *ud, size_t part, struct span *out);
    void *ud;
};

struct fold_limits {
    paucis_price price;
    uint64_t window, gate;      /* messages; tokens below which nothing is done */
    uint64_t window_read;       /* messages: of results that read a file, at least the window */
    uint64_t cap, cap_read;     /* bytes of a new result, and of one that reads a file; 0 = none */
    uint64_t budget, low_water; /* tokens, UINT64_MAX = none; percent of it that a cut leaves */
    uint64_t fixed, sinks;      /* tokens beside the messages; first messages that never go */
    uint64_t learnt, learnt_at; /* another budget, and the messages from which on it counts */
    uint64_t attach, stop;      /* messages: no form before, none after */
    paucis_handle_fn *handle;   /* names removed texts; NULL = they have no names */
    void *handle_ud;
    const char *never;  /* results that stay whole, see never.h; NULL = none */
    const char *still;  /* requests, by their messages, at which no form was given: "12,15" */
    const char *cold;   /* ... at which nothing was in the cache any more, so that a cut is free */
    uint64_t risk;      /* thousandths that a cut may put us behind doing nothing */
    uint64_t thought;   /* what losing a token of present thinking counts, in writes */
    bool cuts;          /* level safe makes none but those the budget forces */
    bool bound;         /* thinking after a cut must go */
    bool keep_thinking; /* and may not: cuts fall behind all of it */
    bool sent;          /* the history is what was sent: only the last request decides */
};

struct fold_cut {
    size_t part;         /* the first that is rewritten, SIZE_MAX = none */
    uint32_t messages;   /* of the request that made it */
    int64_t rent, price; /* what the parts it shortens had cost; what it costs: thousandths */
    int64_t saved;       /* tokens that every later request is shorter by */
    bool forced;         /* by the budget */
};

#define LEAST_CALL 400 /* bytes: shorter arguments stay */

/* Results that stay young beyond the window, in order. */
enum wait { WAIT_RECALLED, WAIT_READ, WAITS };
struct fold_waiting {
    VEC(uint32_t) parts;
    size_t done; /* so many have grown old */
};

struct fold_outdated { /* a result, and the one that supersedes it */
    uint32_t part, by;
};

struct fold_seen { /* a result by its text */
    uint64_t hash;
    uint32_t part; /* NO_INDEX = free */
};

enum stage { STAGE_STEPS = 4, STAGES }; /* of a forced cut, see budget.c */

#define STEP_IS_GONE "the budget: a whole step"

struct fold {
    struct mem *mem;
    struct arena *arena; /* texts of forms */
    struct fold_source source;
    struct fold_limits limits;
    struct forms forms;
    struct past past; /* for the next body */

    /* The conversation so far. Sizes are in tokens. */
    VEC(struct fold_part) parts;
    size_t born;                  /* parts before this have been sent */
    uint32_t messages, requested; /* now, and at the request before */
    uint32_t blocks;              /* in all */
    int64_t turn;                 /* the number of this request */
    int64_t size, raw;            /* of all parts as they stand, and as they came */
    int64_t last_size, last_raw;  /* ... at the request before */
    size_t head_parts;            /* parts of system messages at the front ... */
    int64_t head;                 /* ... and their size */
    size_t loop;                  /* parts before this are not in the current tool loop */
    uint32_t loop_first;          /* its first assistant message, NO_INDEX if there is none yet */

    /* Births: who has been met before. */
    struct fold_seen *seen; /* results that stand whole, by their text */
    size_t seen_count, seen_size;
    struct item_set subjects;   /* the newest result on each subject, plus 1 */
    struct item_set ids;        /* of calls: how many have it */
    uint64_t recalls, recalled; /* texts recalled since the request before, their bytes */
    size_t told;                /* the part that says how to read a shortened text */

    /* Age: what becomes stale when. */
    size_t aged, aged_replies;          /* parts before this have been looked at: results;
                                           thinking and calls, in finished loops */
    VEC(struct fold_outdated) outdated; /* superseded, and not old enough yet to go for it */
    struct fold_waiting waiting[WAITS]; /* have left the window, but are not old yet */
    struct arguments arguments;         /* of the call that is being shortened */

    /* Where a cut would pay. */
    VEC(uint32_t) leaves;       /* parts that may be cut, by leaf */
    VEC(uint64_t) candidates;   /* a bit for each leaf: stale and not cut */
    VEC(uint32_t) thoughts;     /* bound thinking that stands and could go */
    struct rent rent;           /* the gain of a cut at each leaf */
    struct sums now, again;     /* over parts: as they stand; what a cut before writes again */
    size_t deep;                /* parts before this are out of a breakpoint's reach ... */
    int64_t deep_size;          /* ... and so large */
    size_t floor, hard_floor;   /* parts before this may not be touched by a cut: in this loop,
                                   and ever */
    int64_t bill, bill_of_none; /* what all requests so far have cost, and would have */

    /* What was cut. */
    VEC(uint32_t) changed;     /* parts whose form changed at the last request */
    struct fold_cut cut;       /* of the last request */
    VEC(struct fold_cut) cuts; /* all so far */

    /* What a forced cut has taken, see budget.c. */
    size_t stage[STAGES]; /* how far each of its stages has come */
    size_t step_end;      /* of the step that waits to be dropped; 0 = not known */
    size_t carrier;       /* the old result that says how many steps are gone */
    uint64_t dropped_steps, dropped_messages;

    /* How it can be had back, see cover.h. */
    VEC(uint32_t) missing;    /* parts that are not whole, since the last index */
    VEC(struct span) indexes; /* texts of all */
    struct span index;        /* the name of the last */
    size_t roomy;             /* the first part that is shorter by more than a note */
};

/* The next part. Only what the fold has to know of it is read: message, role, kind, flags, len,
 * text (if it is at hand), id, name, and a result's mate. */
paucis_err paucis__fold_add(struct fold *f, const struct fold_part *part);

/* A request made of all parts so far; `last` if it is the one that is really sent now. */
paucis_err paucis__fold_request(struct fold *f, bool last);

/* The cut that is nearest to paying for itself, with what it would cost and save. */
struct fold_cut paucis__fold_outlook(struct fold *f);

void paucis__fold_clear(struct fold *f); /* for the next conversation; keeps memory */
void paucis__fold_free(struct fold *f);

/* ---- used by birth.c and budget.c ------------------------------------------------------------ */

struct form_text;
/* A part's text with what forms want to know of it. */
paucis_err paucis__fold_text(struct fold *f, size_t part, struct form_text *out);
/* An old result takes its short form, if it has one. */
paucis_err paucis__fold_shorten(struct fold *f, size_t part);
/* A new result is cut to about so many bytes. */
paucis_err paucis__fold_cap(struct fold *f, size_t part, size_t bytes);
/* The arguments of a call in a shorter form, see arguments.h; *out: they themselves if there is
 * none. */
paucis_err paucis__fold_arguments(struct fold *f, size_t part, size_t head, size_t old_head,
                                  struct span *out);
/* Adds to a shortened text the handle of the whole one, if there are handles. */
paucis_err paucis__fold_sign(struct fold *f, size_t part, struct span *text);
/* A part takes another form. */
paucis_err paucis__fold_take(struct fold *f, size_t part, enum form form, struct span text,
                             const char *reason);

/* A part is no longer stale: it was cut, or is young again. */
void paucis__fold_end_rent(struct fold *f, size_t part);

static inline int64_t fold_tokens(size_t bytes) { return (int64_t)((bytes + 3) / 4); }

/* Tokens of a part as it stands. */
static inline int64_t fold_size(const struct fold_part *p) {
    if (p->form == FORM_GONE) return 0;
    return fold_tokens(p->form == FORM_FULL ? p->len : p->now.len);
}

#endif
