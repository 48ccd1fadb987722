/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/branch_entropy.h"

#include "base/cleanup.h"
#include "base/map.h"
#include "plugin/entropy.h"

#include <errno.h>
#include <string.h>

#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

enum { LONGEST_HISTORY = 12, VISITS_SHIFT = 32 };

static int visit(struct map *patterns, uint64_t address, uint64_t past, unsigned kind, bool taken)
{
	const struct profile_history *history = &profile_histories[kind];
	uint64_t pattern = history->bits < 64 ? past & ((UINT64_C(1) << history->bits) - 1) : past;
	/* Long ones are told apart by a hash, whose low bits make room for the kind. */
	pattern = history->bits > LONGEST_HISTORY ? (pattern ^ pattern >> 29) * FACTOR : pattern;
	uint64_t *counts;
	int status = map_add(patterns, address, pattern << 8 | kind, 0, &counts);
	if (status >= 0)
		*counts += UINT64_C(1) << VISITS_SHIFT | taken;
	return status;
}

static void sum_up(const struct map *patterns, struct profile_branches *ret)
{
	memset(ret, 0, PROFILE_HISTORIES * sizeof(*ret));
	for (size_t i = 0; i < patterns->slot_count; i++) {
		const struct map_slot *slot = &patterns->slots[i];
		if (!slot->is_used)
			continue;
		struct profile_branches *of = &ret[slot->b & 0xff];
		uint32_t visits = (uint32_t)(slot->value >> VISITS_SHIFT);
		uint32_t taken = (uint32_t)slot->value;
		of->executions += visits;
		of->entropy += entropy_leave_one_out(visits, taken);
		of->floor_entropy += entropy_plug_in(visits, taken);
	}
	for (unsigned i = 0; i < PROFILE_HISTORIES; i++) {
		if (ret[i].executions <= 0)
			continue;
		ret[i].entropy /= ret[i].executions;
		ret[i].floor_entropy /= ret[i].executions;
	}
}

int branch_entropy(const struct branch *branches, size_t count, size_t window, size_t period,
	struct profile_branches ret[PROFILE_HISTORIES])
{
	AUTO_RELEASE(map) struct map patterns = { 0 }, locals = { 0 };
	uint64_t global = 0;
	for (size_t i = 0; i < count; i++) {
		if (i % period >= window)
			continue;
		const struct branch *branch = &branches[i];
		uint64_t *local;
		if (map_add(&locals, branch->address, 0, 0, &local) < 0)
			return -ENOMEM;
		for (unsigned k = 0; i % period >= LONGEST_HISTORY && k < PROFILE_HISTORIES; k++)
			if (visit(&patterns, branch->address,
				    profile_histories[k].is_local ? *local : global, k,
				    branch->is_taken) < 0)
				return -ENOMEM;
		global = global << 1 | branch->is_taken;
		*local = *local << 1 | branch->is_taken;
	}
	sum_up(&patterns, ret);
	return 0;
}
