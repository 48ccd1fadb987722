/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core model on what single operations take: renaming, slots, chains of a class, addresses, lines of one set. */
#include "core_script.h"

static void a_move_at_renaming_costs_nothing_but_its_place(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_ALU, .reads = BIT(1), .writes = BIT(0) },
			{ .class = CODE_MOVE, .reads = BIT(0), .writes = BIT(1) } }
	};
	repeat(&script, 2);
	struct processor processor = eight_wide();
	assert_near(play_hits(&script, &processor).cpi, 2 / 2., 0.01);
	processor.units[CODE_MOVE].latency = 0;
	assert_near(play_hits(&script, &processor).cpi, 1 / 2., 0.01);
}

static void an_operation_of_two_slots_takes_two_places(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ALU, .writes = BIT(0) } } };
	struct processor processor = eight_wide();
	assert_near(play_hits(&script, &processor).cpi, 1 / 8., 0.005);
	processor.units[CODE_ALU].slots = 2;
	assert_near(play_hits(&script, &processor).cpi, 2 / 8., 0.005);
}

/* Loads and additions, one of each by turns: a result has a register until it commits. */
static void results_wait_for_registers(void **state)
{
	(void)state;
	enum { VECTOR = CODE_REGISTER_VECTOR };
	struct script script = independent_loads();
	struct processor processor = eight_wide();
	const struct core_input input = { 0 };
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY / 256., 0.05);
	processor.vector_registers = 32;
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY / 256., 0.05);
	processor.registers = 64;
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY / 64., 0.05);
	/* The loads' results are elsewhere: of these there are fewer. */
	script.codes[0].writes = BIT(VECTOR);
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY / 64., 0.05);
	script.codes[1].writes = BIT(FLAGS);
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY / 64., 0.05);
	processor.vector_registers = 0;
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY / 256., 0.05);
}

/* Eight loads of each line, which is in no cache. */
static void loads_of_lines_under_way_have_a_place(void **state)
{
	(void)state;
	struct script script = independent_loads();
	struct processor processor = eight_wide();
	const struct core_input input = { 0 };
	const struct core_odds odds = { .beyond = { 1 / 8., 1 / 8., 1 / 8. } };
	repeat(&script, 1);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096 * (1 + (uint64_t)i / 8 * 7919 % 65536) + i % 8 * 8;
	assert_near(play(&script, &processor, input, odds).cpi, MEMORY / 256., 0.05);
	processor.waiting_loads = 32;
	assert_near(play(&script, &processor, input, odds).cpi, MEMORY / 32., 0.05);
	/* Hits need none. */
	assert_near(play_hits(&script, &processor).cpi, 1 / 8., 0.01);
}

/* A half of the latency is another one each time: a chain of loads takes the mean, 32 loads in order the longest of so many, H(32) = 4.06. */
static void memory_takes_another_time_each_time(void **state)
{
	(void)state;
	struct script script = independent_loads();
	struct processor processor = eight_wide();
	const struct core_input input = { 0 };
	repeat(&script, 1);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096 * (1 + (uint64_t)i * 7919 % 65536);
	processor.rob = 32;
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY / 32., 0.05);
	processor.memory_spread = 0.5;
	double longest = play(&script, &processor, input, always_memory).cpi / (MEMORY / 32.);
	assert_true(longest > 1.5 && longest < 0.5 + 0.5 * 4.06);
	script.codes[0].address_reads = script.codes[0].writes = BIT(0);
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY, 0.05);
}

/* What renaming does takes none. */
static void moves_take_no_register(void **state)
{
	(void)state;
	struct script script = independent_loads();
	struct processor processor = eight_wide();
	const struct core_input input = { 0 };
	script.codes[1] = (struct code){ .class = CODE_MOVE, .reads = BIT(2), .writes = BIT(3) };
	processor.registers = 64;
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY / 64., 0.05);
	processor.units[CODE_MOVE].latency = 0;
	assert_near(play(&script, &processor, input, always_memory).cpi, MEMORY / 128., 0.05);
}

/* Each leads to the next. */
static void addresses_with_multiplied_indices_take_longer(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MOVE,
					 .flags = CODE_LOAD | CODE_SCALED,
					 .data_bytes = 8,
					 .address_reads = BIT(0) | BIT(1),
					 .writes = BIT(0) } } };
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096;
	struct processor processor = eight_wide();
	assert_near(play_hits(&script, &processor).cpi, 4, 0.01);
	processor.scaled_load = 3;
	assert_near(play_hits(&script, &processor).cpi, 4 + 3, 0.01);
}

/* A page apart, or a page and a line; the second level has all, or the third. */
static void lines_of_one_set_come_one_after_the_other(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MOVE,
					 .flags = CODE_LOAD,
					 .data_bytes = 8,
					 .writes = BIT(0) } } };
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096 * (1 + (uint64_t)i);
	struct processor processor = eight_wide();
	const struct core_odds second = { .beyond = { 1, 0, 0 } },
			       third = { .beyond = { 1, 1, 0 } };
	const struct core_input input = { 0 };
	processor.levels[0].same_set = 6;
	processor.levels[1].same_set = 11;
	assert_near(play(&script, &processor, input, second).cpi, 6, 0.1);
	assert_near(play(&script, &processor, input, third).cpi, 11, 0.1);
	processor.levels[0].same_set = 0;
	assert_near(play(&script, &processor, input, third).cpi, 11, 0.1);
	assert_true(play(&script, &processor, input, second).cpi < 1);
	processor.levels[0].same_set = 6;
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address += LINE * (uint64_t)i;
	assert_true(play(&script, &processor, input, second).cpi < 1);
}

/* A chain of additions, of which another kind's operation sees the whole latency. */
static void operations_of_a_class_follow_one_another_sooner(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_FP_ADD, .reads = BIT(0), .writes = BIT(0) },
			{ .class = CODE_FP_ADD, .reads = BIT(0), .writes = BIT(0) } }
	};
	repeat(&script, 2);
	struct processor processor = eight_wide();
	processor.units[CODE_FP_ADD].latency = 5;
	assert_near(play_hits(&script, &processor).cpi, 5, 0.01);
	processor.units[CODE_FP_ADD].chained = 2;
	assert_near(play_hits(&script, &processor).cpi, 2, 0.01);
	script.codes[1].class = CODE_ALU;
	assert_near(play_hits(&script, &processor).cpi, (5 + 1) / 2., 0.01);
}

/* Four ports: two multiplications and six others at once, of which one that starts in a cycle keeps a port from more. */
static void some_operations_keep_a_port_from_others(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MULTIPLY, .writes = BIT(0) },
					 { .class = CODE_ALU, .writes = BIT(1) } } };
	repeat(&script, 2);
	for (unsigned binds = 0; binds < 3; binds++) {
		struct processor processor = eight_wide();
		processor.binds = binds;
		processor.units[CODE_MULTIPLY].ports = 3;
		processor.units[CODE_ALU].ports = 0xf;
		assert_near(play_hits(&script, &processor).cpi, 1 / 4., 0.01);
		/* Two of each, and one port in vain: five in four. */
		processor.units[CODE_MULTIPLY].blocks = 0xc;
		double cpi = play_hits(&script, &processor).cpi;
		assert_true(cpi > 1 / 3.5 && cpi < 1 / 3.);
	}
}

/* Pairs of which the second waits for the first, which ports are short for: each second one takes two. */
static void what_was_started_too_soon_is_started_again(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_ALU, .writes = BIT(0) },
			{ .class = CODE_ALU, .reads = BIT(0), .writes = BIT(1) } }
	};
	repeat(&script, 2);
	struct processor processor = eight_wide();
	processor.replays = 1;
	assert_near(play_hits(&script, &processor).cpi, 1 / 8., 0.01); /* ports for all */
	processor.units[CODE_ALU].ports = 0xf;
	assert_near(play_hits(&script, &processor).cpi, 3 / 2. / 4, 0.01);
	processor.replays = 0;
	assert_near(play_hits(&script, &processor).cpi, 1 / 4., 0.01);
}

/* One from a general register takes a port of those that lead across, too; one from memory or a vector does not. */
static void conversions_come_across(void **state)
{
	(void)state;
	enum { VECTOR = CODE_REGISTER_VECTOR };
	struct script script = {
		.codes = { { .class = CODE_CONVERT, .reads = BIT(0), .writes = BIT(VECTOR) } }
	};
	struct processor processor = eight_wide();
	processor.units[CODE_CONVERT].ports = 3;
	processor.units[CODE_CROSS].ports = 4;
	assert_near(play_hits(&script, &processor).cpi, 1 / 2., 0.01);
	processor.crossings = 1;
	assert_near(play_hits(&script, &processor).cpi, 1, 0.01);
	script.codes[0].reads = BIT(VECTOR + 1);
	assert_near(play_hits(&script, &processor).cpi, 1 / 2., 0.01);
}

/* Two stores and two additions, for which there are two ports. */
static void what_is_stored_may_come_by_a_port_of_additions(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_STORE,
						    .data_bytes = 8,
						    .reads = BIT(0) },
					 { .class = CODE_ALU, .writes = BIT(1) } } };
	repeat(&script, 2);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = i % 2 == 0 ? 4096 : 0;
	struct processor processor = eight_wide();
	processor.units[CODE_ALU].ports = 3;
	double without = play_hits(&script, &processor).cpi;
	processor.store_data = 1;
	assert_near(play_hits(&script, &processor).cpi, 1 / 2., 0.01);
	assert_true(without < 0.4);
	script.codes[0].reads = BIT(CODE_REGISTER_VECTOR);
	assert_near(play_hits(&script, &processor).cpi, without, 0.01);
}

/* Stores to two lines in turn, by two ports. */
static void two_stores_go_to_one_line_at_once_or_to_any(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MOVE,
					 .flags = CODE_STORE,
					 .data_bytes = 8,
					 .reads = BIT(0) } } };
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096 + LINE * (i % 2);
	struct processor processor = eight_wide();
	processor.store_ports = 3;
	assert_near(play_hits(&script, &processor).cpi, 1, 0.01);
	processor.store_lines = 2;
	assert_near(play_hits(&script, &processor).cpi, 1 / 2., 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_move_at_renaming_costs_nothing_but_its_place),
		cmocka_unit_test(results_wait_for_registers),
		cmocka_unit_test(loads_of_lines_under_way_have_a_place),
		cmocka_unit_test(memory_takes_another_time_each_time),
		cmocka_unit_test(moves_take_no_register),
		cmocka_unit_test(an_operation_of_two_slots_takes_two_places),
		cmocka_unit_test(addresses_with_multiplied_indices_take_longer),
		cmocka_unit_test(lines_of_one_set_come_one_after_the_other),
		cmocka_unit_test(operations_of_a_class_follow_one_another_sooner),
		cmocka_unit_test(some_operations_keep_a_port_from_others),
		cmocka_unit_test(what_was_started_too_soon_is_started_again),
		cmocka_unit_test(conversions_come_across),
		cmocka_unit_test(two_stores_go_to_one_line_at_once_or_to_any),
		cmocka_unit_test(what_is_stored_may_come_by_a_port_of_additions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
