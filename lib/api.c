/* Implements paucis.h, but for sessions and tokens (api_session.c, api_tokens.c): checks arguments,
 * runs the stages in order, hands out results. One direction: json -> format -> view -> policy ->
 * check -> write. */
#include <stdlib.h>

#include "api.h"
#include "core/os.h"
#include "json/json_pointer.h"
#include "plan/price_file.h"
#include "plan/run.h"
#include "stable/cover.h"
#include "write/write.h"

/* The way the stable policy renders. A change of forms or decisions is a new number. */
#define RENDER 4

/* A body that has been read. */
struct document {
    struct json json;
    struct json_memo memo;
    struct view view;
};

struct paucis_ctx {
    struct mem mem;
    struct json_name_table names;
    struct arena arena;         /* emptied at the start of every call */
    struct document doc, other; /* other: what the body is compared with */
    struct fold fold;           /* the stable policy's */
    struct arena forms;         /* its texts */
    struct check check, after;  /* of the body as it came, and of the view with its edits */
    struct fold_cut outlook;    /* the next cut, after paucis_plan */
    bool folded;                /* the last call was decided by the fold */
    struct splices splices;
    VEC(paucis_edit) plan; /* nothing in it points into the body, which is only borrowed */
    VEC(paucis_part) read; /* as little */
    VEC(char) out;
    struct token_state tokens;
};

/* ---- version and errors -------------------------------------------------------------------- */

uint32_t paucis_version_number(void) { return PAUCIS_VERSION_NUMBER; }
const char *paucis_version_string(void) { return PAUCIS_VERSION_STRING; }

static const struct {
    paucis_err code;
    const char *name, *text;
} api_errors[] = {
    {PAUCIS_OK, "OK", "done"},
    {PAUCIS_E_ARG, "ARG", "wrong argument or option"},
    {PAUCIS_E_NOMEM, "NOMEM", "out of memory"},
    {PAUCIS_E_LIMIT, "LIMIT", "limit exceeded"},
    {PAUCIS_E_PARSE, "PARSE", "not valid JSON"},
    {PAUCIS_E_FORMAT, "FORMAT", "not a known conversation format"},
    {PAUCIS_E_INVARIANT, "INVARIANT", "the result would be invalid"},
    {PAUCIS_E_NOSPACE, "NOSPACE", "the buffer is too small"},
    {PAUCIS_E_CALLBACK, "CALLBACK", "a callback failed"},
};

const char *paucis_err_name(paucis_err code) {
    for (size_t i = 0; i < sizeof api_errors / sizeof *api_errors; i++)
        if (api_errors[i].code == code) return api_errors[i].name;
    return "UNKNOWN";
}

const char *paucis_err_text(paucis_err code) {
    for (size_t i = 0; i < sizeof api_errors / sizeof *api_errors; i++)
        if (api_errors[i].code == code) return api_errors[i].text;
    return "unknown error";
}

static paucis_err api_fail(paucis_error *e, paucis_err code, const char *msg) {
    *e = (paucis_error){code, msg, 0};
    return code;
}

/* ---- context ------------------------------------------------------------------------------- */

paucis_err paucis_ctx_new(paucis_ctx **out, const paucis_alloc *alloc) {
    if (out) *out = NULL;
    if (!out || (alloc && !alloc->resize)) return PAUCIS_E_ARG;
    struct mem mem = {0};
    if (alloc) mem.alloc = *alloc;
    *out = paucis__mem_resize(&mem, NULL, 0, sizeof **out);
    if (!*out) return PAUCIS_E_NOMEM;
    memset(*out, 0, sizeof **out);
    paucis_ctx *c = *out;
    c->mem = mem;
    c->arena.mem = c->forms.mem = c->fold.mem = c->fold.rent.mem = c->fold.subjects.mem = &c->mem;
    c->fold.arena = &c->forms;
    c->tokens.run.mem = &c->mem;
    paucis__json_names_init(&c->names);
    c->doc.json.names = c->other.json.names = &c->names;
    c->doc.json.memo = &c->doc.memo;
    c->other.json.memo = &c->other.memo;
    c->doc.view.mem = c->other.view.mem = &c->mem;
    c->doc.view.arena = c->other.view.arena = &c->arena;
    c->doc.view.seed = c->other.view.seed = paucis__os_seed();
    return PAUCIS_OK;
}

static void document_free(struct document *d, struct mem *m) {
    VEC_FREE(m, d->json.nodes);
    paucis__view_free(&d->view);
}

void paucis_ctx_free(paucis_ctx *c) {
    if (!c) return;
    document_free(&c->doc, &c->mem);
    document_free(&c->other, &c->mem);
    paucis__fold_free(&c->fold);
    VEC_FREE(&c->mem, c->check.breaks);
    VEC_FREE(&c->mem, c->after.breaks);
    VEC_FREE(&c->mem, c->plan);
    VEC_FREE(&c->mem, c->read);
    VEC_FREE(&c->mem, c->splices.list);
    VEC_FREE(&c->mem, c->out);
    paucis__tokens_free(&c->tokens);
    paucis__arena_free(&c->arena);
    paucis__arena_free(&c->forms);
    struct mem mem = c->mem;
    paucis__mem_resize(&mem, c, sizeof *c, 0);
}

/* ---- options and statistics ---------------------------------------------------------------- */

void paucis_opts_init(paucis_opts *opts, size_t size) {
    paucis_opts standard = {.size = (uint32_t)size, .budget_tokens = PAUCIS_NO_BUDGET};
    if (!opts || size < sizeof opts->size) return;
    memset(opts, 0, size);
    memcpy(opts, &standard, size < sizeof standard ? size : sizeof standard);
}

/* Rule (e): the caller's options, of another size than ours perhaps, over our defaults. */
static bool api_opts(paucis_opts *mine, const paucis_opts *given) {
    const char *bytes = (const char *)given;
    paucis_opts_init(mine, sizeof *mine);
    if (!given) return true;
    for (size_t i = sizeof *mine; i < given->size; i++)
        if (bytes[i]) return false;
    memcpy(mine, given, given->size < sizeof *mine ? given->size : sizeof *mine);
    return given->size >= sizeof given->size;
}

paucis_err paucis__api_settings(struct settings *s, paucis_opts *mine, const paucis_opts *given,
                                paucis_error *e) {
    if (!api_opts(mine, given)) return api_fail(e, PAUCIS_E_ARG, "paucis_opts of an unknown size");
    return paucis__settings_read(s, mine, e);
}

static void api_give_stats(paucis_stats *to, const paucis_stats *from) {
    if (!to) return;
    uint32_t size = to->size;
    if (size < sizeof to->size) return;
    memset(to, 0, size);
    memcpy(to, from, size < sizeof *from ? size : sizeof *from);
    to->size = size;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* A new call: whatever the last one handed out is gone. */
static void api_begin(paucis_ctx *c) {
    paucis__arena_reset(&c->arena);
    c->plan.count = c->read.count = c->splices.list.count = 0;
    c->folded = false;
}

/* JSON to view. FORMAT if the format is unknown. */
static paucis_err api_read(paucis_ctx *c, struct document *d, const struct settings *s,
                           const char *in, size_t n, paucis_error *e) {
    struct view *v = &d->view;
    paucis__view_clear(v);
    PAUCIS_TRY(paucis__json_read(&d->json, &c->mem, s->kernel, in, n, e));
    v->j = &d->json;
    const struct format *f = s->format ? s->format : paucis__format_detect(&d->json);
    if (!f || !json_is_object(&d->json, 0))
        return api_fail(e, PAUCIS_E_FORMAT, "no conversation format fits this body");
    paucis_err err = paucis__format_read(f, v);
    if (err == PAUCIS_E_LIMIT) return api_fail(e, err, "too many messages");
    return err ? api_fail(e, err, "out of memory") : PAUCIS_OK;
}

/* ---- deciding ------------------------------------------------------------------------------ */

/* Whether this failure to read still lets the body pass unchanged. */
static bool api_may_pass(const paucis_ctx *c, paucis_err err, const struct settings *s) {
    bool well_formed = err == PAUCIS_E_FORMAT || (err == PAUCIS_E_LIMIT && c->doc.view.format);
    return well_formed && (!settings_edit(s) || (s->flags & PAUCIS_PASS_THROUGH));
}

static void api_count(paucis_stats *st, const struct settings *s, const struct counts *counts,
                      const paucis_opts *o) {
    for (size_t i = 0; i < s->count; i++) {
        const struct counts *c = &counts[i];
        st->dedup_hits += c->dedup_hits;
        st->snippet_hits += c->snippet_hits;
        st->total_bytes_saved += c->total_bytes_saved;
        st->elided_messages += c->elided_messages;
        if (s->list[i]->needs_budget) {
            st->original_tokens = c->original_tokens;
            st->final_tokens = c->final_tokens;
            st->budget_met = c->final_tokens <= s->budget;
        }
        uint64_t saved = c->total_bytes_saved + c->elided_bytes;
        if (o->log && saved)
            o->log(o->log_ud, s->list[i]->name,
                   c->dedup_hits + c->snippet_hits + c->elided_messages, saved);
    }
}

/* Reasons of the stable policy: there are fewer than this. */
#define MAX_REASONS 16

static void api_log_reasons(const struct view *v, const paucis_opts *o) {
    struct {
        const char *reason;
        uint64_t hits;
        int64_t saved;
    } rows[MAX_REASONS] = {{0}};
    for (size_t i = 0; i < v->edits.count; i++) {
        const struct edit *e = &v->edits.at[i];
        size_t r = 0;
        while (r < MAX_REASONS && rows[r].reason && strcmp(rows[r].reason, e->why.reason) != 0) r++;
        if (r == MAX_REASONS || e->undone) continue;
        rows[r].reason = e->why.reason;
        rows[r].hits++;
        rows[r].saved += e->room;
    }
    for (size_t r = 0; r < MAX_REASONS && rows[r].reason; r++)
        if (rows[r].saved > 0)
            o->log(o->log_ud, rows[r].reason, rows[r].hits, (uint64_t)rows[r].saved);
}

static size_t api_edits(const struct view *v) {
    size_t n = 0;
    for (size_t i = 0; i < v->edits.count; i++) n += !v->edits.at[i].undone;
    return n;
}

/* Strategies, rules and splices over a view that has been read. */
static paucis_err api_run(paucis_ctx *c, struct settings *s, const paucis_opts *o,
                          paucis_stats *st) {
    struct view *v = &c->doc.view;
    struct counts counts[MAX_STRATEGIES];
    st->format = v->format->name;
    st->messages_in = st->messages_out = v->order.count;
    paucis_counts tokens;
    if (s->flags & PAUCIS_WITH_TOKENS) {
        PAUCIS_TRY(paucis__tokens_view(&c->tokens, v, s, o, &tokens));
        st->tokens_in = st->tokens_out = tokens.tokens;
        st->tokenizer = tokens.tokenizer;
        st->tokens_exact = tokens.exact;
    }
    bool all = s->flags & PAUCIS_WITH_BREAKS;
    if (settings_edit(s) || all) {
        PAUCIS_TRY(paucis__check_run(&c->check, v, all ? CHECK_ALL : CHECK_SHALLOW));
        st->breaks = c->check.total;
    }
    if (s->budget == PAUCIS_AUTO_BUDGET) s->budget = paucis__body_window(v);
    uint64_t budget = settings_fold(s) ? stable_budget(&s->stable, s->budget) : s->budget;
    st->budget = budget;
    c->folded = settings_fold(s);
    if (settings_edit(s)) {
        PAUCIS_TRY(paucis__run(v, &c->check, &c->after, &c->fold, s, counts));
        PAUCIS_TRY(paucis__write_plan(v, &c->splices));
    }
    if (budget != PAUCIS_NO_BUDGET) st->budget_met = paucis__count_tokens(v) <= budget;
    if (!settings_edit(s)) return PAUCIS_OK;
    api_count(st, s, counts, o);
    if (settings_fold(s)) {
        if (o->log) api_log_reasons(v, o);
        st->cuts = c->fold.cuts.count;
        st->cut_now = c->fold.cut.part != SIZE_MAX;
        st->recalls = c->fold.recalls;
        st->recalled_bytes = c->fold.recalled;
    }
    st->edits = api_edits(v);
    st->bytes_out = c->splices.size;
    st->messages_out = v->order.count;
    st->first_changed_byte = paucis__write_first_change(&c->doc.json, &c->splices);
    if (s->flags & PAUCIS_WITH_TOKENS) {
        PAUCIS_TRY(paucis__tokens_view(&c->tokens, v, s, o, &tokens));
        st->tokens_out = tokens.tokens;
    }
    return PAUCIS_OK;
}

/* Reads and decides; what is to be written is then in c->splices. */
static paucis_err api_decide(paucis_ctx *c, const char *in, size_t n, const paucis_opts *given,
                             paucis_stats *st, paucis_error *e) {
    struct settings s;
    paucis_opts o;
    *e = (paucis_error){PAUCIS_OK, paucis_err_text(PAUCIS_OK), 0};
    api_begin(c);
    if (!in && n) return api_fail(e, PAUCIS_E_ARG, "no input");
    PAUCIS_TRY(paucis__api_settings(&s, &o, given, e));
    *st = (paucis_stats){.size = sizeof *st, .budget_met = 1, .bytes_in = n, .bytes_out = n};
    st->budget = PAUCIS_NO_BUDGET;
    st->policy = s.policy ? s.policy->name : NULL;
    st->first_changed_byte = PAUCIS_NO_BYTE;
    st->render = RENDER;
    c->splices.size = n;
    paucis_err err = api_read(c, &c->doc, &s, in, n, e);
    if (api_may_pass(c, err, &s))
        *e = (paucis_error){PAUCIS_OK, paucis_err_text(PAUCIS_OK), 0};
    else if (err)
        return err;
    else if ((err = api_run(c, &s, &o, st))) {
        api_begin(c);
        return api_fail(e, err, paucis_err_text(err));
    }
    st->peak_alloc = c->mem.peak;
    return PAUCIS_OK;
}

/* ---- prices -------------------------------------------------------------------------------- */

paucis_err paucis_price_parse(paucis_ctx *c, const char *json, size_t n, const char *name,
                              paucis_price *out, paucis_error *e) {
    paucis_error error;
    const char *what;
    size_t node;
    if (!e) e = &error;
    if (out) *out = (paucis_price){0};
    if (!c || !out || (!json && n)) return api_fail(e, PAUCIS_E_ARG, "a NULL argument");
    *e = (paucis_error){PAUCIS_OK, paucis_err_text(PAUCIS_OK), 0};
    api_begin(c);
    paucis__view_clear(&c->doc.view);
    PAUCIS_TRY(paucis__json_read(&c->doc.json, &c->mem, NULL, json, n, e));
    c->doc.view.j = &c->doc.json;
    paucis_price row;
    paucis_err err = paucis__price_read(&c->doc.json, name, &row, &node, &what);
    if (err) return api_fail(e, err, what);
    struct span text = paucis__view_string(&c->doc.view, node);
    char *copy = text.at ? paucis__arena_alloc(&c->arena, text.len + 1) : NULL;
    if (!copy) return api_fail(e, PAUCIS_E_NOMEM, "out of memory");
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    *out = row;
    out->name = copy;
    return PAUCIS_OK;
}

/* ---- compact ------------------------------------------------------------------------------- */

size_t paucis_bound(size_t n, const paucis_opts *given) {
    struct settings s;
    paucis_opts o;
    paucis_error e;
    if (paucis__api_settings(&s, &o, given, &e) || !s.count || !s.common[COMMON_GROW]) return n;
    /* The most that classic edits can add is a marker with an id for every part, each byte of it
     * escaped; a part takes at least 11 bytes of JSON. */
    size_t parts = n / 11 + 1, marker = 6 * (MAX_MARKER_ID + 256);
    return parts > (SIZE_MAX - n) / marker ? SIZE_MAX : n + parts * marker;
}

paucis_err paucis_compact_into(paucis_ctx *c, const char *in, size_t n, const paucis_opts *o,
                               char *dst, size_t cap, size_t *outn, paucis_stats *st,
                               paucis_error *e) {
    paucis_stats stats = {0};
    paucis_error error;
    if (!e) e = &error;
    api_give_stats(st, &stats); /* in case it fails */
    if (outn) *outn = 0;
    if (!c || !outn || (!dst && cap)) return api_fail(e, PAUCIS_E_ARG, "a NULL argument");
    PAUCIS_TRY(api_decide(c, in, n, o, &stats, e));
    *outn = c->splices.size;
    if (c->splices.size > cap) return api_fail(e, PAUCIS_E_NOSPACE, "the buffer is too small");
    paucis__write_apply(&c->doc.json, &c->splices, dst);
    api_give_stats(st, &stats);
    return PAUCIS_OK;
}

paucis_err paucis_compact(paucis_ctx *c, const char *in, size_t n, const paucis_opts *o,
                          const char **out, size_t *outn, paucis_stats *st, paucis_error *e) {
    paucis_stats stats = {0};
    paucis_error error;
    if (!e) e = &error;
    api_give_stats(st, &stats); /* in case it fails */
    if (out) *out = NULL;
    if (outn) *outn = 0;
    if (!c || !out || !outn) return api_fail(e, PAUCIS_E_ARG, "a NULL argument");
    PAUCIS_TRY(api_decide(c, in, n, o, &stats, e));
    c->out.count = 0;
    if (!VEC_ROOM(&c->mem, c->out, c->splices.size + 1))
        return api_fail(e, PAUCIS_E_NOMEM, "out of memory");
    paucis__write_apply(&c->doc.json, &c->splices, c->out.at);
    *out = c->out.at;
    *outn = c->splices.size;
    stats.peak_alloc = c->mem.peak;
    api_give_stats(st, &stats);
    return PAUCIS_OK;
}

paucis_err paucis_splice_get(const paucis_ctx *c, size_t i, paucis_splice *out) {
    if (!c || !out || i >= c->splices.list.count) return PAUCIS_E_ARG;
    const struct splice *s = &c->splices.list.at[i];
    *out = (paucis_splice){s->from, s->to, s->text.at, s->text.len};
    return PAUCIS_OK;
}

paucis_err paucis_name_again(paucis_ctx *c) {
    if (!c) return PAUCIS_E_ARG;
    return c->folded ? paucis__cover_again(&c->fold) : PAUCIS_OK;
}

/* ---- plan ---------------------------------------------------------------------------------- */

/* A text that lies in the body, as the context's own; NULL if memory ran out. */
static const char *api_own(paucis_ctx *c, struct span text) {
    const struct json *j = &c->doc.json;
    uintptr_t at = (uintptr_t)text.at, body = (uintptr_t)j->body;
    if (!text.at || at < body || at >= body + j->size) return text.at;
    char *copy = paucis__arena_alloc(&c->arena, text.len);
    if (copy) memcpy(copy, text.at, text.len);
    return copy;
}

static paucis_edit api_edit(const struct view *v, const struct edit *x) {
    static const char *const ops[] = {"replace", "drop", "drop-message", "insert"};
    const struct message *m = view_message(v, x->message);
    const struct part *p = x->part == NO_INDEX ? NULL : view_part(v, x->part);
    paucis_edit out = {.op = ops[x->op],
                       .strategy = x->why.strategy,
                       .reason = x->why.reason,
                       .message = x->message,
                       .part = p ? x->part - m->part : SIZE_MAX,
                       .role = paucis__role_name(m->role),
                       .kind = p ? paucis__kind_name(p->kind) : "message",
                       .before = paucis__edit_before(v, x),
                       .after = x->after,
                       .text_len = x->text.len};
    if (x->op == EDIT_INSERT) { /* stands behind the body's message ahead of it */
        out.pos = json_to(v->j, view_message(v, m->last)->last);
        return out;
    }
    bool one_value = x->op == EDIT_REPLACE && p->nslots == 1;
    size_t node = one_value ? v->slots.at[p->slot].node : p ? p->node : m->node;
    if (node) {
        out.pos = json_from(v->j, node);
        out.len = json_to(v->j, p ? node : m->last) - out.pos;
    }
    return out;
}

static paucis_err api_give_plan(paucis_ctx *c) {
    const struct view *v = &c->doc.view;
    if (!VEC_ROOM(&c->mem, c->plan, api_edits(v))) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < v->edits.count; i++) {
        const struct edit *x = &v->edits.at[i];
        if (x->undone) continue;
        paucis_edit edit = api_edit(v, x);
        edit.text = api_own(c, x->text);
        if (x->text.at && !edit.text) return PAUCIS_E_NOMEM;
        c->plan.at[c->plan.count++] = edit;
    }
    return PAUCIS_OK;
}

paucis_err paucis_plan(paucis_ctx *c, const char *in, size_t n, const paucis_opts *o,
                       size_t *nedits, paucis_stats *st, paucis_error *e) {
    paucis_stats stats = {0};
    paucis_error error;
    if (!e) e = &error;
    api_give_stats(st, &stats); /* in case it fails */
    if (nedits) *nedits = 0;
    if (!c || !nedits) return api_fail(e, PAUCIS_E_ARG, "a NULL argument");
    PAUCIS_TRY(api_decide(c, in, n, o, &stats, e));
    paucis_err err = api_give_plan(c);
    if (err) {
        c->plan.count = 0;
        return api_fail(e, err, "out of memory");
    }
    if (c->folded) c->outlook = paucis__fold_outlook(&c->fold);
    *nedits = c->plan.count;
    stats.peak_alloc = c->mem.peak;
    api_give_stats(st, &stats);
    return PAUCIS_OK;
}

paucis_err paucis_plan_get(const paucis_ctx *c, size_t i, paucis_edit *out) {
    if (out) *out = (paucis_edit){0};
    if (!c || !out || i >= c->plan.count) return PAUCIS_E_ARG;
    *out = c->plan.at[i];
    return PAUCIS_OK;
}

static paucis_cut api_cut(const struct fold *f, const struct fold_cut *c, bool planned) {
    uint64_t rate = f->limits.price.read * (uint64_t)(c->saved > 0 ? c->saved : 0);
    return (paucis_cut){.message = f->parts.at[c->part].message,
                        .messages = c->messages,
                        .forced = c->forced,
                        .planned = planned,
                        .rent = (uint64_t)c->rent,
                        .price = c->price > 0 ? (uint64_t)c->price : 0,
                        .saved = c->saved > 0 ? (uint64_t)c->saved : 0,
                        .break_even = !rate           ? UINT64_MAX
                                      : c->price <= 0 ? 0
                                                      : ((uint64_t)c->price + rate - 1) / rate};
}

paucis_err paucis_plan_cut(const paucis_ctx *c, size_t i, paucis_cut *out) {
    if (!c || !out || !c->folded || i > c->fold.cuts.count) return PAUCIS_E_ARG;
    bool planned = i == c->fold.cuts.count;
    if (planned && c->outlook.part == SIZE_MAX) return PAUCIS_E_ARG;
    *out = api_cut(&c->fold, planned ? &c->outlook : &c->fold.cuts.at[i], planned);
    return PAUCIS_OK;
}

/* ---- read ---------------------------------------------------------------------------------- */

static paucis_err api_part(paucis_ctx *c, size_t i, paucis_part *out) {
    struct view *v = &c->doc.view;
    const struct part *p = view_part(v, i);
    struct span text, id = paucis__view_string(v, p->id), name = paucis__view_string(v, p->name);
    bool sealed = p->kind == PART_MEDIA || p->kind == PART_OPAQUE;
    if (sealed)
        text = json_raw(v->j, p->node);
    else
        PAUCIS_TRY(paucis__view_lines(v, i, &text));
    *out = (paucis_part){.message = p->message,
                         .role = paucis__role_name(view_message(v, p->message)->role),
                         .kind = paucis__kind_name(p->kind),
                         .id = api_own(c, id),
                         .name = api_own(c, name),
                         .text = api_own(c, text),
                         .id_len = id.len,
                         .name_len = name.len,
                         .text_len = text.len};
    if (!out->id || !out->name || !out->text) return PAUCIS_E_NOMEM;
    unsigned may = p->kind == PART_THINKING ? PART_MAY_DROP : PART_MAY_REPLACE;
    bool frozen = view_is_frozen(v, view_message(v, p->message));
    if (!(p->flags & may) || frozen || v->locked) out->flags |= PAUCIS_PART_FIXED;
    if (p->flags & PART_ERROR) out->flags |= PAUCIS_PART_ERROR;
    if (p->node) {
        out->pos = json_from(v->j, p->node);
        out->len = json_to(v->j, p->node) - out->pos;
    }
    return PAUCIS_OK;
}

paucis_err paucis_read(paucis_ctx *c, const char *in, size_t n, const paucis_opts *given,
                       size_t *nparts, paucis_error *e) {
    struct settings s;
    paucis_opts o;
    paucis_error error;
    if (!e) e = &error;
    if (nparts) *nparts = 0;
    if (!c || !nparts || (!in && n)) return api_fail(e, PAUCIS_E_ARG, "a NULL argument");
    *e = (paucis_error){PAUCIS_OK, paucis_err_text(PAUCIS_OK), 0};
    api_begin(c);
    PAUCIS_TRY(paucis__api_settings(&s, &o, given, e));
    PAUCIS_TRY(api_read(c, &c->doc, &s, in, n, e));
    size_t count = c->doc.view.parts.count;
    if (!VEC_ROOM(&c->mem, c->read, count)) return api_fail(e, PAUCIS_E_NOMEM, "out of memory");
    for (; c->read.count < count; c->read.count++)
        if (api_part(c, c->read.count, &c->read.at[c->read.count])) {
            c->read.count = 0;
            return api_fail(e, PAUCIS_E_NOMEM, "out of memory");
        }
    *nparts = count;
    return PAUCIS_OK;
}

paucis_err paucis_read_get(const paucis_ctx *c, size_t i, paucis_part *out) {
    if (!c || !out || i >= c->read.count) return PAUCIS_E_ARG;
    *out = c->read.at[i];
    return PAUCIS_OK;
}

/* ---- check --------------------------------------------------------------------------------- */

/* The breaks for the caller, with pointers, in order of their place in the body. */
static paucis_err api_give_breaks(paucis_ctx *c, const paucis_break **breaks, size_t *nbreaks) {
    size_t n = c->check.breaks.count;
    struct break_ *b = c->check.breaks.at;
    paucis_break *list = paucis__arena_alloc(&c->arena, n * sizeof *list);
    uint32_t *want = paucis__arena_alloc(&c->arena, n * sizeof *want);
    const char **pointer = paucis__arena_alloc(&c->arena, n * sizeof *pointer);
    if (!list || !want || !pointer) return PAUCIS_E_NOMEM;
    paucis__check_sort(&c->check);
    for (size_t i = 0; i < n; i++) want[i] = b[i].node;
    PAUCIS_TRY(paucis__json_pointers(&c->doc.json, &c->arena, want, n, pointer));
    for (size_t i = 0; i < n; i++)
        list[i] = (paucis_break){.rule = b[i].rule,
                                 .text = b[i].text,
                                 .pointer = pointer[i],
                                 .pos = json_from(&c->doc.json, b[i].node),
                                 .message = b[i].message == NO_INDEX ? SIZE_MAX : b[i].message};
    *breaks = list;
    *nbreaks = n;
    return PAUCIS_OK;
}

static paucis_err api_compare(paucis_ctx *c, struct settings *s, const paucis_check_with *with,
                              paucis_error *e) {
    s->format = c->doc.view.format; /* what it is compared with has the same format */
    if (with->before) {
        PAUCIS_TRY(api_read(c, &c->other, s, with->before, with->before_len, e));
        PAUCIS_TRY(paucis__check_before(&c->check, &c->other.view));
    }
    if (with->sent) {
        PAUCIS_TRY(api_read(c, &c->other, s, with->sent, with->sent_len, e));
        PAUCIS_TRY(paucis__check_sent(&c->check, &c->other.view));
    }
    return PAUCIS_OK;
}

paucis_err paucis_check(paucis_ctx *c, const char *in, size_t n, const paucis_opts *o,
                        const paucis_check_with *with, const paucis_break **breaks, size_t *nbreaks,
                        paucis_error *e) {
    struct settings s;
    paucis_opts mine;
    paucis_error error;
    if (!e) e = &error;
    *e = (paucis_error){PAUCIS_OK, paucis_err_text(PAUCIS_OK), 0};
    if (breaks) *breaks = NULL;
    if (nbreaks) *nbreaks = 0;
    if (!c || !breaks || !nbreaks || (!in && n))
        return api_fail(e, PAUCIS_E_ARG, "a NULL argument");
    api_begin(c);
    PAUCIS_TRY(paucis__api_settings(&s, &mine, o, e));
    PAUCIS_TRY(api_read(c, &c->doc, &s, in, n, e));
    paucis_err err = paucis__check_run(&c->check, &c->doc.view, CHECK_ALL);
    if (!err && with) err = api_compare(c, &s, with, e);
    if (!err) err = api_give_breaks(c, breaks, nbreaks);
    return err && !e->code ? api_fail(e, err, paucis_err_text(err)) : err;
}

/* ---- for api_tokens.c ---------------------------------------------------------------------- */

struct token_state *paucis__api_tokens(paucis_ctx *c) {
    return &c->tokens;
}

paucis_err paucis__api_view(paucis_ctx *c, const struct settings *s, const char *in, size_t n,
                            struct view **v, paucis_error *e) {
    api_begin(c);
    PAUCIS_TRY(api_read(c, &c->doc, s, in, n, e));
    *v = &c->doc.view;
    return PAUCIS_OK;
}

/* ---- tables -------------------------------------------------------------------------------- */

const paucis_info *paucis_format_at(size_t i) {
    for (size_t k = 0; paucis__formats[k]; k++)
        if (k == i) return &paucis__formats[k]->info;
    return NULL;
}

const paucis_info *paucis_policy_at(size_t i) {
    for (size_t k = 0; paucis__policies[k].name; k++)
        if (k == i) return &paucis__policies[k].info;
    return NULL;
}

const paucis_info *paucis_level_at(size_t i) {
    for (const struct level *l = paucis__levels; l->name; l++)
        if (i-- == 0) return &l->info;
    return NULL;
}

const paucis_info *paucis_form_at(size_t i) {
    for (const struct form_kind *const *k = paucis__form_kinds; *k; k++)
        if (i-- == 0) return &(*k)->info;
    return NULL;
}

const paucis_info *paucis_strategy_at(size_t i) {
    for (size_t k = 0; paucis__strategies[k]; k++)
        if (k == i) return &paucis__strategies[k]->info;
    return NULL;
}

const paucis_info *paucis_kernel_at(size_t i) {
    for (size_t k = 0; paucis__json_kernels[k]; k++)
        if (paucis__json_kernels[k]->usable() && i-- == 0) return &paucis__json_kernels[k]->info;
    return NULL;
}

const paucis_info *paucis_option_at(size_t i) { return paucis__settings_option(i); }

const paucis_info *paucis_rule_at(size_t i) {
    static const paucis_info list[] = {
#define RULE(id, class, summary) {id, summary, #class},
#include "plan/rules.def"
        {NULL, NULL, NULL}};
    return i < sizeof list / sizeof *list - 1 ? &list[i] : NULL;
}
