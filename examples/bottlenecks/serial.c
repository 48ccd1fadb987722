/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted: a breadth-first search by levels. All threads expand a level; then the first alone, which
 * is main, marks what was found, as the search did that Du Bois et al. ("Criticality Stacks",
 * ISCA 2013, section 6) mended after a look at its stack. Fixed: all threads mark, each its nodes.
 */
#include "team.h"

enum { LEVELS = 8, NODES = 400, EXPAND_US = 30, MARK_US = 100 };

static pthread_barrier_t level_expanded, level_marked; /* reports know them by their names */

/* Every node of those from `first` in steps of `step`. */
static uint64_t expand(const struct member *member, int level, int first, int step)
{
	uint64_t sum = 0;
	for (int node = first; node < NODES; node += step)
		sum += plant_work(member->plant, member->name,
			(uint64_t)level * NODES + (uint64_t)node, EXPAND_US);
	return sum;
}

static uint64_t mark(const struct member *member, int level, int first, int step)
{
	uint64_t sum = 0;
	for (int node = first; node < NODES; node += step)
		sum += plant_work(member->plant, member->name,
			~(uint64_t)level * NODES + (uint64_t)node, MARK_US);
	return sum;
}

static void search(struct member *member)
{
	int index = member->index, threads = member->plant->threads;
	int levels = plant_count(member->plant, LEVELS);
	for (int level = 0; level < levels; level++) {
		member->sum += expand(member, level, index, threads);
		(void)pthread_barrier_wait(&level_expanded); /* tells one that it is the last */
		if (member->plant->is_fixed)
			member->sum += mark(member, level, index, threads);
		else if (index == 0)
			member->sum += mark(member, level, 0, 1);
		(void)pthread_barrier_wait(&level_marked); /* as above */
	}
}

int main(int argc, char **argv)
{
	static struct team team;
	struct plant plant = plant_begin(argc, argv,
		"A search by levels: all threads expand a level, then main alone marks it.");
	struct member self = { .plant = &plant, .index = 0 };
	snprintf(self.name, sizeof(self.name), "%s", plant.program); /* as the system names main */
	(void)pthread_barrier_init(
		&level_expanded, NULL, (unsigned)plant.threads); /* cannot fail */
	(void)pthread_barrier_init(&level_marked, NULL, (unsigned)plant.threads); /* as above */
	team_start_range(&team, &plant, 1, plant.threads, "worker", search);
	search(&self);
	return plant_end(&plant, self.sum + team_join(&team));
}
