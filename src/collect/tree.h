/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All descendants of a process. This process must be a child subreaper (prctl(2)) for the set to
 * be complete: then a process whose parent has ended becomes our child instead of init's, and
 * nothing that a measured program starts can escape.
 */
#ifndef COLLECT_TREE_H
#define COLLECT_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree {
	pid_t *pids; /* parents before their children */
	size_t count;
	size_t capacity;
};

void tree_release(struct tree *tree);

/* Fills with all living descendants of `root`, without `root`. 0 or a negative errno. */
int tree_read(struct tree *tree, pid_t root);

/* For how long so far a process and its living descendants had work for a core. */
struct tree_busy {
	uint64_t run_ns; /* CPU time of all their threads */
	uint64_t
		wait_ns; /* what the threads that are there have waited for a core: falls when one ends */
};

/* 0 or a negative errno. */
int tree_busy(pid_t root, struct tree_busy *ret);

/*
 * Kills and reaps every descendant of this process but those in `spared` (children that were there
 * before). Returns how many there were.
 */
size_t tree_kill(const struct tree *spared);

/* Sends a signal to the same processes; returns at once. */
void tree_signal(const struct tree *spared, int signal_number);

#endif
