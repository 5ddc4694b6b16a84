/* paucis replay: what its files share.
 *
 *   load.c      a line of a trace -> struct trace: messages rendered as the measure counts them
 *   logs.c      session logs of Claude Code and Codex -> such lines
 *   evidence.c  what each reply needed from far back: found once a trace, for all policies
 *   seq.c       the messages as sent under one policy, request by request; what changed since the
 *               request before
 *   policy.c    the table of policies; peers.c, seeds.c, ours.c: what they do
 *   bill.c      one trace under one policy: money and evidence -> struct figures
 *   report_*.c  figures of all traces -> table, JSON, page
 *
 * The measure is that of docs/replay.md. Tokens are characters over 4, rounded up by message.
 * Running out of memory ends the command at once: nothing has been written by then. */
#ifndef PAUCIS_REPLAY_H
#define PAUCIS_REPLAY_H

#include "cli.h"

#define NONE SIZE_MAX

struct str {
    const char *at;
    size_t len;
};

/* ---- mem.c ---------------------------------------------------------------------------------- */

struct arena {
    struct chunk *chunk;
};
void *arena_get(struct arena *a, size_t n); /* zeroed, aligned */
struct str arena_copy(struct arena *a, struct str s);
struct str arena_buf(struct arena *a, struct buf *b); /* empties b */
void arena_free(struct arena *a);

void *heap_get(size_t n); /* zeroed; for free() */

/* Room for one more element; doubles. */
void *grow(void *list, size_t count, size_t *cap, size_t size);
#define PUSH(list, count, cap) \
    ((list) = grow((list), (count), &(cap), sizeof *(list)), &(list)[(count)++])

/* Texts, each with a number in the order of adding. Texts are not copied. */
struct map {
    struct map_entry {
        struct str key;
        uint32_t hash;
    } * entries;
    size_t count, cap;
    uint32_t *slots; /* entry + 1 */
    size_t mask;
};
size_t map_find(struct map *m, struct str key, bool add); /* NONE = not there */
void map_free(struct map *m);
uint32_t hash_text(struct str s);

/* ---- utf8.c: characters as the measure counts and classes them */

size_t utf8_count(struct str s);
size_t utf8_offset(struct str s, size_t chars);      /* byte where that character begins */
size_t utf8_offset_back(struct str s, size_t chars); /* the same, counted from the end */
unsigned utf8_at(const char *s, const char *end, size_t *len);
bool utf8_at_least(struct str s, size_t chars);
bool is_space(unsigned c);
bool is_digit(unsigned c); /* any script */
bool is_word(unsigned c);
struct str strip(struct str s);
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *b);
struct str str_of(const char *s);
const char *str_find(struct str in, struct str what); /* NULL if it is not there */
static inline bool str_has(struct str in, struct str what) { return str_find(in, what) != NULL; }

/* ---- json.c: a small reader; nodes in document order ---------------------------------------- */

enum jkind { J_NULL, J_TRUE, J_FALSE, J_NUMBER, J_STRING, J_ARRAY, J_OBJECT };
struct jnode {
    enum jkind kind;
    uint32_t end; /* the node behind this one and all below it */
    size_t from, to;
};
struct jdoc {
    const char *text;
    size_t len;
    struct jnode *node;
    size_t count, cap;
    uint32_t *stack;
    size_t depth, stack_cap;
};

bool jdoc_read(struct jdoc *d, const char *text, size_t len); /* memory is kept for the next */
void jdoc_free(struct jdoc *d);
size_t j_get(const struct jdoc *d, size_t object, const char *key);   /* 0 = not there, or null */
struct str j_string(const struct jdoc *d, size_t i, struct arena *a); /* decoded */
struct str j_text(const struct jdoc *d, size_t object, const char *key, struct arena *a);
struct str j_raw(const struct jdoc *d, size_t i);
bool j_number(const struct jdoc *d, size_t i, double *out);
void j_dump(const struct jdoc *d, size_t i, struct arena *a, struct buf *b); /* json.dumps */
bool j_is_shadowed(const struct jdoc *d, size_t object, size_t key); /* the same key comes later */
void dump_string(struct buf *b, struct str s, bool ascii);

/* ---- load.c --------------------------------------------------------------------------------- */

enum part_kind { TEXT, THINK, CALL, RESULT, OTHER };
enum role { R_SYSTEM, R_USER, R_ASSISTANT, R_TOOL, R_OTHER };

struct part {
    enum part_kind kind;
    struct str text; /* lies in the message's */
    struct str id, name;
    bool has_id;
    size_t offset;                     /* while the message is being built */
    size_t media_before, media_behind; /* pictures around the text of a result */
};

/* A message's text as sent, in whatever form. */
struct form {
    struct str text;
    uint64_t tokens;
    uint32_t hash;
};

struct msg {
    enum role role;
    struct str role_name;
    size_t part, nparts;
    struct form whole; /* as it came */
    bool has_result;
    size_t from, to; /* its bytes in the body */
    size_t element;  /* its place in the list; 0 for a system text in front */
};

struct usage {
    uint64_t fresh, written, read; /* tokens at base price, put into the cache, read from it */
};

struct trace {
    struct arena arena;
    char *line; /* owned; everything points into it or into the arena */
    struct str body;
    size_t list_end; /* where its list of messages is closed; 0 = unknown */
    struct str id, agent, format;
    const char *file;
    uint64_t logged_input; /* billed input of the last request, 0 = unknown */
    struct msg *msgs;
    size_t nmsgs, msgs_cap;
    struct part *parts;
    size_t nparts, parts_cap;
    size_t *turns; /* the messages that begin a reply */
    size_t nturns, turns_cap;
    double *when;        /* by turn: seconds, 0 = unknown; NULL = no time stamps at all */
    struct usage billed; /* of all requests, from a log */
    bool has_billed;
    uint64_t *input;  /* by turn: all that was billed for its request, 0 = unknown; NULL = no log */
    uint64_t total;   /* tokens of all messages */
    uint64_t *before; /* by message: tokens of those in front of it */
};

/* ---- tokens.c ---- */

uint64_t tokens_of(struct str text);                        /* a quarter of the characters */
uint64_t bill_tokens(struct str text);                      /* what the bill counts */
uint64_t bill_tokens_prefix(struct str text, size_t bytes); /* of its first so many bytes */
bool tokens_by(const paucis_tokenizer *t);                  /* NULL: as above. False: no memory */
void tokens_end(void);                                      /* for each thread that counted */
void tokens_free(void);

/* Takes the line, which must be malloced. False: not understood, why says so (static). */
bool trace_load(struct trace *t, char *line, size_t len, paucis_ctx *ctx, struct jdoc *doc,
                const char **why);
void trace_free(struct trace *t);

/* A message with other parts. The callback returns the part's new text in *text; false = gone. */
typedef bool part_fn(void *ud, const struct trace *t, const struct part *p, struct str *text);
struct form *form_make(const struct trace *t, struct arena *a, size_t msg, part_fn *fn, void *ud);
struct form *form_text(struct arena *a, struct str text);
bool form_same(const struct form *a, const struct form *b);

/* ---- evidence.c ----------------------------------------------------------------------------- */

/* Where a text stood: a chain from the newest message that held it to the oldest. */
struct place {
    size_t msg;
    size_t before; /* NONE */
};

enum need_kind { NEED_ITEM, NEED_FRESH, NEED_SPAN, NEED_EDIT };
struct need {
    enum need_kind kind;
    bool code;   /* an item that looks like code */
    bool joined; /* NEED_EDIT: a further line of the same call */
    struct str text;
    size_t place;
};

struct evidence {
    struct need *needs;
    size_t count, cap;
    size_t *first; /* by turn: its first need; one more at the end */
    struct place *places;
    size_t nplaces, places_cap;
};

void evidence_find(struct evidence *e, struct trace *t, struct jdoc *doc);
void evidence_free(struct evidence *e);
bool has_line(const struct trace *t, size_t msg, struct str sent, struct str item);

/* ---- seq.c ---------------------------------------------------------------------------------- */

struct seq {
    const struct form **now, **old; /* by message; NULL = not sent */
    size_t n, old_n;                /* messages so far, and at the request before */
    uint64_t *tree;                 /* Fenwick tree over the tokens of now */
    uint64_t total, old_total;
    size_t *changed; /* indices set since the request before */
    size_t nchanged, changed_cap;
    size_t front, old_front; /* a message that is sent first, wherever it stands; NONE */
    const struct form *marker, *old_marker; /* a text of the policy's own, or NULL */
    size_t marker_at, old_marker_at;        /* in front of this message */
    bool rebuilt; /* the reference makes all texts anew here: see has_line in bill.c */
};

struct step { /* one request against the one before */
    uint64_t total, same;
    bool first;    /* there was none before, or nothing in it */
    bool differs;  /* what was sent before is not a prefix of what is sent now */
    size_t behind; /* entries from the first difference on; counts up to BEHIND_MAX */
};
enum { BEHIND_MAX = 64 }; /* more than any lookback */

void seq_open(struct seq *s, struct arena *a, size_t messages);
void seq_free(struct seq *s);
void seq_append(struct seq *s, const struct form *f);
void seq_set(struct seq *s, size_t i, const struct form *f);
void seq_mark(struct seq *s, size_t at, const struct form *f);
void seq_step(struct seq *s, struct step *out);

/* ---- policies ------------------------------------------------------------------------------- */

enum { MAX_PARAMS = 4 };

struct run;
struct policy;
struct family { /* one rule with numbers to choose */
    const char *name, *params, *source, *summary;
    size_t nparams;
    long standard[MAX_PARAMS];                  /* its published defaults */
    const char *grid;                           /* other settings, blank-separated */
    bool by_price;                              /* decides differently at different prices */
    bool (*word)(struct policy *p, char *word); /* takes a setting that is no number; NULL */
    size_t state;                               /* bytes, zeroed */
    bool (*begin)(struct run *r);               /* may be NULL; false: it cannot be run, r->why */
    void (*step)(struct run *r, size_t t);
    void (*end)(struct run *r); /* may be NULL */
};

struct policy {
    const struct family *family;
    char name[96];
    long param[MAX_PARAMS];
    paucis_kv kv[8]; /* ours: options for the library */
    size_t nkv;
    char *words; /* what kv points into */
    bool grid;   /* reported only if it is the best of its family */
};

struct run {
    const struct policy *policy;
    struct trace *trace;
    const paucis_price *price;
    struct seq seq;
    struct arena arena;
    void *state;
    paucis_ctx *ctx;
    const char *why;
    size_t cuts; /* as the policy itself counts them; NONE = it does not */
};

extern const struct family *const families[];
/* NAME, NAME:N:N... or a group (default, peers, grid, lab, curve); appends. False: reported. */
bool policies_add(struct policy **list, size_t *count, size_t *cap, const char *words);
void policies_free(struct policy *list, size_t count);

/* ---- bill.c --------------------------------------------------------------------------------- */

/* Everything measured of one trace under one policy and price. Costs are in thousandths of a token
 * at base price. */
struct figures {
    uint64_t turns, tokens, cached, peak, cuts, fixed;
    uint64_t plain, full, row; /* as LAB, with prefix and breakpoints, and by the whole price row */
    uint64_t row_read, row_written, row_fresh; /* tokens of the last */
    uint64_t reread;                           /* tokens to be read again for lost spans */
    uint64_t needed, kept, cneeded, ckept, xkept, sneeded, skept, nneeded, nkept;
    uint64_t edits, edits_kept;
};

struct course { /* one request of one session, for the plot */
    uint64_t total, cached;
    bool cut;
};

/* out: one for each price; a policy that looks at the price is run for each. course may be NULL:
 * it is filled for the first price. False: this policy cannot be run on this trace, *why. */
bool replay_run(const struct policy *p, struct trace *t, const struct evidence *e,
                const paucis_price *const *prices, size_t nprices, paucis_ctx *ctx,
                struct figures *out, struct course *course, const char **why);

/* ---- feed.c: sessions out of files ---------------------------------------------------------- */

struct feed {
    const char *const *files;
    size_t nfiles, file;
    bool open;
    struct input in;
    struct lines lines;
    uint64_t line;
    char **ready; /* sessions made out of a log */
    size_t nready, ready_next;
    char **found; /* the user's own logs, where no file was named */
};

bool feed_find(struct feed *f); /* looks for them; false: there are none */

/* The next session as a malloced line; *name says where it is from. False: no more, or reported. */
bool feed_next(struct feed *f, char **line, size_t *len, const char **name, uint64_t *number,
               bool *failed);
void feed_close(struct feed *f);

/* ---- logs.c ---------------------------------------------------------------------------------- */

bool log_begins(const char *line, size_t len); /* the first line of a session log? */
/* Reads the rest of the file; the sessions in it, as malloced lines. False: reported. */
bool log_read(struct lines *lines, const char *first, size_t len, const char *name, char ***out,
              size_t *count);

/* ---- reports -------------------------------------------------------------------------------- */

struct trace_row;

/* ---- fit.c ---- */

/* How the billed input of a session's requests follows what was counted: their covariance and the
 * variance of the latter, each times the requests. */
struct fit {
    double xy, xx;
    size_t requests, sessions;
};

struct fit fit_trace(const struct trace *t);
struct fit fit_sum(const struct trace_row *rows, size_t n);
double fit_factor(const struct fit *f); /* 0: not enough to say */

struct trace_row { /* what is kept of a session */
    size_t order;
    char *id, *agent;
    size_t agent_number;
    size_t messages, turns;
    struct figures *figures; /* [policy * nprices + price] */
    bool *ran;               /* by policy */
    bool has_billed;
    struct usage billed; /* in all */
    struct fit fit;
};

struct results {
    struct policy *policies;
    size_t npolicies;
    const paucis_price **prices;
    size_t nprices;
    paucis_price **own_prices;
    size_t nown_prices, own_prices_cap;
    struct trace_row *rows;
    size_t nrows, rows_cap;
    uint64_t too_short, bad;
    const char *tokens; /* what the bill counts: a tokenizer's name, or "characters/4" */
    struct str *agents; /* by name */
    size_t nagents, agents_cap;
    struct summary *summaries; /* [policy * nprices + price] */
    struct shown {             /* the course of one session, for the plot */
        struct course *course; /* [policy][turn]; NULL = not wanted */
        bool *ran;             /* by policy */
        size_t turns;
        char *id;
    } shown;
};

void figures_add(struct figures *sum, const struct figures *f);

/* Percentages of a policy against `none`, in the order of share_names. */
enum share {
    S_TOKENS,
    S_COST,
    S_FULL,
    S_BILL,
    S_COST_REREAD,
    S_FULL_REREAD,
    S_HITS,
    S_ITEMS,
    S_CODE,
    S_LINES,
    S_SPANS,
    S_FRESH,
    S_EDITS,
    SHARES
};
extern const char *const share_names[SHARES];
void shares_of(double *out, const struct figures *f, const struct figures *none,
               const paucis_price *p);

/* All sessions under one policy and price, in per cent of `none`. */
struct summary {
    struct figures sum, none;
    size_t sessions;
    double pooled[SHARES], agents[SHARES]; /* in all; the mean over agents */
    double median[SHARES], worst[SHARES];  /* by session; worst: dearest, or least kept */
    double low[SHARES], high[SHARES];      /* 95 % of resamples of the sessions */
    size_t dearest;                        /* the row with the worst full bill */
    bool best; /* of its family's grid: cheapest full bill with enough evidence kept */
};

void results_sum(struct results *r); /* fills agents and summaries */
void results_free(struct results *r);
void row_free(struct trace_row *row);
/* One agent's sessions; false if it has none. */
bool agent_figures(const struct results *r, size_t agent, size_t policy, size_t price,
                   struct figures *sum, struct figures *none);
/* The setting of ours with the cheapest full bill of those that keep as much as this policy does,
 * if there are any of those that are no dearer plainly either; NONE if none keeps as much. */
size_t match_of(const struct results *r, size_t policy, size_t price);
/* Settings of a grid are only shown if they are the best of their family, or on demand. */
bool is_shown(const struct results *r, size_t policy, size_t price, bool more);

void report_table(struct buf *b, const struct results *r, bool more);
/* For the page, for programs, and with every session. */
enum detail { DETAIL_PAGE, DETAIL_AGENTS, DETAIL_SESSIONS };
void report_json(struct buf *b, const struct results *r, enum detail detail);
void report_html(struct buf *b, const struct results *r);

#endif
