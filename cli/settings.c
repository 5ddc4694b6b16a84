/* Flags to library options, and the library's errors and statistics to text. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- flags to options ----------------------------------------------------------------------- */

bool parse_count(const char *text, uint64_t *out) {
    uint64_t value = 0, unit = 1;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    if (p == text) return false;
    if (*p == 'K' || *p == 'k')
        unit = 1000, p++;
    else if (*p == 'M' || *p == 'm')
        unit = 1000000, p++;
    else if (*p == 'G' || *p == 'g')
        unit = 1000000000, p++;
    if (*p != '\0' || value > UINT64_MAX / unit) return false;
    *out = value * unit;
    return true;
}

bool known_strategies(const char *list, bool *budget) {
    for (const char *p = list;; p++) {
        char name[64];
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), p);
        if (!known_word(WORDS_STRATEGY, "strategy", name)) return false;
        *budget = *budget || strcmp(name, "compact_to_budget") == 0;
        p += n;
        if (*p == '\0') return true;
    }
}

static bool known_names(const struct args *a, bool *budget) {
    const char *strategies = a->value[FLAG_STRATEGY];
    if (strategies && !known_strategies(strategies, budget)) return false;
    for (size_t i = 0; i < a->nkv; i++)
        if (!known_word(WORDS_OPTION, "option", a->kv[i].key)) return false;
    return true;
}

static paucis_err probe(paucis_ctx *ctx, const paucis_opts *opts, paucis_error *e) {
    static const char body[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}";
    size_t edits;
    return paucis_plan(ctx, body, sizeof body - 1, opts, &edits, NULL, e);
}

/* The library tests the values of options: let it, on a tiny body, before any input is read. If it
 * refuses, trying the options one by one tells which was meant. */
bool options_fit(const paucis_opts *opts) {
    paucis_ctx *ctx = NULL;
    paucis_error e = {PAUCIS_OK, "", 0}, one;
    const paucis_kv *wrong = NULL;
    if (paucis_ctx_new(&ctx, NULL) != PAUCIS_OK) return complain("out of memory"), false;
    bool fits = probe(ctx, opts, &e) != PAUCIS_E_ARG;
    for (size_t i = 0; !fits && !wrong && i < opts->nkv; i++) {
        paucis_opts alone = *opts;
        alone.kv = &opts->kv[i];
        alone.nkv = 1;
        if (probe(ctx, &alone, &one) == PAUCIS_E_ARG) wrong = &opts->kv[i];
    }
    paucis_ctx_free(ctx);
    if (wrong)
        usage_error("option '%s=%s': %s", wrong->key, wrong->val, e.msg);
    else if (!fits)
        usage_error("%s", e.msg);
    return fits;
}

/* A row of a file: FILE has its first, FILE:NAME another. */
static bool price_file(const char *text, paucis_price *out) {
    struct buf file = {0};
    paucis_ctx *ctx = NULL;
    paucis_error e = {PAUCIS_OK, "", 0};
    const char *colon = strrchr(text, ':');
    static char path[4096]; /* the name in *out lies behind it */
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    if (n >= sizeof path / 2) return usage_error("no price '%s'", text), false;
    memcpy(path, text, n);
    path[n] = 0;
    if (access(path, R_OK) != 0) return usage_error("no price '%s'", text), false;
    if (!input_file(path, &file)) return false;
    e.code = paucis_ctx_new(&ctx, NULL);
    if (!e.code)
        e.code = paucis_price_parse(ctx, file.data, file.len, colon ? colon + 1 : NULL, out, &e);
    if (e.code) usage_error("price '%s': %s", text, e.msg);
    snprintf(path, sizeof path, "%s", e.code ? "" : out->name);
    out->name = path;
    paucis_ctx_free(ctx);
    buf_free(&file);
    return !e.code;
}

bool price_find(const char *text, const paucis_price **named, paucis_price *read) {
    for (size_t i = 0; (*named = paucis_price_at(i)); i++)
        if (strcmp((*named)->name, text) == 0) return true;
    *named = read;
    return price_file(text, read);
}

static bool price_read(struct settings *s, const char *text) {
    return !text || price_find(text, &s->opts.price, &s->price);
}

/* A name of the library's table, an estimate with a factor, else a file. */
bool tokenizer_find(const char *name, paucis_tokenizer **out) {
    paucis_tokenizer *t = *out = NULL;
    paucis_error e = {PAUCIS_OK, "", 0};
    struct buf file = {0};
    bool known = false;
    for (size_t i = 0; words_at(WORDS_TOKENIZER, i); i++)
        known = known || strcmp(words_at(WORDS_TOKENIZER, i), name) == 0;
    known = known || strncmp(name, "estimate:", 9) == 0;
    if (known)
        paucis_tokenizer_open(&t, name, NULL, &e);
    else if (access(name, F_OK) != 0)
        return known_word(WORDS_TOKENIZER, "tokenizer", name);
    else if (!input_file(name, &file))
        return false;
    else
        paucis_tokenizer_read(&t, file.data, file.len, NULL, &e);
    buf_free(&file);
    if (!t) complain("cannot use '%s' as a tokenizer: %s", name, e.msg);
    *out = t;
    return t != NULL;
}

void settings_free(struct settings *s) {
    paucis_tokenizer_free((paucis_tokenizer *)(uintptr_t)s->opts.tokenizer);
    s->opts.tokenizer = NULL;
}

bool settings_read(struct settings *s, const struct args *a) {
    bool budget = false;
    *s = (struct settings){0};
    paucis_opts_init(&s->opts, sizeof s->opts);
    if (!known_names(a, &budget)) return false;
    const char *policy = a->value[FLAG_POLICY], *count = a->value[FLAG_BUDGET];
    if (policy && a->value[FLAG_STRATEGY]) {
        usage_error("--strategy and --policy exclude each other");
        return false;
    }
    if (count && strcmp(count, "auto") == 0)
        s->opts.budget_tokens = PAUCIS_AUTO_BUDGET;
    else if (count && !parse_count(count, &s->opts.budget_tokens)) {
        usage_error("budget '%s' is not a number of tokens", count);
        return false;
    }
    budget = budget || (policy && strcmp(policy, "budget") == 0);
    if (budget && !count) {
        usage_error("compact_to_budget needs --budget");
        return false;
    }
    if (!price_read(s, a->value[FLAG_PRICE])) return false;
    s->opts.level = a->value[FLAG_LEVEL];
    s->opts.format = a->value[FLAG_FORMAT];
    s->opts.policy = policy;
    s->opts.strategies = a->value[FLAG_STRATEGY];
    s->opts.kv = a->kv;
    s->opts.nkv = a->nkv;
    s->stats = a->count[FLAG_STATS] > 0;
    s->verbose = a->count[FLAG_VERBOSE] > 0 && a->count[FLAG_QUIET] == 0;
    s->keep_going = a->count[FLAG_KEEP_GOING] > 0;
    s->strict_budget = a->count[FLAG_STRICT_BUDGET] > 0;
    s->budget_runs = budget;
    if (a->count[FLAG_PASS_THROUGH]) s->opts.flags |= PAUCIS_PASS_THROUGH;
    if (s->stats) s->opts.flags |= PAUCIS_WITH_TOKENS | PAUCIS_WITH_BREAKS;
    if (!options_fit(&s->opts)) return false;
    paucis_tokenizer *tokenizer = NULL;
    if (a->value[FLAG_TOKENIZER] && !tokenizer_find(a->value[FLAG_TOKENIZER], &tokenizer))
        return false;
    s->opts.tokenizer = tokenizer;
    return true;
}

/* ---- what was saved ------------------------------------------------------------------------- */

static void tally_add(struct tally *t, const char *strategy, uint64_t hits, uint64_t bytes) {
    size_t i = 0;
    while (i < TALLIES && t[i].strategy && strcmp(t[i].strategy, strategy) != 0) i++;
    if (i == TALLIES) return;
    t[i].strategy = strategy;
    t[i].hits += hits;
    t[i].bytes += bytes;
}

void tally_log(void *ud, const char *strategy, uint64_t hits, uint64_t bytes_saved) {
    tally_add(ud, strategy, hits, bytes_saved);
}

void tally_merge(struct tally *to, const struct tally *from) {
    for (size_t i = 0; i < TALLIES && from[i].strategy; i++)
        tally_add(to, from[i].strategy, from[i].hits, from[i].bytes);
}

void tally_print(const struct tally *t) {
    for (size_t i = 0; i < TALLIES && t[i].strategy; i++)
        complain("%s: %" PRIu64 " hits, %" PRIu64 " bytes saved", t[i].strategy, t[i].hits,
                 t[i].bytes);
}

/* ---- errors --------------------------------------------------------------------------------- */

int error_exit(paucis_err code) {
    switch (code) {
    case PAUCIS_OK: return EXIT_DONE;
    case PAUCIS_E_ARG:
    case PAUCIS_E_NOMEM: return EXIT_USAGE;
    case PAUCIS_E_LIMIT:
    case PAUCIS_E_PARSE:
    case PAUCIS_E_FORMAT: return EXIT_INPUT;
    case PAUCIS_E_INVARIANT: return EXIT_INVALID;
    case PAUCIS_E_NOSPACE:
    case PAUCIS_E_CALLBACK: break;
    }
    return EXIT_BUG;
}

void error_text(struct buf *b, const paucis_error *e) {
    const char *kind = paucis_err_text(e->code);
    buf_str(b, kind);
    if (e->pos > 0 || e->code == PAUCIS_E_PARSE) buf_fmt(b, " at byte %zu", e->pos);
    if (e->msg && *e->msg && strcmp(e->msg, kind) != 0) buf_fmt(b, ": %s", e->msg);
}

int complain_body(const char *name, const paucis_error *e) {
    struct buf b = {0};
    error_text(&b, e);
    const char *hint = e->code == PAUCIS_E_FORMAT ? " (--format names one)" : "";
    complain("cannot read '%s': %.*s%s", name, (int)b.len, b.data ? b.data : "", hint);
    buf_free(&b);
    return error_exit(e->code);
}

/* ---- statistics ----------------------------------------------------------------------------- */

static void number(struct buf *b, const char *key, uint64_t value) {
    buf_fmt(b, ",\"%s\":%" PRIu64, key, value);
}

static void name(struct buf *b, const char *key, const char *value) {
    buf_fmt(b, ",\"%s\":", key);
    json_cstr(b, value);
}

static void boolean(struct buf *b, const char *key, bool value) {
    buf_fmt(b, ",\"%s\":%s", key, value ? "true" : "false");
}

static void stats_error(struct buf *b, const paucis_error *e) {
    struct buf text = {0};
    error_text(&text, e);
    buf_str(b, ",\"error\":");
    json_str(b, text.data, text.len);
    name(b, "error_code", paucis_err_name(e->code));
    number(b, "position", e->pos);
    buf_free(&text);
}

static void stats_body(struct buf *b, const struct settings *s, const paucis_stats *st) {
    name(b, "format", st->format);
    name(b, "policy", st->policy);
    number(b, "bytes_in", st->bytes_in);
    number(b, "bytes_out", st->bytes_out);
    number(b, "tokens_in", st->tokens_in);
    number(b, "tokens_out", st->tokens_out);
    name(b, "tokenizer", st->tokenizer ? st->tokenizer : "heuristic");
    boolean(b, "tokens_exact", st->tokens_exact);
    number(b, "messages_in", st->messages_in);
    number(b, "messages_out", st->messages_out);
    number(b, "edits", st->edits);
    if (st->first_changed_byte == PAUCIS_NO_BYTE)
        buf_str(b, ",\"first_changed_byte\":null");
    else
        number(b, "first_changed_byte", st->first_changed_byte);
    boolean(b, "budget_met", st->budget_met);
    number(b, "cuts", st->cuts);
    boolean(b, "cut_now", st->cut_now);
    number(b, "render", st->render);
    number(b, "breaks", st->breaks);
    bool classic = st->policy && strcmp(st->policy, "classic") == 0;
    bool budget = s->budget_runs || (st->policy && strcmp(st->policy, "budget") == 0);
    if (classic || budget || !st->policy) {
        number(b, "dedup_hits", st->dedup_hits);
        number(b, "snippet_hits", st->snippet_hits);
        number(b, "total_bytes_saved", st->total_bytes_saved);
    }
    if (budget || (classic && s->opts.budget_tokens != PAUCIS_NO_BUDGET)) {
        number(b, "original_tokens", st->original_tokens);
        number(b, "final_tokens", st->final_tokens);
        number(b, "elided_messages", st->elided_messages);
    }
}

void stats_json(struct buf *b, const struct settings *s, const paucis_stats *st,
                const paucis_error *e, uint64_t line) {
    buf_str(b, "{\"schema\":1");
    if (line) number(b, "line", line);
    if (e)
        stats_error(b, e);
    else
        stats_body(b, s, st);
    if (!e && !line) /* with --jsonl it would depend on which thread met which line */
        number(b, "peak_alloc", st->peak_alloc);
    buf_str(b, "}\n");
}

bool stats_write(const struct args *a, struct buf *b) {
    struct output o;
    bool ok = output_open(&o, a->value[FLAG_STATS], STDERR_FILENO);
    if (ok) {
        output_buf(&o, b);
        ok = output_commit(&o);
    }
    buf_free(b);
    return ok;
}
