/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All replications of all settings, by as many processes as are wanted. What one of them finds depends
 * on its number alone, so that the results are the same bytes however they were shared out.
 *
 *	processes of this machine	fork: each takes the next number until there is none
 *	ranks of mpirun			each takes every size-th number; rank 0 collects
 */
#ifndef CMD_SIMULATE_TASKS_H
#define CMD_SIMULATE_TASKS_H

#include "model/simulated.h"

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
	/* private */
	void *shared;
	size_t shared_bytes;
};

/* Runs all. 0 (interrupted, too); -errno: a process could not be made or was killed. */
int tasks_run(struct tasks *tasks, struct err *err);
void tasks_release(struct tasks *tasks);

/* One of them, by its number. */
void tasks_play(const struct tasks *tasks, size_t number);
size_t tasks_count(const struct tasks *tasks);

/* Whether mpirun started this process, and its part of the work. -EOPNOTSUPP: built without MPI. */
bool mpi_is_used(void);
int mpi_share(struct tasks *tasks, struct err *err);

#endif
