/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The head of a trace that the preload library is to fill. */
#ifndef RECORD_RUN_HEADER_H
#define RECORD_RUN_HEADER_H

#include "trace/create.h"

/* Of this machine, now: see machine/wake_probe.h. */
struct trace_wakes run_wakes_measure(void);

/*
 * Writes it to an empty file, with this machine's cores, wake-ups and clock (run_clock.h), measured just before; the
 * sources, cores and wakes of `opts` do not matter. 0 or -errno.
 */
int run_header_write(
	int fd, const char *name, const struct trace_create_opts *opts, struct err *err);

#endif
