/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The local scaling exponent g = d ln X / d ln n of a throughput X as a random process, seen
 * through noisy measurements: how a curve continues where no law can be trusted to hold.
 *
 *	d ln X = g dt		t = ln n
 *	d g    = -drift(g) dt + sigma dW
 *	y_i    = ln X(n_i) + noise of relative size r, with Student's t tails
 *
 * g = 1 is linear scaling, 0 a plateau, below 0 a slowdown. The drift says how exponents decline
 * on measured curves; sigma (how fast a curve bends) and r are not fitted but averaged over a grid,
 * weighted by how well each explains the measurements, so a smooth curve is followed closely and a
 * ragged one is not. docs/models/auto.md has the derivation and where the constants come from.
 *
 * The filter is an extended Kalman filter, the smoother Rauch, Tung and Striebel's (1965); outliers
 * are discounted as in Meinhold and Singpurwalla, "Robustification of Kalman filter models" (1989).
 */
#ifndef SCALING_EXPONENT_H
#define SCALING_EXPONENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exponent_data {
	const uint32_t *threads; /* ascending, no duplicates, count >= 2 */
	const double *log_x; /* ln of throughput */
	const double *spread; /* relative standard error of each, or 0 where unknown */
	size_t count;
	bool keeps_shares; /* below the first measurement throughput falls at most in proportion to the threads */
};

struct exponent_node {
	double mean; /* of ln throughput */
	double variance; /* of one more measurement of it */
};

/* What is assumed before any measurement. */
struct exponent_model {
	double drift[3]; /* drift(g) = drift[0] + drift[1] g + drift[2] g^2, per unit of ln n */
	double start_slope, start_slope_sd; /* of g at one thread */
	double tail_degrees; /* of Student's t; large: normal */
	double sigma_centre, noise_centre; /* medians of the log-normal priors of sigma and r */
	double prior_width; /* of both, in factors of e */
	double serial_prior; /* weight of a curve that is flat from one thread on, beside that of a sigma; 0: none is */
};

struct exponent_summary {
	double slope; /* g at the last measurement */
	double noise; /* r, averaged by weight */
	double volatility; /* sigma, averaged by weight */
};

/* Fills nodes for 1 .. node_count threads (node_count >= the last measured). 0 or -ENOMEM. */
int exponent_predict(const struct exponent_model *model, const struct exponent_data *data,
	size_t node_count, struct exponent_node *ret, struct exponent_summary *ret_summary);

#endif
