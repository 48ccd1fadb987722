/* SPDX-License-Identifier: MIT */
/* The side of live_page.h that is in the program: which thread waits now, for `corecast boost`. */
#ifndef PRELOAD_LIVE_H
#define PRELOAD_LIVE_H

#include "sink.h"

/* Maps the file; true if it can be written to. */
HIDDEN bool live_attach(const char *path);

/* The process ends: so do its other threads. */
HIDDEN void live_detach(void);

/* The first of a thread that was created by our pthread_create(): one that never waits is known, too. */
HIDDEN void live_thread_start(void);

HIDDEN void live_wait_begin(struct wait *wait);
HIDDEN void live_wait_end(struct wait *wait);
HIDDEN void live_task_begin(struct task *task);
HIDDEN void live_task_end(struct task *task);

/* A wait that is over: the account takes it as if it were now. */
HIDDEN void live_wait_add(uint64_t wait_ns);

/* A wait that begins where one function ends and ends where another begins. */
HIDDEN void live_pause(void);
HIDDEN void live_resume(void);

static inline bool is_live(void)
{
	return __builtin_expect(sink_mode == SINK_LIVE, 0);
}

#endif
