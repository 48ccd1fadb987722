/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the recorded machine's cores were like, as far as a recording without their events tells.
 *
 * Threads lose part of the cores to one another: two wait for one beside another that is idle, as the scheduler
 * has it. The rest went to other programs, or to the hypervisor. The replay is asked for the former; only what it
 * does not account for is taken from the cores. Otherwise a change that lets threads wait less for one another
 * would be predicted to be slowed by what they lost to one another in the recording. Where the recorder saw how much
 * others had, no more is taken, and no less.
 *
 * Linux looks for an idle core for a thread that is woken only among those that share a cache, if at all
 * (virtual machines may have it otherwise). Of the two ways the one is taken whose replay's time is nearer to
 * the measured one.
 */
#include "replay/parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What the cores could give depends on what threads lose to one another, which depends on that a little. */
enum { FIT_RUNS = 3 };

/* The kernel tells in such steps how long a core has idled. */
#define IDLE_GRAIN_NS 10e6

/* What active threads of a replay could use of the cores. */
struct wanted {
	uint32_t cores, active;
	uint64_t time_ns;
	double could_ns;
};

static int follow(void *context, const struct event *event, struct err *err)
{
	struct wanted *w = context;
	(void)err;
	w->could_ns += (double)(event->time_ns - w->time_ns) *
		       (w->active < w->cores ? w->active : w->cores);
	w->time_ns = event->time_ns;
	if (event->kind == EVENT_THREAD_START || event->kind == EVENT_WOKEN)
		w->active += event->what != WHAT_SPIN; /* who spins is active all along */
	else if (event->kind == EVENT_WAIT || event->kind == EVENT_THREAD_EXIT)
		w->active -= event->what != WHAT_SPIN && w->active > 0;
	return 0;
}

/* Replays; sets what threads lose to one another. 0, or as replay_run(). */
static int try_cores(struct replay *replay, double *ret_lost_ns, uint64_t *ret_ns)
{
	uint32_t meaning;
	struct wanted wanted = { .cores = replay->facts.cores };
	struct event_sink sink = { .context = &wanted, .event = follow };
	AUTO_FREE struct replay_time *times = calloc(replay->thread_count, sizeof *times);
	if (!times)
		return -ENOMEM;
	struct replay_run run = { .sink = &sink, .times = times };
	int code = replay_run(replay, &run, ret_ns, NULL);
	while (code == -EDEADLK && !replay_stuck(replay, 0, &meaning) && replay_settle(replay)) {
		wanted = (struct wanted){ .cores = replay->facts.cores };
		code = replay_run(replay, &run, ret_ns, NULL);
	}
	double lost_ns = wanted.could_ns;
	for (size_t i = 0; code == 0 && i < replay->thread_count; i++)
		lost_ns -= (double)times[i].ran_ns;
	*ret_lost_ns = lost_ns;
	return code;
}

/* What the cores gave, with one way of waking; how far the replay's time is off then. */
struct fit {
	bool wakes_in_place;
	double others; /* cores that others have in turns */
	uint64_t block_ns;
	double spare, full, crowded;
	double error; /* its size */
	bool is_short; /* the replay takes less time than the run did */
};

static void use(struct replay_facts *facts, const struct fit *fit)
{
	facts->wakes_in_place = fit->wakes_in_place;
	facts->block_ns = fit->block_ns;
	facts->others = fit->others;
	facts->available_spare = fit->spare;
	facts->available_full = fit->full;
	facts->available_crowded = fit->crowded;
}

/*
 * What a switch costs: where threads of the replay change places more often than were seen to sleep (who is woken in vain sleeps
 * again, of which nothing tells), as much CPU time in all as was seen.
 */
static uint64_t share_out(const struct replay *replay, uint64_t most_ns)
{
	bool is_less = replay->switches > replay->sleeps;
	return is_less ? replay->sleeps_cpu_ns / replay->switches : most_ns;
}

/* What others had of the cores within the run's time, ns; 0: as far as is known, nothing. */
static double others_seen(const struct replay *replay)
{
	const struct trace_others *seen = &replay->opts.others;
	double part = seen->wall_ns ? (double)replay->facts.measured_ns / (double)seen->wall_ns : 0;
	return fmin(part, 1) * (double)seen->cpu_ns;
}

/*
 * Others' time while the run wanted all cores, where it is believed to be `guess_ns`: what the recorder saw them have, less what
 * they may have had while the run left them some.
 */
static double others_of(const struct replay *replay, double guess_ns)
{
	const struct replay_facts *f = &replay->facts;
	if (replay->opts.others.wall_ns == 0)
		return guess_ns;
	double others_ns = others_seen(replay), grain_ns = f->cores * IDLE_GRAIN_NS;
	double left_ns = (double)f->measured_ns * f->cores - replay->could_full_ns;
	double most = fmin(others_ns + grain_ns, replay->lost_full_ns);
	return fmin(fmax(guess_ns, others_ns - grain_ns - left_ns), most);
}

static double slower(double share, double factor, double least)
{
	return fmin(share, fmax(share * factor, least));
}

/*
 * Who is woken where others have the cores waits for one, of which no event tells (of a pipe, say, who woke it is not recorded):
 * cores are slower by what the replay is short of, but by no more than what others had of them. 0, or as replay_run().
 */
static int fit_others(struct replay *replay, struct fit *fit)
{
	double all_ns = (double)replay->facts.measured_ns * replay->facts.cores;
	double least = 1 - others_seen(replay) / all_ns, lost_ns;
	uint64_t ns;
	if (!fit->is_short || !(least < 1))
		return 0;
	struct fit slow = *fit;
	slow.spare = slower(fit->spare, 1 - fit->error, least);
	slow.full = slower(fit->full, 1 - fit->error, least);
	slow.crowded = slower(fit->crowded, 1 - fit->error, least);
	use(&replay->facts, &slow);
	int code = try_cores(replay, &lost_ns, &ns);
	if (code < 0)
		return code;
	slow.error = fabs(replay_error(replay, ns));
	*fit = slow.error < fit->error ? slow : *fit;
	return 0;
}

/* How far such a replay is off, and what it loses to waits for cores. 0, or as replay_run(). */
static int try_fit(struct replay *replay, struct fit *fit, double *ret_lost_ns)
{
	uint64_t ns;
	use(&replay->facts, fit);
	int code = try_cores(replay, ret_lost_ns, &ns);
	if (code < 0)
		return code;
	double error = replay_error(replay, ns);
	fit->error = fabs(error);
	fit->is_short = error < 0;
	return 0;
}

/* From `found`, what the recording says. 0, or as replay_run(). */
static int fit_share(struct replay *replay, const struct fit *found, struct fit *fit)
{
	bool is_apart = found->spare != found->full;
	bool is_crowded_full = found->crowded == found->full;
	double full = 1;
	fit->block_ns = found->block_ns;
	for (int i = 0; i < FIT_RUNS; i++) {
		double lost_ns;
		fit->spare = is_apart ? found->spare : full;
		fit->full = full;
		fit->crowded = is_crowded_full ? full : fit->spare;
		int code = try_fit(replay, fit, &lost_ns);
		if (code < 0)
			return code;
		double others_ns = others_of(replay, replay->lost_full_ns - lost_ns);
		double next = others_ns > 0 ? 1 - others_ns / replay->could_full_ns : 1;
		uint64_t block_ns = share_out(replay, found->block_ns);
		if (i + 1 == FIT_RUNS || (next == full && block_ns == fit->block_ns))
			break;
		full = next;
		fit->block_ns = block_ns;
	}
	return 0;
}

/* Others have the cores in turns, as far as the recorder saw them. 0, or as replay_run(). */
static int fit_turns(struct replay *replay, const struct fit *found, struct fit *fit)
{
	double lost_ns;
	fit->others = others_seen(replay) / (double)replay->facts.measured_ns;
	fit->spare = fit->full = fit->crowded = 1;
	fit->block_ns = found->block_ns;
	for (int i = 0; i < 2; i++) {
		int code = try_fit(replay, fit, &lost_ns);
		if (code < 0)
			return code;
		uint64_t block_ns = share_out(replay, found->block_ns);
		if (block_ns == fit->block_ns || i > 0)
			break;
		fit->block_ns = block_ns;
	}
	return 0;
}

/* All ways are played alike: when one comes to a deadlock that those before did not, once more. */
static int fit_ways(struct replay *replay, const struct fit *found, struct fit *best)
{
	uint32_t settled;
	bool dealt_anew;
	do {
		settled = replay->settled;
		dealt_anew = replay->deals_anew;
		best->error = INFINITY;
		for (int way = 0; way < 4; way++) {
			struct fit fit = { .wakes_in_place = way & 1 };
			if (way & 2 && !(others_seen(replay) > 0))
				break;
			int code = way & 2 ? fit_turns(replay, found, &fit)
					   : fit_share(replay, found, &fit);
			if (code == 0 && !(way & 2))
				code = fit_others(replay, &fit);
			if (code < 0)
				return code;
			if (fit.error < best->error)
				*best = fit;
		}
	} while (replay->settled != settled || replay->deals_anew != dealt_anew);
	return 0;
}

int replay_fit(struct replay *replay, struct err *err)
{
	struct replay_facts *f = &replay->facts;
	struct fit best = { 0 };
	struct fit found = { .wakes_in_place = f->wakes_in_place,
		.block_ns = f->block_ns,
		.spare = f->available_spare,
		.full = f->available_full,
		.crowded = f->available_crowded };
	if (!f->has_cpu_times || replay->opts.stretch || !(replay->could_full_ns > 0))
		return 0;
	int code = fit_ways(replay, &found, &best);
	/* A replay that does not come to its end says so when it is asked for. */
	use(f, code < 0 ? &found : &best);
	return code == -ENOMEM ? err_set(err, code, "out of memory") : 0;
}
