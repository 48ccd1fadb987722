/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted: threads spin at state_lock, which is held for most of each operation: all cores are busy
 * and one thread gets on. Fixed: the same work is done before the lock is taken.
 * --speedup knows the parts 'locked' and 'own'.
 */
#include "team.h"

enum { OPERATIONS = 32, OWN_US = 1000, LOCKED_US = 6000 };

static pthread_spinlock_t state_lock; /* reports know it by its name */

static void work(struct member *member)
{
	const struct plant *plant = member->plant;
	int operations = plant_count(plant, OPERATIONS);
	for (int i = member->index; i < operations; i += plant->threads) {
		member->sum += plant_work(plant, "own", (uint64_t)i, OWN_US);
		if (plant->is_fixed)
			(void)plant_work(plant, "own", (uint64_t)i, LOCKED_US);
		(void)pthread_spin_lock(&state_lock); /* cannot fail on Linux */
		if (!plant->is_fixed)
			(void)plant_work(plant, "locked", (uint64_t)i, LOCKED_US);
		(void)pthread_spin_unlock(&state_lock);
	}
}

int main(int argc, char **argv)
{
	static struct team team;
	struct plant plant = plant_begin(argc, argv, "Threads that spin at a lock held for long.");
	(void)pthread_spin_init(&state_lock, PTHREAD_PROCESS_PRIVATE); /* cannot fail on Linux */
	team_start_range(&team, &plant, 0, plant.threads, "worker", work);
	return plant_end(&plant, team_join(&team));
}
