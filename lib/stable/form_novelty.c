/* placeholder */
#include "stable/form.h"
#include <string.h>
extern const struct form_kind paucis__form_snippet;
static paucis_err b(struct forms *f, struct span t, bool x, struct span *o) {
    return paucis__form_snippet.brief(f, t, x, o);
}
static paucis_err c(struct forms *f, struct span t, size_t x, struct span *o) {
    return paucis__form_snippet.capped(f, t, x, o);
}
const struct form_kind paucis__form_novelty = {
    .name = "novelty", .summary = "x", .brief = b, .capped = c};
