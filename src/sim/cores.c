/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cores and who has them.
 *
 * A core of several hardware threads is several cpus, which share its speed while more than one is
 * busy. Runnable threads without a cpu wait in one place for each set of cores that threads may use, so
 * that no cpu is idle while one that may use it waits: an ideal balance of load, where Linux moves
 * threads between queues of its cpus.
 *
 * Fair, after Linux's scheduler (CFS, kernel/sched/fair.c): the thread with the least time on a cpu
 * (virtual time) goes first, for a slice; who comes back from waiting is moved forward to a slice
 * behind the least of those who wait, and takes the cpu that it had last from a thread that is a third
 * of a slice ahead of it. Round robin (Tarvo and Reiss, 4.1.2): in order of arrival, for a quantum.
 *
 * A thread keeps its cpu after its slice while nobody waits for one, and what it got in this way is
 * forgotten.
 */
#include "sim/engine.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	CORES_MAX = 4096,
	SIBLINGS_MAX = 16,
	SLICE_NS = 3000000,
	QUANTUM_NS = 100000000,
};

static size_t bit_words(const struct sim *sim)
{
	return ((size_t)sim->cpu_count + 63) / 64;
}

static bool bit_is_set(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static bool is_allowed(const struct sim *sim, const struct sim_thread *thread, uint32_t cpu)
{
	const uint64_t *cpus = sim->affinities.all[thread->affinity].cpus;
	return !cpus || bit_is_set(cpus, cpu);
}

static int check_options(const struct sim_options *options, struct err *err)
{
	if (options->cores > CORES_MAX)
		return err_set(err, -EINVAL, "%u cores: the most is %d", options->cores, CORES_MAX);
	if (options->threads_per_core > SIBLINGS_MAX)
		return err_set(err, -EINVAL, "%u threads on a core: the most is %d",
			options->threads_per_core, SIBLINGS_MAX);
	if (!(options->smt_factor >= 0 && options->smt_factor <= 1))
		return err_set(err, -EINVAL, "the speed of two busy siblings is %g: must be 0 to 1",
			options->smt_factor);
	for (uint32_t i = 0; options->speed && i < options->cores; i++)
		if (!(options->speed[i] > 0 && isfinite(options->speed[i])))
			return err_set(err, -EINVAL, "core %u has speed %g: must be above 0", i,
				options->speed[i]);
	return dist_check(&options->quantum, "quantum", err);
}

int cores_new(struct sim *sim, struct err *err)
{
	struct sim_options *options = &sim->options;
	int code = check_options(options, err);
	if (code < 0)
		return code;
	if (options->smt_factor == 0)
		options->smt_factor = 0.6;
	if (options->quantum.kind == SIM_FIXED && options->quantum.a == 0)
		options->quantum.a = options->scheduler == SIM_FAIR ? SLICE_NS : QUANTUM_NS;
	sim->siblings = options->threads_per_core ? options->threads_per_core : 1;
	sim->cpu_count = options->cores * sim->siblings;
	sim->is_uniform = sim->siblings == 1;
	uint32_t set;
	code = cores_affinity(sim, NULL, &set);
	if (code < 0 || sim->cpu_count == 0)
		return code;
	sim->cpus = calloc(sim->cpu_count, sizeof *sim->cpus);
	sim->core_speed = calloc(options->cores, sizeof *sim->core_speed);
	sim->idle = calloc(bit_words(sim), sizeof *sim->idle);
	if (!sim->cpus || !sim->core_speed || !sim->idle)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < options->cores; i++) {
		sim->core_speed[i] = options->speed ? options->speed[i] : 1;
		sim->is_uniform &= sim->core_speed[i] == sim->core_speed[0];
	}
	for (uint32_t i = 0; i < sim->cpu_count; i++) {
		sim->cpus[i].core = i / sim->siblings;
		sim->cpus[i].speed = sim->core_speed[i / sim->siblings];
		sim->idle[i / 64] |= UINT64_C(1) << (i % 64);
	}
	return 0;
}

void cores_free(struct sim *sim)
{
	for (size_t i = 0; i < sim->affinities.count; i++) {
		free(sim->affinities.all[i].cpus);
		pending_release(&sim->affinities.all[i].ready);
	}
	free(sim->affinities.all);
	free(sim->ready_places.places);
	free(sim->cpus);
	free(sim->core_speed);
	free(sim->idle);
}

/* The bits of cores as bits of cpus; NULL without memory. */
static uint64_t *cpus_of_cores(const struct sim *sim, const uint64_t *cores)
{
	uint64_t *cpus = calloc(bit_words(sim), sizeof *cpus);
	for (uint32_t i = 0; cpus && i < sim->cpu_count; i++)
		if (bit_is_set(cores, i / sim->siblings))
			cpus[i / 64] |= UINT64_C(1) << (i % 64);
	return cpus;
}

/* The number of a set of cores; -EINVAL if it is empty. */
int cores_affinity(struct sim *sim, const uint64_t *cores, uint32_t *ret)
{
	uint64_t *cpus = NULL;
	if (cores && sim->cpu_count > 0) {
		cpus = cpus_of_cores(sim, cores);
		if (!cpus)
			return -ENOMEM;
		uint64_t any = 0;
		for (size_t i = 0; i < bit_words(sim); i++)
			any |= cpus[i];
		if (!any) {
			free(cpus);
			return -EINVAL;
		}
	}
	size_t bytes = bit_words(sim) * sizeof *cpus;
	for (size_t i = 0; i < sim->affinities.count; i++) {
		const uint64_t *known = sim->affinities.all[i].cpus;
		if (!known != !cpus || (cpus && memcmp(known, cpus, bytes) != 0))
			continue;
		free(cpus);
		*ret = (uint32_t)i;
		return 0;
	}
	if (mem_grow(&sim->affinities.all, &sim->affinities.capacity, sim->affinities.count + 1,
		    sizeof *sim->affinities.all) < 0) {
		free(cpus);
		return -ENOMEM;
	}
	*ret = (uint32_t)sim->affinities.count++;
	sim->affinities.all[*ret].cpus = cpus;
	return 0;
}

/* Computing. */

double cores_work_done(const struct sim *sim, const struct sim_thread *thread)
{
	double elapsed = (double)(int64_t)(sim->now_ns - thread->segment_ns) - thread->switch_left;
	if (!(elapsed > 0))
		return 0;
	double speed = thread->cpu == SIM_NONE ? 1 : sim->cpus[thread->cpu].speed;
	double done = elapsed * speed;
	return done < thread->work_left && sim->now_ns < thread->end_ns ? done : thread->work_left;
}

/* Counts what was computed until now; it goes on. */
static void settle(struct sim *sim, struct sim_thread *thread)
{
	uint64_t elapsed = sim->now_ns - thread->segment_ns;
	double done = thread->is_spinning ? 0 : cores_work_done(sim, thread);
	thread->work_left -= done;
	thread->work_ns += done;
	double length = (double)(int64_t)elapsed;
	thread->switch_left = thread->switch_left > length ? thread->switch_left - length : 0;
	thread->cpu_ns += elapsed;
	thread->virtual_ns += elapsed;
	thread->segment_ns = sim->now_ns;
}

void cores_stop(struct sim *sim, struct sim_thread *thread)
{
	if (!thread->is_computing)
		return;
	settle(sim, thread);
	thread->is_computing = false;
	timer_stop(sim, thread->timer);
}

/* Sets the timer for the end of the computation or of the slice, whichever comes first. */
static int arm(struct sim *sim, struct sim_thread *thread)
{
	double speed = thread->cpu == SIM_NONE ? 1 : sim->cpus[thread->cpu].speed;
	double length = thread->work_left;
	if (speed != 1)
		length /= speed;
	length += thread->switch_left;
	uint64_t whole = length < 0x1p62 ? (uint64_t)(int64_t)length : UINT64_C(1) << 62;
	thread->end_ns = thread->is_spinning
				 ? UINT64_MAX
				 : sim->now_ns + whole + ((double)(int64_t)whole < length);
	thread->segment_ns = sim->now_ns;
	thread->is_computing = true;
	uint64_t end_ns = thread->end_ns;
	if (thread->cpu != SIM_NONE && sim->cpus[thread->cpu].slice_end_ns < end_ns)
		end_ns = sim->cpus[thread->cpu].slice_end_ns;
	return end_ns == UINT64_MAX ? 0 : timer_set(sim, thread->timer, end_ns);
}

/* A cpu's speed has changed. */
static int change_speed(struct sim *sim, struct cpu *cpu, double speed)
{
	if (cpu->speed == speed)
		return 0;
	struct sim_thread *thread = cpu->thread ? thread_of(sim, cpu->thread) : NULL;
	bool is_computing = thread && thread->is_computing;
	if (is_computing)
		settle(sim, thread);
	cpu->speed = speed;
	return is_computing ? arm(sim, thread) : 0;
}

/*
 * Of n busy siblings each has 1 of the core's speed alone, f of two, and the sum grows by as much for each
 * further one: (1 + (n - 1) (2 f - 1)) / n.
 */
static double shared_speed(const struct sim *sim, uint32_t core, uint32_t busy)
{
	if (busy <= 1)
		return sim->core_speed[core];
	double gain = 2 * sim->options.smt_factor - 1;
	double share = (1 + (busy - 1) * gain) / busy;
	return sim->core_speed[core] * (share > 0.01 ? share : 0.01);
}

static uint32_t busy_siblings(const struct sim *sim, uint32_t core)
{
	uint32_t busy = 0;
	for (uint32_t i = 0; i < sim->siblings; i++)
		busy += sim->cpus[core * sim->siblings + i].thread != 0;
	return busy;
}

static int share_core(struct sim *sim, uint32_t core)
{
	double speed = shared_speed(sim, core, busy_siblings(sim, core));
	int code = 0;
	for (uint32_t i = 0; i < sim->siblings && code == 0; i++)
		code = change_speed(sim, &sim->cpus[core * sim->siblings + i], speed);
	return code;
}

int sim_set_speed(struct sim *sim, uint32_t core, double speed)
{
	if (core >= sim->options.cores || !(speed > 0 && isfinite(speed)))
		return -EINVAL;
	sim->core_speed[core] = speed;
	sim->is_uniform = sim->siblings == 1;
	for (uint32_t i = 1; i < sim->options.cores; i++)
		sim->is_uniform &= sim->core_speed[i] == sim->core_speed[0];
	return share_core(sim, core);
}

/* Scheduling. */

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
	return sim->siblings > 1 ? share_core(sim, cpu->core) : 0;
}

/* The set whose first thread is the next for a cpu; NULL: nobody waits for it. */
static struct affinity *next_set(struct sim *sim, uint32_t cpu)
{
	struct affinity *best = NULL;
	for (size_t i = 0; i < sim->affinities.count; i++) {
		struct affinity *set = &sim->affinities.all[i];
		if (set->ready.count == 0 || (set->cpus && !bit_is_set(set->cpus, cpu)))
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
		return sim->siblings > 1 ? share_core(sim, cpu->core) : 0;
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
	return shared_speed(sim, core, busy_siblings(sim, core) + 1);
}

/* The fastest idle cpu, of equals the one that it had last, else the first; SIM_NONE. */
static uint32_t find_idle(const struct sim *sim, const struct sim_thread *thread)
{
	const uint64_t *cpus = sim->affinities.all[thread->affinity].cpus;
	uint32_t last = thread->last_cpu, best = SIM_NONE;
	bool has_last =
		last != SIM_NONE && bit_is_set(sim->idle, last) && is_allowed(sim, thread, last);
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
		!is_allowed(sim, woken, woken->last_cpu))
		return 0;
	struct sim_thread *running = thread_of(sim, sim->cpus[woken->last_cpu].thread);
	uint64_t virtual_ns = running->virtual_ns;
	if (running->is_computing)
		virtual_ns += sim->now_ns - running->segment_ns;
	uint64_t ahead = (uint64_t)(int64_t)sim->options.quantum.a / 3;
	if (virtual_ns <= woken->virtual_ns + ahead)
		return 0;
	if (running->is_computing)
		return preempt(sim, running);
	running->must_yield = running->tid == sim->executing;
	return 0;
}

/* Moves a thread that comes to those who wait to within a slice of the least of them. */
static void place_virtually(const struct sim *sim, struct sim_thread *thread)
{
	uint64_t slice = (uint64_t)(int64_t)sim->options.quantum.a;
	uint64_t least = sim->least_virtual_ns;
	if (thread->virtual_ns + slice < least)
		thread->virtual_ns = least - slice;
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
	if (!is_allowed(sim, thread, thread->cpu)) {
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
		int code = arm(sim, thread);
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
		if (is_fair && !next_set(sim, thread->cpu))
			place_virtually(sim, thread);
	}
	int code = arm(sim, thread);
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

/* What settle() would do at the end of a computation, which is what most do. */
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
	settle(sim, thread);
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
	if (thread->cpu == SIM_NONE || is_allowed(sim, thread, thread->cpu))
		return 0;
	if (thread->is_computing)
		return preempt(sim, thread);
	thread->must_yield = true; /* when its operation is over */
	return 0;
}
