/* See settings.h. */
#include "plan/settings.h"

#include "core/chars.h"

static paucis_err wrong(paucis_error *e, const char *msg) {
    *e = (paucis_error){PAUCIS_E_ARG, msg, 0};
    return PAUCIS_E_ARG;
}

static size_t strategy_place(const struct strategy *st) {
    size_t i = 0;
    while (paucis__strategies[i] != st) i++;
    return i;
}

const uint64_t *paucis__settings_of(const struct settings *s, const struct strategy *st) {
    return s->own[strategy_place(st)];
}

/* ---- options that name a row of a table ---------------------------------------------------- */

static paucis_err set_format(struct settings *s, const char *val, paucis_error *e) {
    s->format = paucis__format_named(val);
    return s->format ? PAUCIS_OK : wrong(e, "unknown format");
}

static paucis_err set_policy(struct settings *s, const char *val, paucis_error *e) {
    s->policy = paucis__policy_named(val);
    return s->policy ? PAUCIS_OK : wrong(e, "unknown policy");
}

static paucis_err set_kernel(struct settings *s, const char *val, paucis_error *e) {
    s->kernel = NULL;
    for (const struct json_kernel *const *k = paucis__json_kernels; *k; k++)
        if (strcmp((*k)->name, val) == 0 && (*k)->usable()) s->kernel = *k;
    return s->kernel ? PAUCIS_OK : wrong(e, "no such kernel on this machine");
}

static paucis_err set_level(struct settings *s, const char *val, paucis_error *e) {
    for (s->stable.level = paucis__levels; s->stable.level->name; s->stable.level++)
        if (strcmp(s->stable.level->name, val) == 0) return PAUCIS_OK;
    return wrong(e, "unknown level");
}

static paucis_err set_form(struct settings *s, const char *val, paucis_error *e) {
    for (const struct form_kind *const *k = paucis__form_kinds; *k; k++)
        if (strcmp((*k)->name, val) == 0) {
            s->stable.form = *k;
            return PAUCIS_OK;
        }
    return wrong(e, "unknown form");
}

static paucis_err set_price(struct settings *s, const char *val, paucis_error *e) {
    s->stable.price = paucis__price_named(val);
    return s->stable.price ? PAUCIS_OK : wrong(e, "unknown price");
}

static paucis_err set_history(struct settings *s, const char *val, paucis_error *e) {
    s->stable.sent = strcmp(val, "sent") == 0;
    return s->stable.sent || strcmp(val, "whole") == 0 ? PAUCIS_OK
                                                       : wrong(e, "history is whole or sent");
}

static paucis_err set_never(struct settings *s, const char *val, paucis_error *e) {
    (void)e; /* any text is a list of patterns */
    s->stable.never = val;
    return PAUCIS_OK;
}

/* Ascending numbers with commas between them. */
static bool is_list(const char *val) {
    uint64_t last = 0;
    for (const char *p = val; *p;) {
        uint64_t n = 0;
        const char *from = p;
        for (; is_digit(*p) && p - from < 10; p++) n = n * 10 + (uint64_t)(*p - '0');
        if (p == from || n <= last || (*p && *p != ',') || (*p && !p[1])) return false;
        last = n;
        p += *p == ',';
    }
    return true;
}

static paucis_err set_still(struct settings *s, const char *val, paucis_error *e) {
    s->stable.still = val;
    return is_list(val) ? PAUCIS_OK : wrong(e, "this option is a list of ascending numbers");
}

static paucis_err set_cold(struct settings *s, const char *val, paucis_error *e) {
    s->stable.cold = val;
    return is_list(val) ? PAUCIS_OK : wrong(e, "this option is a list of ascending numbers");
}

static const struct named {
    TABLE_ROW;
    paucis_err (*set)(struct settings *s, const char *val, paucis_error *e);
} named_options[] = {
    {.name = "format",
     .summary = "wire format of the body",
     .detail = "name, default detected",
     .set = set_format},
    {.name = "policy",
     .summary = "who decides what goes",
     .detail = "name, default stable",
     .set = set_policy},
    {.name = "level",
     .summary = "how much may go: safe, balanced, deep or whole",
     .detail = "name, default balanced",
     .set = set_level},
    {.name = "form",
     .summary = "what a shortened result looks like",
     .detail = "name, default novelty",
     .set = set_form},
    {.name = "price",
     .summary = "row of the price table",
     .detail = "name, default by the model",
     .set = set_price},
    {.name = "never",
     .summary = "results that stay whole, as in read:*.md,todo*",
     .detail = "TOOL[:WORD],..., default none",
     .set = set_never},
    {.name = "still",
     .summary = "requests, by their number of messages, that were sent without any change",
     .detail = "N,N,..., default none",
     .set = set_still},
    {.name = "cold",
     .summary = "requests that found nothing in the cache, so that a cut was free",
     .detail = "N,N,..., default none",
     .set = set_cold},
    {.name = "history",
     .summary = "sent: the body's past is what was really sent, and stands as it is",
     .detail = "whole or sent, default whole",
     .set = set_history},
    {.name = "kernel",
     .summary = "vector code that reads strings, for tests and benchmarks",
     .detail = "name, default the best",
     .set = set_kernel},
};
#define NAMED_OPTIONS (sizeof named_options / sizeof *named_options)

/* ---- numbers and switches ------------------------------------------------------------------ */

static bool read_number(const char *val, uint64_t *n) {
    const char *p = val;
    for (*n = 0; is_digit(*p); p++) {
        if (*n > UINT64_MAX / 100) return false;
        *n = *n * 10 + (uint64_t)(*p - '0');
    }
    return p > val && !*p;
}

static paucis_err set_value(const struct option *o, uint64_t *to, const char *val,
                            paucis_error *e) {
    uint64_t n = 0;
    if (o->is_switch) {
        bool yes = strcmp(val, "yes") == 0;
        if (!yes && strcmp(val, "no") != 0) return wrong(e, "this option is yes or no");
        n = yes;
    } else if (!read_number(val, &n) || n > o->most) {
        return wrong(e, "this option is a whole number up to 4294967295");
    } else if (n < o->least) {
        return wrong(e, "this option must not be 0");
    }
    *to = n;
    return PAUCIS_OK;
}

static paucis_err set_option(struct settings *s, const char *key, const char *val,
                             paucis_error *e) {
    if (!key || !val) return wrong(e, "an option without a name or a value");
    for (size_t i = 0; i < NAMED_OPTIONS; i++)
        if (strcmp(named_options[i].name, key) == 0) return named_options[i].set(s, val, e);
    for (size_t i = 0; i < COMMON_OPTIONS; i++)
        if (strcmp(paucis__common_options[i].name, key) == 0)
            return set_value(&paucis__common_options[i], &s->common[i], val, e);
    for (size_t i = 0; i < STABLE_OPTIONS; i++)
        if (strcmp(paucis__stable_options[i].name, key) == 0)
            return set_value(&paucis__stable_options[i], &s->stable.option[i], val, e);
    for (size_t i = 0; paucis__strategies[i]; i++)
        for (size_t k = 0; k < MAX_OPTIONS && paucis__strategies[i]->options[k].name; k++)
            if (strcmp(paucis__strategies[i]->options[k].name, key) == 0)
                return set_value(&paucis__strategies[i]->options[k], &s->own[i][k], val, e);
    return wrong(e, "unknown option");
}

const paucis_info *paucis__settings_option(size_t i) {
    if (i < NAMED_OPTIONS) return &named_options[i].info;
    i -= NAMED_OPTIONS;
    if (i < STABLE_OPTIONS) return &paucis__stable_options[i].info;
    i -= STABLE_OPTIONS;
    if (i < COMMON_OPTIONS) return &paucis__common_options[i].info;
    i -= COMMON_OPTIONS;
    for (const struct strategy *const *st = paucis__strategies; *st; st++)
        for (size_t k = 0; k < MAX_OPTIONS && (*st)->options[k].name; k++)
            if (i-- == 0) return &(*st)->options[k].info;
    return NULL;
}

static void set_defaults(struct settings *s) {
    *s = (struct settings){
        .budget = PAUCIS_NO_BUDGET,
        .stable = {.level = &paucis__levels[1], .form = paucis__form_kinds[0]},
    };
    for (size_t i = 0; i < STABLE_OPTIONS; i++)
        s->stable.option[i] = paucis__stable_options[i].value;
    for (size_t i = 0; i < COMMON_OPTIONS; i++) s->common[i] = paucis__common_options[i].value;
    for (size_t i = 0; paucis__strategies[i]; i++)
        for (size_t k = 0; k < MAX_OPTIONS; k++)
            s->own[i][k] = paucis__strategies[i]->options[k].value;
}

/* ---- what runs ----------------------------------------------------------------------------- */

static paucis_err add_strategy(struct settings *s, struct span name, paucis_error *e) {
    const struct strategy *st = paucis__strategy_named(name);
    if (!st) return wrong(e, "unknown strategy");
    if (st->needs_budget && s->budget == PAUCIS_NO_BUDGET)
        return wrong(e, "compact_to_budget needs a budget");
    for (const char *const *part = st->sequence; part && *part; part++)
        PAUCIS_TRY(add_strategy(s, span_of(*part, strlen(*part)), e)); /* one level: no loops */
    if (st->sequence) return PAUCIS_OK;
    if (s->count == MAX_STRATEGIES) return wrong(e, "too many strategies in one list");
    s->list[s->count++] = st;
    return PAUCIS_OK;
}

static paucis_err add_list(struct settings *s, const char *names, paucis_error *e) {
    for (;;) {
        size_t len = strcspn(names, ",");
        PAUCIS_TRY(add_strategy(s, span_of(names, len), e));
        if (!names[len]) return PAUCIS_OK;
        names += len + 1;
    }
}

static paucis_err add_policy(struct settings *s, paucis_error *e) {
    for (const char *const *name = s->policy->sequence; name && *name; name++)
        PAUCIS_TRY(add_strategy(s, span_of(*name, strlen(*name)), e));
    if (s->policy->then_budget && s->budget != PAUCIS_NO_BUDGET)
        PAUCIS_TRY(add_strategy(s, SPAN("compact_to_budget"), e));
    return PAUCIS_OK;
}

paucis_err paucis__settings_read(struct settings *s, const paucis_opts *o, paucis_error *e) {
    set_defaults(s);
    s->flags = o->flags;
    const uint32_t known = PAUCIS_PASS_THROUGH | PAUCIS_WITH_TOKENS | PAUCIS_WITH_BREAKS |
                           PAUCIS_BOUND | PAUCIS_REMEMBER | PAUCIS_NAME_NEW;
    if (o->flags & ~known) return wrong(e, "unknown flags");
    s->stable.remember = o->flags & PAUCIS_REMEMBER;
    s->stable.name_new = o->flags & PAUCIS_NAME_NEW;
    s->budget = s->stable.budget = o->budget_tokens;
    s->stable.price = o->price;
    s->stable.handle = o->handle;
    s->stable.handle_ud = o->handle_ud;
    if (o->level) PAUCIS_TRY(set_level(s, o->level, e));
    if (o->price && !paucis__price_is_sane(o->price)) return wrong(e, "a price out of bounds");
    if (o->format) PAUCIS_TRY(set_format(s, o->format, e));
    if (o->policy) PAUCIS_TRY(set_policy(s, o->policy, e));
    if (o->nkv && !o->kv) return wrong(e, "a number of options and no list of them");
    for (size_t i = 0; i < o->nkv; i++) PAUCIS_TRY(set_option(s, o->kv[i].key, o->kv[i].val, e));
    if (s->policy && o->strategies) return wrong(e, "a policy and a list of strategies at once");
    if (o->strategies) return add_list(s, o->strategies, e);
    if (!s->policy) s->policy = &paucis__policies[0];
    return add_policy(s, e);
}
