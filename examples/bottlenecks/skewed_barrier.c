/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted: a barrier that all wait at for worker-1, which has 8 times the work of each other.
 * Fixed: the same work, split evenly.
 */
#include "team.h"

enum { ROUNDS = 8, LIGHT_US = 5000, SKEW = 8 };

static pthread_barrier_t round_end; /* static, so that reports know it by its name */

static double share_us(const struct member *member)
{
	int threads = member->plant->threads;
	if (member->plant->is_fixed)
		return (double)LIGHT_US * (threads - 1 + SKEW) / threads;
	return member->index == 1 ? LIGHT_US * SKEW : LIGHT_US;
}

static void work(struct member *member)
{
	int rounds = plant_count(member->plant, ROUNDS);
	for (int round = 0; round < rounds; round++) {
		uint64_t item = (uint64_t)round * PLANT_THREADS_MAX + (uint64_t)member->index;
		member->sum += plant_work(member->plant, member->name, item, share_us(member));
		(void)pthread_barrier_wait(&round_end); /* tells one thread that it is the last */
	}
}

int main(int argc, char **argv)
{
	static struct team team;
	struct plant plant = plant_begin(argc, argv,
		"Rounds that end at a barrier. worker-1 has 8 times the work of each other.");
	(void)pthread_barrier_init(&round_end, NULL, (unsigned)plant.threads); /* cannot fail */
	team_start_range(&team, &plant, 0, plant.threads, "worker", work);
	return plant_end(&plant, team_join(&team));
}
