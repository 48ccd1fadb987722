/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a profile would have of a stream of branches: for each kind of history both estimates of linear entropy and what
 * counters miss, from windows of the stream as the profiler looks at it.
 */
#ifndef BENCH_REFSIM_BRANCH_ENTROPY_H
#define BENCH_REFSIM_BRANCH_ENTROPY_H

#include "bench/refsim/branch_streams.h"
#include "uarch/profile.h"

/* From the first `window` branches of each `period`; equal: from all. 0 or -ENOMEM. */
int branch_entropy(const struct branch *branches, size_t count, size_t window, size_t period,
	struct profile_branches ret[PROFILE_HISTORIES]);

#endif
