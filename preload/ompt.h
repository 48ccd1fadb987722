/* SPDX-License-Identifier: MIT */
/*
 * What is used of OMPT, the interface by which an OpenMP runtime tells a tool what it does (OpenMP
 * 5.1, chapter 19): declared here, so that a build needs no runtime's header. The numbers are those
 * of the standard.
 */
#ifndef PRELOAD_OMPT_H
#define PRELOAD_OMPT_H

#include <stdint.h>

typedef void ompt_callback(void);
typedef ompt_callback *ompt_lookup(const char *name);

/* The tool's own word beside something of the runtime's. */
union ompt_data {
	uint64_t value;
	void *ptr;
};

enum ompt_event {
	OMPT_PARALLEL_BEGIN = 3,
	OMPT_PARALLEL_END = 4,
	OMPT_TASK_SCHEDULE = 6,
	OMPT_IMPLICIT_TASK = 7,
	OMPT_SYNC_REGION_WAIT = 16,
	OMPT_WORK = 20,
	OMPT_MUTEX_RELEASED = 17,
	OMPT_MUTEX_ACQUIRE = 26,
	OMPT_MUTEX_ACQUIRED = 27,
};

enum ompt_scope {
	OMPT_SCOPE_BEGIN = 1,
	OMPT_SCOPE_END = 2,
};

enum { OMPT_TASK_INITIAL = 1 }; /* a flag */

/* Runtimes tell more of how a loop is scheduled by numbers from 10 on. */
enum ompt_work {
	OMPT_WORK_LOOP = 1, /* of which kind is not told */
	OMPT_WORK_SECTIONS = 2,
	OMPT_WORK_LOOP_STATIC = 10,
	OMPT_WORK_LOOP_OTHER = 13,
};

enum ompt_sync_region {
	OMPT_SYNC_TASKWAIT = 5,
	OMPT_SYNC_TASKGROUP = 6,
	OMPT_SYNC_REDUCTION = 7,
};

/* Below these are locks, which are functions that the program calls: omp.c sees them. */
enum ompt_mutex {
	OMPT_MUTEX_CRITICAL = 5,
	OMPT_MUTEX_ORDERED = 7,
};

typedef int ompt_set_callback(enum ompt_event event, ompt_callback *callback);

struct ompt_start_tool_result {
	int (*initialize)(ompt_lookup *lookup, int device, union ompt_data *data);
	void (*finalize)(union ompt_data *data);
	union ompt_data data;
};

typedef struct ompt_start_tool_result *ompt_start(unsigned version, const char *runtime);

/* Called by the runtime. */
ompt_start ompt_start_tool;

#endif
