/* What the files that implement paucis.h share: api.c holds the context, api_session.c has the
 * sessions, api_tokens.c counts. */
#ifndef PAUCIS_API_PRIVATE_H
#define PAUCIS_API_PRIVATE_H

#include "plan/settings.h"
#include "token/token.h"

/* The part of a context that counts tokens. */
struct token_state {
    struct token_run run;
    struct tokens list;
    VEC(paucis_part_count) parts;
};

void paucis__tokens_free(struct token_state *t);

/* Counts a view as it is now; out->size is not looked at. NOMEM only. */
paucis_err paucis__tokens_view(struct token_state *t, struct view *v, const struct settings *s,
                               const paucis_opts *o, paucis_counts *out);

/* ---- given by api.c ------------------------------------------------------------------------ */

struct token_state *paucis__api_tokens(paucis_ctx *c);
/* The caller's options as this version knows them, and what they mean. */
paucis_err paucis__api_settings(struct settings *s, paucis_opts *mine, const paucis_opts *given,
                                paucis_error *e);
/* Begins a new call: reads a body into the context's view. */
paucis_err paucis__api_view(paucis_ctx *c, const struct settings *s, const char *in, size_t n,
                            struct view **v, paucis_error *e);

#endif
