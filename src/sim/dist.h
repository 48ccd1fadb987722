/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws from distributions with the four operations of arithmetic only: same numbers anywhere. */
#ifndef SIM_DIST_H
#define SIM_DIST_H

#include "sim/sim.h"

/* Natural logarithm of a positive normal number; within 2 units of the last place of libm's. */
double dist_log(double x);

/* Standard exponential, mean 1. */
double dist_exponential(struct rng *rng);

/* 0, or -EINVAL with what is wrong with the distribution of `what`. */
int dist_check(const struct sim_dist *dist, const char *what, struct err *err);

/* Copies with its values; dist_release() frees them. 0 or -ENOMEM. */
int dist_copy(const struct sim_dist *dist, struct sim_dist *ret);
void dist_release(struct sim_dist *dist);

#endif
