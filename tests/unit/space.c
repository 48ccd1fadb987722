/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmocka_all.h"

#include "base/mem.h"
#include "uarch/explored.h"

#include <errno.h>
#include <string.h>

static const char table_iv[] = "base: base\n"
			       "vary:\n"
			       "  l3.size: [4 MiB, 8 MiB]\n"
			       "  dispatch_width: { from: 2, to: 6, step: 1 }\n"
			       "set:\n"
			       "  frequency: 10e9 / dispatch_width\n"
			       "  rob: 8 * dispatch_width * dispatch_width\n"
			       "  l3.latency: 14 ns\n"
			       "require:\n"
			       "  - { value: rob + l3_size / 1e6, most: 290 }\n";

static struct processor base_machine(void)
{
	static char name[] = "base", source[] = "by hand";
	struct processor p = { .name = name,
		.source = source,
		.cores = 4,
		.frequency_hz = 2.5e9,
		.dispatch_width = 4,
		.retire_width = 4,
		.rob = 128,
		.port_count = 4,
		.load_ports = 1,
		.store_ports = 2,
		.instruction = { .bytes = 32768, .ways = 4, .latency = 4, .shared_by = 1 },
		.levels = { { .bytes = 32768, .ways = 8, .latency = 4, .shared_by = 1 },
			{ .bytes = 262144, .ways = 8, .latency = 9, .shared_by = 1 },
			{ .bytes = 8 << 20, .ways = 16, .latency = 35, .shared_by = 4 } },
		.memory_ns = 66,
		.transfer_ns = 26 };
	processor_settle(&p);
	return p;
}

static struct space *parse(const char *text)
{
	struct space *space = NULL;
	struct err err = { "" };
	if (space_parse("s", text, strlen(text), &space, &err) < 0)
		fail_msg("%s", err.text);
	return space;
}

static void points_are_all_combinations(void **state)
{
	(void)state;
	AUTO(space) struct space *space = parse(table_iv);
	struct processor base = base_machine(), p = { 0 };
	struct err err = { "" };
	char text[MACHINE_VALUE_BYTES];
	assert_string_equal(space_base(space), "base");
	assert_int_equal(space_size(space), 10);
	assert_true(space_value(space, 0, 3) == 4 << 20 && space_value(space, 1, 3) == 5);
	space_format(space, 0, 7, text);
	assert_string_equal(text, "8 MiB");
	assert_int_equal(space_point(space, &base, 3, &p, &err), 1);
	assert_int_equal(p.dispatch_width, 5);
	assert_int_equal(p.rob, 200);
	assert_true(p.frequency_hz == 2e9 && p.levels[2].latency_ns == 14);
	assert_int_equal(p.levels[2].bytes, 4 << 20);
	assert_int_equal(p.cores, 4);
	/* 288 + 4.2 and 288 + 8.4 */
	assert_int_equal(space_point(space, &base, 4, &p, &err), 0);
	assert_string_equal(err.text, "rob + l3_size / 1e6 is 292.194");
	assert_null(space_axis(space, 2));
	assert_string_equal(space_setting(space, 1)->key, "rob");
	assert_null(space_setting(space, 3));
}

static void what_does_not_fit_is_left_out(void **state)
{
	(void)state;
	AUTO(space) struct space *space = parse("base: base\nvary:\n  l2.latency: [3, 9, 20 ns]\n");
	struct processor base = base_machine(), p = { 0 };
	struct err err = { "" };
	assert_int_equal(space_point(space, &base, 0, &p, &err), 0);
	assert_string_equal(err.text, "faster than the level before it");
	assert_int_equal(space_point(space, &base, 1, &p, &err), 1);
	assert_int_equal(space_point(space, &base, 2, &p, &err), 0); /* slower than the third */
}

static void ranges_multiply(void **state)
{
	(void)state;
	AUTO(space)
	struct space *space =
		parse("base: b\nvary:\n  memory.latency: { from: 50 ns, to: 200 ns, times: 2 }\n");
	assert_int_equal(space_size(space), 3);
	assert_true(space_value(space, 0, 2) == 200);
}

static void errors_name_the_line(void **state)
{
	(void)state;
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "vary:\n  rob: [1]\n", "s:1: 'base' names a machine" },
		{ "base: b\n", "s:1: 'vary' says what varies" },
		{ "base: b\nvary:\n  colour: [1]\n", "s:3: 'colour' is no figure of a machine" },
		{ "base: b\nvary:\n  rob: [0]\n",
			"s:3: 0 is too little: the least is 1, in 'rob'" },
		{ "base: b\nvary:\n  rob: []\n", "s:3: there are no values" },
		{ "base: b\nvary:\n  rob: 4\n",
			"s:3: 'rob' varies over a list, such as [2, 4], or a range" },
		{ "base: b\nvary:\n  rob: { from: 8, to: 4, step: 1 }\n",
			"s:3: this range has no end" },
		{ "base: b\nvary:\n  rob: { from: 8, to: 4 }\n",
			"s:3: a range has 'from', 'to', and 'step' or 'times'" },
		{ "base: b\nvary:\n  rob: [8]\nset:\n  frequency: 1e9 * robs\n",
			"s:5: '1e9 * robs': there is no parameter 'robs' and no such unit (ns, us, "
			"ms, s, min, h, %)" },
		{ "base: b\nvary:\n  rob: [8]\nrequire:\n  - rob\n",
			"s:5: such as { value: rob * frequency, most: 1e12 }" },
		{ "base: b\nvary:\n  rob: { from: 1, to: 60000, step: 1 }\n",
			"s:3: more than 10000 values" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct space *space = NULL;
		struct err err = { "" };
		assert_int_equal(
			space_parse("s", cases[i].text, strlen(cases[i].text), &space, &err),
			-EINVAL);
		assert_string_equal(err.text, cases[i].error);
		assert_null(space);
	}
}

static void the_front_is_what_no_other_beats(void **state)
{
	(void)state;
	const struct explored_point points[] = {
		{ .state = EXPLORED_DONE, .ns = 120, .energy_j = 5 },
		{ .state = EXPLORED_DONE, .ns = 100, .energy_j = 9 },
		{ .state = EXPLORED_LEFT_OUT },
		{ .state = EXPLORED_DONE, .ns = 110, .energy_j = 9.5 },
		{ .state = EXPLORED_DONE, .ns = 101, .energy_j = 7 },
		{ .state = EXPLORED_FAILED },
		{ .state = EXPLORED_DONE, .ns = 120, .energy_j = 4 },
		{ .state = EXPLORED_DONE, .ns = 130, .energy_j = 4 },
	};
	AUTO_RELEASE(explored)
	struct explored e = { .points = points, .count = ARRAY_SIZE(points), .within = 0.01 };
	static const size_t order[] = { 1, 4, 3, 0, 6, 7 }, front[] = { 1, 4, 6 };
	assert_int_equal(explored_sort(&e), 0);
	assert_int_equal(e.done, 6);
	assert_int_equal(e.left_out, 1);
	assert_int_equal(e.failed, 1);
	assert_memory_equal(e.order, order, sizeof order);
	assert_int_equal(e.near_count, 2); /* 101 is within 1% of 100 */
	assert_int_equal(e.pareto_count, 3);
	assert_memory_equal(e.pareto, front, sizeof front);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_are_all_combinations),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(ranges_multiply),
		cmocka_unit_test(errors_name_the_line),
		cmocka_unit_test(the_front_is_what_no_other_beats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
