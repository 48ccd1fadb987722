/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/explored.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
	uint64_t ns;
	size_t index;
};

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int sort_all(struct explored *explored)
{
	struct entry *entries = calloc(explored->count + 1, sizeof *entries);
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < explored->count; i++) {
		const struct explored_point *point = &explored->points[i];
		explored->left_out += point->state == EXPLORED_LEFT_OUT;
		explored->failed += point->state == EXPLORED_FAILED;
		if (point->state == EXPLORED_DONE)
			entries[explored->done++] = (struct entry){ point->ns, i };
	}
	qsort(entries, explored->done, sizeof *entries, by_time);
	for (size_t i = 0; i < explored->done; i++)
		explored->order[i] = entries[i].index;
	free(entries);
	return 0;
}

/* In order of time, a point is on the front if it takes less energy than all before it. */
static void find_pareto(struct explored *explored)
{
	double least_j = 0;
	for (size_t i = 0; i < explored->done; i++) {
		double energy_j = explored->points[explored->order[i]].energy_j;
		if (energy_j <= 0 || (explored->pareto_count > 0 && energy_j >= least_j))
			continue;
		least_j = energy_j;
		/* Of points that take equally long, the one that takes less. */
		if (explored->pareto_count > 0) {
			size_t last = explored->pareto[explored->pareto_count - 1];
			explored->pareto_count -= explored->points[last].ns ==
						  explored->points[explored->order[i]].ns;
		}
		explored->pareto[explored->pareto_count++] = explored->order[i];
	}
}

int explored_sort(struct explored *explored)
{
	explored->order = calloc(explored->count + 1, sizeof *explored->order);
	explored->pareto = calloc(explored->count + 1, sizeof *explored->pareto);
	if (!explored->order || !explored->pareto || sort_all(explored) < 0)
		return -ENOMEM;
	find_pareto(explored);
	if (explored->done == 0)
		return 0;
	double limit = (double)explored->points[explored->order[0]].ns * (1 + explored->within);
	while (explored->near_count < explored->done &&
		(double)explored->points[explored->order[explored->near_count]].ns <= limit)
		explored->near_count++;
	return 0;
}

void explored_release(struct explored *explored)
{
	free(explored->order);
	free(explored->pareto);
	explored->order = explored->pareto = NULL;
}
