/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/regions.h"

/* More are no program's text, but a loop, however it begins. */
enum { REGIONS_MAX = 16 };

struct sequence {
	uint32_t symbols[REGIONS_MAX];
	size_t count;
};

/* Of the thread whose visits begin at *from, which moves behind them; false: there are too many. */
static bool find_sequence(const struct build_graph *graph, size_t *from, struct sequence *ret)
{
	uint32_t thread = graph->visits[*from].thread;
	ret->count = 0;
	for (; *from < graph->visit_count && graph->visits[*from].thread == thread; ++*from) {
		const struct build_visit *visit = &graph->visits[*from];
		if (visit->step->op != STEP_ARRIVE)
			continue;
		if (ret->count == REGIONS_MAX)
			return false;
		ret->symbols[ret->count++] = visit->symbol;
	}
	return true;
}

static bool is_same(const struct sequence *a, const struct sequence *b)
{
	bool is = a->count == b->count;
	for (size_t i = 0; is && i < a->count; i++)
		is = a->symbols[i] == b->symbols[i];
	return is;
}

/* As each one so many places further. */
static bool repeats(const struct sequence *sequence, size_t period)
{
	bool does = true;
	for (size_t i = period; does && i < sequence->count; i++)
		does = sequence->symbols[i] == sequence->symbols[i - period];
	return does;
}

bool build_has_regions(const struct build_graph *graph)
{
	struct sequence first, other;
	size_t at = 0;
	if (graph->visit_count == 0 || !find_sequence(graph, &at, &first))
		return false;
	while (at < graph->visit_count)
		if (!find_sequence(graph, &at, &other) || !is_same(&first, &other))
			return false;
	for (size_t period = 1; period < first.count; period++)
		if (repeats(&first, period))
			return false;
	return first.count > 1;
}
