/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/branch_entropy.h"

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "plugin/entropy.h"
#include "plugin/foresight.h"

#include <errno.h>
#include <string.h>

#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

enum { LONGEST_HISTORY = 24, LONGEST_PLAIN = 12, VISITS_SHIFT = 32, COUNTER_SHIFT = 30 };

static const uint64_t one_visit = UINT64_C(1) << VISITS_SHIFT,
		      taken_mask = (1u << COUNTER_SHIFT) - 1;

/* Half misses, or -ENOMEM. */
static int visit(struct map *patterns, uint64_t address, uint64_t past, unsigned kind, bool taken)
{
	const struct profile_history *history = &profile_histories[kind];
	uint64_t pattern = history->bits < 64 ? past & ((UINT64_C(1) << history->bits) - 1) : past;
	/* Long ones are told apart by a hash, whose low bits make room for the kind. */
	pattern = history->bits > LONGEST_PLAIN ? (pattern ^ pattern >> 29) * FACTOR : pattern;
	uint64_t *counts;
	if (map_add(patterns, address, pattern << 8 | kind, 0, &counts) < 0)
		return -ENOMEM;
	unsigned counter = *counts >> COUNTER_SHIFT & 3;
	unsigned halves = foresight_count((uint32_t)(*counts >> VISITS_SHIFT), &counter, taken);
	*counts = (*counts >> VISITS_SHIFT) * one_visit + one_visit +
		  ((uint64_t)counter << COUNTER_SHIFT) + (*counts & taken_mask) + taken;
	return (int)halves;
}

static void sum_up(const struct map *patterns, const uint32_t halves[PROFILE_HISTORIES],
	struct profile_branches *ret)
{
	memset(ret, 0, PROFILE_HISTORIES * sizeof(*ret));
	for (size_t i = 0; i < patterns->slot_count; i++) {
		const struct map_slot *slot = &patterns->slots[i];
		if (!slot->is_used)
			continue;
		struct profile_branches *of = &ret[slot->b & 0xff];
		uint32_t visits = (uint32_t)(slot->value >> VISITS_SHIFT);
		uint32_t taken = (uint32_t)(slot->value & taken_mask);
		of->executions += visits;
		of->entropy += entropy_leave_one_out(visits, taken);
		of->floor_entropy += entropy_plug_in(visits, taken);
	}
	for (unsigned i = 0; i < PROFILE_OUTCOMES && ret[0].executions > 0; i++) {
		ret[i].executions = ret[0].executions;
		ret[i].entropy /= ret[i].executions;
		ret[i].floor_entropy /= ret[i].executions;
		ret[i].missed = halves[i] / 2.0 / ret[i].executions;
	}
}

/* What is known of a branch. */
struct known {
	uint64_t past;
	struct foresight foresight;
};

static struct known *find(
	struct map *numbers, struct known **known, size_t *capacity, uint64_t address)
{
	uint64_t *number;
	size_t count = numbers->count;
	if (map_add(numbers, address, 0, count, &number) < 0 ||
		mem_grow(known, capacity, numbers->count, sizeof(**known)) < 0)
		return NULL;
	if (numbers->count > count)
		(*known)[*number] = (struct known){ 0 };
	return &(*known)[*number];
}

int branch_entropy(const struct branch *branches, size_t count, size_t window, size_t period,
	struct profile_branches ret[PROFILE_HISTORIES])
{
	AUTO_RELEASE(map) struct map patterns = { 0 }, numbers = { 0 };
	AUTO_FREE struct known *all = NULL;
	size_t capacity = 0;
	uint32_t sums[PROFILE_HISTORIES] = { 0 };
	uint64_t global = 0;
	for (size_t i = 0; i < count; i++) {
		if (i % period >= window)
			continue;
		const struct branch *branch = &branches[i];
		struct known *known = find(&numbers, &all, &capacity, branch->address);
		if (!known)
			return -ENOMEM;
		unsigned halves[RAW_PATTERNS] = { 0 };
		bool is_known = i % period >= LONGEST_HISTORY;
		for (unsigned k = 0; is_known && k < RAW_PATTERNS; k++) {
			uint64_t past = profile_histories[k].is_local ? known->past : global;
			int status = visit(&patterns, branch->address, past, k, branch->is_taken);
			if (status < 0)
				return status;
			halves[k] = (unsigned)status;
		}
		if (is_known)
			foresight_choose(&known->foresight, halves, sums);
		global = global << 1 | branch->is_taken;
		known->past = known->past << 1 | branch->is_taken;
	}
	sum_up(&patterns, sums, ret);
	return 0;
}
