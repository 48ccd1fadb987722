/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two readings of /proc/stat. The load average would not do: it counts what ran minutes ago, which
 * after a measurement is the measurement.
 */
#include "machine/busy.h"

#include "base/readfile.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int busy_parse(const char *line, struct busy_ticks *ret)
{
	/* proc_stat(5): user nice system idle iowait irq softirq steal; guest time is in user. */
	uint64_t t[8];
	if (sscanf(line,
		    "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		    " %" SCNu64 " %" SCNu64,
		    &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
		return -EINVAL;
	uint64_t idle = t[3] + t[4];
	uint64_t total = 0;
	for (int i = 0; i < 8; i++)
		total += t[i];
	*ret = (struct busy_ticks){ .busy = total - idle, .total = total };
	return 0;
}

double busy_between(
	const struct busy_ticks *before, const struct busy_ticks *after, uint32_t online)
{
	if (after->total <= before->total || after->busy < before->busy)
		return 0;
	return (double)online * (double)(after->busy - before->busy) /
	       (double)(after->total - before->total);
}

int busy_read(struct busy_ticks *ret)
{
	char line[256];
	int status = readfile_line("", "/proc/stat", line, sizeof line);
	return status < 0 ? status : busy_parse(line, ret);
}

int busy_idle_ns(FILE *stat, const cpu_set_t *set, uint64_t *ret)
{
	char line[512];
	uint64_t ticks = 0;
	int left = CPU_COUNT(set);
	while (left > 0 && fgets(line, sizeof line, stat)) {
		unsigned cpu;
		uint64_t idle, iowait;
		if (sscanf(line, "cpu%u %*u %*u %*u %" SCNu64 " %" SCNu64, &cpu, &idle, &iowait) !=
				3 ||
			cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, set))
			continue;
		ticks += idle + iowait;
		left--;
	}
	if (left > 0)
		return -EINVAL;
	*ret = ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

double busy_measure(unsigned milliseconds, uint32_t online)
{
	struct busy_ticks before, after;
	if (busy_read(&before) < 0)
		return NAN;
	struct timespec pause = { milliseconds / 1000, (long)(milliseconds % 1000) * 1000000 };
	(void)nanosleep(&pause, NULL); /* cut short by a signal: still two readings */
	if (busy_read(&after) < 0)
		return NAN;
	return busy_between(&before, &after, online);
}
