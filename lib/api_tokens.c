/* The part of paucis.h that counts tokens: of a text, and of a request part by part. */
#include <string.h>

#include "api.h"
#include "plan/models.h"
#include "token/estimate.h"
#include "token/frame.h"
#include "token/hf.h"
#include "token/memo.h"
#include "token/nfc.h"

static paucis_err tokens_fail(paucis_error *e, paucis_err code, const char *msg) {
    if (e) *e = (paucis_error){code, msg, 0};
    return code;
}

/* ---- tokenizers ---------------------------------------------------------------------------- */

static paucis_err tokenizer_new(paucis_tokenizer **out, const paucis_alloc *alloc,
                                paucis_error *e) {
    struct mem mem = {0};
    if (out) *out = NULL;
    if (!out || (alloc && !alloc->resize)) return tokens_fail(e, PAUCIS_E_ARG, "a NULL argument");
    if (alloc) mem.alloc = *alloc;
    paucis_tokenizer *t = paucis__mem_resize(&mem, NULL, 0, sizeof *t);
    if (!t) return tokens_fail(e, PAUCIS_E_NOMEM, "out of memory");
    memset(t, 0, sizeof *t);
    t->mem = mem;
    *out = t;
    return PAUCIS_OK;
}

void paucis_tokenizer_free(paucis_tokenizer *t) {
    if (!t) return;
    paucis__hf_free(t);
    struct mem mem = t->mem;
    paucis__mem_resize(&mem, t, sizeof *t, 0);
}

static paucis_err tokenizer_give_up(paucis_tokenizer **out, paucis_err err) {
    paucis_tokenizer_free(*out);
    *out = NULL;
    return err;
}

paucis_err paucis_tokenizer_open(paucis_tokenizer **out, const char *name,
                                 const paucis_alloc *alloc, paucis_error *e) {
    PAUCIS_TRY(tokenizer_new(out, alloc, e));
    if (name && paucis__token_named(*out, name)) return PAUCIS_OK;
    const char *why = name && strchr(name, ':') ? "not a factor from 0.1 to 10 behind 'estimate:'"
                                                : "unknown tokenizer";
    return tokenizer_give_up(out, tokens_fail(e, PAUCIS_E_ARG, why));
}

paucis_err paucis_tokenizer_read(paucis_tokenizer **out, const char *json, size_t n,
                                 const paucis_alloc *alloc, paucis_error *e) {
    paucis_error error;
    PAUCIS_TRY(tokenizer_new(out, alloc, e));
    paucis_err err = json ? paucis__hf_read(*out, json, n, &error)
                          : tokens_fail(&error, PAUCIS_E_ARG, "a NULL argument");
    if (!err) return PAUCIS_OK;
    if (e) *e = error;
    return tokenizer_give_up(out, err);
}

const char *paucis_tokenizer_name(const paucis_tokenizer *t) { return t ? t->name : NULL; }
int paucis_tokenizer_is_exact(const paucis_tokenizer *t) { return t && t->kind == TOKEN_EXACT; }
const paucis_info *paucis_tokenizer_at(size_t i) { return paucis__token_name(i); }

const char *paucis_tokenizer_of_model(const char *model, size_t n) {
    const struct model *m = model ? paucis__model_named(span_of(model, n)) : NULL;
    struct paucis_tokenizer t = {0};
    return m && m->tokenizer && paucis__token_named(&t, m->tokenizer) ? t.name : NULL;
}

/* ---- texts --------------------------------------------------------------------------------- */

/* One count: who counts, with what, and what has come so far. */
struct count {
    struct token_state *state;
    const struct paucis_tokenizer *tokenizer;
    const struct token_kernel *kernel;
    paucis_memo *memo;
    const struct frame *frame;
    uint64_t bytes_tokenized;
    bool media;
};

static const struct token_kernel *kernel_named(const struct json_kernel *wanted) {
    for (const struct token_kernel *const *k = paucis__token_kernels; wanted && *k; k++)
        if (strcmp((*k)->name, wanted->name) == 0) return *k;
    return paucis__token_best_kernel();
}

static paucis_err count_ids(struct count *c, struct span text) {
    const uint8_t *p = (const uint8_t *)text.at;
    const struct vocab *v = &c->tokenizer->vocab;
    size_t ends[160], at = 0, from = 0;
    while (at < text.len) {
        size_t n = c->kernel->split(v->split, p, text.len, &at, ends, sizeof ends / sizeof *ends);
        for (size_t i = 0; i < n; from = ends[i++])
            PAUCIS_TRY(
                c->kernel->piece(&c->state->run, v, p + from, ends[i] - from, &c->state->list));
    }
    return PAUCIS_OK;
}

/* Tokens of a text by the tokenizer alone; with ids, also these. */
static paucis_err count_plain(struct count *c, struct span text, bool ids, uint64_t *tokens) {
    struct mem *mem = c->state->run.mem;
    struct tokens *list = &c->state->list;
    struct nfc_text normal = {0};
    paucis_err err = PAUCIS_OK;
    *tokens = 0;
    c->bytes_tokenized += text.len;
    if (c->tokenizer->kind == TOKEN_HEURISTIC) *tokens = (uint64_t)text.len * 2 / 7;
    if (c->tokenizer->kind == TOKEN_ESTIMATE)
        *tokens = paucis__estimate(c->kernel, text, c->tokenizer->scale);
    if (c->tokenizer->kind != TOKEN_EXACT) return PAUCIS_OK;
    if (c->tokenizer->nfc && !paucis__is_nfc(text)) {
        err = paucis__nfc(mem, text, &normal);
        text = span_of(normal.out.at, normal.out.count);
    }
    if (!err && ids) {
        list->count = list->ids.count = 0;
        list->keep = true;
        err = count_ids(c, text);
        *tokens = list->count;
    } else if (!err) {
        err = c->kernel->count(&c->state->run, &c->tokenizer->vocab, (const uint8_t *)text.at,
                               text.len, tokens);
    }
    paucis__nfc_free(mem, &normal);
    return err;
}

paucis_err paucis_count_text(paucis_ctx *ctx, const char *text, size_t n, const paucis_opts *opts,
                             uint64_t *tokens, const uint32_t **ids, paucis_error *e) {
    struct settings s;
    paucis_opts mine;
    paucis_error error;
    struct paucis_tokenizer standard = {0};
    if (!e) e = &error;
    *e = (paucis_error){PAUCIS_OK, paucis_err_text(PAUCIS_OK), 0};
    if (tokens) *tokens = 0;
    if (ids) *ids = NULL;
    if (!ctx || !tokens || (!text && n)) return tokens_fail(e, PAUCIS_E_ARG, "a NULL argument");
    PAUCIS_TRY(paucis__api_settings(&s, &mine, opts, e));
    paucis__token_named(&standard, "heuristic");
    struct count c = {.state = paucis__api_tokens(ctx),
                      .tokenizer = mine.tokenizer ? mine.tokenizer : &standard,
                      .kernel = kernel_named(s.kernel)};
    if (ids && c.tokenizer->kind != TOKEN_EXACT)
        return tokens_fail(e, PAUCIS_E_ARG, "an estimate has no token ids");
    paucis_err err = count_plain(&c, span_of(text, n), ids != NULL, tokens);
    if (err) *tokens = 0;
    if (ids && !err) *ids = c.state->list.ids.at;
    return err ? tokens_fail(e, err, paucis_err_text(err)) : PAUCIS_OK;
}

/* ---- parts --------------------------------------------------------------------------------- */

/* A text of the view; `key` is equal for equal texts and need not be decoded. */
static paucis_err count_memo(struct count *c, struct span key, struct view *v, size_t part,
                             uint64_t *tokens) {
    struct memo_key k = {0, 0};
    uint64_t vocab = c->tokenizer->vocab.key;
    if (!vocab) vocab = (uint64_t)c->tokenizer->scale << 2 | c->tokenizer->kind;
    if (c->memo) {
        k = paucis__memo_key(c->memo, vocab * 2 + (v != NULL), key); /* quoted, or as it is */
        if (paucis__memo_find(c->memo, k, tokens)) return PAUCIS_OK;
    }
    struct span text = key;
    if (v) PAUCIS_TRY(paucis__view_text(v, part, &text));
    PAUCIS_TRY(count_plain(c, text, false, tokens));
    if (c->memo) paucis__memo_add(c->memo, k, *tokens);
    return PAUCIS_OK;
}

/* The longest string below a node: in a media block that is its data. */
static struct span longest_string(const struct view *v, size_t node) {
    struct span best = {"", 0};
    for (size_t i = node, end = json_next(v->j, node); i < end; i++)
        if (json_is_string(v->j, i) && json_inner(v->j, i).len > best.len)
            best = json_inner(v->j, i);
    return best;
}

static bool is_text_free(const struct part *p) {
    return p->kind == PART_MEDIA || (p->kind == PART_OPAQUE && !p->nslots);
}

/* Tokens of one part, without what the provider puts around it. */
static paucis_err count_part(struct count *c, struct view *v, size_t i, uint64_t *tokens) {
    const struct part *p = view_part(v, i);
    uint64_t more = 0;
    *tokens = 0;
    if (c->tokenizer->kind == TOKEN_HEURISTIC) {
        *tokens = (paucis__view_text_len(v, i) + paucis__view_string_len(v, p->id) +
                   paucis__view_string_len(v, p->name)) *
                  2 / 7;
        return PAUCIS_OK;
    }
    if (is_text_free(p)) {
        c->media = true;
        if (p->kind == PART_MEDIA && p->node)
            *tokens = paucis__image_tokens(c->frame->images, longest_string(v, p->node));
        else if (p->node)
            return count_memo(c, json_raw(v->j, p->node), NULL, 0, tokens);
        return PAUCIS_OK;
    }
    struct span key;
    PAUCIS_TRY(paucis__view_key(v, i, &key));
    PAUCIS_TRY(count_memo(c, key, v, i, tokens));
    if (p->kind != PART_CALL || !p->name) return PAUCIS_OK;
    struct span name = paucis__view_string(v, p->name);
    if (!name.at) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(count_memo(c, name, NULL, 0, &more));
    *tokens += more;
    return PAUCIS_OK;
}

/* The name of the tool of a call or result, in the arena, NUL-terminated; NULL if there is none. */
static paucis_err tool_name(struct view *v, size_t i, const char **out) {
    const struct part *p = view_part(v, i);
    *out = NULL;
    if (p->kind == PART_RESULT && !p->name && p->mate != NO_INDEX) p = view_part(v, p->mate);
    if ((p->kind != PART_CALL && p->kind != PART_RESULT) || !p->name) return PAUCIS_OK;
    struct span name = paucis__view_string(v, p->name);
    char *copy = name.at ? paucis__arena_alloc(v->arena, name.len + 1) : NULL;
    if (!copy) return PAUCIS_E_NOMEM;
    memcpy(copy, name.at, name.len);
    copy[name.len] = '\0';
    *out = copy;
    return PAUCIS_OK;
}

static paucis_err add_row(struct count *c, paucis_part_count row) {
    if (!VEC_ROOM(c->state->run.mem, c->state->parts, 1)) return PAUCIS_E_NOMEM;
    c->state->parts.at[c->state->parts.count++] = row;
    return PAUCIS_OK;
}

static paucis_err count_message(struct count *c, struct view *v, size_t place) {
    const struct message *m = view_message(v, v->order.at[place]);
    paucis_part_count row = {.message = place, .role = paucis__role_name((enum role)m->role)};
    uint64_t frame = c->frame->message, sum = 0, bytes = 0;
    for (VIEW_EACH_PART(v, p, m)) {
        const struct part *part = view_part(v, p);
        row.kind = paucis__kind_name((enum kind)part->kind);
        row.bytes = paucis__view_text_len(v, p);
        PAUCIS_TRY(tool_name(v, p, &row.tool));
        PAUCIS_TRY(count_part(c, v, p, &row.tokens));
        PAUCIS_TRY(add_row(c, row));
        sum += row.tokens;
        bytes += row.bytes + paucis__view_string_len(v, part->id) +
                 paucis__view_string_len(v, part->name);
        frame += part->kind == PART_CALL ? c->frame->call : 0;
        frame += part->kind == PART_RESULT ? c->frame->result : 0;
    }
    if (c->tokenizer->kind == TOKEN_HEURISTIC) frame = bytes * 2 / 7 + 8 - sum;
    row = (paucis_part_count){place, row.role, "frame", NULL, frame, 0};
    return add_row(c, row);
}

/* Definitions of tools, as the JSON they are, and what is added once. The classic rule has
 * neither. */
static paucis_err count_request(struct count *c, struct view *v) {
    if (c->tokenizer->kind == TOKEN_HEURISTIC) return PAUCIS_OK;
    paucis_part_count row = {SIZE_MAX, NULL, "frame", NULL, c->frame->request, 0};
    size_t tools = json_get(v->j, 0, "tools");
    if (!tools) tools = json_get(v->j, 0, "toolConfig");
    if (tools && json_next(v->j, tools) > tools + 2) { /* not empty */
        struct span text = json_raw(v->j, tools);
        paucis_part_count defined = {SIZE_MAX, NULL, "tools", NULL, 0, text.len};
        PAUCIS_TRY(count_memo(c, text, NULL, 0, &defined.tokens));
        PAUCIS_TRY(add_row(c, defined));
        row.tokens += c->frame->tools;
    }
    return add_row(c, row);
}

/* Fills in the tokenizer of the model that the body names. */
static paucis_err choose(struct view *v, struct paucis_tokenizer *t) {
    size_t node = json_get(v->j, 0, "model");
    const char *name = NULL;
    if (node && json_is_string(v->j, node)) {
        struct span model = paucis__view_string(v, node);
        if (!model.at) return PAUCIS_E_NOMEM;
        name = paucis_tokenizer_of_model(model.at, model.len);
        if (name && strcmp(name, "estimate") == 0) name = NULL; /* only if asked for */
    }
    paucis__token_named(t, name ? name : "heuristic");
    return PAUCIS_OK;
}

paucis_err paucis__tokens_view(struct token_state *t, struct view *v, const struct settings *s,
                               const paucis_opts *o, paucis_counts *out) {
    struct paucis_tokenizer own = {0};
    struct count c = {.state = t,
                      .tokenizer = o->tokenizer,
                      .kernel = kernel_named(s->kernel),
                      .memo = o->memo,
                      .frame = paucis__frame_of(v->format->name)};
    if (!c.tokenizer) {
        PAUCIS_TRY(choose(v, &own));
        c.tokenizer = &own;
    }
    t->parts.count = 0;
    for (size_t i = 0; i < v->order.count; i++) PAUCIS_TRY(count_message(&c, v, i));
    PAUCIS_TRY(count_request(&c, v));
    *out = (paucis_counts){.size = sizeof *out,
                           .exact = c.tokenizer->kind == TOKEN_EXACT && !c.media,
                           .format = v->format->name,
                           .tokenizer = c.tokenizer->name,
                           .bytes_tokenized = c.bytes_tokenized,
                           .parts = t->parts.at,
                           .nparts = t->parts.count};
    for (size_t i = 0; i < out->nparts; i++) {
        out->tokens += out->parts[i].tokens;
        out->bytes += out->parts[i].bytes;
    }
    out->upper = out->exact ? out->tokens : paucis__estimate_upper(c.tokenizer->kind, out->tokens);
    return PAUCIS_OK;
}

void paucis__tokens_free(struct token_state *t) {
    VEC_FREE(t->run.mem, t->list.ids);
    VEC_FREE(t->run.mem, t->parts);
    paucis__token_run_free(&t->run);
}

paucis_err paucis_count(paucis_ctx *ctx, const char *in, size_t n, const paucis_opts *opts,
                        paucis_counts *out, paucis_error *e) {
    struct settings s;
    paucis_opts mine;
    paucis_error error;
    paucis_counts counts;
    struct view *v = NULL;
    if (!e) e = &error;
    *e = (paucis_error){PAUCIS_OK, paucis_err_text(PAUCIS_OK), 0};
    if (!out || out->size < sizeof out->size) return tokens_fail(e, PAUCIS_E_ARG, "no size is set");
    uint32_t size = out->size;
    memset(out, 0, size);
    out->size = size;
    if (!ctx || (!in && n)) return tokens_fail(e, PAUCIS_E_ARG, "a NULL argument");
    PAUCIS_TRY(paucis__api_settings(&s, &mine, opts, e));
    PAUCIS_TRY(paucis__api_view(ctx, &s, in, n, &v, e));
    paucis_err err = paucis__tokens_view(paucis__api_tokens(ctx), v, &s, &mine, &counts);
    if (err) return tokens_fail(e, err, paucis_err_text(err));
    memcpy(out, &counts, size < sizeof counts ? size : sizeof counts);
    out->size = size;
    return PAUCIS_OK;
}
