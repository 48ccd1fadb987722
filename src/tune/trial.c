/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune/trial.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static const double CHANCE = 0.05;
enum { PAIRS_MIN = 3, REST = 10 };

/* A rate's steps: what scatters less between pairs does not scatter less in truth. */
static const double SCATTER_MIN = 1e-4;

bool trial_is_on(struct trial *trial)
{
	if (trial->state != TRIAL_TESTING)
		return trial->state == TRIAL_ALWAYS;
	if (!trial->is_second && !trial->is_drawn) {
		trial->is_first_on = rng_next(&trial->rng) >> 63;
		trial->is_drawn = true;
	}
	return trial->is_first_on != trial->is_second;
}

static void add_pair(struct trial_pairs *pairs, double value)
{
	pairs->count++;
	pairs->sum += value;
	pairs->square += value * value;
}

static double mean_of(const struct trial_pairs *pairs)
{
	return pairs->sum / (double)pairs->count;
}

/* Standard error of the mean. */
static double error_of(const struct trial_pairs *pairs)
{
	double n = (double)pairs->count;
	double variance = fmax(pairs->square - pairs->sum * pairs->sum / n, 0) / (n - 1);
	return sqrt(fmax(variance, SCATTER_MIN * SCATTER_MIN) / n);
}

struct trial_factor trial_pairs_factor(const struct trial_pairs *pairs, double confidence)
{
	struct trial_factor ret = { NAN, NAN, NAN };
	if (pairs->count == 0)
		return ret;
	double mean = mean_of(pairs);
	ret.factor = exp(mean);
	if (pairs->count < PAIRS_MIN)
		return ret;
	double t = gsl_cdf_tdist_Qinv((1 - confidence) / 2, (double)pairs->count - 1);
	ret.low = exp(mean - t * error_of(pairs));
	ret.high = exp(mean + t * error_of(pairs));
	return ret;
}

static void enter(struct trial *trial, enum trial_state state, uint64_t slices)
{
	trial->state = state;
	trial->slices = slices;
	trial->test = (struct trial_pairs){ 0 };
	trial->verdicts += state != TRIAL_TESTING;
}

static void judge(struct trial *trial)
{
	const struct trial_pairs *test = &trial->test;
	if (!trial->is_guarded || test->count < PAIRS_MIN)
		return;
	double k = (double)test->count;
	double t = gsl_cdf_tdist_Qinv(CHANCE / (2 * k * (k + 1)), k - 1);
	double distance = mean_of(test) / error_of(test);
	if (fabs(distance) > t)
		enter(trial, distance > 0 ? TRIAL_ALWAYS : TRIAL_NEVER, REST * trial->slices);
}

static void end_pair(struct trial *trial, double rate, double watts)
{
	double with = trial->is_first_on ? trial->first_rate : rate;
	double without = trial->is_first_on ? rate : trial->first_rate;
	double with_watts = trial->is_first_on ? trial->first_watts : watts;
	double without_watts = trial->is_first_on ? watts : trial->first_watts;
	if (!(with > 0) || !(without > 0))
		return; /* it rested meanwhile: says nothing */
	double gain = log(with / without);
	add_pair(&trial->rates, gain);
	add_pair(&trial->test, gain);
	if (with_watts > 0 && without_watts > 0)
		add_pair(&trial->joules, log(with_watts / without_watts) - gain);
}

void trial_slice(struct trial *trial, double rate, double watts, double seconds)
{
	if (trial->state != TRIAL_TESTING) {
		if (trial->slices-- <= 1)
			enter(trial, TRIAL_TESTING, 0);
		return;
	}
	trial->slices++;
	*(trial_is_on(trial) ? &trial->on_work : &trial->off_work) += rate * seconds;
	*(trial_is_on(trial) ? &trial->on_s : &trial->off_s) += seconds;
	if (!trial->is_second) {
		trial->first_rate = rate;
		trial->first_watts = watts;
		trial->is_second = true;
		return;
	}
	end_pair(trial, rate, watts);
	trial->is_second = trial->is_drawn = false;
	judge(trial);
}
