/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes off what recording itself cost, where it is known how long the same run takes without it. The
 * threads' parallelism is taken to be the same in both, so that CPU time shrinks as wall time does. The cost is
 * one of each event: every step loses the same, or all that it has; what more than COST_MAX_NS for each
 * would be needed for is no recorder's (frequencies, other users of the machine), and is taken off all in
 * proportion.
 */
#include "builder/parts.h"

enum { COST_MAX_NS = 2000 }; /* of a probe: Tarvo and Reiss, section 5 */

/* CPU time that steps lose if each loses at most so much. */
static double lost_ns(const struct build_trace *trace, double cost_ns)
{
	double sum = 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			double cpu_ns = (double)trace->threads[i].steps[j].cpu_ns;
			sum += cpu_ns < cost_ns ? cpu_ns : cost_ns;
		}
	return sum;
}

/* The cost of an event with which steps lose `wanted_ns` in all, at most COST_MAX_NS. */
static double find_cost(const struct build_trace *trace, double wanted_ns)
{
	double least = 0, most = COST_MAX_NS;
	if (lost_ns(trace, most) <= wanted_ns)
		return most;
	while (most - least > 0.01) { /* ns */
		double middle = (least + most) / 2;
		if (lost_ns(trace, middle) < wanted_ns)
			least = middle;
		else
			most = middle;
	}
	return most;
}

void build_take_off(struct build *build)
{
	struct build_trace *trace = &build->trace;
	double span_s = (double)(trace->end_ns - trace->start_ns) * 1e-9;
	if (!(build->opts.took_s > 0) || !(span_s > build->opts.took_s))
		return;
	double all_ns = (double)build_trace_cpu_ns(trace);
	double wanted_ns = all_ns * (1 - build->opts.took_s / span_s);
	double cost_ns = find_cost(trace, wanted_ns), by_event_ns = lost_ns(trace, cost_ns);
	double factor = by_event_ns < wanted_ns && by_event_ns < all_ns
				? (all_ns - wanted_ns) / (all_ns - by_event_ns)
				: 1;
	for (size_t i = 0; i < trace->thread_count; i++) {
		uint64_t *kept_ns = &trace->threads[i].cpu_ns;
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			struct build_step *step = &trace->threads[i].steps[j];
			double cpu_ns = (double)step->cpu_ns;
			*kept_ns -= step->cpu_ns;
			step->cpu_ns =
				cpu_ns > cost_ns ? (uint64_t)((cpu_ns - cost_ns) * factor) : 0;
			*kept_ns += step->cpu_ns;
		}
	}
	build->event_cost_ns = cost_ns;
	build->cost_factor = factor;
}
