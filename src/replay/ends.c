/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How threads ended. Those that wait when their process ends never come back from that wait. The preload library
 * records no end of it; the kernel wakes them to die, which looks like the end of a wait and of a thread:
 *
 *	exits       |x           one thread ends the process
 *	waits -----w|....pe      woken (w) to die, it passes (p) and ends (e), and nobody does anything else
 *
 * Who waited then is a daemon, as far as the rest of its process goes: its pauses are no time of the program's.
 */
#include "replay/parts.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

struct process {
	uint64_t
		busy_ns; /* when one of its threads did something last: began to wait, gave back ... */
	uint64_t death_ns; /* the first end of a thread since; UINT64_MAX: none */
	uint32_t last; /* thread that ended last, of those that did not wait; REPLAY_NONE */
	bool has_killed;
};

struct processes {
	struct map index; /* pid */
	struct process *items;
	size_t count, capacity;
};

static void processes_release(struct processes *processes)
{
	map_release(&processes->index);
	free(processes->items);
}

/* NULL without memory. */
static struct process *process_of(struct processes *processes, uint32_t pid)
{
	uint64_t *place;
	int code = map_add(&processes->index, pid, 0, processes->count, &place);
	if (code < 0 || (code > 0 && mem_grow(&processes->items, &processes->capacity,
					     processes->count + 1, sizeof *processes->items) < 0))
		return NULL;
	if (code > 0)
		processes->items[processes->count++] =
			(struct process){ .death_ns = UINT64_MAX, .last = REPLAY_NONE };
	return &processes->items[*place];
}

void ends_note(struct load_thread *thread, const struct event *event)
{
	switch (event->kind) {
	case EVENT_THREAD_EXIT:
	case EVENT_RUN:
	case EVENT_PREEMPT:
	case EVENT_NAME:
		return;
	case EVENT_PASS:
		if (event->flags & EVENT_WAITED) {
			thread->passed_ns = event->time_ns;
			return;
		}
		break;
	default:
		break;
	}
	thread->busy_ns = event->time_ns;
}

/* What it did last; of waits those of which only a wake-up tells the end. NULL: something else. */
static struct step *last_wait(const struct load_thread *thread)
{
	struct step *end = thread->count > 1 ? &thread->steps[thread->count - 1] : NULL;
	bool is_wait = end && end->kind == STEP_EXIT &&
		       (end[-1].kind == STEP_SLEEP || end[-1].kind == STEP_AWAIT_WAKE);
	return is_wait ? &end[-1] : NULL;
}

static bool was_killed(const struct load_thread *thread, const struct process *process)
{
	return thread->has_exited && thread->passed_ns > thread->busy_ns && last_wait(thread) &&
	       thread->woken_ns > 0 && thread->woken_ns <= process->death_ns &&
	       process->death_ns <= thread->passed_ns;
}

static int find_deaths(struct replay *replay, struct processes *processes)
{
	for (size_t i = 0; i < replay->thread_count; i++) {
		struct process *process = process_of(processes, replay->threads[i].pid);
		if (!process)
			return -ENOMEM;
		if (replay->threads[i].busy_ns > process->busy_ns)
			process->busy_ns = replay->threads[i].busy_ns;
	}
	for (size_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		struct process *process = process_of(processes, thread->pid);
		if (!process)
			return -ENOMEM;
		if (thread->has_exited && thread->ended_ns >= process->busy_ns &&
			thread->ended_ns < process->death_ns)
			process->death_ns = thread->ended_ns;
	}
	return 0;
}

static int find_killed(struct replay *replay, struct processes *processes)
{
	for (uint32_t i = 0; i < replay->thread_count; i++) {
		struct load_thread *thread = &replay->threads[i];
		struct process *process = process_of(processes, thread->pid);
		if (!process)
			return -ENOMEM;
		if (was_killed(thread, process)) {
			last_wait(thread)->kind = STEP_NOTHING;
			thread->ended_in_wait = process->has_killed = true;
			thread->has_exited = false;
		}
		if (thread->has_exited && !thread->ended_in_wait &&
			(process->last == REPLAY_NONE ||
				thread->ended_ns > replay->threads[process->last].ended_ns))
			process->last = i;
	}
	return 0;
}

/* Who ended the process, as far as that is known; NULL: nobody. */
static const struct load_thread *ender_of(
	const struct replay *replay, const struct process *process, uint32_t pid)
{
	const uint64_t *place = map_find(&replay->known, pid, pid);
	uint32_t first = place ? (uint32_t)*place : REPLAY_NONE;
	uint32_t ender = process->has_killed ? process->last : first;
	const struct load_thread *thread = ender != REPLAY_NONE ? &replay->threads[ender] : NULL;
	return thread && thread->has_exited && !thread->ended_in_wait ? thread : NULL;
}

int ends_settle(struct replay *replay)
{
	AUTO_RELEASE(processes) struct processes processes = { 0 };
	if (find_deaths(replay, &processes) < 0 || find_killed(replay, &processes) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < replay->thread_count; i++) {
		struct load_thread *thread = &replay->threads[i];
		const struct process *process = process_of(&processes, thread->pid);
		if (!process)
			return -ENOMEM;
		const struct load_thread *ender = ender_of(replay, process, thread->pid);
		thread->is_daemon = thread->ended_in_wait && ender &&
				    (!thread->has_exited || thread->ended_ns <= ender->ended_ns);
	}
	return 0;
}
