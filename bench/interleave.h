/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads of a full trace as they ran beside one another: blocks of all of them in the order of time. A chunk of
 * the trace has the times of its begin and end; its blocks are taken as evenly spread between them.
 */
#ifndef BENCH_INTERLEAVE_H
#define BENCH_INTERLEAVE_H

#include "base/cleanup.h"
#include "full_trace.h"

struct interleave;

/* -ENOMEM or 0. The trace stays the caller's, and must stay. */
int interleave_new(const struct full_trace *trace, struct interleave **ret);
void interleave_free(struct interleave *interleave);
CLEANUP_DEFINE(interleave, interleave_free)

/* The next block and its thread; NULL at the end of all. Borrowed until the next call. */
const struct full_trace_cursor *interleave_next(
	struct interleave *interleave, uint32_t *ret_thread);

#endif
