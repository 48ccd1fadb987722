/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work that one thread of a team does alone while the others wait at a barrier for it (a serial part between two phases, an OpenMP
 * `single`). CPU time does not say who did it on whose behalf, but the rounds of a barrier do: in nearly each of them one arrival came
 * after LEAD times as much CPU time as any other. What it took beyond the others' is a lead. In the model whoever comes first
 * takes it, as a ticket from a queue of one that is full again when the barrier opens: one for each round, however many threads there are.
 *
 *	--> take the lead --> alone --> arrive
 *	      `--------refused--------^
 */
#include "builder/arrivals.h"
#include "builder/emit.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Exponential times would make one of two arrivals so long in two rounds of five, in nine of ten as good as never; LEAD_ROUNDS is
 * enough for that, and fewer are no loop. Leads that all together are less than a hundredth of the program's CPU time are left as they are. One
 * thread that leads in all rounds, of ONE_ROUNDS or more, is of another kind (outlier.h), unless the others do as good as nothing there or it is one of
 * OpenMP's, which loops give more to do.
 */
enum { LEAD = 4, ALONE = 20, LEAD_ROUNDS = 8, ONE_ROUNDS = 3, LEAD_OF = 100 };
static const double led_share = 0.9;

/* A round as its longest arrival sees it. */
struct led {
	const struct build_arrival *longest;
	double lead_ns; /* beyond the mean of the others */
	bool is_clear, is_alone;
};

static struct led judge_round(const struct build_arrival *arrivals, size_t count)
{
	struct led led = { .longest = arrivals };
	double sum = 0, second = 0;
	for (size_t i = 0; i < count; i++) {
		double cpu = (double)arrivals[i].step->cpu_ns;
		sum += cpu;
		if (i == 0)
			continue;
		double longest = (double)led.longest->step->cpu_ns;
		second = cpu > longest ? longest : cpu > second ? cpu : second;
		led.longest = cpu > longest ? &arrivals[i] : led.longest;
	}
	double longest = (double)led.longest->step->cpu_ns;
	led.lead_ns = longest - (sum - longest) / (double)(count - 1);
	led.is_clear = longest > 0 && longest >= LEAD * second;
	led.is_alone = longest > 0 && longest >= ALONE * second;
	return led;
}

/* Whether another one of those that arrive runs the same code: one that is alone in that has these times as its own. */
static bool has_like(const struct build_trace *trace, const struct build_arrival *arrivals,
	size_t count, uint32_t thread)
{
	for (size_t i = 0; i < count; i++)
		if (arrivals[i].thread != thread && trace->threads[arrivals[i].thread].routine ==
							    trace->threads[thread].routine)
			return true;
	return false;
}

/* Whether arrivals at one place, `from` to `to`, have a lead in each round. */
static bool are_led(
	const struct build_trace *trace, const struct build_arrivals *all, size_t from, size_t to)
{
	size_t team = arrivals_round_end(all, from) - from, rounds = 0, whole = 0, clear = 0,
	       alone = 0;
	double leads_ns = 0;
	bool is_one = true, has_alike = false;
	uint32_t leader = BUILD_NONE;
	if (team < 2)
		return false;
	for (size_t i = from; i < to; i = arrivals_round_end(all, i), rounds++) {
		if (arrivals_round_end(all, i) - i != team)
			continue;
		struct led led = judge_round(&all->items[i], team);
		is_one &= leader == BUILD_NONE || leader == led.longest->thread;
		leader = led.longest->thread;
		has_alike |= has_like(trace, &all->items[i], team, leader);
		leads_ns += led.lead_ns;
		clear += led.is_clear;
		alone += led.is_alone;
		whole++;
	}
	const struct build_thread *one = leader == BUILD_NONE ? NULL : &trace->threads[leader];
	bool is_any = !is_one || (double)alone >= led_share * (double)whole ||
		      (one && build_is_openmp(trace, one->pid, one->spawn_site));
	return whole >= (is_one ? ONE_ROUNDS : LEAD_ROUNDS) && is_any && has_alike &&
	       (double)whole >= led_share * (double)rounds &&
	       (double)clear >= led_share * (double)whole &&
	       leads_ns * LEAD_OF >= (double)build_trace_cpu_ns(trace);
}

void build_leads_find(struct build_trace *trace, const struct build_arrivals *all)
{
	for (size_t i = 0, to; i < all->count; i = to) {
		to = arrivals_place_end(all, i);
		size_t team = arrivals_round_end(all, i) - i;
		bool is_led = are_led(trace, all, i, to);
		for (size_t j = i; j < to && is_led; j = arrivals_round_end(all, j)) {
			if (arrivals_round_end(all, j) - j != team)
				continue;
			struct led led = judge_round(&all->items[j], team);
			led.longest->step->section = (uint64_t)led.lead_ns;
			led.longest->step->cpu_ns -= led.longest->step->section;
		}
	}
}

/* The leads at a state's place of the group's threads, and others of its pool; values: NULL: only how many. */
static size_t leads_of(const struct emitter *e, const struct build_state *state, double *values)
{
	const struct build *build = e->build;
	const struct build_trace *trace = &build->trace;
	size_t count = 0;
	for (uint32_t i = 0; i < trace->thread_count; i++) {
		uint32_t group = build->groups.of_thread[i];
		bool is_ours =
			group == e->index ||
			(e->pool && group != BUILD_NONE &&
				build_pool_of(build->pools, &build->groups, group) == e->pool);
		if (!is_ours)
			continue;
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_ARRIVE || step->section == 0 ||
				step->object != state->object || step->site != state->site)
				continue;
			if (values)
				values[count] = (double)step->section * 1e-9;
			count++;
		}
	}
	return count;
}

static int lead_queue(struct emitter *e, const struct build_state *state, uint32_t *ret)
{
	struct build *build = e->build;
	*ret = build_find_dealt(build, state, state->object);
	if (*ret != MODEL_NONE)
		return 0;
	int code = emit_ticket_queue(e, "lead", ret);
	if (code < 0)
		return code;
	build->model->objects[*ret].initial.value = 1;
	build->model->objects[*ret].refilled_by = build->objects[state->object];
	build_add_dealt(build, state, state->object, *ret);
	return 0;
}

static int add_lead(struct emitter *e, const struct build_state *state, size_t count)
{
	uint32_t arrive = e->fragments[state - e->graph->states], take = 0, alone = 0;
	uint32_t queue = MODEL_NONE;
	AUTO_FREE double *values = calloc(count, sizeof *values);
	int code = values ? lead_queue(e, state, &queue) : -ENOMEM;
	if (code == 0)
		code = emit_add_fragment(e, "take the lead", &take);
	if (code == 0)
		code = emit_add_fragment(e, "alone", &alone);
	if (code < 0)
		return code;
	(void)leads_of(e, state, values);
	emit_redirect(e, arrive, take);
	struct model_fragment *fragment = emit_fragment(e, take);
	fragment->op = MODEL_TRY_GET;
	fragment->object = queue;
	fragment->otherwise = arrive;
	fragment = emit_fragment(e, alone);
	fragment->op = MODEL_COMPUTE;
	code = build_dist(e->model, values, count, &fragment->cpu);
	if (code == 0)
		code = emit_only_edge(e, take, alone);
	return code < 0 ? code : emit_only_edge(e, alone, arrive);
}

int emit_leads(struct emitter *e)
{
	int code = 0;
	for (size_t i = 0; i < e->graph->state_count && code == 0; i++) {
		const struct build_state *state = &e->graph->states[i];
		size_t count = state->visits > 0 && state->op == STEP_ARRIVE
				       ? leads_of(e, state, NULL)
				       : 0;
		if (count > 0)
			code = add_lead(e, state, count);
	}
	return code;
}
