/* See supersede.h. */
#include "stable/supersede.h"

uint64_t paucis__subject_of(struct span name, struct span arguments) {
    uint64_t h = XXH3_64bits(name.at, name.len);
    h = XXH3_64bits_withSeed(arguments.at, arguments.len, h);
    return h ? h : 1;
}

paucis_err paucis__supersede(struct item_set *subjects, uint64_t subject, size_t part,
                             size_t *older) {
    struct item_entry *slot = item_add(subjects, subject);
    *older = SIZE_MAX;
    if (!slot) return PAUCIS_E_NOMEM;
    if (slot->value) *older = (size_t)slot->value - 1;
    slot->value = part + 1;
    return PAUCIS_OK;
}
