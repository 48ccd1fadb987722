/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/cpu_limits.h"

#include "base/cleanup.h"
#include "base/intlist.h"
#include "machine/cgroup.h"
#include "base/readfile.h"

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
static void folder_at(const struct cgroup *group, size_t length, char *ret, size_t size)
{
	snprintf(ret, size, "%s%.*s", group->mount_point, (int)length, group->path);
}

/* The length of the path of the group above; SIZE_MAX above the mount point. */
static size_t parent_length(const struct cgroup *group, size_t length)
{
	if (length == 0)
		return SIZE_MAX;
	while (length > 0 && group->path[length - 1] != '/')
		length--;
	return length > 0 ? length - 1 : 0;
}

static void read_quota(const char *root, const struct cgroup *group, struct cpu_limits *limits)
{
	for (size_t n = strlen(group->path); n != SIZE_MAX; n = parent_length(group, n)) {
		char folder[2 * CGROUP_PATH_BYTES], file[CPU_LIMITS_FILE_BYTES] = "";
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
static void read_cpuset(const char *root, const struct cgroup *group, struct cpu_limits *limits)
{
	const char *name = group->is_v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
	for (size_t n = strlen(group->path); n != SIZE_MAX; n = parent_length(group, n)) {
		char folder[2 * CGROUP_PATH_BYTES], file[CPU_LIMITS_FILE_BYTES];
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
	struct cgroup group;
	if (cgroup_find(root, pid, "", &group) == 0) {
		read_quota(root, &group, ret);
		read_cpuset(root, &group, ret);
	}
	if (cgroup_find(root, pid, "cpu", &group) == 0)
		read_quota(root, &group, ret);
	if (cgroup_find(root, pid, "cpuset", &group) == 0)
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
