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

/* CPU time so far of a process and its living descendants, of all their threads. 0 or a negative errno. */
int tree_cpu_ns(pid_t root, uint64_t *ret);

/*
 * Kills and reaps every descendant of this process but those in `spared` (children that were there
 * before). Returns how many there were.
 */
size_t tree_kill(const struct tree *spared);

/* Sends a signal to the same processes; returns at once. */
void tree_signal(const struct tree *spared, int signal_number);

#endif
