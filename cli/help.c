/* Help and version, made from the tables. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, COLUMN = 28 }; /* line length; where descriptions of options begin */

/* Words broken into lines; the cursor stands at `column`, further lines begin at `indent`. */
static void wrap(struct buf *b, const char *text, size_t column, size_t indent) {
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (column > indent && column + 1 + n > WIDTH) {
            buf_fmt(b, "\n%*s", (int)indent, "");
            column = indent;
        } else if (p != text) {
            buf_str(b, " ");
            column++;
        }
        buf_add(b, p, n);
        column += n;
        p += n;
        p += strspn(p, " ");
    }
    buf_str(b, "\n");
}

static void flag_line(struct buf *b, const struct flag *f) {
    size_t from = b->len;
    if (f->letter)
        buf_fmt(b, "  -%c, --%s", f->letter, f->name);
    else
        buf_fmt(b, "      --%s", f->name);
    if (f->arg_name) buf_fmt(b, f->arg == ARG_MAYBE ? "[=%s]" : " %s", f->arg_name);
    size_t used = b->len - from;
    buf_fmt(b, "%*s", used + 2 < COLUMN ? (int)(COLUMN - used) : 2, "");
    buf_fmt(b, "%s\n", f->help);
}

static void flag_lines(struct buf *b, unsigned commands_mask) {
    buf_str(b, "\nOptions:\n");
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if (flags[i].commands & commands_mask) flag_line(b, &flags[i]);
}

void help_main(struct buf *b) {
    buf_fmt(b, "paucis %s: shortens the conversation an LLM agent re-sends on every step\n\n",
            paucis_version_string());
    buf_str(b, "Usage: paucis COMMAND [OPTIONS] [FILE]    (no FILE or '-': stdin)\n\nCommands:\n");
    for (size_t i = 0; i < CMD_COUNT; i++)
        buf_fmt(b, "  %-*s%s\n", COLUMN - 2, commands[i].name, commands[i].summary);
    static const enum flag_id usual[] = {FLAG_POLICY, FLAG_LEVEL, FLAG_BUDGET, FLAG_OPTION,
                                         FLAG_OUTPUT, FLAG_STATS, FLAG_JSONL};
    buf_str(b, "\nOptions of compact, the usual ones ('paucis COMMAND --help' lists all):\n");
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) flag_line(b, &flags[usual[i]]);
    buf_fmt(b, "\nExample: %s\n\nExit: ", commands[CMD_compact].example);
    struct buf exits = {0};
#define EXIT_CODE(name, number, text) buf_fmt(&exits, "%s%d %s", number ? "; " : "", number, text);
#include "exits.def"
#undef EXIT_CODE
    buf_add(&exits, "", 1);
    if (!exits.failed) wrap(b, exits.data, 6, 6);
    b->failed = b->failed || exits.failed;
    buf_free(&exits);
}

/* The words a flag of this command may take. */
static void word_lines(struct buf *b, const char *title, enum words w) {
    struct buf text = {0};
    const char *word;
    for (size_t i = 0; (word = words_at(w, i)); i++) buf_fmt(&text, "%s%s", i ? ", " : "", word);
    if (text.len == 0) return;
    buf_add(&text, "", 1);
    buf_fmt(b, "\n%s: ", title);
    if (!text.failed) wrap(b, text.data, strlen(title) + 2, 2);
    buf_free(&text);
}

void help_command(struct buf *b, const struct command *c) {
    static const struct {
        enum flag_id flag;
        const char *title;
    } lists[] = {{FLAG_FORMAT, "Formats"},
                 {FLAG_POLICY, "Policies"},
                 {FLAG_STRATEGY, "Strategies"},
                 {FLAG_TOKENIZER, "Tokenizers"}};
    unsigned mask = 1u << (c - commands);
    buf_fmt(b, "Usage: paucis %s [OPTIONS]%s%s\n\n", c->name, *c->operand ? " " : "", c->operand);
    wrap(b, c->about, 0, 0);
    flag_lines(b, mask);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (flags[lists[i].flag].commands & mask)
            word_lines(b, lists[i].title, flags[lists[i].flag].words);
    if (c->words == WORDS_TABLE || c->words == WORDS_SHELL)
        word_lines(b, c->words == WORDS_TABLE ? "Tables" : "Shells", c->words);
    buf_fmt(b, "\nExample: %s\n", c->example);
}

#ifndef PAUCIS_COMMIT
#define PAUCIS_COMMIT "unknown"
#endif
#ifdef __VERSION__
#define COMPILER __VERSION__
#else
#define COMPILER "unknown"
#endif

void version_text(struct buf *b, bool more) {
    buf_fmt(b, "paucis %s\n", paucis_version_string());
    if (!more) return;
    buf_fmt(b, "header: %s\ncommit: %s\ncompiler: %s\n", PAUCIS_VERSION_STRING, PAUCIS_COMMIT,
            COMPILER);
    buf_str(b, "kernels:");
    for (size_t i = 0; paucis_kernel_at(i); i++) buf_fmt(b, " %s", paucis_kernel_at(i)->name);
    static const struct {
        const char *title;
        enum words words;
    } lists[] = {
        {"formats", WORDS_FORMAT}, {"policies", WORDS_POLICY}, {"strategies", WORDS_STRATEGY}};
    const char *word;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        buf_fmt(b, "\n%s:", lists[k].title);
        for (size_t i = 0; (word = words_at(lists[k].words, i)); i++) buf_fmt(b, " %s", word);
    }
    buf_str(b, "\n");
}
