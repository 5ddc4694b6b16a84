/* What a call does, by the shape of its name and arguments. Agents name their tools as they like;
 * a few shapes cover most: a tool that reads a file, one that searches, one that runs a command. A
 * call that fits none is TOOL_OTHER and treated by age alone. */
#ifndef PAUCIS_TOOLS_H
#define PAUCIS_TOOLS_H

#include <stdbool.h>

#include "core/mem.h"

enum tool {
    TOOL_OTHER,
    TOOL_READ,
    TOOL_SEARCH,
    TOOL_LIST,
    TOOL_EDIT,
    TOOL_RUN,
    TOOL_TEST,
    TOOL_STATUS,
    TOOL_PAGE,  /* reads a file, from where the call before it stopped: never the same again */
    TOOL_RECALL /* a text that was left out is back */
};

/* name: the tool's; arguments: their JSON as it stands, or plain text. */
enum tool paucis__tool_of(struct span name, struct span arguments);

/* Does the same call made again answer the same question? Of a tool that nobody knows it may be the
 * next page, or what a process has printed since. */
static inline bool tool_answers_again(enum tool tool) {
    return tool != TOOL_OTHER && tool != TOOL_EDIT && tool != TOOL_PAGE;
}

/* The command that a shell is given, and perhaps more behind it; empty if there is none. */
struct span paucis__tool_command(struct span arguments);

/* "read", "search", ... */
struct span paucis__tool_word(enum tool tool);

#endif
