/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The default policy: the local scaling exponent as a random process (scaling/exponent.h) says, for
 * every count, how good it probably is and how sure that is. Tried next is the count with the highest
 * expected improvement (Mockus 1975; Jones, Schonlau and Welch 1998) over the best one measured, less the
 * loss that trying it is expected to cost; when no count promises a worthwhile gain, the best one
 * measured is held.
 */
#include "tune/policy.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { BEGIN_WITH = 2 }; /* measurements that the process needs */

const struct tune_process_model tune_process_default = {
	.exponent = {
		.drift = { 0.2, 0.24, -0.2 },
		.start_slope = 0.9,
		.start_slope_sd = 1.5,
		.tail_degrees = 4,
		.sigma_centre = 0.3,
		.noise_centre = 0.012,
		.prior_width = 1.5,
	},
	.first = 1,
	.second = 0.25,
	.gain_min = 0.005,
	.caution = 0.1,
};

static double normal_below(double z)
{
	return 0.5 * erfc(-z / sqrt(2));
}

double tune_expected_excess(double mean, double sd)
{
	if (sd <= 0)
		return fmax(expm1(mean), 0);
	double z = mean / sd;
	return exp(mean + sd * sd / 2) * normal_below(z + sd) - normal_below(z);
}

static int predict(const struct tune_process_model *model, const struct tune_space *space,
	const struct tune_set *set, struct exponent_node *nodes, double *ret_noise)
{
	AUTO_FREE uint32_t *threads = calloc(set->count, sizeof *threads);
	AUTO_FREE double *values = calloc(2 * set->count, sizeof *values);
	if (!threads || !values)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++) {
		threads[i] = set->points[i].threads;
		values[i] = log(set->points[i].performance);
		values[set->count + i] = set->points[i].spread;
	}
	/* Of shares it is not sure: what one thread does it can find out. */
	struct exponent_data data = { threads, values, values + set->count, set->count,
		.keeps_shares = false };
	struct exponent_summary summary;
	int code = exponent_predict(&model->exponent, &data, space->max, nodes, &summary);
	*ret_noise = summary.noise;
	return code;
}

/* The next of the counts to begin with that was not tried; 0: none is left. */
static uint32_t to_begin_with(const struct tune_process_model *model,
	const struct tune_space *space, const struct tune_set *set)
{
	if (set->count >= BEGIN_WITH)
		return 0;
	const double shares[] = { model->first, model->second, 0 };
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		double wanted =
			space->initial[i] ? space->initial[i] : round(shares[i] * space->max);
		uint32_t threads = wanted < space->min   ? space->min
				   : wanted > space->max ? space->max
							 : (uint32_t)wanted;
		if (!tune_set_find(set, threads))
			return threads;
	}
	return 0;
}

/* The best measured count; the one that is held is as good while it is not clearly worse. */
static const struct tune_point *best_of(
	const struct tune_process_model *model, const struct tune_set *set)
{
	const struct tune_point *best = tune_set_best(set), *held = tune_set_find(set, set->held);
	if (held && best->performance <= held->performance * (1 + model->gain_min))
		return held;
	return best;
}

static void look_for_gain(const struct tune_process_model *model, const struct tune_space *space,
	const struct tune_set *set, const struct tune_point *best,
	const struct exponent_node *nodes, double noise, struct tune_choice *ret)
{
	double highest = 0;
	for (uint32_t n = space->min; n <= space->max; n++) {
		if (tune_set_find(set, n))
			continue;
		double sd = sqrt(fmax(nodes[n - 1].variance - noise * noise, 0));
		double mean = nodes[n - 1].mean - log(best->performance);
		double gain = tune_expected_excess(mean, sd);
		double score = gain - model->caution * tune_expected_excess(-mean, sd);
		if (gain < model->gain_min || (!ret->is_settled && score <= highest))
			continue;
		highest = score;
		*ret = (struct tune_choice){
			.threads = n, .gain = gain, .reason = "the highest expected gain"
		};
	}
}

/* Not worse than the best, as far as noise of this size lets it be seen (one side, 5%). */
static bool is_as_good(const struct tune_point *point, const struct tune_point *best, double noise)
{
	const double quantile = 1.645;
	return log(best->performance / point->performance) <= quantile * sqrt(2) * noise;
}

static int choose(const struct tune_space *space, const struct tune_set *set, void *state,
	struct rng *rng, struct tune_choice *ret)
{
	(void)state;
	(void)rng;
	const struct tune_process_model *model =
		space->model ? space->model : &tune_process_default;
	*ret = (struct tune_choice){ .gain = NAN, .reason = "to begin with" };
	ret->threads = to_begin_with(model, space, set);
	if (ret->threads != 0)
		return 0;
	const struct tune_point *best = best_of(model, set);
	*ret = (struct tune_choice){ .threads = best->threads,
		.is_settled = true,
		.gain = NAN,
		.reason = "no other count promises more" };
	if (set->count == 1)
		return 0;
	AUTO_FREE struct exponent_node *nodes = calloc(space->max, sizeof *nodes);
	double noise;
	int code = nodes ? predict(model, space, set, nodes, &noise) : -ENOMEM;
	if (code < 0)
		return code;
	const struct tune_point *fewest = &set->points[0];
	if (fewest->threads > space->min && is_as_good(fewest, best, noise)) {
		uint32_t below = fewest->threads / 4;
		*ret = (struct tune_choice){ .threads = below > space->min ? below : space->min,
			.gain = NAN,
			.reason = "the fewest tried do as well as any, so still fewer" };
		return 0;
	}
	look_for_gain(model, space, set, best, nodes, noise, ret);
	return 0;
}

const struct tune_policy tune_policy_process = {
	.name = "process",
	.summary = "the highest expected improvement under a random scaling exponent",
	.choose = choose,
};
