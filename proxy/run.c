/* paucis run: a proxy for one command. It listens on a free loopback port, the child alone gets the
 * base-URL variables, and both end together, with a receipt. Nothing is written to anyone's
 * configuration, so nothing is left behind, however it ends. */
#include "proxy.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct base_row {
    const char *name;
    enum provider provider;
    const char *path;
};
static const struct base_row bases[] = {
#define BASE(name, provider, path) {name, PROVIDER_##provider, path},
#include "run.def"
#undef BASE
};
static const paucis_kv also[] = {
#define ALSO(name, value) {name, value},
#include "run.def"
#undef ALSO
};
enum { BASES = sizeof bases / sizeof *bases, ALSOS = sizeof also / sizeof *also };

/* ---- the child's environment ----------------------------------------------------------------- */

struct env {
    char **at;
    size_t n;
    char *own[BASES + ALSOS + 2];
    size_t nown;
};

static bool is_ours(const char *entry, const char *name) {
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static void set(struct env *e, const char *name, const char *value) {
    struct buf b = {0};
    buf_fmt(&b, "%s=%s", name, value);
    size_t i = 0;
    while (i < e->n && !is_ours(e->at[i], name)) i++;
    if (b.failed) return;
    e->at[i] = e->own[e->nown++] = b.data;
    if (i == e->n) e->n++;
}

/* Clients that use a proxy for everything would send even this there. */
static void set_no_proxy(struct env *e, const char *name) {
    const char *old = getenv(name);
    struct buf b = {0};
    buf_fmt(&b, "%s%s127.0.0.1,localhost", old ? old : "", old && *old ? "," : "");
    if (!b.failed) set(e, name, b.data);
    buf_free(&b);
}

static bool make_env(struct env *e, unsigned port) {
    size_t n = 0;
    while (environ[n]) n++;
    *e = (struct env){.at = calloc(n + BASES + ALSOS + 3, sizeof *e->at), .n = n};
    if (!e->at) return false;
    memcpy(e->at, environ, n * sizeof *e->at);
    for (size_t i = 0; i < BASES; i++) {
        char url[96];
        snprintf(url, sizeof url, "http://127.0.0.1:%u/%s%s", port,
                 providers[bases[i].provider].name, bases[i].path);
        set(e, bases[i].name, url);
    }
    for (size_t i = 0; i < ALSOS; i++)
        if (!getenv(also[i].key)) set(e, also[i].key, also[i].val);
    set_no_proxy(e, "no_proxy");
    set_no_proxy(e, "NO_PROXY");
    return true;
}

static void free_env(struct env *e) {
    for (size_t i = 0; i < e->nown; i++) free(e->own[i]);
    free(e->at);
}

/* An address that was already set is where the child would have gone. */
static void keep_upstreams(struct config *c) {
    for (size_t i = 0; i < BASES; i++) {
        const char *url = getenv(bases[i].name);
        if (url && strncmp(url, "http", 4) == 0 && !c->upstream[bases[i].provider])
            c->upstream[bases[i].provider] = url;
    }
}

/* ---- the child ------------------------------------------------------------------------------- */

static int spawn(const struct args *a, struct env *e, pid_t *pid) {
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char **argv = calloc(a->noperands + 1, sizeof *argv);
    int err = argv ? 0 : ENOMEM;
    for (size_t i = 0; argv && i < a->noperands; i++) argv[i] = (char *)(uintptr_t)a->operands[i];
    if (!err) err = posix_spawnp(pid, argv[0], NULL, &attr, argv, e->at);
    posix_spawnattr_destroy(&attr);
    free(argv);
    return err;
}

/* The terminal sends SIGINT to both; the child decides what it means. Others are handed on. */
static int wait_child(pid_t pid) {
    sigset_t set;
    int number, status = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (sigwait(&set, &number) != 0) continue;
        if (number == SIGTERM || number == SIGHUP) kill(pid, number);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void block_child_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Where it is, and what the program does or does not do behind it. */
static void announce(const struct serve *s, const char *program) {
    static const paucis_kv clients[] = {
#define CLIENT(name, text) {name, text},
#include "run.def"
#undef CLIENT
    };
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    complain("http://127.0.0.1:%u for this command only; live page /paucis/%s%s", s->port,
             s->inspect ? "?token=" : "", s->inspect ? inspect_token(s->inspect) : "");
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
        if (strcmp(name, clients[i].key) == 0) complain("%s", clients[i].val);
}

int cmd_run(const struct args *a) {
    if (a->noperands == 0) return usage_error("no command: paucis run [OPTIONS] -- COMMAND...");
    struct config *c = config_read(a);
    if (!c) return EXIT_USAGE;
    if (!a->count[FLAG_LISTEN]) c->listen = "127.0.0.1:0";
    if (!a->count[FLAG_VERBOSE]) c->quiet = true; /* the terminal is the child's */
    keep_upstreams(c);
    serve_block_signals();
    block_child_signal();
    struct serve *s = serve_start(c);
    struct env e;
    pid_t pid = 0;
    if (!s) return EXIT_USAGE;
    if (!a->count[FLAG_QUIET]) announce(s, a->operands[0]);
    int err = make_env(&e, s->port) ? spawn(a, &e, &pid) : ENOMEM;
    int code = EXIT_USAGE;
    if (err)
        complain("cannot run '%s': %s", a->operands[0], strerror(err));
    else
        code = wait_child(pid);
    struct buf receipt = {0};
    if (!err && !a->count[FLAG_QUIET]) ledger_receipt(s->ledger, c, &receipt);
    if (receipt.data && !receipt.failed) fwrite(receipt.data, 1, receipt.len, stderr);
    buf_free(&receipt);
    free_env(&e);
    c->drain = 0;
    serve_stop(s);
    return code;
}
