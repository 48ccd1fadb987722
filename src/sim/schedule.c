/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who has a cpu, and for how long.
 *
 * Runnable threads without a cpu wait in one place for each set of cores that threads may use, so that no
 * cpu is idle while one that may use it waits: an ideal balance of load, where Linux moves threads
 * between queues of its cpus.
 *
 * Fair, after Linux's scheduler (kernel/sched/fair.c): the thread with the least time on a cpu (virtual
 * time) goes first, for a slice; who comes back from waiting begins where the least of those who wait
 * is, and takes the cpu that it had last from a thread that has got more: as in EEVDF, only who is owed
 * time keeps its cpu to the end of its slice. (The millisecond that CFS granted made replays of a pipeline
 * with a slow stage up to 23% off.) Round robin (Tarvo and Reiss, 4.1.2): in order of arrival, for a
 * quantum.
 *
 * A thread keeps its cpu after its slice while nobody waits for one, and what it got in this way is
 * forgotten.
 */
#include "sim/cores.h"

#include <errno.h>

static uint64_t draw_slice(struct sim *sim)
{
	const struct sim_dist *quantum = &sim->options.quantum;
	uint64_t slice = sim->options.scheduler == SIM_FAIR || quantum->kind == SIM_FIXED
				 ? (uint64_t)(int64_t)quantum->a
				 : sim_draw(quantum, &sim->rng);
	return slice > 0 ? slice : 1;
}

/* A thread that is not idle has a cpu from now on. */
static int give(struct sim *sim, uint32_t number, struct sim_thread *thread)
{
	struct cpu *cpu = &sim->cpus[number];
	bool was_idle = cpu->thread == 0;
	cpu->thread = thread->tid;
	thread->cpu = number;
	thread_set_state(sim, thread, THREAD_RUNNING);
	if (cpu->last != thread->tid)
		thread->switch_left = (double)(int64_t)sim->options.switch_ns;
	cpu->slice_end_ns = sim->now_ns + draw_slice(sim);
	emit(sim, thread, EVENT_RUN, &(struct subject){ .value = number });
	runnable_add(sim, thread->tid);
	if (!was_idle)
		return 0;
	sim->idle[number / 64] &= ~(UINT64_C(1) << (number % 64));
	cpu->busy_since_ns = sim->now_ns;
	return sim->siblings > 1 ? cores_share(sim, cpu->core) : 0;
}

/* The set whose first thread is the next for a cpu; NULL: nobody waits for it. */
static struct affinity *next_set(struct sim *sim, uint32_t cpu)
{
	struct affinity *best = NULL;
	for (size_t i = 0; i < sim->cpus[cpu].set_count; i++) {
		struct affinity *set = &sim->affinities.all[sim->cpus[cpu].sets[i]];
		if (set->ready.count == 0)
			continue;
		if (!best || set->ready.entries[0] < best->ready.entries[0])
			best = set;
	}
	return best;
}

/* A cpu that its thread has left takes the next, or is idle. */
static int pick(struct sim *sim, uint32_t number)
{
	struct cpu *cpu = &sim->cpus[number];
	struct affinity *set = next_set(sim, number);
	if (!set) {
		cpu->thread = 0;
		cpu->busy_ns += sim->now_ns - cpu->busy_since_ns;
		sim->idle[number / 64] |= UINT64_C(1) << (number % 64);
		return sim->siblings > 1 ? cores_share(sim, cpu->core) : 0;
	}
	unsigned __int128 first = set->ready.entries[0];
	uint32_t tid = pending_slot(first);
	pending_remove(&set->ready, &sim->ready_places, tid);
	if (sim->options.scheduler == SIM_FAIR && pending_key(first) > sim->least_virtual_ns)
		sim->least_virtual_ns = pending_key(first);
	return give(sim, number, thread_of(sim, tid));
}

/* Speed that a thread would have on an idle cpu. */
static double prospect(const struct sim *sim, uint32_t cpu)
{
	uint32_t core = sim->cpus[cpu].core;
	return cores_shared_speed(sim, core, cores_busy_siblings(sim, core) + 1);
}

/* The fastest idle cpu, of equals the one that it had last, else the first; SIM_NONE. */
static uint32_t find_idle(const struct sim *sim, const struct sim_thread *thread)
{
	const uint64_t *cpus = sim->affinities.all[thread->affinity].cpus;
	uint32_t last = thread->last_cpu, best = SIM_NONE;
	bool has_last = last != SIM_NONE && bit_is_set(sim->idle, last) &&
			cpu_is_allowed(sim, thread, last);
	if (has_last && sim->is_uniform)
		return last;
	double best_speed = has_last ? prospect(sim, last) : 0;
	best = has_last ? last : SIM_NONE;
	for (size_t i = 0; i < bit_words(sim); i++) {
		uint64_t idle = sim->idle[i] & (cpus ? cpus[i] : UINT64_MAX);
		for (; idle; idle &= idle - 1) {
			uint32_t cpu = (uint32_t)(64 * i) + (uint32_t)__builtin_ctzll(idle);
			if (sim->is_uniform)
				return cpu;
			double speed = prospect(sim, cpu);
			if (speed > best_speed) {
				best_speed = speed;
				best = cpu;
			}
		}
	}
	return best;
}

static int enqueue(struct sim *sim, struct sim_thread *thread)
{
	thread_set_state(sim, thread, THREAD_READY);
	uint64_t key = sim->options.scheduler == SIM_FAIR ? thread->virtual_ns : 0;
	return pending_set(&sim->affinities.all[thread->affinity].ready, &sim->ready_places,
		thread->tid, key, sim->order++);
}

int cores_leave(struct sim *sim, struct sim_thread *thread)
{
	if (thread->cpu == SIM_NONE)
		return 0;
	uint32_t cpu = thread->cpu;
	sim->cpus[cpu].last = thread->tid;
	thread->last_cpu = cpu;
	thread->cpu = SIM_NONE;
	thread->must_yield = false;
	return pick(sim, cpu);
}

/* A thread that could run loses its cpu, and waits for one; or, as its set has changed, has another. */
static int preempt(struct sim *sim, struct sim_thread *thread)
{
	cores_stop(sim, thread);
	if (thread->is_spinning)
		spin_suspend(sim, thread);
	emit(sim, thread, EVENT_PREEMPT, &(struct subject){ .value = thread->cpu });
	uint32_t idle = find_idle(sim, thread);
	int code = idle == SIM_NONE ? enqueue(sim, thread) : 0;
	if (code == 0)
		code = cores_leave(sim, thread);
	return code < 0 || idle == SIM_NONE ? code : give(sim, idle, thread);
}

/* A thread that was woken and found no idle cpu: whether it takes the one that it had. */
static int preempt_last(struct sim *sim, const struct sim_thread *woken)
{
	if (sim->options.scheduler != SIM_FAIR || woken->last_cpu == SIM_NONE ||
		!cpu_is_allowed(sim, woken, woken->last_cpu))
		return 0;
	struct sim_thread *running = thread_of(sim, sim->cpus[woken->last_cpu].thread);
	uint64_t virtual_ns = running->virtual_ns;
	if (running->is_computing)
		virtual_ns += sim->now_ns - running->segment_ns;
	if (virtual_ns <= woken->virtual_ns)
		return 0;
	if (running->is_computing)
		return preempt(sim, running);
	running->must_yield = running->tid == sim->executing;
	return 0;
}

/*
 * Who comes back from waiting is owed nothing for it, and owes at most a slice of what it had ahead of
 * the others. (A bonus for sleeping, as CFS had, starves the thread for which the others waited at a
 * barrier: replays of recordings on two cores with a kernel of today were up to 17% off with it.)
 */
static void place_virtually(const struct sim *sim, struct sim_thread *thread)
{
	uint64_t slice = (uint64_t)(int64_t)sim->options.quantum.a;
	uint64_t least = sim->least_virtual_ns;
	if (thread->virtual_ns < least)
		thread->virtual_ns = least;
	if (thread->virtual_ns > least + slice)
		thread->virtual_ns = least + slice;
}

int cores_enter(struct sim *sim, struct sim_thread *thread)
{
	if (sim->cpu_count == 0) {
		thread_set_state(sim, thread, THREAD_RUNNING);
		runnable_add(sim, thread->tid);
		return 0;
	}
	bool is_new = thread->state == THREAD_NEW;
	place_virtually(sim, thread);
	uint32_t cpu = find_idle(sim, thread);
	if (cpu != SIM_NONE)
		return give(sim, cpu, thread);
	if (is_new) /* it starts active: it is told that it has no core */
		emit(sim, thread, EVENT_PREEMPT, &(struct subject){ 0 });
	int code = enqueue(sim, thread);
	return code < 0 ? code : preempt_last(sim, thread);
}

/* Whether somebody waits for the cpu whose turn is before that of its thread. */
static bool is_outrun(struct sim *sim, const struct sim_thread *thread, bool is_fair)
{
	const struct affinity *set = next_set(sim, thread->cpu);
	return set && (!is_fair || pending_key(set->ready.entries[0]) <= thread->virtual_ns);
}

int cores_yield(struct sim *sim, struct sim_thread *thread)
{
	thread->must_yield = false;
	if (sim->cpu_count == 0) {
		runnable_add(sim, thread->tid);
		return OP_WAITS;
	}
	if (!cpu_is_allowed(sim, thread, thread->cpu)) {
		int code = preempt(sim, thread);
		return code < 0 ? code : OP_WAITS;
	}
	const struct affinity *set = next_set(sim, thread->cpu);
	if (!set)
		return OP_DONE;
	uint64_t first = pending_key(set->ready.entries[0]);
	if (sim->options.scheduler == SIM_FAIR && thread->virtual_ns < first)
		thread->virtual_ns = first; /* and so behind it */
	int code = preempt(sim, thread);
	return code < 0 ? code : OP_WAITS;
}

int cores_compute(struct sim *sim, struct sim_thread *thread)
{
	if (thread->cpu == SIM_NONE) {
		int code = cores_arm(sim, thread);
		return code < 0 ? code : OP_WAITS;
	}
	struct cpu *cpu = &sim->cpus[thread->cpu];
	if (sim->now_ns >= cpu->slice_end_ns) {
		bool is_fair = sim->options.scheduler == SIM_FAIR;
		if (is_outrun(sim, thread, is_fair)) {
			int code = preempt(sim, thread);
			return code < 0 ? code : OP_WAITS;
		}
		cpu->slice_end_ns = sim->now_ns + draw_slice(sim);
		if (is_fair && !next_set(sim, thread->cpu) &&
			thread->virtual_ns > sim->least_virtual_ns)
			thread->virtual_ns = sim->least_virtual_ns;
	}
	int code = cores_arm(sim, thread);
	return code < 0 ? code : OP_WAITS;
}

int cores_begin(struct sim *sim, struct sim_thread *thread, uint64_t work_ns)
{
	thread->work_left = (double)(int64_t)work_ns;
	if (thread->cpu != SIM_NONE)
		return cores_compute(sim, thread);
	thread->segment_ns = sim->now_ns;
	thread->end_ns = sim->now_ns + work_ns;
	thread->is_computing = true;
	int code = timer_set(sim, thread->timer, thread->end_ns);
	return code < 0 ? code : OP_WAITS;
}

/* What cores_settle() would do at the end of a computation, which is what most do. */
static void finish(struct sim *sim, struct sim_thread *thread)
{
	uint64_t elapsed = sim->now_ns - thread->segment_ns;
	thread->work_ns += thread->work_left;
	thread->work_left = thread->switch_left = 0;
	thread->cpu_ns += elapsed;
	thread->virtual_ns += elapsed;
}

int cores_timer(struct sim *sim, struct sim_thread *thread)
{
	thread->is_computing = false;
	if (sim->now_ns >= thread->end_ns) {
		finish(sim, thread);
		return OP_DONE;
	}
	cores_settle(sim, thread);
	if (thread->is_spinning || thread->work_left > 0 || thread->switch_left > 0)
		return cores_compute(sim, thread);
	return OP_DONE;
}

int sim_set_affinity(struct sim *sim, uint32_t tid, const uint64_t *cores)
{
	uint32_t set;
	if (tid == 0 || tid > sim->thread_count)
		return -EINVAL;
	int code = cores_affinity(sim, cores, &set);
	if (code < 0)
		return code;
	struct sim_thread *thread = thread_of(sim, tid);
	bool is_ready = thread->state == THREAD_READY;
	if (is_ready)
		pending_remove(
			&sim->affinities.all[thread->affinity].ready, &sim->ready_places, tid);
	thread->affinity = set;
	if (is_ready)
		return cores_enter(sim, thread);
	if (thread->cpu == SIM_NONE || cpu_is_allowed(sim, thread, thread->cpu))
		return 0;
	if (thread->is_computing)
		return preempt(sim, thread);
	thread->must_yield = true; /* when its operation is over */
	return 0;
}
