/* SPDX-License-Identifier: MIT */
#include "sink.h"

#include "aggregate.h"
#include "live.h"
#include "omp.h"
#include "trace.h"

enum sink_mode sink_mode;

static void trace_begin(
	struct wait *wait, uint32_t kind, const void *object, uint32_t flags, const void *caller)
{
	trace_first_wait(kind, object, caller);
	trace_wait_begin(wait, kind, object, flags, caller);
}

/* Nothing has begun so far, and nothing does in a barrier of OpenMP, which waits itself. */
static bool is_part_of_another(struct wait *wait)
{
	wait->is_counted = false;
	wait->start_ns = 0;
	return omp_is_waiting;
}

void wait_begin(struct wait *wait, uint32_t kind, const void *object, const void *caller)
{
	if (is_part_of_another(wait))
		return;
	if (sink_mode == SINK_TRACES)
		trace_begin(wait, kind, object, 0, caller);
	else if (sink_mode == SINK_AGGREGATES)
		aggregate_wait_begin(wait, kind, object, caller);
	else if (sink_mode == SINK_LIVE)
		live_wait_begin(wait);
}

void wait_begin_shared(struct wait *wait, uint32_t kind, const void *object, const void *caller)
{
	if (is_part_of_another(wait))
		return;
	if (sink_mode == SINK_TRACES)
		trace_begin(wait, kind, object, TRACE_SHARED, caller);
	else if (sink_mode == SINK_AGGREGATES)
		aggregate_wait_begin(wait, kind, object, caller);
	else if (sink_mode == SINK_LIVE)
		live_wait_begin(wait);
}

void wait_begin_cond(struct wait *wait, const void *cond, const void *mutex, const void *caller)
{
	if (is_part_of_another(wait))
		return;
	if (sink_mode == SINK_TRACES) {
		trace_first_wait(SYNC_COND, cond, caller);
		trace_wait_begin_cond(wait, cond, mutex, caller);
	} else if (sink_mode == SINK_AGGREGATES)
		aggregate_wait_begin(wait, SYNC_COND, cond, caller);
	else if (sink_mode == SINK_LIVE)
		live_wait_begin(wait);
}

void wait_end(struct wait *wait)
{
	if (!wait->is_counted)
		return;
	if (sink_mode == SINK_TRACES)
		trace_wait_end(wait);
	else if (sink_mode == SINK_AGGREGATES)
		aggregate_wait_end(wait);
	else if (sink_mode == SINK_LIVE)
		live_wait_end(wait);
}

void wait_discard(struct wait *wait)
{
	if (!wait->is_counted)
		return;
	if (sink_mode == SINK_TRACES)
		trace_wait_discard(wait);
	else if (sink_mode == SINK_AGGREGATES)
		aggregate_wait_discard(wait);
	else if (sink_mode == SINK_LIVE)
		live_wait_end(wait);
}

void task_begin(struct task *task)
{
	*task = (struct task){ 0 };
	if (sink_mode == SINK_TRACES)
		trace_task_begin(task);
	else if (sink_mode == SINK_AGGREGATES)
		aggregate_task_begin(task);
	else if (sink_mode == SINK_LIVE)
		live_task_begin(task);
}

void task_end(struct task *task)
{
	if (!task->interrupted)
		return;
	if (sink_mode == SINK_TRACES)
		trace_task_end(task);
	else if (sink_mode == SINK_AGGREGATES)
		aggregate_task_end(task);
	else if (sink_mode == SINK_LIVE)
		live_task_end(task);
}

void wait_add(uint32_t kind, uint64_t waits, uint64_t wait_ns, const void *caller)
{
	if (sink_mode == SINK_AGGREGATES)
		aggregate_wait_add(kind, waits, wait_ns, caller);
	else if (sink_mode == SINK_LIVE)
		live_wait_add(wait_ns);
}

void try_failed(uint32_t kind, const void *object, const void *caller)
{
	if (sink_mode == SINK_TRACES)
		trace_try_failed(kind, object, caller);
	else if (sink_mode == SINK_AGGREGATES)
		aggregate_try_failed(kind, object, caller);
}

void try_succeeded(const void *object)
{
	if (sink_mode == SINK_AGGREGATES)
		aggregate_try_succeeded(object);
}

__attribute__((destructor)) static void tear_down(void)
{
	if (sink_mode == SINK_TRACES)
		trace_detach();
	else if (sink_mode == SINK_AGGREGATES)
		aggregate_detach();
	else if (sink_mode == SINK_LIVE)
		live_detach();
}

void sink_end(void)
{
	tear_down();
	sink_mode = SINK_OFF;
}
