/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted: table_lock is held for 4/5 of each operation, so that threads only take turns. Sections are longer than
 * the scheduler's time slices, so that others wait for the lock even while they all share one core.
 * Fixed: the same work is done before the lock is taken. --speedup knows the parts 'locked' and 'own'.
 */
#include "team.h"

enum { OPERATIONS = 40, OWN_US = 2500, LOCKED_US = 10000 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* reports know it by its name */

static void work(struct member *member)
{
	const struct plant *plant = member->plant;
	int operations = plant_count(plant, OPERATIONS);
	for (int i = member->index; i < operations; i += plant->threads) {
		member->sum += plant_work(plant, "own", (uint64_t)i, OWN_US);
		if (plant->is_fixed)
			(void)plant_work(plant, "own", (uint64_t)i, LOCKED_US);
		(void)pthread_mutex_lock(&table_lock); /* a plain mutex: cannot fail */
		if (!plant->is_fixed)
			(void)plant_work(plant, "locked", (uint64_t)i, LOCKED_US);
		(void)pthread_mutex_unlock(&table_lock);
	}
}

int main(int argc, char **argv)
{
	static struct team team;
	struct plant plant =
		plant_begin(argc, argv, "Operations that hold one lock for 4/5 of their time.");
	team_start_range(&team, &plant, 0, plant.threads, "worker", work);
	return plant_end(&plant, team_join(&team));
}
