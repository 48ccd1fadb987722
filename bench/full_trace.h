/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads full traces (plugin/trace_raw.h): what each thread executed, instruction by instruction. Make one with
 *
 *	qemu-x86_64 -plugin build/plugin/libcorecast-profile.so,out=FILE,trace=on PROGRAM
 *
 *	struct full_trace_cursor cursor = full_trace_start(trace, thread);
 *	while (full_trace_next(&cursor))
 *		play(cursor.ops, cursor.count);
 */
#ifndef BENCH_FULL_TRACE_H
#define BENCH_FULL_TRACE_H

#include "base/cleanup.h"
#include "base/err.h"
#include "uarch/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { FULL_TRACE_BLOCK_MAX = 512, FULL_TRACE_EXTRA_MAX = 4096 };

struct full_trace;

/* An instruction's access to another line than that of its micro_op: string instructions, gathers, split lines. */
struct full_trace_extra {
	uint64_t address;
	uint32_t op; /* index in cursor.ops */
};

struct full_trace_cursor {
	/* Instructions of one block, in order. */
	struct micro_op ops[FULL_TRACE_BLOCK_MAX];
	size_t count;
	struct full_trace_extra extra[FULL_TRACE_EXTRA_MAX];
	size_t extra_count;
	/* The stretch that they are of (preload/profile_page.h), and how many the thread has had before. */
	uint64_t stretch, stretches;
	/* Time of the traced run in which the thread executed some thousand instructions, these among them. */
	uint64_t begin_ns, end_ns;
	/* Private. */
	const struct full_trace *trace;
	uint32_t thread;
	size_t chunk, word;
};

/* Maps the file and makes a table of its chunks. Errors: -errno of the system, -EINVAL for what is no trace. */
int full_trace_open(const char *path, struct full_trace **ret, struct err *err);
void full_trace_free(struct full_trace *trace);
CLEANUP_DEFINE(full_trace, full_trace_free)

/* Indexed by micro_op.code. */
const struct code *full_trace_codes(const struct full_trace *trace, size_t *ret_count);

/* Threads are numbered from 0 in order of their start. */
size_t full_trace_threads(const struct full_trace *trace);

/* The counts of a thread, as the profiler has them; 0 where the run was killed before it wrote them. */
struct profile_thread full_trace_thread(const struct full_trace *trace, uint32_t thread);

struct full_trace_cursor full_trace_start(const struct full_trace *trace, uint32_t thread);

/* The thread's next block; false at its end. */
bool full_trace_next(struct full_trace_cursor *cursor);

/* Goes to the block that follows on so many instructions; false: the thread has not that many. *ret_op: which of its ops comes next. */
bool full_trace_seek(struct full_trace_cursor *cursor, uint64_t instructions, size_t *ret_op);

#endif
