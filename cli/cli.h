/* The command: what its files share. Everything is said once in commands.def, flags.def, exits.def
 * and the library's own tables; parser, help, manual and completions are made from those. The
 * library is used through paucis.h only. */
#ifndef PAUCIS_CLI_H
#define PAUCIS_CLI_H

#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700 /* POSIX 2008 and realpath */
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64 /* inputs of several gigabytes on 32-bit machines */
#endif

#include <paucis/paucis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- text.c: growing text, JSON output ------------------------------------------------------ */

/* A failed allocation sets `failed` and further additions do nothing; output_write and the callers
 * that need the text test it once at the end. */
struct buf {
    char *data;
    size_t len, cap;
    bool failed;
};

bool buf_reserve(struct buf *b, size_t more); /* room for `more` bytes behind len */
void buf_add(struct buf *b, const char *s, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_free(struct buf *b);

/* A JSON string; NULL gives null. Lone surrogates become \u escapes and bytes that are not UTF-8
 * U+FFFD, so the result is always valid. */
void json_str(struct buf *b, const char *s, size_t n);
void json_cstr(struct buf *b, const char *s);

/* Keeps the candidate most like the word; `best` stays NULL if none is near. */
struct nearest {
    const char *word, *best;
    size_t distance;
};
void nearest_try(struct nearest *n, const char *candidate);

/* ---- args.c: tables and parser -------------------------------------------------------------- */

enum exit_code {
#define EXIT_CODE(name, number, text) EXIT_##name = number,
#include "exits.def"
#undef EXIT_CODE
};

enum command_id {
#define COMMAND(name, operand, words, summary, about, example) CMD_##name,
#include "commands.def"
#undef COMMAND
    CMD_COUNT
};

enum flag_id {
#define FLAG(id, letter, name, arg, arg_name, words, on, help) FLAG_##id,
#include "flags.def"
#undef FLAG
    FLAG_COUNT
};

enum flag_arg { ARG_NONE, ARG_NEEDED, ARG_MAYBE, ARG_MANY };

/* What a value is chosen from; for name checks and for completion. */
enum words {
    WORDS_NONE,
    WORDS_FILE,
    WORDS_FORMAT,
    WORDS_POLICY,
    WORDS_STRATEGY,
    WORDS_LEVEL,
    WORDS_PRICE,
    WORDS_OPTION,
    WORDS_TOKENIZER,
    WORDS_TABLE,
    WORDS_COMMAND,
    WORDS_SHELL,
    WORDS_STORE,
    WORDS_COLOR
};

struct args;

struct command {
    const char *name, *operand, *summary, *about, *example;
    enum words words;
    int (*run)(const struct args *a);
};

struct flag {
    char letter; /* 0 = none */
    const char *name;
    enum flag_arg arg;
    const char *arg_name;
    enum words words;
    unsigned commands; /* bit 1 << command_id */
    const char *help;
};

struct args {
    const struct command *command; /* NULL = none was named */
    unsigned count[FLAG_COUNT];
    const char *value[FLAG_COUNT];
    paucis_kv *kv; /* -O, in order */
    size_t nkv;
    const char **operands;
    size_t noperands;
    struct given { /* every flag with a value, in order, for those that may be repeated */
        enum flag_id flag;
        const char *value;
    } * given;
    size_t ngiven;
};

extern const struct command commands[CMD_COUNT];
extern const struct flag flags[FLAG_COUNT];

bool args_parse(struct args *a, int argc, char **argv); /* false: reported, exit 2 */
void args_free(struct args *a);
const struct command *args_command(const char *name);              /* NULL: reported */
const char *words_at(enum words w, size_t i);                      /* NULL past the end */
bool known_word(enum words w, const char *what, const char *word); /* false: reported */

/* The one FILE operand, NULL for stdin. False: reported (too many operands, or a terminal where a
 * body was expected). */
bool args_file(const struct args *a, const char **file);

/* One line on stderr, with "paucis: " in front. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* EXIT_USAGE */

#define COMMAND(name, operand, words, summary, about, example) int cmd_##name(const struct args *a);
#include "commands.def"
#undef COMMAND

const paucis_info *price_row(size_t i);  /* a row of the price table in words */
const paucis_info *family_row(size_t i); /* a policy that replay can re-enact */
void help_main(struct buf *b);
void help_command(struct buf *b, const struct command *c);
void version_text(struct buf *b, bool more);

/* ---- settings.c: flags to library options, errors and statistics to text --------------------- */

/* What one strategy saved over all bodies; from the library's log callback. */
struct tally {
    const char *strategy;
    uint64_t hits, bytes;
};
enum { TALLIES = 32 }; /* more strategies than there are */

struct settings {
    paucis_opts opts;
    paucis_price price;  /* --price FILE */
    bool budget_runs;    /* compact_to_budget was named, by -s or -p */
    bool stats, verbose; /* --stats, -v */
    bool keep_going, strict_budget;
    bool keeps;          /* --store */
    struct store *store; /* NULL = it could not be opened */
    const char *conv;    /* --conversation */
};

/* False: reported, exit 2. Bad names and values are found here, before any input is read. */
bool settings_read(struct settings *s, const struct args *a);
/* Every name of a comma-joined list; *budget is set if compact_to_budget is one of them. False:
 * reported. */
bool known_strategies(const char *list, bool *budget);
/* Does the library take them? False: reported. */
bool options_fit(const paucis_opts *opts);
/* A price row by its name, or FILE or FILE:NAME, which is read into *read. False: reported. */
bool price_find(const char *text, const paucis_price **named, paucis_price *read);
void settings_free(struct settings *s);
/* A tokenizer by its name, or a tokenizer.json. False: reported. */
bool tokenizer_find(const char *name, paucis_tokenizer **out);
bool parse_count(const char *text, uint64_t *out); /* digits, then K or M */

void tally_log(void *ud, const char *strategy, uint64_t hits, uint64_t bytes_saved);
void tally_merge(struct tally *to, const struct tally *from);
void tally_print(const struct tally *t);

int error_exit(paucis_err code);
void error_text(struct buf *b, const paucis_error *e);
int complain_body(const char *name, const paucis_error *e); /* returns the exit code */

/* One line. line is 0 outside --jsonl; e is set for a body that failed. */
void stats_json(struct buf *b, const struct settings *s, const paucis_stats *st,
                const paucis_error *e, uint64_t line);
bool stats_write(const struct args *a, struct buf *b); /* where --stats says; frees b */

/* ---- io.c: streams in and out --------------------------------------------------------------- */

struct input {
    const char *name; /* for messages */
    int fd;
    bool eof;
    char *raw; /* the first bytes of the file; with zstd all of them, a piece at a time */
    size_t raw_pos, raw_len;
    void *zstd;       /* NULL = not compressed */
    size_t zstd_left; /* 0 = between frames */
};

/* A standard stream that was closed gets a stand-in, so that no file is opened in its place and
 * then written to by messages. */
void io_hold_standard(void);

/* All report their errors. */
bool input_open(struct input *in, const char *file);               /* NULL or "-" = stdin */
bool input_read(struct input *in, char *p, size_t n, size_t *got); /* 0 = end */
bool input_all(struct input *in, struct buf *b);
void input_close(struct input *in);
bool input_file(const char *file, struct buf *b); /* open, all, close */

struct lines {
    struct input *in;
    struct buf buf;
    size_t pos;
};
/* The next line without its ending; *end is the ending's length. False: no more, or reported. */
bool lines_next(struct lines *l, const char **line, size_t *n, size_t *end, bool *failed);
bool line_blank(const char *line, size_t n);

/* A regular file is written under a temporary name and renamed by output_commit. */
struct output {
    const char *name;
    int fd;
    char *target, *temp; /* NULL = written in place */
    bool failed;
};

bool output_open(struct output *o, const char *file, int fallback); /* NULL or "-" = fallback */
bool output_write(struct output *o, const char *p, size_t n);
bool output_buf(struct output *o, struct buf *b); /* also tests b->failed; empties it */
bool output_commit(struct output *o);
void output_abort(struct output *o); /* fine after commit */
void output_catch_signals(void);     /* temporary files go when the process is stopped */

/* Open, write, commit; to stdout if -o was not given. */
int output_text(const struct args *a, struct buf *b);

/* ---- batch.c: many bodies ------------------------------------------------------------------- */

struct batch_result {
    uint64_t lines, bad, missed; /* bodies; not understood; over the budget */
    uint64_t unkept;             /* not cut because the store failed */
    uint64_t bytes_in, bytes_out;
    struct tally tallies[TALLIES];
};

/* False: reported. stats may be NULL. */
bool batch_run(struct input *in, struct output *out, struct output *stats, const struct settings *s,
               unsigned jobs, bool progress, struct batch_result *r);

#endif
