/* What is known of models by their names. Providers spell one name in many ways:
 *
 *   claude-fable-5-1   anthropic/claude-fable-5.1   us.anthropic.claude-fable-5-1-20260801-v1:0 */
#ifndef PAUCIS_MODELS_H
#define PAUCIS_MODELS_H

#include "core/mem.h"

#include <stdbool.h>

/* Is this model's thinking bound to its prefix? Wrongly saying yes costs savings, wrongly saying no
 * costs the request, so a model that is not known is bound if it is a Claude newer than 5.0 or one
 * whose name does not tell its version. */
bool paucis__model_is_bound(struct span name);

/* A row of models.def. */
struct model {
    const char *name;
    uint64_t window;       /* tokens */
    const char *price;     /* a row of prices.def */
    const char *tokenizer; /* NULL = its vocabulary is not built in */
    enum model_binding { FREE, BOUND, BY_VERSION } bound;
};
/* NULL if the name says nothing. */
const struct model *paucis__model_named(struct span name);

#endif
