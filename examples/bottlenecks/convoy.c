/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted: counter_lock is held for 20 microseconds at a time only, but taken again after 5, and handed
 * to the one that has waited longest (as mutexes with priority inheritance are): once threads queue at
 * it, each acquisition is a wait for all the others. Fixed: each thread takes it once for 1000
 * operations. --speedup knows the parts 'locked' and 'own'.
 */
#include "team.h"

enum { OPERATIONS = 12000, OWN_US = 5, LOCKED_US = 20, BATCH = 1000 };

static pthread_mutex_t counter_lock; /* reports know it by its name */
static uint64_t counter; /* guarded by counter_lock */

static void count(const struct member *member, uint64_t items)
{
	(void)pthread_mutex_lock(&counter_lock); /* a plain mutex: cannot fail */
	if (!member->plant->is_fixed)
		(void)plant_work(member->plant, "locked", counter, LOCKED_US);
	counter += items;
	(void)pthread_mutex_unlock(&counter_lock);
}

static void work(struct member *member)
{
	const struct plant *plant = member->plant;
	int operations = plant_count(plant, OPERATIONS);
	uint64_t uncounted = 0;
	for (int i = member->index; i < operations; i += plant->threads) {
		member->sum += plant_work(plant, "own", (uint64_t)i, OWN_US);
		if (plant->is_fixed)
			(void)plant_work(plant, "own", (uint64_t)i, LOCKED_US);
		if (++uncounted == (plant->is_fixed ? BATCH : 1)) {
			count(member, uncounted);
			uncounted = 0;
		}
	}
	count(member, uncounted);
}

int main(int argc, char **argv)
{
	static struct team team;
	struct plant plant = plant_begin(
		argc, argv, "Many operations that each take one lock for a short time.");
	pthread_mutexattr_t attributes;
	(void)pthread_mutexattr_init(&attributes); /* none of these can fail on Linux */
	(void)pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	(void)pthread_mutex_init(&counter_lock, &attributes);
	team_start_range(&team, &plant, 0, plant.threads, "worker", work);
	return plant_end(&plant, team_join(&team) + counter);
}
