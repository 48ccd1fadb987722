/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A control group's files lie at MOUNT_POINT + PATH, where PATH comes from /proc/self/cgroup and
 * MOUNT_POINT from /proc/self/mountinfo. Inside a container the mount shows only a part of the
 * hierarchy (mountinfo's root field), which must then be taken off the front of PATH:
 *
 *	/proc/self/cgroup	0::/docker/7f3a/app
 *	mountinfo		... /docker/7f3a /sys/fs/cgroup ... - cgroup2 ...
 *	files			/sys/fs/cgroup/app/cpu.max, /sys/fs/cgroup/cpu.max
 *
 * A group obeys the quotas of all groups above it, so every one up to the mount point is read.
 */
#include "collect/cpu_limits.h"

#include "base/cleanup.h"
#include "base/intlist.h"
#include "collect/readfile.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSORS_MAX = 1 << 20 };

/* One mounted hierarchy and where this process is in it. */
struct group {
	bool is_v2;
	char mount_point[CPU_LIMITS_PATH_BYTES];
	char path[CPU_LIMITS_PATH_BYTES]; /* below the mount point: "" or "/a/b" */
};

/* True if the comma-separated list holds the word. */
static bool list_has(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

/* The process's path in the hierarchy of a controller ("" names version 2's), as the kernel says. */
static int path_of(
	const char *root, pid_t pid, const char *controller, char ret[CPU_LIMITS_PATH_BYTES])
{
	char name[64] = "/proc/self/cgroup";
	if (pid)
		(void)snprintf(name, sizeof name, "/proc/%d/cgroup", pid); /* fits */
	AUTO_FILE FILE *file = readfile_open(root, name);
	if (!file)
		return -errno;
	AUTO_FREE char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		controllers++;
		bool is_own = *controller ? list_has(controllers, controller) : !*controllers;
		if (is_own) {
			snprintf(ret, CPU_LIMITS_PATH_BYTES, "%s", path);
			return 0;
		}
	}
	return -ENOENT;
}

/*
 * Finds the mount of the hierarchy: a line of mountinfo is
 * "id parent major:minor root mount_point options [fields...] - type source super_options".
 */
static int find_mount(
	const char *root, const char *controller, char ret_mount_root[], char ret_mount_point[])
{
	AUTO_FILE FILE *file = readfile_open(root, "/proc/self/mountinfo");
	if (!file)
		return -errno;
	AUTO_FREE char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, file) > 0) {
		char type[64], super_options[1024];
		char *tail = strstr(line, " - ");
		if (!tail || sscanf(tail, " - %63s %*s %1023s", type, super_options) != 2)
			continue;
		bool is_it = *controller ? strcmp(type, "cgroup") == 0 &&
						   list_has(super_options, controller)
					 : strcmp(type, "cgroup2") == 0;
		if (is_it && sscanf(line, "%*s %*s %*s %511s %511s", ret_mount_root,
				     ret_mount_point) == 2)
			return 0;
	}
	return -ENOENT;
}

static int find_group(const char *root, pid_t pid, const char *controller, struct group *ret)
{
	char path[CPU_LIMITS_PATH_BYTES], mount_root[CPU_LIMITS_PATH_BYTES];
	struct group group = { .is_v2 = !*controller };
	int r = path_of(root, pid, controller, path);
	if (r < 0)
		return r;
	r = find_mount(root, controller, mount_root, group.mount_point);
	if (r < 0)
		return r;
	size_t length = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
	bool is_below = strncmp(path, mount_root, length) == 0 &&
			(path[length] == '/' || path[length] == '\0');
	/* A path outside of the mount (another namespace's "/..") is seen from its top only. */
	if (is_below && strcmp(path + length, "/") != 0 && !strstr(path, "/.."))
		snprintf(group.path, sizeof group.path, "%s", path + length);
	*ret = group;
	return 0;
}

/* Processors that one folder of the hierarchy allows; 0 if it sets no quota. */
static double folder_quota(
	const char *root, bool is_v2, const char *folder, char ret_file[CPU_LIMITS_FILE_BYTES])
{
	char file[CPU_LIMITS_FILE_BYTES] = "", line[64];
	double quota_us = 0, period_us = 100000; /* the kernel's default period */
	if (is_v2) {
		snprintf(file, sizeof file, "%s/cpu.max", folder);
		if (readfile_line(root, file, line, sizeof line) < 0 ||
			sscanf(line, "%lf %lf", &quota_us, &period_us) < 1)
			return 0; /* no such file at the top; "max" is no number */
	} else {
		snprintf(file, sizeof file, "%s/cpu.cfs_period_us", folder);
		(void)readfile_number(root, file, &period_us); /* keeps the default */
		snprintf(file, sizeof file, "%s/cpu.cfs_quota_us", folder);
		if (readfile_number(root, file, &quota_us) < 0)
			return 0;
	}
	if (!(quota_us > 0 && period_us > 0)) /* version 1 says -1 for none */
		return 0;
	memcpy(ret_file, file, sizeof file);
	return quota_us / period_us;
}

/* The mount point and the group's path, cut to `length` bytes of that path. */
static void folder_at(const struct group *group, size_t length, char *ret, size_t size)
{
	snprintf(ret, size, "%s%.*s", group->mount_point, (int)length, group->path);
}

/* The length of the path of the group above; SIZE_MAX above the mount point. */
static size_t parent_length(const struct group *group, size_t length)
{
	if (length == 0)
		return SIZE_MAX;
	while (length > 0 && group->path[length - 1] != '/')
		length--;
	return length > 0 ? length - 1 : 0;
}

static void read_quota(const char *root, const struct group *group, struct cpu_limits *limits)
{
	for (size_t n = strlen(group->path); n != SIZE_MAX; n = parent_length(group, n)) {
		char folder[2 * CPU_LIMITS_PATH_BYTES], file[CPU_LIMITS_FILE_BYTES] = "";
		folder_at(group, n, folder, sizeof folder);
		double quota = folder_quota(root, group->is_v2, folder, file);
		if (quota > 0 && (limits->quota == 0 || quota < limits->quota)) {
			limits->quota = quota;
			memcpy(limits->quota_file, file, sizeof file);
		}
	}
}

/* Processors in a list such as "0-3,8"; 0 if there is no list in the file. */
static uint32_t count_processors(const char *root, const char *file)
{
	char line[4096];
	if (readfile_line(root, file, line, sizeof line) < 0)
		return 0;
	AUTO_FREE uint32_t *list = NULL;
	size_t count = 0;
	if (intlist_parse(line, 0, PROCESSORS_MAX, &list, &count, NULL) < 0)
		return 0;
	return (uint32_t)count;
}

/* The nearest group with a cpuset: those without the controller have no such file. */
static void read_cpuset(const char *root, const struct group *group, struct cpu_limits *limits)
{
	const char *name = group->is_v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
	for (size_t n = strlen(group->path); n != SIZE_MAX; n = parent_length(group, n)) {
		char folder[2 * CPU_LIMITS_PATH_BYTES], file[CPU_LIMITS_FILE_BYTES];
		folder_at(group, n, folder, sizeof folder);
		snprintf(file, sizeof file, "%s/%s", folder, name);
		uint32_t count = count_processors(root, file);
		if (count == 0)
			continue;
		if (limits->cpuset == 0 || count < limits->cpuset) {
			limits->cpuset = count;
			memcpy(limits->cpuset_file, file, sizeof file);
		}
		return;
	}
}

/* A mask may be wider than a fixed cpu_set_t: grow until the kernel agrees. */
uint32_t cpu_limits_affinity(pid_t pid)
{
	for (int cpus = 1024; cpus <= PROCESSORS_MAX; cpus *= 2) {
		cpu_set_t *set = CPU_ALLOC(cpus);
		if (!set)
			return 0;
		size_t size = CPU_ALLOC_SIZE(cpus);
		int r = sched_getaffinity(pid, size, set);
		int code = errno;
		uint32_t count = r == 0 ? (uint32_t)CPU_COUNT_S(size, set) : 0;
		CPU_FREE(set);
		if (r == 0 || code != EINVAL)
			return count;
	}
	return 0;
}

void cpu_limits_read(const char *root, struct cpu_limits *ret)
{
	cpu_limits_read_process(root, 0, ret);
}

void cpu_limits_read_process(const char *root, pid_t pid, struct cpu_limits *ret)
{
	*ret = (struct cpu_limits){ 0 };
	ret->online = count_processors(root, "/sys/devices/system/cpu/online");
	if (!*root) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);
		if (ret->online == 0 && online > 0)
			ret->online = (uint32_t)online;
		ret->affinity = cpu_limits_affinity(pid);
	}
	struct group group;
	if (find_group(root, pid, "", &group) == 0) {
		read_quota(root, &group, ret);
		read_cpuset(root, &group, ret);
	}
	if (find_group(root, pid, "cpu", &group) == 0)
		read_quota(root, &group, ret);
	if (find_group(root, pid, "cpuset", &group) == 0)
		read_cpuset(root, &group, ret);
}

uint32_t cpu_limits_usable(const struct cpu_limits *limits)
{
	double usable = INFINITY;
	if (limits->online > 0)
		usable = limits->online;
	if (limits->affinity > 0)
		usable = fmin(usable, limits->affinity);
	if (limits->cpuset > 0)
		usable = fmin(usable, limits->cpuset);
	if (limits->quota > 0)
		usable = fmin(usable, floor(limits->quota));
	return usable >= 1 && isfinite(usable) ? (uint32_t)usable : 1;
}
