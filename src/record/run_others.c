/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/run_others.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/readfile.h"
#include "machine/busy.h"
#include "machine/cpu_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

static int own_ns(pid_t pid, uint64_t *ret)
{
	struct rusage usage;
	clockid_t clock;
	struct timespec used;
	if (pid > 0) {
		if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
			return -ESRCH;
		*ret = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
		return 0;
	}
	if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return -errno;
	*ret = ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
	return 0;
}

static int read_now(struct run_others *now)
{
	FILE *stat = readfile_open("", "/proc/stat");
	if (!stat)
		return -ENOENT;
	int code = busy_idle_ns(stat, &now->cores, &now->idle_ns);
	(void)fclose(stat); /* only read */
	now->time_ns = clock_now_ns(CLOCK_MONOTONIC);
	return code < 0 ? code : own_ns(now->pid, &now->own_ns);
}

void run_others_begin(struct run_others *others, pid_t pid)
{
	struct run_others now = { .pid = pid };
	struct cpu_limits limits;
	cpu_limits_read_process("", pid, &limits);
	*others = (struct run_others){ 0 };
	if (sched_getaffinity(pid, sizeof now.cores, &now.cores) == 0 &&
		(uint32_t)CPU_COUNT(&now.cores) == cpu_limits_usable(&limits) &&
		read_now(&now) == 0)
		*others = now;
}

struct trace_others run_others_end(const struct run_others *others)
{
	struct run_others now = *others;
	if (others->time_ns == 0 || read_now(&now) < 0)
		return (struct trace_others){ 0 };
	uint64_t wall_ns = now.time_ns - others->time_ns;
	uint64_t all_ns = wall_ns * (uint64_t)CPU_COUNT(&now.cores);
	uint64_t gone_ns = now.idle_ns - others->idle_ns + now.own_ns - others->own_ns;
	return (struct trace_others){ gone_ns < all_ns ? all_ns - gone_ns : 0, wall_ns };
}

void run_others_write(const struct run_others *others, const char *path)
{
	struct trace_others found = run_others_end(others);
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)pwrite(fd, &found, sizeof found,
			offsetof(struct trace_header, others)); /* unknown, then */
}
