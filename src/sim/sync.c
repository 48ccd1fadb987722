/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Barriers, condition variables, semaphores, join. */
#include "sim/engine.h"

#include <errno.h>

static struct subject subject_of(const struct sim_thread *thread, uint8_t what)
{
	return (struct subject){ .what = what, .object = (uint64_t)thread->op.object + 1 };
}

static int refill(struct sim *sim, const struct barrier *barrier, uint32_t waker)
{
	int code = 0;
	for (uint32_t i = barrier->refills; i != SIM_NONE && code == 0;
		i = sim->queues.all[i].next_refill)
		code = queue_refill(sim, &sim->queues.all[i], waker);
	return code;
}

int op_barrier(struct sim *sim, struct sim_thread *thread)
{
	if (thread->op.object >= sim->barriers.count)
		return op_error(sim, thread, -EINVAL, "uses barrier %u, which there is not",
			thread->op.object);
	struct barrier *barrier = &sim->barriers.all[thread->op.object];
	struct subject subject = subject_of(thread, WHAT_BARRIER);
	if (thread->stage == 1) {
		pass(sim, thread, &barrier->object, &subject);
		return OP_DONE;
	}
	thread->stage = 1;
	object_set_length(sim, &barrier->object, barrier->object.length + 1);
	if (++barrier->arrived < barrier->threads)
		return wait_begin(sim, thread, &barrier->waiters, &barrier->object, &subject);
	barrier->arrived = 0;
	object_set_length(sim, &barrier->object, 0);
	pass(sim, thread, &barrier->object, &subject);
	int code = refill(sim, barrier, thread->tid);
	return code < 0 ? code : wake_all(sim, &barrier->waiters, thread->tid);
}

enum { COND_STAGE_WAIT = 1, COND_STAGE_MUTEX };

static int cond_begin(struct sim *sim, struct sim_thread *thread, struct cond *cond)
{
	int code = mutex_give_back(sim, thread, thread->op.other, EVENT_IMPLICIT);
	if (code < 0)
		return code;
	thread->stage = COND_STAGE_WAIT;
	thread->has_timed_out = false;
	object_set_length(sim, &cond->object, cond->object.length + 1);
	struct subject subject = subject_of(thread, WHAT_COND);
	subject.value = (uint64_t)thread->op.other + 1;
	code = wait_begin(sim, thread, &cond->waiters, &cond->object, &subject);
	if (code < 0 || thread->op.amount == 0)
		return code;
	int timer = timer_set(sim, thread->timer, sim->now_ns + thread->op.amount);
	return timer < 0 ? timer : code;
}

int op_cond_wait(struct sim *sim, struct sim_thread *thread)
{
	if (thread->op.object >= sim->conds.count || thread->op.other >= sim->mutexes.count)
		return op_error(sim, thread, -EINVAL,
			"waits for condition %u with mutex %u: one of them there is not",
			thread->op.object, thread->op.other);
	struct cond *cond = &sim->conds.all[thread->op.object];
	struct lock *mutex = &sim->mutexes.all[thread->op.other];
	if (thread->stage == 0)
		return cond_begin(sim, thread, cond);
	if (thread->stage == COND_STAGE_WAIT) {
		struct subject subject = subject_of(thread, WHAT_COND);
		if (thread->has_timed_out) {
			subject.flags = EVENT_TIMED_OUT;
			thread->result.status = -ETIMEDOUT;
		}
		pass(sim, thread, &cond->object, &subject);
		object_set_length(sim, &mutex->object, mutex->object.length + 1);
		thread->stage = COND_STAGE_MUTEX;
	}
	struct subject subject = { .what = WHAT_MUTEX,
		.object = (uint64_t)thread->op.other + 1,
		.flags = EVENT_IMPLICIT };
	if (!mutex_take(sim, thread, mutex)) {
		int code = deadlock_check(sim, thread, &subject, mutex->owner);
		return code < 0 ? code : wait_begin(sim, thread, &mutex->waiters, NULL, &subject);
	}
	mutex->is_contended =
		true; /* glibc does not know that nobody else came from the condition */
	pass(sim, thread, NULL, &subject);
	mutex->object.uses++;
	return OP_DONE;
}

static void cond_leave(struct sim *sim, struct cond *cond, uint32_t tid)
{
	waiters_remove(sim, &cond->waiters, tid);
	object_set_length(sim, &cond->object, cond->object.length - 1);
}

int cond_timer(struct sim *sim, struct sim_thread *thread)
{
	thread->has_timed_out = true;
	cond_leave(sim, &sim->conds.all[thread->op.object], thread->tid);
	return wake(sim, thread->tid, 0);
}

static int signal(struct sim *sim, struct sim_thread *thread, bool is_all)
{
	if (thread->op.object >= sim->conds.count)
		return op_error(sim, thread, -EINVAL, "signals condition %u, which there is not",
			thread->op.object);
	struct cond *cond = &sim->conds.all[thread->op.object];
	struct subject subject = subject_of(thread, WHAT_COND);
	subject.flags = is_all ? EVENT_ALL : 0;
	emit(sim, thread, EVENT_RELEASE, &subject);
	int code = 0;
	while (code == 0 && cond->waiters.head) {
		uint32_t tid = cond->waiters.head;
		cond_leave(sim, cond, tid);
		timer_stop(sim, thread_of(sim, tid)->timer);
		code = wake(sim, tid, thread->tid);
		if (!is_all)
			break;
	}
	return code;
}

int op_signal(struct sim *sim, struct sim_thread *thread)
{
	return signal(sim, thread, false);
}

int op_broadcast(struct sim *sim, struct sim_thread *thread)
{
	return signal(sim, thread, true);
}

int op_sem_wait(struct sim *sim, struct sim_thread *thread)
{
	if (thread->op.object >= sim->sems.count)
		return op_error(sim, thread, -EINVAL, "uses semaphore %u, which there is not",
			thread->op.object);
	struct sem *sem = &sim->sems.all[thread->op.object];
	struct subject subject = subject_of(thread, WHAT_SEM);
	if (!thread->result.has_waited)
		object_set_length(sim, &sem->object, sem->object.length + 1);
	if (sem->value == 0)
		return wait_begin(sim, thread, &sem->waiters, &sem->object, &subject);
	sem->value--;
	sem->lender.taken++;
	object_set_length(sim, &sem->object, sem->object.length - 1);
	pass(sim, thread, &sem->object, &subject);
	return OP_DONE;
}

int op_sem_post(struct sim *sim, struct sim_thread *thread)
{
	if (thread->op.object >= sim->sems.count)
		return op_error(sim, thread, -EINVAL, "posts semaphore %u, which there is not",
			thread->op.object);
	struct sem *sem = &sim->sems.all[thread->op.object];
	uint64_t amount = thread->op.amount ? thread->op.amount : 1;
	if (amount > UINT64_MAX - sem->value)
		return op_error(sim, thread, -EOVERFLOW, "posts semaphore %u beyond its range",
			thread->op.object);
	sem->value += amount;
	struct subject subject = subject_of(thread, WHAT_SEM);
	emit(sim, thread, EVENT_RELEASE, &subject);
	int code = 0;
	for (; code == 0 && amount > 0 && sem->waiters.head; amount--)
		code = wake_first(sim, &sem->waiters, thread->tid);
	return code;
}

int op_join(struct sim *sim, struct sim_thread *thread)
{
	uint32_t tid = thread->op.object;
	if (tid == 0 || tid > sim->thread_count)
		return op_error(sim, thread, -EINVAL, "joins thread %u, which there is not", tid);
	struct sim_thread *joined = thread_of(sim, tid);
	struct subject subject = { .what = WHAT_JOIN, .value = tid };
	if (joined->state == THREAD_EXITED) {
		pass(sim, thread, NULL, &subject);
		return OP_DONE;
	}
	int code = deadlock_check(sim, thread, &subject, tid);
	return code < 0 ? code : wait_begin(sim, thread, &joined->joiners, NULL, &subject);
}
