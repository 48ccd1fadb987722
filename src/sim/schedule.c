/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who has a cpu, and for how long. Fair: fair.c decides. Round robin (Tarvo and Reiss, 4.1.2): in order of
 * arrival, for a quantum; those without a cpu wait in one place for each set of cores that threads may
 * use. A thread keeps its cpu after its slice while nobody waits for one.
 */
#include "sim/cores.h"
#include "sim/fair.h"
#include "sim/idle_scan.h"

#include <errno.h>

static uint64_t draw_slice(struct sim *sim)
{
	const struct sim_dist *quantum = &sim->options.quantum;
	uint64_t slice = quantum->kind == SIM_FIXED ? (uint64_t)(int64_t)quantum->a
						    : sim_draw(quantum, &sim->rng);
	return slice > 0 ? slice : 1;
}

/* A cpu that had no thread in this instant, or whose thread has just left, has this one from now on. */
static int give(struct sim *sim, uint32_t number, struct sim_thread *thread, bool was_idle)
{
	struct cpu *cpu = &sim->cpus[number];
	bool was_waking = thread->state == THREAD_WAKING; /* that took the switch's time, too */
	cpu->thread = thread->tid;
	thread->cpu = number;
	thread_set_state(sim, thread, THREAD_RUNNING);
	if (cpu->last != thread->tid && !was_waking) {
		thread->switch_left = (double)(int64_t)sim->options.kernel.switch_ns;
		sim->switches++;
	}
	if (sim->options.scheduler == SIM_FAIR)
		fair_begin_slice(sim, thread);
	else
		cpu->slice_end_ns = sim->now_ns + draw_slice(sim);
	emit(sim, thread, EVENT_RUN, &(struct subject){ .value = number });
	runnable_add(sim, thread->tid);
	if (!was_idle)
		return 0;
	bit_clear(sim->idle, number);
	sim->idle_count--;
	cpu->busy_since_ns = sim->now_ns;
	if (sim->options.scheduler == SIM_FAIR)
		fair_end_idle(sim, cpu);
	return sim->siblings > 1 ? cores_share(sim, cpu->core) : 0;
}

/* Round robin: the set whose first thread is the next for a cpu; NULL: nobody waits for it. */
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

/* Takes the next thread for a cpu out of those that wait; 0: there is none. */
static uint32_t take_next(struct sim *sim, uint32_t number)
{
	if (sim->options.scheduler == SIM_FAIR) {
		uint32_t tid = fair_take(sim, number);
		return tid ? tid : fair_steal(sim, number);
	}
	struct affinity *set = next_set(sim, number);
	uint32_t tid = set ? pending_slot(set->ready.entries[0]) : 0;
	if (set)
		pending_remove(&set->ready, &sim->ready_places, tid);
	return tid;
}

/* A cpu that its thread has left takes the next, or is idle. */
static int pick(struct sim *sim, uint32_t number)
{
	struct cpu *cpu = &sim->cpus[number];
	cpu->thread = 0;
	uint32_t tid = cpu->is_taken ? 0 : take_next(sim, number);
	if (tid)
		return give(sim, number, thread_of(sim, tid), false);
	cpu->busy_ns += sim->now_ns - cpu->busy_since_ns;
	if (cpu->is_taken)
		return sim->siblings > 1 ? cores_share(sim, cpu->core) : 0;
	bit_set(sim->idle, number);
	sim->idle_count++;
	cpu->idle_since_ns = sim->now_ns;
	return sim->siblings > 1 ? cores_share(sim, cpu->core) : 0;
}

/* Speed that a thread would have on an idle cpu. */
static double prospect(const struct sim *sim, uint32_t cpu)
{
	uint32_t core = sim->cpus[cpu].core;
	return cores_shared_speed(sim, core, cores_busy_siblings(sim, core) + 1);
}

/* Whether a thread that is woken looks for no other cpu than the one that it had. */
static bool stays(const struct sim *sim, const struct sim_thread *thread)
{
	return (sim->options.kernel.wakes_in_place || sim->idle_scan.is_off) &&
	       sim->options.scheduler == SIM_FAIR && thread->last_cpu != SIM_NONE &&
	       cpu_is_allowed(sim, thread, thread->last_cpu);
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
	if (stays(sim, thread))
		return has_last ? last : SIM_NONE;
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

/* It waits for the cpu that it had, or, if it may not use that any more, for one that it may. */
static int wait_for_cpu(struct sim *sim, struct sim_thread *thread, uint32_t number)
{
	thread_set_state(sim, thread, THREAD_READY);
	if (sim->options.scheduler == SIM_FAIR)
		return fair_enqueue(sim, thread, number);
	return pending_set(&sim->affinities.all[thread->affinity].ready, &sim->ready_places,
		thread->tid, 0, sim->order++);
}

static void leave_cpu(struct sim *sim, struct sim_thread *thread)
{
	sim->cpus[thread->cpu].last = thread->tid;
	thread->last_cpu = thread->cpu;
	thread->ran_until_ns = sim->now_ns;
	thread->cpu = SIM_NONE;
	thread->must_yield = false;
}

int cores_leave(struct sim *sim, struct sim_thread *thread)
{
	if (thread->cpu == SIM_NONE)
		return 0;
	int code = sim->options.scheduler == SIM_FAIR ? fair_leave(sim, thread) : 0;
	if (code < 0)
		return code;
	leave_cpu(sim, thread);
	return pick(sim, thread->last_cpu);
}

/* A thread that may not use its cpu any more goes to another one. */
static int move(struct sim *sim, struct sim_thread *thread)
{
	int code = cores_leave(sim, thread);
	if (thread->is_kept)
		fair_dequeue(sim, thread);
	if (sim->cpus[thread->last_cpu].is_taken)
		thread->last_cpu = SIM_NONE;
	return code < 0 ? code : cores_enter(sim, thread);
}

/* A thread that could run loses its cpu, and waits for one; or, as its set has changed, has another. */
static int preempt(struct sim *sim, struct sim_thread *thread)
{
	uint32_t cpu = thread->cpu;
	cores_stop(sim, thread);
	if (thread->is_spinning)
		spin_suspend(sim, thread);
	emit(sim, thread, EVENT_PREEMPT, &(struct subject){ .value = cpu });
	if (!cpu_is_allowed(sim, thread, cpu) || sim->cpus[cpu].is_taken)
		return move(sim, thread);
	int code = wait_for_cpu(sim, thread, cpu);
	if (code < 0)
		return code;
	leave_cpu(sim, thread);
	return pick(sim, cpu);
}

/* A thread has just been given a core: by another one's, whose thread woke it? */
static void interrupt(struct sim *sim, struct sim_thread *woken)
{
	struct sim_thread *waker = woken->waker ? thread_of(sim, woken->waker) : NULL;
	if (woken->cpu == SIM_NONE || !waker || waker->state != THREAD_RUNNING)
		return;
	woken->switch_left += (double)(int64_t)sim->options.kernel.interrupt_ns;
	waker->switch_left += (double)(int64_t)sim->options.kernel.interrupt_cost_ns;
}

/* Fair: a thread that was woken, and waits, may take its cpu from the one that has it. */
static int preempt_for(struct sim *sim, struct sim_thread *woken)
{
	if (sim->cpus[woken->queue].is_taken)
		return 0;
	struct sim_thread *running = thread_of(sim, sim->cpus[woken->queue].thread);
	if (!fair_preempts(sim, woken))
		return 0;
	if (!running->is_computing) {
		running->must_yield = true;
		return 0;
	}
	int code = preempt(sim, running);
	interrupt(sim, woken);
	return code;
}

int cores_enter(struct sim *sim, struct sim_thread *thread)
{
	if (sim->cpu_count == 0) {
		thread_set_state(sim, thread, THREAD_RUNNING);
		runnable_add(sim, thread->tid);
		return 0;
	}
	bool is_new = thread->state == THREAD_NEW, is_fair = sim->options.scheduler == SIM_FAIR;
	if (thread->is_kept) {
		thread_set_state(sim, thread, THREAD_READY);
		int code = fair_wake_kept(sim, thread);
		return code < 0 ? code : preempt_for(sim, thread);
	}
	if (is_new)
		idle_scan_add_thread(sim);
	uint32_t cpu = find_idle(sim, thread);
	bool is_idle = cpu != SIM_NONE;
	if (is_fair && !is_idle)
		cpu = fair_choose_queue(sim, thread, is_new);
	if (is_fair)
		fair_arrive(sim, thread, cpu, is_new);
	if (is_idle)
		return give(sim, cpu, thread, true);
	if (is_new) /* it starts active: it is told that it has no core */
		emit(sim, thread, EVENT_PREEMPT, &(struct subject){ 0 });
	int code = wait_for_cpu(sim, thread, cpu);
	return code < 0 || !is_fair ? code : preempt_for(sim, thread);
}

bool cores_send(struct sim *sim, struct sim_thread *thread)
{
	const struct sim_kernel *kernel = &sim->options.kernel;
	uint32_t number = sim->cpu_count > 0 ? find_idle(sim, thread) : SIM_NONE;
	if (number != SIM_NONE)
		thread->last_cpu = number; /* though the one that it had may be free by then */
	if (kernel->halt_ns == 0)
		return false;
	if (number == SIM_NONE)
		return sim->now_ns - thread->asked_ns > kernel->halt_ns;
	struct cpu *cpu = &sim->cpus[number];
	uint64_t idle_ns = sim->now_ns - cpu->idle_since_ns;
	if (idle_ns <= (kernel->halt_start_ns > 0 ? cpu->awake_ns : kernel->halt_ns))
		return false;
	uint64_t longer_ns = cpu->awake_ns > 0 ? 2 * cpu->awake_ns : kernel->halt_start_ns;
	if (longer_ns > kernel->halt_ns)
		longer_ns = kernel->halt_ns;
	cpu->awake_ns = idle_ns <= kernel->halt_ns ? longer_ns : 0;
	return true;
}

bool cores_wakes_up(const struct sim *sim, const struct sim_thread *thread)
{
	if (sim->cpu_count > 0 && stays(sim, thread))
		return !thread->is_kept && bit_is_set(sim->idle, thread->last_cpu);
	return sim->cpu_count == 0 || (!thread->is_kept && sim->idle_count > sim->waking);
}

/* Whether somebody waits for the thread's cpu. */
static bool is_waited_for(struct sim *sim, const struct sim_thread *thread)
{
	return sim->options.scheduler == SIM_FAIR ? fair_is_waited_for(sim, thread->cpu)
						  : next_set(sim, thread->cpu) != NULL;
}

int cores_yield(struct sim *sim, struct sim_thread *thread)
{
	bool must = thread->must_yield;
	thread->must_yield = false;
	if (sim->cpu_count == 0) {
		runnable_add(sim, thread->tid);
		return OP_WAITS;
	}
	if (cpu_is_allowed(sim, thread, thread->cpu) && !is_waited_for(sim, thread))
		return OP_DONE;
	if (!must && sim->options.scheduler == SIM_FAIR)
		fair_yield(sim, thread);
	const struct cpu *cpu = &sim->cpus[thread->cpu];
	int code = preempt(sim, thread);
	if (!must && sim->options.kernel.yield_switch_ns > 0 && cpu->thread &&
		cpu->thread != thread->tid)
		thread_of(sim, cpu->thread)->switch_left =
			(double)(int64_t)sim->options.kernel.yield_switch_ns;
	return code < 0 ? code : OP_WAITS;
}

static int pass_on(struct sim *sim, uint32_t from, uint32_t *ret_passed)
{
	int code = 0;
	for (size_t i = 0; i < bit_words(sim); i++)
		for (uint64_t idle = sim->idle[i]; idle; idle &= idle - 1) {
			if (code < 0 || !fair_is_waited_for(sim, from))
				return code;
			uint32_t cpu = (uint32_t)(64 * i) + (uint32_t)__builtin_ctzll(idle);
			uint32_t tid = fair_pass_on(sim, from, cpu);
			*ret_passed += tid != 0;
			code = tid ? give(sim, cpu, thread_of(sim, tid), true) : 0;
		}
	return code;
}

int cores_help(struct sim *sim, uint32_t from)
{
	struct cpu *cpu = &sim->cpus[from];
	uint32_t passed = 0;
	bool is_shared = sim->idle_count > 0 && cpu->ready.count > 0;
	if (is_shared)
		idle_scan_update(sim);
	int code = is_shared ? pass_on(sim, from, &passed) : 0;
	cpu->refused = is_shared && passed == 0 ? cpu->refused + 1 : 0;
	return code;
}

/* A slice is over: whether it is another thread's turn; else the next one begins. */
static bool ends_slice(struct sim *sim, struct sim_thread *thread)
{
	if (sim->options.scheduler == SIM_FAIR) {
		if (cores_help(sim, thread->cpu) < 0)
			sim->failed = -ENOMEM;
		return fair_ends_slice(sim, thread);
	}
	if (is_waited_for(sim, thread))
		return true;
	sim->cpus[thread->cpu].slice_end_ns = sim->now_ns + draw_slice(sim);
	return false;
}

int cores_take(struct sim *sim, uint32_t number)
{
	struct cpu *cpu = &sim->cpus[number];
	struct sim_thread *thread = cpu->thread ? thread_of(sim, cpu->thread) : NULL;
	if (thread && !thread->is_computing)
		return -EBUSY;
	cpu->is_taken = true;
	if (thread)
		return preempt(sim, thread);
	bit_clear(sim->idle, number);
	sim->idle_count--;
	return 0;
}

int cores_return(struct sim *sim, uint32_t number)
{
	sim->cpus[number].is_taken = false;
	bit_set(sim->idle, number);
	sim->idle_count++;
	sim->cpus[number].idle_since_ns = sim->now_ns;
	uint32_t tid = take_next(sim, number);
	return tid ? give(sim, number, thread_of(sim, tid), true) : 0;
}

int cores_compute(struct sim *sim, struct sim_thread *thread)
{
	int code;
	if (thread->cpu != SIM_NONE && sim->now_ns >= sim->cpus[thread->cpu].slice_end_ns &&
		ends_slice(sim, thread))
		code = preempt(sim, thread);
	else
		code = cores_arm(sim, thread);
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
	if (thread->is_kept)
		fair_dequeue(sim, thread);
	if (is_ready && sim->options.scheduler == SIM_FAIR)
		fair_dequeue(sim, thread);
	else if (is_ready)
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
