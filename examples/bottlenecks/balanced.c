/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nothing planted: threads take the next of many small chunks until none is left, so that all of them
 * work until the end, whatever share of the cores each gets.
 */
#include "team.h"

#include <stdatomic.h>

enum { CHUNKS = 800, CHUNK_US = 1000 };

static atomic_int next_chunk;

static void work(struct member *member)
{
	int chunks = plant_count(member->plant, CHUNKS);
	for (int i; (i = atomic_fetch_add(&next_chunk, 1)) < chunks;)
		member->sum += plant_work(member->plant, member->name, (uint64_t)i, CHUNK_US);
}

int main(int argc, char **argv)
{
	static struct team team;
	struct plant plant =
		plant_begin(argc, argv, "Threads that share the work evenly: nothing is critical.");
	team_start_range(&team, &plant, 0, plant.threads, "worker", work);
	return plant_end(&plant, team_join(&team));
}
