/* Joints: where a text may be cut, seen from its lines. A heading governs the lines behind it and
 * stays if one of them does, so that a line of a diff stands with its file and a row with the names
 * of its columns:
 *
 *     diff --git a/x.c b/x.c        rank 1
 *     index 1a2b3c..4d5e6f 100644   worth nothing
 *     @@ -3,4 +3,5 @@               rank 2
 *     +int depth;                   kept: so the two headings above it are
 *
 * And what of a line counts: not the number a tool put in front of it, nor a name in pieces. */
#ifndef PAUCIS_JOINTS_H
#define PAUCIS_JOINTS_H

#include <stdbool.h>

#include "stable/items.h"

#define JOINT_RANKS 4 /* headings have rank 1, the widest, to 3 */

enum joint_worth { JOINT_PLAIN, JOINT_NOTHING, JOINT_VERDICT };

struct joint {
    uint8_t rank;   /* of a heading, 0 = it is none */
    uint8_t closes; /* headings of this rank and below it govern no longer; 0 = all go on */
    uint8_t worth;  /* enum joint_worth; a verdict must stay */
    bool fails;     /* what a traceback ends in */
};

/* What the lines so far say of the next. All zero at the start of a text. */
struct joints {
    bool in_patch_head; /* between "diff --git" and the first hunk */
    bool after_minus;   /* the last line began with "--- " */
    bool in_table;
    bool in_columns;
    bool in_trace; /* behind a line of a traceback that names a file */
    bool in_head;  /* of a text that an agent has put lines of its own in front of */
    size_t lines;
    const char *frame; /* where the next one of a traceback may stand; NULL: not known */
};

/* What the line at `at` is; `len` is with its newline, and `end` the text's. */
struct joint paucis__joint_next(struct joints *j, const char *at, size_t len, const char *end);

/* Bytes of blanks and a line number in front of a line: "  12:", "12-", "12|", "12\t", "12" and an
 * arrow. 0 if it does not start so. */
size_t paucis__number_len(struct span line);

/* Where a word that speaks of a failure may stand, at `at` or behind it; text.len if nowhere. */
size_t paucis__failure_after(struct span text, size_t at);

/* Does the line speak of a failure? */
bool paucis__tells_failure(struct span line);

/* Makes the item the whole word that it is part of, within [from, end). False if it is better not
 * shown: too long, a place in a file, or behind a backslash, which may make its first letter a line
 * end. */
bool paucis__whole_name(const char *from, const char *end, struct item *i);

#endif
