/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many processors this process may really use: its affinity mask, the cpuset of its control
 * group, and the CPU time quotas of its group and of every group above it. In a container the
 * quota is the truth: a machine of 64 cores with cpu.max "200000 100000" has two. A group obeys the
 * quotas of all groups above it, so every one up to the mount point is read.
 *
 * Both hierarchies are read: version 2 (cpu.max, cpuset.cpus.effective) and version 1
 * (cpu.cfs_quota_us, cpuset.effective_cpus), wherever they are mounted.
 */
#ifndef MACHINE_CPU_LIMITS_H
#define MACHINE_CPU_LIMITS_H

#include "machine/cgroup.h"

#include <stdint.h>
#include <sys/types.h>

enum {
	CPU_LIMITS_FILE_BYTES = 2 * CGROUP_PATH_BYTES + 32,
};

struct cpu_limits {
	uint32_t online; /* processors that the kernel runs; 0: not known */
	uint32_t affinity; /* of them, those in this process's mask; 0: not known */
	uint32_t cpuset; /* processors in the group's cpuset; 0: no cpuset, or not known */
	double quota; /* processors' worth of time per second (1.5, 2); 0: no quota */
	char quota_file[CPU_LIMITS_FILE_BYTES]; /* the file that sets the tightest quota, or "" */
	char cpuset_file[CPU_LIMITS_FILE_BYTES]; /* the file that names the cpuset, or "" */
};

/*
 * Reads /proc, /sys and the control groups below the folder `root` ("" for the machine itself;
 * tests give a folder with recorded files). What cannot be read stays 0. The affinity mask is that
 * of the calling thread and has no file: it is asked only when root is "".
 */
void cpu_limits_read(const char *root, struct cpu_limits *ret);

/* The same for a running process, pid 0: this one. Its groups are looked for where ours are. */
void cpu_limits_read_process(const char *root, pid_t pid, struct cpu_limits *ret);

/* Processors in a thread's affinity mask; pid 0: the calling one. 0: not known. */
uint32_t cpu_limits_affinity(pid_t pid);

/* Whole processors that a program can count on: the smallest limit, rounded down, at least 1. */
uint32_t cpu_limits_usable(const struct cpu_limits *limits);

#endif
