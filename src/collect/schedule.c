/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of runs: shuffled, shortened by what was done before, with an estimate of the rest. */
#include "collect/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int schedule_init(
	struct schedule *schedule, const uint32_t *counts, size_t count_count, uint32_t repeats)
{
	*schedule = (struct schedule){ .count = count_count * repeats };
	schedule->runs = calloc(schedule->count ? schedule->count : 1, sizeof *schedule->runs);
	if (!schedule->runs)
		return -ENOMEM;
	struct schedule_run *run = schedule->runs;
	for (uint32_t repeat = 0; repeat < repeats; repeat++)
		for (size_t i = 0; i < count_count; i++)
			*run++ = (struct schedule_run){ counts[i], repeat, 0 };
	return 0;
}

void schedule_release(struct schedule *schedule)
{
	free(schedule->runs);
	*schedule = (struct schedule){ 0 };
}

bool schedule_remove(struct schedule *schedule, uint32_t threads, uint32_t repeat)
{
	for (size_t i = schedule->next; i < schedule->count; i++) {
		if (schedule->runs[i].threads != threads || schedule->runs[i].repeat != repeat)
			continue;
		schedule->count--;
		for (; i < schedule->count; i++)
			schedule->runs[i] = schedule->runs[i + 1];
		return true;
	}
	return false;
}

/* Fisher and Yates. */
void schedule_shuffle(struct schedule *schedule, struct rng *rng)
{
	for (size_t i = schedule->count; i > 1; i--) {
		size_t j = (size_t)rng_below(rng, i);
		struct schedule_run other = schedule->runs[j];
		schedule->runs[j] = schedule->runs[i - 1];
		schedule->runs[i - 1] = other;
	}
}

const struct schedule_run *schedule_current(const struct schedule *schedule)
{
	return schedule->next < schedule->count ? &schedule->runs[schedule->next] : NULL;
}

void schedule_advance(struct schedule *schedule, double cost_s)
{
	schedule->runs[schedule->next++].cost_s = cost_s;
}

/* Mean cost of the done runs at the count nearest to `threads`. */
static double expected_cost_s(const struct schedule *schedule, uint32_t threads)
{
	double best_distance = INFINITY, sum = 0;
	size_t count = 0;
	for (size_t i = 0; i < schedule->next; i++) {
		const struct schedule_run *run = &schedule->runs[i];
		double distance = fabs(log((double)run->threads / threads));
		if (distance < best_distance) {
			best_distance = distance;
			sum = 0;
			count = 0;
		}
		if (distance <= best_distance) {
			sum += run->cost_s;
			count++;
		}
	}
	return sum / (double)count;
}

double schedule_left_s(const struct schedule *schedule)
{
	if (schedule->next == 0)
		return NAN;
	double left_s = 0;
	for (size_t i = schedule->next; i < schedule->count; i++)
		left_s += expected_cost_s(schedule, schedule->runs[i].threads);
	return left_s;
}
