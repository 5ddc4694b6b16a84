/* See redis_link.h. hiredis 0.14 knows one server and nothing of clusters, so that is here: a
 * cluster has 16384 slots, a key's slot is CRC-16 of its name (or of what stands between its first
 * braces), and CLUSTER SLOTS says which node has which slots. A node that was asked in vain answers
 *
 *   MOVED slot host:port    the slot is there now: remember it, ask there
 *   ASK slot host:port      this key is there already: ask there, this once, with ASKING in front
 *   TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN    wait a little
 *
 * Commands go out by node in one piece and the replies are read afterwards. What was not answered
 * is sent again, to a node of the new map if one has died, until the time is up; so every command
 * must be one that may be run twice. */
#ifdef PAUCIS_REDIS
#include "redis_link.h"

#include "kind.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum {
    SLOTS = 16384,
    NODES = 256,
    SEEDS = 16,
    HOST = 256,
    AT_ONCE = 512, /* commands sent before replies are read */
    PAUSE_MS = 50,
    EAGER = 4,         /* rounds without a pause, as long as nodes only send us on */
    TIMEOUT_MS = 3000, /* for an answer */
    PATIENCE = 5,      /* times that, for a fail-over */
    REST_MS = 5000     /* who comes so soon after patience was over does not wait in its turn */
};

struct node {
    char host[HOST];
    int port;
    redisContext *redis; /* NULL = not connected */
    bool used;           /* since the last link_wait */
};

struct link {
    struct node nodes[NODES];
    size_t nnodes;
    struct {
        char host[HOST];
        int port;
    } seeds[SEEDS];
    size_t nseeds, seed;
    bool cluster, stale; /* stale: the map is to be read again */
    bool loading;        /* the one that was last asked for it is still reading its own data */
    uint8_t slot[SLOTS]; /* node */
    char user[128], password[256];
    long db, wait, timeout_ms;
    int64_t gave_up; /* milliseconds; 0: not since it last worked */
};

static void pause_a_little(void) {
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000}, NULL);
}

/* ---- calls --------------------------------------------------------------------------------- */

void call_begin(struct call *c, const char *command) {
    *c = (struct call){.node = -1};
    call_text(c, command);
}

void call_word(struct call *c, const char *at, size_t len) {
    if (c->argc == CALL_ARGS) return;
    c->argv[c->argc] = at;
    c->len[c->argc++] = len;
}

void call_text(struct call *c, const char *text) { call_word(c, text, strlen(text)); }

void call_number(struct call *c, long long number) {
    char *text = c->number[c->numbers++ % 5];
    int n = snprintf(text, sizeof c->number[0], "%lld", number);
    call_word(c, text, (size_t)n);
}

void call_key(struct call *c, const char *kind, const char *name) {
    snprintf(c->key, sizeof c->key, "paucis:%s:%s", kind, name);
    c->key_at = c->argc;
    call_text(c, c->key);
}

void call_done(struct call *calls, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (calls[i].reply) freeReplyObject(calls[i].reply);
        calls[i].reply = NULL;
    }
}

/* ---- slots --------------------------------------------------------------------------------- */

static unsigned slot_of(const char *key) {
    const char *open = strchr(key, '{'), *close = open ? strchr(open + 1, '}') : NULL;
    size_t n = strlen(key);
    unsigned crc = 0;
    if (close && close > open + 1) {
        key = open + 1;
        n = (size_t)(close - key);
    }
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned)(unsigned char)key[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    return crc % SLOTS;
}

/* The node's place; a new one if it is not known yet, SIZE_MAX if there are too many. */
static size_t node_at(struct link *l, const char *host, size_t len, int port) {
    for (size_t i = 0; i < l->nnodes; i++)
        if (l->nodes[i].port == port && strlen(l->nodes[i].host) == len &&
            memcmp(l->nodes[i].host, host, len) == 0)
            return i;
    if (l->nnodes == NODES || len >= HOST) return SIZE_MAX;
    struct node *n = &l->nodes[l->nnodes];
    *n = (struct node){.port = port};
    memcpy(n->host, host, len);
    return l->nnodes++;
}

/* ---- connections --------------------------------------------------------------------------- */

static void drop(struct node *n) {
    if (n->redis) redisFree(n->redis);
    n->redis = NULL;
}

static bool say(char *why, size_t cap, const struct node *n, const char *what) {
    snprintf(why, cap, "%s:%d: %s", n->host, n->port, what);
    return false;
}

static bool is_error(const redisReply *r, const char *start) {
    return r && r->type == REDIS_REPLY_ERROR && strncmp(r->str, start, strlen(start)) == 0;
}

/* A command of a few words, on its way to being connected. */
static bool greet(struct node *n, int argc, const char **argv, char *why, size_t cap) {
    redisReply *r = redisCommandArgv(n->redis, argc, argv, NULL);
    bool ok = r && r->type != REDIS_REPLY_ERROR;
    if (!ok) say(why, cap, n, r ? r->str : n->redis->errstr);
    if (r) freeReplyObject(r);
    if (!ok) drop(n);
    return ok;
}

static bool reach(struct link *l, struct node *n, char *why, size_t cap) {
    if (n->redis) return true;
    struct timeval limit = {l->timeout_ms / 1000, l->timeout_ms % 1000 * 1000};
    n->redis = redisConnectWithTimeout(n->host, n->port, limit);
    if (!n->redis || n->redis->err) {
        say(why, cap, n, n->redis ? n->redis->errstr : "out of memory");
        drop(n);
        return false;
    }
    redisSetTimeout(n->redis, limit);
    redisEnableKeepAlive(n->redis);
    if (*l->password) {
        const char *argv[3] = {"AUTH", *l->user ? l->user : l->password, l->password};
        if (!greet(n, *l->user ? 3 : 2, argv, why, cap)) return false;
    }
    if (l->db && !l->cluster) {
        char number[24];
        const char *argv[2] = {"SELECT", number};
        snprintf(number, sizeof number, "%ld", l->db);
        if (!greet(n, 2, argv, why, cap)) return false;
    }
    return true;
}

/* ---- the map ------------------------------------------------------------------------------- */

static void read_range(struct link *l, const struct node *asked, const redisReply *range) {
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3) return;
    const redisReply *from = range->element[0], *to = range->element[1], *at = range->element[2];
    if (at->type != REDIS_REPLY_ARRAY || at->elements < 2) return;
    const redisReply *host = at->element[0], *port = at->element[1];
    bool named = host->type == REDIS_REPLY_STRING && host->len > 0 && host->str[0] != '?';
    size_t node = node_at(l, named ? host->str : asked->host,
                          named ? (size_t)host->len : strlen(asked->host), (int)port->integer);
    if (node == SIZE_MAX) return;
    for (long long s = from->integer; s >= 0 && s <= to->integer && s < SLOTS; s++)
        l->slot[s] = (uint8_t)node;
}

/* Asks one node; false: it could not be asked. */
static bool read_map_from(struct link *l, struct node *n, char *why, size_t cap) {
    l->loading = false;
    if (!reach(l, n, why, cap)) return false;
    redisReply *r = redisCommand(n->redis, "CLUSTER SLOTS");
    if (!r) {
        say(why, cap, n, n->redis->errstr);
        drop(n);
        return false;
    }
    l->loading = is_error(r, "LOADING") || is_error(r, "MASTERDOWN");
    bool denied = l->loading || is_error(r, "NOAUTH");
    if (denied) say(why, cap, n, r->str);
    l->cluster = r->type == REDIS_REPLY_ARRAY;
    if (!l->cluster) memset(l->slot, (int)(n - l->nodes), sizeof l->slot);
    for (size_t i = 0; l->cluster && i < r->elements; i++) read_range(l, n, r->element[i]);
    freeReplyObject(r);
    return !denied;
}

/* From any node that answers: those that are known, and those of the URL. */
static bool read_map(struct link *l, char *why, size_t cap) {
    size_t known = l->nnodes;
    for (size_t i = 0; l->cluster && i < known; i++)
        if (l->nodes[i].redis && read_map_from(l, &l->nodes[i], why, cap)) return true;
    for (size_t i = 0; i < l->nseeds; i++) {
        size_t k = (l->seed + i) % l->nseeds;
        size_t node = node_at(l, l->seeds[k].host, strlen(l->seeds[k].host), l->seeds[k].port);
        if (node == SIZE_MAX || !read_map_from(l, &l->nodes[node], why, cap)) continue;
        l->seed = k;
        return true;
    }
    for (size_t i = 0; l->cluster && i < known; i++)
        if (!l->nodes[i].redis && read_map_from(l, &l->nodes[i], why, cap)) return true;
    return false;
}

/* ---- running ------------------------------------------------------------------------------- */

static bool send_call(struct node *n, const struct call *c) {
    size_t total = (size_t)c->argc + c->nmany;
    if (c->asking && redisAppendCommand(n->redis, "ASKING") != REDIS_OK) return false;
    if (!c->nmany) {
        const char **argv = (const char **)(uintptr_t)c->argv;
        return redisAppendCommandArgv(n->redis, c->argc, argv, c->len) == REDIS_OK;
    }
    const char **argv = malloc(total * sizeof *argv);
    size_t *len = malloc(total * sizeof *len);
    for (size_t i = 0; argv && len && i < total; i++) {
        bool first = i < (size_t)c->argc;
        argv[i] = first ? c->argv[i] : c->many[i - (size_t)c->argc];
        len[i] = first ? c->len[i] : c->many_len;
    }
    bool ok = argv && len && redisAppendCommandArgv(n->redis, (int)total, argv, len) == REDIS_OK;
    free((void *)argv);
    free(len);
    return ok;
}

/* "MOVED 3999 127.0.0.1:6381": the node, and the slot is remembered. */
static bool follow(struct link *l, struct call *c) {
    const char *text = c->reply->str, *slot = strchr(text, ' ');
    const char *at = slot ? strchr(slot + 1, ' ') : NULL, *colon = at ? strrchr(at, ':') : NULL;
    if (!colon || colon <= at) return false;
    size_t len = (size_t)(colon - at) - 1;
    const char *host = at + 1;
    if (len == 0) { /* the one that was asked */
        host = l->nodes[c->node].host;
        len = strlen(host);
    }
    size_t node = node_at(l, host, len, (int)strtol(colon + 1, NULL, 10));
    long number = strtol(slot, NULL, 10);
    if (node == SIZE_MAX || number < 0 || number >= SLOTS) return false;
    c->asking = *text == 'A';
    if (!c->asking) {
        l->slot[number] = (uint8_t)node;
        l->stale = true; /* others will have moved too */
    }
    c->node = (int)node;
    return true;
}

enum verdict { ANSWERED, AGAIN, LATER, REFUSED };

/* What a reply means; all but ANSWERED are dropped. */
static enum verdict judge(struct link *l, struct call *c, bool fixed, char *why, size_t cap) {
    static const char *const later[] = {"TRYAGAIN",   "CLUSTERDOWN", "LOADING",
                                        "MASTERDOWN", "READONLY",    "UNBLOCKED"};
    enum verdict v = REFUSED;
    if (!c->reply) return LATER;
    if (c->reply->type != REDIS_REPLY_ERROR) return ANSWERED;
    say(why, cap, &l->nodes[c->node], c->reply->str);
    if (!fixed && (is_error(c->reply, "MOVED ") || is_error(c->reply, "ASK ")))
        v = follow(l, c) ? AGAIN : REFUSED;
    for (size_t i = 0; v == REFUSED && i < sizeof later / sizeof *later; i++)
        if (is_error(c->reply, later[i])) v = LATER;
    if (is_error(c->reply, "READONLY")) { /* it was the master; who is now? */
        l->seed++;
        drop(&l->nodes[c->node]);
    }
    freeReplyObject(c->reply);
    c->reply = NULL;
    return v;
}

/* Sends all calls of one node that have no reply yet and reads what comes back. */
static void talk(struct link *l, size_t node, struct call *calls, size_t n, char *why, size_t cap) {
    struct node *to = &l->nodes[node];
    size_t sent = 0, got = 0;
    redisReply *asked = NULL;
    bool ok = reach(l, to, why, cap);
    for (size_t i = 0; ok && i < n; i++)
        if (!calls[i].reply && calls[i].node == (int)node) {
            ok = send_call(to, &calls[i]);
            sent = ok ? i + 1 : sent;
        }
    for (; ok && got < sent; got++) {
        struct call *c = &calls[got];
        if (c->reply || c->node != (int)node) continue;
        if (c->asking) {
            ok = redisGetReply(to->redis, (void **)&asked) == REDIS_OK;
            if (ok) freeReplyObject(asked);
        }
        c->asking = false;
        ok = ok && redisGetReply(to->redis, (void **)&c->reply) == REDIS_OK;
    }
    to->used = true;
    if (ok || !to->redis) return;
    say(why, cap, to, to->redis->err ? to->redis->errstr : "out of memory");
    drop(to);
}

/* One round over all calls that have no reply; how many still have none. */
static size_t round_of(struct link *l, struct call *calls, size_t n, const bool *fixed,
                       enum verdict *worst, char *why, size_t cap) {
    bool busy[NODES] = {0};
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (!calls[i].reply && calls[i].node >= 0) busy[calls[i].node] = true;
    for (size_t i = 0; i < l->nnodes; i++)
        if (busy[i]) talk(l, i, calls, n, why, cap);
    *worst = ANSWERED;
    for (size_t i = 0; i < n; i++) {
        enum verdict v = judge(l, &calls[i], fixed[i], why, cap);
        *worst = v > *worst ? v : *worst;
        left += v != ANSWERED;
    }
    return left;
}

static bool run_some(struct link *l, struct call *calls, size_t n, char *why, size_t cap) {
    int64_t end = store_clock_ms() + (int64_t)l->timeout_ms * PATIENCE;
    bool fixed[AT_ONCE];
    enum verdict worst;
    for (size_t i = 0; i < n; i++) fixed[i] = calls[i].node >= 0;
    for (int round = 0;; round++) {
        if (l->stale && read_map(l, why, cap)) l->stale = false;
        for (size_t i = 0; i < n; i++)
            if (!fixed[i] && !calls[i].asking && !calls[i].reply)
                calls[i].node = l->slot[slot_of(calls[i].key)];
        if (!round_of(l, calls, n, fixed, &worst, why, cap)) return true;
        if (worst != REFUSED && store_clock_ms() > end) l->gave_up = store_clock_ms();
        if (worst == REFUSED || store_clock_ms() > end) return false;
        if (worst != LATER && round < EAGER) continue;
        l->stale = true;
        pause_a_little();
    }
}

bool link_run(struct link *l, struct call *calls, size_t n, char *why, size_t cap) {
    if (l->gave_up && store_clock_ms() - l->gave_up < REST_MS) return false; /* why is still that */
    l->gave_up = 0;
    for (size_t from = 0; from < n; from += AT_ONCE) {
        size_t some = n - from < AT_ONCE ? n - from : AT_ONCE;
        if (!run_some(l, calls + from, some, why, cap)) return false;
    }
    return true;
}

/* A master that has just taken over may have no replica yet; that is waited for, as a fail-over. */
static bool wait_for(struct link *l, struct node *n) {
    int64_t end = store_clock_ms() + (int64_t)l->timeout_ms * PATIENCE;
    bool ok = false;
    while (!ok && n->redis && store_clock_ms() < end) {
        redisReply *r = redisCommand(n->redis, "WAIT %ld %ld", l->wait, l->timeout_ms / 2);
        ok = r && r->type == REDIS_REPLY_INTEGER && r->integer >= l->wait;
        if (!r) drop(n);
        if (r) freeReplyObject(r);
    }
    if (!ok && n->redis) l->gave_up = store_clock_ms();
    return ok;
}

bool link_wait(struct link *l, char *why, size_t cap) {
    bool all = true;
    for (size_t i = 0; i < l->nnodes; i++) {
        struct node *n = &l->nodes[i];
        bool used = n->used;
        n->used = false;
        if (!l->wait || !used) continue;
        if (n->redis && wait_for(l, n)) continue;
        say(why, cap, n, "fewer replicas than asked for have a copy");
        all = false;
    }
    return all;
}

size_t link_nodes(const struct link *l) { return l->nnodes; }

/* ---- the URL ------------------------------------------------------------------------------- */

static void decode(char *to, size_t cap, const char *from, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n && k + 1 < cap; i++) {
        char hex[3] = {0};
        if (from[i] == '%' && i + 2 < n) {
            memcpy(hex, from + i + 1, 2);
            to[k++] = (char)strtol(hex, NULL, 16);
            i += 2;
        } else {
            to[k++] = from[i];
        }
    }
    to[k] = '\0';
}

static bool read_seeds(struct link *l, const char *p, const char *end) {
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        const char *colon = NULL, *bracket = *p == '[' ? memchr(p, ']', (size_t)(stop - p)) : NULL;
        for (const char *q = bracket ? bracket : p; q < stop; q++)
            if (*q == ':') colon = q;
        const char *host = bracket ? p + 1 : p, *host_end = bracket ? bracket
                                                            : colon ? colon
                                                                    : stop;
        size_t n = (size_t)(host_end - host);
        if (n == 0 || n >= HOST || l->nseeds == SEEDS) return false;
        memcpy(l->seeds[l->nseeds].host, host, n);
        l->seeds[l->nseeds++].port = colon ? (int)strtol(colon + 1, NULL, 10) : 6379;
        p = stop + 1;
    }
    return l->nseeds > 0;
}

static void read_query(struct link *l, const char *query) {
    for (const char *p = query; p && *p; p = strchr(p, '&') ? strchr(p, '&') + 1 : NULL) {
        if (strncmp(p, "wait=", 5) == 0) l->wait = strtol(p + 5, NULL, 10);
        if (strncmp(p, "timeout=", 8) == 0) l->timeout_ms = strtol(p + 8, NULL, 10);
    }
    if (l->timeout_ms < 10) l->timeout_ms = 10;
}

/* [USER][:PASSWORD]@HOST[:PORT][,HOST[:PORT]...][/DB][?wait=N&timeout=MS] */
static bool read_url(struct link *l, const char *rest) {
    const char *query = strchr(rest, '?'), *end = query ? query : rest + strlen(rest);
    const char *slash = memchr(rest, '/', (size_t)(end - rest)), *at = NULL;
    const char *env = getenv("PAUCIS_STORE_PASSWORD");
    const char *hosts_end = slash ? slash : end;
    for (const char *p = rest; p < hosts_end; p++)
        if (*p == '@') at = p;
    l->timeout_ms = TIMEOUT_MS;
    if (query) read_query(l, query + 1);
    if (slash) l->db = strtol(slash + 1, NULL, 10);
    if (env) snprintf(l->password, sizeof l->password, "%s", env);
    if (at) {
        const char *colon = memchr(rest, ':', (size_t)(at - rest));
        decode(l->user, sizeof l->user, rest, (size_t)((colon ? colon : at) - rest));
        if (colon) decode(l->password, sizeof l->password, colon + 1, (size_t)(at - colon) - 1);
    }
    return read_seeds(l, at ? at + 1 : rest, hosts_end);
}

/* A server that was started just now reads its data first. */
static bool read_first_map(struct link *l, char *why, size_t cap) {
    int64_t end = store_clock_ms() + (int64_t)l->timeout_ms * PATIENCE;
    while (!read_map(l, why, cap)) {
        if (!l->loading || store_clock_ms() > end) return false;
        pause_a_little();
    }
    return true;
}

bool link_open(struct link **out, const char *rest, char *why, size_t cap) {
    struct link *l = calloc(1, sizeof *l);
    *out = l;
    if (!l) return snprintf(why, cap, "out of memory"), false;
    if (read_url(l, rest) && read_first_map(l, why, cap)) return true;
    if (!l->nseeds) snprintf(why, cap, "not redis://[USER:PASSWORD@]HOST[:PORT],...[/DB]");
    link_close(l);
    *out = NULL;
    return false;
}

void link_close(struct link *l) {
    if (!l) return;
    for (size_t i = 0; i < l->nnodes; i++) drop(&l->nodes[i]);
    memset(l->password, 0, sizeof l->password);
    free(l);
}
#endif
