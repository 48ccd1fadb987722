/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/trace_parts.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void build_trace_release(struct build_trace *trace)
{
	for (size_t i = 0; i < trace->thread_count; i++) {
		free(trace->threads[i].name);
		free(trace->threads[i].steps);
	}
	for (size_t i = 0; i < trace->module_count; i++)
		free(trace->modules[i].path);
	for (size_t i = 0; i < trace->name_count; i++)
		free(trace->names[i]);
	free(trace->threads);
	free(trace->objects);
	free(trace->modules);
	free(trace->names);
	free(trace->program);
	free(trace->live);
	free(trace->wait_costs_s);
	free(trace->requests);
	build_spins_release(&trace->spins);
	wakes_free(trace->wakes);
	children_release(&trace->children);
	map_release(&trace->request_index);
	map_release(&trace->thread_index);
	map_release(&trace->object_index);
	map_release(&trace->name_index);
	*trace = (struct build_trace){ 0 };
}

uint64_t build_trace_cpu_ns(const struct build_trace *trace)
{
	uint64_t sum_ns = 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		sum_ns += trace->threads[i].cpu_ns;
	return sum_ns;
}

/* CPU time until an event since the step before; where the recording has none, time on a core. */
static uint64_t cpu_since(
	const struct build_thread *thread, const struct build_live *live, const struct event *event)
{
	if (thread->has_cpu)
		return event->cpu_ns > live->last_cpu_ns ? event->cpu_ns - live->last_cpu_ns : 0;
	uint64_t ns = event->time_ns > live->last_ns ? event->time_ns - live->last_ns : 0;
	return ns > live->lost_ns ? ns - live->lost_ns : 0;
}

static int add_step(struct build_trace *trace, uint32_t index, const struct build_step *step)
{
	struct build_thread *thread = &trace->threads[index];
	if (mem_grow(&thread->steps, &thread->step_capacity, thread->step_count + 1,
		    sizeof *thread->steps) < 0)
		return -ENOMEM;
	thread->steps[thread->step_count++] = *step;
	thread->cpu_ns += step->cpu_ns;
	return 0;
}

/* The step that an event asks for. */
static struct build_step begin_step(const struct build_thread *thread,
	const struct build_live *live, const struct event *event, enum step_op op)
{
	return (struct build_step){ .begin_ns = event->time_ns,
		.cpu_ns = cpu_since(thread, live, event),
		.site = event->site,
		.object = BUILD_NONE,
		.count = 1,
		.region = live->region,
		.op = (uint8_t)op,
		.wakes = (uint8_t)(live->woken < UINT8_MAX ? live->woken : UINT8_MAX) };
}

static void end_step(struct build_live *live, const struct event *event)
{
	live->last_ns = event->time_ns;
	if (event->cpu_ns > live->last_cpu_ns)
		live->last_cpu_ns = event->cpu_ns;
	live->lost_ns = 0;
	live->woken = 0;
	live->woken_ns = 0;
	live->is_waiting = false;
}

/*
 * Its clock says less than it was taken to have run when other threads' events told of what it did (it was away meanwhile): so those
 * steps took less.
 */
static void take_back(
	struct build_thread *thread, struct build_live *live, const struct event *event)
{
	if (!thread->has_cpu || event->cpu_ns == 0 || event->cpu_ns >= live->last_cpu_ns)
		return;
	uint64_t over_ns = live->last_cpu_ns - event->cpu_ns;
	for (size_t i = thread->step_count; i > 0 && over_ns > 0; i--) {
		struct build_step *step = &thread->steps[i - 1];
		uint64_t ns = over_ns < step->cpu_ns ? over_ns : step->cpu_ns;
		step->cpu_ns -= ns;
		thread->cpu_ns -= ns;
		over_ns -= ns;
	}
	live->last_cpu_ns = event->cpu_ns;
}

/* What taking hold of something is; -1: not a step. */
static int op_of_pass(const struct event *event)
{
	switch (event->what) {
	case WHAT_MUTEX:
		return event->flags & EVENT_IMPLICIT ? -1 : STEP_LOCK;
	case WHAT_RWLOCK:
		return event->flags & EVENT_SHARED ? STEP_READ_LOCK : STEP_LOCK;
	case WHAT_SPIN:
		return STEP_LOCK;
	case WHAT_COND:
		return STEP_COND_WAIT;
	case WHAT_BARRIER:
		return STEP_ARRIVE;
	case WHAT_SEM:
		return STEP_ACQUIRE;
	case WHAT_JOIN:
		return STEP_JOIN;
	case WHAT_SLEEP:
		return STEP_SLEEP;
	case WHAT_QUEUE:
		return STEP_GET;
	case WHAT_DISK:
	case WHAT_IO:
	case WHAT_FUTEX:
	case WHAT_OTHER:
		return STEP_IO;
	default:
		return -1;
	}
}

static int op_of_release(const struct event *event)
{
	switch (event->what) {
	case WHAT_MUTEX:
		return event->flags & EVENT_IMPLICIT ? -1 : STEP_UNLOCK;
	case WHAT_RWLOCK:
	case WHAT_SPIN:
		return STEP_UNLOCK;
	case WHAT_COND:
		return STEP_SIGNAL;
	case WHAT_SEM:
		return STEP_POST;
	case WHAT_QUEUE:
		return STEP_PUT;
	default:
		return -1;
	}
}

static int add_wait(struct build_trace *trace, uint32_t index, const struct event *event)
{
	struct build_live *live = &trace->live[index];
	int op = op_of_pass(event);
	if (op < 0)
		return 0; /* the mutex of a condition: part of the wait that is open */
	live->step = begin_step(&trace->threads[index], live, event, (enum step_op)op);
	live->is_waiting = true;
	live->spins = event->flags & EVENT_SPINS;
	live->is_told = false;
	live->wait_cpu_ns = event->cpu_ns;
	if (op == STEP_IO)
		live->step.count = (uint32_t)event->value;
	if (op == STEP_JOIN)
		live->step.object = build_find_thread(trace, event->pid, event->value);
	if (op != STEP_ARRIVE)
		return 0;
	int code = build_trace_object(trace, event, &live->step.object);
	if (code == 0 && live->spins)
		trace->objects[live->step.object].spins = true;
	return code;
}

/* CPU time between a WAIT and its PASS: the system's, and what the clock had not counted before. */
static int add_wait_cost(struct build_trace *trace, struct build_step *step, uint64_t cpu_ns)
{
	if (step->op == STEP_IO)
		step->section = cpu_ns;
	if (step->op == STEP_LOCK && cpu_ns > WAIT_CPU_MAX_NS)
		return 0; /* it was woken again and again, and found the lock taken */
	bool is_poll = step->op == STEP_IO && step->count == EVENT_IO_POLL;
	if (step->op == STEP_IO || cpu_ns > WAIT_CPU_MAX_NS)
		step->cpu_ns += cpu_ns;
	if ((step->op == STEP_IO && !is_poll) || cpu_ns > WAIT_CPU_MAX_NS)
		return 0;
	if (trace->wait_cost_count >= WAIT_COSTS)
		return 0;
	if (mem_grow(&trace->wait_costs_s, &trace->wait_cost_capacity, trace->wait_cost_count + 1,
		    sizeof *trace->wait_costs_s) < 0)
		return -ENOMEM;
	trace->wait_costs_s[trace->wait_cost_count++] = (double)cpu_ns * 1e-9;
	return 0;
}

void build_use_lock(struct build_object *lock, uint32_t thread)
{
	lock->uses++;
	if (lock->user == 0)
		lock->user = thread + 1;
	lock->is_shared |= lock->user != thread + 1;
}

/* Of a wait that another thread ended: it gets what add_wake() lets that one put. */
static void end_wait_at_futex(struct build_trace *trace, const struct build_live *live,
	struct event *event, struct build_step *step)
{
	if (!live->is_told || event->flags & EVENT_TIMED_OUT) {
		trace->slept_futexes++;
		return;
	}
	trace->told_futexes++;
	step->op = STEP_GET;
	step->count = 1;
	event->what = WHAT_QUEUE;
}

/* Of what went through a pipe: build_pipes_find() makes items of them. */
static uint32_t bytes_of(const struct event *event)
{
	return event->value < UINT32_MAX ? (uint32_t)event->value : UINT32_MAX;
}

/* A lock that it did not get: it was away for so long. */
static bool is_given_up(const struct event *event, int op)
{
	return event->flags & EVENT_TIMED_OUT && (op == STEP_LOCK || op == STEP_READ_LOCK);
}

/* A wait for a process that is known is the join of its thread. */
static void join_child(struct build_trace *trace, const struct event *pass, struct build_step *step)
{
	const struct child_wait wait = { .pid = pass->pid,
		.waker = (uint32_t)pass->value,
		.io = step->count,
		.began_ns = step->begin_ns,
		.until_ns = step->begin_ns + step->waited_ns };
	if (pass->what != WHAT_IO || step->op != STEP_IO || !(step->flags & STEP_WAITED))
		return;
	uint32_t child = children_join(&trace->children, &wait);
	if (child == CHILD_NONE || trace->threads[child].parent != BUILD_NONE)
		return;
	step->op = STEP_JOIN;
	step->object = child;
	step->count = 1;
	step->section = 0;
}

/* Ends the step that began with a WAIT, or is one without. */
static int add_pass(struct build_trace *trace, uint32_t index, const struct event *event)
{
	struct build_live *live = &trace->live[index];
	int op = op_of_pass(event), code = 0;
	if (op < 0) {
		end_step(live, event);
		return 0;
	}
	if (!live->is_waiting || live->step.op != op)
		live->step = begin_step(&trace->threads[index], live, event, (enum step_op)op);
	if (event->what == WHAT_QUEUE)
		live->step.count = bytes_of(event);
	struct build_step step = live->step;
	struct event named = *event;
	if (event->what == WHAT_FUTEX && live->is_waiting)
		end_wait_at_futex(trace, live, &named, &step);
	if (live->is_waiting) {
		uint64_t woken_ns = event->woken_ns ? event->woken_ns : live->woken_ns;
		uint64_t until = woken_ns ? woken_ns : event->time_ns;
		step.waited_ns = until > step.begin_ns ? until - step.begin_ns : 0;
		step.is_late = woken_ns == 0;
		step.flags |= STEP_WAITED;
		if (trace->threads[index].has_cpu && !live->spins &&
			event->cpu_ns > live->wait_cpu_ns)
			code = add_wait_cost(trace, &step, event->cpu_ns - live->wait_cpu_ns);
	}
	step.flags |= event->flags & EVENT_TIMED_OUT ? STEP_REFUSED : 0;
	if (is_given_up(event, op)) {
		step.op = STEP_SLEEP;
		end_step(live, event);
		return code < 0 ? code : add_step(trace, index, &step);
	}
	if (op == STEP_ARRIVE && step.flags & STEP_WAITED && event->value == 0)
		step.flags |= STEP_BY_NOBODY;
	if (op == STEP_ARRIVE)
		step.section = event->value;
	if (op != STEP_JOIN && code == 0)
		code = build_trace_object(trace, &named, &step.object);
	else if (step.object == BUILD_NONE)
		step.object = build_find_thread(trace, event->pid, event->value);
	if (code == 0 && (op == STEP_LOCK || op == STEP_READ_LOCK))
		build_use_lock(&trace->objects[step.object], index);
	if (op == STEP_LOCK && event->what == WHAT_MUTEX)
		step.section = trace->sections++;
	join_child(trace, event, &step);
	end_step(live, event);
	return code < 0 ? code : add_step(trace, index, &step);
}

/* Where the lock that is given back was taken: recordings do not always say where it is given back. */
static uint64_t site_of_lock(const struct build_thread *thread, uint32_t object)
{
	enum { FAR = 1000 }; /* steps within a critical section */
	size_t least = thread->step_count > FAR ? thread->step_count - FAR : 0;
	for (size_t i = thread->step_count; i-- > least;) {
		const struct build_step *step = &thread->steps[i];
		if (step->object == object && (step->op == STEP_LOCK || step->op == STEP_READ_LOCK))
			return step->site;
	}
	return 0;
}

/* Who waits at a condition for ever has given its mutex back. */
static int add_last_unlock(struct build_trace *trace, uint32_t index)
{
	const struct build_live *live = &trace->live[index];
	struct build_step step = live->step;
	if (!live->is_waiting || live->step.op != STEP_COND_WAIT || live->mutex == BUILD_NONE)
		return 0;
	step.op = STEP_UNLOCK;
	step.object = live->mutex;
	step.site = site_of_lock(&trace->threads[index], step.object);
	return add_step(trace, index, &step);
}

static int add_plain(
	struct build_trace *trace, uint32_t index, const struct event *event, enum step_op op)
{
	struct build_live *live = &trace->live[index];
	struct build_step step = begin_step(&trace->threads[index], live, event, op);
	int code = 0;
	if (op == STEP_BEGIN || op == STEP_END) {
		step.section = event->value;
		step.flags |= event->what == WHAT_IO ? STEP_FROM_OUTSIDE : 0;
		step.flags |= event->flags & EVENT_IMPLICIT ? STEP_OVER : 0;
		step.count = event->what == WHAT_IO ? (uint32_t)event->object : 1;
	}
	if (op == STEP_PUT)
		step.count = bytes_of(event);
	if (op == STEP_TICK)
		step.count = event->value < UINT32_MAX ? (uint32_t)event->value : UINT32_MAX;
	else if (op != STEP_BEGIN && op != STEP_END && op != STEP_EXIT)
		code = build_trace_object(trace, event, &step.object);
	if (op == STEP_UNLOCK)
		step.site = site_of_lock(&trace->threads[index], step.object);
	step.flags |= op == STEP_SIGNAL && event->flags & EVENT_ALL ? STEP_REFUSED : 0;
	end_step(live, event);
	return code < 0 ? code : add_step(trace, index, &step);
}

/*
 * The step of who started a thread; its CPU clock is not in the event, so it is taken to have run until then. A process may be told of
 * only when its program begins, and its parent wait already: it started it before.
 */
static int add_spawn(
	struct build_trace *trace, uint32_t starter, uint32_t index, const struct event *event)
{
	struct build_live *live = &trace->live[starter];
	struct event asked = *event;
	asked.cpu_ns = live->last_cpu_ns +
		       (event->time_ns > live->last_ns ? event->time_ns - live->last_ns : 0);
	struct build_step step = begin_step(&trace->threads[starter], live, &asked, STEP_SPAWN);
	step.object = index;
	if (live->is_waiting) {
		step.begin_ns = live->step.begin_ns;
		step.cpu_ns = live->step.cpu_ns;
		step.wakes = live->step.wakes;
		live->step.cpu_ns = live->step.wakes = 0;
	} else {
		end_step(live, &asked);
	}
	return add_step(trace, starter, &step);
}

static int add_start(struct build_trace *trace, uint32_t index, const struct event *event)
{
	struct build_thread *thread = &trace->threads[index];
	uint32_t parent = build_find_thread(trace, event->pid, event->value);
	if (thread->start_ns < event->time_ns) /* another program, by the same thread */
		return 0;
	thread->routine = event->object;
	thread->spawn_site = event->site;
	thread->start_ns = event->time_ns;
	thread->has_cpu = event->cpu_ns > 0;
	trace->live[index].last_ns = event->time_ns;
	trace->live[index].last_cpu_ns = event->cpu_ns;
	uint32_t starter = parent;
	if (parent == BUILD_NONE)
		starter = children_starter(&trace->children, event);
	if (starter == BUILD_NONE || starter == index || trace->threads[starter].has_exited)
		return 0;
	thread->parent = parent;
	thread->is_started = parent == BUILD_NONE;
	return add_spawn(trace, starter, index, event);
}

/* Of a mutex: not those that a wait for a condition gives back and takes again. */
static void count_held(struct build_live *live, const struct event *event)
{
	if (event->what != WHAT_MUTEX || event->flags & (EVENT_IMPLICIT | EVENT_TIMED_OUT))
		return;
	if (event->kind == EVENT_PASS)
		live->held++;
	else if (event->kind == EVENT_RELEASE && live->held > 0)
		live->held--;
}

/*
 * A thread was woken from its wait at a futex, the word of a lock or an event of the program's own making. What it means is not
 * known, only who ended it: in the model that thread puts an item which the other one gets. Its CPU clock is not in the
 * event, so it is taken to have run until then. A wait within a critical section is the library's own (a signal that waits until those
 * whom the one before woke are gone), and who ended it may need the mutex: it sleeps.
 */
static int add_wake(struct build_trace *trace, uint32_t index, const struct event *event)
{
	uint32_t by = build_find_thread(trace, event->pid, event->value);
	struct build_live *woken = &trace->live[index];
	if (by == BUILD_NONE || by == index || trace->threads[by].has_exited ||
		trace->live[by].is_waiting || !woken->is_waiting || woken->held > 0 ||
		woken->step.op != STEP_IO)
		return 0;
	struct build_live *waker = &trace->live[by];
	struct event wake = *event;
	wake.what = WHAT_QUEUE;
	wake.site = 0;
	if (wake.time_ns < waker->last_ns)
		wake.time_ns = waker->last_ns;
	wake.cpu_ns = waker->last_cpu_ns + (wake.time_ns - waker->last_ns);
	struct build_step put = begin_step(&trace->threads[by], waker, &wake, STEP_PUT);
	int code = build_trace_object(trace, &wake, &put.object);
	if (code < 0)
		return code;
	trace->objects[put.object].are_signals = true;
	woken->is_told = true;
	end_step(waker, &wake);
	return add_step(trace, by, &put);
}

static int add_region(struct build_trace *trace, uint32_t index, const struct event *event)
{
	struct event named = *event;
	named.what = WHAT_REGION;
	return build_trace_object(trace, &named, &trace->live[index].region);
}

/* All descriptors are one limit. */
static int add_descriptor(struct build_trace *trace, uint32_t index, const struct event *event)
{
	bool is_release = event->kind == EVENT_RELEASE;
	struct build_step step = begin_step(&trace->threads[index], &trace->live[index], event,
		is_release ? STEP_GIVE : STEP_TAKE);
	struct event all = *event;
	if (!is_release && event->value > 0) /* a program may change it */
		trace->descriptors = event->value;
	all.object = BUILD_DESCRIPTORS;
	int code = build_trace_object(trace, &all, &step.object);
	step.flags |= event->kind == EVENT_TRY_FAILED ? STEP_REFUSED : 0;
	end_step(&trace->live[index], event);
	return code < 0 ? code : add_step(trace, index, &step);
}

/* Who ends the process tells of those that are left; it does not know their clocks. */
static bool is_told_by_another(const struct build_thread *thread, const struct event *event)
{
	return thread->has_cpu && event->cpu_ns == 0;
}

static int add_of_thread(struct build_trace *trace, uint32_t index, const struct event *event)
{
	struct build_live *live = &trace->live[index];
	int op;
	take_back(&trace->threads[index], live, event);
	count_held(live, event);
	switch ((enum event_kind)event->kind) {
	case EVENT_THREAD_START:
		return add_start(trace, index, event);
	case EVENT_THREAD_EXIT:
		trace->threads[index].has_exited = true;
		trace->threads[index].end_ns = event->time_ns;
		trace->threads[index].is_cut =
			live->is_waiting || is_told_by_another(&trace->threads[index], event);
		children_end(&trace->children, index, event, !trace->threads[index].is_cut);
		if (trace->threads[index].is_cut)
			return 0; /* the rest when the recording ends */
		return add_plain(trace, index, event, STEP_EXIT);
	case EVENT_WAIT:
		return add_wait(trace, index, event);
	case EVENT_PASS:
		if (event->what == WHAT_IO && !live->is_waiting)
			return add_descriptor(trace, index, event);
		return add_pass(trace, index, event);
	case EVENT_RELEASE:
		if (event->what == WHAT_IO)
			return add_descriptor(trace, index, event);
		op = op_of_release(event);
		if (op < 0 && event->what == WHAT_MUTEX)
			return build_trace_object(trace, event, &live->mutex);
		return op < 0 ? 0 : add_plain(trace, index, event, (enum step_op)op);
	case EVENT_TRY_FAILED:
		if (event->what == WHAT_IO)
			return add_descriptor(trace, index, event);
		return add_plain(trace, index, event, STEP_TRY_FAILED);
	case EVENT_REQUEST_BEGIN:
		return add_plain(trace, index, event, STEP_BEGIN);
	case EVENT_REQUEST_END:
		return add_plain(trace, index, event, STEP_END);
	case EVENT_TICK:
		return add_plain(trace, index, event, STEP_TICK);
	case EVENT_REGION_BEGIN:
		return add_region(trace, index, event);
	case EVENT_REGION_END:
		live->region = BUILD_NONE;
		return 0;
	case EVENT_PREEMPT:
		live->preempted_ns = event->time_ns;
		return 0;
	case EVENT_RUN:
		if (live->preempted_ns)
			live->lost_ns += event->time_ns - live->preempted_ns;
		live->preempted_ns = 0;
		return 0;
	default:
		return 0;
	}
}

static int add_event(void *context, const struct event *event, struct err *err)
{
	struct build_trace *trace = context;
	uint32_t index, woken = 0;
	/* In a model who waits spins at barriers only: elsewhere what waking takes is charged to all, and taken out of all work. */
	struct event plain = *event;
	if (event->what != WHAT_BARRIER)
		plain.flags &= (uint16_t)~EVENT_SPINS;
	int code = trace->wakes ? wakes_add(trace->wakes, &plain, &woken) : 0;
	if (code < 0)
		return err_set(err, code, "out of memory");
	if (trace->start_ns == 0)
		trace->start_ns = event->time_ns;
	if (event->kind == EVENT_LOST) {
		trace->lost += event->value;
	} else if (event->kind == EVENT_LEFT_OUT) {
		trace->left_out += event->value;
	} else if (event->kind == EVENT_INIT) {
		code = build_trace_add_init(trace, event);
	} else if (event->kind == EVENT_NAME) {
		code = build_trace_add_name(trace, event);
	} else if (event_kind_is_disk(event->kind)) {
		code = build_trace_add_request(trace, event);
	} else if (event->kind == EVENT_WOKEN) {
		index = build_find_thread(trace, event->pid, event->tid);
		if (index != BUILD_NONE && event->what == WHAT_FUTEX)
			code = add_wake(trace, index, event);
		else if (index != BUILD_NONE && trace->live[index].is_waiting)
			trace->live[index].woken_ns = event->time_ns;
	} else if (event->kind == EVENT_SAMPLE) {
		index = build_find_thread(trace, event->pid, event->tid);
		code = build_spins_add(
			&trace->spins, event, index != BUILD_NONE && trace->live[index].is_waiting);
	} else if (event->tid != 0) {
		trace->futexes += event->what == WHAT_FUTEX;
		trace->named += event->what >= WHAT_MUTEX && event->what <= WHAT_JOIN;
		size_t known = trace->thread_count;
		code = build_trace_thread(trace, event, &index);
		if (code == 0 && trace->thread_count > known)
			code = children_add(&trace->children, index, event->pid, event->tid);
		if (code == 0 && event->cpu_ns > 0 && !trace->threads[index].has_cpu &&
			trace->threads[index].step_count == 0)
			trace->threads[index].has_cpu = true;
		if (code == 0) {
			trace->live[index].woken += woken;
			code = add_of_thread(trace, index, event);
		}
	}
	return code < 0 ? err_set(err, code, "out of memory") : 0;
}

/* Whether somebody went on from a barrier since. */
static bool has_opened_since(const struct build_trace *trace, const struct build_step *arrival)
{
	for (size_t i = 0; i < trace->thread_count; i++) {
		const struct build_thread *thread = &trace->threads[i];
		for (size_t j = thread->step_count; j-- > 0;) {
			const struct build_step *step = &thread->steps[j];
			if (step->begin_ns + step->waited_ns < arrival->begin_ns)
				break;
			if (step->op == STEP_ARRIVE && step->object == arrival->object)
				return true;
		}
	}
	return false;
}

/* Who is let go from a barrier by the last one, and then cut off by the end of its process, has arrived. */
static int add_last_arrival(struct build_trace *trace, uint32_t index)
{
	const struct build_live *live = &trace->live[index];
	if (!live->is_waiting || live->step.op != STEP_ARRIVE ||
		!has_opened_since(trace, &live->step))
		return 0;
	struct build_step step = live->step;
	return add_step(trace, index, &step);
}

static int finish(void *context, uint64_t end_ns, struct err *err)
{
	struct build_trace *trace = context;
	int code = 0;
	trace->end_ns = end_ns;
	for (uint32_t i = 0; i < trace->thread_count && code == 0; i++) {
		const struct build_live *live = &trace->live[i];
		if (!trace->threads[i].has_exited)
			trace->threads[i].end_ns = live->is_waiting ? live->step.begin_ns : end_ns;
		code = add_last_arrival(trace, i);
		if (code == 0)
			code = add_last_unlock(trace, i);
	}
	return code < 0 ? err_set(err, code, "out of memory") : 0;
}

struct event_sink build_trace_sink(struct build_trace *trace)
{
	return (struct event_sink){ .context = trace, .event = add_event, .finish = finish };
}
