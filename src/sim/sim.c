/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of a simulation: made, run, freed. Objects are made in objects.c. */
#include "sim/engine.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 1 << 22 }; /* the greatest tid of a timeline */

/* Operations of one thread at one instant: more are a loop in which no time passes. */
enum { INSTANT_OPS_MAX = 10000000 };

int sim_new(const struct sim_options *options, const struct sim_program *program, struct sim **ret,
	struct err *err)
{
	struct sim *sim = calloc(1, sizeof *sim);
	if (!sim)
		return err_set(err, -ENOMEM, "out of memory");
	sim->options = *options;
	sim->program = *program;
	rng_init(&sim->rng, options->seed);
	int code = cores_new(sim, err);
	if (code < 0) {
		sim_free(sim);
		return code;
	}
	*ret = sim;
	return 0;
}

static void objects_free(struct sim *sim)
{
	for (size_t i = 0; i < sim->queues.count; i++)
		free(sim->queues.all[i].items);
	for (size_t i = 0; i < sim->disks.count; i++) {
		struct disk *disk = &sim->disks.all[i];
		for (uint32_t j = 0; j < disk->class_count; j++)
			dist_release(&disk->service[j]);
		free(disk->service);
		free(disk->serving);
		free(disk->queue);
		free(disk->free_places);
	}
	for (size_t i = 0; i < sim->sources.count; i++) {
		dist_release(&sim->sources.all[i].options.interval);
		free(sim->sources.all[i].held);
	}
}

/* The object is the first member of each element. */
static void table_free(void *all, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++)
		free(((struct object *)((char *)all + i * size))->name);
	free(all);
}

#define TABLE_FREE(table) table_free((table).all, (table).count, sizeof *(table).all)

void sim_free(struct sim *sim)
{
	if (!sim)
		return;
	objects_free(sim);
	TABLE_FREE(sim->mutexes);
	TABLE_FREE(sim->spins);
	TABLE_FREE(sim->rwlocks);
	TABLE_FREE(sim->barriers);
	TABLE_FREE(sim->conds);
	TABLE_FREE(sim->sems);
	TABLE_FREE(sim->queues);
	TABLE_FREE(sim->limits);
	TABLE_FREE(sim->disks);
	TABLE_FREE(sim->sources);
	for (size_t i = 0; i < sim->thread_count; i++)
		free(sim->threads[i].name);
	free(sim->threads);
	free(sim->timers);
	free(sim->timer_places.places);
	pending_release(&sim->events);
	free(sim->runnable);
	free(sim->requests);
	free(sim->takers);
	cores_free(sim);
	free(sim);
}

int timer_new(struct sim *sim, enum timer_kind kind, uint32_t owner, uint32_t part, uint32_t *ret)
{
	if (sim->timer_count >= PENDING_SLOTS_MAX)
		return -E2BIG;
	if (mem_grow(&sim->timers, &sim->timer_capacity, sim->timer_count + 1,
		    sizeof *sim->timers) < 0)
		return -ENOMEM;
	*ret = (uint32_t)sim->timer_count++;
	sim->timers[*ret] = (struct timer){ .kind = kind, .owner = owner, .part = part };
	return 0;
}

void runnable_add(struct sim *sim, uint32_t tid)
{
	size_t mask = sim->runnable_capacity - 1;
	sim->runnable[(sim->runnable_first + sim->runnable_count++) & mask] = tid;
}

/* Each thread stands in `runnable` at most once, so that a place for each is enough. */
static int runnable_grow(struct sim *sim)
{
	if (sim->thread_count < sim->runnable_capacity)
		return 0;
	size_t capacity = sim->runnable_capacity ? 2 * sim->runnable_capacity : 64;
	uint32_t *ring = malloc(capacity * sizeof *ring);
	if (!ring)
		return -ENOMEM;
	for (size_t i = 0; i < sim->runnable_count; i++)
		ring[i] = sim->runnable[(sim->runnable_first + i) & (sim->runnable_capacity - 1)];
	free(sim->runnable);
	sim->runnable = ring;
	sim->runnable_capacity = capacity;
	sim->runnable_first = 0;
	return 0;
}

int thread_new(struct sim *sim, const char *name, uint32_t parent, uint32_t start, uint32_t *ret)
{
	if (sim->thread_count >= THREADS_MAX)
		return -E2BIG;
	uint32_t timer = 0, tid = (uint32_t)sim->thread_count + 1;
	int code = mem_grow(
		&sim->threads, &sim->thread_capacity, sim->thread_count + 1, sizeof *sim->threads);
	if (code == 0)
		code = runnable_grow(sim);
	if (code == 0)
		code = timer_new(sim, TIMER_THREAD, tid, 0, &timer);
	char *copy = name && code == 0 ? strdup(name) : NULL;
	if (name && code == 0 && !copy)
		code = -ENOMEM;
	if (code < 0)
		return code;
	sim->threads[sim->thread_count++] = (struct sim_thread){
		.tid = tid,
		.timer = timer,
		.cpu = SIM_NONE,
		.last_cpu = SIM_NONE,
		.name = copy,
		.parent = parent,
		.start = start,
		.result = { .item = start },
		.op = { .kind = SIM_OP_KINDS },
		.is_between = true,
	};
	sim->alive++;
	*ret = tid;
	return 0;
}

int sim_add_thread(struct sim *sim, const char *name, const uint64_t *affinity, uint32_t *ret_tid)
{
	if (sim->is_running)
		return -EINVAL;
	uint32_t set = 0;
	int code = affinity ? cores_affinity(sim, affinity, &set) : 0;
	if (code == 0)
		code = thread_new(sim, name, 0, 0, ret_tid);
	if (code == 0)
		thread_of(sim, *ret_tid)->affinity = set;
	return code;
}

int thread_begin(struct sim *sim, struct sim_thread *thread)
{
	thread->since_ns = sim->now_ns;
	if (thread->name)
		emit_name(sim, WHAT_THREAD, thread->tid, thread->name);
	emit(sim, thread, EVENT_THREAD_START,
		&(struct subject){ .object = thread->start, .value = thread->parent });
	return cores_enter(sim, thread);
}

/* Asks what it does next. */
static int thread_next(struct sim *sim, struct sim_thread *thread)
{
	if (thread->instant_ns != sim->now_ns) {
		thread->instant_ns = sim->now_ns;
		thread->instant_ops = 0;
	} else if (++thread->instant_ops > INSTANT_OPS_MAX) {
		return op_error(sim, thread, -ELOOP,
			"makes more than %d operations while no time passes", INSTANT_OPS_MAX);
	}
	thread->stage = 0;
	sim->lone_arrivals = 0;
	int code = sim->program.next(
		sim->program.context, sim, thread->tid, &thread->result, &thread->op, sim->err);
	thread->result = (struct sim_result){ 0 };
	return code;
}

/* Its operations up to one that takes time. */
static int thread_continue(struct sim *sim, uint32_t tid)
{
	struct sim_thread *thread = thread_of(sim, tid);
	int code = OP_DONE;
	sim->executing = tid;
	if (thread->work_left > 0 || thread->switch_left > 0)
		code = cores_compute(sim, thread);
	else if (!thread->is_between)
		code = op_play(sim, thread);
	while (code == OP_DONE && !sim->failed && !sim->is_stopped) {
		thread = thread_of(sim, tid); /* SIM_SPAWN moves them */
		thread->is_between = true;
		if (thread->must_yield) {
			code = cores_yield(sim, thread);
			continue; /* it may stay */
		}
		thread->is_between = false;
		code = thread_next(sim, thread);
		if (code == 0)
			code = op_play(sim, thread);
	}
	sim->executing = 0;
	return code < 0 ? code : sim->failed;
}

static int drain_runnable(struct sim *sim)
{
	while (sim->runnable_count > 0) {
		uint32_t tid = sim->runnable[sim->runnable_first];
		sim->runnable_first = (sim->runnable_first + 1) & (sim->runnable_capacity - 1);
		sim->runnable_count--;
		int code = thread_continue(sim, tid);
		if (code < 0)
			return code;
		if (sim->is_stopped)
			break;
	}
	return sim->failed;
}

static int thread_timer(struct sim *sim, uint32_t tid)
{
	struct sim_thread *thread = thread_of(sim, tid);
	if (thread->state == THREAD_RUNNING) {
		int code = cores_timer(sim, thread);
		if (code != OP_DONE)
			return code < 0 ? code : 0;
		return thread_continue(sim, tid);
	}
	if (thread->state == THREAD_WAKING) {
		sim->waking--;
		return wake_now(sim, thread);
	}
	return op_timer(sim, thread);
}

int sim_add_tick(struct sim *sim, uint64_t period_ns, int (*tick)(void *context, struct sim *sim),
	void *context)
{
	if (sim->is_running || sim->tick.call || !tick || period_ns == 0)
		return -EINVAL;
	uint32_t timer;
	int code = timer_new(sim, TIMER_TICK, 0, 0, &timer);
	if (code < 0)
		return code;
	sim->tick = (struct tick){ period_ns, tick, context, timer };
	return timer_set(sim, timer, period_ns);
}

static int tick_rings(struct sim *sim)
{
	if (!sim->tick.call)
		return 0; /* there is no such timer */
	int code = sim->tick.call(sim->tick.context, sim);
	return code < 0 ? code : timer_set(sim, sim->tick.timer, sim->now_ns + sim->tick.period_ns);
}

static int timer_rings(struct sim *sim, enum timer_kind kind, uint32_t owner, uint32_t part)
{
	switch (kind) {
	case TIMER_THREAD:
		return thread_timer(sim, owner);
	case TIMER_SOURCE:
		return source_timer(sim, owner, part);
	case TIMER_DISK:
		return disk_timer(sim, owner, part);
	case TIMER_TICK:
		return tick_rings(sim);
	case TIMER_OTHERS:
		return others_timer(sim, owner);
	}
	return 0;
}

/* A loop of one thread is found in thread_next(); this one goes through a source or a disk. */
static int instant_error(struct sim *sim, const struct timer *timer)
{
	static const char *const words[] = { [TIMER_THREAD] = "thread",
		[TIMER_SOURCE] = "source",
		[TIMER_DISK] = "disk",
		[TIMER_TICK] = "tick",
		[TIMER_OTHERS] = "others" };
	const char *name = timer->kind == TIMER_SOURCE ? sim->sources.all[timer->owner].object.name
			   : timer->kind == TIMER_DISK ? sim->disks.all[timer->owner].object.name
			   : timer->kind == TIMER_THREAD ? thread_of(sim, timer->owner)->name
							 : NULL;
	return err_set(sim->err, -ELOOP,
		"at %.9f s, no time passes: more than %d events, the last of %s '%s'",
		1e-9 * (double)sim->now_ns, INSTANT_OPS_MAX, words[timer->kind], name ? name : "");
}

/*
 * The first event stays in the heap while it is played, as nothing can come before it: what sets the
 * same timer again, as most do, moves it once instead of taking it out and putting it in.
 */
static int play_first(struct sim *sim)
{
	unsigned __int128 first = sim->events.entries[0];
	uint32_t slot = pending_slot(first);
	sim->instant_events = pending_key(first) == sim->now_ns ? sim->instant_events + 1 : 0;
	if (sim->instant_events > INSTANT_OPS_MAX)
		return instant_error(sim, &sim->timers[slot]);
	sim->now_ns = pending_key(first);
	if (++sim->event_count > sim->options.event_limit && sim->options.event_limit > 0)
		return err_set(sim->err, -E2BIG,
			"more than %llu events: the simulation was stopped",
			(unsigned long long)sim->options.event_limit);
	const struct timer *timer = &sim->timers[slot];
	sim->lone_arrivals += timer->kind == TIMER_SOURCE;
	int code = timer_rings(sim, timer->kind, timer->owner, timer->part);
	if (code == 0)
		code = drain_runnable(sim);
	if (sim->events.count > 0 && sim->events.entries[0] == first)
		pending_remove(&sim->events, &sim->timer_places, slot);
	return code;
}

static bool is_over(const struct sim *sim)
{
	return sim->is_stopped || sim->alive == 0;
}

/* Sources have run dry and nobody waits for a lock: who waits for more to do waits rightly. */
static bool is_served(const struct sim *sim)
{
	if (sim->sources.count == 0 || sim->sources_alive > 0)
		return false;
	for (size_t i = 0; i < sim->queues.count; i++)
		if (sim->queues.all[i].count > 0)
			return false;
	for (size_t i = 0; i < sim->thread_count; i++) {
		const struct sim_thread *thread = &sim->threads[i];
		if (thread->is_spinning)
			return false;
		if (thread->state == THREAD_WAITING &&
			(thread->wait_what == WHAT_MUTEX || thread->wait_what == WHAT_RWLOCK))
			return false;
	}
	return true;
}

/*
 * Whether requests come that nobody will ever take: none of the last ones made a thread do anything, and no thread computes,
 * sleeps, or waits for a disk.
 */
static bool is_at_standstill(struct sim *sim)
{
	enum { LONE_MAX = 1000 };
	if (sim->lone_arrivals < LONE_MAX)
		return false;
	sim->lone_arrivals = 0;
	for (size_t i = 0; i < sim->events.count; i++) {
		const struct timer *timer = &sim->timers[pending_slot(sim->events.entries[i])];
		if (timer->kind == TIMER_THREAD || timer->kind == TIMER_DISK)
			return false;
	}
	return true;
}

/* Only timers that ring whatever the threads do, of which none waits for a core that others have. */
static bool is_stuck(const struct sim *sim)
{
	size_t background = sim->taker_count + (sim->tick.call ? 1 : 0);
	return sim->events.count == background && (sim->taker_count == 0 || sim->queued == 0);
}

static int play_all(struct sim *sim)
{
	uint64_t stop_ns = sim->options.stop_ns ? sim->options.stop_ns : TIME_MAX_NS;
	int code = drain_runnable(sim);
	while (code == 0 && !is_over(sim)) {
		if (is_stuck(sim) || is_at_standstill(sim)) {
			code = is_served(sim) ? 0 : lend(sim);
			if (code <= 0)
				return code < 0 || is_served(sim) ? code : deadlock_explain(sim);
			code = drain_runnable(sim);
			continue;
		}
		if (pending_key(sim->events.entries[0]) >= stop_ns) {
			sim->now_ns = stop_ns;
			return 0;
		}
		code = play_first(sim);
		if (code == 0 && sim->order > PENDING_ORDER_MAX)
			return err_set(sim->err, -E2BIG, "more than 2^40 events");
	}
	return code;
}

int sim_run(struct sim *sim, struct err *err)
{
	if (sim->is_running)
		return err_set(err, -EINVAL, "this simulation was run before");
	sim->is_running = true;
	sim->err = err;
	int code = emit_names(sim);
	for (size_t i = 0; code == 0 && i < sim->thread_count; i++)
		code = thread_begin(sim, &sim->threads[i]);
	if (code == 0)
		code = sources_start(sim);
	if (code == 0)
		code = others_start(sim);
	if (code == 0)
		code = play_all(sim);
	if (code == 0 && sim->options.sink)
		code = sink_finish(sim->options.sink, sim->now_ns, err);
	if (code == -ENOMEM)
		(void)err_set(err, code, "out of memory");
	sim->err = NULL;
	return code;
}

uint64_t sim_now(const struct sim *sim)
{
	return sim->now_ns;
}

struct rng *sim_rng(struct sim *sim)
{
	return &sim->rng;
}

uint64_t sim_event_count(const struct sim *sim)
{
	return sim->event_count;
}

uint64_t sim_switch_count(const struct sim *sim)
{
	return sim->switches;
}
