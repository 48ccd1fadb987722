/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ESTIMA's regression of one measured quantity (its section 3.1 B): every kernel of its Table 1 on
 * every prefix of the points, each judged by the root mean square error at the last points, which
 * it has not seen.
 */
#ifndef SCALING_CANDIDATES_H
#define SCALING_CANDIDATES_H

#include "scaling/fit.h"

struct candidate {
	struct fit fit;
	size_t prefix; /* the first points that it was fitted to */
	unsigned checkpoints; /* the last points, which judge it: 4 unseen ones, or 2 */
	double error; /* at the checkpoints, over the largest there; x 10 with only two of them */
};

struct candidates {
	struct candidate *all; /* ascending error */
	size_t count;
};

/* The fewest points for which there is a candidate. */
enum { CANDIDATES_POINTS_MIN = 5 };

/*
 * y >= 0, not all zero, at ascending n. 0 (perhaps with no candidate), or -ENOMEM. The caller
 * releases *ret.
 */
int candidates_make(const double *n, const double *y, size_t count, struct candidates *ret);
void candidates_release(struct candidates *candidates);

#endif
