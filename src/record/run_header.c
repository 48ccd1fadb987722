/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/run_header.h"

#include "machine/cpu_limits.h"
#include "record/run_clock.h"

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
	trace_header_init(&header, &how);
	run_clock_measure(&header);
	return trace_header_write(fd, name, &header, err);
}
