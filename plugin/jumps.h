/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How well targets of indirect jumps are foretold: by the jump's last target, and by predictors of several sizes that know
 * paths (as Seznec and Michaud's ITTAGE, "A case for (partially) tagged geometric history length branch prediction", JILP
 * 2006): of the paths of several lengths the longest that is known says; who was wrong learns the path that is longer, in the
 * place of one that was of no use.
 */
#ifndef PLUGIN_JUMPS_H
#define PLUGIN_JUMPS_H

#include "profile_raw.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	JUMPS_PATHS = 3,
	JUMPS_PATH_MOST = 16,
	JUMPS_SIZES = RAW_PATH_SIZES,
	/* Of each path's table in the largest, of 64 KiB in entries of 8 bytes; the next has a quarter. */
	JUMPS_MOST_BITS = 11,
};

struct jump_target {
	uint64_t key, target; /* of a jump and a path; 0: free */
	uint32_t sure; /* how often it was right of late */
};

struct jumps {
	struct jump_target *tables; /* by size, path, place; NULL until there is a jump */
	uint64_t path
		[JUMPS_PATH_MOST]; /* the last targets of all taken branches and jumps, in a ring */
	uint32_t taken;
};

/* What would have been said of a jump that goes to `target`. */
struct jump_foretold {
	bool by_last, by_path[JUMPS_SIZES]; /* the largest first */
};

/* The jump at `code`. Without memory nothing is foretold. */
struct jump_foretold jumps_follow(struct jumps *jumps, uint64_t code, uint64_t target);

/* Any taken branch or jump, this one included, after jumps_follow(). */
void jumps_take(struct jumps *jumps, uint64_t target);

void jumps_free(struct jumps *jumps);

#endif
