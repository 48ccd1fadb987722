/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a graph counts while it is walked, and what it tells afterwards. */
#include "base/mem.h"
#include "model/graph_parts.h"

#include <errno.h>
#include <string.h>

static uint64_t ended(const struct graph *graph)
{
	return (uint64_t)(graph->tally[GRAPH_SERVED] + graph->tally[GRAPH_FAILED] +
			  graph->tally[GRAPH_DROPPED]);
}

/* Of all instances together; times and lengths are means over them. */
static void stats_of_all(const struct graph *graph, size_t object, struct sim_object_stats *ret)
{
	const struct graph_object *of = &graph->objects[object];
	uint32_t instances = of->instances > 1 ? of->instances : 1;
	*ret = (struct sim_object_stats){ 0 };
	for (uint32_t i = 0; i < instances; i++) {
		struct sim_object_stats stats;
		sim_object_stats(graph->sim, of->kind, of->number + i, &stats);
		ret->uses += stats.uses;
		ret->waits += stats.waits;
		ret->waited_ns += stats.waited_ns;
		ret->held_ns += stats.held_ns;
		ret->length_ns += stats.length_ns / instances;
		ret->refused += stats.refused;
		if (stats.max_length > ret->max_length)
			ret->max_length = stats.max_length;
	}
	ret->held_ns /= instances;
}

/* What the engine counts, into the tally. */
void graph_take_counts(struct graph *graph)
{
	const struct model *model = graph->model;
	uint64_t now_ns = sim_now(graph->sim);
	graph->tally[GRAPH_TIME_S] = graph_seconds(now_ns);
	graph->tally[GRAPH_BUSY_S] = 0;
	for (uint32_t i = 0; i < graph->cores; i++)
		graph->tally[GRAPH_BUSY_S] += graph_seconds(sim_core_busy_ns(graph->sim, i));
	for (size_t i = 0; i < model->object_count; i++) {
		struct sim_object_stats stats;
		double *to = graph->tally + graph_object_at(model, i);
		stats_of_all(graph, i, &stats);
		to[GRAPH_USES] = (double)(int64_t)stats.uses;
		to[GRAPH_WAITS] = (double)(int64_t)stats.waits;
		to[GRAPH_WAITED_S] = graph_seconds(stats.waited_ns);
		to[GRAPH_HELD_S] = graph_seconds(stats.held_ns);
		to[GRAPH_AREA] = stats.length_ns * 1e-9;
		to[GRAPH_REFUSED] = (double)(int64_t)stats.refused;
	}
}

/* Whether the run's progress has reached the next mark. */
static bool is_mark_due(const struct graph *graph)
{
	if (graph->mark_count == GRAPH_MARKS)
		return false;
	uint64_t next = graph->mark_count;
	if (graph->request_limit)
		return ended(graph) * GRAPH_MARKS >= next * graph->request_limit;
	return graph->duration_ns && sim_now(graph->sim) >= graph->duration_ns / GRAPH_MARKS * next;
}

void graph_pass_marks(struct graph *graph)
{
	if (!is_mark_due(graph))
		return;
	graph_take_counts(graph);
	while (is_mark_due(graph)) {
		memcpy(graph->marks + graph->mark_count * graph->tally_size, graph->tally,
			graph->tally_size * sizeof *graph->tally);
		graph->mark_count++;
	}
}

static void count_served(struct graph *graph, double response_s)
{
	graph->tally[GRAPH_SERVED]++;
	if (mem_grow(&graph->responses, &graph->response_capacity, graph->response_count + 1,
		    sizeof *graph->responses) < 0)
		graph->failure = -ENOMEM;
	else
		graph->responses[graph->response_count++] = response_s;
}

void graph_count_end(struct graph *graph, double response_s, int status)
{
	if (status == 0) {
		count_served(graph, response_s);
	} else if (status > 0) {
		graph->tally[GRAPH_FAILED]++;
		graph->tally[GRAPH_FAILED_S] += response_s;
	} else {
		graph->tally[GRAPH_DROPPED]++;
	}
	graph_pass_marks(graph);
	if (graph->request_limit && ended(graph) >= graph->request_limit)
		graph->is_over = true;
}

size_t graph_object_at(const struct model *model, size_t object)
{
	(void)model;
	return GRAPH_FIXED + object * GRAPH_OBJECT;
}

size_t graph_part_at(const struct model *model, size_t part)
{
	return graph_object_at(model, model->object_count) + part * GRAPH_TIMED;
}

size_t graph_fragment_at(const struct model *model, size_t group, size_t fragment)
{
	for (size_t i = 0; i < group; i++)
		fragment += model->groups[i].fragment_count;
	return graph_part_at(model, model->part_count) + fragment * GRAPH_TIMED;
}

size_t graph_tally_size(const struct model *model)
{
	return graph_fragment_at(model, model->group_count, 0);
}

const double *graph_tally(const struct graph *graph)
{
	return graph->tally;
}

size_t graph_mark_count(const struct graph *graph)
{
	return graph->mark_count;
}

const double *graph_mark(const struct graph *graph, size_t mark)
{
	return graph->marks + mark * graph->tally_size;
}

const double *graph_responses(const struct graph *graph, size_t *ret_count)
{
	*ret_count = graph->response_count;
	return graph->responses;
}

uint64_t graph_object_peak(const struct graph *graph, size_t object)
{
	struct sim_object_stats stats;
	stats_of_all(graph, object, &stats);
	return stats.max_length;
}

uint32_t graph_cores(const struct graph *graph)
{
	return graph->cores;
}

uint32_t graph_threads(const struct graph *graph)
{
	return graph->threads;
}

uint64_t graph_lent(const struct graph *graph)
{
	return sim_lent_beyond_few(graph->sim);
}

static bool waits_for_others(const struct graph *graph, const struct walker *walker)
{
	if (walker->phase != PHASE_RESULT || walker->fragment >= MODEL_STOP)
		return false;
	enum model_op op = graph->groups[walker->group].fragments[walker->fragment].op;
	return op == MODEL_GET || op == MODEL_ARRIVE || op == MODEL_ACQUIRE || op == MODEL_WAIT;
}

uint64_t graph_stranded(const struct graph *graph)
{
	uint64_t count = 0;
	for (size_t group = 0; group < graph->model->group_count && !graph->is_over; group++) {
		uint64_t ended = 0, waiting = 0;
		for (size_t i = 0; i < graph->walker_count; i++) {
			const struct walker *walker = &graph->walkers[i];
			if (!walker->is_ready || walker->group != group)
				continue;
			ended += walker->fragment == MODEL_EXIT;
			waiting += waits_for_others(graph, walker);
		}
		count += ended > 0 ? waiting : 0;
	}
	return count;
}

uint64_t graph_unended(const struct graph *graph)
{
	uint64_t arrived = graph->begun;
	for (size_t i = 0; i < graph->model->source_count; i++) {
		struct sim_object_stats stats;
		sim_object_stats(graph->sim, SIM_SOURCES, (uint32_t)i, &stats);
		arrived += stats.uses;
	}
	return arrived - ended(graph);
}

uint64_t graph_event_count(const struct graph *graph)
{
	return sim_event_count(graph->sim);
}
