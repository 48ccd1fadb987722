/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel as a source of counts: perf_event_open(2). */
#include "collect/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

static int kernel_open(void *context, const struct perf_event_attr *attr, pid_t pid, int group)
{
	(void)context;
	long fd = syscall(SYS_perf_event_open, attr, pid, -1, group, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int kernel_read(void *context, int fd, struct counter_reading *ret)
{
	(void)context;
	/* The layout of PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING. */
	uint64_t words[3];
	ssize_t n = read(fd, words, sizeof words);
	if (n < 0)
		return -errno;
	if (n != sizeof words)
		return -EIO;
	*ret = (struct counter_reading){
		.value = words[0],
		.enabled_ns = words[1],
		.running_ns = words[2],
	};
	return 0;
}

static void kernel_close(void *context, int fd)
{
	(void)context;
	(void)close(fd); /* nothing was written */
}

const struct counter_source counter_source_kernel = {
	.open = kernel_open,
	.read = kernel_read,
	.close = kernel_close,
};
