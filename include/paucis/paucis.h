/* paucis: shorten the conversation an LLM agent re-sends on every step.
 *
 * A request body goes in, the same body with byte ranges replaced comes out. Nothing is ever
 * re-serialised: key order, number spelling, escapes, whitespace and unknown fields survive, and
 * with no edit the output is the input, byte for byte.
 *
 * Rules that hold for every call:
 *  (a) Input is borrowed for the call and never written.
 *  (b) Whatever a call hands out belongs to the context and is valid until the context's next call
 *      or paucis_ctx_free; so it cannot be the input of that next call.
 *  (c) No global state; all tables are constant. Any number of contexts may run in parallel, one
 *      thread at a time each.
 *  (d) On error the outputs are NULL/0, nothing was written that matters, and the context stays
 *      usable.
 *  (e) paucis_opts and paucis_stats carry their size. Members past the caller's size take their
 *      defaults; a larger size than this library knows is accepted only if the extra bytes are
 *      zero. The other structs keep their layout within a SOVERSION.
 *  (f) A callback must not call back into the same context.
 *  (g) Strings that carry a length may hold NUL bytes.
 *  (h) The allocator is told old sizes; paucis_ctx_free gives all memory back.
 */
#ifndef PAUCIS_H
#define PAUCIS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define PAUCIS_API __attribute__((visibility("default")))
#else
#define PAUCIS_API
#endif

/* ---- version ------------------------------------------------------------------------------- */

#define PAUCIS_VERSION_MAJOR 0
#define PAUCIS_VERSION_MINOR 1
#define PAUCIS_VERSION_PATCH 0
#define PAUCIS_VERSION_NUMBER \
    (PAUCIS_VERSION_MAJOR * 10000 + PAUCIS_VERSION_MINOR * 100 + PAUCIS_VERSION_PATCH)
#define PAUCIS_VERSION_STRING "0.1.0"

/* The library that is linked, as opposed to the header that was compiled against. */
PAUCIS_API uint32_t paucis_version_number(void);
PAUCIS_API const char *paucis_version_string(void);

/* ---- errors -------------------------------------------------------------------------------- */

/* Values are never reused; gaps are for later. */
typedef enum paucis_err {
    PAUCIS_OK = 0,
    PAUCIS_E_ARG = 10,       /* an argument or option is wrong */
    PAUCIS_E_NOMEM = 12,     /* an allocation failed */
    PAUCIS_E_LIMIT = 14,     /* a named limit was exceeded */
    PAUCIS_E_PARSE = 20,     /* the body is not JSON */
    PAUCIS_E_FORMAT = 22,    /* the body is JSON, but of no known format */
    PAUCIS_E_INVARIANT = 30, /* an edit would make the body invalid: refused */
    PAUCIS_E_NOSPACE = 32,   /* the caller's buffer is too small */
    PAUCIS_E_CALLBACK = 40   /* a callback failed */
} paucis_err;

typedef struct paucis_error {
    paucis_err code;
    const char *msg; /* static text, never freed */
    size_t pos;      /* byte position in the body, 0 where there is none */
} paucis_error;

PAUCIS_API const char *paucis_err_name(paucis_err code); /* "PARSE" */
PAUCIS_API const char *paucis_err_text(paucis_err code); /* "not valid JSON" */

/* ---- context ------------------------------------------------------------------------------- */

typedef struct paucis_ctx paucis_ctx;

/* malloc, realloc and free in one slot: now == 0 frees, p == NULL allocates. A failed resize leaves
 * the old block as it was. */
typedef struct paucis_alloc {
    void *ud;
    void *(*resize)(void *ud, void *p, size_t old, size_t now);
} paucis_alloc;

/* The allocator is copied; NULL means libc. Errors: ARG, NOMEM. */
PAUCIS_API paucis_err paucis_ctx_new(paucis_ctx **out, const paucis_alloc *alloc);
PAUCIS_API void paucis_ctx_free(paucis_ctx *ctx); /* NULL is fine */

/* ---- options ------------------------------------------------------------------------------- */

typedef struct paucis_kv {
    const char *key, *val;
} paucis_kv;

/* Called once for each strategy that saved something, under the stable policy once for each reason,
 * and for nothing else. */
typedef void paucis_log_fn(void *ud, const char *strategy, uint64_t hits, uint64_t bytes_saved);

#define PAUCIS_MAX_HANDLE 64

/* The name under which a removed text can be had back, without a NUL; at most PAUCIS_MAX_HANDLE
 * letters, digits, - _ and dots. It must depend on the text alone. Returns its length, 0 if the
 * text has none: then nothing names it. Called only for texts that a shortened form stands for. */
typedef size_t paucis_handle_fn(void *ud, const char *text, size_t n, char *handle);

enum {
    PAUCIS_PASS_THROUGH = 1, /* an unknown format is copied instead of refused */
    PAUCIS_WITH_TOKENS = 2,  /* fill the token counts of the statistics */
    PAUCIS_WITH_BREAKS = 4,  /* count all broken rules, also where no edit needs to know */
    PAUCIS_BOUND = 8, /* sessions: thinking is only valid behind the prefix it was made with */
    /* The context keeps what it worked out for this body, and if the next one continues it, as
     * requests of a conversation do, works only on what is new. The result is the same. */
    PAUCIS_REMEMBER = 16,
    /* With that: texts that were named for a body before this one are not named again, unless
     * paucis_name_again asks for it. */
    PAUCIS_NAME_NEW = 32
};

#define PAUCIS_NO_BUDGET UINT64_MAX
#define PAUCIS_AUTO_BUDGET (UINT64_MAX - 1) /* the model's window less the reserved output */

typedef struct paucis_opts {
    uint32_t size;          /* sizeof(paucis_opts) where the caller was compiled */
    uint32_t flags;         /* PAUCIS_PASS_THROUGH, ... */
    const char *format;     /* a name from paucis_format_at; NULL = detect */
    const char *policy;     /* a name from paucis_policy_at; NULL = the default */
    const char *strategies; /* comma-joined names instead of a policy; NULL = none */
    uint64_t budget_tokens; /* the most tokens a request may have; PAUCIS_NO_BUDGET = no limit */
    const paucis_kv *kv;    /* any option by name; wins over the members above */
    size_t nkv;
    paucis_log_fn *log; /* NULL = silent */
    void *log_ud;
    /* What counts tokens for statistics and paucis_count; NULL = the one of the model that the body
     * names, if it is built in, else "heuristic". Decisions never depend on it. */
    const struct paucis_tokenizer *tokenizer;
    struct paucis_memo *memo; /* remembers counts; NULL = none */
    paucis_handle_fn *handle; /* NULL = markers name no handles */
    void *handle_ud;
    const char *level;                /* "safe", "balanced", "deep", "whole"; NULL = balanced */
    const struct paucis_price *price; /* NULL = by the model's name, else by the format */
} paucis_opts;

/* Sets every member to its default; pass sizeof(paucis_opts). */
PAUCIS_API void paucis_opts_init(paucis_opts *opts, size_t size);

/* ---- prices -------------------------------------------------------------------------------- */

enum paucis_match {
    PAUCIS_MATCH_NONE,       /* nothing is cached */
    PAUCIS_MATCH_PREFIX,     /* the longest common prefix is read */
    PAUCIS_MATCH_BREAKPOINTS /* only up to an entry that a breakpoint can still reach */
};

/* What a provider charges for a prompt, in thousandths of its price for an uncached token. */
typedef struct paucis_price {
    const char *name;
    uint32_t read, write, base; /* a cached token, one put into the cache, an uncached one */
    uint32_t minimum, step;     /* shortest prefix that is cached and its granularity, in tokens */
    uint32_t ttl_s;             /* idle seconds after which an entry is gone; 0 = unknown */
    uint32_t match;             /* enum paucis_match */
    uint32_t lookback;          /* blocks that a breakpoint looks back for an entry */
} paucis_price;

PAUCIS_API const paucis_price *paucis_price_at(size_t i); /* NULL past the end */
PAUCIS_API const char *paucis_prices_as_of(void);         /* "2026-11" */

/* A row of a file like paucis's own: {"rows":[{"name":..., "read":0.1, ...}]}, by its name, or the
 * first if name is NULL. out->name is the context's. Errors: ARG (no such row, or a wrong value),
 * NOMEM, LIMIT, PARSE. */
PAUCIS_API paucis_err paucis_price_parse(paucis_ctx *ctx, const char *json, size_t n,
                                         const char *name, paucis_price *out, paucis_error *e);

/* ---- compact ------------------------------------------------------------------------------- */

#define PAUCIS_NO_BYTE UINT64_MAX

typedef struct paucis_stats {
    uint32_t size;                /* set by the caller before the call */
    uint32_t budget_met;          /* 1 if there is no budget or it is kept */
    const char *format;           /* static name; NULL if unknown */
    const char *policy;           /* static name; NULL if strategies were named */
    uint64_t bytes_in, bytes_out; /* of the body */
    uint64_t tokens_in, tokens_out;
    uint64_t messages_in, messages_out;
    uint64_t edits;
    uint64_t first_changed_byte; /* PAUCIS_NO_BYTE if nothing changed */
    uint64_t breaks; /* rules the input breaks; all are counted only with PAUCIS_WITH_BREAKS */
    uint64_t dedup_hits, snippet_hits, total_bytes_saved;    /* classic strategies */
    uint64_t original_tokens, final_tokens, elided_messages; /* compact_to_budget */
    uint64_t peak_alloc;   /* most memory the context ever held, beside the body */
    const char *tokenizer; /* static name, or the tokenizer's; NULL if no tokens were counted */
    uint64_t tokens_exact; /* 1 if the token counts are no estimates */
    uint64_t cuts;         /* stable: rewrites of sent history so far */
    uint32_t cut_now;      /* 1 if this request makes one */
    uint32_t render;       /* number of this version's way of rendering */
    uint64_t budget;       /* tokens the request may have; PAUCIS_NO_BUDGET = no limit */
    /* stable: texts that the model has recalled since the request before, and their bytes */
    uint64_t recalls, recalled_bytes;
} paucis_stats;

/* Shortens a body. *out is the context's. st and e may be NULL. With policy "none" any well-formed
 * JSON text passes; otherwise an unknown format is FORMAT unless PAUCIS_PASS_THROUGH is set.
 * Errors: ARG, NOMEM, LIMIT, PARSE, FORMAT, INVARIANT. */
PAUCIS_API paucis_err paucis_compact(paucis_ctx *ctx, const char *in, size_t n,
                                     const paucis_opts *opts, const char **out, size_t *outn,
                                     paucis_stats *st, paucis_error *e);

/* The same into the caller's buffer of cap bytes, which must not overlap the input. If it does not
 * fit, the answer is NOSPACE, *outn says how much is needed, and dst is untouched. */
PAUCIS_API paucis_err paucis_compact_into(paucis_ctx *ctx, const char *in, size_t n,
                                          const paucis_opts *opts, char *dst, size_t cap,
                                          size_t *outn, paucis_stats *st, paucis_error *e);

/* A buffer of this size always holds the result for a body of n bytes: n itself, except with
 * classic strategies, whose markers may be longer than what they replace unless the option grow=no
 * is set. That bound is loose; calling with a smaller buffer and reading *outn after NOSPACE is
 * the thrifty way. */
PAUCIS_API size_t paucis_bound(size_t n, const paucis_opts *opts);

/* After a call that decided: the byte ranges of the body that are replaced, in order. The output is
 * the body with these replaced, so whoever keeps what stood there can undo it exactly. */
typedef struct paucis_splice {
    size_t from, to;  /* bytes of the body that go */
    const char *text; /* what stands there instead */
    size_t text_len;
} paucis_splice;

/* Errors: ARG past the end. */
PAUCIS_API paucis_err paucis_splice_get(const paucis_ctx *ctx, size_t i, paucis_splice *out);

/* After a call that decided, while its body is still there: the handle function is called for every
 * removed text, as it is without PAUCIS_NAME_NEW. Errors: NOMEM. */
PAUCIS_API paucis_err paucis_name_again(paucis_ctx *ctx);

/* ---- plan ---------------------------------------------------------------------------------- */

typedef struct paucis_edit {
    const char *op;       /* "replace", "drop", "drop-message", "insert" */
    const char *strategy; /* who wanted it */
    const char *reason;   /* why, in a few words */
    size_t message, part; /* place in the view before any edit; part SIZE_MAX = whole message;
                             inserted messages are numbered after all others, pos says where */
    const char *role;     /* of that message */
    const char *kind;     /* of that part */
    size_t pos, len;      /* the bytes of the body it concerns */
    size_t before, after; /* bytes of decoded text before and after */
    const char *text;     /* the new text, NULL if none */
    size_t text_len;
} paucis_edit;

/* Decides like paucis_compact and changes nothing; the edits are then read one by one. */
PAUCIS_API paucis_err paucis_plan(paucis_ctx *ctx, const char *in, size_t n,
                                  const paucis_opts *opts, size_t *nedits, paucis_stats *st,
                                  paucis_error *e);
PAUCIS_API paucis_err paucis_plan_get(const paucis_ctx *ctx, size_t i, paucis_edit *out);

/* A rewrite of history that was sent before, by the stable policy. Money is in thousandths of what
 * an uncached token costs. */
typedef struct paucis_cut {
    size_t message;       /* the first that is rewritten */
    size_t messages;      /* in the request that makes it */
    uint32_t forced;      /* 1 if the budget demanded it */
    uint32_t planned;     /* 1 if it is not made: the next that would pay for itself */
    uint64_t rent, price; /* what the parts it shortens had cost by being carried; what it costs */
    uint64_t saved;       /* tokens that every later request is shorter by */
    uint64_t break_even;  /* requests after which it has paid for itself, UINT64_MAX = never */
} paucis_cut;

/* After paucis_plan: the cuts of the whole history, oldest first, and last the one that is nearest
 * to paying for itself, if any. Errors: ARG past the end. */
PAUCIS_API paucis_err paucis_plan_cut(const paucis_ctx *ctx, size_t i, paucis_cut *out);

/* ---- read ---------------------------------------------------------------------------------- */

enum {
    PAUCIS_PART_FIXED = 1, /* the format allows no other text here */
    PAUCIS_PART_ERROR = 2, /* a result that says the call failed */
};

/* One part of a message, whatever the wire format. */
typedef struct paucis_part {
    size_t message;        /* counted from 0; a top-level system text is message 0 */
    const char *role;      /* "system", "user", "assistant", "tool" */
    const char *kind;      /* "text", "call", "result", "thinking", "media", "opaque" */
    const char *id, *name; /* of a call; a result carries its call's id */
    const char *text;      /* decoded; blocks of a result joined by newlines; call arguments that
                               are an object, media and opaque parts: their JSON */
    size_t id_len, name_len, text_len;
    uint32_t flags;  /* PAUCIS_PART_FIXED, ... */
    size_t pos, len; /* the bytes of the body it stands in */
} paucis_part;

/* What a body says, part by part, in order. Errors: ARG, NOMEM, LIMIT, PARSE, FORMAT. */
PAUCIS_API paucis_err paucis_read(paucis_ctx *ctx, const char *in, size_t n,
                                  const paucis_opts *opts, size_t *nparts, paucis_error *e);
PAUCIS_API paucis_err paucis_read_get(const paucis_ctx *ctx, size_t i, paucis_part *out);

/* ---- session ------------------------------------------------------------------------------- */

/* The stable policy for those who hold the conversation themselves: parts are added as they come,
 * and at every request the session says which of them now stand in another form. The work of a
 * whole session is that of its last request. The same history gives the same forms as
 * paucis_compact, except that a session drops no whole steps for a budget. Texts are copied. */
typedef struct paucis_session paucis_session;

typedef struct paucis_step {
    size_t changes;               /* parts whose form changed since the last request */
    size_t cut;                   /* first message rewritten by a cut now; SIZE_MAX = no cut */
    uint32_t budget_met;          /* 1 if there is no budget or it is kept */
    uint32_t forced;              /* 1 if the budget forced the cut */
    uint64_t bytes_in, bytes_out; /* text in all, as it came and as it stands now */
    uint64_t rent, price;         /* what the cut parts had cost by being carried, and what cutting
                                     costs, in thousandths of a byte at the base price */
} paucis_step;

typedef struct paucis_change {
    size_t part;      /* counted from 0 in the order of adding */
    const char *form; /* "full", "reference", "capped", "short", "marker", "gone" */
    const char *reason;
    const char *text; /* the text that stands there now; NULL if the part is gone. Of a call: its
                         arguments, an object if they were one */
    size_t text_len;
} paucis_change;

/* opts: policy stable with its options; a body's own facts (model, format) cannot be known here,
 * so price should be given. Errors: ARG, NOMEM. */
PAUCIS_API paucis_err paucis_session_new(paucis_session **out, const paucis_alloc *alloc,
                                         const paucis_opts *opts, paucis_error *e);
PAUCIS_API void paucis_session_free(paucis_session *s); /* NULL is fine */

/* Parts come in order; a part belongs to the message of the last one or begins the next. */
PAUCIS_API paucis_err paucis_session_add(paucis_session *s, const paucis_part *part);

/* A request is made of all parts so far. Once one of these has said NOMEM they all do: the session
 * is of no further use. */
PAUCIS_API paucis_err paucis_session_request(paucis_session *s, paucis_step *step);
PAUCIS_API paucis_err paucis_session_change(const paucis_session *s, size_t i, paucis_change *out);

/* ---- check --------------------------------------------------------------------------------- */

typedef struct paucis_break {
    const char *rule;    /* "A-R2"; see paucis_rule_at */
    const char *text;    /* what is wrong, static */
    const char *pointer; /* JSON pointer (RFC 6901), NUL-terminated; in a body made so that pointers
                            would be far longer than itself, it may end at something above */
    size_t pos;          /* byte position of that value */
    size_t message;      /* place in the view; SIZE_MAX where it concerns no message */
} paucis_break;

typedef struct paucis_check_with {
    const char *before; /* the body before compaction, or NULL */
    size_t before_len;
    const char *sent; /* the body sent one request earlier, or NULL */
    size_t sent_len;
} paucis_check_with;

/* Every rule of the format that the body breaks; with may be NULL. Errors: ARG, NOMEM, LIMIT,
 * PARSE, FORMAT. An error in one of the bodies to compare with is reported like one in the body. */
PAUCIS_API paucis_err paucis_check(paucis_ctx *ctx, const char *in, size_t n,
                                   const paucis_opts *opts, const paucis_check_with *with,
                                   const paucis_break **breaks, size_t *nbreaks, paucis_error *e);

/* ---- tokens -------------------------------------------------------------------------------- */

/* A tokenizer never changes once it is open: any number of contexts and threads may share one. It
 * must outlive the calls that use it. */
typedef struct paucis_tokenizer paucis_tokenizer;

/* One of paucis_tokenizer_at by name, or "estimate:FACTOR", the estimate times a factor from 0.1 to
 * 10 that real usage has shown. Errors: ARG, NOMEM. */
PAUCIS_API paucis_err paucis_tokenizer_open(paucis_tokenizer **out, const char *name,
                                            const paucis_alloc *alloc, paucis_error *e);
/* A Hugging Face tokenizer.json, which is only read during the call. What cannot be reproduced
 * exactly is refused with the reason. Errors: ARG, NOMEM, LIMIT, PARSE, FORMAT. */
PAUCIS_API paucis_err paucis_tokenizer_read(paucis_tokenizer **out, const char *json, size_t n,
                                            const paucis_alloc *alloc, paucis_error *e);
PAUCIS_API void paucis_tokenizer_free(paucis_tokenizer *t); /* NULL is fine */
PAUCIS_API const char *paucis_tokenizer_name(const paucis_tokenizer *t);
PAUCIS_API int paucis_tokenizer_is_exact(const paucis_tokenizer *t);
/* The name of the tokenizer that a model has, by the model's name; NULL if it is not known. */
PAUCIS_API const char *paucis_tokenizer_of_model(const char *model, size_t n);

/* Counts of texts by content, so that in a session only what is new is counted. Takes about 32
 * bytes an entry, never grows, may be shared by any number of contexts and threads; entries are
 * found by a hash with a secret key. Errors: ARG, NOMEM. */
typedef struct paucis_memo paucis_memo;
PAUCIS_API paucis_err paucis_memo_new(paucis_memo **out, size_t entries, const paucis_alloc *alloc);
PAUCIS_API void paucis_memo_free(paucis_memo *m); /* NULL is fine */

/* Tokens of a plain text, any bytes; names of special tokens count as text. ids may be NULL; else
 * *ids are the context's, *tokens of them, and only an exact tokenizer has any. Errors: ARG,
 * NOMEM. */
PAUCIS_API paucis_err paucis_count_text(paucis_ctx *ctx, const char *text, size_t n,
                                        const paucis_opts *opts, uint64_t *tokens,
                                        const uint32_t **ids, paucis_error *e);

typedef struct paucis_part_count {
    size_t message;   /* place in the view; SIZE_MAX: outside of all messages */
    const char *role; /* of that message, or NULL */
    const char *kind; /* as in paucis_edit, or "frame" (what a provider adds) or "tools" */
    const char *tool; /* the tool's name in calls and results, NUL-terminated; else NULL */
    uint64_t tokens;
    uint64_t bytes; /* of decoded text */
} paucis_part_count;

typedef struct paucis_counts {
    uint32_t size;                  /* set by the caller before the call */
    uint32_t exact;                 /* 1: an exact tokenizer, and no media */
    const char *format;             /* static name */
    const char *tokenizer;          /* its name */
    uint64_t tokens;                /* of all parts */
    uint64_t upper;                 /* for a budget: at most so many, in 95 of 100 cases */
    uint64_t bytes;                 /* of decoded text */
    uint64_t bytes_tokenized;       /* of these, what the memo did not know */
    const paucis_part_count *parts; /* the context's, in the body's order */
    size_t nparts;
} paucis_counts;

/* Tokens of a request, part by part. Errors: ARG, NOMEM, LIMIT, PARSE, FORMAT. */
PAUCIS_API paucis_err paucis_count(paucis_ctx *ctx, const char *in, size_t n,
                                   const paucis_opts *opts, paucis_counts *out, paucis_error *e);

/* ---- tables -------------------------------------------------------------------------------- */

typedef struct paucis_info {
    const char *name;
    const char *summary; /* one line */
    const char *detail;  /* options: type and default; rules: class; else NULL */
} paucis_info;

/* Each returns NULL past the end. */
PAUCIS_API const paucis_info *paucis_format_at(size_t i);
PAUCIS_API const paucis_info *paucis_policy_at(size_t i);
PAUCIS_API const paucis_info *paucis_strategy_at(size_t i);
PAUCIS_API const paucis_info *paucis_level_at(size_t i);
PAUCIS_API const paucis_info *paucis_form_at(size_t i); /* what a shortened result looks like */
PAUCIS_API const paucis_info *paucis_option_at(size_t i);
PAUCIS_API const paucis_info *paucis_rule_at(size_t i);
PAUCIS_API const paucis_info *paucis_kernel_at(size_t i); /* vector code this machine can run */
PAUCIS_API const paucis_info *paucis_tokenizer_at(size_t i);

#ifdef __cplusplus
}
#endif
#endif
