/* The options that a conversation began with. It is rendered with them to its end, whatever the
 * proxy is started with later (DESIGN.md law 7): they stand in its record as one line,
 * "level=deep price=anthropic budget=24000 keep=30". A line that would be too long, or a price
 * from a file, is not kept; such a conversation is left when the options change. */
#include "proxy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_row(const paucis_price *p) {
    for (size_t i = 0; paucis_price_at(i); i++)
        if (paucis_price_at(i) == p) return true;
    return false;
}

static bool add(struct buf *b, const char *key, const char *value) {
    if (!value) return true;
    buf_fmt(b, "%s%s=%s", b->len ? " " : "", key, value);
    return !strchr(value, ' ') && !strchr(key, ' ');
}

void begun_write(const paucis_opts *o, char to[BEGUN_TEXT]) {
    struct buf b = {0};
    char budget[24];
    snprintf(budget, sizeof budget, "%" PRIu64, o->budget_tokens);
    bool ok = add(&b, "policy", o->policy) && add(&b, "strategies", o->strategies) &&
              add(&b, "level", o->level) && add(&b, "budget", budget) &&
              (!o->price || (is_row(o->price) && add(&b, "price", o->price->name)));
    for (size_t i = 0; ok && i < o->nkv; i++) ok = add(&b, o->kv[i].key, o->kv[i].val);
    ok = ok && !b.failed && b.len < BEGUN_TEXT;
    snprintf(to, BEGUN_TEXT, "%s", ok ? b.data : "");
    buf_free(&b);
}

static const paucis_price *row_named(const char *name) {
    for (size_t i = 0; paucis_price_at(i); i++)
        if (strcmp(paucis_price_at(i)->name, name) == 0) return paucis_price_at(i);
    return NULL;
}

/* One word of the line. */
static bool take(struct begun *b, char *key) {
    char *value = strchr(key, '=');
    if (!value) return false;
    *value++ = '\0';
    if (strcmp(key, "policy") == 0) {
        b->opts.policy = value;
    } else if (strcmp(key, "strategies") == 0) {
        b->opts.strategies = value;
    } else if (strcmp(key, "level") == 0) {
        b->opts.level = value;
    } else if (strcmp(key, "budget") == 0) {
        b->opts.budget_tokens = strtoull(value, NULL, 10);
    } else if (strcmp(key, "price") == 0) {
        return (b->opts.price = row_named(value)) != NULL;
    } else {
        if (b->opts.nkv == BEGUN_OPTIONS) return false;
        b->kv[b->opts.nkv++] = (paucis_kv){key, value};
    }
    return true;
}

const paucis_opts *begun_read(const struct xfer *x, struct begun *b) {
    const paucis_opts *now = &x->config->opts;
    if (!x->conv.first_edit || !x->conv.begun[0]) return now;
    memcpy(b->text, x->conv.begun, sizeof b->text);
    b->opts = *now;
    b->opts.policy = b->opts.strategies = b->opts.level = NULL;
    b->opts.price = NULL;
    b->opts.kv = b->kv;
    b->opts.nkv = 0;
    char *save = NULL;
    for (char *word = strtok_r(b->text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (!take(b, word)) return now;
    return &b->opts;
}
