/* SPDX-License-Identifier: MIT */
/* The header alone, as a C compiler sees it. */
#include "lanner/lanner.h"

int default_answers_are_unlimited(void);

int default_answers_are_unlimited(void) { return lanner_generate_defaults().max_tokens < 0; }
