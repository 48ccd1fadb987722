/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbered tasks, by as many processes as are wanted. What one of them finds depends on its number alone and has
 * its own place in shared memory, so that the results are the same bytes however they were shared out.
 *
 *	processes of this machine	fork: each takes the next number until there is none
 *	ranks of mpirun			each takes every size-th number; rank 0 collects
 */
#ifndef CMD_SHARE_TASKS_H
#define CMD_SHARE_TASKS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct share_tasks {
	size_t count;
	void (*play)(void *context, size_t number); /* in any process; writes to `memory` only */
	void *context;
	size_t bytes; /* of memory */
	uint32_t jobs; /* processes; 0: as many as there are cores */
	const char *verb, *noun; /* for progress: "simulated", "replications" */
	bool shows_progress;
	bool is_local; /* ranks of mpirun are not asked: each plays all */
	void *memory; /* all 0 at first; pages that nobody writes cost nothing */
	bool was_interrupted;
	bool is_silent; /* a rank of mpirun that has handed in its part: there is nothing to print */
	/* private */
	void *mapped;
	size_t mapped_bytes;
};

/* Makes the memory. -E2BIG, -errno. */
int share_tasks_prepare(struct share_tasks *tasks, struct err *err);

/* Runs all. 0 (interrupted, too); -errno: a process could not be made or was killed. */
int share_tasks_run(struct share_tasks *tasks, struct err *err);
void share_tasks_release(struct share_tasks *tasks);

/* Whether mpirun started this process, and its part of the work. -EOPNOTSUPP: built without MPI. */
bool mpi_is_used(void);
int mpi_share(struct share_tasks *tasks, struct err *err);

#endif
