/* The rules of FORMATS.md section A. */
#ifndef PAUCIS_RULES_OPENAI_CHAT_H
#define PAUCIS_RULES_OPENAI_CHAT_H

#include "plan/check.h"

void paucis__openai_chat_check(struct check *c);

#endif
