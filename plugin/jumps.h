/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How well targets of indirect jumps are foretold, by the jump's last target and by the path to it: of the paths of several
 * lengths the longest that has been met (as Seznec and Michaud's ITTAGE, "A case for (partially) tagged geometric
 * history length branch prediction", JILP 2006).
 */
#ifndef PLUGIN_JUMPS_H
#define PLUGIN_JUMPS_H

#include <stdbool.h>
#include <stdint.h>

enum { JUMPS_PATHS = 3, JUMPS_PATH_MOST = 16, JUMPS_TABLE_BITS = 14 };

struct jump_target {
	uint64_t key, target; /* of a jump and a path; 0: free */
};

struct jumps {
	struct jump_target *table; /* a new path takes an old one's place */
	uint64_t path
		[JUMPS_PATH_MOST]; /* the last targets of all taken branches and jumps, in a ring */
	uint32_t taken;
};

/* What would have been said of a jump that goes to `target`. */
struct jump_foretold {
	bool by_last, by_path;
};

/* The jump at `code`. Without memory nothing is foretold. */
struct jump_foretold jumps_follow(struct jumps *jumps, uint64_t code, uint64_t target);

/* Any taken branch or jump, this one included, after jumps_follow(). */
void jumps_take(struct jumps *jumps, uint64_t target);

void jumps_free(struct jumps *jumps);

#endif
