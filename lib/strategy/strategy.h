/* A strategy: one file that exports one of these, and one row in strategies.def. It reads the view
 * and asks for edits; it knows nothing of JSON or wire formats. An edit that is refused is simply
 * not made: every strategy must make sense with any of its edits left out. */
#ifndef PAUCIS_STRATEGY_H
#define PAUCIS_STRATEGY_H

#include "core/option.h"
#include "view/edit.h"

#define MAX_OPTIONS 12 /* of one strategy; they are called STRATEGY.NAME */

/* The classic counters; what each means is up to the strategy, see docs/strategies.md. */
struct counts {
    uint64_t dedup_hits, snippet_hits, total_bytes_saved;
    uint64_t original_tokens, final_tokens, elided_messages;
    uint64_t elided_bytes; /* what the budget saved; the classic counters leave it out */
};

/* One run of one strategy. */
struct pass {
    struct view *v;
    const uint64_t *opt;    /* values of the strategy's options, in their order */
    const uint64_t *common; /* values of the options that all strategies share */
    uint64_t budget;
    struct counts *counts;
    const char *strategy; /* its name, for the plan */
};

struct strategy {
    TABLE_ROW; /* name, summary */
    struct option options[MAX_OPTIONS];
    /* Returns NOMEM or OK. Dropped and inserted messages are settled by the caller. */
    paucis_err (*run)(struct pass *p);
    const char *const *sequence; /* instead of run: names of others, NULL ends */
    bool needs_budget;
};

extern const struct strategy *const paucis__strategies[]; /* NULL ends */

/* By name; NULL if unknown. */
const struct strategy *paucis__strategy_named(struct span name);

/* Options shared by all, in the order of pass.common. */
enum common_option { COMMON_GROW, COMMON_STEP, COMMON_UNITS, COMMON_MEND, COMMON_OPTIONS };
extern const struct option paucis__common_options[COMMON_OPTIONS];

/* ---- what strategies share ----------------------------------------------------------------- */

/* How many of v->order are older than the newest `keep`: 0 … limit-1 may be touched. */
size_t paucis__pass_limit(const struct pass *p, uint64_t keep);

/* A marker: `form` with %i replaced by the id, %n and %m by numbers. at == NULL: out of memory. */
struct span paucis__pass_marker(struct pass *p, const char *form, struct span id, uint64_t n,
                                uint64_t m);

/* A text as the inside of a JSON string. at == NULL: out of memory. */
struct span paucis__pass_quoted(struct pass *p, struct span text);

/* Tries to replace a text. *done tells whether it was; a refusal is no error. */
paucis_err paucis__pass_replace(struct pass *p, size_t part, struct span text, size_t refers,
                                const char *reason, bool *done);

static inline uint64_t saturating_sub(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* A table from texts to the part that had them first. */
struct seen {
    struct seen_entry *at;
    size_t mask;
};
paucis_err paucis__seen_new(struct seen *s, struct view *v, size_t most);
/* The part that was added with these bytes, or NO_INDEX after adding `part` under them. Two keys
 * that hash alike are told apart by their bytes. */
size_t paucis__seen_add(struct seen *s, struct view *v, struct span key, size_t part);

bool paucis__seen_has(const struct seen *s, const struct view *v, struct span key);

/* For each part: does a back-reference point to it? */
paucis_err paucis__referred_parts(struct view *v, const bool **referred);

/* For each part of that kind: is its id one that a reader of a marker could take for another,
 * because some other part has it too or because it holds more than letters, digits and . _ : - ? */
paucis_err paucis__unclear_ids(struct view *v, enum kind kind, const bool **unclear);

/* Longer ids are not put into markers, so that the output stays linear in the input. */
#define MAX_MARKER_ID 1024

/* Back-references whose target is gone or cut: the first copy gets its text back, later ones point
 * to that. Runs after every strategy if the option `mend` is on. */
paucis_err paucis__mend_references(struct pass *p);

#endif
