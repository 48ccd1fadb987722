/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cores: how fast they are, who may use them, and what was computed.
 *
 * A core of several hardware threads is several cpus, which share its speed while more than one is
 * busy. Who has a cpu is decided in schedule.c.
 */
#include "sim/cores.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	CORES_MAX = 4096,
	SIBLINGS_MAX = 16,
	SLICE_NS = 700000, /* sysctl_sched_base_slice, twice as long for 2 cpus, ... */
	SLICE_CPUS_MAX = 8, /* ... four times for 8 and more */
	TICK_NS = 4000000, /* CONFIG_HZ=250 */
	HOT_NS = 500000, /* sysctl_sched_migration_cost */
	QUANTUM_NS = 100000000,
};

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

/* A slice that was not asked for is Linux's: it ends with a tick of the timer. */
static void set_slice(struct sim *sim)
{
	struct sim_dist *quantum = &sim->options.quantum;
	if (quantum->kind != SIM_FIXED || quantum->a != 0)
		return;
	quantum->a = QUANTUM_NS;
	if (sim->options.scheduler != SIM_FAIR)
		return;
	quantum->a = SLICE_NS;
	for (uint32_t cpus = 2; cpus <= sim->cpu_count && cpus <= SLICE_CPUS_MAX; cpus *= 2)
		quantum->a += SLICE_NS;
	sim->tick_ns = TICK_NS;
	/* The first comes after half of one. */
	sim->part_ticks = (uint32_t)((double)(int64_t)sim->options.kernel.part_ns / TICK_NS + 1);
	if (sim->options.kernel.hot_ns == 0)
		sim->options.kernel.hot_ns = HOT_NS;
	uint32_t cache_cores = sim->options.kernel.cache_cores;
	sim->idle_scan.cores = cache_cores < sim->cpu_count ? cache_cores : sim->cpu_count;
}

int cores_new(struct sim *sim, struct err *err)
{
	struct sim_options *options = &sim->options;
	int code = check_options(options, err);
	if (code < 0)
		return code;
	if (options->smt_factor == 0)
		options->smt_factor = 0.6;
	sim->siblings = options->threads_per_core ? options->threads_per_core : 1;
	sim->cpu_count = options->cores * sim->siblings;
	sim->is_uniform = sim->siblings == 1;
	set_slice(sim);
	uint32_t set;
	if (sim->cpu_count == 0)
		return cores_affinity(sim, NULL, &set);
	sim->cpus = calloc(sim->cpu_count, sizeof *sim->cpus);
	sim->core_speed = calloc(options->cores, sizeof *sim->core_speed);
	sim->idle = calloc(bit_words(sim), sizeof *sim->idle);
	sim->waited_for = calloc(bit_words(sim), sizeof *sim->waited_for);
	if (!sim->cpus || !sim->core_speed || !sim->idle || !sim->waited_for)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < options->cores; i++) {
		sim->core_speed[i] = options->speed ? options->speed[i] : 1;
		sim->is_uniform &= sim->core_speed[i] == sim->core_speed[0];
	}
	for (uint32_t i = 0; i < sim->cpu_count; i++) {
		sim->cpus[i].core = i / sim->siblings;
		sim->cpus[i].speed = sim->core_speed[i / sim->siblings];
		sim->cpus[i].virtual_base = UINT64_C(1) << 62;
		bit_set(sim->idle, i);
		sim->cpus[i].idle_mean_ns = 2 * sim->options.kernel.hot_ns;
		sim->idle_count++;
	}
	return cores_affinity(sim, NULL, &set);
}

void cores_free(struct sim *sim)
{
	for (size_t i = 0; i < sim->affinities.count; i++) {
		free(sim->affinities.all[i].cpus);
		pending_release(&sim->affinities.all[i].ready);
	}
	for (uint32_t i = 0; sim->cpus && i < sim->cpu_count; i++) {
		free(sim->cpus[i].sets);
		pending_release(&sim->cpus[i].ready);
	}
	free(sim->affinities.all);
	free(sim->ready_places.places);
	free(sim->cpus);
	free(sim->core_speed);
	free(sim->idle);
	free(sim->waited_for);
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

/* A set that was not there; `cpus` is taken over if it is 0, else -ENOMEM. */
static int add_set(struct sim *sim, uint64_t *cpus, uint32_t *ret)
{
	uint32_t number = (uint32_t)sim->affinities.count;
	int code = mem_grow(&sim->affinities.all, &sim->affinities.capacity,
		sim->affinities.count + 1, sizeof *sim->affinities.all);
	for (uint32_t i = 0; i < sim->cpu_count && code == 0; i++) {
		struct cpu *cpu = &sim->cpus[i];
		if (!cpus || bit_is_set(cpus, i))
			code = mem_grow(&cpu->sets, &cpu->set_capacity, cpu->set_count + 1,
				sizeof *cpu->sets);
	}
	if (code < 0)
		return code;
	for (uint32_t i = 0; i < sim->cpu_count; i++)
		if (!cpus || bit_is_set(cpus, i))
			sim->cpus[i].sets[sim->cpus[i].set_count++] = number;
	sim->affinities.all[sim->affinities.count++].cpus = cpus;
	*ret = number;
	return 0;
}

static bool is_same_set(const uint64_t *a, const uint64_t *b, size_t words)
{
	return !a || !b ? a == b : memcmp(a, b, words * sizeof *a) == 0;
}

/* The number of a set of cores; -EINVAL if it is empty. */
int cores_affinity(struct sim *sim, const uint64_t *cores, uint32_t *ret)
{
	AUTO_FREE uint64_t *cpus = NULL;
	if (cores && sim->cpu_count > 0) {
		cpus = cpus_of_cores(sim, cores);
		if (!cpus)
			return -ENOMEM;
		uint64_t any = 0;
		for (size_t i = 0; i < bit_words(sim); i++)
			any |= cpus[i];
		if (!any)
			return -EINVAL;
	}
	for (size_t i = 0; i < sim->affinities.count; i++) {
		if (!is_same_set(sim->affinities.all[i].cpus, cpus, bit_words(sim)))
			continue;
		*ret = (uint32_t)i;
		return 0;
	}
	int code = add_set(sim, cpus, ret);
	if (code == 0)
		cpus = NULL;
	return code;
}

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
void cores_settle(struct sim *sim, struct sim_thread *thread)
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
	cores_settle(sim, thread);
	thread->is_computing = false;
	timer_stop(sim, thread->timer);
}

/* Sets the timer for the end of the computation or of the slice, whichever comes first. */
int cores_arm(struct sim *sim, struct sim_thread *thread)
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
		cores_settle(sim, thread);
	cpu->speed = speed;
	return is_computing ? cores_arm(sim, thread) : 0;
}

/*
 * Of n busy siblings each has 1 of the core's speed alone, f of two, and the sum grows by as much for each
 * further one: (1 + (n - 1) (2 f - 1)) / n.
 */
double cores_shared_speed(const struct sim *sim, uint32_t core, uint32_t busy)
{
	if (busy <= 1)
		return sim->core_speed[core];
	double gain = 2 * sim->options.smt_factor - 1;
	double share = (1 + (busy - 1) * gain) / busy;
	return sim->core_speed[core] * (share > 0.01 ? share : 0.01);
}

uint32_t cores_busy_siblings(const struct sim *sim, uint32_t core)
{
	uint32_t busy = 0;
	for (uint32_t i = 0; i < sim->siblings; i++)
		busy += sim->cpus[core * sim->siblings + i].thread != 0;
	return busy;
}

int cores_share(struct sim *sim, uint32_t core)
{
	double speed = cores_shared_speed(sim, core, cores_busy_siblings(sim, core));
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
	return cores_share(sim, core);
}
