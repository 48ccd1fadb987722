/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program becomes a profile: what `profile` and `measure --stalls modelled` share. */
#ifndef CMD_PROFILED_H
#define CMD_PROFILED_H

#include "record/profiler.h"
#include "uarch/profile.h"

/*
 * Runs the program under the profiler. *ran is released by profiler_result_release(), *ret by profile_release(); both are to be
 * { 0 } before. 0, however the program ended (ran->status); else a negative errno.
 */
int profile_run(const struct profiler_opts *opts, struct profiler_result *ran, struct profile *ret,
	struct err *err);

#endif
