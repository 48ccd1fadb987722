/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does something that can be switched on and off pay, while a program runs? Slices of time with and without it
 * alternate in pairs, in an order that is drawn for each pair, so that no rhythm of the program's falls in with
 * them. What is compared are the logarithms of the two rates of a pair (Student's t): what changes slowly, the
 * program or other work on the machine, is the same for both.
 *
 * Unguarded, it measures for as long as it is asked. Guarded, it acts on what it has found, and looks again:
 *
 *	TESTING --- shown to pay, or to cost ---> ALWAYS on, or NEVER on, for 10 times as many slices
 *	   ^                                                                              |
 *	   '------------------------------------------------------------------------------'
 *
 * Shown is what Student's t says at a chance of error of 0.05 / (k (k + 1)) after the k-th pair of a test: over all k
 * that adds up to 0.05, so that looking after each pair is allowed. It knows no clock and switches nothing itself.
 */
#ifndef TUNE_TRIAL_H
#define TUNE_TRIAL_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* Sums over pairs of ln(with / without). */
struct trial_pairs {
	uint64_t count;
	double sum, square;
};

enum trial_state { TRIAL_TESTING, TRIAL_ALWAYS, TRIAL_NEVER };

/* { .rng = ... } after rng_init() has seen nothing and begins. */
struct trial {
	bool is_guarded;
	struct rng rng;
	enum trial_state state;
	bool is_second; /* slice of a pair */
	bool is_first_on;
	bool is_drawn;
	double first_rate, first_watts;
	struct trial_pairs rates, joules; /* of all pairs; joules for a unit of work */
	struct trial_pairs test; /* of the test that goes on */
	uint64_t slices; /* of it, then those left until the next one */
	uint64_t verdicts; /* so far */
	double on_work, on_s, off_work, off_s; /* of slices that counted */
};

/* Whether the next slice has it. */
bool trial_is_on(struct trial *trial);

/* That slice had this rate (work a second) and power (W; NAN: not measured) for so long. */
void trial_slice(struct trial *trial, double rate, double watts, double seconds);

/* A factor, and its interval; NAN where there are too few pairs to say. */
struct trial_factor {
	double factor, low, high;
};

/* At a confidence of 0.95, say. */
struct trial_factor trial_pairs_factor(const struct trial_pairs *pairs, double confidence);

#endif
