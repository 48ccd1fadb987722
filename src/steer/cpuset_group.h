/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A control group of our own with a cpuset, in which a running program is kept: what it starts is in it too, and
 * cannot leave it by binding itself. It lies below the group in which the program was:
 *
 *	version 1	GROUP/corecast-PID in the hierarchy of cpuset, as root
 *	version 2	a threaded group there; cpuset is switched on for GROUP's children meanwhile. As root, or in a
 *			group that was delegated to this user with cpuset (systemd: Delegate=cpuset)
 *
 * Everything is written down first (undo.h): in the end the program's threads are where they were and the group is
 * gone.
 */
#ifndef STEER_CPUSET_GROUP_H
#define STEER_CPUSET_GROUP_H

#include "base/err.h"
#include "steer/alteration.h"
#include "steer/undo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cpuset_group {
	const char *
		root; /* "" for the machine itself; tests give a folder with files of /proc and /sys */
	char parent[ALTERATION_PATH_BYTES]; /* the folder of the program's group */
	char path[ALTERATION_PATH_BYTES]; /* of ours, once it was made */
	bool is_v2;
};

/* Finds the program's group (pid 0: ours). 0; -EOPNOTSUPP, -EPERM and why there can be no group of our own. */
int cpuset_group_find(struct cpuset_group *group, const char *root, pid_t pid, struct err *err);

/*
 * Makes the group with these processors, and moves the program and all that it has started into it. 0, -EBUSY (its
 * processes are in several groups already), or a negative errno.
 */
int cpuset_group_enter(struct cpuset_group *group, pid_t pid, const unsigned *processors,
	size_t count, struct undo *undo, struct err *err);

/* From now on these processors. 0 or a negative errno. */
int cpuset_group_set(const struct cpuset_group *group, const unsigned *processors, size_t count,
	struct err *err);

#endif
