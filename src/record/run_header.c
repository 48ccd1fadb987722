/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/run_header.h"

#include "machine/cpu_limits.h"
#include "machine/wake_probe.h"
#include "record/run_clock.h"

struct trace_wakes run_wakes_measure(void)
{
	struct wake_probe probe = wake_probe_measure(0);
	return (struct trace_wakes){ probe.cost_ns, probe.latency_ns, probe.doze_ns };
}

int run_header_write(
	int fd, const char *name, const struct trace_create_opts *opts, struct err *err)
{
	struct trace_create_opts how = *opts;
	struct cpu_limits limits;
	struct trace_header header;
	cpu_limits_read("", &limits);
	how.sources = TRACE_BY_PRELOAD;
	how.cores = cpu_limits_usable(&limits);
	how.cores_online = limits.online;
	how.wakes = run_wakes_measure();
	trace_header_init(&header, &how);
	run_clock_measure(&header);
	return trace_header_write(fd, name, &header, err);
}
