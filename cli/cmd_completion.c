/* paucis completion: scripts for bash, zsh and fish, made from the tables. The words a value is
 * chosen from are written into the script, so completing never runs the program. */
#include "cli.h"

#include <string.h>

/* The words, joined; options of the library get a trailing '='. */
static void words_joined(struct buf *b, enum words w, const char *separator) {
    const char *word;
    for (size_t i = 0; (word = words_at(w, i)); i++)
        buf_fmt(b, "%s%s%s", i ? separator : "", word, w == WORDS_OPTION ? "=" : "");
}

/* A text inside single quotes of a shell. */
static void quoted(struct buf *b, const char *s) {
    buf_str(b, "'");
    for (; *s; s++) {
        if (*s == '\'')
            buf_str(b, "'\\''");
        else
            buf_add(b, s, 1);
    }
    buf_str(b, "'");
}

static bool takes(const struct flag *f, size_t command) { return f->commands & 1u << command; }

/* ---- bash ----------------------------------------------------------------------------------- */

/* The answer to "complete a value": files or words. */
static void bash_values(struct buf *b, enum words w) {
    if (w == WORDS_FILE) {
        buf_str(b, "COMPREPLY=($(compgen -f -- \"$cur\"))");
        return;
    }
    bool list = w == WORDS_STRATEGY; /* comma-joined: only the last is completed */
    buf_fmt(b, "COMPREPLY=($(compgen %s-W '", list ? "-P \"${cur%\"${cur##*,}\"}\" " : "");
    words_joined(b, w, " ");
    buf_fmt(b, "' -- \"%s\"))", list ? "${cur##*,}" : "$cur");
}

static void bash_flags(struct buf *b) {
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        const struct flag *f = &flags[i];
        if (f->arg == ARG_NONE) continue;
        buf_str(b, "    ");
        if (f->letter) buf_fmt(b, "-%c|", f->letter);
        buf_fmt(b, "--%s) ", f->name);
        if (f->arg == ARG_MAYBE) buf_str(b, "[[ $joined ]] && { ");
        bash_values(b, f->words);
        buf_str(b, f->arg == ARG_MAYBE ? "; return; } ;;\n" : "; return ;;\n");
    }
}

static void bash_script(struct buf *b) {
    buf_str(b,
            "# bash completion for paucis; made by 'paucis completion bash'\n"
            "_paucis() {\n"
            "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
            "    local joined= command= word\n"
            "    COMPREPLY=()\n"
            "    if [[ $cur == = ]]; then joined=1 cur=\n"
            "    elif [[ $prev == = ]]; then joined=1 prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
            "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
            "        case $word in ");
    words_joined(b, WORDS_COMMAND, "|");
    buf_str(b, ") command=$word; break ;; esac\n    done\n    case $prev in\n");
    bash_flags(b);
    buf_str(b, "    esac\n    case $command in\n");
    for (size_t c = 0; c < CMD_COUNT; c++) {
        buf_fmt(b, "    %s)\n        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '",
                commands[c].name);
        for (size_t i = 0; i < FLAG_COUNT; i++)
            if (takes(&flags[i], c)) buf_fmt(b, "--%s ", flags[i].name);
        buf_str(b, "' -- \"$cur\"))\n        else ");
        bash_values(b, commands[c].words);
        buf_str(b, "; fi ;;\n");
    }
    buf_str(b, "    *) COMPREPLY=($(compgen -W '--help --version ");
    words_joined(b, WORDS_COMMAND, " ");
    buf_str(b,
            "' -- \"$cur\")) ;;\n    esac\n"
            "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null\n    return 0\n}\n"
            "complete -o filenames -F _paucis paucis\n");
}

/* ---- zsh ------------------------------------------------------------------------------------ */

/* ":message:action" of _arguments. */
static void zsh_action(struct buf *b, const char *message, enum words w) {
    buf_fmt(b, ":%s:", message);
    if (w == WORDS_FILE) {
        buf_str(b, "_files");
    } else if (w == WORDS_STRATEGY) {
        buf_str(b, "_values -s , strategy ");
        words_joined(b, w, " ");
    } else if (words_at(w, 0)) {
        buf_str(b, "(");
        words_joined(b, w, " ");
        buf_str(b, ")");
    } else {
        buf_str(b, " ");
    }
}

/* One spec of _arguments; brackets and colons in the help are special there. */
static void zsh_spec(struct buf *b, const struct flag *f, bool letter) {
    struct buf spec = {0};
    buf_str(&spec, f->arg == ARG_MANY || f->arg == ARG_NONE ? "*" : "");
    if (letter)
        buf_fmt(&spec, "-%c%s[", f->letter, f->arg == ARG_NONE ? "" : "+");
    else
        buf_fmt(&spec, "--%s%s[", f->name,
                f->arg == ARG_NONE    ? ""
                : f->arg == ARG_MAYBE ? "=-"
                                      : "=");
    for (const char *p = f->help; *p; p++) buf_fmt(&spec, strchr("[]:", *p) ? "\\%c" : "%c", *p);
    buf_str(&spec, "]");
    if (f->arg != ARG_NONE) {
        buf_str(&spec, f->arg == ARG_MAYBE ? ":" : "");
        zsh_action(&spec, f->arg_name, f->words);
    }
    buf_add(&spec, "", 1);
    buf_str(b, " \\\n            ");
    if (!spec.failed) quoted(b, spec.data);
    buf_free(&spec);
}

static void zsh_script(struct buf *b) {
    buf_str(b,
            "#compdef paucis\n# made by 'paucis completion zsh'\n_paucis() {\n"
            "    local -a commands\n    commands=(\n");
    for (size_t c = 0; c < CMD_COUNT; c++) {
        buf_fmt(b, "        %s:", commands[c].name);
        quoted(b, commands[c].summary);
        buf_str(b, "\n");
    }
    buf_str(b,
            "    )\n    if (( CURRENT == 2 )); then\n"
            "        _describe command commands\n        return\n    fi\n"
            "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
            "    case $command in\n");
    for (size_t c = 0; c < CMD_COUNT; c++) {
        buf_fmt(b, "    %s)\n        _arguments -s -S", commands[c].name);
        for (size_t i = 0; i < FLAG_COUNT; i++) {
            if (!takes(&flags[i], c)) continue;
            if (flags[i].letter) zsh_spec(b, &flags[i], true);
            zsh_spec(b, &flags[i], false);
        }
        if (commands[c].words != WORDS_NONE) {
            buf_str(b, " \\\n            '1");
            zsh_action(b, commands[c].operand, commands[c].words);
            buf_str(b, "'");
        }
        buf_str(b, " ;;\n");
    }
    buf_str(b,
            "    esac\n}\n"
            "if [[ $funcstack[1] == _paucis ]]; then _paucis \"$@\"; else compdef _paucis paucis; "
            "fi\n");
}

/* ---- fish ----------------------------------------------------------------------------------- */

static void fish_values(struct buf *b, enum words w) {
    if (w == WORDS_FILE) {
        buf_str(b, " -F");
        return;
    }
    buf_str(b, " -f -a '");
    words_joined(b, w, " ");
    buf_str(b, "'");
}

static void fish_script(struct buf *b) {
    buf_str(b,
            "# fish completion for paucis; made by 'paucis completion fish'\n"
            "complete -c paucis -f\n");
    for (size_t c = 0; c < CMD_COUNT; c++) {
        buf_fmt(b, "complete -c paucis -n __fish_use_subcommand -f -a %s -d ", commands[c].name);
        quoted(b, commands[c].summary);
        buf_fmt(b, "\ncomplete -c paucis -n '__fish_seen_subcommand_from %s'", commands[c].name);
        fish_values(b, commands[c].words);
        buf_str(b, "\n");
    }
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        const struct flag *f = &flags[i];
        buf_str(b, "complete -c paucis -n '__fish_seen_subcommand_from");
        for (size_t c = 0; c < CMD_COUNT; c++)
            if (takes(f, c)) buf_fmt(b, " %s", commands[c].name);
        buf_fmt(b, "' -l %s", f->name);
        if (f->letter) buf_fmt(b, " -s %c", f->letter);
        if (f->arg != ARG_NONE) {
            buf_str(b, f->arg == ARG_MAYBE ? "" : " -r");
            fish_values(b, f->words);
        }
        buf_str(b, " -d ");
        quoted(b, f->help);
        buf_str(b, "\n");
    }
}

int cmd_completion(const struct args *a) {
    static void (*const scripts[])(struct buf *) = {bash_script, zsh_script, fish_script};
    struct buf b = {0};
    if (a->noperands != 1)
        return usage_error("completion needs the name of one shell: bash, zsh or fish");
    if (!known_word(WORDS_SHELL, "shell", a->operands[0])) return EXIT_USAGE;
    for (size_t i = 0; words_at(WORDS_SHELL, i); i++)
        if (strcmp(a->operands[0], words_at(WORDS_SHELL, i)) == 0) scripts[i](&b);
    return output_text(a, &b);
}
