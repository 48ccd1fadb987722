/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a wait costs, and how much of the cores the run got. */
#include "replay/parts.h"

enum { SLEEPS_LEAST = 8 };

/* Of what the cores could have given, at least so much in either state, to tell the two apart. */
#define APART_LEAST 0.05

/* A thread that was woken cannot use a core before it is awake; what is longer is the machine's. */
static double waking_up(const struct replay *replay, bool is_last_core)
{
	double most = (double)replay->facts.wake_ns * (double)replay->woken.count[is_last_core];
	double all = (double)replay->woken.sum_ns[is_last_core];
	return most < all ? most : all;
}

static double share(double part, double whole)
{
	return part > 0 && part < whole ? part / whole : 1;
}

/*
 * What the run got of the cores while it wanted fewer than there are, by regression over stretches of
 * its threads, and, from what is left, while it wanted all.
 */
static void set_available(struct replay *replay, double used_ns)
{
	struct replay_facts *f = &replay->facts;
	double spare_ns = 0, full_ns = 0, crowded_ns = 0;
	for (uint32_t i = 1; i <= LOAD_ACTIVE_MAX; i++) {
		double could_ns = (double)replay->active_ns[i] * (i < f->cores ? i : f->cores);
		spare_ns += i < f->cores ? could_ns : 0;
		full_ns += i < f->cores ? 0 : could_ns;
		crowded_ns += i < 2 * f->cores ? 0 : could_ns;
	}
	spare_ns -= waking_up(replay, 0);
	full_ns -= waking_up(replay, 1);
	f->available = share(used_ns, spare_ns + full_ns);
	f->available_spare = f->available_full = f->available_crowded = f->available;
	replay->could_full_ns = spare_ns + full_ns;
	replay->lost_full_ns = (1 - f->available) * replay->could_full_ns;
	double determinant = replay->sums.ss * replay->sums.ff - replay->sums.sf * replay->sums.sf;
	double least_ns = APART_LEAST * (spare_ns + full_ns);
	if (!(determinant > 0) || spare_ns < least_ns || full_ns < least_ns)
		return;
	double spare = (replay->sums.sc * replay->sums.ff - replay->sums.fc * replay->sums.sf) /
		       determinant;
	/* Both between 0 and 1, and together what was used. */
	double most = share(used_ns, spare_ns), least = (used_ns - full_ns) / spare_ns;
	spare = spare < least ? least : spare > most ? most : spare;
	spare = spare < 1 ? spare : 1; /* `least` is above where more was used than there was */
	double full = (used_ns - spare * spare_ns) / full_ns;
	/* Who wants less gets no smaller part of it, and who wants all gets some. */
	if (!(full >= APART_LEAST && spare >= full))
		return;
	f->available_spare = spare;
	f->available_full = full < 1 ? full : 1;
	replay->could_full_ns = full_ns;
	replay->lost_full_ns = (1 - f->available_full) * full_ns;
	/* Two threads that share a core beside an idle one do so when there are few: not if never seen. */
	f->available_crowded = crowded_ns < least_ns ? f->available_spare : f->available_full;
}

/* What wake-ups take; the waker's part out of the work, and the other's out of the time that it was away. */
static void settle_wakes(struct replay *replay)
{
	if (!replay->wakes)
		return;
	replay->woken = wakes_find(replay->wakes);
	replay->facts.wake_cost_ns = replay->woken.cost_ns;
	uint64_t latency_ns =
		replay->woken.latency_ns ? replay->woken.latency_ns : replay->opts.wakes.latency_ns;
	for (size_t i = 0; i < replay->thread_count; i++)
		for (size_t j = 0; j < replay->threads[i].count; j++) {
			struct step *step = &replay->threads[i].steps[j];
			step->work_ns =
				wakes_left(step->work_ns, step->wakes, replay->woken.cost_ns);
			if (step->kind == STEP_SLEEP && step->is_late && !step->is_poll)
				step->amount = wakes_left(step->amount, 1, latency_ns);
		}
}

void costs_settle(struct replay *replay)
{
	struct replay_facts *f = &replay->facts;
	double used_ns = 0;
	settle_wakes(replay);
	f->cores = replay->opts.cores                      ? replay->opts.cores
		   : replay->has_cores_seen                ? replay->on_core_max
		   : replay->active_max > REPLAY_CORES_MAX ? REPLAY_CORES_MAX
							   : replay->active_max;
	if (f->cores == 0)
		f->cores = 1;
	f->has_cores = replay->opts.cores > 0 || replay->has_cores_seen;
	f->has_cpu_times = true;
	for (size_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		f->has_cpu_times &= thread->has_cpu || thread->count <= 1;
		used_ns += (double)thread->total_cpu_ns;
		f->operations += thread->count;
	}
	if (!f->has_cpu_times || replay->opts.stretch) {
		f->available = f->available_spare = 1;
		f->available_full = f->available_crowded = 1;
		return;
	}
	f->wake_ns = replay->woken.latency_ns;
	f->block_ns = replay->sleeps < SLEEPS_LEAST ? 0 : replay->sleeps_cpu_ns / replay->sleeps;
	set_available(replay, used_ns);
}
