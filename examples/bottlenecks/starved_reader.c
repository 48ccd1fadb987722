/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted: a read-write lock that prefers writers, and writers who hold it for 10/11 of their time: the
 * reader hardly gets it. Fixed: writers prepare what they write before they take the lock.
 * --speedup knows the parts 'locked' and 'own' of the writers, and 'reader'.
 */
#include "team.h"

enum { WRITES = 10, READS = 10, OWN_US = 1200, LOCKED_US = 12000, READ_US = 12000 };

static pthread_rwlock_t config_lock =
	PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP; /* reports know it by its name */

static void write_often(struct member *member)
{
	const struct plant *plant = member->plant;
	int writes = plant_count(plant, WRITES);
	for (int i = member->index * writes; i < (member->index + 1) * writes; i++) {
		member->sum += plant_work(plant, "own", (uint64_t)i, OWN_US);
		if (plant->is_fixed)
			(void)plant_work(plant, "own", (uint64_t)i, LOCKED_US);
		(void)pthread_rwlock_wrlock(&config_lock); /* these cannot fail on such a lock */
		if (!plant->is_fixed)
			(void)plant_work(plant, "locked", (uint64_t)i, LOCKED_US);
		(void)pthread_rwlock_unlock(&config_lock);
	}
}

static void read_often(struct member *member)
{
	int reads = plant_count(member->plant, READS);
	for (int i = 0; i < reads; i++) {
		(void)pthread_rwlock_rdlock(&config_lock); /* as above */
		member->sum += plant_work(member->plant, member->name, ~(uint64_t)i, READ_US);
		(void)pthread_rwlock_unlock(&config_lock);
	}
}

int main(int argc, char **argv)
{
	static struct team team;
	struct plant plant = plant_begin(argc, argv,
		"A reader, and THREADS - 1 writers who hold its lock most of the time.");
	team_start(&team, &plant, "reader", 0, read_often);
	team_start_range(&team, &plant, 0, plant.threads - 1, "writer", write_often);
	return plant_end(&plant, team_join(&team));
}
