/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/period.h"

#include <errno.h>
#include <stdlib.h>

enum {
	LENGTH_MAX = 256,
	OUTSIDE_MAX = 256, /* arrivals before the first turn and after the last one */
	TURNS_LEAST = 3,
};

struct arrivals {
	uint32_t *symbols;
	size_t count;
};

/* Those of a graph's first thread. *ret_are_alike: whether all threads have the same. */
static int list_arrivals(const struct build_graph *graph, struct arrivals *ret, bool *ret_are_alike)
{
	size_t at = 0;
	ret->symbols = calloc(graph->visit_count + 1, sizeof *ret->symbols);
	if (!ret->symbols)
		return -ENOMEM;
	*ret_are_alike = true;
	for (size_t i = 0; i < graph->visit_count; i++) {
		const struct build_visit *visit = &graph->visits[i];
		if (i > 0 && visit->thread != visit[-1].thread) {
			*ret_are_alike &= visit[-1].thread == 0 || at == ret->count;
			at = 0;
		}
		if (visit->step->op != STEP_ARRIVE)
			continue;
		if (visit->thread == 0)
			ret->symbols[ret->count++] = visit->symbol;
		else
			*ret_are_alike &= at < ret->count && ret->symbols[at++] == visit->symbol;
	}
	size_t count = graph->visit_count;
	*ret_are_alike &= count == 0 || graph->visits[count - 1].thread == 0 || at == ret->count;
	return 0;
}

/* The longest stretch with this period around the middle, if it leaves little outside. */
static bool has_period(const struct arrivals *arrivals, size_t length, struct build_period *ret)
{
	const uint32_t *symbols = arrivals->symbols;
	size_t from = arrivals->count / 2, to = from;
	while (from > 0 && from - 1 + length < arrivals->count &&
		symbols[from - 1] == symbols[from - 1 + length])
		from--;
	while (to + length < arrivals->count && symbols[to] == symbols[to + length])
		to++;
	to += length;
	*ret = (struct build_period){ from, length, to };
	return to - from >= TURNS_LEAST * length && from + (arrivals->count - to) <= OUTSIDE_MAX &&
	       from + (arrivals->count - to) <= 2 * length;
}

/* Whether a barrier comes twice in a period. */
static bool tells_more(const struct arrivals *arrivals, const struct build_period *period)
{
	const uint32_t *symbols = &arrivals->symbols[period->prefix];
	for (size_t i = 0; i < period->length; i++)
		for (size_t j = 0; j < i; j++)
			if (symbols[i] == symbols[j])
				return true;
	return false;
}

int build_period_find(const struct build_graph *graph, struct build_period *ret)
{
	struct arrivals arrivals = { 0 };
	bool are_alike, is_found = false;
	*ret = (struct build_period){ 0 };
	int code = list_arrivals(graph, &arrivals, &are_alike);
	size_t most = arrivals.count / TURNS_LEAST;
	for (size_t length = 1;
		code == 0 && are_alike && !is_found && length <= most && length <= LENGTH_MAX;
		length++)
		is_found = has_period(&arrivals, length, ret);
	if (!is_found || !tells_more(&arrivals, ret))
		*ret = (struct build_period){ 0 };
	free(arrivals.symbols);
	return code;
}
