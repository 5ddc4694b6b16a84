/* Running strategies so that the result is never invalid. */
#ifndef PAUCIS_RUN_H
#define PAUCIS_RUN_H

#include "plan/check.h"
#include "plan/settings.h"

/* Runs the strategies of the settings over a view; `came` holds its breaks as it came, `now` is
 * for judging it afterwards. Units with a break are frozen first. Where the edits add a break, its
 * unit is frozen too and everything is decided anew. The view then holds the plan, counts[i] what
 * the settings' strategy i did; the stable policy
 * leaves its own account in the fold. */
paucis_err paucis__run(struct view *v, struct check *came, struct check *now, struct fold *fold,
                       struct settings *s, struct counts counts[MAX_STRATEGIES]);

#endif
