/* paucis serve: starts the parts, waits for signals, ends in order: no new clients, the requests
 * under way to their end or to the end of patience, then the rest. SIGHUP reads the
 * configuration again. */
#include "conns.h"
#include "late.h"
#include "proxy.h"

#include <errno.h>
#include <malloc.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static sigset_t our_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

void serve_block_signals(void) {
    sigset_t set = our_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* A limit on file sizes is an error like a full disk, not the end. As many sockets as the system
 * allows, and bodies' memory back to it as soon as they are done. */
static void use_limits(void) {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    mallopt(M_MMAP_THRESHOLD, 512 * 1024);
    mallopt(M_TRIM_THRESHOLD, 2 * 1024 * 1024); /* the next body wants it again */
    mallopt(M_ARENA_MAX, 4);
}

static void free_all(struct serve *s) {
    contexts_free(s->contexts); /* writes what is left to write */
    record_close(s->record);
    keep_stop(s->keep);
    ledger_free(s->ledger);
    inspect_free(s->inspect);
    conns_free(s->conns);
    spare_free();
    config_free(atomic_load(&s->config));
    free(s);
    curl_global_cleanup();
}

/* By the clock, 65536 a second: one that is started anew at once does not use a name again. */
static uint64_t first_id(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec << 16 | (uint64_t)t.tv_nsec * 65536 / 1000000000;
}

struct serve *serve_start(struct config *c) {
    struct serve *s = late_open() ? calloc(1, sizeof *s) : NULL;
    if (!s) return config_free(c), NULL;
    use_limits();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    atomic_store(&s->config, c);
    atomic_store(&s->next_id, first_id());
    s->ledger = ledger_new();
    s->conns = conns_new();
    s->contexts = contexts_new();
    bool ok = s->ledger && s->conns && s->contexts;
    if (ok && c->inspect) ok = (s->inspect = inspect_new()) != NULL;
    ok = ok && keep_start(c, &s->keep);
    if (ok && c->record) ok = (s->record = record_open(c->record)) != NULL;
    if (s->record) record_share(s->record, keep_shared(c, s->keep));
    ok = ok && (s->loop = loop_start(s)) && (s->work = work_start(s, c->workers)) &&
         (s->clerk = work_start(s, 1)) && listen_start(s);
    if (ok) return s;
    if (s->clerk) work_stop(s->clerk);
    if (s->work) work_stop(s->work);
    if (s->loop) loop_stop(s->loop);
    free_all(s);
    return NULL;
}

static void wait_quiet(struct serve *s, unsigned ms) {
    struct timespec step = {0, 10 * 1000 * 1000};
    for (unsigned waited = 0; waited < ms && atomic_load(&s->active) > 0; waited += 10)
        nanosleep(&step, NULL);
}

void serve_stop(struct serve *s) {
    const struct config *c = atomic_load(&s->config);
    atomic_store(&s->draining, true);
    wait_quiet(s, c->drain * 1000);
    atomic_store(&s->ending, true);
    loop_cancel(s->loop);
    wait_quiet(s, 2000);
    listen_stop(s); /* it aborts if a connection is suspended still */
    wait_quiet(s, 2000);
    work_stop(s->work); /* hands to the loop, and that to the clerk */
    loop_stop(s->loop);
    work_stop(s->clerk);
    free_all(s);
}

static void reload(struct serve *s, const struct args *a) {
    struct config *old = atomic_load(&s->config), *now = config_read(a);
    if (now && !s->loopback && !now->token) { /* the address stays, and so must its condition */
        complain("without a token everybody could use this address");
        config_free(now);
        now = NULL;
    }
    if (!now) {
        complain("the configuration stays as it was");
        return;
    }
    if (!s->keep) config_without_store(now);
    now->older = old;
    atomic_store(&s->config, now);
    complain("configuration read again; address, record and store stay until a restart");
}

int cmd_serve(const struct args *a) {
    if (a->noperands > 0) return usage_error("unexpected operand '%s'", a->operands[0]);
    struct config *c = config_read(a);
    if (!c) return EXIT_USAGE;
    serve_block_signals();
    struct serve *s = serve_start(c);
    if (!s) return EXIT_USAGE;
    complain("listening on %s port %u; live page http://127.0.0.1:%u/paucis/", c->listen, s->port,
             s->port);
    if (s->inspect)
        complain("with texts: http://127.0.0.1:%u/paucis/?token=%s", s->port,
                 inspect_token(s->inspect));
    sigset_t set = our_signals();
    int number = 0;
    while (sigwait(&set, &number) == 0 && number == SIGHUP) reload(s, a);
    complain("draining");
    serve_stop(s);
    return EXIT_DONE;
}
