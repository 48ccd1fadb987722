/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Profiles a program: runs it in an emulator whose plugin counts what each thread executes, with the preload library
 * inside that tells what threads do to one another (preload/profile_page.h).
 *
 *	corecast ---- makes ----> raw file, trace file, page (unlinked: a kill leaves nothing behind)
 *	   |                          ^          ^         ^
 *	   +-- qemu-x86_64 -plugin ---+          |         |     or: valgrind | corecast-feed
 *	           +-- program, LD_PRELOAD ------+---------+
 *
 * What comes out is bytes, for profile_import() of src/uarch.
 */
#ifndef RECORD_PROFILER_H
#define RECORD_PROFILER_H

#include "base/err.h"
#include "record/profiler_progress.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profiler_opts {
	char *const *argv;
	const char *backend; /* "auto", "qemu" or "valgrind" */
	bool is_run_plainly; /* also, first, for the time that it takes */
	uint64_t trace_bytes_max; /* of the raw timeline */
	const char *instructions; /* file for a full trace, too (plugin/trace_raw.h); NULL: none */
	void (*show_progress)(const struct profiler_state *state); /* twice a second; NULL: none */
};

struct profiler_result {
	int status; /* of the program, as waitpid() gives it */
	int stop_signal; /* as of foreground_run() */
	double profiled_s, native_s; /* wall time; native_s: 0 if it was not run plainly */
	const char *backend, *why; /* why that one; borrowed */
	void *raw; /* mapped: profiler_result_release() */
	size_t raw_bytes;
	void *timeline; /* a closed trace */
	size_t timeline_bytes;
	uint32_t threads_without_slot;
	uint32_t processes; /* that recorded events; only the first is profiled */
	bool is_timeline_full; /* trace_bytes_max, or the end of the disk, was reached */
};

void profiler_result_release(struct profiler_result *result);

/*
 * Whether the program can be profiled here, and by which backend (NULL: not asked). 0; -ENOENT (the emulator or a part of
 * corecast is missing), -EOPNOTSUPP (a program that it cannot run), -EINVAL (no such backend), -errno; err says what to do.
 */
int profiler_check(const struct profiler_opts *opts, const char **ret_backend, struct err *err);

/*
 * 0 when there is something to import, however the program ended. -ECANCELED: there is nothing, and a stop_signal came. What it
 * wrote is released by the caller.
 */
int profiler_run(const struct profiler_opts *opts, struct profiler_result *ret, struct err *err);

/* The emulator's path; the caller frees. -ENOENT: err says how to install it. */
int profiler_find_emulator(char **ret, struct err *err);
int profiler_find_plugin(char **ret, struct err *err);

#endif
