/* apply_all: the classic pipeline, each stage on the output of the one before. */
#include "strategy/strategy.h"

static const char *const apply_all_sequence[] = {"thinking_prune", "dedup", "lingua", "pairing",
                                                 NULL};

const struct strategy paucis__st_apply_all = {
    .name = "apply_all",
    .summary = "thinking_prune, dedup, lingua, pairing",
    .sequence = apply_all_sequence,
};
