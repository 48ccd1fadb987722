/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which thread count to try next, given the performance of those tried. A policy is a const struct of
 * functions; tune_policies[] lists them, and the controller (tuner.h), the benchmark and the library run
 * them all alike. Performance is a rate: more is better.
 */
#ifndef TUNE_POLICY_H
#define TUNE_POLICY_H

#include "base/rng.h"
#include "scaling/exponent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TUNE_INITIAL_MAX = 4 };

struct tune_space {
	uint32_t min, max; /* thread counts that may be chosen, 1 <= min <= max */
	uint32_t initial[TUNE_INITIAL_MAX]; /* the first counts to try, 0: the policy's own */
	const struct tune_process_model *model; /* of the default policy; NULL: its own */
};

/* What was measured at one count since the workload last changed. */
struct tune_point {
	uint32_t threads;
	uint32_t intervals; /* measured so often */
	double performance; /* mean, > 0 */
	double spread; /* relative standard error of the mean; 0 where unknown */
};

struct tune_set {
	const struct tune_point *points; /* ascending counts, no duplicates */
	size_t count;
	uint32_t held; /* the count that is held, 0: none yet. Changing it must pay */
};

struct tune_choice {
	uint32_t threads;
	bool is_settled; /* nothing is gained by trying more */
	double gain; /* expected of this count over the best one measured, relative; NAN: not estimated */
	const char *reason; /* a few words */
};

struct tune_policy {
	const char *name;
	const char *summary;
	size_t state_bytes; /* what it remembers between choices; zeroed when a search begins */
	/* 0 or -ENOMEM. set->count may be 0. */
	int (*choose)(const struct tune_space *space, const struct tune_set *set, void *state,
		struct rng *rng, struct tune_choice *ret);
};

/* Ends with a NULL. The first is the default. */
extern const struct tune_policy *const tune_policies[];
const struct tune_policy *tune_policy_by_name(const char *name);

extern const struct tune_policy tune_policy_process;
extern const struct tune_policy tune_policy_opresca;
extern const struct tune_policy tune_policy_binsearch;

/* The point at a count, or NULL; the one of the best performance, or NULL. */
const struct tune_point *tune_set_find(const struct tune_set *set, uint32_t threads);
const struct tune_point *tune_set_best(const struct tune_set *set);

/* E max(e^y - 1, 0) of y ~ N(mean, sd^2): gain with y = ln(X / best), loss with y = ln(best / X). */
double tune_expected_excess(double mean, double sd);

/* The constants of the default policy, as data for the benchmark that varies them. */
struct tune_process_model {
	struct exponent_model exponent;
	double first, second; /* of the highest count: what is tried at first */
	double gain_min; /* relative gain below which trying more does not pay */
	double caution; /* weight of the loss expected on the way */
};
extern const struct tune_process_model tune_process_default;

#endif
