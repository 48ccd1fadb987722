/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What chance decides in a graph: how often, and which way. */
#include "base/mem.h"
#include "model/graph_parts.h"

#include <errno.h>
#include <math.h>

/* So many times one more that all draws together are as many as they should be. */
static uint64_t pay_fraction(const struct graph_count *count)
{
	static const double slack = 1e-9; /* sums of fractions like 1/3 are not exact */
	*count->owed += count->fraction;
	bool is_due = *count->owed > 1 - slack;
	*count->owed -= is_due;
	return is_due;
}

uint64_t graph_draw_count(struct graph *graph, const struct graph_count *count)
{
	if (!count->entry_count)
		return count->fixed + (count->owed ? pay_fraction(count) : 0);
	if (count->deck)
		return count->entries[deck_draw(count->deck, &graph->rng)].count;
	double draw = rng_uniform(&graph->rng), sum = 0;
	uint32_t i = 0;
	for (; i + 1 < count->entry_count; i++) {
		sum += count->entries[i].probability;
		if (draw < sum)
			break;
	}
	return count->entries[i].count;
}

/* The factor of CPU time that it is the turn of. */
static double course_factor(const struct walker *walker, struct graph_course *course)
{
	double at;
	if (course->threads == 0) {
		at = (double)(int64_t)course->visited++ / course->visits;
	} else {
		double threads = (double)course->threads;
		double own = (double)(int64_t)walker->courses[course->index]++;
		at = (walker->number % course->threads) / threads + own / course->visits;
	}
	at -= floor(at);
	uint32_t index = (uint32_t)(at * course->factor_count);
	return course->factors[index < course->factor_count ? index : course->factor_count - 1];
}

static uint64_t draw_cpu(struct graph *graph, const struct graph_fragment *fragment)
{
	if (!fragment->cpu_deck)
		return sim_draw(&fragment->cpu, &graph->rng);
	uint32_t part = deck_draw(fragment->cpu_deck, &graph->rng);
	return sim_quantile(
		&fragment->cpu, (part + rng_uniform(&graph->rng)) / fragment->cpu_parts);
}

uint64_t graph_draw_cpu(
	struct graph *graph, const struct walker *walker, struct graph_fragment *fragment)
{
	uint64_t ns = draw_cpu(graph, fragment);
	if (fragment->course.factor_count == 0)
		return ns;
	return (uint64_t)((double)(int64_t)ns * course_factor(walker, &fragment->course) + 0.5);
}

/* What it is the thread's turn of. */
static uint32_t next_in_order(const struct walker *walker, const struct graph_fragment *fragment)
{
	const uint64_t *up_to = fragment->order_up_to;
	uint32_t from = 0, to = fragment->order_count - 1;
	uint64_t turn = walker->courses[fragment->order_index]++ % up_to[to];
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (turn < up_to[middle])
			to = middle;
		else
			from = middle + 1;
	}
	return fragment->order[from].which;
}

uint64_t graph_draw_turns(
	struct graph *graph, const struct walker *walker, const struct graph_fragment *fragment)
{
	if (!fragment->order)
		return graph_draw_count(graph, &fragment->count);
	return fragment->count.entries[next_in_order(walker, fragment)].count;
}

uint32_t graph_draw_edge(
	struct graph *graph, const struct walker *walker, const struct graph_fragment *fragment)
{
	if (fragment->edge_count == 0)
		return MODEL_EXIT;
	if (fragment->edge_count == 1)
		return fragment->edges[0].to;
	if (fragment->order)
		return fragment->edges[next_in_order(walker, fragment)].to;
	if (fragment->deck)
		return fragment->edges[deck_draw(fragment->deck, &graph->rng)].to;
	double draw = rng_uniform(&graph->rng);
	uint32_t i = 0;
	while (i + 1 < fragment->edge_count && draw >= fragment->edges[i].up_to)
		i++;
	return fragment->edges[i].to;
}

uint64_t graph_draw_together(struct graph *graph, struct graph_fragment *fragment, uint64_t n)
{
	if (mem_grow(&fragment->turns, &fragment->turn_capacity, (size_t)n + 1,
		    sizeof *fragment->turns) < 0) {
		graph->failure = -ENOMEM;
		return 0;
	}
	while (fragment->turn_count <= n)
		fragment->turns[fragment->turn_count++] = graph_draw_count(graph, &fragment->count);
	return fragment->turns[n];
}
