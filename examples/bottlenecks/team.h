/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The POSIX threads of a program with a planted bottleneck: started, named, joined. */
#ifndef TEAM_H
#define TEAM_H

#include "plant.h"

#include <pthread.h>

enum { TEAM_MAX = PLANT_THREADS_MAX + 8 };

struct member {
	const struct plant *plant;
	int index; /* as the program counts them */
	char name[16]; /* of the thread: reports and --speedup use it */
	uint64_t sum; /* of the items that it worked on */
	pthread_t thread;
	void (*run)(struct member *);
};

struct team {
	int count;
	struct member members[TEAM_MAX];
};

static inline void *member_begin(void *arg)
{
	struct member *member = (struct member *)arg;
	(void)pthread_setname_np(pthread_self(), member->name); /* runs as well without */
	member->run(member);
	return NULL;
}

/* Adds a thread that does run(member). Ends the program if there can be no more. */
static inline void team_start(struct team *team, const struct plant *plant, const char *name,
	int index, void (*run)(struct member *))
{
	struct member *member = &team->members[team->count % TEAM_MAX];
	member->plant = plant;
	member->index = index;
	member->run = run;
	snprintf(member->name, sizeof(member->name), "%.15s", name);
	if (team->count == TEAM_MAX ||
		pthread_create(&member->thread, NULL, member_begin, member) != 0) {
		fprintf(stderr, "%s: cannot start thread %d\n", plant->program, team->count);
		exit(1);
	}
	team->count++;
}

/* Adds the threads PREFIX-first ... PREFIX-(end - 1). */
static inline void team_start_range(struct team *team, const struct plant *plant, int first,
	int end, const char *prefix, void (*run)(struct member *))
{
	for (int i = first; i < end; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%s-%d", prefix, i);
		team_start(team, plant, name, i, run);
	}
}

/* Waits for all. Returns the sum of their sums. */
static inline uint64_t team_join(struct team *team)
{
	uint64_t sum = 0;
	for (int i = 0; i < team->count; i++) {
		(void)pthread_join(
			team->members[i].thread, NULL); /* fails only for a thread not ours */
		sum += team->members[i].sum;
	}
	return sum;
}

#endif
