/* The rules of families.def, declared; and what their files share. */
#ifndef PAUCIS_REPLAY_FAMILIES_H
#define PAUCIS_REPLAY_FAMILIES_H

#include "replay/replay.h"

#define FAMILY(name) extern const struct family family_##name;
#include "replay/families.def"
#undef FAMILY

/* Settings of ours over their whole range: the dial, and the level that leaves new results whole,
 * at several ages. Each of the others' settings has one here that is no worse, see docs/replay.md.
 * They were chosen so that this holds for as many halves of the traces as can be. */
#define OUR_DIAL                                                                  \
    "stable:keep=12 stable:keep=14 stable:keep=18 stable:keep=24 stable:keep=30 " \
    "stable:keep=48 stable:keep=64 stable:keep=88 stable:keep=128 "               \
    "stable:keep=18:window_read=32 stable:keep=88:window_read=32 stable:whole "   \
    "stable:whole:keep=8:window=5:window_read=18:cap=24576 "                      \
    "stable:whole:keep=7:window=5:window_read=40:cap=28672:risk=250 "             \
    "stable:whole:keep=6:window_read=32:cap=28672:risk=250 "                      \
    "stable:whole:keep=9:window_read=32:cap=20480 "                               \
    "stable:whole:keep=9:window_read=40:cap=20480 "                               \
    "stable:whole:keep=9:window_read=48:cap=20480 "                               \
    "stable:whole:keep=9:window_read=64:cap=20480 "                               \
    "stable:whole:keep=12:window_read=48:cap=20480:risk=100 "                     \
    "stable:whole:keep=12:window_read=64:cap=20480:risk=100 "                     \
    "stable:whole:keep=12:window_read=80:cap=20480:risk=100 "                     \
    "stable:whole:keep=12:window=12:window_read=96:cap=28672:risk=100 "           \
    "stable:whole:keep=18:window_read=80:cap=20480:risk=100 "                     \
    "stable:whole:keep=24:window_read=80:cap=20480:risk=100 "                     \
    "stable:whole:keep=32:window_read=48:cap=20480:risk=100 "                     \
    "stable:whole:keep=32:window_read=64:cap=20480 "                              \
    "stable:whole:keep=48:window_read=16:cap=20480:risk=100 "                     \
    "stable:whole:keep=48:window_read=64:risk=100 "                               \
    "stable:whole:keep=96:window=24:window_read=200:risk=100"

/* Does the library take the options of a policy of ours? False: reported. */
bool ours_fit(const struct policy *p);

/* Messages up to t, as they came. */
void append_whole(struct run *r, size_t t);

/* The message with all its results replaced. */
typedef struct str result_fn(struct run *r, const struct part *p);
const struct form *cleared(struct run *r, size_t msg, result_fn *fn);
struct str say(struct run *r, struct buf *b); /* the text as the run's; frees b */

/* The messages with results, as they come, and how many of them have been cut. */
struct results_seen {
    size_t *list;
    size_t count, cap, cut, next;
};
void see_results(struct run *r, struct results_seen *s, size_t t);
void end_results(struct run *r); /* for states that begin with it */

struct prune {
    struct results_seen seen;
    size_t low;     /* from this result message on, all fit into what is protected */
    uint64_t kept;  /* tokens of their results */
    uint64_t uncut; /* tokens of all results that have not been cut */
    size_t counted;
};

/* Of the results that are neither cut nor protected: tokens that would go; *n of the oldest
 * messages hold them. The protected ones are counted from the newest message back, within a message
 * in order. */
uint64_t prunable(struct run *r, struct prune *s, uint64_t protect, size_t *n);

#endif
