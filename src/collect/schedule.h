/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which runs are to be made, in which order. The order is shuffled over thread counts and repeats
 * together, so that a slow drift of the machine (heat, a neighbour) spreads over all counts instead
 * of bending the curve.
 */
#ifndef COLLECT_SCHEDULE_H
#define COLLECT_SCHEDULE_H

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct schedule_run {
	uint32_t threads;
	uint32_t repeat; /* 0, 1, ... */
	double cost_s; /* what it took; 0: not run yet */
};

struct schedule {
	struct schedule_run *runs; /* the first `next` are done */
	size_t count;
	size_t next;
};

/* All counts times all repeats, in order. 0 or -ENOMEM. Release in any case. */
int schedule_init(
	struct schedule *schedule, const uint32_t *counts, size_t count_count, uint32_t repeats);
void schedule_release(struct schedule *schedule);

/* Takes out a run that has been made before; false if it was not in the schedule. */
bool schedule_remove(struct schedule *schedule, uint32_t threads, uint32_t repeat);

/* Puts what is to come in a random order. */
void schedule_shuffle(struct schedule *schedule, struct rng *rng);

/* The run to make now; NULL when all are done. */
const struct schedule_run *schedule_current(const struct schedule *schedule);

/* The current run is over and took so long, failed or not. */
void schedule_advance(struct schedule *schedule, double cost_s);

/*
 * Estimated seconds that the runs not yet done will take: each as long as the mean of the runs at
 * the nearest thread count done (by ratio). NAN before the first is done.
 */
double schedule_left_s(const struct schedule *schedule);

#endif
