/* See tools.h. Arguments are looked at as text: the value of a member called command, wherever it
 * stands, is all that is wanted of them. */
#include "stable/tools.h"

#include "core/chars.h"

#include <string.h>

enum special { PLAIN, EDITOR_TOOL, SHELL_TOOL };

static const struct tool_row {
    const char *name;
    enum tool tool;
    enum special special;
} tools[] = {
#define TOOL(name, tool) {name, TOOL_##tool, PLAIN},
#define EDITOR(name) {name, TOOL_EDIT, EDITOR_TOOL},
#define SHELL(name) {name, TOOL_RUN, SHELL_TOOL},
#define PROGRAM(name, next, tool)
#include "stable/tools.def"
#undef TOOL
#undef EDITOR
#undef SHELL
#undef PROGRAM
};

static const struct {
    const char *name, *next;
    enum tool tool;
} programs[] = {
#define TOOL(name, tool)
#define EDITOR(name)
#define SHELL(name)
#define PROGRAM(name, next, tool) {name, next, TOOL_##tool},
#include "stable/tools.def"
};

static bool is_word(struct span s, const char *word) {
    size_t i = 0;
    while (i < s.len && word[i] && to_lower(s.at[i]) == word[i]) i++;
    return i == s.len && !word[i];
}

/* A tool's own name: "mcp__files__read_file" and "functions.read_file" are read_file. */
static struct span own_name(struct span s) {
    for (size_t i = s.len; i > 1; i--)
        if (s.at[i - 1] == '.' || (s.at[i - 1] == '_' && s.at[i - 2] == '_'))
            return span_of(s.at + i, s.len - i);
    return s;
}

/* The text behind "command": or "cmd": in the arguments, up to its end; all of them if there is no
 * such member. */
static struct span command_in(struct span args) {
    static const char *const keys[] = {"\"command\"", "\"cmd\""};
    for (size_t k = 0; k < 2; k++) {
        size_t len = strlen(keys[k]);
        const char *at = args.at, *end = args.at + args.len;
        while ((at = memchr(at, '"', (size_t)(end - at))) && (size_t)(end - at) > len) {
            if (!memcmp(at, keys[k], len)) {
                at += len;
                while (at < end && memchr(" :[\"", *at, 4)) at++;
                return span_of(at, (size_t)(end - at));
            }
            at++;
        }
    }
    return args;
}

struct span paucis__tool_command(struct span arguments) {
    struct span command = command_in(arguments);
    bool none = command.at == arguments.at && command.len && *command.at == '{';
    return none ? span_of(command.at, 0) : command;
}

static bool is_stop(char c) {
    switch (c) {
    case ' ':
    case '\t':
    case '"':
    case '\'':
    case '`':
    case ';':
    case '|':
    case '&':
    case '(':
    case ')':
    case '\\':
    case ',':
    case '[':
    case ']':
    case '{':
    case '}': return true;
    default: return false;
    }
}

/* The next word of a command line. */
static struct span next_word(struct span *s) {
    size_t i = 0, n;
    while (i < s->len && is_stop(s->at[i])) i++;
    for (n = i; n < s->len && !is_stop(s->at[n]);) n++;
    struct span word = span_of(s->at + i, n - i);
    *s = span_of(s->at + n, s->len - n);
    return word;
}

/* Programs that run another, and what may stand in front of one. */
static bool is_wrapper(struct span word) {
    static const char *const words[] = {"bash", "sh",      "zsh",    "-lc", "-c",  "sudo", "env",
                                        "time", "timeout", "poetry", "uv",  "run", "npx",  NULL};
    for (size_t i = 0; words[i]; i++)
        if (is_word(word, words[i])) return true;
    return word.len && (memchr(word.at, '=', word.len) || is_digit(*word.at));
}

static struct span program_name(struct span word) {
    for (size_t i = word.len; i; i--)
        if (word.at[i - 1] == '/') return span_of(word.at + i, word.len - i);
    return word;
}

/* "cat > a.c", "cat <<EOF": it writes what the command itself has. */
static bool writes(struct span next) {
    return next.len && (*next.at == '>' || (next.len > 1 && !memcmp(next.at, "<<", 2)));
}

#define MAX_WORDS 12 /* that are looked at to find the program */

static enum tool tool_of_command(struct span line) {
    for (size_t n = 0; n < MAX_WORDS; n++) {
        struct span word = program_name(next_word(&line));
        if (!word.len) break;
        if (is_word(word, "cd")) next_word(&line);
        if (is_word(word, "cd") || is_wrapper(word)) continue;
        struct span rest = line, next = next_word(&rest);
        for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
            if (is_word(word, programs[i].name) &&
                (!*programs[i].next || is_word(next, programs[i].next)))
                return programs[i].tool == TOOL_READ && writes(next) ? TOOL_RUN : programs[i].tool;
        break;
    }
    return TOOL_RUN;
}

enum tool paucis__tool_of(struct span name, struct span arguments) {
    name = own_name(name);
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        if (!is_word(name, tools[i].name)) continue;
        if (tools[i].special == SHELL_TOOL) return tool_of_command(command_in(arguments));
        if (tools[i].special != EDITOR_TOOL) return tools[i].tool;
        struct span command = command_in(arguments);
        return is_word(next_word(&command), "view") ? TOOL_READ : tools[i].tool;
    }
    return TOOL_OTHER;
}

struct span paucis__tool_word(enum tool tool) {
    static const char *const words[] = {"other", "read", "search", "list", "edit",
                                        "run",   "test", "status", "read", "recall"};
    return span_of(words[tool], strlen(words[tool]));
}
