/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: whether woken threads look for an idle core, by how busy the cores were of late. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "sim/idle_scan.h"
#include "sim_trial.h"

#include <math.h>

enum { MS = 1000000 };

/* So long after all were idle each core is busy for that share of every 4 ms. */
static struct idle_scan scan_after(uint32_t cores, uint64_t ms, double share)
{
	struct cpu cpus[8] = { 0 };
	struct sim sim = { .cpus = cpus, .cpu_count = cores, .idle_scan.cores = cores };
	for (sim.now_ns = 0; sim.now_ns < ms * MS; idle_scan_update(&sim)) {
		sim.now_ns += 4 * MS;
		for (uint32_t i = 0; i < cores; i++)
			cpus[i].busy_ns += (uint64_t)(share * 4 * MS);
	}
	return sim.idle_scan;
}

static void half_of_the_past_is_forgotten_in_32_ms(void **state)
{
	(void)state;
	assert_true(fabs(scan_after(2, 32, 1).utilization - 0.5) < 1e-9);
	assert_true(fabs(scan_after(2, 64, 0.4).utilization - 0.3) < 1e-9);
}

/* kernel/sched/fair.c, update_idle_cpu_scan(); of two cores as measured on Linux 6.18: on at 0.59, off at 0.62. */
static void nobody_looks_above_a_share_that_cores_settle(void **state)
{
	(void)state;
	static const struct {
		uint32_t cores;
		double on, off;
	} expected[] = { { 2, 0.60, 0.61 }, { 4, 0.735, 0.745 }, { 8, 0.795, 0.805 } };
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_false(scan_after(expected[i].cores, 1000, expected[i].on).is_off);
		assert_true(scan_after(expected[i].cores, 1000, expected[i].off).is_off);
	}
	assert_true(scan_after(2, 48, 1).is_off); /* busy for long enough */
	assert_false(scan_after(2, 36, 1).is_off);
}

/* Both cores were busy for 0.1 s; the woken thread's has somebody, the other one has just become idle. */
static void woken_threads_wait_where_they_were_behind_busy_times(void **state)
{
	(void)state;
	static const struct sim_op woken[] = { OP(SEM_WAIT, 0), COMPUTE(10), EXIT };
	static const struct sim_op other[] = { COMPUTE(100 * MS), EXIT };
	static const struct sim_op waker[] = { COMPUTE(101 * MS), OP(SEM_POST, 0), COMPUTE(20),
		EXIT };
	for (uint32_t cache_cores = 0; cache_cores < 3; cache_cores += 2) {
		struct trial t;
		trial_begin(
			&t, (struct sim_options){ .cores = 2, .kernel.cache_cores = cache_cores });
		assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
		trial_run(&t, THREADS(woken, other, waker));
		assert_int_equal(sim_core_busy_ns(t.sim, 1), 100 * MS + (cache_cores ? 0 : 10));
		sim_free(t.sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_of_the_past_is_forgotten_in_32_ms),
		cmocka_unit_test(nobody_looks_above_a_share_that_cores_settle),
		cmocka_unit_test(woken_threads_wait_where_they_were_behind_busy_times),
	};
	return cmocka_run_group_tests_name("sim_idle_scan", tests, NULL, NULL);
}
