/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune/tuner.h"

#include "base/mem.h"
#include "tune/change.h"
#include "tune/gap.h"
#include "tune/interval.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double FALSE_ALARM = 1e-4;
/* Chance to leave a count that is tried before its interval is whole though it does as well as the best one: it is known less well. */
static const double LEFT_EARLY = 0.01;
/* From how many intervals on their standard deviation is worth something; how many of it are believed. */
enum { CLIP_FROM = 4, CLIP_AT = 3, THREADS_MAX = 65536 };

/* Relative: what scatters less does not scatter less in truth. */
static const double SCATTER_MIN = 1e-3;

/* Of a count that is held, so many parts together show that it is no longer as it was. */
enum { LAST_PARTS = 2 };

/* Of an interval: what a look costs beside the performance, to go there and back. */
static const double LOOK_COST = 0.1;

/* Performance at one count, as it comes in. */
struct level {
	double sum, square; /* of logarithms less the first */
	double first;
	double share; /* how many intervals that is, of whole ones */
	uint64_t seen; /* number of the last interval */
	double held_at; /* logarithm of what was known of it when it was held first; NAN: it was not */
};

/* An interval while a count was held. */
struct held_interval {
	uint32_t threads;
	double performance, share;
};

struct tuner {
	struct tuner_opts opts;
	struct rng rng;
	void *policy_state;
	struct tune_point *points;
	struct level *levels; /* of the same point */
	size_t point_count, point_capacity, level_capacity;
	struct interval interval;
	struct change change; /* of logarithms less held_at of their counts, whichever is held */
	struct held_interval intervals[CHANGE_WINDOW]; /* of the same values */
	uint64_t interval_count;
	/* Count of which is known what may be of the workload before, in part; 0: none. */
	uint32_t doubtful;
	double allowance; /* for looks at counts that were measured, in intervals */
	double untried_allowance; /* for looks at others */
	bool is_controlled; /* a look has shown that the workload had not grown since its count was measured */
	struct tuner_decision last;
};

struct tune_set tuner_measurements(const struct tuner *tuner)
{
	return (struct tune_set){ .points = tuner->points, .count = tuner->point_count };
}

void tuner_free(struct tuner *tuner)
{
	if (!tuner)
		return;
	free(tuner->policy_state);
	free(tuner->points);
	free(tuner->levels);
	free(tuner);
}

/* Makes room for a point at its place; the index, or -ENOMEM. */
static int insert_point(struct tuner *tuner, uint32_t threads, double performance)
{
	size_t need = tuner->point_count + 1;
	if (mem_grow(&tuner->points, &tuner->point_capacity, need, sizeof *tuner->points) < 0 ||
		mem_grow(&tuner->levels, &tuner->level_capacity, need, sizeof *tuner->levels) < 0)
		return -ENOMEM;
	size_t at = tuner->point_count;
	while (at > 0 && tuner->points[at - 1].threads > threads)
		at--;
	size_t behind = tuner->point_count - at;
	memmove(&tuner->points[at + 1], &tuner->points[at], behind * sizeof *tuner->points);
	memmove(&tuner->levels[at + 1], &tuner->levels[at], behind * sizeof *tuner->levels);
	tuner->points[at] = (struct tune_point){ .threads = threads };
	tuner->levels[at] = (struct level){ .first = log(performance), .held_at = NAN };
	tuner->point_count++;
	return (int)at;
}

/* The geometric mean of a count's intervals, and its relative standard error once there are several. */
static int take_in(struct tuner *tuner, uint32_t threads, double performance, double share)
{
	struct tune_set set = tuner_measurements(tuner);
	const struct tune_point *known = tune_set_find(&set, threads);
	int at = known ? (int)(known - tuner->points) : insert_point(tuner, threads, performance);
	if (at < 0)
		return at;
	struct tune_point *p = &tuner->points[at];
	struct level *level = &tuner->levels[at];
	if (threads == tuner->doubtful) { /* this is better knowledge */
		tuner->doubtful = 0;
		*p = (struct tune_point){ .threads = threads };
		*level = (struct level){ .first = log(performance), .held_at = NAN };
	}
	level->seen = tuner->interval_count;
	level->share += share;
	double y = log(performance) - level->first;
	if (p->intervals >= CLIP_FROM) {
		/* Huber's clipping: a stutter now and then does not move what is known of a count. */
		double mean = level->sum / p->intervals;
		double reach = CLIP_AT * fmax(p->spread * sqrt(p->intervals), SCATTER_MIN);
		y = fmin(fmax(y, mean - reach), mean + reach);
	}
	double n = ++p->intervals;
	level->sum += y;
	level->square += y * y;
	p->performance = exp(level->first + level->sum / n);
	if (n > 1) {
		double variance = fmax(level->square - level->sum * level->sum / n, 0) / (n - 1);
		p->spread = sqrt(variance / n);
	}
	return 0;
}

/* The first look behind a search does not wait until it was saved for. */
static void begin_control(struct tuner *tuner)
{
	tuner->is_controlled = false;
	tuner->allowance = LOOK_COST;
	tuner->untried_allowance = 0;
}

static void forget(struct tuner *tuner)
{
	tuner->point_count = 0;
	tuner->doubtful = 0;
	begin_control(tuner);
	interval_doubt(&tuner->interval);
	memset(tuner->policy_state, 0, tuner->opts.policy->state_bytes);
	change_reset(&tuner->change);
	tuner->last.steps = 0;
	tuner->last.state = TUNER_SEARCHING;
}

/* Performance of a count that is held, against what was known of it when it was held first. */
static enum change_verdict watch(struct tuner *tuner, const struct tune_point *held,
	double performance, double share, size_t *ret_first)
{
	struct held_interval *intervals = tuner->intervals;
	struct level *level = &tuner->levels[held - tuner->points];
	size_t at = tuner->change.count;
	if (at == CHANGE_WINDOW) /* as change_add() does */
		memmove(intervals, intervals + 1, --at * sizeof *intervals);
	intervals[at] = (struct held_interval){ held->threads, performance, share };
	if (isnan(level->held_at))
		level->held_at = log(held->performance);
	if (at == 0) /* later parts may be of another workload, and scatter as it does */
		tuner->change.noise = interval_noise(&tuner->interval);
	return change_add(&tuner->change, log(performance) - level->held_at,
		tuner->opts.false_alarm, ret_first);
}

static int decide(struct tuner *tuner, struct err *err)
{
	struct tuner_decision *d = &tuner->last;
	struct tune_set set = tuner_measurements(tuner);
	set.held = d->state == TUNER_HOLDING ? d->threads : 0;
	struct tune_choice choice;
	if (tuner->opts.policy->choose(
		    &tuner->opts.space, &set, tuner->policy_state, &tuner->rng, &choice) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (choice.is_settled && tuner->doubtful != 0)
		choice = (struct tune_choice){ .threads = tuner->doubtful,
			.gain = NAN,
			.reason = "once more: the workload changed meanwhile" };
	enum tuner_state state = choice.is_settled ? TUNER_HOLDING : TUNER_SEARCHING;
	size_t first;
	if (choice.is_settled &&
		tuner->change.count == 0) { /* what the search saw of it is the level */
		const struct tune_point *held = tune_set_find(&set, choice.threads);
		/* One value is no change. */
		(void)watch(tuner, held, held->performance, 1, &first);
	}
	d->threads = d->held = choice.threads;
	d->is_look = false;
	d->state = state;
	if (isnan(choice.gain))
		(void)snprintf(d->why, sizeof d->why, "%s", choice.reason); /* may be cut */
	else
		(void)snprintf(
			d->why, sizeof d->why, "%s (%+.1f%%)", choice.reason, 100 * choice.gain);
	return 0;
}

/* What is lost in an interval of this count, of the performance of the one that is held. */
static double loss_of(const struct tuner *tuner, double performance)
{
	struct tune_set set = tuner_measurements(tuner);
	return fmax(1 - performance / tune_set_find(&set, tuner->last.held)->performance, 0);
}

/* The count, but the held one, that was not measured for longest; 0: there is none. */
static uint32_t find_oldest(const struct tuner *tuner)
{
	const struct tune_point *points = tuner->points;
	size_t oldest = tuner->point_count;
	for (size_t i = 0; i < tuner->point_count; i++)
		if (points[i].threads != tuner->last.held &&
			(oldest == tuner->point_count ||
				tuner->levels[i].seen < tuner->levels[oldest].seen))
			oldest = i;
	return oldest < tuner->point_count ? points[oldest].threads : 0;
}

/*
 * At the count that was not measured for longest, or at one between counts that never was: an equal share of the work may be
 * spent on either. What looks cost beyond what was saved for them is saved before the next.
 */
static void look_elsewhere(struct tuner *tuner, double share)
{
	struct tuner_decision *d = &tuner->last;
	if (d->state != TUNER_HOLDING)
		return;
	tuner->allowance += tuner->opts.look * share;
	tuner->untried_allowance += tuner->opts.look * share;
	uint32_t oldest = tuner->allowance < LOOK_COST ? 0 : find_oldest(tuner);
	struct tune_set set = tuner_measurements(tuner);
	uint32_t untried = oldest || tuner->untried_allowance < LOOK_COST
				   ? 0
				   : gap_choose(&tuner->opts.space, &set, d->held, LOOK_COST,
					     interval_noise(&tuner->interval));
	if (!oldest && !untried)
		return;
	d->threads = oldest ? oldest : untried;
	d->is_look = true;
	(void)snprintf(d->why, sizeof d->why,
		oldest ? "a look whether %u is still better"
		       : "a look whether it is better than %u",
		d->held);
}

int tuner_new(const struct tuner_opts *opts, struct tuner **ret, struct tuner_decision *ret_first,
	struct err *err)
{
	if (opts->space.max < 1 || opts->space.max > THREADS_MAX ||
		opts->space.min > opts->space.max)
		return err_set(err, -EINVAL, "cannot choose among %u to %u threads",
			opts->space.min, opts->space.max);
	AUTO(tuner) struct tuner *tuner = calloc(1, sizeof *tuner);
	if (!tuner)
		return err_set(err, -ENOMEM, "out of memory");
	tuner->opts = *opts;
	if (!tuner->opts.policy)
		tuner->opts.policy = tune_policies[0];
	if (tuner->opts.space.min == 0)
		tuner->opts.space.min = 1;
	if (tuner->opts.false_alarm <= 0)
		tuner->opts.false_alarm = FALSE_ALARM;
	begin_control(tuner);
	rng_init(&tuner->rng, opts->seed);
	tuner->policy_state = calloc(1, tuner->opts.policy->state_bytes + 1);
	if (!tuner->policy_state)
		return err_set(err, -ENOMEM, "out of memory");
	int code = decide(tuner, err);
	if (code < 0)
		return code;
	*ret_first = tuner->last;
	*ret = TAKE(tuner);
	return 0;
}

/* The first interval behind a change may be of both workloads: if its count was measured again, it is of no use. */
static bool is_measured_again(const struct tuner *tuner, size_t first)
{
	for (size_t i = first + 1; i < tuner->change.count; i++)
		if (tuner->intervals[i].threads == tuner->intervals[first].threads)
			return true;
	return false;
}

/* Starts over with what the intervals since the change say of the counts that were held. */
static int start_over(struct tuner *tuner, size_t first, struct err *err)
{
	size_t count = tuner->change.count;
	bool is_doubtful = !is_measured_again(tuner, first);
	forget(tuner);
	for (size_t i = is_doubtful ? first : first + 1; i < count; i++) {
		const struct held_interval *h = &tuner->intervals[i];
		if (take_in(tuner, h->threads, h->performance, h->share) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	if (is_doubtful)
		tuner->doubtful = tuner->intervals[first].threads;
	return decide(tuner, err);
}

/* The best count but this one; NULL: none was measured. */
static const struct tune_point *best_other(const struct tuner *tuner, uint32_t threads)
{
	const struct tune_point *best = NULL;
	for (size_t i = 0; i < tuner->point_count; i++) {
		const struct tune_point *p = &tuner->points[i];
		if (p->threads != threads && (!best || p->performance > best->performance))
			best = p;
	}
	return best;
}

/*
 * Whether the interval is over: it is whole, or says enough. Of a count that is tried, that is whether it is better or worse
 * than the best one; of one that is held, whether it is as it was: then only the last parts may be of another workload.
 */
static bool is_over(const struct tuner *tuner, size_t *ret_from)
{
	const struct interval *interval = &tuner->interval;
	const struct tuner_decision *d = &tuner->last;
	struct tune_set set = tuner_measurements(tuner);
	bool is_trial = d->state == TUNER_SEARCHING || d->is_look;
	const struct tune_point *other =
		is_trial ? best_other(tuner, d->threads) : tune_set_find(&set, d->threads);
	size_t from = is_trial || interval->count < LAST_PARTS ? 0 : interval->count - LAST_PARTS;
	if (other && interval_differs(interval, from, other->performance,
			     tuner->levels[other - set.points].share,
			     is_trial ? LEFT_EARLY : tuner->opts.false_alarm)) {
		*ret_from = from;
		return true;
	}
	*ret_from = 0;
	return interval_is_whole(interval);
}

/*
 * A look at a count that does still worse says nothing against the one that is held, however it has changed: that may be the noise of
 * a crowded lock, of which the held count has none. What was known of it is replaced; the policy may make something of it.
 */
static bool look_is_worse(struct tuner *tuner, const struct tune_point *known, double performance)
{
	const struct tuner_decision *d = &tuner->last;
	struct tune_set set = tuner_measurements(tuner);
	if (!d->is_look || performance >= tune_set_find(&set, d->held)->performance)
		return false;
	if (interval_noise(&tuner->interval) > 0 &&
		fabs(log(performance / known->performance)) >
			CLIP_AT * interval_noise(&tuner->interval))
		tuner->doubtful = d->threads;
	return true;
}

/*
 * Looks behind a search begin with the count that it measured first. If that does more now, the workload may have grown during the
 * search: this is what is known of it from here on, and the next one is looked at as well. The first that has not grown was measured
 * when the workload had, and so were those behind it.
 */
static bool has_grown(
	struct tuner *tuner, const struct tune_point *known, double performance, double share)
{
	if (!tuner->last.is_look || !known || tuner->is_controlled)
		return false;
	double noise = interval_noise(&tuner->interval);
	double error = noise * sqrt(1 / share + 1 / tuner->levels[known - tuner->points].share);
	bool is_grown = noise > 0 && log(performance / known->performance) > CLIP_AT * error;
	tuner->is_controlled = !is_grown;
	if (is_grown) {
		tuner->doubtful = known->threads;
		tuner->allowance = LOOK_COST;
	}
	return is_grown;
}

/* An interval has ended, and the next begins. */
static int end_interval(struct tuner *tuner, double performance, double share, struct err *err)
{
	struct tuner_decision *d = &tuner->last;
	struct tune_set set = tuner_measurements(tuner);
	const struct tune_point *known = tune_set_find(&set, d->threads);
	enum change_verdict verdict = CHANGE_NONE;
	size_t first = 0;
	tuner->interval_count++;
	share = fmin(share, 1); /* who was late measured one interval nevertheless */
	d->is_decided = true;
	d->performance = performance;
	if (d->is_look)
		*(known ? &tuner->allowance : &tuner->untried_allowance) -=
			LOOK_COST +
			share * loss_of(tuner, known ? known->performance : performance);
	bool is_grown = has_grown(tuner, known, performance, share);
	bool looks_on = !d->is_look || is_grown;
	if (d->state == TUNER_HOLDING && known && !is_grown &&
		!look_is_worse(tuner, known, performance))
		verdict = watch(tuner, known, performance, share, &first);
	else if (d->state == TUNER_SEARCHING)
		d->steps++;
	if (verdict == CHANGE_SEEN) {
		d->has_restarted = true;
		return start_over(tuner, first, err);
	}
	if (verdict == CHANGE_SUSPECTED)
		return 0;
	int code = take_in(tuner, d->threads, performance, share);
	d->threads = d->held;
	code = code < 0 ? err_set(err, code, "out of memory") : decide(tuner, err);
	if (code == 0 && tuner->opts.look > 0 && looks_on)
		look_elsewhere(tuner, share);
	return code;
}

int tuner_measured(struct tuner *tuner, double performance, double share,
	struct tuner_decision *ret, struct err *err)
{
	struct tuner_decision *d = &tuner->last;
	size_t from;
	int code = 0;
	d->has_restarted = d->is_decided = false;
	if (isfinite(performance) && performance > 0) {
		interval_add(&tuner->interval, performance, share);
		if (is_over(tuner, &from)) {
			double mean = interval_mean(&tuner->interval, from, &share);
			interval_end(&tuner->interval, from);
			code = end_interval(tuner, mean, share, err);
		}
	}
	*ret = *d;
	return code;
}

int tuner_widen(struct tuner *tuner, uint32_t max, struct tuner_decision *ret, struct err *err)
{
	if (max <= tuner->opts.space.max || max > THREADS_MAX)
		return err_set(err, -EINVAL, "cannot choose among up to %u threads", max);
	tuner->opts.space.max = max;
	int code = decide(tuner, err);
	if (code == 0)
		*ret = tuner->last;
	return code;
}
