/* Options that are a number or a yes/no, as rows of a table. */
#ifndef PAUCIS_OPTION_H
#define PAUCIS_OPTION_H

#include <stdbool.h>

#include "core/mem.h"

struct option {
    TABLE_ROW;                   /* name, summary, detail: type and default */
    uint64_t value, least, most; /* value is the default; a switch is 0 or 1 */
    bool is_switch;
};

#define NUMBER(option, standard, low, help)                                      \
    {                                                                            \
        .name = option, .summary = help, .detail = "number, default " #standard, \
        .value = standard, .least = low, .most = UINT32_MAX                      \
    }
#define SWITCH_OFF(option, help)                                                       \
    {                                                                                  \
        .name = option, .summary = help, .detail = "yes or no, default no", .most = 1, \
        .is_switch = true                                                              \
    }
#define SWITCH_ON(option, help)                                                          \
    {                                                                                    \
        .name = option, .summary = help, .detail = "yes or no, default yes", .value = 1, \
        .most = 1, .is_switch = true                                                     \
    }

#endif
