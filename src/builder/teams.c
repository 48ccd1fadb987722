/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/teams.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

struct coming {
	uint32_t object, tid;
	uint64_t begin_ns, let_go_ns;
	struct build_step *step;
	uint64_t waker; /* tid; 0: not known */
	bool is_met;
};

struct comings {
	struct coming *items;
	size_t count, capacity;
};

static int compare_comings(const void *left, const void *right)
{
	const struct coming *a = left, *b = right;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int collect(const struct build_trace *trace, struct comings *all)
{
	for (uint32_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_ARRIVE)
				continue;
			if (mem_grow(&all->items, &all->capacity, all->count + 1,
				    sizeof *all->items) < 0)
				return -ENOMEM;
			all->items[all->count++] = (struct coming){ .object = step->object,
				.tid = trace->threads[i].tid,
				.begin_ns = step->begin_ns,
				.let_go_ns = step->begin_ns + step->waited_ns,
				.step = step,
				.waker = step->section };
			step->section = 0;
		}
	if (all->count > 0)
		qsort(all->items, all->count, sizeof *all->items, compare_comings);
	return 0;
}

/* The last coming of the thread that let this one go, until then; NULL: it has not come there. */
static struct coming *let_go_by(struct comings *all, const struct coming *coming)
{
	const struct coming key = { .object = coming->object,
		.tid = (uint32_t)coming->waker,
		.begin_ns = coming->let_go_ns };
	size_t from = 0, to = all->count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (compare_comings(&all->items[middle], &key) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	struct coming *last = from > 0 ? &all->items[from - 1] : NULL;
	return last && last->object == key.object && last->tid == key.tid ? last : NULL;
}

/* Those of one object: who let itself go, and nobody else, was a team by itself. */
static void leave_out_alone(const struct coming *items, size_t count)
{
	if (items[0].tid == items[count - 1].tid)
		return;
	/* Who waits until the program ends, so that nobody tells who let it go, met those who came since. */
	uint64_t since_ns = UINT64_MAX;
	for (size_t i = 0; i < count; i++)
		if (items[i].waker == 0 && items[i].begin_ns < since_ns)
			since_ns = items[i].begin_ns;
	for (size_t i = 0; i < count; i++)
		if (items[i].waker == items[i].tid && !items[i].is_met &&
			items[i].begin_ns < since_ns)
			items[i].step->op = STEP_NOTHING;
}

int build_leave_out_teams_of_one(struct build_trace *trace)
{
	struct comings all = { 0 };
	int code = collect(trace, &all);
	for (size_t i = 0; code == 0 && i < all.count; i++) {
		const struct coming *coming = &all.items[i];
		struct coming *other =
			coming->waker != coming->tid ? let_go_by(&all, coming) : NULL;
		if (other)
			other->is_met = true;
	}
	for (size_t i = 0, to; code == 0 && i < all.count; i = to) {
		for (to = i + 1; to < all.count && all.items[to].object == all.items[i].object;)
			to++;
		leave_out_alone(&all.items[i], to - i);
	}
	free(all.items);
	for (size_t i = 0; code == 0 && i < trace->thread_count; i++)
		rewrite_without_nothing(&trace->threads[i]);
	return code;
}
