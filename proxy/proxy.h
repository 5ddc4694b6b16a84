/* `paucis serve`: what the files of the proxy share.
 *
 * One request is one `struct xfer`. It is walked through by three kinds of threads, and at any
 * time one of them works on it:
 *
 *   listen.c    libmicrohttpd's threads: headers and body in, answer out
 *   work.c      workers: rewrite.c (which body is sent), ladder.c (what follows a refusal)
 *   upstream.c  one event loop: libcurl's transfers, and the clients' sockets, watched for leaving;
 *               libcurl itself is loaded by late.c
 *
 * Only what stands under `lock` in the struct is seen by two of them at once. Bytes flow through
 * two pipes with a high-water mark, so that neither a slow client nor a slow provider fills the
 * memory.
 *
 * The library is used through paucis.h only; of the command's own, cli.h's text and tables. */
#ifndef PAUCIS_PROXY_H
#define PAUCIS_PROXY_H

#include "cli.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* ---- limits, each with its reason ------------------------------------------------------------ */

enum {
    PIPE_HIGH = 64 * 1024,      /* a pipe this full stops its writer: a stream's share of memory */
    PIPE_LOW = 16 * 1024,       /* and this empty starts it again: not a wake-up for every byte */
    HEAD_POOL = 64 * 1024,      /* what libmicrohttpd may use a connection; bounds the headers */
    ANSWER_PIECE = 8 * 1024,    /* of an answer handed to libmicrohttpd at a time */
    HELD_MAX = 1024 * 1024,     /* an error answer longer than this is passed on unread */
    ANSWER_HEAD = 40 * 1024,    /* headers of an answer: they must fit into HEAD_POOL */
    MAX_HEADERS = 256,          /* a request with more is refused */
    MAX_CONNECTIONS = 16 * 1024 /* clients at once; more wait in the kernel's queue */
};

/* ---- headers.c ------------------------------------------------------------------------------- */

struct header {
    char *name, *value; /* one allocation, at name */
};

struct headers {
    struct header *at;
    size_t n, cap;
    bool failed;
};

void headers_add(struct headers *h, const char *name, size_t nlen, const char *value, size_t vlen);
const char *headers_get(const struct headers *h, const char *name); /* NULL: none */
size_t headers_count(const struct headers *h, const char *name);
void headers_free(struct headers *h);
/* Hop-by-hop by name, or because a Connection header of h names it. */
bool headers_hop(const struct headers *h, const char *name);
bool name_is(const char *a, const char *b); /* without regard to case */
/* The word is one of the comma-separated ones, without regard to case. */
bool list_has(const char *list, const char *word);

/* ---- pipe.c: bytes between two threads; the caller holds the lock ---------------------------- */

struct pipe {
    struct buf b;
    size_t pos;
    bool eof;
    bool writer_waits; /* it was full */
};

size_t pipe_len(const struct pipe *p);
size_t pipe_take(struct pipe *p, char *to, size_t max);
void pipe_free(struct pipe *p);

/* ---- spare.c: large buffers, kept for the next body ------------------------------------------ */

bool spare_take(struct buf *b, size_t size); /* empty, with room for size bytes */
void spare_give(struct buf *b);              /* b is then empty */
void spare_free(void);
void spare_tick(void); /* once a second */

/* ---- contexts.c: the library's, one for each of the newest conversations ------------------- */

struct serve;
struct contexts *contexts_new(void);
void contexts_free(struct contexts *c);
/* Of the context and the store's keeper either may be NULL: no memory, or no store. */
struct desk {
    paucis_ctx *ctx;
    struct keeper *keeper;
    int64_t conv;   /* its last body is of this one, 0: of none */
    uint64_t held;  /* bytes of memory, as who has taken it saw last */
    uint64_t bytes; /* the same, seen by all */
    int64_t used;   /* microseconds */
    bool taken;
    struct desk *next; /* that has something to list */
};

struct desk *contexts_take(struct serve *s, int64_t conv); /* NULL: no memory */
void contexts_give(struct serve *s, struct desk *d, int64_t conv);
void contexts_tick(struct contexts *c); /* once a second */

/* ---- route.c: which provider, which format --------------------------------------------------- */

enum provider {
#define PROVIDER(id, name, url, price, forced) PROVIDER_##id,
#include "providers.def"
#undef PROVIDER
    PROVIDER_COUNT
};

struct provider_row {
    const char *name, *url, *price;
    bool forced; /* decisions are made with this price, whatever the model */
};
extern const struct provider_row providers[PROVIDER_COUNT];
const paucis_price *provider_price(enum provider p);

struct route {
    enum provider provider;
    const char *format; /* NULL: not a conversation, passes untouched */
    bool counts;        /* a question about tokens: rewritten alike, but no turn of its own */
    char *url;          /* where it goes */
};

struct config;
bool route_find(struct route *r, const struct config *c, const char *uri, const struct headers *h);

/* ---- config.c -------------------------------------------------------------------------------- */

struct config {
    const char *listen, *token, *ca;
    char *record; /* path of the record; NULL: none */
    struct {      /* --store and its companions; url NULL: none */
        const char *url, *most, *days, *key;
        bool asked; /* not the default */
    } store;
    bool level_given;
    const char *upstream[PROVIDER_COUNT]; /* NULL: the provider's own */
    bool observe, inspect, quiet, verbose;
    uint64_t max_body;
    unsigned idle, slow, drain, workers; /* seconds; threads */
    double price;                        /* of a million base tokens; 0: not known */
    paucis_opts opts;
    paucis_price price_read; /* --price FILE */
    struct config *older;    /* requests under way may still use it */
    struct buf file;         /* the configuration file, cut into words */
    struct args from_file;
    char *upstreams; /* the list, cut into words */
    paucis_kv *kv;
};

/* NULL: reported. The file (--config) and the flags come from the same table; flags win. */
struct config *config_read(const struct args *a);
void config_free(struct config *c); /* and the older ones */
/* Where removed texts are kept, for people to read: no password. NULL: nowhere. */
const char *config_store(const struct config *c);
/* The default store could not be opened: nothing can be recalled, so less may go. */
void config_without_store(struct config *c);
/* Only this policy can leave off in the middle and keep what it has done. */
bool options_are_stable(const paucis_opts *o);

/* ---- codec.c: content codings ---------------------------------------------------------------- */

struct codec;
bool codec_known(const char *name);
struct codec *codec_open(const char *name); /* NULL: unknown or no memory */
/* Adds what the bytes decode to; false: broken, or more than cap bytes came out. */
bool codec_feed(struct codec *c, const char *in, size_t n, struct buf *out, size_t cap);
bool codec_done(const struct codec *c); /* the stream has ended as it should */
void codec_close(struct codec *c);      /* NULL is fine */

/* ---- scan.c: the few things the proxy reads from a body itself ------------------------------- */

struct chain {
    uint64_t lo, hi;
};

struct scan {
    struct chain *at; /* at[i]: all messages up to and with i */
    size_t *end;      /* byte behind message i */
    size_t n, cap;
    bool answered;     /* the model has spoken before */
    const char *model; /* in the body, NULL: none */
    size_t model_len;
};

/* False: not an object with messages, or no memory. `seed` keeps conversations of different
 * credentials apart. */
bool scan_body(struct scan *s, const char *p, size_t n, const struct chain *seed);
void scan_free(struct scan *s);
size_t scan_message_at(const struct scan *s, size_t byte); /* the message that holds the byte */
struct chain scan_seed(const char *const *texts, size_t n);

/* ---- record.c: a few bytes per conversation, in SQLite --------------------------------------- */

struct record; /* the open file */
struct xfer;

enum { STOP_TEXT = 64, BEGUN_TEXT = 256, BEGUN_OPTIONS = 16, NAME_TEXT = 17, LIST_TEXT = 200 };
#define ATTACH_NOW UINT32_MAX /* met in mid-session; the library has not counted yet */

/* How a conversation is sent. Stopped ones are never cut again; see DESIGN.md law 7. */
enum mode {
    MODE_RUNS,
    MODE_FROZEN,   /* the forms already sent stay */
    MODE_ORIGINAL, /* as the client has it */
    MODE_EXIT,     /* the same, without the thinking that is bound to another prefix */
    MODE_LEAVING   /* from now on MODE_EXIT, as soon as that body is one the provider takes */
};

struct conv {
    int64_t id;          /* 0: none */
    struct chain tip;    /* of this request, until the turn is recorded */
    uint64_t attach;     /* messages that were sent before paucis came */
    uint64_t render;     /* the rendering it began with; 0: nothing was changed yet */
    uint64_t mode;       /* enum mode */
    uint64_t stopped_at; /* messages in the request at which it was stopped */
    uint64_t first_edit; /* the first message ever changed, + 1; 0: none yet */
    uint64_t budget;     /* tokens, learnt from the provider's refusal; 0: none */
    uint64_t budget_at;  /* messages in the request that was refused */
    char stop[STOP_TEXT];
    char begun[BEGUN_TEXT]; /* the options it began with; see begun.c */
    /* the last turn, for the watch over cached tokens and for the counter-reckoning */
    uint64_t prompt, cached, written, raw, bad_turns;
    int64_t last; /* seconds */
    char model[64];
    char name[NAME_TEXT];  /* in the store; what branches have in common */
    char still[LIST_TEXT]; /* requests, by their messages, at which a cut was withheld: "12,15" */
    char cold[LIST_TEXT];  /* ... that found the cache cold, so that a cut was free */
};

/* A request of a known conversation, from when it is found until its turn is recorded. */
struct claim {
    struct claim *next, **link;
    int64_t conv; /* 0: no claim */
    size_t n;     /* messages */
    struct chain tip;
};

/* begun.c: the options that a conversation began with, as a line of text and back. */
struct begun {
    paucis_opts opts;
    paucis_kv kv[BEGUN_OPTIONS];
    char text[BEGUN_TEXT];
};

void begun_write(const paucis_opts *o, char to[BEGUN_TEXT]);          /* "": they cannot be kept */
const paucis_opts *begun_read(const struct xfer *x, struct begun *b); /* those of now if none are */

struct record *record_open(const char *path); /* NULL: reported */
void record_close(struct record *r);
/* From now on conversations lie in this store, for all replicas; requests are logged here. */
struct store;
void record_share(struct record *r, struct store *store);
/* What a conversation begins with, of whose messages the first n are known. */
void record_begin(struct conv *c, const struct scan *s, size_t n, bool known);
bool shared_find(struct store *store, const struct scan *s, bool peek, struct conv *c);
bool shared_put(struct store *store, const struct conv *c);
bool shared_turn(struct store *store, const struct conv *c); /* what the answer told */
bool shared_off(struct store *store, int64_t id, const char *why);
/* The conversation that these messages continue, a new one, or a fork; `peek` makes none and claims
 * none. False: the file failed. */
bool record_find(struct record *r, const struct scan *s, bool peek, struct conv *c,
                 struct claim *k);
void record_release(struct record *r, struct claim *k); /* at the end of the request, in any case */
bool record_put(struct record *r, const struct conv *c); /* all but the last turn */
/* Before it is sent: a pause is over, whatever this request is answered with. */
void record_warm(struct record *r, int64_t id);
/* After the turn: how far the conversation has come, its counts, and a line about the request,
 * kept for `paucis why`. */
void record_turn(struct record *r, const struct xfer *x);
bool record_why(struct record *r, const char *id, struct buf *b); /* NULL id: the newest ones */
bool record_off(struct record *r, int64_t id, const char *why);   /* false: no such conversation */

/* ---- usage.c: what the provider says it counted ---------------------------------------------- */

struct usage {
    bool seen, has_cache;
    uint64_t fresh;   /* prompt tokens that came from no cache and went into none */
    uint64_t cached;  /* read from the cache */
    uint64_t written; /* newly put in the cache, where the provider says so */
    uint64_t output;
};

struct listener;                                   /* reads an answer as it streams by */
struct listener *listener_new(const char *coding); /* NULL: no memory */
void listener_feed(struct listener *l, const char *p, size_t n);
void listener_usage(const struct listener *l, struct usage *u);
void listener_free(struct listener *l);
uint64_t usage_prompt(const struct usage *u);

/* ---- one request ----------------------------------------------------------------------------- */

enum stage { STAGE_HEAD, STAGE_BODY, STAGE_WAIT, STAGE_ANSWER };
enum rung { RUNG_COMPACTED, RUNG_ORIGINAL, RUNG_EXIT };
/* To the loop: send it; there is more to send; there is room for more; a worker is done with it and
 * the answer stands; the client's side is over. */
enum post { POST_START = 1, POST_SEND = 2, POST_RECEIVE = 4, POST_STANDS = 8, POST_GONE = 16 };
enum job { JOB_REWRITE, JOB_LADDER, JOB_RECALL, JOB_LEDGER };

struct serve;

struct xfer {
    atomic_uint refs;
    struct serve *serve;
    const struct config *config;
    uint64_t id;

    /* listen.c */
    struct MHD_Connection *con;
    int fd;
    enum stage stage;
    char *uri;
    char method[24];
    struct headers in;
    struct route route;
    bool streamed; /* the body goes on as it comes, unread */
    bool recalls;  /* a removed text is asked for: nothing goes to the provider */
    bool watched;

    /* the request body: as it came, decoded, and what is sent */
    struct buf body, plain, edited;
    const char *send;
    size_t send_len, sent;
    int64_t stream_len; /* streamed: -1 not known */
    bool send_plain;    /* send is not in the client's coding */

    /* rewrite.c, ladder.c */
    struct conv conv;
    struct claim claim;
    struct scan scan;
    paucis_stats stats;
    enum rung rung;
    struct { /* how it was sent before the ladder, which may be for good */
        uint64_t mode, stopped_at;
        char stop[STOP_TEXT];
    } before;
    bool rewritten, forced;
    struct keeper *keeper; /* the worker's, while it has this request */
    const char *reason;    /* why it passes through, or why this rung; static text */
    char model[64];
    char what[200];     /* which strategies saved how much */
    double cost, saved; /* of the prompt, in base prices of a token; against not having paucis */
    int64_t work_us;    /* the decision took this long */

    /* upstream.c */
    void *easy, *list;
    bool active, gone;
    bool headed; /* the head of the answer is complete */
    struct listener *listener;
    struct usage usage;
    int64_t t_begin, t_body, t_sent, t_head, t_end; /* microseconds */

    /* under lock */
    pthread_mutex_t lock;
    struct pipe up, down;
    struct headers out;
    size_t out_bytes;
    int status;
    int64_t length;  /* of the answer; -1 not known */
    bool head_ready; /* status and headers may go to the client */
    bool hold;       /* not before the ladder has looked at it */
    bool broken;     /* the answer ended before its end */
    bool suspended;
    bool client_gone;
    bool busy;         /* a worker has it, or is about to */
    const char *error; /* the provider could not be reached: static text */

    /* the loop's queue, the workers' queue: under their locks */
    unsigned posts;
    bool queued;
    struct xfer *next_post, *next_job;
    struct xfer *next, **link; /* all that the loop has */
    enum job job;
};

struct xfer *xfer_new(struct serve *s, const char *uri);
void xfer_hold(struct xfer *x);
void xfer_drop(struct xfer *x);
void xfer_resume(struct xfer *x); /* lock held: lets the client's connection go on, if it waits */
int64_t now_us(void);             /* a clock that only goes forward */

/* ---- the parts ------------------------------------------------------------------------------- */

struct serve {
    _Atomic(struct config *) config;
    struct record *record; /* NULL: none */
    struct keep_all *keep; /* the store; NULL: none */
    struct MHD_Daemon *daemon;
    struct loop *loop;
    struct work *work, *clerk; /* decide what is sent; record what was */
    struct contexts *contexts;
    struct ledger *ledger;
    struct inspect *inspect; /* NULL: no texts */
    struct conns *conns;
    atomic_uint active; /* requests under way */
    atomic_bool draining;
    atomic_bool ending; /* what is under way is broken off, and nothing else begun */
    atomic_uint_fast64_t next_id;
    bool loopback;
    unsigned port;
};

bool listen_start(struct serve *s);
void listen_stop(struct serve *s);

struct loop *loop_start(struct serve *s);
void loop_post(struct loop *l, struct xfer *x, enum post post);
void loop_watch(struct loop *l, struct xfer *x);
void loop_unwatch(struct loop *l, struct xfer *x);
void loop_cancel(struct loop *l); /* breaks off all that is under way */
void loop_stop(struct loop *l);   /* when nothing is */
/* A small question of our own to the provider of x, in the caller's thread. False: no answer. */
bool upstream_ask(struct xfer *x, const char *path, struct buf *answer);
/* The status of a plain request, 0 if there is no answer. */
int upstream_reach(const struct config *c, const char *url, int64_t *us);

struct work *work_start(struct serve *s, unsigned threads);
void work_add(struct work *w, struct xfer *x, enum job job);
void work_stop(struct work *w);

/* The desk it was decided at is the caller's to give back, after the body is on its way. */
struct desk *rewrite_decide(struct xfer *x);
void rewrite_watch(struct xfer *x); /* after the turn: do the cached tokens fit? */
/* Shortens x's plain body into x->edited. False: it is not shorter, or *err says why not. */
bool rewrite_render(struct xfer *x, paucis_ctx *ctx, paucis_err *err);
/* What x->edited lacks is in the store, if there is one. */
bool rewrite_keep(struct xfer *x, paucis_ctx *ctx);
/* Written before it is sent. False: it could not be, and this would be the first change. */
bool rewrite_record_edit(struct xfer *x);
void rewrite_send_edited(struct xfer *x);
void rewrite_send_original(struct xfer *x, const char *reason);
void rewrite_send_safe(struct xfer *x, paucis_ctx *ctx, const char *reason);
/* The exit body. False: it is the original, or cannot be had. */
bool rewrite_send_exit(struct xfer *x, paucis_ctx *ctx, const char *reason);
bool ladder_again(struct xfer *x, struct desk *d); /* true: x->send is to be tried now */
void ladder_end(struct xfer *x);                   /* after the turn: was any of it taken? */

/* ---- keep.c: the store --------------------------------------------------------------------- */

/* False: reported. Without a store that was only the default, *out is NULL. */
bool keep_start(struct config *c, struct keep_all **out);
void keep_stop(struct keep_all *k); /* NULL is fine */
/* The store, if it is one that several machines share. */
struct store *keep_shared(const struct config *c, struct keep_all *k);

/* One for each worker; NULL without a store or memory, and then nothing can be kept. */
struct keeper *keeper_new(struct keep_all *k);
void keeper_free(struct keeper *k);

/* Handles in markers, if there is a store. */
void keeper_options(struct xfer *x, paucis_opts *o);
/* What x->edited lacks is written and acknowledged. False: it is not, and may not be sent. */
bool keeper_keep(struct xfer *x, paucis_ctx *ctx, const char *in, size_t n);
/* Is all of it in the store already? True as well if the store cannot be asked. */
bool keeper_has(struct xfer *x, paucis_ctx *ctx, const char *in, size_t n);
/* After it was sent: is there a list of how it is turned back? Writes it. */
bool keeper_waits(const struct keeper *k);
void keeper_list(struct keeper *k);
/* GET /paucis/recall/HANDLE: a status; the text, or what is wrong, in *out. */
int keep_recall(struct xfer *x, const char *handle, struct buf *out);

/* ---- ledger.c: what happened, for the page, the metrics, the log and the receipt ------------- */

struct ledger *ledger_new(void);
void ledger_free(struct ledger *l);
void ledger_add(struct ledger *l, struct xfer *x);
void ledger_refuse(struct ledger *l, const char *why); /* at the door; static text */
void ledger_json(struct ledger *l, struct buf *b);
void ledger_metrics(struct ledger *l, struct buf *b);
void ledger_receipt(struct ledger *l, const struct config *c, struct buf *b);

/* ---- inspect.c: texts for the page, with --inspect only -------------------------------------- */

struct inspect *inspect_new(void);
void inspect_free(struct inspect *in);
const char *inspect_token(const struct inspect *in);
/* After a rendering of x: what its splices took from `body` and put there. */
void inspect_keep(struct inspect *in, const struct xfer *x, const paucis_ctx *ctx,
                  const char *body);
bool inspect_allows(const struct xfer *x);                         /* may who asks see texts? */
bool inspect_show(struct inspect *in, uint64_t id, struct buf *b); /* false: not kept */

/* serve.c */
struct serve *serve_start(struct config *c); /* takes c; NULL: reported */
void serve_stop(struct serve *s);            /* drains; frees all */
void serve_block_signals(void);              /* before any thread is started */

#endif
