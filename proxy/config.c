/* Settings of `serve` and `run`: flags.def is the table, for the command line and for the file
 * alike. A line of the file is a flag's long name, then "=" or blanks, then its value; "#"
 * begins a comment. What the command line gives wins. */
#include "proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where removed text cannot be recalled, no more goes than repeats and what the budget demands
 * (DESIGN.md section 7). */
#define LEVEL_WITH_STORE "balanced"
#define LEVEL_WITHOUT "safe"

enum { MAX_LINES = 256 };

/* ---- the file -------------------------------------------------------------------------------- */

/* One line to "--name=value", in place behind two bytes that the caller left. */
static char *line_to_flag(struct buf *words, const char *line, size_t n) {
    while (n > 0 && strchr(" \t\r", line[n - 1])) n--;
    while (n > 0 && strchr(" \t", *line)) line++, n--;
    if (n == 0 || *line == '#') return NULL;
    size_t name = 0;
    while (name < n && !strchr(" \t=", line[name])) name++;
    const char *value = line + name;
    while (value < line + n && strchr(" \t", *value)) value++;
    if (value < line + n && *value == '=') value++;
    while (value < line + n && strchr(" \t", *value)) value++;
    size_t from = words->len, vlen = (size_t)(line + n - value);
    buf_fmt(words, "--%.*s%s%.*s", (int)name, line, vlen ? "=" : "", (int)vlen, value);
    buf_add(words, "", 1);
    return words->failed ? NULL : words->data + from;
}

static bool read_file(struct config *c, const char *path) {
    struct buf text = {0};
    /* Who looks at a proxy from outside reads the proxy's own file: all its flags are known. */
    char *argv[MAX_LINES + 2] = {(char *)"paucis", (char *)"serve"};
    int argc = 2;
    bool ok = input_file(path, &text);
    /* Words must not move once argv points at them: each takes at most its line and four bytes. */
    ok = ok && buf_reserve(&c->file, text.len * 2 + 16 * MAX_LINES);
    for (size_t pos = 0; ok && pos < text.len;) {
        if (argc == MAX_LINES + 2) ok = false, complain("more than %d options", MAX_LINES);
        if (!ok) break;
        const char *nl = memchr(text.data + pos, '\n', text.len - pos);
        size_t n = nl ? (size_t)(nl - text.data) - pos : text.len - pos;
        argv[argc] = line_to_flag(&c->file, text.data + pos, n);
        if (argv[argc]) argc++;
        pos += n + 1;
    }
    buf_free(&text);
    ok = ok && args_parse(&c->from_file, argc, argv);
    if (ok && c->from_file.noperands > 0) ok = false;
    if (!ok) complain("in the configuration file '%s'", path);
    return ok;
}

/* ---- values ---------------------------------------------------------------------------------- */

struct source {
    const struct args *line, *file;
};

static bool on(struct source s, enum flag_id id) { return s.line->count[id] || s.file->count[id]; }

static const char *text(struct source s, enum flag_id id) {
    return s.line->count[id] ? s.line->value[id] : s.file->count[id] ? s.file->value[id] : NULL;
}

static bool number(struct source s, enum flag_id id, uint64_t fallback, uint64_t max,
                   uint64_t *out) {
    const char *t = text(s, id);
    *out = fallback;
    if (!t) return true;
    if (parse_count(t, out) && *out <= max) return true;
    usage_error("--%s '%s' is not a number up to %llu", flags[id].name, t, (unsigned long long)max);
    return false;
}

static bool seconds(struct source s, enum flag_id id, unsigned fallback, unsigned *out) {
    uint64_t n;
    if (!number(s, id, fallback, 86400, &n)) return false;
    *out = (unsigned)n;
    return true;
}

/* "URL" for all, or "NAME=URL,NAME=URL". */
static bool read_upstreams(struct config *c, const char *list) {
    if (!list) return true;
    c->upstreams = strdup(list);
    if (!c->upstreams) return complain("out of memory"), false;
    char *next = NULL;
    for (char *p = c->upstreams; p; p = next) {
        next = strchr(p, ',');
        if (next) *next++ = '\0';
        char *url = strstr(p, "://") ? strchr(p, '=') : NULL;
        if (url && url > strstr(p, "://")) url = NULL; /* inside the address */
        if (url) *url++ = '\0';
        bool found = false;
        for (size_t i = 0; i < PROVIDER_COUNT; i++) {
            if (url && strcmp(p, providers[i].name) != 0) continue;
            c->upstream[i] = url ? url : p;
            found = true;
        }
        const char *address = url ? url : p;
        bool http = strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0;
        if (!found || !http) {
            usage_error("--upstream '%s' is neither an http(s) address nor PROVIDER=ADDRESS", p);
            return false;
        }
    }
    return true;
}

static char *default_record(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct buf b = {0};
    if (state && *state == '/')
        buf_fmt(&b, "%s/paucis/record.db", state);
    else
        buf_fmt(&b, "%s/.local/state/paucis/record.db", home && *home ? home : "/tmp");
    return b.data;
}

bool options_are_stable(const paucis_opts *o) {
    return !o->strategies && (!o->policy || strcmp(o->policy, "stable") == 0);
}

/* A policy or strategies: the command line's, and only if it names neither those of the file. */
static bool read_decider(struct config *c, struct source s) {
    bool line = s.line->count[FLAG_POLICY] || s.line->count[FLAG_STRATEGY];
    const struct args *from = line ? s.line : s.file;
    c->opts.strategies = from->value[FLAG_STRATEGY];
    c->opts.policy = from->value[FLAG_POLICY];
    bool budget = false;
    if (!c->opts.strategies) return true;
    if (!c->opts.policy) return known_strategies(c->opts.strategies, &budget);
    usage_error("--strategy and --policy exclude each other");
    return false;
}

static bool read_options(struct config *c, struct source s) {
    paucis_opts_init(&c->opts, sizeof c->opts);
    size_t n = s.file->nkv + s.line->nkv;
    c->kv = calloc(n + 1, sizeof *c->kv);
    if (!c->kv) return complain("out of memory"), false;
    if (s.file->nkv) memcpy(c->kv, s.file->kv, s.file->nkv * sizeof *c->kv);
    if (s.line->nkv) memcpy(c->kv + s.file->nkv, s.line->kv, s.line->nkv * sizeof *c->kv);
    for (size_t i = 0; i < n; i++)
        if (!known_word(WORDS_OPTION, "option", c->kv[i].key)) return false;
    c->opts.kv = c->kv;
    c->opts.nkv = n;
    if (!read_decider(c, s)) return false;
    c->opts.level = text(s, FLAG_LEVEL);
    c->level_given = c->opts.level;
    if (!c->level_given) c->opts.level = c->store.url ? LEVEL_WITH_STORE : LEVEL_WITHOUT;
    const char *price = text(s, FLAG_PRICE), *budget = text(s, FLAG_BUDGET);
    if (price && !price_find(price, &c->opts.price, &c->price_read)) return false;
    bool given = budget && strcmp(budget, "auto") != 0;
    uint64_t *to = &c->opts.budget_tokens;
    if (budget || options_are_stable(&c->opts)) *to = PAUCIS_AUTO_BUDGET;
    if (given && !number(s, FLAG_BUDGET, *to, PAUCIS_NO_BUDGET, to)) return false;
    return options_fit(&c->opts);
}

const char *config_store(const struct config *c) {
    const char *url = c->store.url;
    if (!url || strncmp(url, "sqlite:", 7) != 0) return url ? "Redis" : NULL;
    return url[7] ? url + 7 : "the user's own store";
}

void config_without_store(struct config *c) {
    c->store.url = NULL;
    if (!c->level_given) c->opts.level = LEVEL_WITHOUT;
}

static void read_store(struct config *c, struct source s) {
#ifdef PAUCIS_STORE
    const char *url = text(s, FLAG_STORE);
    if (!url || !*url) url = getenv("PAUCIS_STORE");
    c->store.asked = url && *url;
    if (!c->store.asked) url = "sqlite:";
    c->store.url = strcmp(url, "none") == 0 ? NULL : url;
    c->store.most = text(s, FLAG_STORE_MAX);
    c->store.days = text(s, FLAG_STORE_DAYS);
    c->store.key = text(s, FLAG_STORE_KEY);
#else
    (void)c, (void)s;
#endif
}

static bool read_numbers(struct config *c, struct source s) {
    uint64_t workers;
    const char *price = text(s, FLAG_BASE_PRICE);
    char *end = NULL;
    if (price) c->price = strtod(price, &end);
    if (price && (*end || !(c->price >= 0))) {
        usage_error("--base-price '%s' is not a number", price);
        return false;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!number(s, FLAG_MAX_BODY, 64 * 1000 * 1000, (uint64_t)1 << 32, &c->max_body) ||
        !number(s, FLAG_JOBS, 0, 256, &workers))
        return false;
    c->workers = workers ? (unsigned)workers : cores > 0 ? (unsigned)cores : 1;
    return seconds(s, FLAG_IDLE, 600, &c->idle) && seconds(s, FLAG_SLOW, 60, &c->slow) &&
           seconds(s, FLAG_DRAIN, 30, &c->drain);
}

/* Found out now: every request would fail over it. */
static bool read_ca(struct config *c, struct source s) {
    c->ca = text(s, FLAG_CA);
    if (!c->ca || access(c->ca, R_OK) == 0) return true;
    complain("cannot read '%s': %s", c->ca, strerror(errno));
    return false;
}

struct config *config_read(const struct args *a) {
    struct config *c = calloc(1, sizeof *c);
    if (!c) return complain("out of memory"), NULL;
    const char *file = a->value[FLAG_CONFIG], *record;
    struct source s = {a, &c->from_file};
    bool ok = !file || read_file(c, file);
    if (ok) read_store(c, s);
    ok = ok && read_upstreams(c, text(s, FLAG_UPSTREAM)) && read_options(c, s) &&
         read_numbers(c, s) && read_ca(c, s);
    if (!ok) {
        config_free(c);
        return NULL;
    }
    c->listen = text(s, FLAG_LISTEN) ? text(s, FLAG_LISTEN) : "127.0.0.1:8484";
    c->token = text(s, FLAG_TOKEN);
    if (c->token && !*c->token) c->token = NULL; /* a variable that was not set */
    c->observe = on(s, FLAG_OBSERVE);
    c->inspect = on(s, FLAG_INSPECT);
    c->quiet = on(s, FLAG_QUIET);
    c->verbose = on(s, FLAG_VERBOSE);
    record = text(s, FLAG_RECORD);
    if (!record)
        c->record = default_record();
    else if (strcmp(record, "none") != 0)
        c->record = strdup(record);
    return c;
}

void config_free(struct config *c) {
    while (c) {
        struct config *older = c->older;
        args_free(&c->from_file);
        buf_free(&c->file);
        free(c->upstreams);
        free(c->record);
        free(c->kv);
        free(c);
        c = older;
    }
}
