/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/arrivals.h"

#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

static int collect(const struct build_trace *trace, struct build_arrivals *all)
{
	struct map places = { 0 }, rounds = { 0 };
	int code = 0;
	for (uint32_t i = 0; i < trace->thread_count && code >= 0; i++)
		for (size_t j = 0; j < trace->threads[i].step_count && code >= 0; j++) {
			struct build_step *step = &trace->threads[i].steps[j];
			uint64_t *place, *round;
			bool exits = step->op == STEP_EXIT;
			if (step->op != STEP_ARRIVE && !exits)
				continue;
			code = map_add(&places, exits ? BUILD_NONE : step->object,
				exits ? trace->threads[i].routine : step->site, places.count,
				&place);
			if (code >= 0)
				code = map_add(&rounds, *place, i, 0, &round);
			if (code >= 0)
				code = mem_grow(&all->items, &all->capacity, all->count + 1,
					sizeof *all->items);
			if (code >= 0)
				all->items[all->count++] =
					(struct build_arrival){ *place, (*round)++, i, step };
		}
	map_release(&places);
	map_release(&rounds);
	return code < 0 ? code : 0;
}

static int compare_arrivals(const void *left, const void *right)
{
	const struct build_arrival *a = left, *b = right;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

size_t arrivals_round_end(const struct build_arrivals *all, size_t from)
{
	size_t to = from + 1;
	while (to < all->count && all->items[to].place == all->items[from].place &&
		all->items[to].round == all->items[from].round)
		to++;
	return to;
}

size_t arrivals_place_end(const struct build_arrivals *all, size_t from)
{
	size_t to = from;
	while (to < all->count && all->items[to].place == all->items[from].place)
		to = arrivals_round_end(all, to);
	return to;
}

int build_arrivals_find(const struct build_trace *trace, struct build_arrivals *ret)
{
	int code = collect(trace, ret);
	if (code == 0 && ret->count > 0)
		qsort(ret->items, ret->count, sizeof *ret->items, compare_arrivals);
	return code;
}

void build_arrivals_release(struct build_arrivals *all)
{
	free(all->items);
	*all = (struct build_arrivals){ 0 };
}
