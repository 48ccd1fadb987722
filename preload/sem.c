/* SPDX-License-Identifier: MIT */
/*
 * Semaphores: tried first, as in pthread.c. A wait is a cancellation point even when it need not
 * wait, a try is not: hence the test before it.
 */
#include "clock.h"
#include "real.h"
#include "sink.h"
#include "traced_thread.h"

#include <errno.h>

/* Who counts what was posted and taken must not find it taken first. */
static int in_order(int result)
{
	clock_order();
	return result;
}

/* True if the semaphore was taken. A failed try leaves errno as it was. */
static bool take(sem_t *sem)
{
	int kept = errno;
	pthread_testcancel();
	if (in_order(trial()->sem_trywait(sem)) == 0)
		return true;
	errno = kept;
	return false;
}

EXPORT int sem_wait(sem_t *sem)
{
	look_before_lock();
	if (take(sem))
		return acquired(SYNC_SEM, sem, 0, CALLER);
	WAIT(SYNC_SEM, sem);
	return waited(&wait_, in_order(real()->sem_wait(sem)));
}

EXPORT int sem_timedwait(sem_t *sem, const struct timespec *deadline)
{
	if (!is_deadline(CLOCK_REALTIME, deadline))
		return real()->sem_timedwait(sem, deadline);
	if (take(sem))
		return acquired(SYNC_SEM, sem, 0, CALLER);
	WAIT(SYNC_SEM, sem);
	return waited(&wait_, in_order(real()->sem_timedwait(sem, deadline)));
}

EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *deadline)
{
	if (!is_deadline(clock, deadline))
		return real()->sem_clockwait(sem, clock, deadline);
	if (take(sem))
		return acquired(SYNC_SEM, sem, 0, CALLER);
	WAIT(SYNC_SEM, sem);
	return waited(&wait_, in_order(real()->sem_clockwait(sem, clock, deadline)));
}

EXPORT int sem_trywait(sem_t *sem)
{
	int result = in_order(real()->sem_trywait(sem));
	if (result == 0)
		return acquired(SYNC_SEM, sem, 0, CALLER);
	if (errno == EAGAIN && is_tracing()) {
		try_failed(SYNC_SEM, sem, CALLER);
		errno = EAGAIN;
	}
	return result;
}

EXPORT int sem_post(sem_t *sem)
{
	uint64_t time_ns = releases(sem);
	int result = real()->sem_post(sem);
	return released(SYNC_SEM, sem, 0, time_ns, result, CALLER);
}
