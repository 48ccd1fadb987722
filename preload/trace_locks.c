/* SPDX-License-Identifier: MIT */
/* What a trace shows of acquiring and releasing without a wait, of loops of tries, and marks. */
#include "traced_thread.h"

/* CPU time since the last failed try, if that was for the same object: the rest is preemption. */
static bool is_tried_again(const void *object, uint64_t time_ns)
{
	return self.trying != TRY_NONE && self.tried == object &&
	       cpu_clock_at(&self.cpu, time_ns) - self.tried_cpu_ns < TRY_GAP_CPU_NS;
}

static bool is_place(uint32_t kind, const void *object, const void *caller)
{
	return kind == SYNC_SPIN && object == caller;
}

void trace_try_failed(uint32_t kind, const void *object, const void *caller)
{
	uint64_t time_ns = now();
	bool is_again = is_tried_again(object, time_ns);
	if (is_again && self.trying == TRY_WAITS) {
		self.tried_ns = time_ns;
		self.tried_cpu_ns = self.cpu.cpu_ns;
		return;
	}
	/* Who calls again has waited from the first time on; a lock that is tried once is often done without. */
	uint64_t since_ns = is_again && is_place(kind, object, caller) ? self.tried_ns : time_ns;
	char frame = 0;
	if (!enter())
		return;
	if (!is_nested(&frame)) {
		if (self.budget.held_count > 0)
			budget_tell_held();
		put(since_ns, head_of(is_again ? TRACE_WAIT : TRACE_TRY_FAILED, kind, 0),
			(uintptr_t)object, caller, 0);
		self.trying = is_again ? TRY_WAITS : TRY_ONCE;
		self.tried = object;
		self.tried_ns = time_ns;
		self.tried_cpu_ns = self.cpu.cpu_ns;
		self.tried_kind = kind;
		self.tried_by = caller;
	}
	leave();
}

/* A profile has each: what a thread executes between two of them is work, and who gets the core is for a prediction to say. */
static void put_yield(const void *caller)
{
	char frame = 0;
	if (!enter())
		return;
	if (!is_nested(&frame))
		put(now(), head_of(TRACE_TRY_FAILED, SYNC_SPIN, 0), (uintptr_t)caller, caller, 0);
	leave();
}

void trace_yields(const void *caller)
{
	bool is_part = self.trying != TRY_NONE && self.tried != caller &&
		       is_tried_again(self.tried, now());
	if (is_part || self.hides_yields)
		return;
	if (self.slot)
		put_yield(caller);
	else
		trace_try_failed(SYNC_SPIN, caller, caller);
}

void trace_hide_yields(bool hides)
{
	self.hides_yields = hides;
}

void trace_yielded(void)
{
	if (self.trying == TRY_WAITS)
		self.tried_ns = now();
}

/* Acquiring and releasing without a wait. */

/* The lock that a loop of tries waited for. */
static void put_tried(struct head head, uint64_t time_ns, const void *caller)
{
	struct wake wake = wake_find(self.tried);
	head.flags |= TRACE_WAITED;
	put(time_ns, head, (uintptr_t)self.tried, caller,
		trace_since(time_ns, within(wake.time_ns, self.tried_ns, time_ns), wake.tid));
}

void trace_acquired(uint32_t kind, const void *object, uint32_t flags, const void *caller)
{
	char frame = 0;
	uint64_t time_ns = now();
	struct head head = head_of(TRACE_PASS, kind, flags);
	bool was_tried = self.trying == TRY_WAITS && self.tried == object;
	if (__builtin_expect(was_tried, 0))
		self.trying = TRY_NONE;
	if (!enter())
		return;
	if (__builtin_expect(was_tried, 0))
		put_tried(head, time_ns, caller);
	else if (!is_nested(&frame))
		put_often(time_ns, head, (uintptr_t)object, caller);
	leave_lock(head);
}

uint64_t trace_now(void)
{
	profiled_pause();
	return now();
}

/* Its CPU time now: who gives a lock back to others may lose its core to them before it is recorded. */
static inline uint64_t look_at_clocks(void)
{
	profiled_pause();
	uint64_t time_ns = now();
	if (self.state == THREAD_RECORDING && !self.is_busy)
		cpu_clock_before(&self.cpu, time_ns);
	return time_ns;
}

uint64_t trace_releases(const void *object)
{
	uint64_t time_ns = look_at_clocks();
	wake_note(object, time_ns, self.tid);
	if (__builtin_expect(self.own.turn == 1, 0))
		self.own.before_ns = clock_ns() - time_ns;
	return time_ns;
}

uint64_t trace_wakes(const void *object, int count)
{
	uint64_t time_ns = look_at_clocks();
	wake_signal(object, time_ns, self.tid, count);
	return time_ns;
}

void trace_released(
	uint32_t kind, const void *object, uint32_t flags, uint64_t time_ns, const void *caller)
{
	if (!enter())
		return;
	/*
	 * In a handler that interrupted a wait: locks are its own affair, wake-ups are not. Those of
	 * an OpenMP runtime that waits are part of that.
	 */
	char frame = 0;
	cpu_clock_after(&self.cpu, time_ns);
	if (__builtin_expect(self.look.object == object, 0))
		callers_gave(&self.look, caller);
	struct head head = head_of(TRACE_RELEASE, kind, flags);
	bool wakes = kind == SYNC_COND || kind == SYNC_SEM;
	if (wakes ? !is_parked() : !is_nested(&frame) && !join_held(head, object, time_ns))
		put_often(time_ns, head, (uintptr_t)object, caller);
	leave_lock(head);
}

void trace_request(
	enum trace_kind kind, int fd, uint32_t number, uint32_t flags, const void *caller)
{
	if (!enter())
		return;
	self.budget.marks++;
	put(now(), (struct head){ (uint8_t)kind, TRACE_IO, (uint16_t)flags }, (uint64_t)fd, caller,
		number);
	leave();
}

void trace_mark_past(uint64_t time_ns, enum trace_kind kind, enum trace_what what, uint64_t object,
	uint64_t value, const void *caller)
{
	if (!enter())
		return;
	self.budget.marks++;
	put(time_ns, (struct head){ (uint8_t)kind, (uint8_t)what, 0 }, object, caller, value);
	leave();
}

void trace_mark(enum trace_kind kind, enum trace_what what, uint64_t object, uint64_t value,
	const void *caller)
{
	trace_mark_past(now(), kind, what, object, value, caller);
}
