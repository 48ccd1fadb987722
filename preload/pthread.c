/* SPDX-License-Identifier: MIT */
/*
 * POSIX threads: what can wait is tried first, so that a call that does not wait costs no clock
 * reading. A try fails with EBUSY when the call would wait, or would report a deadlock: the real
 * call that follows tells which. Whatever else a try returns is what the call would return.
 */
#include "profiled_mutex.h"
#include "real.h"
#include "trace.h"
#include "traced_thread.h"

#include <errno.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

/* Of glibc's internal header. */
enum {
	RECURSIVE_KIND = PTHREAD_MUTEX_RECURSIVE_NP,
	ROBUST_KIND = 16, /* PTHREAD_MUTEX_ROBUST_NORMAL_NP */
};

/* While there is one thread the C library locks without an atomic instruction, but does not try so. */
static bool is_alone(void)
{
#if __has_include(<sys/single_threaded.h>)
	extern __typeof__(__libc_single_threaded) __libc_single_threaded __attribute__((weak));
	return &__libc_single_threaded && __libc_single_threaded;
#else
	return false;
#endif
}

/*
 * What the lock would return, or EBUSY if it would wait. A try is no substitute for the lock of a
 * robust mutex: glibc's leaves one that was lost (ENOTRECOVERABLE) locked. There the lock word
 * tells whether somebody holds it; who is overtaken between that and the lock waits uncounted.
 */
static int try_mutex(pthread_mutex_t *mutex)
{
	if (__builtin_expect(mutex->__data.__kind & ROBUST_KIND, 0))
		return mutex->__data.__lock ? EBUSY : trial()->pthread_mutex_lock(mutex);
	if (is_alone() && plain_mutex_is(mutex) && mutex->__data.__lock == PLAIN_MUTEX_FREE)
		return trial()->pthread_mutex_lock(mutex);
	return trial()->pthread_mutex_trylock(mutex);
}

/*
 * Only the first of a recursive mutex's locks acquires it, and only the last unlock releases it.
 * The count is glibc's own, read by the owner.
 */
static bool is_inner(const pthread_mutex_t *mutex)
{
	return (mutex->__data.__kind & RECURSIVE_KIND) && mutex->__data.__count > 1;
}

static int got_mutex(const pthread_mutex_t *mutex, int result, uint32_t flags, const void *caller)
{
	bool is_ours = result == 0 || result == EOWNERDEAD;
	if (is_tracing() && is_ours && !is_inner(mutex)) {
		trace_acquired(SYNC_LOCK, mutex, flags, caller);
		if (self.budget.is_on)
			budget_took(mutex, caller, true);
	} else {
		profiled_resume();
	}
	return result;
}

/* As waited(). */
static int waited_for_mutex(
	struct wait *wait, const pthread_mutex_t *mutex, int result, const void *caller)
{
	bool is_ours = result == 0 || result == EOWNERDEAD;
	if (self.budget.is_on && is_ours)
		budget_took(mutex, caller, false);
	wait->has_failed = !is_ours;
	return result;
}

static __attribute__((noinline)) int wait_for_mutex(pthread_mutex_t *mutex, const void *caller)
{
	WAIT_FROM(SYNC_LOCK, mutex, caller);
	return waited_for_mutex(&wait_, mutex, real()->pthread_mutex_lock(mutex), caller);
}

/* The ways that are taken often need no frame for a wait. */
EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	plain_mutex_fetch(mutex);
	const void *caller = CALLER;
	if (budget_takes(mutex, caller) || profiled_takes(mutex, caller))
		return 0;
	look_before_lock();
	int result = try_mutex(mutex);
	if (__builtin_expect(result != EBUSY, 1))
		return got_mutex(mutex, result, 0, caller);
	return wait_for_mutex(mutex, caller);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline)
{
	int result = try_mutex(mutex);
	if (result != EBUSY)
		return got_mutex(mutex, result, 0, CALLER);
	WAIT(SYNC_LOCK, mutex);
	return waited_for_mutex(
		&wait_, mutex, real()->pthread_mutex_timedlock(mutex, deadline), CALLER);
}

EXPORT int pthread_mutex_clocklock(
	pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline)
{
	if (!is_clock(clock))
		return real()->pthread_mutex_clocklock(mutex, clock, deadline);
	int result = try_mutex(mutex);
	if (result != EBUSY)
		return got_mutex(mutex, result, 0, CALLER);
	WAIT(SYNC_LOCK, mutex);
	return waited_for_mutex(
		&wait_, mutex, real()->pthread_mutex_clocklock(mutex, clock, deadline), CALLER);
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	if (self.trying == TRY_NONE && budget_takes(mutex, CALLER))
		return 0;
	int result = trial()->pthread_mutex_trylock(mutex);
	if (result == EBUSY)
		try_failed(SYNC_LOCK, mutex, CALLER);
	else
		try_succeeded(mutex);
	return got_mutex(mutex, result, TRACE_TRIED, CALLER);
}

/*
 * Who sleeps until the mutex is free says so in its lock word. Nobody reads the time of a release that
 * nobody waits for.
 */
static bool is_awaited(const pthread_mutex_t *mutex)
{
	return !plain_mutex_is(mutex) ||
	       __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) != PLAIN_MUTEX_TAKEN;
}

static __attribute__((noinline)) int unlock_and_tell(
	pthread_mutex_t *mutex, const void *site, const void *frame)
{
	if (!is_tracing() || is_inner(mutex) || (self.budget.held_count > 0 && budget_gives(mutex)))
		return real()->pthread_mutex_unlock(mutex);
	uint64_t time_ns = is_awaited(mutex) ? releases(mutex) : trace_now();
	int result = real()->pthread_mutex_unlock(mutex);
	return released(SYNC_LOCK, mutex, 0, time_ns, result, callers_of(site, frame));
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (budget_gives_last(mutex) || profiled_gives(mutex, __builtin_return_address(0)))
		return 0;
	return unlock_and_tell(mutex, __builtin_return_address(0), __builtin_dwarf_cfa());
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	look_before_lock();
	int result = trial()->pthread_rwlock_tryrdlock(lock);
	if (result != EBUSY)
		return acquired_shared(SYNC_RWLOCK, lock, result, CALLER);
	WAIT_SHARED(SYNC_RWLOCK, lock);
	return waited(&wait_, real()->pthread_rwlock_rdlock(lock));
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	look_before_lock();
	int result = trial()->pthread_rwlock_trywrlock(lock);
	if (result != EBUSY)
		return acquired(SYNC_RWLOCK, lock, result, CALLER);
	WAIT(SYNC_RWLOCK, lock);
	return waited(&wait_, real()->pthread_rwlock_wrlock(lock));
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *deadline)
{
	if (!is_deadline(CLOCK_REALTIME, deadline))
		return real()->pthread_rwlock_timedrdlock(lock, deadline);
	int result = trial()->pthread_rwlock_tryrdlock(lock);
	if (result != EBUSY)
		return acquired_shared(SYNC_RWLOCK, lock, result, CALLER);
	WAIT_SHARED(SYNC_RWLOCK, lock);
	return waited(&wait_, real()->pthread_rwlock_timedrdlock(lock, deadline));
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *deadline)
{
	if (!is_deadline(CLOCK_REALTIME, deadline))
		return real()->pthread_rwlock_timedwrlock(lock, deadline);
	int result = trial()->pthread_rwlock_trywrlock(lock);
	if (result != EBUSY)
		return acquired(SYNC_RWLOCK, lock, result, CALLER);
	WAIT(SYNC_RWLOCK, lock);
	return waited(&wait_, real()->pthread_rwlock_timedwrlock(lock, deadline));
}

EXPORT int pthread_rwlock_clockrdlock(
	pthread_rwlock_t *lock, clockid_t clock, const struct timespec *deadline)
{
	if (!is_deadline(clock, deadline))
		return real()->pthread_rwlock_clockrdlock(lock, clock, deadline);
	int result = trial()->pthread_rwlock_tryrdlock(lock);
	if (result != EBUSY)
		return acquired_shared(SYNC_RWLOCK, lock, result, CALLER);
	WAIT_SHARED(SYNC_RWLOCK, lock);
	return waited(&wait_, real()->pthread_rwlock_clockrdlock(lock, clock, deadline));
}

EXPORT int pthread_rwlock_clockwrlock(
	pthread_rwlock_t *lock, clockid_t clock, const struct timespec *deadline)
{
	if (!is_deadline(clock, deadline))
		return real()->pthread_rwlock_clockwrlock(lock, clock, deadline);
	int result = trial()->pthread_rwlock_trywrlock(lock);
	if (result != EBUSY)
		return acquired(SYNC_RWLOCK, lock, result, CALLER);
	WAIT(SYNC_RWLOCK, lock);
	return waited(&wait_, real()->pthread_rwlock_clockwrlock(lock, clock, deadline));
}

EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	int result = trial()->pthread_rwlock_tryrdlock(lock);
	if (result == EBUSY && is_tracing())
		try_failed(SYNC_RWLOCK, lock, CALLER);
	return acquired_shared(SYNC_RWLOCK, lock, result, CALLER);
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	int result = trial()->pthread_rwlock_trywrlock(lock);
	if (result == EBUSY && is_tracing())
		try_failed(SYNC_RWLOCK, lock, CALLER);
	return acquired(SYNC_RWLOCK, lock, result, CALLER);
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	uint64_t time_ns = releases(lock);
	int result = real()->pthread_rwlock_unlock(lock);
	return released(SYNC_RWLOCK, lock, 0, time_ns, result, CALLER);
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	look_before_lock();
	if (__builtin_expect(trial()->pthread_spin_trylock(lock) == 0, 1))
		return acquired(SYNC_SPIN, (const void *)lock, 0, CALLER);
	WAIT(SYNC_SPIN, (const void *)lock);
	return waited(&wait_, real()->pthread_spin_lock(lock));
}

EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	int result = trial()->pthread_spin_trylock(lock);
	if (result == EBUSY)
		try_failed(SYNC_SPIN, (const void *)lock, CALLER);
	else
		try_succeeded((const void *)lock);
	return acquired(SYNC_SPIN, (const void *)lock, result, CALLER);
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	uint64_t time_ns = releases((const void *)lock);
	int result = real()->pthread_spin_unlock(lock);
	return released(SYNC_SPIN, (const void *)lock, 0, time_ns, result, CALLER);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	WAIT(SYNC_BARRIER, barrier);
	int result = real()->pthread_barrier_wait(barrier);
	/* The C library gives this result to the last to arrive, who waits for nobody. */
	if (result == PTHREAD_BARRIER_SERIAL_THREAD)
		wait_discard(&wait_);
	return result;
}

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	WAIT_COND(cond, mutex);
	return waited(&wait_, real()->pthread_cond_wait(cond, mutex));
}

EXPORT int pthread_cond_timedwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *deadline)
{
	WAIT_COND(cond, mutex);
	return waited(&wait_, real()->pthread_cond_timedwait(cond, mutex, deadline));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
	const struct timespec *deadline)
{
	WAIT_COND(cond, mutex);
	return waited(&wait_, real()->pthread_cond_clockwait(cond, mutex, clock, deadline));
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	uint64_t time_ns = wakes(cond, 1);
	int result = real()->pthread_cond_signal(cond);
	return released(SYNC_COND, cond, 0, time_ns, result, CALLER);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	uint64_t time_ns = wakes(cond, WAKE_ALL);
	int result = real()->pthread_cond_broadcast(cond);
	return released(SYNC_COND, cond, RELEASE_ALL, time_ns, result, CALLER);
}

#define JOIN(thread, call)                                                                         \
	int result = real()->pthread_tryjoin_np(thread, ret);                                      \
	if (result == EBUSY) {                                                                     \
		WAIT(SYNC_JOIN, (const void *)thread);                                             \
		result = waited(&wait_, real()->call);                                             \
	}                                                                                          \
	return joined((const void *)thread, result)

EXPORT int pthread_join(pthread_t thread, void **ret)
{
	JOIN(thread, pthread_join(thread, ret));
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *deadline)
{
	JOIN(thread, pthread_timedjoin_np(thread, ret, deadline));
}

EXPORT int pthread_clockjoin_np(
	pthread_t thread, void **ret, clockid_t clock, const struct timespec *deadline)
{
	if (!is_clock(clock))
		return real()->pthread_clockjoin_np(thread, ret, clock, deadline);
	JOIN(thread, pthread_clockjoin_np(thread, ret, clock, deadline));
}
