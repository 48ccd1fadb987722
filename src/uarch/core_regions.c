/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_regions.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

enum { SPAN = 2 * CORE_REGION_LINES + 1 };

void core_regions_follow(
	struct core_regions *regions, struct core_access *accesses, size_t index, uint64_t address)
{
	uint64_t line = address / PROFILE_LINE_BYTES, page = address / PROFILE_PAGE_BYTES;
	uint32_t known = regions->count < CORE_REGIONS ? regions->count : CORE_REGIONS;
	for (uint32_t back = 1; back <= known; back++) {
		const struct core_region *region =
			&regions->list[(regions->count - back) % CORE_REGIONS];
		int64_t lines = (int64_t)(line - region->line);
		if (lines < -CORE_REGION_LINES || lines > CORE_REGION_LINES ||
			region->line / (PROFILE_PAGE_BYTES / PROFILE_LINE_BYTES) != page)
			continue;
		accesses[index].near_back = (uint32_t)(index - region->access);
		accesses[index].near_lines = (int8_t)lines;
		return;
	}
	regions->list[regions->count++ % CORE_REGIONS] = (struct core_region){ line, index };
}

void core_regions_forget(struct core_regions *regions)
{
	regions->count = 0;
}

/* Of a slot's triggers: how many there are, and how often each line near them followed. */
struct footprint {
	uint32_t triggers, followers[SPAN];
};

static uint32_t *followers(struct footprint *prints, const struct core_access *access)
{
	const struct core_access *trigger = access - access->near_back;
	return &prints[trigger->slot].followers[access->near_lines + CORE_REGION_LINES];
}

static void count(struct footprint *prints, const struct core_access *access)
{
	if (access->near_back == 0)
		prints[access->slot].triggers++;
	else
		++*followers(prints, access);
}

/*
 * On a Zen 4 a line that follows one in two times is asked for ahead three times of four, one of three one time of four; what was seen
 * once is not known.
 */
static bool is_learnt(struct footprint *prints, const struct core_access *access)
{
	const struct core_access *trigger = access - access->near_back;
	return 5 * *followers(prints, access) >= 2 * (prints[trigger->slot].triggers + 1);
}

/* A prefetcher's streams come by their own rules; but where the first line of a short one is gone, so are the others. */
static void join_run(struct core_access *access)
{
	access->near_back = access->run_back;
	access->near_lines = INT8_MAX;
}

int core_regions_join(struct core_program *program, const struct core_class *class)
{
	AUTO_FREE struct footprint *prints = calloc(class->slot_count + 1, sizeof *prints);
	if (!prints)
		return -ENOMEM;
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = class->access; i < class->access + class->access_count; i++) {
			struct core_access *access = &program->accesses[i];
			if (access->is_first && pass == 0)
				count(prints, access);
			else if (access->is_first && access->is_stream)
				join_run(access);
			else if (access->near_back > 0 && !is_learnt(prints, access))
				access->near_back = 0;
		}
	return 0;
}
