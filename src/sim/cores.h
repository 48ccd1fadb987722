/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cores.c and schedule.c share. */
#ifndef SIM_CORES_H
#define SIM_CORES_H

#include "sim/engine.h"

static inline size_t bit_words(const struct sim *sim)
{
	return ((size_t)sim->cpu_count + 63) / 64;
}

static inline bool bit_is_set(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void bit_clear(uint64_t *bits, uint32_t i)
{
	bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

static inline bool cpu_is_allowed(
	const struct sim *sim, const struct sim_thread *thread, uint32_t cpu)
{
	const uint64_t *cpus = sim->affinities.all[thread->affinity].cpus;
	return !cpus || bit_is_set(cpus, cpu);
}

/* Sets the timer for the end of the computation or of the slice, whichever comes first. 0 or -ENOMEM. */
int cores_arm(struct sim *sim, struct sim_thread *thread);

/* Counts what was computed until now; it goes on. */
void cores_settle(struct sim *sim, struct sim_thread *thread);

/* Speed of each of so many busy siblings of a core; how many are. */
double cores_shared_speed(const struct sim *sim, uint32_t core, uint32_t busy);
uint32_t cores_busy_siblings(const struct sim *sim, uint32_t core);

/* One more or one less is busy: all are as fast as they can be together. 0 or -ENOMEM. */
int cores_share(struct sim *sim, uint32_t core);

#endif
