/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far a program is that is profiled: what the emulator counts in the page that it shares with the program's recorder. */
#ifndef RECORD_PROFILER_PROGRESS_H
#define RECORD_PROFILER_PROGRESS_H

#include "preload/profile_page.h"

#include <stdint.h>

struct profiler_state {
	double elapsed_s;
	uint64_t instructions; /* that the threads have executed so far */
	unsigned threads; /* that there are */
};

struct profiler_progress {
	void (*show)(const struct profiler_state *state); /* NULL: nothing is shown */
	const struct profile_page *page; /* NULL: there is nothing to show */
	uint64_t instructions; /* the most so far */
};

/* Maps the page, if `show` is set. Released by profiler_progress_release(). */
void profiler_progress_watch(struct profiler_progress *progress, int page_fd);
void profiler_progress_release(struct profiler_progress *progress);

/* Shows it; `context` is the progress, with a page: for foreground_run(). */
void profiler_progress_tick(void *context, uint64_t elapsed_ns);

#endif
