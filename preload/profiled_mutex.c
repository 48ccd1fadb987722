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

/* In the row that tells of its taking, if that is the last one. A kill between the two stores leaves it given back at once. */
static inline bool put_in_last(uint64_t time_ns, const pthread_mutex_t *mutex, const void *site)
{
	struct trace_record *row = self.held;
	if (!row || row->object != (uintptr_t)mutex || row->what != TRACE_MUTEX)
		return false;
	if (time_ns < self.lane.last_ns)
		time_ns = self.lane.last_ns;
	uint64_t took_ns = time_ns - row->time_ns, counted = row_cpu_ns(time_ns) - row->cpu_ns;
	int64_t sites = (int64_t)((uintptr_t)site - row->site);
	if (!trace_can_be_taken(took_ns, counted, sites))
		return false;
	__atomic_store_n(&row->flags, row->flags | TRACE_BOTH, __ATOMIC_RELEASE);
	__atomic_store_n(&row->value, trace_taken(took_ns, counted, sites), __ATOMIC_RELEASE);
	self.lane.last_ns = time_ns;
	self.held = NULL;
	self.stretch = profile_stretch(TRACE_RELEASE, TRACE_MUTEX, (uintptr_t)site);
	return true;
}

static inline struct trace_record *put_row(
	uint64_t time_ns, enum trace_kind kind, const pthread_mutex_t *mutex, const void *site)
{
	return put(time_ns, head_of(kind, SYNC_LOCK, 0), (uintptr_t)mutex, site, 0);
}

/* Apart: its code is rarely needed, and long. */
static __attribute__((noinline)) void put_release(
	uint64_t time_ns, const pthread_mutex_t *mutex, const void *site)
{
	(void)put_row(time_ns, TRACE_RELEASE, mutex, site); /* counts what it loses */
}

/* The library's own instructions are not counted: there is nothing that was paused. */
static inline void go_on(void)
{
	profile_set_stretch(self.slot, self.stretch);
	self.is_busy = false;
}

IN_ONE_PAGE bool profiled_mutex_take(pthread_mutex_t *mutex, const void *caller)
{
	if (!plain_mutex_is(mutex) || !is_at_work() || !plain_mutex_take(mutex, self.budget.owner))
		return false;
	self.is_busy = true;
	self.held = put_row(now(), TRACE_PASS, mutex, caller);
	go_on();
	return true;
}

IN_ONE_PAGE bool profiled_mutex_give(pthread_mutex_t *mutex, const void *caller)
{
	if (!plain_mutex_is(mutex) || !is_at_work())
		return false;
	uint64_t time_ns = now();
	if (!plain_mutex_give(mutex))
		return false;
	self.is_busy = true;
	if (!put_in_last(time_ns, mutex, caller))
		put_release(time_ns, mutex, caller);
	go_on();
	return true;
}
