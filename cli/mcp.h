/* The Model Context Protocol, without its transports: a message in, at most one message out. */
#ifndef PAUCIS_MCP_H
#define PAUCIS_MCP_H

#include "recall.h"

#ifdef PAUCIS_STORE
/* Appends the answer, without a newline; nothing for a notification. */
void mcp_answer(struct store *s, const char *message, size_t n, struct buf *out);

/* Serves at ADDRESS:PORT until it is stopped; an exit code. */
int mcp_http(struct store *s, const char *text);
#endif

#endif
