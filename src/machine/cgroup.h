/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a process's control groups are. A group's files lie at MOUNT_POINT + PATH, where PATH comes from
 * /proc/self/cgroup and MOUNT_POINT from /proc/self/mountinfo. Inside a container the mount shows only a part
 * of the hierarchy (mountinfo's root field), which must then be taken off the front of PATH:
 *
 *	/proc/self/cgroup	0::/docker/7f3a/app
 *	mountinfo		... /docker/7f3a /sys/fs/cgroup ... - cgroup2 ...
 *	files			/sys/fs/cgroup/app/cpu.max, /sys/fs/cgroup/cpu.max
 */
#ifndef MACHINE_CGROUP_H
#define MACHINE_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

enum { CGROUP_PATH_BYTES = 512 };

/* One mounted hierarchy and where a process is in it. */
struct cgroup {
	bool is_v2;
	char mount_point[CGROUP_PATH_BYTES];
	char path[CGROUP_PATH_BYTES]; /* below the mount point: "" or "/a/b" */
};

/*
 * In version 1's hierarchy of a controller, "": in version 2's. pid 0: this process; another one's groups are
 * looked for where ours are. `root` "": the machine itself; tests give a folder with files of /proc. 0; -ENOENT:
 * there is no such hierarchy; -errno.
 */
int cgroup_find(const char *root, pid_t pid, const char *controller, struct cgroup *ret);

#endif
