/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted, with the threads of C11: journal_lock is held for 4/5 of each operation, longer than the
 * scheduler's time slices.
 * Fixed: the same work is done before the lock is taken. --speedup knows the parts 'locked' and 'own'.
 */
#include "plant.h"

#include <threads.h>

enum { OPERATIONS = 40, OWN_US = 2500, LOCKED_US = 10000 };

struct worker {
	const struct plant *plant;
	int index;
	uint64_t sum;
	thrd_t thread;
};

static mtx_t journal_lock; /* reports know it by its name */

static int work(void *arg)
{
	struct worker *worker = arg;
	const struct plant *plant = worker->plant;
	int operations = plant_count(plant, OPERATIONS);
	for (int i = worker->index; i < operations; i += plant->threads) {
		worker->sum += plant_work(plant, "own", (uint64_t)i, OWN_US);
		if (plant->is_fixed)
			(void)plant_work(plant, "own", (uint64_t)i, LOCKED_US);
		(void)mtx_lock(&journal_lock); /* a plain lock: cannot fail */
		if (!plant->is_fixed)
			(void)plant_work(plant, "locked", (uint64_t)i, LOCKED_US);
		(void)mtx_unlock(&journal_lock);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct worker workers[PLANT_THREADS_MAX];
	struct plant plant = plant_begin(
		argc, argv, "C11 threads whose operations hold one lock for 4/5 of their time.");
	uint64_t sum = 0;
	(void)mtx_init(&journal_lock, mtx_plain); /* cannot fail in glibc */
	for (int i = 0; i < plant.threads; i++) {
		workers[i] = (struct worker){ .plant = &plant, .index = i };
		if (thrd_create(&workers[i].thread, work, &workers[i]) != thrd_success) {
			fprintf(stderr, "%s: cannot start thread %d\n", plant.program, i);
			return 1;
		}
	}
	for (int i = 0; i < plant.threads; i++) {
		(void)thrd_join(workers[i].thread, NULL); /* fails only for a thread not ours */
		sum += workers[i].sum;
	}
	return plant_end(&plant, sum);
}
