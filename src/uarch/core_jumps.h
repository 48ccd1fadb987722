/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which indirect jumps of a class's micro-traces go where nobody expects: two predictors of targets that learn as they
 * go. One takes the jump's last target; the other the target that followed the same jump after the same path, the
 * longer of two paths that it has met (as Seznec and Michaud's ITTAGE, "A case for (partially) tagged geometric
 * history length branch prediction", JILP 2006, with tables that never overflow).
 */
#ifndef UARCH_CORE_JUMPS_H
#define UARCH_CORE_JUMPS_H

#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

enum { CORE_PATHS = 3, CORE_PATH_MOST = 16 }; /* lengths of paths; the longest, in taken branches */

struct core_jumps {
	struct map targets[CORE_PATHS]; /* (code, path): target */
	uint32_t path[CORE_PATH_MOST]; /* the last taken branches' targets, in a ring */
	uint32_t taken;
};

/* What would have been said of a jump. */
struct core_jump {
	bool is_new; /* not met before */
	bool is_last, is_path; /* foretold by its last target; by the path to it */
};

/* A jump at `code` goes to `target`. 0 or -ENOMEM. */
int core_jumps_follow(
	struct core_jumps *jumps, uint32_t code, uint32_t target, struct core_jump *ret);

/* Any taken branch or jump, this one included, after core_jumps_follow(). */
void core_jumps_take(struct core_jumps *jumps, uint32_t target);

/* For AUTO_RELEASE(core_jumps); { 0 } is empty. */
void core_jumps_release(struct core_jumps *jumps);

#endif
