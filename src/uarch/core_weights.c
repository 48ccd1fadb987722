/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_weights.h"

#include <math.h>
#include <stdbool.h>

enum { ROUNDS = 50, HALVINGS = 30 };

/* Converged when a step would gain less; logarithms of weights are then known to about its root. */
static const double gain_least = 1e-12;

/* Minimised is log sum_i d_i exp((x_i - known)' lambda) + sum_k slack_k lambda_k^2 / 2, which is convex. */
struct problem {
	const double *weights, *shares, *known; /* weights: as they were given */
	size_t count, kinds;
	double slack[CORE_WEIGHTS_KINDS]; /* variance of what a trace tells of its part */
	double lambda[CORE_WEIGHTS_KINDS];
};

struct slope {
	double first[CORE_WEIGHTS_KINDS], second[CORE_WEIGHTS_KINDS][CORE_WEIGHTS_KINDS];
};

static double exponent(const struct problem *problem, size_t trace)
{
	double sum = 0;
	for (size_t k = 0; k < problem->kinds; k++)
		sum += problem->lambda[k] *
		       (problem->shares[trace * problem->kinds + k] - problem->known[k]);
	return sum;
}

static double largest_exponent(const struct problem *problem)
{
	double largest = -INFINITY;
	for (size_t i = 0; i < problem->count; i++)
		largest = fmax(largest, exponent(problem, i));
	return largest;
}

static double value(const struct problem *problem)
{
	double largest = largest_exponent(problem), sum = 0, slack = 0;
	for (size_t i = 0; i < problem->count; i++)
		sum += problem->weights[i] * exp(exponent(problem, i) - largest);
	for (size_t k = 0; k < problem->kinds; k++)
		slack += problem->slack[k] * problem->lambda[k] * problem->lambda[k];
	return log(sum) + largest + slack / 2;
}

/* The mean and the covariance of the traces' parts by the weights of now. */
static struct slope slope_of(const struct problem *problem)
{
	struct slope slope = { 0 };
	size_t kinds = problem->kinds;
	double largest = largest_exponent(problem), sum = 0;
	for (size_t i = 0; i < problem->count; i++) {
		double weight = problem->weights[i] * exp(exponent(problem, i) - largest);
		sum += weight;
		for (size_t k = 0; k < kinds; k++) {
			double apart = problem->shares[i * kinds + k] - problem->known[k];
			slope.first[k] += weight * apart;
			for (size_t j = 0; j <= k; j++)
				slope.second[k][j] +=
					weight * apart *
					(problem->shares[i * kinds + j] - problem->known[j]);
		}
	}
	for (size_t k = 0; k < kinds; k++)
		slope.first[k] /= sum;
	for (size_t k = 0; k < kinds; k++)
		for (size_t j = 0; j <= k; j++)
			slope.second[k][j] =
				slope.second[k][j] / sum - slope.first[k] * slope.first[j];
	for (size_t k = 0; k < kinds; k++) {
		slope.first[k] += problem->slack[k] * problem->lambda[k];
		slope.second[k][k] += problem->slack[k];
	}
	return slope;
}

/* second x = first, by Cholesky's factors, which take the place of `second`. Whether it is positive definite. */
static bool solve(struct slope *slope, size_t kinds, double *x)
{
	double(*a)[CORE_WEIGHTS_KINDS] = slope->second;
	for (size_t k = 0; k < kinds; k++)
		for (size_t j = 0; j <= k; j++) {
			double sum = a[k][j];
			for (size_t i = 0; i < j; i++)
				sum -= a[k][i] * a[j][i];
			if (j == k && !(sum > 0))
				return false;
			a[k][j] = j == k ? sqrt(sum) : sum / a[j][j];
		}
	for (size_t k = 0; k < kinds; k++) {
		x[k] = slope->first[k];
		for (size_t j = 0; j < k; j++)
			x[k] -= a[k][j] * x[j];
		x[k] /= a[k][k];
	}
	for (size_t k = kinds; k-- > 0;) {
		for (size_t j = k + 1; j < kinds; j++)
			x[k] -= a[j][k] * x[j];
		x[k] /= a[k][k];
	}
	return true;
}

/* A step of Newton's, halved until it is no step back. Whether there may be more to gain. */
static bool improve(struct problem *problem)
{
	struct slope slope = slope_of(problem);
	double step[CORE_WEIGHTS_KINDS], gain = 0, before = value(problem);
	double first[CORE_WEIGHTS_KINDS];
	for (size_t k = 0; k < problem->kinds; k++)
		first[k] = slope.first[k];
	if (!solve(&slope, problem->kinds, step))
		return false;
	for (size_t k = 0; k < problem->kinds; k++)
		gain += step[k] * first[k];
	if (!(gain > gain_least))
		return false;
	double from[CORE_WEIGHTS_KINDS], part = 1;
	for (size_t k = 0; k < problem->kinds; k++)
		from[k] = problem->lambda[k];
	for (unsigned i = 0; i < HALVINGS; i++, part /= 2) {
		for (size_t k = 0; k < problem->kinds; k++)
			problem->lambda[k] = from[k] - part * step[k];
		if (value(problem) <= before)
			return true;
	}
	for (size_t k = 0; k < problem->kinds; k++)
		problem->lambda[k] = from[k];
	return false;
}

void core_weights(double *weights, const double *shares, size_t count, const double *known,
	size_t kinds, double length)
{
	struct problem problem = {
		.weights = weights, .shares = shares, .known = known, .count = count, .kinds = kinds
	};
	double sum = 0, tilted = 0;
	for (size_t i = 0; i < count; i++)
		sum += weights[i];
	if (count < 2 || !(sum > 0))
		return;
	for (size_t k = 0; k < kinds; k++)
		problem.slack[k] = (known[k] * length + 1) / (length * length);
	for (unsigned i = 0; i < ROUNDS && improve(&problem); i++)
		;
	double largest = largest_exponent(&problem);
	for (size_t i = 0; i < count; i++)
		tilted += weights[i] * exp(exponent(&problem, i) - largest);
	for (size_t i = 0; i < count; i++)
		weights[i] *= exp(exponent(&problem, i) - largest) * sum / tilted;
}
