/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes off what recording itself cost: what the recorder says that it took or, where that is known, how long the same run takes
 * without one. The threads' parallelism is then taken to be the same in both, so that CPU time shrinks as wall time does. The cost is
 * one of each event (the recorder tells those of locks from others): every step loses the same, or all that it has but 1 ns (loops
 * take time); what more than COST_MAX_NS for each would be needed for is no recorder's (frequencies, other users of the machine), or of
 * calls that are not in the recording, and is taken off all in proportion.
 */
#include "builder/parts.h"

#include <math.h>

enum { COST_MAX_NS = 2000 }; /* of a probe: Tarvo and Reiss, section 5 */

enum { LOCKS, REST, KINDS };

static int kind_of(const struct build_step *step)
{
	bool is_lock =
		step->op == STEP_LOCK || step->op == STEP_READ_LOCK || step->op == STEP_UNLOCK;
	return is_lock && !(step->flags & STEP_WAITED) ? LOCKS : REST;
}

static double step_loses_ns(const struct build_step *step, double cost_ns)
{
	double has_ns = step->cpu_ns > 0 ? (double)step->cpu_ns - 1 : 0;
	return has_ns < cost_ns ? has_ns : cost_ns;
}

/* CPU time that steps of a kind (KINDS: all) lose if each loses at most so much. */
static double lost_ns(const struct build_trace *trace, int kind, double cost_ns)
{
	double sum = 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (kind == KINDS || kind_of(step) == kind)
				sum += step_loses_ns(step, cost_ns);
		}
	return sum;
}

/* The cost of an event with which steps lose `wanted_ns` in all, at most COST_MAX_NS. */
static double find_cost(const struct build_trace *trace, int kind, double wanted_ns)
{
	double least = 0, most = COST_MAX_NS;
	if (!(wanted_ns > 0))
		return 0;
	if (lost_ns(trace, kind, most) <= wanted_ns)
		return most;
	while (most - least > 0.5) { /* ns */
		double middle = (least + most) / 2;
		if (lost_ns(trace, kind, middle) < wanted_ns)
			least = middle;
		else
			most = middle;
	}
	return most;
}

static double find_costs(const struct build *build, double all_ns, double ret_costs_ns[KINDS])
{
	const struct build_trace *trace = &build->trace;
	double span_s = (double)(trace->end_ns - trace->start_ns) * 1e-9;
	if (build->opts.took_s > 0) {
		double wanted_ns = all_ns * (1 - build->opts.took_s / span_s);
		ret_costs_ns[LOCKS] = ret_costs_ns[REST] = find_cost(trace, KINDS, wanted_ns);
		return wanted_ns;
	}
	ret_costs_ns[LOCKS] = find_cost(trace, LOCKS, (double)build->opts.own.locks_ns);
	ret_costs_ns[REST] = find_cost(trace, REST, (double)build->opts.own.rest_ns);
	return (double)build->opts.own.locks_ns + (double)build->opts.own.rest_ns;
}

static void take_off(struct build_trace *trace, const double costs_ns[KINDS], double factor)
{
	for (size_t i = 0; i < trace->thread_count; i++) {
		uint64_t *kept_ns = &trace->threads[i].cpu_ns;
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			struct build_step *step = &trace->threads[i].steps[j];
			double left_ns =
				(double)step->cpu_ns - step_loses_ns(step, costs_ns[kind_of(step)]);
			*kept_ns -= step->cpu_ns;
			step->cpu_ns = (uint64_t)ceil(left_ns * factor);
			*kept_ns += step->cpu_ns;
		}
	}
}

void build_take_off(struct build *build)
{
	struct build_trace *trace = &build->trace;
	double all_ns = (double)build_trace_cpu_ns(trace), costs_ns[KINDS];
	double wanted_ns = find_costs(build, all_ns, costs_ns);
	if (!(wanted_ns > 0) || !(wanted_ns < all_ns))
		return;
	double by_event_ns =
		lost_ns(trace, LOCKS, costs_ns[LOCKS]) + lost_ns(trace, REST, costs_ns[REST]);
	double factor = by_event_ns < wanted_ns ? (all_ns - wanted_ns) / (all_ns - by_event_ns) : 1;
	take_off(trace, costs_ns, factor);
	build->lock_cost_ns = costs_ns[LOCKS];
	build->event_cost_ns = costs_ns[REST];
	build->cost_factor = factor;
	build->cost_share = wanted_ns / all_ns;
}
