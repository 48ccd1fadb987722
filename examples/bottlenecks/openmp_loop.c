/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted, with OpenMP: a loop whose last eighth costs 16 times as much an iteration as the rest, cut
 * into equal pieces: the last thread gets all of that. Fixed: iterations are handed out as threads ask.
 */
#include "plant.h"

#include <omp.h>
#include <pthread.h>

enum { PASSES = 4, ITERATIONS = 800, LIGHT_US = 50, SKEW = 16 };

static double cost_us(int iteration)
{
	return iteration < ITERATIONS - ITERATIONS / 8 ? LIGHT_US : LIGHT_US * SKEW;
}

/* Threads of the pool have no names of their own. The first is main. */
static void name_thread(char *ret_name, size_t size, const struct plant *plant)
{
	int index = omp_get_thread_num();
	snprintf(ret_name, size, "%s", plant->program);
	if (index > 0) {
		snprintf(ret_name, size, "omp-%d", index);
		(void)pthread_setname_np(pthread_self(), ret_name); /* runs as well without */
	}
}

static uint64_t run_pass(const struct plant *plant, int pass)
{
	uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
	{
		char name[16];
		name_thread(name, sizeof(name), plant);
#pragma omp for schedule(runtime)
		for (int i = 0; i < ITERATIONS; i++)
			sum += plant_work(
				plant, name, (uint64_t)pass * ITERATIONS + (uint64_t)i, cost_us(i));
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct plant plant = plant_begin(argc, argv,
		"An OpenMP loop cut into equal pieces, of which the last costs 16 times as much.");
	uint64_t sum = 0;
	int passes = plant_count(&plant, PASSES);
	omp_set_num_threads(plant.threads);
	omp_set_schedule(
		plant.is_fixed ? omp_sched_dynamic : omp_sched_static, plant.is_fixed ? 1 : 0);
	for (int pass = 0; pass < passes; pass++)
		sum += run_pass(&plant, pass);
	return plant_end(&plant, sum);
}
