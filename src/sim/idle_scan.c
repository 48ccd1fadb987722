/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/idle_scan.h"

#include "sim/cores.h"

enum { PERIOD_NS = 1000000, FORGOTTEN = 1000 };

/* What is left of the past after a period: half of it after 32 (kernel/sched/pelt.c). */
static const double KEPT = 0.978572062087700;

/* Linux keeps 85% of a cache's cores for the most that it can use well: sd->imbalance_pct of 117. */
static const double IMBALANCE = 1.17;

static uint64_t had_ns(const struct sim *sim)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < sim->cpu_count; i++) {
		const struct cpu *cpu = &sim->cpus[i];
		sum += cpu->busy_ns + (cpu->thread ? sim->now_ns - cpu->busy_since_ns : 0);
	}
	return sum;
}

void idle_scan_update(struct sim *sim)
{
	struct idle_scan *scan = &sim->idle_scan;
	uint64_t periods = (sim->now_ns - scan->at_ns) / PERIOD_NS;
	if (periods == 0)
		return;
	if (scan->cores == 0) {
		scan->at_ns = sim->now_ns; /* nobody asks how busy they were */
		return;
	}
	uint64_t busy_ns = had_ns(sim);
	double kept = 1;
	for (uint64_t i = 0; i < periods && i < FORGOTTEN; i++)
		kept *= KEPT;
	double share = (double)(int64_t)(busy_ns - scan->busy_ns) /
		       ((double)(int64_t)(sim->now_ns - scan->at_ns) * sim->cpu_count);
	scan->utilization = kept * scan->utilization + (1 - kept) * share;
	scan->at_ns = sim->now_ns;
	scan->busy_ns = busy_ns;
	double x = IMBALANCE * scan->utilization;
	scan->is_off = scan->cores * (1 - x * x) < 1;
}

void idle_scan_add_thread(struct sim *sim)
{
	struct idle_scan *scan = &sim->idle_scan;
	scan->utilization += (1 - scan->utilization) / (2 * sim->cpu_count);
}
