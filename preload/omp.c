/* SPDX-License-Identifier: MIT */
/*
 * GCC's OpenMP: waits in explicit barriers and at the ends of loops and sections, of parallel
 * regions, in locks and in critical sections. Its runtime waits by futex and by spinning, which
 * only its entry points show.
 *
 * At the end of a parallel region the threads wait inside the runtime, not in a call of theirs. The
 * region's body is therefore wrapped: each thread notes when it was through, and when the runtime
 * returns to the one who opened the region, all of them have waited until now.
 */
#include "omp.h"

#include "gomp.h"
#include "trace.h"
#include "tuned.h"

#include <string.h>

enum {
	TASK_BYTES = 1024, /* larger tasks are not wrapped */
	TASK_ALIGN = 64,
	TASK_DETACHED =
		1 << 13, /* GOMP_TASK_FLAG_DETACH: the runtime writes into the task's data */
};

struct region {
	gomp_body *body;
	void *data;
	uint64_t threads;
	uint64_t ended_ns; /* summed over threads; differences survive its wrapping around */
	/* For a trace: what lets its threads go, at its start, at a barrier and at its end. */
	struct birth opened;
	const void *caller;
	uint64_t step; /* of the loop that it is; 0: it is none */
	struct tuned_body *tuned;
	uint64_t arrivals;
	uint64_t round_place; /* the last arrival of the last barrier that is complete */
	struct birth round;
	struct birth last; /* who ended last */
};

bool omp_has_regions;
__thread bool omp_is_waiting;

/* The body of a region or task that this thread runs. */
static __thread gomp_body *running_body __attribute__((tls_model("initial-exec")));

/* Where the linker put this library. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/*
 * A body that ends with a barrier jumps there, and the return address is ours, where we called the
 * body. The first byte of the body stands for its call then.
 */
const void *omp_caller(const void *caller)
{
	bool is_ours = (const char *)caller >= __ehdr_start && (const char *)caller < etext;
	return is_ours && running_body ? (const char *)(uintptr_t)running_body + 1 : caller;
}

/*
 * Tasks run while their threads wait in barriers. Those that cannot be wrapped would be taken for
 * waiting: once there is one, waits in which tasks may run are not counted any more.
 */
static bool has_hidden_tasks;

static void hide_tasks(void)
{
	__atomic_store_n(&has_hidden_tasks, true, __ATOMIC_RELAXED);
}

static bool shows_tasks(void)
{
	return !__atomic_load_n(&has_hidden_tasks, __ATOMIC_RELAXED);
}

/* Parallel regions. */

/* The region whose body this thread has finished, while it waits for the others. */
static __thread struct region *ended_region __attribute__((tls_model("initial-exec")));

/* The region whose body this thread runs. */
static __thread struct region *running_region __attribute__((tls_model("initial-exec")));

/* In a trace the threads of a team wait from the end of one region to the start of the next. */
static void park(struct region *region)
{
	region->last = trace_park(SYNC_OMP, (const void *)(uintptr_t)region->body,
		omp_take_handed_out(), region->caller);
}

static void run_region(void *argument)
{
	struct region *region = argument;
	gomp_body *outer = running_body;
	struct region *outer_region = running_region;
	if (is_tracing())
		trace_unpark(region->opened);
	profiled_resume();
	ended_region = NULL;
	running_body = region->body;
	running_region = region;
	(void)omp_take_handed_out(); /* of before */
	uint64_t outer_step = omp_begin_loop(region->step);
	unsigned outer_seen = tuned_enter();
	region->body(region->data);
	tuned_leave(region->tuned, outer_seen);
	running_body = outer;
	running_region = outer_region;
	(void)omp_begin_loop(outer_step); /* of this region's loop nothing is left */
	if (sink_mode == SINK_OFF) /* a program that is only tuned does not pay for the clock */
		return;
	if (is_tracing())
		park(region);
	__atomic_add_fetch(&region->ended_ns, clock_ns(), __ATOMIC_RELAXED);
	__atomic_add_fetch(&region->threads, 1, __ATOMIC_RELAXED);
	ended_region = region;
}

static void open_region(struct region *region, const void *caller)
{
	if (!omp_has_regions) /* all threads read it */
		omp_has_regions = true;
	region->caller = caller;
	if (is_tracing())
		region->opened = trace_birth();
	profiled_pause(); /* what the runtime does */
}

static void end_region(const struct region *region, const void *caller)
{
	ended_region = NULL;
	tuned_region_ended();
	if (sink_mode == SINK_OFF)
		return;
	if (is_tracing())
		trace_unpark(region->last);
	uint64_t wait_ns = region->threads * clock_ns() - region->ended_ns;
	if (region->threads > 1 && shows_tasks())
		wait_add(SYNC_OMP, region->threads, wait_ns, caller);
}

/* What a program asks of how many threads there are says what its regions rely on. Fortran's names end with a line. */

EXPORT int omp_get_max_threads(void)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	tuned_was_asked();
	if (ompt_has_default())
		return (int)ompt_default();
	return gomp->omp_get_max_threads ? gomp->omp_get_max_threads() : 1;
}

EXPORT void omp_set_num_threads(int threads)
{
	gomp_find(OMP_CALLER)->omp_set_num_threads(threads);
	ompt_default_set();
}

EXPORT int omp_get_num_threads(void)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	tuned_saw(TUNED_COUNTS);
	return gomp->omp_get_num_threads ? gomp->omp_get_num_threads() : 1;
}

EXPORT int omp_get_thread_num(void)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	tuned_saw(TUNED_NUMBERS);
	return gomp->omp_get_thread_num ? gomp->omp_get_thread_num() : 0;
}

EXPORT __typeof__(omp_get_max_threads) omp_get_max_threads_
	__attribute__((alias("omp_get_max_threads")));
EXPORT __typeof__(omp_get_num_threads) omp_get_num_threads_
	__attribute__((alias("omp_get_num_threads")));
EXPORT __typeof__(omp_get_thread_num) omp_get_thread_num_
	__attribute__((alias("omp_get_thread_num")));

/* How many threads the region gets; 0: as many as the runtime likes. */
static unsigned threads_of(
	struct region *region, unsigned asked, unsigned seen, const struct gomp *gomp)
{
	if (!tuned_is_on() || !gomp->omp_get_max_threads)
		return asked;
	region->tuned = tuned_find((const void *)(uintptr_t)region->body);
	return tuned_threads(region->tuned, seen, asked, (unsigned)gomp->omp_get_max_threads());
}

EXPORT void GOMP_parallel(gomp_body *body, void *data, unsigned threads, unsigned flags)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	struct region region = { body, data };
	open_region(&region, OMP_CALLER);
	threads = threads_of(&region, threads, 0, gomp);
	gomp->GOMP_parallel(run_region, &region, threads, flags);
	end_region(&region, OMP_CALLER);
}

EXPORT void GOMP_parallel_sections(
	gomp_body *body, void *data, unsigned threads, unsigned count, unsigned flags)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	struct region region = { body, data };
	open_region(&region, OMP_CALLER);
	threads = threads_of(&region, threads, TUNED_DIVIDES, gomp);
	gomp->GOMP_parallel_sections(run_region, &region, threads, count, flags);
	end_region(&region, OMP_CALLER);
}

#define PARALLEL_LOOP(name)                                                                        \
	EXPORT void name(gomp_body *body, void *data, unsigned threads, long start, long end,      \
		long step, long chunk, unsigned flags)                                             \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		struct region region = { body, data, .step = omp_step_size(step) };                \
		open_region(&region, OMP_CALLER);                                                  \
		threads = threads_of(&region, threads, TUNED_DIVIDES, gomp);                       \
		gomp->name(run_region, &region, threads, start, end, step, chunk, flags);          \
		end_region(&region, OMP_CALLER);                                                   \
	}

PARALLEL_LOOP(GOMP_parallel_loop_static)
PARALLEL_LOOP(GOMP_parallel_loop_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_guided)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define PARALLEL_RUNTIME_LOOP(name)                                                                \
	EXPORT void name(gomp_body *body, void *data, unsigned threads, long start, long end,      \
		long step, unsigned flags)                                                         \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		struct region region = { body, data };                                             \
		open_region(&region, OMP_CALLER);                                                  \
		threads = threads_of(&region, threads, TUNED_DIVIDES, gomp);                       \
		gomp->name(run_region, &region, threads, start, end, step, flags);                 \
		end_region(&region, OMP_CALLER);                                                   \
	}

PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_runtime)
PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

/* Barriers, and what ends with one. */

/* In a trace, who arrives last lets the others go: the first of a round to see that says when. */
static void arrive(struct wait *wait, struct region *region, const struct gomp *gomp)
{
	uint64_t team = gomp->omp_get_num_threads ? (uint64_t)gomp->omp_get_num_threads() : 0;
	wait->place = __atomic_add_fetch(&region->arrivals, 1, __ATOMIC_ACQ_REL);
	if (team == 0 || wait->place % team != 0)
		return;
	region->round = (struct birth){ wait->start_ns, trace_own_tid() };
	__atomic_store_n(&region->round_place, wait->place, __ATOMIC_RELEASE);
}

static void leave_round(struct wait *wait, const struct region *region)
{
	if (__atomic_load_n(&region->round_place, __ATOMIC_ACQUIRE) < wait->place)
		return;
	wait->woken_ns = region->round.time_ns;
	wait->woken_by = region->round.parent;
}

static void begin(struct wait *wait, const void *caller)
{
	wait_begin(wait, SYNC_OMP, (const void *)(uintptr_t)running_body, caller);
	wait->shortest_ns = OMP_NOTICEABLE_NS;
}

/* Tasks that cannot be seen run while the thread seems to wait. */
static void end(struct wait *wait)
{
	if (!shows_tasks() && !is_tracing())
		wait_discard(wait);
}

static void wait_in(void (*entry)(void), const void *caller)
{
	__attribute__((cleanup(wait_end))) struct wait wait;
	begin(&wait, caller);
	entry();
	end(&wait);
}

static void meet_in(void (*entry)(void), const struct gomp *gomp, const void *caller)
{
	__attribute__((cleanup(wait_end))) struct wait wait;
	struct region *region = is_tracing() ? running_region : NULL;
	begin(&wait, caller);
	uint64_t value = omp_take_handed_out();
	if (region) {
		trace_wait_tell(&wait, value);
		arrive(&wait, region, gomp);
	}
	entry();
	if (region)
		leave_round(&wait, region);
	end(&wait);
}

static bool wait_in_cancellable(bool (*entry)(void), const void *caller)
{
	__attribute__((cleanup(wait_end))) struct wait wait;
	begin(&wait, caller);
	bool is_cancelled = entry();
	end(&wait);
	return is_cancelled;
}

EXPORT void GOMP_barrier(void)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	meet_in(gomp->GOMP_barrier, gomp, OMP_CALLER);
}

EXPORT void GOMP_loop_end(void)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	meet_in(gomp->GOMP_loop_end, gomp, OMP_CALLER);
}

EXPORT void GOMP_sections_end(void)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	meet_in(gomp->GOMP_sections_end, gomp, OMP_CALLER);
}

EXPORT void GOMP_taskwait(void)
{
	wait_in(gomp_find(OMP_CALLER)->GOMP_taskwait, OMP_CALLER);
}

EXPORT void GOMP_taskgroup_end(void)
{
	wait_in(gomp_find(OMP_CALLER)->GOMP_taskgroup_end, OMP_CALLER);
}

EXPORT bool GOMP_barrier_cancel(void)
{
	return wait_in_cancellable(gomp_find(OMP_CALLER)->GOMP_barrier_cancel, OMP_CALLER);
}

EXPORT bool GOMP_loop_end_cancel(void)
{
	return wait_in_cancellable(gomp_find(OMP_CALLER)->GOMP_loop_end_cancel, OMP_CALLER);
}

EXPORT bool GOMP_sections_end_cancel(void)
{
	return wait_in_cancellable(gomp_find(OMP_CALLER)->GOMP_sections_end_cancel, OMP_CALLER);
}

/* Critical sections cannot be tried: two readings of the clock each. */

/* A program that is only tuned does not pay for two looks at the clock. */
uint64_t omp_asks(void)
{
	if (sink_mode == SINK_OFF)
		return 0;
	trace_hide_yields(true);
	return is_tracing() ? trace_asks() : clock_ns();
}

void omp_entered(const void *lock, uint64_t start_ns, uint32_t flags, const void *caller)
{
	if (sink_mode == SINK_OFF)
		return;
	trace_hide_yields(false);
	uint64_t end_ns = clock_ns();
	bool has_waited = end_ns - start_ns >= OMP_NOTICEABLE_NS;
	if (is_tracing() && has_waited)
		trace_wait_past(SINK_OMP_LOCK, lock, flags, start_ns, end_ns, caller);
	else if (is_tracing())
		trace_acquired(SINK_OMP_LOCK, lock, flags, caller);
	else if (has_waited)
		wait_add(SYNC_OMP, 1, end_ns - start_ns, caller);
}

/* All critical sections without a name share one lock; so do the runtime's own atomics. */
static const char unnamed_critical, atomics;

static void enter_section(void (*entry)(void), const void *lock, uint32_t flags, const void *caller)
{
	profiled_pause();
	uint64_t start_ns = omp_asks();
	entry();
	omp_entered(lock, start_ns, flags, caller);
}

static void leave_section(void (*leave)(void), const void *lock, const void *caller)
{
	uint64_t time_ns = releases(lock);
	leave();
	(void)released(SINK_OMP_LOCK, lock, 0, time_ns, 0, caller);
}

EXPORT void GOMP_critical_start(void)
{
	enter_section(gomp_find(OMP_CALLER)->GOMP_critical_start, &unnamed_critical, 0, OMP_CALLER);
}

EXPORT void GOMP_critical_end(void)
{
	leave_section(gomp_find(OMP_CALLER)->GOMP_critical_end, &unnamed_critical, OMP_CALLER);
}

EXPORT void GOMP_critical_name_start(void **lock)
{
	profiled_pause();
	uint64_t start_ns = omp_asks();
	gomp_find(OMP_CALLER)->GOMP_critical_name_start(lock);
	omp_entered((const void *)lock, start_ns, 0, OMP_CALLER);
}

EXPORT void GOMP_critical_name_end(void **lock)
{
	uint64_t time_ns = releases((const void *)lock);
	gomp_find(OMP_CALLER)->GOMP_critical_name_end(lock);
	(void)released(SINK_OMP_LOCK, (const void *)lock, 0, time_ns, 0, OMP_CALLER);
}

EXPORT void GOMP_atomic_start(void)
{
	enter_section(gomp_find(OMP_CALLER)->GOMP_atomic_start, &atomics, 0, OMP_CALLER);
}

EXPORT void GOMP_atomic_end(void)
{
	leave_section(gomp_find(OMP_CALLER)->GOMP_atomic_end, &atomics, OMP_CALLER);
}

EXPORT void GOMP_ordered_start(void)
{
	enter_section(gomp_find(OMP_CALLER)->GOMP_ordered_start, running_region, ACQUIRE_ORDERED,
		OMP_CALLER);
}

EXPORT void GOMP_ordered_end(void)
{
	leave_section(gomp_find(OMP_CALLER)->GOMP_ordered_end, running_region, OMP_CALLER);
}

EXPORT void omp_set_lock(void *lock)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	profiled_pause();
	if (gomp->omp_test_lock(lock)) {
		(void)acquired(SINK_OMP_LOCK, lock, 0, OMP_CALLER);
		return;
	}
	WAIT(SINK_OMP_LOCK, lock);
	gomp->omp_set_lock(lock);
}

EXPORT void omp_unset_lock(void *lock)
{
	uint64_t time_ns = releases(lock);
	gomp_find(OMP_CALLER)->omp_unset_lock(lock);
	(void)released(SINK_OMP_LOCK, lock, 0, time_ns, 0, OMP_CALLER);
}

/* The result counts how often the thread holds it: only the first time acquires it. */
EXPORT void omp_set_nest_lock(void *lock)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	profiled_pause();
	int depth = gomp->omp_test_nest_lock(lock);
	if (depth == 1)
		(void)acquired(SINK_OMP_LOCK, lock, 0, OMP_CALLER);
	else if (depth > 0)
		profiled_resume();
	if (depth > 0)
		return;
	WAIT(SINK_OMP_LOCK, lock);
	gomp->omp_set_nest_lock(lock);
}

/*
 * Tasks. The runtime copies a task's data into memory of its own when the task is made, and ours
 * is a header before it:
 *
 *	| struct task_header, padded to the alignment of the data | data |
 */
struct task_header {
	gomp_body *body;
	gomp_copy *copy;
	void *data; /* what to copy by copy() */
	size_t offset; /* of the data behind the header */
};

struct running_task {
	gomp_body *outer;
	struct task task; /* run inside a wait */
	struct region *ended; /* run at the end of a region */
	uint64_t start_ns;
};

/* Who waits at a barrier of the region, or for its end, goes on no sooner than its last task has ended. */
static void delay_team(struct region *region)
{
	region->last = region->round = (struct birth){ clock_ns(), trace_own_tid() };
}

static void end_task(struct running_task *running)
{
	struct region *region = running->ended ? running->ended : running_region;
	task_end(&running->task);
	if (is_tracing() && region)
		delay_team(region);
	running_body = running->outer;
	ended_region = running->ended;
	if (running->ended)
		__atomic_add_fetch(&running->ended->ended_ns, clock_ns() - running->start_ns,
			__ATOMIC_RELAXED);
}

static void run_task(void *argument)
{
	const struct task_header *header = argument;
	__attribute__((cleanup(end_task))) struct running_task running = {
		.outer = running_body,
		.ended = ended_region,
	};
	if (running.ended)
		running.start_ns = clock_ns();
	ended_region = NULL;
	running_body = header->body;
	task_begin(&running.task);
	header->body((char *)argument + header->offset);
}

static void copy_task(void *to, void *from)
{
	const struct task_header *header = from;
	memcpy(to, header, sizeof(*header));
	header->copy((char *)to + header->offset, header->data);
}

EXPORT void GOMP_task(gomp_body *body, void *data, gomp_copy *copy, long size, long align,
	bool is_deferred, unsigned flags, void **depend, int priority, void *detach)
{
	const struct gomp *gomp = gomp_find(OMP_CALLER);
	long least = (long)_Alignof(struct task_header);
	long step = align > least ? align : least;
	long offset = ((long)sizeof(struct task_header) + step - 1) / step * step;
	if ((flags & TASK_DETACHED) || step > TASK_ALIGN || offset + size > TASK_BYTES) {
		hide_tasks();
		gomp->GOMP_task(body, data, copy, size, align, is_deferred, flags, depend, priority,
			detach);
		return;
	}
	_Alignas(TASK_ALIGN) char buffer[TASK_BYTES];
	struct task_header header = { body, copy, data, (size_t)offset };
	memcpy(buffer, &header, sizeof(header));
	if (!copy && size > 0)
		memcpy(buffer + offset, data, (size_t)size);
	/* Only with a copy function of its own: a task that has one can no longer be cancelled. */
	gomp->GOMP_task(run_task, buffer, copy ? copy_task : NULL, offset + size, step, is_deferred,
		flags, depend, priority, detach);
}

/* The runtime writes the bounds of each part to the start of its data: no room for a header. */
EXPORT void GOMP_taskloop(gomp_body *body, void *data, gomp_copy *copy, long size, long align,
	unsigned flags, unsigned long tasks, int priority, long start, long end, long step)
{
	hide_tasks();
	gomp_find(OMP_CALLER)
		->GOMP_taskloop(
			body, data, copy, size, align, flags, tasks, priority, start, end, step);
}

EXPORT void GOMP_taskloop_ull(gomp_body *body, void *data, gomp_copy *copy, long size, long align,
	unsigned flags, unsigned long tasks, int priority, unsigned long long start,
	unsigned long long end, unsigned long long step)
{
	hide_tasks();
	gomp_find(OMP_CALLER)
		->GOMP_taskloop_ull(
			body, data, copy, size, align, flags, tasks, priority, start, end, step);
}
