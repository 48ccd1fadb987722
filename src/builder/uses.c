/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/uses.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

int build_uses_add(struct build_uses *uses, struct build_use use)
{
	if (mem_grow(&uses->items, &uses->capacity, uses->count + 1, sizeof *uses->items) < 0)
		return -ENOMEM;
	uses->items[uses->count++] = use;
	return 0;
}

static int compare_uses(const void *left, const void *right)
{
	const struct build_use *a = left, *b = right;
	if (a->step->object != b->step->object)
		return a->step->object < b->step->object ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return build_gives(b->step) - build_gives(a->step);
}

void build_uses_sort(struct build_uses *uses)
{
	if (uses->count > 0)
		qsort(uses->items, uses->count, sizeof *uses->items, compare_uses);
}

size_t build_uses_end(const struct build_uses *uses, size_t from)
{
	size_t to = from;
	while (to < uses->count && uses->items[to].step->object == uses->items[from].step->object)
		to++;
	return to;
}
