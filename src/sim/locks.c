/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mutexes, spin locks, read-write locks. As with a futex, who gives a lock back wakes the first that
 * waits and leaves the lock free; whoever asks next has it. A lock that hands over belongs to the first
 * that waits at once.
 *
 * A mutex knows as much of who waits as glibc's (nptl/lowlevellock.c): it is taken as contended by who had to wait for
 * it, and becomes so when somebody asks in vain. Who took it free, while the one that was woken has not got a core yet,
 * gives it back without waking another.
 *
 * So do the writers of a read-write lock that prefers readers (nptl/pthread_rwlock_common.c):
 *
 *	read	  unless somebody writes; who waits for a writer has the lock when that leaves
 *	write	  if nobody reads or writes; the first that asks while others read has it when they have left,
 *		  the others wait behind that one as for a mutex
 */
#include "sim/engine.h"

#include <errno.h>

/* The object numbered op.object of a table; else returns an error from the function. */
#define FIND(type, table)                                                                          \
	if (thread->op.object >= sim->table.count)                                                 \
		return op_error(sim, thread, -EINVAL, "uses " #type " %u, which there is not",     \
			thread->op.object);                                                        \
	struct type *type = &sim->table.all[thread->op.object]

static struct subject subject_of(const struct sim_thread *thread, uint8_t what, uint16_t flags)
{
	return (struct subject){
		.what = what, .object = (uint64_t)thread->op.object + 1, .flags = flags
	};
}

bool mutex_take(struct sim *sim, struct sim_thread *thread, struct lock *mutex)
{
	if (mutex->owner == thread->tid && thread->is_late)
		return true; /* it was handed over */
	if (mutex->owner) {
		mutex->is_contended = true;
		return false;
	}
	mutex->owner = thread->tid;
	mutex->is_contended = thread->is_late;
	mutex->held_since_ns = sim->now_ns;
	return true;
}

static void lock_free(struct sim *sim, struct lock *lock)
{
	lock->object.held_ns += sim->now_ns - lock->held_since_ns;
	lock->owner = 0;
	object_set_length(sim, &lock->object, lock->object.length - 1);
}

static void hand_over(struct sim *sim, struct lock *lock)
{
	lock->owner = lock->waiters.head;
	lock->held_since_ns = sim->now_ns;
}

int mutex_give_back(struct sim *sim, struct sim_thread *thread, uint32_t number, uint16_t flags)
{
	struct lock *mutex = &sim->mutexes.all[number];
	if (mutex->owner != thread->tid)
		return lock_error(sim, thread, WHAT_MUTEX, number, mutex->owner);
	emit(sim, thread, EVENT_RELEASE,
		&(struct subject){
			.what = WHAT_MUTEX, .object = (uint64_t)number + 1, .flags = flags });
	lock_free(sim, mutex);
	if (mutex->hands_over)
		hand_over(sim, mutex);
	else if (!mutex->is_contended)
		return 0;
	return wake_first(sim, &mutex->waiters, thread->tid);
}

int op_lock(struct sim *sim, struct sim_thread *thread)
{
	FIND(lock, mutexes);
	struct subject subject = subject_of(thread, WHAT_MUTEX, 0);
	if (!thread->result.has_waited)
		object_set_length(sim, &lock->object, lock->object.length + 1);
	if (mutex_take(sim, thread, lock)) {
		pass(sim, thread, &lock->object, &subject);
		return OP_DONE;
	}
	int code = deadlock_check(sim, thread, &subject, lock->owner);
	return code < 0 ? code : wait_begin(sim, thread, &lock->waiters, &lock->object, &subject);
}

int op_try_lock(struct sim *sim, struct sim_thread *thread)
{
	FIND(lock, mutexes);
	struct subject subject = subject_of(thread, WHAT_MUTEX, 0);
	if (mutex_take(sim, thread, lock)) {
		object_set_length(sim, &lock->object, lock->object.length + 1);
		pass(sim, thread, &lock->object, &subject);
	} else {
		lock->object.refused++;
		thread->result.status = -EBUSY;
		emit(sim, thread, EVENT_TRY_FAILED, &subject);
	}
	return OP_DONE;
}

int op_unlock(struct sim *sim, struct sim_thread *thread)
{
	FIND(lock, mutexes);
	(void)lock;
	return mutex_give_back(sim, thread, thread->op.object, 0);
}

/*
 * A thread that waits keeps its core. It stands in the list only while it has one, for only then can it
 * see that the lock is free; of a lock that hands over, until it has it.
 */
int op_spin_lock(struct sim *sim, struct sim_thread *thread)
{
	FIND(lock, spins);
	struct subject subject = subject_of(thread, WHAT_SPIN, 0);
	if (!thread->result.has_waited)
		object_set_length(sim, &lock->object, lock->object.length + 1);
	if (mutex_take(sim, thread, lock)) {
		if (thread->is_late) {
			thread->woken_ns = sim->now_ns;
			subject.value = thread->waker;
			emit(sim, thread, EVENT_WOKEN, &subject);
		}
		pass(sim, thread, &lock->object, &subject);
		return OP_DONE;
	}
	int code = deadlock_check(sim, thread, &subject, lock->owner);
	if (code < 0)
		return code;
	if (!thread->result.has_waited) {
		thread->result.has_waited = true;
		thread->is_late = true;
		thread->wait_what = subject.what;
		thread->wait_number = subject.object;
		thread->asked_ns = sim->now_ns;
		lock->object.waits++;
		emit(sim, thread, EVENT_WAIT, &subject);
	}
	if (!thread->is_listed)
		waiters_add(sim, &lock->waiters, thread->tid);
	thread->is_listed = thread->is_spinning = true;
	return cores_compute(sim, thread);
}

void spin_suspend(struct sim *sim, struct sim_thread *thread)
{
	struct lock *lock = &sim->spins.all[thread->op.object];
	thread->is_spinning = false;
	if (lock->hands_over)
		return;
	waiters_remove(sim, &lock->waiters, thread->tid);
	thread->is_listed = false;
}

int op_spin_unlock(struct sim *sim, struct sim_thread *thread)
{
	FIND(lock, spins);
	if (lock->owner != thread->tid)
		return lock_error(sim, thread, WHAT_SPIN, thread->op.object, lock->owner);
	struct subject subject = subject_of(thread, WHAT_SPIN, 0);
	emit(sim, thread, EVENT_RELEASE, &subject);
	lock_free(sim, lock);
	if (!lock->waiters.head)
		return OP_DONE;
	struct sim_thread *next = thread_of(sim, lock->waiters.head);
	next->waker = thread->tid;
	if (lock->hands_over)
		hand_over(sim, lock);
	waiters_remove(sim, &lock->waiters, next->tid);
	next->is_listed = false;
	if (!next->is_spinning) /* it has no core, and will see it when it has one */
		return OP_DONE;
	cores_stop(sim, next);
	next->is_spinning = false;
	runnable_add(sim, next->tid);
	return OP_DONE;
}

static int read_pass(struct sim *sim, struct sim_thread *thread, struct rwlock *rwlock,
	const struct subject *subject)
{
	thread->read_holds++;
	pass(sim, thread, &rwlock->object, subject);
	return OP_DONE;
}

int op_read_lock(struct sim *sim, struct sim_thread *thread)
{
	FIND(rwlock, rwlocks);
	struct subject subject = subject_of(thread, WHAT_RWLOCK, EVENT_SHARED);
	if (!thread->result.has_waited)
		object_set_length(sim, &rwlock->object, rwlock->object.length + 1);
	else if (!rwlock->writers_first)
		return read_pass(
			sim, thread, rwlock, &subject); /* it was counted as it was let in */
	if (!rwlock->writer && !(rwlock->writers_first && rwlock->writers_pending)) {
		if (rwlock->readers++ == 0)
			rwlock->held_since_ns = sim->now_ns;
		return read_pass(sim, thread, rwlock, &subject);
	}
	int code = rwlock->writer ? deadlock_check(sim, thread, &subject, rwlock->writer) : 0;
	return code < 0 ? code
			: wait_begin(
				  sim, thread, &rwlock->waiting_readers, &rwlock->object, &subject);
}

static int write_wait(struct sim *sim, struct sim_thread *thread, struct rwlock *rwlock,
	const struct subject *subject)
{
	struct waiters *list = &rwlock->waiting_writers;
	int code = rwlock->writer ? deadlock_check(sim, thread, subject, rwlock->writer) : 0;
	if (code < 0)
		return code;
	if (rwlock->writers_first || rwlock->writer || rwlock->next_writer) {
		rwlock->is_contended = true;
	} else {
		rwlock->next_writer = thread->tid;
		rwlock->is_contended = thread->is_late;
		list = NULL;
	}
	return wait_begin(sim, thread, list, &rwlock->object, subject);
}

int op_write_lock(struct sim *sim, struct sim_thread *thread)
{
	FIND(rwlock, rwlocks);
	struct subject subject = subject_of(thread, WHAT_RWLOCK, 0);
	if (!thread->result.has_waited) {
		object_set_length(sim, &rwlock->object, rwlock->object.length + 1);
		rwlock->writers_pending++;
	}
	bool is_handed_over = rwlock->writer == thread->tid && thread->result.has_waited;
	if (!is_handed_over && (rwlock->writer || rwlock->readers))
		return write_wait(sim, thread, rwlock, &subject);
	if (!is_handed_over) {
		rwlock->writer = thread->tid;
		rwlock->is_contended = thread->is_late;
		rwlock->held_since_ns = sim->now_ns;
	}
	rwlock->writers_pending--;
	pass(sim, thread, &rwlock->object, &subject);
	return OP_DONE;
}

/* The last reader, or a writer, has left a lock that prefers writers. */
static int writers_first_pass_on(
	struct sim *sim, struct rwlock *rwlock, uint32_t waker, bool by_reader)
{
	if (by_reader)
		rwlock->writer = rwlock->waiting_writers.head;
	rwlock->held_since_ns = sim->now_ns;
	if (rwlock->waiting_writers.head)
		return wake_first(sim, &rwlock->waiting_writers, waker);
	if (rwlock->writers_pending)
		return 0; /* a writer is on its way, and will pass it on */
	return wake_all(sim, &rwlock->waiting_readers, waker);
}

/* ... that prefers readers. */
static int readers_first_pass_on(
	struct sim *sim, struct rwlock *rwlock, uint32_t waker, bool by_reader)
{
	bool wakes_writer = rwlock->is_contended;
	int code = 0;
	rwlock->held_since_ns = sim->now_ns;
	if (by_reader) {
		rwlock->writer = rwlock->next_writer;
		rwlock->next_writer = 0;
		return rwlock->writer ? wake(sim, rwlock->writer, waker) : 0;
	}
	rwlock->is_contended = false;
	for (; rwlock->waiting_readers.head && code == 0; rwlock->readers++)
		code = wake_first(sim, &rwlock->waiting_readers, waker);
	return code == 0 && wakes_writer ? wake_first(sim, &rwlock->waiting_writers, waker) : code;
}

int op_rw_unlock(struct sim *sim, struct sim_thread *thread)
{
	FIND(rwlock, rwlocks);
	bool is_writer = rwlock->writer == thread->tid;
	if (!is_writer && (rwlock->readers == 0 || thread->read_holds == 0))
		return lock_error(sim, thread, WHAT_RWLOCK, thread->op.object, rwlock->writer);
	struct subject subject = subject_of(thread, WHAT_RWLOCK, is_writer ? 0 : EVENT_SHARED);
	emit(sim, thread, EVENT_RELEASE, &subject);
	object_set_length(sim, &rwlock->object, rwlock->object.length - 1);
	if (is_writer)
		rwlock->writer = 0;
	else
		thread->read_holds--;
	if (!is_writer && --rwlock->readers > 0)
		return OP_DONE;
	rwlock->object.held_ns += sim->now_ns - rwlock->held_since_ns;
	return rwlock->writers_first ? writers_first_pass_on(sim, rwlock, thread->tid, !is_writer)
				     : readers_first_pass_on(sim, rwlock, thread->tid, !is_writer);
}

int sim_set_handover(struct sim *sim, enum sim_object_kind kind, uint32_t object)
{
	if (kind == SIM_MUTEX && object < sim->mutexes.count)
		sim->mutexes.all[object].hands_over = true;
	else if (kind == SIM_SPIN && object < sim->spins.count)
		sim->spins.all[object].hands_over = true;
	else
		return -EINVAL;
	return 0;
}
