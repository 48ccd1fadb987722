/* SPDX-License-Identifier: MIT */
#include "profiled_mutex.h"

/* Code that is no longer than that stays within one page. */
#define IN_ONE_PAGE __attribute__((aligned(1024)))

/* Neither in this library nor in a wait, and with room for a row. */
static inline bool is_at_work(void)
{
	return self.budget.owner != 0 && !self.budget.is_on && !self.is_busy && !self.current &&
	       self.state == THREAD_RECORDING && self.trying == TRY_NONE &&
	       lane_has_room(&self.lane, ROW) && *own_process;
}

/* The library's own instructions are not counted: there is nothing to pause. */
static inline void put_counted(
	uint64_t time_ns, enum trace_kind kind, const pthread_mutex_t *mutex, const void *site)
{
	self.is_busy = true;
	put(time_ns, head_of(kind, SYNC_LOCK, 0), (uintptr_t)mutex, site, 0);
	profile_set_stretch(self.slot, self.stretch);
	self.is_busy = false;
}

IN_ONE_PAGE bool profiled_mutex_take(pthread_mutex_t *mutex, const void *caller)
{
	if (!plain_mutex_is(mutex) || !is_at_work() || !plain_mutex_take(mutex, self.budget.owner))
		return false;
	put_counted(now(), TRACE_PASS, mutex, caller);
	return true;
}

IN_ONE_PAGE bool profiled_mutex_give(pthread_mutex_t *mutex, const void *caller)
{
	if (!plain_mutex_is(mutex) || !is_at_work())
		return false;
	uint64_t time_ns = now();
	if (!plain_mutex_give(mutex))
		return false;
	put_counted(time_ns, TRACE_RELEASE, mutex, caller);
	return true;
}
