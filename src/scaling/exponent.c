/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One hypothesis is a pair (sigma, r), or an r alone of a program that threads do nothing for. For each, a forward pass over all thread counts from 1 gives
 * its likelihood and the filtered states, and a backward pass the smoothed ones; hypotheses are
 * then averaged by weight. One set of state arrays serves them all, so memory does not grow with
 * the grid.
 */
#include "scaling/exponent.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Outside, the quadratic says nothing; exponents return slowly. Nor does a fall that is steeper go on past the data. */
static const double DRIFT_LOW = -1.5, DRIFT_HIGH = 1.2, DRIFT_OUTSIDE = 0.05;

/* Throughput per thread does not rise far beyond the data, whatever noise suggests. */
static const double SLOPE_MAX = 1.1, SLOPE_BELOW = 1;

/* ln X at one thread before any measurement: any value. */
static const double START_LEVEL_VARIANCE = 1e4;

/* The grid of hypotheses. */
static const double SIGMAS[] = { 0.05, 0.15, 0.4, 1.0 };
static const double NOISES[] = { 0.003, 0.01, 0.03, 0.1 };

enum {
	PROCESSES = ARRAY_SIZE(SIGMAS) * ARRAY_SIZE(NOISES),
	HYPOTHESES = PROCESSES + ARRAY_SIZE(NOISES)
};

/* Gaussian over (level, slope). */
struct state {
	double level, slope;
	double var_level, covariance, var_slope;
};

struct step {
	struct state predicted, filtered;
	double level_by_slope, slope_by_slope; /* transition from the step before */
};

struct hypothesis {
	bool is_serial; /* X is the same at all counts: the exponent is 0 and nothing makes it drift */
	double sigma, noise, log_prior;
};

static struct hypothesis hypothesis_at(const struct exponent_model *model, size_t i)
{
	double noise = NOISES[i % ARRAY_SIZE(NOISES)];
	double b = log(noise / model->noise_centre) / model->prior_width;
	if (i >= PROCESSES)
		return (struct hypothesis){ true, 0, noise,
			log(model->serial_prior) - 0.5 * b * b };
	double sigma = SIGMAS[i / ARRAY_SIZE(NOISES)];
	double a = log(sigma / model->sigma_centre) / model->prior_width;
	return (struct hypothesis){ false, sigma, noise, -0.5 * (a * a + b * b) };
}

/* Before any measurement, at one thread. */
static struct state start_of(const struct exponent_model *model, const struct exponent_data *data,
	const struct hypothesis *h)
{
	double slope = h->is_serial ? 0 : model->start_slope;
	double sd = h->is_serial ? 0 : model->start_slope_sd;
	return (struct state){ data->log_x[0] - log(data->threads[0]) * slope, slope,
		START_LEVEL_VARIANCE, 0, sd * sd };
}

/* The state after dt: the drift's local linear equation solved exactly, Brownian noise on g. */
static struct step propagate(const struct exponent_model *model, const struct state *from,
	double dt, const struct hypothesis *h)
{
	if (h->is_serial)
		return (struct step){ *from, *from, dt, 1 };
	const double *d = model->drift;
	double g = fmin(fmax(from->slope, DRIFT_LOW), DRIFT_HIGH);
	double fall = d[0] + g * (d[1] + g * d[2]);
	double rate = from->slope == g ? d[1] + 2 * d[2] * g : DRIFT_OUTSIDE;
	double x = rate * dt, decay = exp(-x);
	bool small = fabs(x) < 1e-3; /* the series' next term is below 1e-7 of dt */
	double once = small ? dt * (1 - x / 2) : (1 - decay) / rate;
	double twice = small ? dt * dt / 2 : (dt - once) / rate;
	double q = h->sigma * h->sigma;
	struct step s = { .level_by_slope = once, .slope_by_slope = decay };
	s.predicted = (struct state){
		.level = from->level + from->slope * dt - fall * twice,
		.slope = from->slope - fall * once,
		.var_level = from->var_level + 2 * once * from->covariance +
			     once * once * from->var_slope + q * dt * dt * dt / 3,
		.covariance = decay * (from->covariance + once * from->var_slope) + q * dt * dt / 2,
		.var_slope = decay * decay * from->var_slope + q * dt,
	};
	s.filtered = s.predicted;
	return s;
}

/* Takes a measurement in; returns its log likelihood (up to a constant). */
static double update(struct state *s, double y, double noise_variance, double tail)
{
	double residual = y - s->level;
	double variance = s->var_level + noise_variance;
	double z = residual * residual / variance;
	double log_likelihood = -0.5 * log(variance) - (tail + 1) / 2 * log1p(z / tail);
	double trust = fmin((tail + 1) / (tail + z), 1);
	variance = s->var_level + noise_variance / trust;
	double gain_level = s->var_level / variance, gain_slope = s->covariance / variance;
	s->level += gain_level * residual;
	s->slope += gain_slope * residual;
	s->var_slope -= gain_slope * s->covariance;
	s->covariance -= gain_level * s->covariance;
	s->var_level -= gain_level * s->var_level;
	return log_likelihood;
}

/* Fills steps[0 .. node_count); returns the log likelihood of the data. */
static double filter(const struct exponent_model *model, const struct exponent_data *data,
	const struct hypothesis *h, struct step *steps, size_t node_count)
{
	double log_likelihood = 0;
	size_t next = 0;
	for (size_t i = 0; i < node_count; i++) {
		if (i == 0) {
			steps[0].filtered = start_of(model, data, h);
		} else {
			double dt = log((double)(i + 1) / (double)i);
			steps[i] = propagate(model, &steps[i - 1].filtered, dt, h);
		}
		if (next == data->count || data->threads[next] != i + 1)
			continue;
		double spread = data->spread[next];
		log_likelihood += update(&steps[i].filtered, data->log_x[next],
			h->noise * h->noise + spread * spread, model->tail_degrees);
		if (++next == data->count)
			steps[i].filtered.slope =
				fmin(fmax(steps[i].filtered.slope, DRIFT_LOW), SLOPE_MAX);
	}
	return log_likelihood;
}

/* Smooths the filtered states from `last` (the last measured node) down to the first. */
static void smooth(struct step *steps, size_t last, const struct hypothesis *h)
{
	for (size_t i = last; h->is_serial && i-- > 0;)
		steps[i].filtered = steps[last].filtered;
	if (h->is_serial)
		return;
	for (size_t i = last; i-- > 0;) {
		const struct step *after = &steps[i + 1];
		const struct state *p = &after->predicted, *s = &after->filtered;
		struct state *f = &steps[i].filtered;
		double a = after->level_by_slope, e = after->slope_by_slope;
		/* Rows of (filtered covariance) times (transition transposed). */
		double c00 = f->var_level + a * f->covariance, c01 = e * f->covariance;
		double c10 = f->covariance + a * f->var_slope, c11 = e * f->var_slope;
		double det = p->var_level * p->var_slope - p->covariance * p->covariance;
		double g00 = (c00 * p->var_slope - c01 * p->covariance) / det;
		double g01 = (c01 * p->var_level - c00 * p->covariance) / det;
		double g10 = (c10 * p->var_slope - c11 * p->covariance) / det;
		double g11 = (c11 * p->var_level - c10 * p->covariance) / det;
		double dl = s->level - p->level, ds = s->slope - p->slope;
		double v = s->var_level - p->var_level, c = s->covariance - p->covariance;
		double w = s->var_slope - p->var_slope;
		f->level += g00 * dl + g01 * ds;
		f->slope += g10 * dl + g11 * ds;
		f->var_level += g00 * g00 * v + 2 * g00 * g01 * c + g01 * g01 * w;
		f->covariance += g00 * g10 * v + (g00 * g11 + g01 * g10) * c + g01 * g11 * w;
		f->var_slope += g10 * g10 * v + 2 * g10 * g11 * c + g11 * g11 * w;
	}
}

/* Below the first measurement, one thread alone does at most its share: else far below, slopes that rise say anything. */
static void bound_below(struct step *steps, size_t first)
{
	for (size_t i = first; i-- > 0;) {
		double dt = log((double)(i + 2) / (double)(i + 1));
		struct state *s = &steps[i].filtered;
		s->level = fmax(s->level, steps[i + 1].filtered.level - SLOPE_BELOW * dt);
	}
}

/* Adds one hypothesis's states to the mixture's first two moments. */
static void accumulate(const struct step *steps, size_t node_count, const struct hypothesis *h,
	double weight, struct exponent_node *ret)
{
	for (size_t i = 0; i < node_count; i++) {
		const struct state *s = &steps[i].filtered;
		double variance = fmax(s->var_level, 0) + h->noise * h->noise;
		ret[i].mean += weight * s->level;
		ret[i].variance += weight * (variance + s->level * s->level);
	}
}

/* Curves that begin above one thread may be on a plateau after a rise: those are none of a serial program. */
static bool is_possible(const struct exponent_model *model, const struct exponent_data *data,
	const struct hypothesis *h)
{
	return !h->is_serial || (model->serial_prior > 0 && data->threads[0] == 1);
}

/* Posterior weights of the hypotheses, summing to one. */
static void weigh(const struct exponent_model *model, const struct exponent_data *data,
	struct step *steps, size_t node_count, double weights[HYPOTHESES])
{
	double best = -INFINITY, sum = 0;
	for (size_t i = 0; i < HYPOTHESES; i++) {
		struct hypothesis h = hypothesis_at(model, i);
		weights[i] = -INFINITY;
		if (is_possible(model, data, &h))
			weights[i] = h.log_prior + filter(model, data, &h, steps, node_count);
		best = fmax(best, weights[i]);
	}
	for (size_t i = 0; i < HYPOTHESES; i++) {
		weights[i] = exp(weights[i] - best);
		sum += weights[i];
	}
	for (size_t i = 0; i < HYPOTHESES; i++)
		weights[i] /= sum;
}

int exponent_predict(const struct exponent_model *model, const struct exponent_data *data,
	size_t node_count, struct exponent_node *ret, struct exponent_summary *ret_summary)
{
	AUTO_FREE struct step *steps = calloc(node_count, sizeof *steps);
	if (!steps)
		return -ENOMEM;
	size_t last = data->threads[data->count - 1] - 1;
	double weights[HYPOTHESES];
	weigh(model, data, steps, last + 1, weights);

	struct exponent_summary summary = { 0 };
	for (size_t i = 0; i < node_count; i++)
		ret[i] = (struct exponent_node){ 0 };
	for (size_t i = 0; i < HYPOTHESES; i++) {
		if (weights[i] == 0)
			continue;
		struct hypothesis h = hypothesis_at(model, i);
		(void)filter(model, data, &h, steps, node_count); /* its weight is known */
		summary.slope += weights[i] * steps[last].filtered.slope;
		summary.noise += weights[i] * h.noise;
		summary.volatility += weights[i] * h.sigma;
		smooth(steps, last, &h);
		if (data->keeps_shares)
			bound_below(steps, data->threads[0] - 1);
		accumulate(steps, node_count, &h, weights[i], ret);
	}
	for (size_t i = 0; i < node_count; i++)
		ret[i].variance = fmax(ret[i].variance - ret[i].mean * ret[i].mean, 0);
	*ret_summary = summary;
	return 0;
}
