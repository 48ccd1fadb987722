/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All replications of all settings, shared out (share_tasks.h). */
#ifndef CMD_SIMULATE_TASKS_H
#define CMD_SIMULATE_TASKS_H

#include "model/simulated.h"
#include "share_tasks.h"

struct tasks {
	const struct model *model; /* borrowed, as the grid */
	const struct grid *grid;
	size_t replications;
	uint64_t seed, requests; /* replication r has the seed `seed` + r in all settings */
	double duration_s;
	uint32_t jobs; /* processes; 0: as many as there are cores */
	bool shows_progress;
	struct simulated_runs results; /* released by tasks_release() */
	bool was_interrupted;
	bool is_silent; /* a rank of mpirun that has handed in its part: there is nothing to print */
	struct share_tasks share; /* private */
};

/* Runs all. 0 (interrupted, too); -errno: a process could not be made or was killed. */
int tasks_run(struct tasks *tasks, struct err *err);
void tasks_release(struct tasks *tasks);

#endif
