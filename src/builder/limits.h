/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits of the system: descriptors. Only one that was reached is part of a model, because only then the
 * recording shows what the program does without.
 */
#ifndef BUILDER_LIMITS_H
#define BUILDER_LIMITS_H

#include "builder/trace.h"

/*
 * Whether something was refused. Leaves out STEP_TAKE and STEP_GIVE if nothing was ever refused. Else the request of a thread that was
 * refused something ends in an error: STEP_END becomes STEP_FAIL.
 */
bool build_limits_find(struct build_trace *trace);

#endif
