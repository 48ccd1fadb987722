/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted: a mutex is held through a sleep, as others hold one through a request to a server: no thread is active, and
 * all wait. Fixed: the same sleep without the lock.
 */
#include "team.h"

enum { REQUESTS = 60, OWN_US = 200, SLEEP_NS = 3000000 };

static pthread_mutex_t connection_lock =
	PTHREAD_MUTEX_INITIALIZER; /* reports know it by its name */

static void send_requests(struct member *member)
{
	const struct timespec answer = { 0, SLEEP_NS };
	int requests = plant_count(member->plant, REQUESTS);
	for (int i = 0; i < requests; i++) {
		uint64_t item = (uint64_t)member->index * (uint64_t)requests + (uint64_t)i;
		member->sum += plant_work(member->plant, member->name, item, OWN_US);
		if (!member->plant->is_fixed)
			(void)pthread_mutex_lock(&connection_lock); /* a plain mutex: cannot fail */
		(void)nanosleep(&answer, NULL); /* a signal only makes it shorter */
		if (!member->plant->is_fixed)
			(void)pthread_mutex_unlock(&connection_lock);
	}
}

int main(int argc, char **argv)
{
	static struct team team;
	struct plant plant = plant_begin(
		argc, argv, "Threads that sleep most of the time, one at a time, under one lock.");
	team_start_range(&team, &plant, 0, plant.threads, "worker", send_requests);
	return plant_end(&plant, team_join(&team));
}
