/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is counted while it runs. */
#include "sim/engine.h"

static void advance(struct object *object, uint64_t now_ns)
{
	if (object->length_ns == now_ns)
		return;
	object->area += (unsigned __int128)object->length * (now_ns - object->length_ns);
	object->length_ns = now_ns;
}

void object_set_length(struct sim *sim, struct object *object, uint64_t length)
{
	advance(object, sim->now_ns);
	object->length = length;
	if (length > object->max_length)
		object->max_length = length;
}

static void count_state(struct sim_thread *thread, uint64_t now_ns)
{
	uint64_t elapsed = now_ns - thread->since_ns;
	if (thread->state == THREAD_RUNNING)
		thread->ran_ns += elapsed;
	else if (thread->state == THREAD_READY)
		thread->ready_ns += elapsed;
	else if (thread->state != THREAD_NEW && thread->state != THREAD_EXITED)
		thread->waited_ns += elapsed;
	thread->since_ns = now_ns;
}

void thread_set_state(struct sim *sim, struct sim_thread *thread, enum thread_state state)
{
	count_state(thread, sim->now_ns);
	thread->state = (uint8_t)state;
}

void sim_thread_stats(const struct sim *sim, uint32_t tid, struct sim_thread_stats *ret)
{
	*ret = (struct sim_thread_stats){ 0 };
	if (tid == 0 || tid > sim->thread_count)
		return;
	struct sim_thread thread = sim->threads[tid - 1];
	/* What is left of the computation at hand is known when it stops. */
	double done = 0;
	if (thread.is_computing && !thread.is_spinning)
		done = cores_work_done(sim, &thread);
	count_state(&thread, sim->now_ns);
	*ret = (struct sim_thread_stats){
		.ran_ns = thread.ran_ns,
		.work_ns = (uint64_t)(int64_t)(thread.work_ns + done + 0.5),
		.ready_ns = thread.ready_ns,
		.waited_ns = thread.waited_ns,
	};
}

/* NULL: there is none. */
static const struct object *object_at(
	const struct sim *sim, enum sim_object_kind kind, uint32_t number)
{
#define AT(table) (number < (table).count ? &(table).all[number].object : NULL)
	switch (kind) {
	case SIM_MUTEX:
		return AT(sim->mutexes);
	case SIM_SPIN:
		return AT(sim->spins);
	case SIM_RWLOCK:
		return AT(sim->rwlocks);
	case SIM_BARRIERS:
		return AT(sim->barriers);
	case SIM_COND:
		return AT(sim->conds);
	case SIM_SEM:
		return AT(sim->sems);
	case SIM_QUEUE:
		return AT(sim->queues);
	case SIM_LIMIT:
		return AT(sim->limits);
	case SIM_DISKS:
		return AT(sim->disks);
	case SIM_SOURCES:
		return AT(sim->sources);
	}
#undef AT
	return NULL;
}

void sim_object_stats(const struct sim *sim, enum sim_object_kind kind, uint32_t number,
	struct sim_object_stats *ret)
{
	const struct object *found = object_at(sim, kind, number);
	struct object object = found ? *found : (struct object){ 0 };
	advance(&object, sim->now_ns);
	*ret = (struct sim_object_stats){
		.uses = object.uses,
		.waits = object.waits,
		.waited_ns = object.waited_ns,
		.held_ns = object.held_ns,
		.length_ns = (double)object.area,
		.mean_length = sim->now_ns ? (double)object.area / (double)(int64_t)sim->now_ns : 0,
		.max_length = object.max_length,
		.refused = object.refused,
	};
}

uint64_t sim_core_busy_ns(const struct sim *sim, uint32_t core)
{
	uint64_t busy_ns = 0;
	if (core >= sim->options.cores)
		return 0;
	for (uint32_t i = core * sim->siblings; i < (core + 1) * sim->siblings; i++) {
		const struct cpu *cpu = &sim->cpus[i];
		busy_ns += cpu->busy_ns + (cpu->thread ? sim->now_ns - cpu->busy_since_ns : 0);
	}
	return busy_ns;
}
