/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines that are touched together with a line near them: the parts of an object, of a tree's node. Who comes to such a line
 * for the first time, its trigger, tells of the others: a prefetcher that has learnt what an instruction's lines are followed
 * by asks for those when it asks for this one (Somogyi et al., "Spatial Memory Streaming", ISCA 2006; the region prefetcher of
 * AMD's first level), and where one of them is no longer in a cache, the others mostly are not either.
 */
#ifndef UARCH_CORE_REGIONS_H
#define UARCH_CORE_REGIONS_H

#include "uarch/core_parts.h"

enum { CORE_REGION_LINES = 8, /* as far as one looks, up and down */ CORE_REGIONS = 32 };

/* The last triggers of a trace. */
struct core_regions {
	struct core_region {
		uint64_t line;
		size_t access; /* of the program */
	} list[CORE_REGIONS]; /* a ring */
	uint32_t count;
};

/* A trace's first touch of a line, `index` of `accesses`: sets `near_back` and `near_lines`, if it has a trigger. */
void core_regions_follow(
	struct core_regions *regions, struct core_access *accesses, size_t index, uint64_t address);

/* Another trace begins. */
void core_regions_forget(struct core_regions *regions);

/*
 * With all traces of a class, and its streams: `near_back` stays where the trigger's instruction is mostly followed so. Of a stream it becomes
 * `run_back`: those lines are gone with the first one, but do not come with it. 0 or -ENOMEM.
 */
int core_regions_join(struct core_program *program, const struct core_class *class);

#endif
