/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A design space that was predicted: which points are best. As in De Pestel et al., "RPPM", ISPASS 2019, section VI-A:
 * not only the predicted optimum, but all points within a bound of it, among which something more exact may
 * choose; and the points that no other beats in both time and energy (Pareto).
 */
#ifndef UARCH_EXPLORED_H
#define UARCH_EXPLORED_H

#include "uarch/space.h"

#include <stdbool.h>

enum explored_state {
	EXPLORED_NOT_YET, /* 0: memory that nobody wrote */
	EXPLORED_DONE,
	EXPLORED_LEFT_OUT, /* by a requirement, or figures that do not fit */
	EXPLORED_FAILED,
};

struct explored_point {
	enum explored_state state;
	uint64_t ns;
	double energy_j; /* 0: unknown */
	double cpi; /* of all threads, what they wait included */
	char why[120]; /* left out or failed */
};

struct explored {
	const struct space *space; /* borrowed, as all of these */
	const struct processor *base;
	const struct explored_point *points;
	size_t count;
	double within; /* the bound: 0.01 for 1% */

	size_t *order; /* points that are done, fastest first; of equals the first */
	size_t done, left_out, failed;
	size_t near_count; /* of order: within the bound of the fastest */
	size_t *pareto; /* fastest first */
	size_t pareto_count; /* 0: no energy is known */
};

/* Fills the latter half. 0 or -ENOMEM. */
int explored_sort(struct explored *explored);
void explored_release(struct explored *explored);

#endif
