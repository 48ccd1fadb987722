/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core model on ports that are chosen when a micro-operation is dispatched, not when it issues. */
#include "core_script.h"

#include "base/mem.h"

/* The port on which multiplications pile up is not the one that additions are bound to. */
static void what_is_bound_spreads_over_ports(void **state)
{
	(void)state;
	struct script script = multiply_and_add();
	struct processor processor = eight_wide();
	processor.binds = 1;
	processor.units[CODE_MULTIPLY].ports = 1;
	processor.units[CODE_ALU].ports = 7;
	assert_near(play_hits(&script, &processor).cpi, 1. / 3, 0.02);
	processor.units[CODE_ALU].ports = 3;
	assert_near(play_hits(&script, &processor).cpi, 1. / 2, 0.02);
}

/* A step of this chain is an addition beside a multiplication; the addition is bound to the port that both can take. */
static void what_is_bound_waits_for_its_port_though_another_is_free(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_ALU, .reads = BIT(0), .writes = BIT(1) },
			{ .class = CODE_MULTIPLY, .reads = BIT(0), .writes = BIT(2) },
			{ .class = CODE_FP_ADD, .reads = BIT(1) | BIT(2), .writes = BIT(0) } }
	};
	repeat(&script, 3);
	struct processor processor = eight_wide();
	processor.rob = 3;
	processor.units[CODE_ALU].ports = 3;
	processor.units[CODE_MULTIPLY].ports = 2;
	processor.units[CODE_FP_ADD].ports = 4;
	assert_near(play_hits(&script, &processor).cpi, 2. / 3, 0.01);
	processor.binds = 1;
	double bound = play_hits(&script, &processor)
			       .cpi; /* at best the same, at worst one cycle more a step */
	assert_true(bound > 1.1 * 2 / 3 && bound < 1.01);
}

/* A multiplication, two additions and a compare with its branch have four ports, if each takes one that the others leave. */
static void what_is_bound_together_does_not_meet(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_MULTIPLY, .writes = BIT(1) },
			{ .class = CODE_ALU, .reads = BIT(2), .writes = BIT(2) },
			{ .class = CODE_ALU, .reads = BIT(4), .writes = BIT(4) },
			{ .class = CODE_ALU, .reads = BIT(3), .writes = BIT(3) | BIT(FLAGS) },
			{ .class = CODE_BRANCH, .reads = BIT(FLAGS) } }
	};
	repeat(&script, 5);
	struct processor processor = eight_wide();
	processor.fuses = 1;
	processor.dispatch_width = 4;
	processor.units[CODE_MULTIPLY].ports = 1 << 1;
	processor.units[CODE_ALU].ports = 0xf;
	processor.compare_ports = 1 << 0 | 1 << 3;
	processor.binds = 2;
	assert_near(play_hits(&script, &processor).cpi, 1. / 5, 0.02);
	processor.binds = 1;
	assert_true(play_hits(&script, &processor).cpi > 1.1 / 5);
}

/* Beside the port of branches. */
static void compares_with_their_branch_have_ports_of_their_own(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ALU, .writes = BIT(1) },
					 { .class = CODE_ALU, .writes = BIT(FLAGS) },
					 { .class = CODE_BRANCH, .reads = BIT(FLAGS) } } };
	repeat(&script, 3);
	struct processor processor = eight_wide();
	processor.fuses = 1;
	processor.units[CODE_ALU].ports = 1;
	processor.units[CODE_BRANCH].ports = 2;
	assert_near(play_hits(&script, &processor).cpi, 1. / 3, 0.02);
	processor.compare_ports = 1;
	assert_near(play_hits(&script, &processor).cpi, 2. / 3, 0.02);
}

/* Eight loads to a line, three ports. */
static void loads_of_vectors_have_their_own_ports_and_latency(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_MOVE, .flags = CODE_LOAD, .writes = BIT(1) } }
	};
	repeat(&script, 1);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096;
	struct processor processor = eight_wide();
	processor.load_ports = 7;
	processor.vector_load_ports = 3;
	processor.vector_load = 3;
	assert_near(play_hits(&script, &processor).cpi, 1. / 3, 0.02);
	script.codes[0].writes = BIT(CODE_REGISTER_VECTOR);
	assert_near(play_hits(&script, &processor).cpi, 1. / 2, 0.02);
	script.codes[0].address_reads = script.codes[1].writes = BIT(1);
	script.codes[1].reads = BIT(CODE_REGISTER_VECTOR);
	script.codes[1].class = CODE_SHUFFLE;
	repeat(&script, 2);
	for (unsigned i = 1; i < OPS; i += 2)
		script.ops[i].address = 0;
	assert_near(play_hits(&script, &processor).cpi, (4 + 3 + 1) / 2., 0.01);
}

/* Four loads of which so many are of vectors, on four ports, two of them for vectors. */
static double four_loads(unsigned vectors, uint32_t blocks)
{
	struct script script = {
		.codes = { { .class = CODE_MOVE, .flags = CODE_LOAD, .writes = BIT(1) },
			{ .class = CODE_MOVE,
				.flags = CODE_LOAD,
				.writes = BIT(CODE_REGISTER_VECTOR) } }
	};
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i] = (struct micro_op){ .code = i % 4 < vectors, .address = 4096 };
	struct processor processor = eight_wide();
	processor.load_ports = 15;
	processor.vector_load_ports = 3;
	processor.vector_load_blocks = blocks;
	return 4 * play_hits(&script, &processor).cpi;
}

static void two_loads_of_vectors_leave_place_for_one_other(void **state)
{
	(void)state;
	assert_near(four_loads(2, 0), 1, 0.02);
	assert_near(four_loads(1, 12), 1, 0.02);
	double both = four_loads(2, 12);
	assert_true(both > 1.15 && both < 1.4);
}

static void stores_of_vectors_have_their_own_ports(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_MOVE, .flags = CODE_STORE, .reads = BIT(1) },
			{ .class = CODE_FP_ADD, .writes = BIT(CODE_REGISTER_VECTOR + 1) } }
	};
	repeat(&script, 2);
	for (unsigned i = 0; i < OPS; i += 2)
		script.ops[i].address = 4096;
	struct processor processor = eight_wide();
	processor.store_ports = 2;
	processor.vector_store_ports = processor.units[CODE_FP_ADD].ports = 1;
	assert_near(play_hits(&script, &processor).cpi, 1. / 2, 0.02);
	script.codes[0].reads = BIT(CODE_REGISTER_VECTOR);
	assert_near(play_hits(&script, &processor).cpi, 1, 0.02);
}

/* One of two additions waits for the other's result: as many pairs are under way as the queue has places. */
static void vectors_wait_in_a_queue_of_their_own(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_FP_ADD, .writes = BIT(CODE_REGISTER_VECTOR) },
			{ .class = CODE_FP_ADD,
				.reads = BIT(CODE_REGISTER_VECTOR),
				.writes = BIT(CODE_REGISTER_VECTOR) } }
	};
	repeat(&script, 2);
	struct processor processor = eight_wide();
	processor.units[CODE_FP_ADD].latency = 12;
	assert_near(play_hits(&script, &processor).cpi, 1. / 8, 0.02);
	processor.vector_queue = 2;
	double pair = 12 + 2; /* cycles: each of them comes into the queue before it issues */
	assert_near(play_hits(&script, &processor).cpi, pair / 2 / 2, 0.02);
	processor.vector_backlog = 200;
	assert_near(play_hits(&script, &processor).cpi, pair / 2 / 2, 0.02);
	processor.vector_queue = 200;
	assert_near(play_hits(&script, &processor).cpi, 1. / 8, 0.02);
}

/* Additions wait for their loads, which miss; the load behind the last addition that finds a place begins, too. */
static void loads_begin_behind_vectors_that_wait_for_a_place(void **state)
{
	(void)state;
	struct script script = independent_loads();
	script.codes[0].writes = BIT(1);
	script.codes[1] = (struct code){
		.class = CODE_FP_ADD, .reads = BIT(1), .writes = BIT(CODE_REGISTER_VECTOR)
	};
	struct processor processor = eight_wide();
	processor.vector_queue = 4;
	double mlp = play(&script, &processor, (struct core_input){ 0 }, always_memory).mlp;
	assert_near(mlp, 4 + 1, 0.05);
	processor.vector_backlog = 3;
	mlp = play(&script, &processor, (struct core_input){ 0 }, always_memory).mlp;
	assert_near(mlp, 4 + 3 + 1, 0.05);
}

/*
 * Loops on a Zen 4: multiplications, which have one port, additions, which have four, and the loop's end, which has two.
 * None waits for another. Cycles of a round: measured there, what the ports allow, and how far off the rule is.
 */
static void operations_go_where_the_fewest_went_of_late(void **state)
{
	(void)state;
	static const struct {
		unsigned multiplies, adds;
		double measured, allowed, tolerance;
	} loops[] = { { 0, 9, 2.50, 2.50, 0.03 }, { 1, 8, 2.56, 2.50, 0.03 },
		{ 2, 9, 3.99, 3.00, 0.25 }, { 3, 7, 4.99, 3.00, 0.25 },
		{ 4, 7, 6.48, 4.00, 0.25 } };
	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		unsigned length = loops[i].multiplies + loops[i].adds;
		struct script script = { 0 };
		for (unsigned j = 0; j < length; j++)
			script.codes[j].class = j < loops[i].multiplies ? CODE_MULTIPLY : CODE_ALU;
		script.codes[length] = (struct code){ .class = CODE_ALU, .writes = BIT(FLAGS) };
		script.codes[length + 1] =
			(struct code){ .class = CODE_BRANCH, .reads = BIT(FLAGS) };
		repeat(&script, length + 2);
		struct processor processor = eight_wide();
		processor.dispatch_width = 6;
		processor.fuses = 1;
		processor.issue_queue = 96;
		processor.units[CODE_MULTIPLY].ports = 1 << 1;
		processor.units[CODE_ALU].ports = 0xf;
		processor.compare_ports = 1 << 0 | 1 << 3;
		double cycles = play_hits(&script, &processor).cpi * (length + 2);
		assert_near(cycles, loops[i].allowed, 0.03);
		processor.binds = 2;
		processor.port_queue = 24;
		cycles = play_hits(&script, &processor).cpi * (length + 2);
		assert_near(cycles, loops[i].measured, loops[i].tolerance);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_bound_spreads_over_ports),
		cmocka_unit_test(loads_of_vectors_have_their_own_ports_and_latency),
		cmocka_unit_test(two_loads_of_vectors_leave_place_for_one_other),
		cmocka_unit_test(stores_of_vectors_have_their_own_ports),
		cmocka_unit_test(what_is_bound_together_does_not_meet),
		cmocka_unit_test(operations_go_where_the_fewest_went_of_late),
		cmocka_unit_test(compares_with_their_branch_have_ports_of_their_own),
		cmocka_unit_test(vectors_wait_in_a_queue_of_their_own),
		cmocka_unit_test(loads_begin_behind_vectors_that_wait_for_a_place),
		cmocka_unit_test(what_is_bound_waits_for_its_port_though_another_is_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
