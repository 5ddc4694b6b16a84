/* paucis doctor, why, report, off: looking at a proxy from outside. They read the record and ask
 * the network; nothing here shows a text of a conversation, because none is kept. */
#include "late.h"
#include "proxy.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_versions(struct buf *b) {
    version_text(b, true);
    buf_fmt(b, "libmicrohttpd: %s\nlibcurl: %s\nsqlite: %s\n", MHD_get_version(),
            late_open() ? curl_version() : "none", sqlite3_libversion());
}

static void add_settings(struct buf *b, const struct config *c) {
    buf_fmt(b, "listen: %s%s\npolicy: %s\nrecord: %s (%s)\n", c->listen,
            c->token ? " with a token" : "",
            c->opts.strategies ? c->opts.strategies
            : c->opts.policy   ? c->opts.policy
                               : "stable",
            c->record ? c->record : "none",
            !c->record                            ? "off"
            : access(c->record, R_OK | W_OK) == 0 ? "there"
            : errno == ENOENT                     ? "not there yet"
                                                  : strerror(errno));
    buf_fmt(b, "removed texts: %s\n",
            config_store(c) ? config_store(c) : "not kept; level safe unless given");
    static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy"};
    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++)
        if (getenv(proxies[i])) buf_fmt(b, "%s: set\n", proxies[i]);
}

/* Any answer counts: without a credential most say 401 or 404. */
static bool add_reach(struct buf *b, const struct config *c) {
    bool any = false;
    for (size_t i = 0; i < PROVIDER_COUNT; i++) {
        const char *url = c->upstream[i] ? c->upstream[i] : providers[i].url;
        int64_t us = 0;
        if (i > 0 && c->upstream[i] && c->upstream[i] == c->upstream[i - 1])
            continue; /* one for all */
        int status = upstream_reach(c, url, &us);
        any = any || status;
        buf_fmt(b, "%s: %s: ", providers[i].name, url);
        if (status)
            buf_fmt(b, "reachable (%d after %" PRId64 " ms)\n", status, us / 1000);
        else
            buf_str(b, "not reachable\n");
    }
    return any;
}

int cmd_doctor(const struct args *a) {
    if (a->noperands) return usage_error("unexpected operand '%s'", a->operands[0]);
    struct buf b = {0};
    struct config *c = config_read(a);
    if (!c) return EXIT_USAGE;
    if (!late_open()) return config_free(c), EXIT_USAGE;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    add_versions(&b);
    add_settings(&b, c);
    bool any = add_reach(&b, c);
    if (!any) buf_str(&b, "no provider answers: is there a network, or a proxy to set?\n");
    curl_global_cleanup();
    config_free(c);
    int code = output_text(a, &b);
    return code != EXIT_DONE ? code : any ? EXIT_DONE : EXIT_USAGE;
}

static struct record *open_record(struct config *c) {
    if (!c->record || access(c->record, R_OK) != 0) {
        complain("there is no record at '%s'", c->record ? c->record : "none");
        return NULL;
    }
    return record_open(c->record);
}

int cmd_why(const struct args *a) {
    if (a->noperands > 1) return usage_error("too many operands: '%s'", a->operands[1]);
    struct buf b = {0};
    struct config *c = config_read(a);
    struct record *r = c ? open_record(c) : NULL;
    bool found = r && record_why(r, a->noperands ? a->operands[0] : NULL, &b);
    record_close(r);
    config_free(c);
    if (r && !found) complain(a->noperands ? "no such request" : "no request has been made yet");
    if (found) return output_text(a, &b);
    buf_free(&b);
    return EXIT_USAGE;
}

int cmd_report(const struct args *a) {
    if (a->noperands) return usage_error("unexpected operand '%s'", a->operands[0]);
    struct buf b = {0};
    struct config *c = config_read(a);
    if (!c) return EXIT_USAGE;
    struct record *r = open_record(c);
    add_versions(&b);
    add_settings(&b, c);
    buf_str(&b, "\nthe newest requests; no texts and no credentials are kept:\n\n");
    if (!r || !record_why(r, NULL, &b)) buf_str(&b, "none\n");
    record_close(r);
    config_free(c);
    return output_text(a, &b);
}

int cmd_off(const struct args *a) {
    if (a->noperands != 1) return usage_error("which conversation? its number is in 'paucis why'");
    static const char why[] = "switched off by hand";
    int64_t id = strtoll(a->operands[0], NULL, 10);
    struct config *c = config_read(a);
    struct keep_all *keep = NULL;
    bool there = c && (!c->store.asked || keep_start(c, &keep));
    struct store *shared = there ? keep_shared(c, keep) : NULL; /* the replicas' record, if any */
    struct record *r = there && !shared ? open_record(c) : NULL;
    bool ok = shared ? shared_off(shared, id, why) : r && record_off(r, id, why);
    if (ok) complain("conversation %s is left to itself from its next request on", a->operands[0]);
    if (!ok && (r || shared))
        complain("no running conversation has the number '%s'%s", a->operands[0],
                 shared ? "" : "; where replicas share a store, name it with --store");
    record_close(r);
    keep_stop(keep);
    config_free(c);
    return ok ? EXIT_DONE : EXIT_USAGE;
}
