/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a wait, a pass and a release mean for the replay. A wait for another thread becomes the
 * operation that may wait again; a wait for anything else becomes a sleep as long as it was.
 */
#include "replay/parts.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* By its number; in a timeline written by hand the object may be the thread's name. */
static uint32_t find_joined(
	const struct replay *replay, uint32_t pid, uint64_t tid, uint64_t object)
{
	if (tid > 0) {
		const uint64_t *place = map_find(&replay->known, pid, tid);
		return place ? (uint32_t)*place : REPLAY_NONE;
	}
	const char *name = event_names_find(&replay->names, pid, WHAT_JOIN, object);
	for (uint32_t i = 0; name && i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		const char *own =
			event_names_find(&replay->names, thread->pid, WHAT_THREAD, thread->tid);
		if (thread->pid == pid && own && strcmp(own, name) == 0)
			return i;
	}
	return REPLAY_NONE;
}

/* Its end was not recorded. */
static void forget_wait(struct replay *replay, struct load_thread *thread)
{
	struct step *step = &thread->steps[thread->wait_step - 1];
	if (step->kind == STEP_LOCK)
		locks_count_waiting(&replay->objects[step->object], step->is_shared, false);
	if (step->kind != STEP_BARRIER && step->kind != STEP_DECIDE)
		step->kind = STEP_NOTHING;
	thread->wait_step = 0;
}

int waits_begin(struct replay *replay, uint32_t index, const struct event *event)
{
	bool is_implicit = event->flags & EVENT_IMPLICIT;
	uint32_t object = load_object(replay, event->pid, event->what, event->object);
	if (object == REPLAY_NONE)
		return -ENOMEM;
	struct load_thread *thread = &replay->threads[index];
	if (thread->wait_what != WHAT_NONE && thread->wait_step)
		forget_wait(replay, thread);
	thread->wait_what = event->what == WHAT_NONE ? WHAT_OTHER : event->what;
	thread->wait_object = object;
	thread->wait_value = event->value;
	thread->wait_step = 0;
	if (is_implicit) /* a condition's wait goes on: it began when that did */
		return 0;
	thread->wait_cpu_ns = thread->cpu_ns;
	if (event->flags & EVENT_SPINS)
		replay->objects[object].spins = thread->spins = true;
	if (load_is_lock(event->what))
		return locks_ask(replay, index, object, event);
	if (event->what == WHAT_COND)
		return conds_wait(replay, index, object, event);
	struct step *step = load_push(thread, event->what == WHAT_BARRIER ? STEP_BARRIER
					      : event->what == WHAT_SEM   ? STEP_SEM_WAIT
					      : event->what == WHAT_JOIN  ? STEP_JOIN
									  : STEP_SLEEP);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	thread->wait_step = thread->count;
	if (event->what == WHAT_JOIN) {
		step->other = find_joined(replay, event->pid, event->value, event->object);
		step->amount = locks_mutex_held(replay, thread);
		tickers_joined(replay, index, step->other);
	}
	if (event->what == WHAT_IO)
		passages_wait(replay, thread);
	return event->what == WHAT_BARRIER
		       ? barriers_arrive(replay, index, object, thread->count - 1, event)
		       : 0;
}

/* A wait for nothing that the replay knows, ended by a thread that is known: that thread's next step. */
static int wake_by(struct replay *replay, uint32_t index, uint64_t time_ns)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_thread *waker = &replay->threads[thread->waker];
	if (thread->wait_step == 0 || waker == thread || waker->wait_what != WHAT_NONE)
		return 0;
	int code = cpu_advance(waker, time_ns);
	struct step *step = code == 0 ? load_push(waker, STEP_WAKE) : NULL;
	if (!step)
		return -ENOMEM;
	step->other = index;
	thread->steps[thread->wait_step - 1].kind = STEP_AWAIT_WAKE;
	thread->is_sleeper = true;
	return 0;
}

int waits_woken(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_object *object = &replay->objects[thread->wait_object];
	if (thread->wait_what == WHAT_BARRIER && thread->wait_step) {
		if (mem_grow(&replay->forks, &replay->fork_capacity, replay->fork_count + 1,
			    sizeof *replay->forks) < 0)
			return -ENOMEM;
		replay->forks[replay->fork_count++] = (struct fork){ thread->wait_object,
			thread->waker, object->arrival_count, event->time_ns };
		replay->forks[replay->fork_count - 1].arrival = thread->wait_arrival;
		return 0;
	}
	bool is_unknown = thread->wait_what == WHAT_FUTEX || thread->wait_what == WHAT_QUEUE ||
			  thread->wait_what == WHAT_IO || thread->wait_what == WHAT_OTHER;
	return is_unknown && thread->waker != REPLAY_NONE ? wake_by(replay, index, event->time_ns)
							  : 0;
}

/* 0 or -ENOMEM. */
static int take_from_semaphore(struct replay *replay, uint32_t index, struct step *step)
{
	struct load_object *sem = &replay->objects[step->object];
	uint64_t *tokens;
	step->amount = sem->turns++;
	sem->balance--;
	if (sem->balance < sem->least_balance)
		sem->least_balance = sem->balance;
	int code = map_add(&replay->tokens, index, step->object, 0, &tokens);
	if (code < 0)
		return code;
	++*tokens;
	return 0;
}

static void post_semaphore(struct replay *replay, uint32_t index, uint32_t object)
{
	struct load_object *sem = &replay->objects[object];
	uint64_t *tokens = map_find(&replay->tokens, index, object);
	sem->balance++;
	sem->posts++;
	if (!tokens || *tokens == 0)
		return;
	--*tokens;
	sem->own_posts++;
}

/*
 * Who waits with a time-out, again and again until the signal comes, waits for the signal: where CPU times count work, how
 * often the time ran out until then is the emulator's, not the program's.
 */
static void forget_timeouts(struct load_thread *thread, uint32_t object)
{
	for (size_t i = thread->wait_step - 1; thread->counts_work && i-- > 0;) {
		struct step *step = &thread->steps[i];
		if (step->object != object)
			continue;
		if (step->kind == STEP_TIMED_WAIT)
			step_drop_pause(step);
		else if (step->kind == STEP_DECIDE || step->kind == STEP_SLEEP ||
			 step->kind == STEP_AWAIT_SIGNAL)
			return; /* the signal before */
	}
}

/* Whether it was a wait for a process that is known: then it is a join. */
static bool join_child(struct replay *replay, const struct load_thread *thread, struct step *step,
	uint64_t until_ns)
{
	const struct child_wait wait = { .pid = thread->pid,
		.waker = thread->waker != REPLAY_NONE ? replay->threads[thread->waker].tid : 0,
		.io = thread->wait_value,
		.began_ns = thread->wait_ns,
		.until_ns = until_ns };
	uint32_t child = children_join(&replay->children, &wait);
	if (child == CHILD_NONE)
		return false;
	step->other = child;
	step->kind = STEP_JOIN;
	step->amount = locks_mutex_held(replay, thread);
	return true;
}

static int end_pause(struct replay *replay, uint32_t index, uint64_t site, uint64_t waited_ns)
{
	tickers_pause(&replay->threads[index]);
	return polls_pause(replay, index, site, waited_ns);
}

/* The step of a wait that is over. */
static int end_wait(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct step *step = &thread->steps[thread->wait_step - 1];
	bool has_failed = event->flags & EVENT_TIMED_OUT;
	uint64_t until_ns = thread->was_woken ? thread->woken_ns : event->time_ns;
	uint64_t waited_ns = until_ns - thread->wait_ns;
	switch (step->kind) {
	case STEP_LOCK:
		locks_count_waiting(&replay->objects[step->object], step->is_shared, false);
		if (!has_failed)
			return locks_take_awaited(replay, index, event);
		step->kind = STEP_SLEEP;
		step->amount = waited_ns;
		return 0;
	case STEP_SEM_WAIT:
		if (has_failed) {
			step->kind = STEP_SLEEP;
			step->amount = waited_ns;
		} else {
			return take_from_semaphore(replay, index, step);
		}
		return 0;
	case STEP_JOIN:
		if (step->other == REPLAY_NONE) /* it may have started at the same instant */
			step->other = find_joined(replay, event->pid, thread->wait_value,
				replay->objects[thread->wait_object].address);
		if (step->other == REPLAY_NONE)
			step->other = thread->waker;
		if (step->other == REPLAY_NONE || step->other == index) {
			step->kind = STEP_SLEEP;
			step->amount = waited_ns;
		} else {
			tickers_joined(replay, index, step->other);
		}
		return 0;
	case STEP_DECIDE:
		if (has_failed) {
			step->kind = STEP_TIMED_WAIT;
			step->amount += waited_ns;
			return end_pause(replay, index, event->site, waited_ns);
		}
		forget_timeouts(thread, step->object);
		polls_signalled(replay, index, event->site);
		return 0;
	case STEP_SLEEP:
		step->amount = waited_ns;
		step->is_late = !thread->was_woken;
		if (thread->wait_what == WHAT_IO && join_child(replay, thread, step, until_ns))
			return 0;
		if (thread->wait_what != WHAT_COND)
			return thread->wait_what == WHAT_SLEEP
				       ? end_pause(replay, index, event->site, waited_ns)
				       : 0;
		if (has_failed) {
			step->kind = step->other == REPLAY_NONE ? STEP_SLEEP : STEP_TIMED_WAIT;
			return end_pause(replay, index, event->site, waited_ns);
		}
		forget_timeouts(thread, step->object);
		polls_signalled(replay, index, event->site);
		return conds_resolve(replay, index, until_ns);
	default:
		return 0;
	}
}

/* It did not sleep: it asked again, or looked until it had what it waited for. */
static bool kept_core(const struct load_thread *thread, const struct event *event)
{
	return thread->has_cpu &&
	       thread->cpu_ns - thread->wait_cpu_ns >= event->time_ns - thread->wait_ns;
}

/* CPU time of who sleeps. A condition's wait may go on for its mutex: that is another sleep. */
static void observe_sleep(
	struct replay *replay, struct load_thread *thread, const struct event *event)
{
	bool is_asleep = thread->wait_what != WHAT_SPIN && thread->wait_what != WHAT_BARRIER;
	if (!thread->has_cpu || !is_asleep || kept_core(thread, event))
		return;
	replay->sleeps++;
	replay->sleeps_cpu_ns += thread->cpu_ns - thread->wait_cpu_ns;
	thread->wait_cpu_ns = thread->cpu_ns;
}

/*
 * Who has kept its core spun, in the kernel, as waiters for locks with priority inheritance do while their holder runs. Taking
 * a lock over from another core takes time, which in the replay, at another moment, it may find free: work, from when it was
 * given back.
 */
static void count_taking_over(
	struct load_thread *thread, struct load_object *object, const struct event *event)
{
	struct step *step = thread->wait_step ? &thread->steps[thread->wait_step - 1] : NULL;
	if (!step || step->kind != STEP_LOCK || !thread->was_woken || !kept_core(thread, event))
		return;
	step->is_awake = true;
	if (event->time_ns - thread->wait_ns > object->awake_ns)
		object->awake_ns = event->time_ns - thread->wait_ns;
	if (event->time_ns > thread->woken_ns)
		step->work_ns += event->time_ns - thread->woken_ns;
}

static int pass_waited(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_object *object = &replay->objects[thread->wait_object];
	thread->work_ns = 0; /* CPU time inside a wait is what waiting costs */
	thread->wakes = 0;
	count_taking_over(thread, object, event);
	observe_sleep(replay, thread, event);
	if (event->flags & EVENT_IMPLICIT && event->what == WHAT_MUTEX) {
		object->holder = index;
		return 0;
	}
	if (thread->wait_step == 0)
		return 0;
	if (thread->wait_what == WHAT_BARRIER) {
		struct arrival *arrival = &object->arrivals[thread->wait_arrival];
		arrival->is_over = true;
		arrival->waker = thread->waker;
		arrival->is_exact = thread->was_woken;
		arrival->woken_ns = thread->was_woken ? thread->woken_ns : event->time_ns;
		return 0;
	}
	return end_wait(replay, index, event);
}

int waits_pass(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	bool is_implicit = event->flags & EVENT_IMPLICIT;
	replay->sections += event->what == WHAT_MUTEX && !is_implicit;
	if (thread->wait_what != WHAT_NONE)
		return pass_waited(replay, index, event);
	if (event->what == WHAT_QUEUE)
		return passages_take(replay, index, event);
	uint32_t object = load_object(replay, event->pid, event->what, event->object);
	if (object == REPLAY_NONE)
		return -ENOMEM;
	thread = &replay->threads[index];
	struct load_object *o = &replay->objects[object];
	if (load_is_lock(event->what) && is_implicit) {
		o->holder = index;
		thread->work_ns = 0;
		return 0;
	}
	if (event->flags & (EVENT_TIMED_OUT | EVENT_BEFORE))
		return 0;
	if (load_is_lock(event->what))
		return locks_take_free(replay, index, object, event);
	if (event->what != WHAT_BARRIER && event->what != WHAT_SEM)
		return 0;
	struct step *step =
		load_push(thread, event->what == WHAT_BARRIER ? STEP_BARRIER : STEP_SEM_WAIT);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	if (event->what == WHAT_SEM)
		return take_from_semaphore(replay, index, step);
	int code = barriers_arrive(replay, index, object, thread->count - 1, event);
	if (code == 0) {
		o = &replay->objects[object];
		struct arrival *last = &o->arrivals[o->arrival_count - 1];
		last->is_over = last->is_last = last->is_exact = true;
		last->woken_ns = event->time_ns;
		last->waker = index;
	}
	return code;
}

int waits_release(struct replay *replay, uint32_t index, const struct event *event)
{
	if (event->flags & EVENT_BEFORE || replay->threads[index].wait_what != WHAT_NONE)
		return 0;
	if (event->what == WHAT_QUEUE)
		return passages_put(replay, index, event);
	uint32_t object = load_object(replay, event->pid, event->what, event->object);
	if (object == REPLAY_NONE)
		return -ENOMEM;
	if (load_is_lock(event->what) && event->flags & EVENT_IMPLICIT)
		return 0;
	if (load_is_lock(event->what))
		return locks_release(replay, index, object, event);
	if (event->what == WHAT_COND)
		return conds_signal(replay, index, object, event);
	if (event->what != WHAT_SEM)
		return 0;
	struct step *step = load_push(&replay->threads[index], STEP_SEM_POST);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	step->amount = 1;
	post_semaphore(replay, index, object);
	return 0;
}

/* What it waits for at its end never comes; locks that it holds are given back. */
int waits_exit(struct replay *replay, uint32_t index)
{
	struct load_thread *thread = &replay->threads[index];
	if (thread->wait_what != WHAT_NONE && thread->wait_step) {
		struct step *step = &thread->steps[thread->wait_step - 1];
		if (step->kind == STEP_DECIDE) /* nobody will come for it */
			step->kind = STEP_NOTHING;
		forget_wait(replay, thread);
		replay->facts.unended++;
	}
	while (thread->hold_count > 0) {
		struct load_hold *hold = &thread->holds[thread->hold_count - 1];
		struct step *step = load_push(thread, STEP_UNLOCK);
		if (!step)
			return -ENOMEM;
		step->object = hold->object;
		struct load_object *lock = &replay->objects[hold->object];
		if (lock->holder == index)
			lock->holder = REPLAY_NONE;
		thread->hold_count--;
	}
	return 0;
}
