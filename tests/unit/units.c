/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmocka_all.h"

#include "steer/units.h"

static const double TINY = 1e-9; /* rounding of the division */

/* A unit ends each `unit_ns`, the first one after `phase_ns`; looks each `step_ns`. */
struct work {
	struct units units;
	uint64_t now_ns, unit_ns, phase_ns, step_ns;
};

static uint64_t done(const struct work *work)
{
	return work->now_ns < work->phase_ns ? 0
					     : 1 + (work->now_ns - work->phase_ns) / work->unit_ns;
}

static void begin(struct work *work)
{
	units_begin(&work->units, work->now_ns, done(work));
}

/* Until the interval is told; false: not for ten of them. */
static bool measure(struct work *work, uint64_t interval_ns, double *ret_per_s, double *ret_s)
{
	uint64_t start_ns = work->now_ns;
	while (work->now_ns - start_ns < 10 * interval_ns) {
		work->now_ns += work->step_ns;
		units_see(&work->units, work->now_ns, done(work));
		if (units_rate(&work->units, work->now_ns, work->now_ns - start_ns >= interval_ns,
			    ret_per_s, ret_s))
			return true;
	}
	return false;
}

static void few_units_are_measured_from_end_to_end(void **state)
{
	(void)state;
	double rate, seconds;
	/* 3.3 units an interval, whatever part of one is under way when it begins. */
	for (uint64_t phase = 1; phase < 30; phase += 4) {
		struct work work = { .unit_ns = 30, .phase_ns = phase, .step_ns = 1 };
		begin(&work);
		for (int i = 0; i < 5; i++) {
			assert_true(measure(&work, 100, &rate, &seconds));
			assert_float_equal(rate, 1e9 / 30, 1e9 * TINY);
			assert_true(seconds > 59e-9 && seconds < 121e-9);
		}
	}
}

static void many_units_need_no_looks(void **state)
{
	(void)state;
	double rate, seconds;
	struct work work = { .unit_ns = 1, .phase_ns = 1, .step_ns = 50 };
	begin(&work);
	assert_true(units_are_few(&work.units));
	assert_true(measure(&work, 1000, &rate, &seconds)); /* long before its end */
	assert_float_equal(rate, 1e9, 1e9 * TINY);
	assert_float_equal(seconds, 50e-9, TINY * 1e-9);
}

static void a_unit_may_take_longer_than_an_interval(void **state)
{
	(void)state;
	double rate, seconds;
	struct work work = { .unit_ns = 250, .phase_ns = 20, .step_ns = 1 };
	begin(&work);
	for (int i = 0; i < 3; i++) {
		assert_true(measure(&work, 100, &rate, &seconds));
		assert_float_equal(rate, 1e9 / 250, 1e9 * TINY);
	}
}

static void a_time_without_work_does_not_count(void **state)
{
	(void)state;
	double rate, seconds;
	struct work work = { .unit_ns = 30, .phase_ns = 5000, .step_ns = 1 };
	begin(&work);
	assert_false(measure(&work, 100, &rate, &seconds));
	work.now_ns = 4990;
	assert_true(measure(&work, 100, &rate, &seconds));
	assert_float_equal(rate, 1e9 / 30, 1e9 * TINY);
	/* The next time without work comes when it is under way. */
	work.phase_ns = work.now_ns + 1000;
	begin(&work);
	assert_true(measure(&work, 500, &rate, &seconds));
	assert_float_equal(rate, 1e9 / 30, 1e9 * TINY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_units_are_measured_from_end_to_end),
		cmocka_unit_test(many_units_need_no_looks),
		cmocka_unit_test(a_unit_may_take_longer_than_an_interval),
		cmocka_unit_test(a_time_without_work_does_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
