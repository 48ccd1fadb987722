/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements of a machine that others use: what is kept of several, and whether they are said to be disturbed. */
#include "cmocka_all.h"
#include "machine/locked_speed.h"
#include "machine/machine.h"
#include "machine/machine_speed.h"
#include "machine/wake_probe.h"

#include <sched.h>
#include <unistd.h>

/* What others only make slower, the best; what programs meet beside them, the middle. */
static void of_several_rounds_each_figure_is_the_one_of_its_kind(void **state)
{
	(void)state;
	const struct machine_speed rounds[] = {
		{ .hz = 3e9,
			.locked_miss_ns = 2,
			.pair.lock_ns = 10,
			.pair.transfer_ns = 100,
			.pair.transfer_least_ns = 90,
			.pair.transfer_most_ns = 110,
			.pair.stay = 50,
			.switch_ns = 1500,
			.interrupt = { .cost_ns = 9000, .lost_ns = 8000 },
			.front = { .mispredicted_ns = 6, .line_ns = 0.1, .split_ns = 1 },
			.fetch = { .second_ns = 2, .third_ns = 6 },
			.others = 0.5,
			.memory = { .levels = { .bytes = { 32, 64, 128 }, .memory_ns = 90 },
				.core_bytes_per_s = 8e9,
				.fault_ns = 900,
				.lifetime_ns = 0,
				.paged = { { 64, 50 }, { 32, 20 } } } },
		{ .hz = 2.9e9,
			.interrupted = 0.1,
			.interruption_ns = 50000,
			.locked_miss_ns = 3,
			.pair.lock_ns = 12,
			.pair.lock_overlap = 0.9,
			.pair.transfer_ns = 60,
			.pair.transfer_least_ns = 50,
			.pair.transfer_most_ns = 60,
			.pair.stay = 20,
			.wake_ns = 3000,
			.switch_ns = 1400,
			.front = { .mispredicted_ns = 5, .line_ns = 0.3, .split_ns = 2 },
			.fetch = { .second_ns = 1.5, .third_ns = 5 },
			.others = 0.2,
			.shared = 0.1,
			.memory = { .levels = { .bytes = { 32, 64, 100 }, .memory_ns = 80 },
				.core_bytes_per_s = 9e9,
				.lifetime_ns = 5e6,
				.paged = { { 64, 60 }, { 32, 25 } } } },
		{ .hz = 2.5e9,
			.interrupted = 0.3,
			.interruption_ns = 40000,
			.pair.lock_ns = 11,
			.pair.lock_overlap = 1,
			.pair.transfer_ns = 70,
			.pair.stay = 30,
			.wake_ns = 4000,
			.interrupt = { .cost_ns = 7000 },
			.front = { .mispredicted_ns = 7, .line_ns = 0.2, .split_ns = 3 },
			.fetch = { .second_ns = 1.6, .third_ns = 4 },
			.memory = { .levels = { .bytes = { 32, 64, 90 }, .memory_ns = 150 },
				.core_bytes_per_s = 4e9,
				.lifetime_ns = 0,
				.paged = { { 64, 90 }, { 32, 22 } } } },
	};
	struct machine_speed speed = machine_speed_settle(rounds, 3);
	assert_true(speed.hz == 2.9e9 && speed.interrupted == 0.1);
	assert_true(speed.interruption_ns == 40000); /* of those that were interrupted */
	assert_true(
		speed.locked_miss_ns == 2 && speed.pair.lock_ns == 10 && speed.switch_ns == 1400);
	assert_true(speed.pair.transfer_least_ns == 50 && speed.pair.transfer_most_ns == 110);
	assert_true(machine_speed_cores_move(&speed) && !machine_speed_cores_move(&rounds[0]));
	assert_true(speed.pair.lock_overlap == 0.9);
	assert_true(speed.pair.transfer_ns == 70 && speed.pair.stay == 30); /* of one round */
	assert_true(speed.wake_ns == 3000); /* what was not measured is no figure */
	assert_true(speed.interrupt.cost_ns == 7000 && speed.interrupt.lost_ns == 8000);
	assert_true(speed.front.mispredicted_ns == 5);
	assert_true(speed.front.line_ns == 0.2 && speed.front.split_ns == 3); /* of one round */
	assert_true(speed.fetch.second_ns == 1.5 && speed.fetch.third_ns == 5);
	assert_true(speed.others == 0.2 && speed.shared == 0);
	assert_int_equal(speed.memory.levels.bytes[2], 100);
	assert_true(speed.memory.levels.memory_ns == 90);
	assert_true(speed.memory.core_bytes_per_s == 8e9 && speed.memory.fault_ns == 900);
	assert_true(speed.memory.lifetime_ns == 0); /* twice longer than was waited for */
	assert_true(speed.memory.paged[0].more_ns == 60 && speed.memory.paged[1].more_ns == 22);
	assert_int_equal(speed.memory.paged[0].bytes, 64);
}

static void a_measurement_beside_others_is_disturbed(void **state)
{
	(void)state;
	assert_false(machine_speed_is_disturbed(&(struct machine_speed){ .others = 0.02 }));
	assert_true(machine_speed_is_disturbed(&(struct machine_speed){ .others = 1 }));
	assert_true(machine_speed_is_disturbed(&(struct machine_speed){ .shared = 0.3 }));
}

/* Whatever else runs: less than a load from any memory; and of a core without a first level nothing is known. */
static void a_locked_operation_that_misses_takes_less_than_memory(void **state)
{
	(void)state;
	double ns = locked_miss_measure(32 << 10);
	assert_true(ns >= 0 && ns < 1000);
	assert_true(locked_miss_measure(0) == 0);
}

/* Threads that read all of the time on each core, at a priority at which nobody else gets one. */
static void bandwidth_is_measured_at_real_time_priority_too(void **state)
{
	(void)state;
	const struct sched_param first = { .sched_priority = 1 }, usual = { 0 };
	const struct machine machine = { .usable = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) };
	struct memory_speed speed = { .levels = { .bytes = { 1 << 15, 1 << 20 } } };
	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0)
		skip();
	(void)alarm(60); /* ends the program, should no thread come to an end */
	memory_rates_measure(&machine, &speed);
	(void)alarm(0);
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &usual), 0);
	assert_true(speed.bytes_per_s > 0);
}

/* The thread that is to sleep gets away from its waker's processor, which others do not get while the waker works. */
static void wake_ups_are_measured_at_real_time_priority_too(void **state)
{
	(void)state;
	enum { TRIES = 50 };
	const struct sched_param first = { .sched_priority = 1 }, usual = { 0 };
	struct wake_probe probe = { 0 };
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || sched_setscheduler(0, SCHED_FIFO, &first) < 0)
		skip();
	for (int i = 0; i < TRIES && probe.latency_ns == 0; i++)
		probe = wake_probe_measure(0);
	double switch_ns = switch_probe_measure();
	(void)interrupt_probe_measure(); /* nobody makes room for anybody: it ends all the same */
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &usual), 0);
	assert_true(probe.latency_ns > 0);
	assert_true(switch_ns > 0);
}

static void calls_take_their_time(void **state)
{
	(void)state;
	struct call_probe probe = call_probe_measure();
	assert_true(probe.ns > 0 && probe.yield_ns > 0 && probe.yield_switch_ns >= 0);
}

/* `true` stands for the program that has more. */
static void starting_a_process_takes_its_time(void **state)
{
	(void)state;
	struct start_probe probe = start_probe_measure("true");
	/* Two libraries are part of it: which part, on a busy machine luck may tell. */
	assert_true(probe.exec_ns >= 0 && probe.library_ns >= 0);
	assert_true(probe.exec_ns + 2 * probe.library_ns > 0);
	assert_true(probe.exec_ns < 1e10 && probe.library_ns < 1e10);
	probe = start_probe_measure("/nonexistent");
	assert_true(probe.library_ns == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_several_rounds_each_figure_is_the_one_of_its_kind),
		cmocka_unit_test(a_measurement_beside_others_is_disturbed),
		cmocka_unit_test(a_locked_operation_that_misses_takes_less_than_memory),
		cmocka_unit_test(bandwidth_is_measured_at_real_time_priority_too),
		cmocka_unit_test(calls_take_their_time),
		cmocka_unit_test(starting_a_process_takes_its_time),
		cmocka_unit_test(wake_ups_are_measured_at_real_time_priority_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
