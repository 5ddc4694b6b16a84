/* paucis: the command. Finds the command in the table and runs it. */
#include "cli.h"

#include <stdio.h>
#include <unistd.h>

int cmd_help(const struct args *a) {
    struct buf b = {0};
    if (a->noperands > 1) return usage_error("too many operands: '%s'", a->operands[1]);
    if (a->noperands == 0) {
        help_main(&b);
        return output_text(a, &b);
    }
    const struct command *c = args_command(a->operands[0]);
    if (!c) return EXIT_USAGE;
    help_command(&b, c);
    return output_text(a, &b);
}

static int run(const struct args *a) {
    struct buf b = {0};
    if (a->count[FLAG_HELP]) {
        if (a->command)
            help_command(&b, a->command);
        else
            help_main(&b);
        return output_text(a, &b);
    }
    if (a->count[FLAG_VERSION]) {
        version_text(&b, a->count[FLAG_VERBOSE] > 0);
        return output_text(a, &b);
    }
    if (a->command) return a->command->run(a);
    fputs("Usage: paucis COMMAND [OPTIONS] [FILE]\nTry 'paucis --help'.\n", stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    struct args a;
    io_hold_standard();
    output_catch_signals();
    int code = args_parse(&a, argc, argv) ? run(&a) : EXIT_USAGE;
    args_free(&a);
    return code;
}
