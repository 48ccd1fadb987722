/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/child.h"

uint32_t child_find(child_life_of life_of, const void *context, uint32_t count, uint32_t pid,
	uint64_t began_ns, uint64_t until_ns)
{
	uint32_t last = CHILD_NONE;
	struct child_life best = { 0 };
	for (uint32_t i = 0; i < count; i++) {
		struct child_life life = life_of(context, i);
		bool is_over = life.has_exited && life.pid != pid &&
			       life.ended_ns >= until_ns - (until_ns - began_ns) / 4;
		if (!is_over || (last != CHILD_NONE && life.ended_ns < best.ended_ns))
			continue;
		last = i;
		best = life;
	}
	for (uint32_t i = 0; last != CHILD_NONE && i < count; i++) {
		struct child_life life = life_of(context, i);
		if (life.pid == best.pid && !life.has_exited)
			return CHILD_NONE;
	}
	return last;
}
