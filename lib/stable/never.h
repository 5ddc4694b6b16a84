/* Results that a user wants left alone: -O never=read:*.md,todo*. A pattern names a tool, or what
 * it does (read, search, list, edit, run, test, status), and behind a colon a word that must stand
 * in its arguments, such as a path; both may hold * and ?. */
#ifndef PAUCIS_NEVER_H
#define PAUCIS_NEVER_H

#include "stable/tools.h"

/* Does one of the comma-joined patterns fit this call? */
bool paucis__never_cut(const char *patterns, struct span name, struct span arguments);

#endif
