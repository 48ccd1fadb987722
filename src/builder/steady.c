/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the workload changed while it was recorded: how much the mean CPU time of each state differs
 * between the halves of the run, where that is more than three standard errors, weighted by what the
 * states cost in all. And how exactly a run of this length tells what its code costs.
 */
#include "builder/parts.h"

#include <math.h>

enum { VISITS_LEAST = 20 };

struct half {
	double count, sum, squares;
};

static double mean_of(const struct half *half)
{
	return half->sum / half->count;
}

/* Square of the standard error of the mean. */
static double error_of(const struct half *half)
{
	double variance = half->squares / half->count - mean_of(half) * mean_of(half);
	return variance / half->count;
}

/* CPU time of a state, and how much of it is a difference between the halves; both in ns. */
static void add_state(const struct build_graph *graph, const struct build_state *state,
	uint64_t middle_ns, double *cost, double *change)
{
	struct half halves[2] = { 0 };
	for (size_t i = 0; i < state->visits; i++) {
		const struct build_step *step = graph->visits[graph->order[state->first + i]].step;
		struct half *half = &halves[step->begin_ns >= middle_ns];
		half->count++;
		half->sum += (double)step->cpu_ns;
		half->squares += (double)step->cpu_ns * (double)step->cpu_ns;
	}
	*cost += halves[0].sum + halves[1].sum;
	if (halves[0].count < VISITS_LEAST || halves[1].count < VISITS_LEAST)
		return;
	double apart = fabs(mean_of(&halves[1]) - mean_of(&halves[0]));
	if (apart * apart > 9 * (error_of(&halves[0]) + error_of(&halves[1])))
		*change += apart * (halves[0].count + halves[1].count);
}

double build_unsteadiness(const struct build *build)
{
	double cost = 0, change = 0;
	uint64_t middle_ns =
		build->trace.start_ns + (build->trace.end_ns - build->trace.start_ns) / 2;
	for (size_t i = 0; i < build->groups.count; i++)
		for (size_t j = 0; j < build->graphs[i].state_count; j++)
			add_state(&build->graphs[i], &build->graphs[i].states[j], middle_ns, &cost,
				&change);
	return cost > 0 ? change / cost : 0;
}

/* Variance of the sum of a state's CPU times, whose number of visits is taken as given. */
static double variance_of_sum(const struct build_graph *graph, const struct build_state *state)
{
	double sum = 0, squares = 0, count = (double)state->visits;
	for (size_t i = 0; i < state->visits; i++) {
		double cpu = (double)graph->visits[graph->order[state->first + i]].step->cpu_ns;
		sum += cpu;
		squares += cpu * cpu;
	}
	return count > 1 ? count * (squares - sum * sum / count) / (count - 1) : 0;
}

double build_uncertainty(const struct build *build)
{
	double variance = 0, cost = (double)build_trace_cpu_ns(&build->trace);
	for (size_t i = 0; i < build->groups.count; i++)
		for (size_t j = 0; j < build->graphs[i].state_count; j++)
			variance += variance_of_sum(&build->graphs[i], &build->graphs[i].states[j]);
	return cost > 0 ? 2 * sqrt(variance) / cost : 0;
}
