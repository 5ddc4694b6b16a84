/* The command line. One pass over argv with the flag table; whether a flag fits the command is
 * tested afterwards, so flags may stand before or after the command and the last of several wins.
 *
 * Understood: -v, -vq, -b8K, -b 8K, --budget 8K, --budget=8K, --no-NAME (undoes), "--" (only
 * operands follow). An argument that may be left out must be joined: --stats=FILE. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct command commands[CMD_COUNT] = {
#define COMMAND(name, operand, words, summary, about, example) \
    [CMD_##name] = {#name, operand, summary, about, example, WORDS_##words, cmd_##name},
#include "commands.def"
#undef COMMAND
};

#define ON(command) (1u << CMD_##command)
#define ON_ALL (~0u)
#define ON_TEXT (~(ON_PROXY | ON_MCP)) /* they print something and end */
#ifdef PAUCIS_SERVE
#define ON_PROXY (ON(serve) | ON(run))
#define ON_OFF ON(off)
#else
#define ON_PROXY 0u
#define ON_OFF 0u
#endif
#ifdef PAUCIS_STORE
#define ON_STORE (ON(restore) | ON(recall) | ON(store) | ON(mcp))
#define ON_MCP ON(mcp)
#define ON_RESTORE ON(restore)
#define ON_STORE_LIST ON(store)
#else
#define ON_STORE 0u
#define ON_MCP 0u
#define ON_RESTORE 0u
#define ON_STORE_LIST 0u
#endif
const struct flag flags[FLAG_COUNT] = {
#define FLAG(id, letter, name, arg, arg_name, words, on, help) \
    [FLAG_##id] = {letter, name, ARG_##arg, arg_name, WORDS_##words, on, help},
#include "flags.def"
#undef FLAG
};

/* ---- words ---------------------------------------------------------------------------------- */

typedef const paucis_info *table_fn(size_t i);

const char *words_at(enum words w, size_t i) {
    static table_fn *const tables[] = {[WORDS_FORMAT] = paucis_format_at,
                                       [WORDS_POLICY] = paucis_policy_at,
                                       [WORDS_STRATEGY] = paucis_strategy_at,
                                       [WORDS_LEVEL] = paucis_level_at,
                                       [WORDS_PRICE] = price_row,
                                       [WORDS_OPTION] = paucis_option_at,
                                       [WORDS_TOKENIZER] = paucis_tokenizer_at};
    static const char *const shells[] = {"bash", "zsh", "fish", NULL};
    static const char *const actions[] = {"list", "stats", "verify", "purge", "export", NULL};
    static const char *const colors[] = {"auto", "always", "never", NULL};
    static const char *const listed[] = {"formats",    "policies", "levels",     "forms",
                                         "strategies", "prices",   "options",    "rules",
                                         "kernels",    "replay",   "tokenizers", NULL};
    static const char *const *const lists[] = {[WORDS_SHELL] = shells,
                                               [WORDS_COLOR] = colors,
                                               [WORDS_TABLE] = listed,
                                               [WORDS_STORE] = actions};
    if (w == WORDS_COMMAND) return i < CMD_COUNT ? commands[i].name : NULL;
    if (w < sizeof tables / sizeof *tables && tables[w]) {
        const paucis_info *info = tables[w](i);
        return info ? info->name : NULL;
    }
    return w < sizeof lists / sizeof *lists && lists[w] ? lists[w][i] : NULL;
}

/* ---- messages ------------------------------------------------------------------------------- */

static void complain_va(const char *fmt, va_list ap) {
    fputs("paucis: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

void complain(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    complain_va(fmt, ap);
    va_end(ap);
}

int usage_error(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    complain_va(fmt, ap);
    va_end(ap);
    fputs("Try 'paucis --help'.\n", stderr);
    return EXIT_USAGE;
}

static bool unknown_flag(const char *name) {
    struct nearest n = {name, NULL, 0};
    for (size_t i = 0; i < FLAG_COUNT; i++) nearest_try(&n, flags[i].name);
    if (n.best)
        usage_error("unknown option '--%s'; did you mean '--%s'?", name, n.best);
    else
        usage_error("unknown option '--%s'", name);
    return false;
}

bool known_word(enum words w, const char *what, const char *word) {
    struct nearest n = {word, NULL, 0};
    const char *candidate;
    for (size_t i = 0; (candidate = words_at(w, i)); i++) {
        if (strcmp(candidate, word) == 0) return true;
        nearest_try(&n, candidate);
    }
    if (n.best)
        usage_error("unknown %s '%s'; did you mean '%s'?", what, word, n.best);
    else
        usage_error("unknown %s '%s'", what, word);
    return false;
}

/* ---- parser --------------------------------------------------------------------------------- */

static bool add_option(struct args *a, const char *value) {
    const char *eq = strchr(value, '=');
    if (!eq || eq == value) {
        usage_error("option '%s' is not KEY=VALUE", value);
        return false;
    }
    size_t n = strlen(value) + 1;
    char *key = malloc(n);
    if (!key) {
        complain("out of memory");
        return false;
    }
    memcpy(key, value, n);
    key[eq - value] = '\0';
    a->kv[a->nkv++] = (paucis_kv){key, key + (eq - value) + 1};
    return true;
}

static bool set_flag(struct args *a, const struct flag *f, const char *value) {
    a->count[f - flags]++;
    a->value[f - flags] = value;
    if (value) a->given[a->ngiven++] = (struct given){(enum flag_id)(f - flags), value};
    return f->arg != ARG_MANY || add_option(a, value);
}

static void clear_flag(struct args *a, const struct flag *f) {
    a->count[f - flags] = 0;
    a->value[f - flags] = NULL;
    while (f->arg == ARG_MANY && a->nkv > 0) free((void *)(uintptr_t)a->kv[--a->nkv].key);
}

static const struct flag *find_name(const char *name, size_t n) {
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if (strlen(flags[i].name) == n && memcmp(flags[i].name, name, n) == 0) return &flags[i];
    return NULL;
}

static const struct flag *find_letter(char letter) {
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if (flags[i].letter == letter) return &flags[i];
    return NULL;
}

/* *next is the word that follows, or NULL; set to NULL if it was used up. */
static bool parse_long(struct args *a, const char *word, const char **next) {
    const char *eq = strchr(word, '=');
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    const struct flag *f = find_name(word, n);
    if (!f && n > 3 && !eq && memcmp(word, "no-", 3) == 0) {
        f = find_name(word + 3, n - 3);
        if (f) {
            clear_flag(a, f);
            return true;
        }
    }
    if (!f) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), word);
        return unknown_flag(name);
    }
    if (f->arg == ARG_NONE && eq) {
        usage_error("option '--%s' takes no argument", f->name);
        return false;
    }
    const char *value = eq ? eq + 1 : NULL;
    if (!eq && (f->arg == ARG_NEEDED || f->arg == ARG_MANY)) {
        if (!*next) {
            usage_error("option '--%s' needs an argument", f->name);
            return false;
        }
        value = *next;
        *next = NULL;
    }
    return set_flag(a, f, value);
}

static bool parse_letters(struct args *a, const char *word, const char **next) {
    for (const char *p = word; *p; p++) {
        const struct flag *f = find_letter(*p);
        if (!f) {
            usage_error("unknown option '-%c'", *p);
            return false;
        }
        if (f->arg == ARG_NONE) {
            set_flag(a, f, NULL);
            continue;
        }
        const char *value = p[1] ? p + 1 : *next;
        if (!value) {
            usage_error("option '-%c' needs an argument", *p);
            return false;
        }
        if (!p[1]) *next = NULL;
        return set_flag(a, f, value);
    }
    return true;
}

const struct command *args_command(const char *name) {
    struct nearest n = {name, NULL, 0};
    for (size_t i = 0; i < CMD_COUNT; i++) {
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
        nearest_try(&n, commands[i].name);
    }
    if (n.best)
        usage_error("unknown command '%s'; did you mean '%s'?", name, n.best);
    else
        usage_error("unknown command '%s'", name);
    return NULL;
}

static bool parse_operand(struct args *a, const char *word) {
    if (!a->command) {
        a->command = args_command(word);
        return a->command != NULL;
    }
    a->operands[a->noperands++] = word;
    return true;
}

/* Each flag that was given must fit the command and, where there is a list of words, have one of
 * them. Lists of strategies and KEY=VALUE are looked into by settings_read. */
static bool fits(const struct args *a) {
    for (size_t i = 0; a->command && i < FLAG_COUNT; i++) {
        const struct flag *f = &flags[i];
        if (a->count[i] == 0) continue;
        if (!(f->commands & 1u << (a->command - commands))) {
            usage_error("command '%s' takes no option '--%s'", a->command->name, f->name);
            return false;
        }
        bool one_word = f->words == WORDS_FORMAT || f->words == WORDS_POLICY ||
                        f->words == WORDS_LEVEL || f->words == WORDS_COLOR;
        /* replay has policies of its own, and takes lists */
        if (i == FLAG_POLICY && a->command == &commands[CMD_replay]) continue;
        if (one_word && a->value[i] && !known_word(f->words, f->name, a->value[i])) return false;
    }
    return true;
}

bool args_parse(struct args *a, int argc, char **argv) {
    size_t n = argc > 0 ? (size_t)argc : 1;
    *a = (struct args){0};
    a->kv = calloc(n, sizeof *a->kv);
    a->operands = calloc(n, sizeof *a->operands);
    a->given = calloc(n, sizeof *a->given);
    if (!a->kv || !a->operands || !a->given) {
        complain("out of memory");
        return false;
    }
    bool only_operands = false;
    for (size_t i = 1; i < n; i++) {
        const char *word = argv[i], *next = i + 1 < n ? argv[i + 1] : NULL;
        bool had_next = next != NULL, ok;
        if (only_operands || word[0] != '-' || word[1] == '\0')
            ok = parse_operand(a, word);
        else if (strcmp(word, "--") == 0)
            ok = only_operands = true;
        else if (word[1] == '-')
            ok = parse_long(a, word + 2, &next);
        else
            ok = parse_letters(a, word + 1, &next);
        if (!ok) return false;
        if (had_next && !next) i++;
    }
    return fits(a);
}

void args_free(struct args *a) {
    while (a->kv && a->nkv > 0) free((void *)(uintptr_t)a->kv[--a->nkv].key);
    free(a->kv);
    free((void *)a->operands);
    free(a->given);
}

bool args_file(const struct args *a, const char **file) {
    if (a->noperands > 1) {
        usage_error("too many files: '%s'", a->operands[1]);
        return false;
    }
    *file = a->noperands ? a->operands[0] : NULL;
    if (!*file && isatty(STDIN_FILENO)) {
        fprintf(stderr, "Usage: paucis %s [OPTIONS] %s\n", a->command->name, a->command->operand);
        fprintf(stderr,
                "No file was named and stdin is a terminal; '-' reads from it.\n"
                "Try 'paucis %s --help'.\n",
                a->command->name);
        return false;
    }
    return true;
}
