/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The conditional branches of a full trace. */
#ifndef BENCH_TRACE_BRANCHES_H
#define BENCH_TRACE_BRANCHES_H

#include "bench/refsim/branch_streams.h"
#include "bench/full_trace.h"

/* Of one thread: at most `most`, after `skip`. *ret is to be freed; their number, or -ENOMEM. */
ptrdiff_t trace_branches(const struct full_trace *trace, uint32_t thread, size_t skip, size_t most,
	struct branch **ret);

#endif
