/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/child.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

void children_release(struct children *children)
{
	map_release(&children->by_pid);
	map_release(&children->by_tid);
	free(children->processes);
	*children = (struct children){ 0 };
}

static struct child_process *find_process(const struct children *children, uint32_t pid)
{
	const uint64_t *place = map_find(&children->by_pid, pid, 0);
	return place ? &children->processes[*place] : NULL;
}

/* NULL without memory. */
static struct child_process *add_process(
	struct children *children, uint32_t thread, uint32_t pid, uint32_t tid)
{
	uint64_t *place;
	if (mem_grow(&children->processes, &children->capacity, children->count + 1,
		    sizeof *children->processes) < 0 ||
		map_add(&children->by_pid, pid, 0, 0, &place) < 0)
		return NULL;
	*place = children->count;
	struct child_process *process = &children->processes[children->count++];
	*process = (struct child_process){
		.pid = pid, .first = tid == pid ? thread : CHILD_NONE, .last = CHILD_NONE
	};
	return process;
}

int children_add(struct children *children, uint32_t thread, uint32_t pid, uint32_t tid)
{
	uint64_t *place, both = (uint64_t)pid << 32 | thread;
	if (map_add(&children->by_tid, tid, 0, both, &place) < 0)
		return -ENOMEM;
	*place = both;
	struct child_process *process = find_process(children, pid);
	if (!process || process->alive == 0)
		process = add_process(children, thread, pid, tid);
	if (!process)
		return -ENOMEM;
	process->alive++;
	return 0;
}

uint32_t children_thread(const struct children *children, uint64_t tid)
{
	const uint64_t *place = map_find(&children->by_tid, tid, 0);
	return place ? (uint32_t)*place : CHILD_NONE;
}

uint32_t children_starter(struct children *children, const struct event *start)
{
	const uint64_t *place = map_find(&children->by_tid, start->value, 0);
	struct child_process *process = find_process(children, start->pid);
	uint32_t starter_pid = place ? (uint32_t)(*place >> 32) : start->pid;
	if (!process || start->tid != start->pid || starter_pid == start->pid ||
		start->flags & EVENT_BEFORE)
		return CHILD_NONE;
	process->starter_pid = starter_pid;
	return (uint32_t)*place;
}

void children_end(struct children *children, uint32_t thread, const struct event *exit, bool is_own)
{
	const uint64_t *place = map_find(&children->by_tid, exit->tid, 0);
	struct child_process *process = find_process(children, exit->pid);
	if (place && (uint32_t)*place == thread)
		(void)map_remove(&children->by_tid, exit->tid, 0);
	if (!process || process->alive == 0)
		return;
	process->alive--;
	if (is_own && process->first == thread)
		process->first_ended_ns = exit->time_ns;
	if (is_own) {
		process->last = thread;
		process->last_ended_ns = exit->time_ns;
	}
}

/* A process whose end may have ended a wait. */
struct candidate {
	struct child_process *process;
	bool is_known; /* that it was started by who waits */
	bool is_within; /* it ended in the wait */
};

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (!b->process || a->is_known != b->is_known)
		return !b->process || a->is_known;
	if (a->is_within != b->is_within)
		return a->is_within;
	bool is_later = a->process->last_ended_ns >= b->process->last_ended_ns;
	return a->is_within ? is_later : !is_later;
}

/* Since when it must have ended to be what was waited for. */
static uint64_t least_end(
	const struct child_wait *wait, const struct candidate *candidate, uint64_t quarter_ns)
{
	bool is_for_process = wait->io == EVENT_IO_CHILD || wait->io == EVENT_IO_SIGNAL;
	if (!candidate->is_known)
		return candidate->process->starter_pid == 0 && is_for_process ? quarter_ns
									      : UINT64_MAX;
	if (wait->io == EVENT_IO_CHILD)
		return 0;
	if (is_for_process)
		return wait->began_ns;
	return wait->io == EVENT_IO_UNKNOWN && wait->waker == 0 ? quarter_ns : UINT64_MAX;
}

uint32_t children_join(struct children *children, const struct child_wait *wait)
{
	uint64_t slack_ns = (wait->until_ns - wait->began_ns) / 4;
	struct candidate best = { 0 };
	for (size_t i = 0; i < children->count; i++) {
		struct child_process *process = &children->processes[i];
		struct candidate candidate = { process, process->starter_pid == wait->pid,
			process->last_ended_ns >= wait->began_ns };
		bool has_ended = process->alive == 0 && process->last != CHILD_NONE;
		if (has_ended && !process->is_joined && process->pid != wait->pid &&
			process->last_ended_ns >=
				least_end(wait, &candidate, wait->until_ns - slack_ns) &&
			is_better(&candidate, &best))
			best = candidate;
	}
	if (!best.process)
		return CHILD_NONE;
	best.process->is_joined = true;
	/* Who began the process ended it, unless others went on for long. */
	bool is_first = best.process->first_ended_ns > 0 &&
			best.process->first_ended_ns + slack_ns >= best.process->last_ended_ns;
	return is_first ? best.process->first : best.process->last;
}
