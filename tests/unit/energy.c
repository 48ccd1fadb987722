/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Energy by hand. */
#include "cmocka_all.h"
#include "uarch/energy.h"

#include <math.h>

static struct processor two_watts(void)
{
	/* At 2 GHz: 1 V, 1 nF, 2 W of switching in a core at full width. */
	return (struct processor){ .frequency_hz = 2e9,
		.dispatch_width = 4,
		.power = { .static_w = 3,
			.dynamic_nf = 1,
			.idle_fraction = 0.1,
			.uncore_w = 5,
			.memory_nj = 20,
			.voltages = { { 1e9, 0.8 }, { 2e9, 1 }, { 4e9, 1.2 } },
			.voltage_count = 3 } };
}

static void assert_close(double value, double expected)
{
	if (fabs(value - expected) > 1e-9 * fabs(expected))
		fail_msg("%.12g is not %.12g", value, expected);
}

static void a_core_at_full_width_takes_c_v2_f(void **state)
{
	(void)state;
	struct processor processor = two_watts();
	struct energy energy = energy_of(&processor,
		&(struct energy_use){ .seconds = 10, .cores = 1, .uops = 4 * 2e9 * 10. });
	assert_close(energy.dynamic_j, 20);
	assert_close(energy.static_j, 30);
	assert_close(energy.uncore_j, 50);
	assert_close(energy.total_j, 100);
	assert_close(energy.edp_js, 1000);
}

static void stalls_and_idle_cores_take_their_share(void **state)
{
	(void)state;
	struct processor processor = two_watts();
	/* One core of two uses half of its slots. */
	struct energy_use use = { .seconds = 10, .cores = 2, .uops = 2 * 2e9 * 10. };
	assert_close(energy_of(&processor, &use).dynamic_j, 10 + 0.1 * 30);
	use.uops = 0;
	assert_close(energy_of(&processor, &use).dynamic_j, 0.1 * 40);
	use.memory_lines = 1e9;
	assert_close(energy_of(&processor, &use).memory_j, 20);
}

static void volts_follow_the_frequency(void **state)
{
	(void)state;
	struct processor processor = two_watts();
	assert_close(energy_volts(&processor.power, 3e9), 1.1);
	assert_close(energy_volts(&processor.power, 1e9), 0.8);
	assert_close(energy_volts(&processor.power, 1e8), 0.8);
	assert_close(energy_volts(&processor.power, 9e9), 1.2);
	/* The same work in half the time: leakage halves, switching costs V^2 more. */
	struct energy_use use = { .seconds = 10, .cores = 1, .uops = 4 * 2e9 * 10. };
	struct energy slow = energy_of(&processor, &use);
	processor.frequency_hz = 4e9;
	use.seconds = 5;
	struct energy fast = energy_of(&processor, &use);
	assert_close(fast.dynamic_j, 1.2 * 1.2 * slow.dynamic_j);
	assert_close(fast.static_j, slow.static_j / 2);
}

static void nothing_is_said_without_a_power_model(void **state)
{
	(void)state;
	struct processor processor = two_watts();
	processor.power.voltage_count = 0;
	struct energy_use use = { .seconds = 10, .cores = 1, .uops = 1e9 };
	assert_false(energy_is_known(&processor));
	assert_true(energy_of(&processor, &use).total_j == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_core_at_full_width_takes_c_v2_f),
		cmocka_unit_test(stalls_and_idle_cores_take_their_share),
		cmocka_unit_test(volts_follow_the_frequency),
		cmocka_unit_test(nothing_is_said_without_a_power_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
