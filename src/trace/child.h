/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of which process a thread waited for the end: no recorder tells, but ends do. */
#ifndef TRACE_CHILD_H
#define TRACE_CHILD_H

#include "trace/event.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHILD_NONE = UINT32_MAX };

struct child_life {
	uint32_t pid;
	bool has_exited;
	uint64_t ended_ns; /* if so */
};

/* A signal, too, may be that of a child's end: servers and make wait so for both. */
static inline bool child_is_for(uint64_t io)
{
	return io == EVENT_IO_CHILD || io == EVENT_IO_SIGNAL;
}

/* What is known of a thread when the wait ends. */
typedef struct child_life (*child_life_of)(const void *context, uint32_t thread);

/*
 * Of another process's threads (not `pid`'s) the one that ended last, in the wait's last quarter (the kernel takes what the
 * process had apart first), if all of its process have ended. Threads: 0 to `count` - 1; CHILD_NONE: none.
 */
uint32_t child_find(child_life_of life_of, const void *context, uint32_t count, uint32_t pid,
	uint64_t began_ns, uint64_t until_ns);

#endif
