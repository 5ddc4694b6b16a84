/* JSON inside a JSON string: call arguments in the OpenAI formats. */
#ifndef PAUCIS_NESTED_H
#define PAUCIS_NESTED_H

#include "view/view.h"

/* Does the string at `node` hold the text of a JSON object? When memory runs out v->failed is
 * set and the answer is yes: no rule is then reported as broken. */
bool paucis__json_is_object_text(struct view *v, size_t node);

#endif
