/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Other programs on the same cores: `options.others` of them all along, whole ones first. Each taker has a core for a tick's
 * length at a time, an idle one if there is any; the thread that it takes it from goes to another core. It rests when it has had
 * more than its share and somebody waits for its core, or has had a whole turn more, until it has no more than its share.
 *
 * A thread that is woken while its core is taken waits in the queue there, until the taker rests or another core has nothing to do:
 * Linux shares a core out among programs first (autogroup, control groups), and who comes back there has a late deadline.
 */
#include "sim/cores.h"
#include "sim/fair.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A core is never away for good: somebody may wait there who finds no other. Less than the least is no program's. */
#define SHARE_MAX 0.98
#define SHARE_LEAST 0.001

/* A turn where slices do not end with ticks; when a thread can make room that stands between two operations. */
enum { TURN_NS = 4000000, AGAIN_NS = 1000 };

static double turn_of(const struct sim *sim)
{
	return sim->tick_ns ? (double)(int64_t)sim->tick_ns : TURN_NS;
}

static int rest(struct sim *sim, struct taker *taker, double surplus_ns)
{
	return timer_set(
		sim, taker->timer, sim->now_ns + 1 + (uint64_t)(surplus_ns / taker->share));
}

int others_start(struct sim *sim)
{
	double wanted = sim->options.others;
	if (sim->options.scheduler != SIM_FAIR || sim->cpu_count == 0 || !(wanted >= SHARE_LEAST))
		return 0;
	uint32_t count = (uint32_t)fmin(ceil(wanted / SHARE_MAX), sim->cpu_count);
	sim->takers = calloc(count, sizeof *sim->takers);
	int code = sim->takers ? 0 : -ENOMEM;
	for (; code == 0 && sim->taker_count < count; sim->taker_count++) {
		struct taker *taker = &sim->takers[sim->taker_count];
		taker->cpu = SIM_NONE;
		taker->last = sim->cpu_count - 1 - sim->taker_count;
		taker->share =
			fmin(fmax(wanted - SHARE_MAX * sim->taker_count, SHARE_LEAST), SHARE_MAX);
		code = timer_new(sim, TIMER_OTHERS, sim->taker_count, 0, &taker->timer);
		/* As if it had had a half of a turn too much. */
		if (code == 0)
			code = rest(sim, taker, (1 - taker->share) * turn_of(sim) / 2);
	}
	return code;
}

/* An idle one, the one that it had last of equals; SIM_NONE: none is left. */
static uint32_t choose(const struct sim *sim, const struct taker *taker)
{
	uint32_t best = sim->cpus[taker->last].is_taken ? SIM_NONE : taker->last;
	for (uint32_t i = 0; i < sim->cpu_count; i++)
		if (best == SIM_NONE ? !sim->cpus[i].is_taken
				     : bit_is_set(sim->idle, i) && !bit_is_set(sim->idle, best))
			best = i;
	return best;
}

static int begin_turn(struct sim *sim, struct taker *taker)
{
	uint32_t cpu = choose(sim, taker);
	int code = cpu == SIM_NONE ? -EBUSY : cores_take(sim, cpu);
	if (code == -EBUSY)
		return timer_set(sim, taker->timer, sim->now_ns + AGAIN_NS);
	if (code < 0)
		return code;
	taker->cpu = taker->last = cpu;
	taker->since_ns = sim->now_ns;
	return timer_set(sim, taker->timer, sim->now_ns + (uint64_t)turn_of(sim));
}

/* What it had more than its share. */
static double surplus(const struct sim *sim, const struct taker *taker)
{
	uint64_t had_ns = taker->had_ns + (sim->now_ns - taker->since_ns);
	return (double)(int64_t)had_ns - taker->share * (double)(int64_t)sim->now_ns;
}

int others_timer(struct sim *sim, uint32_t number)
{
	struct taker *taker = &sim->takers[number];
	if (taker->cpu == SIM_NONE)
		return begin_turn(sim, taker);
	double surplus_ns = surplus(sim, taker);
	taker->had_ns += sim->now_ns - taker->since_ns;
	taker->since_ns = sim->now_ns;
	double least = fair_is_waited_for(sim, taker->cpu) ? 0 : turn_of(sim);
	uint32_t cpu = taker->cpu;
	if (surplus_ns < least) {
		int code = cores_help(sim, cpu);
		return code < 0
			       ? code
			       : timer_set(sim, taker->timer, sim->now_ns + (uint64_t)turn_of(sim));
	}
	taker->cpu = SIM_NONE;
	int code = rest(sim, taker, surplus_ns);
	return code < 0 ? code : cores_return(sim, cpu);
}
