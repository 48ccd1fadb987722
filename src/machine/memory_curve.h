/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What caches a program really gets, from how long loads at random take in sets of growing size. What a machine tells
 * of its caches is what is built in: others may use them, and a hypervisor may give a part.
 *
 * Whatever a cache of C bytes replaces, while it is full it holds C of a set's S bytes, and a random load hits with
 * the probability C / S. So with levels C_1 < C_2 < ... of latencies L_1 < L_2 < ..., M behind them,
 *
 *	t(S) = L_1 + sum over k of (L_k+1 - L_k) max(0, 1 - C_k / S)
 *
 * which is linear in the latencies: least squares of relative errors, none of the steps negative, over a grid of
 * sizes. A size that is not clearly better than what the machine says of itself does not count against it.
 *
 * A line may also be gone because others have taken its place since: of lines that are left alone for a time the share
 * that is still there says how long that takes.
 */
#ifndef MACHINE_MEMORY_CURVE_H
#define MACHINE_MEMORY_CURVE_H

#include <stddef.h>
#include <stdint.h>

enum { MEMORY_LEVELS = 3 };

/* A load at random in a set so large: the mean. UINT64_MAX bytes: one that no cache has. */
struct memory_point {
	uint64_t bytes;
	double ns;
};

struct memory_levels {
	uint64_t bytes
		[MEMORY_LEVELS]; /* as claimed, or less if the points say so; 0: there is none */
	double ns[MEMORY_LEVELS];
	double memory_ns;
	double error; /* root mean square of the points' relative errors */
};

/* `claimed`: sizes that the machine tells, ascending; 0: none. 0, or -EINVAL: fewer points than unknowns. */
int memory_curve_fit(const struct memory_point *points, size_t count,
	const uint64_t claimed[MEMORY_LEVELS], struct memory_levels *ret);

/*
 * Of lines that nobody touches: `ns[i]`, what a load of one takes after `waits_ns[i]`, ascending, the first 0. How
 * long half of them are still there, with `memory_ns` for those that are not; 0: longer than was waited for.
 */
double memory_curve_lifetime(
	const double *waits_ns, const double *ns, size_t count, double memory_ns);

/*
 * Of lines that are read in order again and again, ns each, the share that a cache smaller than all of them still has: near_ns where
 * they all fit, far_ns where none is left. One that is LRU has none. 0: or it cannot be told. 0 .. 1.
 */
double memory_curve_kept(double ns, double near_ns, double far_ns);

/*
 * Of single loads from memory, each with what a look at the clock takes, which are put in order: the share of memory_ns that is another
 * time each time. A part is taken to be the same for all and the rest to be distributed exponentially: then a tenth of them takes less
 * than the mean by 1 - ln(10 / 9) of that rest's mean. Interrupts, more than five times the middle, count for nothing. 0 .. 1.
 */
double memory_curve_spread(double *ns, size_t count, double memory_ns);

/*
 * The size of a cache of which `bytes` were found when it was full of lines so old, in the time of which others, who replace
 * it within `lifetime_ns`, had taken their part: C with C (1 - age / lifetime) = bytes; at most `claimed`.
 */
uint64_t memory_curve_alone(uint64_t bytes, uint64_t claimed, double age_ns, double lifetime_ns);

#endif
