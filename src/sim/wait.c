/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waiting and being woken, the same for everything that can be waited for. */
#include "sim/engine.h"

#include <errno.h>

void waiters_add(struct sim *sim, struct waiters *list, uint32_t tid)
{
	struct sim_thread *thread = thread_of(sim, tid);
	thread->next = 0;
	thread->previous = list->tail;
	if (list->tail)
		thread_of(sim, list->tail)->next = tid;
	else
		list->head = tid;
	list->tail = tid;
}

void waiters_remove(struct sim *sim, struct waiters *list, uint32_t tid)
{
	struct sim_thread *thread = thread_of(sim, tid);
	if (thread->previous)
		thread_of(sim, thread->previous)->next = thread->next;
	else
		list->head = thread->next;
	if (thread->next)
		thread_of(sim, thread->next)->previous = thread->previous;
	else
		list->tail = thread->previous;
}

int wait_begin(struct sim *sim, struct sim_thread *thread, struct waiters *list,
	struct object *object, const struct subject *subject)
{
	if (!thread->result.has_waited) {
		thread->result.has_waited = true;
		thread->asked_ns = sim->now_ns;
		if (object)
			object->waits++;
	}
	thread->is_late = true;
	uint64_t awake_ns = sim->options.kernel.doze_ns;
	if (object && object->spin_ns > awake_ns)
		awake_ns = object->spin_ns;
	if (thread->op.spin_ns > awake_ns)
		awake_ns = thread->op.spin_ns;
	thread->sleeps_ns = sim->now_ns + awake_ns;
	thread->is_dozing = awake_ns == sim->options.kernel.doze_ns;
	thread->wait_what = subject->what;
	thread->wait_number = subject->object;
	if (list)
		waiters_add(sim, list, thread->tid);
	emit(sim, thread, EVENT_WAIT, subject);
	thread_set_state(sim, thread, THREAD_WAITING);
	int code = cores_leave(sim, thread);
	return code < 0 ? code : OP_WAITS;
}

void pass(struct sim *sim, struct sim_thread *thread, struct object *object,
	const struct subject *subject)
{
	emit(sim, thread, EVENT_PASS, subject);
	thread->is_late = false;
	if (object)
		object->uses++;
	if (!thread->result.has_waited)
		return;
	thread->result.waited_ns = sim->now_ns - thread->asked_ns;
	if (object)
		object->waited_ns += thread->result.waited_ns;
}

int wake_now(struct sim *sim, struct sim_thread *thread)
{
	thread->woken_ns = sim->now_ns;
	emit(sim, thread, EVENT_WOKEN,
		&(struct subject){ .what = thread->wait_what,
			.object = thread->wait_number,
			.value = thread->waker });
	return cores_enter(sim, thread);
}

/* CPU time of a wake-up is the waker's, if one runs. */
static void charge(struct sim *sim, uint32_t waker, uint64_t cost_ns)
{
	if (waker > 0 && thread_of(sim, waker)->state == THREAD_RUNNING)
		thread_of(sim, waker)->switch_left += (double)(int64_t)cost_ns;
}

struct wake_up {
	uint64_t cost_ns, takes_ns; /* the waker; until the thread runs */
};

static struct wake_up wake_up_of(struct sim *sim, struct sim_thread *thread)
{
	const struct sim_kernel *kernel = &sim->options.kernel;
	if (cores_send(sim, thread))
		return (struct wake_up){ kernel->halted_wake_cost_ns, kernel->halted_wake_ns };
	return (struct wake_up){ kernel->wake_cost_ns, sim_draw(&kernel->wake, &sim->rng) };
}

static int rouse(struct sim *sim, struct sim_thread *thread, uint32_t waker, struct wake_up wake_up)
{
	charge(sim, waker, wake_up.cost_ns);
	sim->waking++;
	thread_set_state(sim, thread, THREAD_WAKING);
	return timer_set(sim, thread->timer, sim->now_ns + wake_up.takes_ns);
}

int wake(struct sim *sim, uint32_t tid, uint32_t waker)
{
	struct sim_thread *thread = thread_of(sim, tid);
	thread->waker = waker;
	const struct sim_kernel *kernel = &sim->options.kernel;
	bool has_slept = sim->now_ns >= thread->sleeps_ns;
	bool is_unseen = sim->now_ns - thread->asked_ns < kernel->hold_ns;
	if (!has_slept && thread->is_dozing && !is_unseen && kernel->doze_cost_ns > 0)
		return rouse(sim, thread, waker,
			(struct wake_up){ kernel->doze_cost_ns, thread->sleeps_ns - sim->now_ns });
	if ((kernel->wake.kind == SIM_FIXED && kernel->wake.a == 0) || !has_slept ||
		!cores_wakes_up(sim, thread)) {
		int code = wake_now(sim, thread);
		if (has_slept && thread->cpu == SIM_NONE && sim->cpu_count > 0)
			charge(sim, waker, kernel->queued_cost_ns);
		return code;
	}
	return rouse(sim, thread, waker, wake_up_of(sim, thread));
}

int wake_first(struct sim *sim, struct waiters *list, uint32_t waker)
{
	uint32_t tid = list->head;
	if (tid == 0)
		return 0;
	waiters_remove(sim, list, tid);
	return wake(sim, tid, waker);
}

int wake_all(struct sim *sim, struct waiters *list, uint32_t waker)
{
	int code = 0;
	while (list->head && code == 0)
		code = wake_first(sim, list, waker);
	return code;
}
