/* SPDX-License-Identifier: MIT */
/* Where objects are made: who has no name is called after that. Objects that are made statically do not
 * come by here, but have names. */
#include "real.h"
#include "stack.h"
#include "trace.h"
#include "traced_thread.h"

#include <errno.h>

enum {
	FRAMES_MAX = 8, /* as far as a lock is likely to be from who hands it on */
	NEAR_BYTES = 1 << 20, /* what lies so much above this frame may be on the same stack */
};

/* The unwinder knows nothing of errno. */
void trace_frames(const void *caller)
{
	const void *here = __builtin_frame_address(0);
	if (self.frames_caller == caller && self.frames_at == here)
		return;
	int kept = errno;
	struct stack_frame frames[FRAMES_MAX];
	if (!enter())
		return;
	size_t count = stack_frames(caller, frames, FRAMES_MAX);
	for (size_t i = 0; i < count; i++)
		put(now(), (struct head){ TRACE_FRAME, TRACE_WHAT_NONE, 0 }, frames[i].begin,
			frames[i].site, frames[i].end);
	self.frames_caller = caller;
	self.frames_at = here;
	leave();
	errno = kept;
}

void trace_init(uint32_t kind, const void *object, uint64_t value, const void *caller)
{
	const char *here = __builtin_frame_address(0);
	if (is_parked() || !enter())
		return;
	put(now(), head_of(TRACE_INIT, kind, 0), (uintptr_t)object, caller, value);
	leave();
	if ((uintptr_t)object - (uintptr_t)here < NEAR_BYTES)
		trace_frames(caller);
}

static int made(uint32_t kind, const void *object, int result, const void *caller)
{
	if (is_tracing() && result == 0)
		trace_init(kind, object, 0, caller);
	return result;
}

EXPORT int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
	int result = real()->pthread_mutex_init(mutex, attributes);
	return made(SYNC_LOCK, mutex, result, CALLER);
}

EXPORT int pthread_rwlock_init(
	pthread_rwlock_t *restrict lock, const pthread_rwlockattr_t *restrict attributes)
{
	int result = real()->pthread_rwlock_init(lock, attributes);
	return made(SYNC_RWLOCK, lock, result, CALLER);
}

EXPORT int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
	int result = real()->pthread_spin_init(lock, shared);
	return made(SYNC_SPIN, (const void *)lock, result, CALLER);
}

EXPORT int pthread_barrier_init(pthread_barrier_t *restrict barrier,
	const pthread_barrierattr_t *restrict attributes, unsigned count)
{
	int result = real()->pthread_barrier_init(barrier, attributes, count);
	if (is_tracing() && result == 0)
		wake_parties(barrier, count);
	return made(SYNC_BARRIER, barrier, result, CALLER);
}

EXPORT int pthread_cond_init(
	pthread_cond_t *restrict cond, const pthread_condattr_t *restrict attributes)
{
	int result = real()->pthread_cond_init(cond, attributes);
	return made(SYNC_COND, cond, result, CALLER);
}

EXPORT int sem_init(sem_t *sem, int shared, unsigned value)
{
	int result = real()->sem_init(sem, shared, value);
	if (is_tracing() && result == 0)
		trace_init(SYNC_SEM, sem, (uint64_t)value + 1, CALLER);
	return result;
}

EXPORT int mtx_init(mtx_t *mutex, int type)
{
	int result = real()->mtx_init(mutex, type);
	return made(SYNC_LOCK, mutex, result, CALLER);
}

EXPORT int cnd_init(cnd_t *cond)
{
	int result = real()->cnd_init(cond);
	return made(SYNC_COND, cond, result, CALLER);
}
