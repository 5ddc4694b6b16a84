/* Commands to one Redis or to a cluster: which node has which key is found out here. */
#ifndef PAUCIS_STORE_REDIS_LINK_H
#define PAUCIS_STORE_REDIS_LINK_H

#include "cli.h" /* first: it says which POSIX */

#include <hiredis.h>

enum { CALL_ARGS = 12, CALL_KEY = 160 };

/* One command on one key. Fill in with call_*; the words are borrowed, the key is copied. */
struct call {
    char key[CALL_KEY];
    int argc, key_at; /* key_at: place of the key among the words */
    const char *argv[CALL_ARGS];
    size_t len[CALL_ARGS];
    char number[5][24];
    int numbers;
    const char **many; /* more words behind those, all of the same length */
    size_t nmany, many_len;
    redisReply *reply; /* of link_run; never NULL when that succeeded */
    int node;          /* where to; -1 = by its key */
    bool asking;       /* just this once */
};

struct link;

/* rest: what follows "redis://". False: why (of `cap` bytes). */
bool link_open(struct link **out, const char *rest, char *why, size_t cap);
void link_close(struct link *l);

/* Runs all, in any order between nodes, and waits for every reply. True: each has one that is no
 * error. False: some may have been done, and why says what went wrong. */
bool link_run(struct link *l, struct call *calls, size_t n, char *why, size_t cap);

/* Has what was run been copied to as many replicas as the URL asks for (wait=N)? */
bool link_wait(struct link *l, char *why, size_t cap);

size_t link_nodes(const struct link *l); /* for calls on every node */

void call_begin(struct call *c, const char *command);
void call_word(struct call *c, const char *at, size_t len);
void call_text(struct call *c, const char *text);
void call_number(struct call *c, long long number);
void call_key(struct call *c, const char *kind, const char *name); /* "paucis:KIND:NAME" */
void call_done(struct call *calls, size_t n);                      /* frees the replies */

#endif
