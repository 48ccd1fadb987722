/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_detours.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { LOOK = 128 }; /* instructions ahead on each path: some of a large window are older */

void core_detour_map_release(struct core_detour_map *map)
{
	free(map->ways);
	free(map->ahead);
	*map = (struct core_detour_map){ 0 };
}

static int start_map(struct core_detour_map *map, const struct profile *profile)
{
	map->profile = profile;
	map->ways = calloc(profile->code_count + 1, sizeof(*map->ways));
	map->ahead = calloc(profile->code_count + 1, sizeof(*map->ahead));
	return map->ways && map->ahead ? 0 : -ENOMEM;
}

static const struct code *code_of(const struct core_detour_map *map, const struct micro_op *op)
{
	return &map->profile->codes[op->code];
}

static bool goes_as(const struct core_way *way, const struct micro_op *ops)
{
	return way->count > 0 && way->ops->code == ops->code;
}

/* A branch, or a jump whose target is not in it, went to `ops`. */
static void note_way(
	struct core_way ways[2], const struct code *code, bool is_taken, struct core_way way)
{
	if (code->class == CODE_BRANCH) {
		ways[is_taken] = way;
		return;
	}
	if (!goes_as(&ways[0], way.ops))
		ways[1] = ways[0];
	ways[0] = way;
}

int core_detours_look(struct core_detour_map *map, const struct profile *profile,
	const struct micro_trace *micro, uint32_t count)
{
	int rc = map->profile ? 0 : start_map(map, profile);
	for (uint32_t i = 0; rc == 0 && i + 1 < count; i++) {
		const struct micro_op *op = &micro->ops[i];
		const struct code *code = code_of(map, op);
		if (code->class == CODE_BRANCH ||
			(code->class == CODE_JUMP && code->flags & CODE_INDIRECT))
			note_way(map->ways[op->code], code, op->taken != 0,
				(struct core_way){ &micro->ops[i + 1], count - i - 1 });
	}
	return rc;
}

/* The first instructions of a path, so that another one can be asked for them. */
static void look_ahead(struct core_detour_map *map, const struct micro_op *ops, uint32_t count)
{
	map->stamp++;
	for (uint32_t i = 0; i < count && i < LOOK; i++) {
		struct core_ahead *ahead = &map->ahead[ops[i].code];
		if (ahead->stamp != map->stamp)
			*ahead = (struct core_ahead){ map->stamp, i };
	}
}

/* Where a path meets the one that was looked along, with the fewest instructions on both before. False: nowhere near. */
static bool find_meeting(const struct core_detour_map *map, const struct core_way *way,
	uint32_t *ret_on_way, uint32_t *ret_ahead)
{
	uint32_t least = UINT32_MAX;
	for (uint32_t i = 0; i < way->count && i < LOOK && i < least; i++) {
		const struct core_ahead *ahead = &map->ahead[way->ops[i].code];
		if (ahead->stamp != map->stamp || i + ahead->at >= least)
			continue;
		least = i + ahead->at;
		*ret_on_way = i;
		*ret_ahead = ahead->at;
	}
	return least != UINT32_MAX;
}

/* What the wrong path writes: who wrote these registers last before the branch is not who would have. False: too many. */
static bool note_changed(struct core_detour *detour, uint64_t writes, const uint16_t *writer)
{
	unsigned count = 0;
	for (writes &= ~(UINT64_C(1) << CODE_REGISTER_FLAGS); writes; writes &= writes - 1) {
		if (count == CORE_CHANGED)
			return false;
		detour->changed[count++] = writer[__builtin_ctzll(writes)];
	}
	detour->changed_count = (uint16_t)count;
	return true;
}

struct core_detour core_detours_find(struct core_detour_map *map, const struct micro_trace *micro,
	uint32_t count, uint32_t index, const uint16_t *writer)
{
	struct core_detour detour = { 0 };
	const struct micro_op *op = &micro->ops[index];
	const struct core_way *ways = map->ways[op->code], *way = NULL;
	if (index + 1 >= count)
		return detour;
	if (code_of(map, op)->class == CODE_BRANCH)
		way = &ways[!op->taken];
	else
		way = &ways[goes_as(&ways[0], op + 1)];
	uint32_t on_way = 0, ahead = 0;
	uint64_t writes = 0;
	look_ahead(map, op + 1, count - index - 1);
	if (way->count == 0 || !find_meeting(map, way, &on_way, &ahead))
		return detour;
	for (uint32_t i = 0; i < on_way; i++)
		writes |= code_of(map, &way->ops[i])->writes;
	if (!note_changed(&detour, writes, writer))
		return detour;
	detour.delay = on_way;
	detour.resume = index + 1 + ahead;
	return detour;
}

static void add_changed(struct core_astray *astray, const struct core_detour *detour)
{
	for (unsigned i = 0; i < detour->changed_count; i++) {
		if (astray->changed_count == 2 * CORE_CHANGED) {
			astray->is_on = false;
			return;
		}
		astray->changed[astray->changed_count++] = detour->changed[i];
	}
}

void core_astray_start(struct core_astray *astray, const struct core_detour *detour,
	uint32_t branch, int64_t dispatched, int64_t done, uint32_t room)
{
	astray->is_on = detour->resume > 0 && done > dispatched;
	astray->branch = branch;
	astray->resume = detour->resume;
	astray->lag = (int64_t)detour->delay - detour->resume;
	astray->room = room;
	astray->from = dispatched + 1;
	astray->until = done;
	astray->changed_count = 0;
	add_changed(astray, detour);
}

/* The cycle in which it is dispatched there. */
static int64_t comes_at(const struct core_astray *astray, uint32_t index)
{
	return astray->from + (index + astray->lag) / astray->width;
}

int64_t core_astray_left(const struct core_astray *astray, uint32_t index)
{
	if (!astray->is_on || index < astray->resume || index + astray->lag > astray->room)
		return 0;
	int64_t left = astray->until - comes_at(astray, index);
	return left > 0 ? left : 0;
}

void core_astray_go_on(struct core_astray *astray, const struct core_detour *detour, uint32_t index)
{
	astray->is_on = detour->resume > 0;
	astray->lag += (int64_t)index + detour->delay - detour->resume;
	astray->resume = detour->resume;
	add_changed(astray, detour);
}

static bool is_changed(const struct core_astray *astray, uint16_t operand)
{
	for (unsigned i = 0; i < astray->changed_count; i++)
		if (astray->changed[i] == operand)
			return true;
	return false;
}

int64_t core_astray_issue(const struct core_astray *astray, uint32_t index,
	const uint16_t *operands, unsigned count, const int64_t *done)
{
	if (core_astray_left(astray, index) == 0)
		return INT64_MAX;
	int64_t at = comes_at(astray, index) + 1;
	for (unsigned i = 0; i < count; i++) {
		uint16_t operand = operands[i];
		if (is_changed(astray, operand))
			return INT64_MAX;
		bool is_older = operand <= astray->branch + CORE_REGISTERS;
		int64_t ready = is_older ? done[operand] : astray->early[operand];
		at = ready > at ? ready : at;
	}
	return at < astray->until ? at : INT64_MAX;
}
