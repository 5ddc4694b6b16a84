/* paucis man: the manual page, as troff, made from the tables. */
#include "cli.h"

#include <string.h>

/* Text in troff: backslashes and hyphens are escaped, and no line begins with a control character,
 * since every text here starts after a macro or an escape. */
static void man_text(struct buf *b, const char *s) {
    for (; *s; s++) {
        if (*s == '\\')
            buf_str(b, "\\e");
        else if (*s == '-')
            buf_str(b, "\\-");
        else if (*s == '\'')
            buf_str(b, "\\(aq");
        else
            buf_add(b, s, 1);
    }
}

static void man_line(struct buf *b, const char *s) {
    buf_str(b, "\\&"); /* so that no text is taken for a request */
    man_text(b, s);
    buf_str(b, "\n");
}

static void man_commands(struct buf *b) {
    buf_str(b, ".SH COMMANDS\n");
    for (size_t i = 0; i < CMD_COUNT; i++) {
        const struct command *c = &commands[i];
        buf_fmt(b, ".TP\n\\fBpaucis %s\\fR [\\fIOPTIONS\\fR] ", c->name);
        man_text(b, c->operand);
        buf_str(b, "\n");
        man_line(b, c->about);
    }
}

static void man_flag(struct buf *b, const struct flag *f) {
    buf_str(b, ".TP\n");
    if (f->letter) buf_fmt(b, "\\fB\\-%c\\fR, ", f->letter);
    buf_str(b, "\\fB\\-\\-");
    man_text(b, f->name);
    buf_str(b, "\\fR");
    if (f->arg_name) buf_fmt(b, f->arg == ARG_MAYBE ? "[=\\fI%s\\fR]" : " \\fI%s\\fR", f->arg_name);
    buf_str(b, "\n");
    man_line(b, f->help);
    bool all = true, first = true;
    for (size_t i = 0; i < CMD_COUNT; i++) all = all && (f->commands & 1u << i);
    for (size_t i = 0; i < CMD_COUNT && !all; i++) {
        if (!(f->commands & 1u << i)) continue;
        buf_fmt(b, "%s\\fB%s\\fR", first ? "(" : ", ", commands[i].name);
        first = false;
    }
    buf_str(b, all ? "" : ")\n");
}

static void man_table(struct buf *b, const char *title, enum words w,
                      const paucis_info *(*at)(size_t)) {
    const paucis_info *row;
    if (!words_at(w, 0)) return;
    buf_fmt(b, ".SS %s\n", title);
    for (size_t i = 0; (row = at(i)); i++) {
        buf_str(b, ".TP\n\\fB");
        man_text(b, row->name);
        buf_str(b, "\\fR");
        if (row->detail) {
            buf_str(b, " (");
            man_text(b, row->detail);
            buf_str(b, ")");
        }
        buf_str(b, "\n");
        man_line(b, row->summary ? row->summary : "");
    }
}

static void man_statistics(struct buf *b) {
    buf_str(b, ".SH STATISTICS\n");
    man_line(b,
             "With --stats one JSON object is written for each body: schema (1), format (null if "
             "unknown), policy, bytes_in, bytes_out, tokens_in, tokens_out, tokenizer, "
             "tokens_exact, messages_in, messages_out, edits, first_changed_byte (null if none), "
             "budget_met, cuts, cut_now, render, breaks; with classic strategies dedup_hits, "
             "snippet_hits, total_bytes_saved; with compact_to_budget original_tokens, "
             "final_tokens, elided_messages. A body that was not understood has error, "
             "error_code and position instead. With --jsonl each object also has line.");
    buf_str(b, ".SH LINES\n");
    man_line(b,
             "With --jsonl each line is a body. Line endings are kept and blank lines are "
             "echoed. A line that is not understood is reported by number on stderr and gives "
             "an empty line; all others are still processed and the exit status is 3. With "
             "--keep-going it is echoed instead, and the exit status is not affected.");
}

static void man_ends(struct buf *b) {
    buf_str(b, ".SH EXIT STATUS\n");
#define EXIT_CODE(name, number, text)        \
    buf_fmt(b, ".TP\n\\fB%d\\fR\n", number); \
    man_line(b, text);
#include "exits.def"
#undef EXIT_CODE
    buf_str(b, ".PP\n");
    man_line(b, "On an error stdout stays empty, except with --jsonl.");
    buf_str(b, ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\n");
    man_line(b, "If set and not empty, no colours unless --color asks for them.");
    buf_str(b, ".PP\n");
    man_line(b, "Nothing else of the environment, and no locale, has any influence.");
    buf_str(b, ".SH FILES\n");
    man_line(b,
             "No configuration is read. A regular file named by --output or --stats is written "
             "as FILE.XXXXXX beside it and renamed when complete.");
    buf_str(b, ".SH EXAMPLES\n");
    for (size_t i = 0; i < CMD_COUNT; i++) {
        buf_str(b, ".PP\n");
        man_line(b, commands[i].summary);
        buf_str(b, ".RS 4\n.nf\n");
        man_line(b, commands[i].example);
        buf_str(b, ".fi\n.RE\n");
    }
}

int cmd_man(const struct args *a) {
    struct buf b = {0};
    if (a->noperands > 0) return usage_error("too many operands: '%s'", a->operands[0]);
    buf_fmt(&b, ".TH PAUCIS 1 \"\" \"paucis %s\" \"User Commands\"\n.nh\n.ad l\n",
            paucis_version_string());
    buf_str(&b,
            ".SH NAME\npaucis \\- shorten the conversation an LLM agent re\\-sends on every "
            "step\n.SH SYNOPSIS\n\\fBpaucis\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] "
            "[\\fIFILE\\fR]\n.SH DESCRIPTION\n");
    man_line(&b,
             "paucis reads the body of a request to a language model and shortens the "
             "conversation in it. Only byte ranges are replaced: key order, number spelling, "
             "escapes, whitespace and unknown fields survive, and a valid body stays valid. "
             "The result goes to stdout, everything else to stderr. No FILE, or '-', is stdin.");
    man_commands(&b);
    buf_str(&b, ".SH OPTIONS\n");
    man_line(&b,
             "The commands that take an option are named behind it; the last of several wins; "
             "--no-NAME undoes --NAME; -- ends the options.");
    for (size_t i = 0; i < FLAG_COUNT; i++) man_flag(&b, &flags[i]);
    man_table(&b, "Formats", WORDS_FORMAT, paucis_format_at);
    man_table(&b, "Policies", WORDS_POLICY, paucis_policy_at);
    man_table(&b, "Strategies", WORDS_STRATEGY, paucis_strategy_at);
    man_table(&b, "Tokenizers", WORDS_TOKENIZER, paucis_tokenizer_at);
    man_table(&b, "Options by name, for \\-O", WORDS_OPTION, paucis_option_at);
    man_statistics(&b);
    man_ends(&b);
    return output_text(a, &b);
}
