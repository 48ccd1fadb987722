/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who met whom at a barrier, and the barriers at the ends of OpenMP regions, where threads wait for the next one. */
#include "replay/parts.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int barriers_arrive(struct replay *replay, uint32_t thread, uint32_t object, size_t step,
	const struct event *event)
{
	struct load_object *barrier = &replay->objects[object];
	if (mem_grow(&barrier->arrivals, &barrier->arrival_capacity, barrier->arrival_count + 1,
		    sizeof *barrier->arrivals) < 0)
		return -ENOMEM;
	replay->threads[thread].wait_arrival = barrier->arrival_count;
	barrier->arrivals[barrier->arrival_count++] = (struct arrival){ .thread = thread,
		.waker = REPLAY_NONE,
		.step = step,
		.time_ns = event->time_ns,
		.handed_out = event->kind == EVENT_WAIT ? event->value : 0 };
	return 0;
}

/* Whether a thread came to a barrier at this instant: who comes last lets the others go. */
static bool has_come_at(const struct load_object *barrier, uint32_t thread, uint64_t time_ns)
{
	for (size_t i = barrier->arrival_count; i > 0; i--) {
		const struct arrival *arrival = &barrier->arrivals[i - 1];
		if (arrival->time_ns < time_ns)
			return false;
		if (arrival->thread == thread && arrival->time_ns == time_ns)
			return true;
	}
	return false;
}

static int add_fork(struct replay *replay, const struct fork *fork)
{
	struct load_object *barrier = &replay->objects[fork->object];
	/* Who goes on in the very instant in which it was let go saw a later coming, cut to its own time. */
	bool is_cut = barrier->arrivals[fork->arrival].is_over;
	if (fork->maker == REPLAY_NONE || is_cut ||
		has_come_at(barrier, fork->maker, fork->time_ns) ||
		replay->threads[fork->maker].wait_what != WHAT_NONE)
		return 0;
	if (barrier->forked_ns != fork->time_ns)
		barrier->forked = barrier->forked == WHAT_FORKED ? WHAT_FORKED_NEXT : WHAT_FORKED;
	barrier->forked_ns = fork->time_ns;
	barrier->arrivals[fork->arrival].forked = barrier->forked;
	uint32_t object = load_object(replay, barrier->pid, barrier->forked, barrier->address);
	if (object == REPLAY_NONE)
		return -ENOMEM;
	struct load_thread *maker = &replay->threads[fork->maker];
	const struct load_split *split =
		maker->split_count > 0 ? &maker->splits[maker->split_count - 1] : NULL;
	bool is_later = (maker->counts_work || maker->has_cpu) &&
			(!split || split->time_ns != fork->time_ns);
	if (cpu_advance(maker, fork->time_ns) < 0)
		return -ENOMEM;
	struct step *last = maker->count > 0 ? &maker->steps[maker->count - 1] : NULL;
	if (last && last->kind == STEP_SEM_POST && last->object == object && maker->work_ns == 0 &&
		!is_later) {
		last->amount++;
		return 0;
	}
	struct step *step = load_push(maker, STEP_SEM_POST);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->amount = 1;
	return 0;
}

int barriers_forks(struct replay *replay, uint64_t time_ns)
{
	if (replay->fork_count == 0 || replay->forks[0].time_ns >= time_ns)
		return 0;
	for (size_t i = 0; i < replay->fork_count; i++)
		if (add_fork(replay, &replay->forks[i]) < 0)
			return -ENOMEM;
	replay->fork_count = 0;
	return 0;
}

static int by_woken(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	if (x->woken_ns != y->woken_ns)
		return x->woken_ns < y->woken_ns ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static struct step *step_of(struct replay *replay, const struct arrival *arrival)
{
	return &replay->threads[arrival->thread].steps[arrival->step];
}

static struct pool_member member_of(const struct arrival *arrival)
{
	return (struct pool_member){ arrival->thread, arrival->step, arrival->time_ns,
		arrival->handed_out };
}

/* Those who left at the same time met, at a barrier of so many. */
static int add_meeting(
	struct replay *replay, uint32_t object, const struct arrival *arrivals, size_t count)
{
	uint64_t *place;
	if (mem_grow(&replay->episodes, &replay->episode_capacity, replay->episode_count + 1,
		    sizeof *replay->episodes) < 0 ||
		map_add(&replay->episode_index, object, count, replay->episode_count, &place) < 0)
		return -ENOMEM;
	if (*place == replay->episode_count)
		replay->episodes[replay->episode_count++] =
			(struct episode){ object, (uint32_t)count };
	AUTO_FREE struct pool_member *members = calloc(count + 1, sizeof *members);
	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		step_of(replay, &arrivals[i])->amount = *place;
		members[i] = member_of(&arrivals[i]);
	}
	return pools_add_round(replay, object, WHAT_BARRIER, members, count);
}

/* Who did not note when it could go on: when the last one came, who did not wait. In order of time. */
static void set_inexact(struct arrival *arrivals, size_t count)
{
	uint64_t last_ns = 0;
	for (size_t i = count; i-- > 0;) {
		struct arrival *arrival = &arrivals[i];
		if (arrival->is_last)
			last_ns = arrival->time_ns;
		else if (!arrival->is_exact && last_ns > 0 && last_ns <= arrival->woken_ns)
			arrival->woken_ns = last_ns;
	}
}

/* The most that left at the same instant. Arrivals are in order of that. */
static size_t largest_meeting(const struct arrival *arrivals, size_t count)
{
	size_t most = 0, end;
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && arrivals[end].woken_ns == arrivals[i].woken_ns;)
			end++;
		most = end - i > most ? end - i : most;
	}
	return most;
}

static int by_time(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Whether arrivals, in order of time, can be rounds of so many: nobody comes twice to one. */
static bool are_rounds_of(const struct arrival *arrivals, size_t count, size_t size)
{
	if (size < 2 || count % size != 0)
		return false;
	for (size_t i = 0; i < count; i++)
		for (size_t k = i - i % size; k < i; k++)
			if (arrivals[k].thread == arrivals[i].thread)
				return false;
	return true;
}

/*
 * A thread that gets its core back late may see who came to the next round as who let it go. But all come to a
 * round before any comes to the next: if every round can have been of as many as the largest, each was. Sets
 * *ret_done. The arrivals are in order of leaving, before and, if it is not done, after.
 */
static int meet_in_rounds(struct replay *replay, uint32_t object, const struct arrival *arrivals,
	size_t count, bool *ret_done)
{
	size_t size = largest_meeting(arrivals, count);
	AUTO_FREE struct arrival *ordered = calloc(count + 1, sizeof *ordered);
	if (!ordered)
		return -ENOMEM;
	if (count > 0)
		memcpy(ordered, arrivals, count * sizeof *ordered);
	qsort(ordered, count, sizeof *ordered, by_time);
	*ret_done = are_rounds_of(ordered, count, size);
	for (size_t i = 0; *ret_done && i < count; i += size)
		if (add_meeting(replay, object, &ordered[i], size) < 0)
			return -ENOMEM;
	return 0;
}

/* Who came together wait until those at the docks have come. One of them takes all, the others pass: in practice there is one. */
static void await_docks(struct replay *replay, const struct arrival *arrivals, size_t count,
	uint32_t joined, uint32_t docked)
{
	for (size_t i = 0; i < count; i++) {
		struct step *step = step_of(replay, &arrivals[i]);
		step->object = joined;
		step->other = i == 0 ? docked : 0;
		step->kind = step->other > 0 ? STEP_SEM_WAIT : STEP_NOTHING;
	}
}

/*
 * The arrivals at one barrier. Who left at the same instant met. Where some were let go later, by a
 * thread that was not at the barrier, it is the end of an OpenMP region: those wait there for the next
 * one (forked), and the others leave when all of them have come (joined).
 */
int barriers_meet(struct replay *replay, uint32_t object)
{
	struct load_object barrier = replay->objects[object];
	struct arrival *a = barrier.arrivals;
	size_t kept = 0, docked = 1, from = 1; /* docks[from - 1]: room for who waits for a group */
	uint32_t joined = REPLAY_NONE, forked = REPLAY_NONE;
	AUTO_FREE struct pool_member *docks = calloc(barrier.arrival_count + 2, sizeof *docks);
	if (!docks)
		return -ENOMEM;
	for (size_t i = 0; i < barrier.arrival_count; i++) {
		if (!a[i].forked && a[i].is_over) {
			a[kept++] = a[i];
			continue;
		}
		joined = load_object(replay, barrier.pid, WHAT_JOINED, barrier.address);
		if (a[i].is_over)
			forked = load_object(replay, barrier.pid, a[i].forked, barrier.address);
		if (joined == REPLAY_NONE || (a[i].is_over && forked == REPLAY_NONE))
			return -ENOMEM;
		replay->objects[joined].spins = barrier.spins;
		if (a[i].is_over)
			replay->objects[forked].spins = barrier.spins;
		struct step *step = step_of(replay, &a[i]);
		step->kind = STEP_DOCK;
		step->object = joined;
		step->other = a[i].is_over ? forked : REPLAY_NONE;
		docks[docked++] = member_of(&a[i]);
	}
	set_inexact(a, kept);
	qsort(a, kept, sizeof *a, by_woken);
	bool is_done = false;
	if (docked == 1 && meet_in_rounds(replay, object, a, kept, &is_done) < 0)
		return -ENOMEM;
	if (is_done)
		return 0;
	size_t end;
	for (size_t i = 0; i < kept; i = end) {
		size_t to = from;
		for (end = i + 1; end < kept && a[end].woken_ns == a[i].woken_ns;)
			end++;
		while (to < docked && docks[to].end_ns <= a[i].woken_ns)
			to++;
		if (to == from) {
			if (add_meeting(replay, object, &a[i], end - i) < 0)
				return -ENOMEM;
			continue;
		}
		/* Who waits for them shared their work where it says so: else their ends tell more without it. */
		size_t first = from - (a[i].handed_out > 0);
		if (first < from)
			docks[first] = member_of(&a[i]);
		if (pools_add_round(replay, joined, WHAT_JOINED, &docks[first], to - first) < 0)
			return -ENOMEM;
		await_docks(replay, &a[i], end - i, joined, (uint32_t)(to - from));
		from = to;
	}
	return 0;
}
