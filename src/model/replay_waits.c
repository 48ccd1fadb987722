/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a wait, a pass and a release mean for the replay. A wait for another thread becomes the
 * operation that may wait again; a wait for anything else becomes a sleep as long as it was.
 */
#include "model/replay_parts.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

static bool is_lock(uint8_t what)
{
	return what == WHAT_MUTEX || what == WHAT_RWLOCK || what == WHAT_SPIN;
}

static struct load_hold *find_hold(struct load_thread *thread, uint32_t object)
{
	for (size_t i = thread->hold_count; i > 0; i--)
		if (thread->holds[i - 1].object == object)
			return &thread->holds[i - 1];
	return NULL;
}

/* `step` stands for the taking. */
static int take_hold(struct replay *replay, uint32_t index, size_t step, uint32_t object,
	const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	if (mem_grow(&thread->holds, &thread->hold_capacity, thread->hold_count + 1,
		    sizeof *thread->holds) < 0)
		return -ENOMEM;
	struct load_object *lock = &replay->objects[object];
	thread->steps[step].amount = lock->turns++;
	lock->takes_turns |= (event->flags & EVENT_ORDERED) != 0;
	struct load_hold *hold = &thread->holds[thread->hold_count++];
	*hold = (struct load_hold){ .object = object, .depth = 1, .site = event->site };
	if (event->flags & EVENT_SHARED)
		lock->readers++;
	else
		lock->holder = index;
	return event->what == WHAT_MUTEX ? replay_section_begin(replay, thread, hold) : 0;
}

static void drop_hold(struct load_thread *thread, struct load_hold *hold)
{
	size_t at = (size_t)(hold - thread->holds);
	for (size_t i = at + 1; i < thread->hold_count; i++)
		thread->holds[i - 1] = thread->holds[i];
	thread->hold_count--;
}

/* Which of those who ask gets a lock first: evidence, for locks that others wait for. */
static void observe_asking(struct load_object *lock, bool is_shared)
{
	if (lock->what == WHAT_RWLOCK) {
		if (is_shared && lock->holder == REPLAY_NONE && lock->writers_waiting > 0)
			lock->reader_yields++;
	} else if (lock->holder == REPLAY_NONE && lock->waiting > 0) {
		lock->handed_over++;
	}
}

static void observe_getting(struct load_object *lock, bool is_shared)
{
	if (lock->what == WHAT_RWLOCK)
		lock->reader_passes += is_shared && lock->writers_waiting > 0;
	else
		lock->barged += lock->waiting > 0;
}

static void count_waiting(struct load_object *lock, bool is_shared, bool is_more)
{
	uint32_t *kind = is_shared ? &lock->readers_waiting : &lock->writers_waiting;
	if (is_more) {
		lock->waiting++;
		++*kind;
	} else {
		lock->waiting -= lock->waiting > 0;
		*kind -= *kind > 0;
	}
}

static int push_lock(struct load_thread *thread, uint32_t object, const struct event *event)
{
	struct step *step = load_push(thread, STEP_LOCK);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	step->is_shared = event->flags & EVENT_SHARED;
	return 0;
}

static int begin_lock(
	struct replay *replay, uint32_t index, uint32_t object, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_object *lock = &replay->objects[object];
	if (find_hold(thread, object))
		return 0;
	observe_asking(lock, event->flags & EVENT_SHARED);
	count_waiting(lock, event->flags & EVENT_SHARED, true);
	int code = push_lock(thread, object, event);
	thread->wait_step = thread->count;
	return code;
}

/* A condition's wait; its mutex is held, else it is a pause. */
static int begin_cond(
	struct replay *replay, uint32_t index, uint32_t object, const struct event *event)
{
	uint32_t mutex = event->value ? load_object(replay, event->pid, WHAT_MUTEX, event->value)
				      : REPLAY_NONE;
	struct load_thread *thread = &replay->threads[index];
	if (event->value && mutex == REPLAY_NONE)
		return -ENOMEM;
	struct load_hold *hold = mutex == REPLAY_NONE ? NULL : find_hold(thread, mutex);
	size_t decision = hold ? section_decision(thread, hold, object) : 0;
	if (decision) {
		replay->objects[mutex].holder = REPLAY_NONE;
		replay->facts.conditions++;
		thread->wait_step = decision;
		if (!hold->has_waited || !section_takes_all(replay, object)) {
			hold->has_waited = true;
			return 0;
		}
		/* Each of its waits empties the queue: one more of the same. */
		struct step *again = load_push(thread, STEP_DECIDE);
		if (!again)
			return -ENOMEM;
		uint64_t work_ns = again->work_ns;
		*again = thread->steps[decision - 1];
		again->work_ns = work_ns;
		thread->wait_step = thread->count;
		return 0;
	}
	struct step *step = load_push(thread, STEP_SLEEP);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	thread->wait_step = thread->count;
	if (!hold)
		return 0;
	step->other = mutex;
	replay->objects[mutex].guards_condition = true;
	replay->objects[mutex].holder = REPLAY_NONE;
	return 0;
}

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
		count_waiting(&replay->objects[step->object], step->is_shared, false);
	if (step->kind != STEP_BARRIER && step->kind != STEP_DECIDE)
		step->kind = STEP_NOTHING;
	thread->wait_step = 0;
}

/* The mutex that it took last and still has, plus one; 0: none. */
static uint64_t held_mutex(const struct replay *replay, const struct load_thread *thread)
{
	for (size_t i = thread->hold_count; i > 0; i--)
		if (replay->objects[thread->holds[i - 1].object].what == WHAT_MUTEX)
			return (uint64_t)thread->holds[i - 1].object + 1;
	return 0;
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
	if (is_lock(event->what))
		return begin_lock(replay, index, object, event);
	if (event->what == WHAT_COND)
		return begin_cond(replay, index, object, event);
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
		step->amount = held_mutex(replay, thread);
	}
	if (event->what == WHAT_SEM)
		replay->objects[object].sem_waits++;
	return event->what == WHAT_BARRIER
		       ? objects_arrive(replay, index, object, thread->count - 1, event->time_ns)
		       : 0;
}

/* A wait for nothing that the replay knows, ended by a thread that is known: that thread's next step. */
static int wake_by(struct replay *replay, uint32_t index, uint64_t time_ns)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_thread *waker = &replay->threads[thread->waker];
	if (thread->wait_step == 0 || waker == thread || waker->wait_what != WHAT_NONE)
		return 0;
	int code = load_advance(waker, time_ns);
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

/* The signal that ended a condition's wait: the last one, or the one that comes at the same instant. */
static int resolve_signal(struct replay *replay, uint32_t index, uint64_t woken_ns)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_object *cond = &replay->objects[thread->wait_object];
	struct step *step = &thread->steps[thread->wait_step - 1];
	if (step->other == REPLAY_NONE) /* no mutex: a pause */
		return 0;
	replay->facts.conditions++;
	if (cond->signals > 0 && cond->last_signal_ns >= thread->wait_ns &&
		(!thread->was_woken || cond->last_signal_ns == woken_ns)) {
		step->kind = STEP_AWAIT_SIGNAL;
		step->amount = cond->signals - 1;
		replay->facts.by_order++;
		return 0;
	}
	if (mem_grow(&replay->unresolved, &replay->unresolved_capacity,
		    replay->unresolved_count + 1, sizeof *replay->unresolved) < 0)
		return -ENOMEM;
	replay->unresolved[replay->unresolved_count] = (struct unresolved){ .thread = index,
		.step = thread->wait_step - 1,
		.woken_ns = woken_ns,
		.next = cond->unresolved };
	cond->unresolved = ++replay->unresolved_count;
	return 0;
}

static void take_from_semaphore(struct load_object *sem, struct step *step)
{
	step->amount = sem->turns++;
	sem->balance--;
	if (sem->balance < sem->least_balance)
		sem->least_balance = sem->balance;
}

/* The step of a wait that is over. */
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
			step->kind = STEP_NOTHING;
		else if (step->kind == STEP_DECIDE || step->kind == STEP_SLEEP ||
			 step->kind == STEP_AWAIT_SIGNAL)
			return; /* the signal before */
	}
}

static int end_wait(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct step *step = &thread->steps[thread->wait_step - 1];
	bool has_failed = event->flags & EVENT_TIMED_OUT;
	uint64_t until_ns = thread->was_woken ? thread->woken_ns : event->time_ns;
	uint64_t waited_ns = until_ns - thread->wait_ns;
	switch (step->kind) {
	case STEP_LOCK:
		count_waiting(&replay->objects[step->object], step->is_shared, false);
		if (!has_failed)
			return take_hold(replay, index, thread->wait_step - 1, step->object, event);
		step->kind = STEP_SLEEP;
		step->amount = waited_ns;
		return 0;
	case STEP_SEM_WAIT:
		if (has_failed) {
			step->kind = STEP_SLEEP;
			step->amount = waited_ns;
		} else {
			take_from_semaphore(&replay->objects[step->object], step);
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
		}
		return 0;
	case STEP_DECIDE:
		if (has_failed) {
			step->kind = STEP_TIMED_WAIT;
			step->amount = waited_ns;
		} else {
			forget_timeouts(thread, step->object);
		}
		return 0;
	case STEP_SLEEP:
		step->amount = waited_ns;
		if (thread->wait_what != WHAT_COND)
			return 0;
		if (!has_failed)
			forget_timeouts(thread, step->object);
		if (!has_failed)
			return resolve_signal(replay, index, until_ns);
		step->kind = step->other == REPLAY_NONE ? STEP_SLEEP : STEP_TIMED_WAIT;
		return 0;
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

/* What a wait costs who sleeps: the time to a core, where one was free, and CPU time. */
static int observe_costs(
	struct replay *replay, const struct load_thread *thread, const struct event *event)
{
	int code = 0;
	if (kept_core(thread, event))
		return 0;
	if (thread->was_woken && thread->had_core) {
		code = samples_add(&replay->wake, event->time_ns - thread->woken_ns);
		replay->wake_count[thread->was_last_core]++;
		replay->wake_sum_ns[thread->was_last_core] += event->time_ns - thread->woken_ns;
	}
	bool is_asleep = thread->wait_what != WHAT_SPIN && thread->wait_what != WHAT_COND &&
			 thread->wait_what != WHAT_BARRIER;
	if (code == 0 && thread->has_cpu && is_asleep)
		code = samples_add(&replay->block, thread->cpu_ns - thread->wait_cpu_ns);
	return code;
}

/*
 * Taking a lock over from another core takes time, which in the replay, at another moment, it may find free: work, from
 * when it was given back.
 */
static void count_taking_over(struct load_thread *thread, const struct event *event)
{
	struct step *step = thread->wait_step ? &thread->steps[thread->wait_step - 1] : NULL;
	if (step && step->kind == STEP_LOCK && thread->was_woken && kept_core(thread, event) &&
		event->time_ns > thread->woken_ns)
		step->work_ns += event->time_ns - thread->woken_ns;
}

static int pass_waited(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_object *object = &replay->objects[thread->wait_object];
	thread->work_ns = 0; /* CPU time inside a wait is what waiting costs */
	count_taking_over(thread, event);
	int code = observe_costs(replay, thread, event);
	if (event->flags & EVENT_IMPLICIT && event->what == WHAT_MUTEX) {
		object->holder = index;
		return code;
	}
	if (code < 0 || thread->wait_step == 0)
		return code;
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
	uint32_t object = load_object(replay, event->pid, event->what, event->object);
	if (object == REPLAY_NONE)
		return -ENOMEM;
	thread = &replay->threads[index];
	struct load_object *o = &replay->objects[object];
	if (is_lock(event->what) && is_implicit) {
		o->holder = index;
		thread->work_ns = 0;
		return 0;
	}
	if (event->flags & (EVENT_TIMED_OUT | EVENT_BEFORE))
		return 0;
	if (is_lock(event->what)) {
		struct load_hold *hold = find_hold(thread, object);
		if (hold) {
			hold->depth++;
			return 0;
		}
		observe_getting(o, event->flags & EVENT_SHARED);
		int code = push_lock(thread, object, event);
		return code < 0 ? code : take_hold(replay, index, thread->count - 1, object, event);
	}
	if (event->what != WHAT_BARRIER && event->what != WHAT_SEM)
		return 0;
	struct step *step =
		load_push(thread, event->what == WHAT_BARRIER ? STEP_BARRIER : STEP_SEM_WAIT);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	if (event->what == WHAT_SEM) {
		take_from_semaphore(o, step);
		return 0;
	}
	int code = objects_arrive(replay, index, object, thread->count - 1, event->time_ns);
	if (code == 0) {
		o = &replay->objects[object];
		struct arrival *last = &o->arrivals[o->arrival_count - 1];
		last->is_over = last->is_last = last->is_exact = true;
		last->woken_ns = event->time_ns;
		last->waker = index;
	}
	return code;
}

static int release_lock(
	struct replay *replay, uint32_t index, uint32_t object, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_object *lock = &replay->objects[object];
	struct load_hold *hold = find_hold(thread, object);
	if (hold && --hold->depth > 0)
		return 0;
	struct load_thread *holder =
		lock->holder < replay->thread_count ? &replay->threads[lock->holder] : NULL;
	struct load_hold *foreign = !hold && holder ? find_hold(holder, object) : NULL;
	if (!hold && (!foreign || lock->what == WHAT_RWLOCK))
		return 0;
	if (hold) {
		struct load_hold ended = *hold;
		drop_hold(thread, hold);
		if (replay_section_end(replay, thread, ended) < 0)
			return -ENOMEM;
		lock = &replay->objects[object];
	} else {
		drop_hold(holder, foreign);
		lock->play = PLAY_SEM; /* given back by another: that is no mutex */
		lock->value = 1;
	}
	if (lock->holder == index || foreign)
		lock->holder = REPLAY_NONE;
	else
		lock->readers -= lock->readers > 0;
	struct step *step = load_push(thread, STEP_UNLOCK);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	return 0;
}

static int release_cond(
	struct replay *replay, uint32_t index, uint32_t object, const struct event *event)
{
	struct load_object *cond = &replay->objects[object];
	if (cond->meaning != UINT32_MAX) /* the section that it belongs to provides */
		return 0;
	struct step *step = load_push(&replay->threads[index], STEP_SIGNAL);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	step->is_all = event->flags & EVENT_ALL;
	step->amount = cond->signals++;
	cond->last_signal_ns = event->time_ns;
	/* Those whose wait ended now, but whose PASS came first. */
	size_t next, left = 0;
	for (size_t i = cond->unresolved; i > 0; i = next) {
		struct unresolved *wait = &replay->unresolved[i - 1];
		next = wait->next;
		if (wait->woken_ns == event->time_ns) {
			struct step *waiting = &replay->threads[wait->thread].steps[wait->step];
			waiting->kind = STEP_AWAIT_SIGNAL;
			waiting->amount = cond->signals - 1;
			replay->facts.by_order++;
		} else if (wait->woken_ns > event->time_ns) {
			wait->next = left;
			left = i;
		}
	}
	cond->unresolved = left;
	return 0;
}

int waits_release(struct replay *replay, uint32_t index, const struct event *event)
{
	if (event->flags & EVENT_BEFORE || replay->threads[index].wait_what != WHAT_NONE)
		return 0;
	uint32_t object = load_object(replay, event->pid, event->what, event->object);
	if (object == REPLAY_NONE)
		return -ENOMEM;
	if (is_lock(event->what) && event->flags & EVENT_IMPLICIT)
		return 0;
	if (is_lock(event->what))
		return release_lock(replay, index, object, event);
	if (event->what == WHAT_COND)
		return release_cond(replay, index, object, event);
	if (event->what != WHAT_SEM)
		return 0;
	struct step *step = load_push(&replay->threads[index], STEP_SEM_POST);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	step->amount = 1;
	replay->objects[object].balance++;
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
