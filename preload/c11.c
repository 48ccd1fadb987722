/* SPDX-License-Identifier: MIT */
/* C11 threads: the C library implements them beside POSIX threads, not by calling them. */
#include "real.h"
#include "sink.h"
#include "traced_thread.h"

EXPORT int mtx_lock(mtx_t *mutex)
{
	look_before_lock();
	int result = trial()->mtx_trylock(mutex);
	if (result != thrd_busy)
		return acquired(SYNC_LOCK, mutex, result, CALLER);
	WAIT(SYNC_LOCK, mutex);
	return waited(&wait_, real()->mtx_lock(mutex));
}

EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict deadline)
{
	int result = trial()->mtx_trylock(mutex);
	if (result != thrd_busy)
		return acquired(SYNC_LOCK, mutex, result, CALLER);
	WAIT(SYNC_LOCK, mutex);
	return waited(&wait_, real()->mtx_timedlock(mutex, deadline));
}

EXPORT int mtx_trylock(mtx_t *mutex)
{
	int result = trial()->mtx_trylock(mutex);
	if (result == thrd_busy)
		try_failed(SYNC_LOCK, mutex, CALLER);
	else
		try_succeeded(mutex);
	return acquired(SYNC_LOCK, mutex, result, CALLER);
}

EXPORT int mtx_unlock(mtx_t *mutex)
{
	uint64_t time_ns = releases(mutex);
	int result = real()->mtx_unlock(mutex);
	return released(SYNC_LOCK, mutex, 0, time_ns, result, CALLER);
}

EXPORT int cnd_signal(cnd_t *cond)
{
	uint64_t time_ns = wakes(cond, 1);
	int result = real()->cnd_signal(cond);
	return released(SYNC_COND, cond, 0, time_ns, result, CALLER);
}

EXPORT int cnd_broadcast(cnd_t *cond)
{
	uint64_t time_ns = wakes(cond, WAKE_ALL);
	int result = real()->cnd_broadcast(cond);
	return released(SYNC_COND, cond, RELEASE_ALL, time_ns, result, CALLER);
}

EXPORT int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	WAIT_COND(cond, mutex);
	return waited(&wait_, real()->cnd_wait(cond, mutex));
}

EXPORT int cnd_timedwait(
	cnd_t *restrict cond, mtx_t *restrict mutex, const struct timespec *restrict deadline)
{
	WAIT_COND(cond, mutex);
	return waited(&wait_, real()->cnd_timedwait(cond, mutex, deadline));
}

EXPORT int thrd_join(thrd_t thread, int *ret)
{
	int result;
	{
		WAIT(SYNC_JOIN, (const void *)thread);
		result = waited(&wait_, real()->thrd_join(thread, ret));
	}
	return joined((const void *)thread, result);
}
