/* From a body to its view. */
#include "format/format.h"

paucis_err paucis__format_read(const struct format *f, struct view *v) {
    v->format = f;
    v->ruled = f->check != NULL;
    v->results_in_user = f->results_in_user;
    v->insert_user = f->insert_user;
    v->insert_result = f->insert_result;
    f->read(v);
    return paucis__view_link(v);
}
