/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_detours.h"

#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	LOOK = 128, /* instructions ahead on each path: some of a large window are older */
	SHARED_MAX = 64,
};

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
		/* Not one that a trace soon ends. */
		if (way.count >= LOOK || way.count >= ways[is_taken].count)
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

static bool does_the_same(const struct code *a, const struct code *b)
{
	return a->class == b->class && a->flags == b->flags && a->bytes == b->bytes &&
	       a->reads == b->reads && a->writes == b->writes &&
	       a->address_reads == b->address_reads && a->data_bytes == b->data_bytes;
}

/*
 * What both paths do before they meet: of the right one's first instructions those that the wrong one has, too, in this order.
 * *ret_writes: what the others of the wrong one write.
 */
static uint64_t find_shared(const struct core_detour_map *map, const struct micro_op *right,
	uint32_t right_count, const struct micro_op *wrong, uint32_t wrong_count,
	uint64_t *ret_writes)
{
	uint64_t shared = 0;
	uint32_t next = 0, end = right_count < SHARED_MAX ? right_count : SHARED_MAX;
	*ret_writes = 0;
	for (uint32_t i = 0; i < wrong_count; i++) {
		const struct code *code = code_of(map, &wrong[i]);
		uint32_t k = next;
		while (k < end && !does_the_same(code, code_of(map, &right[k])))
			k++;
		if (k < end) {
			shared |= UINT64_C(1) << k;
			next = k + 1;
		} else {
			*ret_writes |= code->writes;
		}
	}
	return shared;
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
	detour.shared = find_shared(map, op + 1, ahead, way->ops, on_way, &writes);
	if (!note_changed(&detour, writes, writer))
		return detour;
	detour.delay = on_way;
	detour.after = index + 1;
	detour.resume = index + 1 + ahead;
	return detour;
}

void core_detours_settle(const struct core_detour_map *map, struct core_detour *detour)
{
	uint32_t first = map->uop_of[detour->after];
	uint64_t shared = 0;
	for (uint64_t left = detour->shared; left; left &= left - 1) {
		const uint16_t *uop = &map->uop_of[detour->after + __builtin_ctzll(left)];
		for (uint32_t i = uop[0]; i < uop[1] && i - first < SHARED_MAX; i++)
			shared |= UINT64_C(1) << (i - first);
	}
	detour->shared = shared;
	detour->after = first;
	detour->resume = map->uop_of[detour->resume];
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

/* The cycle in which it is dispatched there; the first ones, as soon as it begins. */
static int64_t comes_at(const struct core_astray *astray, uint32_t width, uint32_t index)
{
	int64_t place = index + astray->lag;
	return astray->from + (place > 0 ? place : 0) / width;
}

/* Whether both paths have it. */
static bool has_uop(const struct core_astray *astray, uint32_t index)
{
	const struct core_detour *detour = astray->detour;
	uint32_t place = index - detour->after;
	return index >= detour->resume ||
	       (index >= detour->after && place < SHARED_MAX && detour->shared >> place & 1);
}

/* How long it goes on behind that micro-operation, in cycles; 0: it does not come there. */
static int64_t left_behind(const struct core_astray *astray, uint32_t width, uint32_t index)
{
	if (!astray->is_on || !has_uop(astray, index) || index + astray->lag > astray->room)
		return 0;
	int64_t left = astray->until - comes_at(astray, width, index);
	return left > 0 ? left : 0;
}

static void go_on(struct core_astray *astray, const struct core_detour *detour, uint32_t index)
{
	astray->is_on = detour->resume > 0;
	astray->lag += (int64_t)index + detour->delay - detour->resume;
	astray->detour = detour;
	add_changed(astray, detour);
}

int core_astrays_make_room(struct core_astrays *astrays, size_t count)
{
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < CORE_ASTRAYS; i++) {
		struct core_astray *astray = &astrays->list[i];
		rc = mem_grow(
			&astray->early, &astray->early_capacity, count, sizeof(*astray->early));
	}
	return rc;
}

void core_astrays_release(struct core_astrays *astrays)
{
	for (unsigned i = 0; i < CORE_ASTRAYS; i++)
		free(astrays->list[i].early);
}

void core_astrays_end(struct core_astrays *astrays)
{
	for (unsigned i = 0; i < CORE_ASTRAYS; i++)
		astrays->list[i].is_on = false;
}

void core_astrays_begin(struct core_astrays *astrays, const struct core_detour *detour,
	uint32_t branch, int64_t dispatched, int64_t done, uint32_t room)
{
	struct core_astray *shortest = NULL;
	int64_t least = detour->resume > 0 ? done - dispatched : 0;
	for (unsigned i = 0; i < CORE_ASTRAYS; i++) {
		struct core_astray *astray = &astrays->list[i];
		if (left_behind(astray, astrays->width, branch) > 0)
			go_on(astray, detour, branch);
		/* Where it is back on the right path, or where it is there with the branch. */
		uint32_t resume = astray->is_on ? astray->detour->resume : 0;
		int64_t left =
			left_behind(astray, astrays->width, branch > resume ? branch : resume);
		if (left >= least)
			continue;
		least = left;
		shortest = astray;
	}
	if (!shortest)
		return;
	shortest->is_on = true;
	shortest->branch = branch;
	shortest->detour = detour;
	shortest->lag = (int64_t)detour->delay - detour->resume;
	shortest->room = room;
	shortest->from = dispatched + 1;
	shortest->until = done;
	shortest->changed_count = 0;
	add_changed(shortest, detour);
}

static bool is_changed(const struct core_astray *astray, uint16_t operand)
{
	for (unsigned i = 0; i < astray->changed_count; i++)
		if (astray->changed[i] == operand)
			return true;
	return false;
}

static int64_t issue(const struct core_astray *astray, uint32_t width, const struct core_uop *uop,
	uint32_t index, const uint16_t *operands, const int64_t *done)
{
	if (left_behind(astray, width, index) == 0 ||
		(uop->flags & CORE_SERIAL && uop->unit != CODE_ATOMIC))
		return INT64_MAX;
	int64_t at = comes_at(astray, width, index) + 1;
	for (unsigned i = 0; i < uop->operand_count; i++) {
		uint16_t operand = operands[i];
		if (is_changed(astray, operand))
			return INT64_MAX;
		bool is_older = operand <= astray->branch + CORE_REGISTERS;
		int64_t ready = is_older ? done[operand] : astray->early[operand];
		at = ready > at ? ready : at;
	}
	return at < astray->until ? at : INT64_MAX;
}

int64_t core_astrays_issue(struct core_astrays *astrays, const struct core_uop *uop, uint32_t index,
	const uint16_t *operands, const int64_t *done)
{
	int64_t first = INT64_MAX;
	for (unsigned i = 0; i < CORE_ASTRAYS; i++) {
		struct core_astray *astray = &astrays->list[i];
		astray->issued = issue(astray, astrays->width, uop, index, operands, done);
		first = astray->issued < first ? astray->issued : first;
	}
	return first;
}
