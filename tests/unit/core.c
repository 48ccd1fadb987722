/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core model against what interval analysis says in closed form of programs that have one bottleneck. */
#include "core_script.h"

#include <errno.h>
#include <string.h>

static void independent_operations_go_at_the_width(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ALU, .writes = BIT(0) } } };
	struct processor processor = eight_wide();
	processor.dispatch_width = 4;
	struct core_result result = play_hits(&script, &processor);
	assert_near(result.cpi, 0.25, 0.001);
	assert_near(result.dispatch_rate, 4, 0.001);
	assert_near(result.uops, 1, 1e-9);
}

static void a_chain_goes_at_its_latency(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_FP_ADD, .reads = BIT(17), .writes = BIT(17) } }
	};
	struct processor processor = eight_wide();
	processor.units[CODE_FP_ADD].latency = 4;
	assert_near(play_hits(&script, &processor).cpi, 4, 0.001);
}

/* Four balanced chains: W / (l K(W)) with K(W) = W / 4. */
static void chains_side_by_side_share_the_latency(void **state)
{
	(void)state;
	struct script script = { 0 };
	for (unsigned i = 0; i < 4; i++)
		script.codes[i] = (struct code){
			.class = CODE_FP_ADD, .reads = BIT(17 + i), .writes = BIT(17 + i)
		};
	repeat(&script, 4);
	struct processor processor = eight_wide();
	processor.units[CODE_FP_ADD].latency = 6;
	assert_near(play_hits(&script, &processor).cpi, 6. / 4, 0.002);
}

static void the_busiest_port_is_the_limit(void **state)
{
	(void)state;
	struct script script = multiply_and_add();
	struct processor processor = eight_wide();
	/* ALU operations could take the port of the multiplications, and must not. */
	processor.units[CODE_MULTIPLY].ports = 1;
	processor.units[CODE_ALU].ports = 7;
	assert_near(play_hits(&script, &processor).cpi, 1. / 3, 0.01);
	processor.units[CODE_ALU].ports = 3;
	assert_near(play_hits(&script, &processor).cpi, 1. / 2, 0.01);
}

static void a_unit_that_is_not_pipelined_is_busy_for_its_interval(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_DIVIDE, .writes = BIT(0) },
					 { .class = CODE_ALU, .writes = BIT(1) } } };
	repeat(&script, 2);
	struct processor processor = eight_wide();
	processor.units[CODE_DIVIDE] = (struct unit){ .latency = 20, .interval = 10, .ports = 1 };
	assert_near(play_hits(&script, &processor).cpi, 10. / 2, 0.01);
	processor.units[CODE_DIVIDE].ports = 3;
	assert_near(play_hits(&script, &processor).cpi, 5. / 2, 0.01);
}

/* Iterations of eight dependent operations of latency 3, nothing between them: W / (l K(W)) with K(W) = 8. */
static void a_small_window_limits_what_runs_side_by_side(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MULTIPLY, .writes = BIT(0) } } };
	for (unsigned i = 1; i < 8; i++)
		script.codes[i] =
			(struct code){ .class = CODE_MULTIPLY, .reads = BIT(0), .writes = BIT(0) };
	repeat(&script, 8);
	struct processor processor = eight_wide();
	processor.units[CODE_MULTIPLY].latency = 3;
	for (unsigned window = 32; window <= 128; window *= 2) {
		processor.rob = window;
		assert_near(play_hits(&script, &processor).cpi, 24. / window, 0.2);
	}
	/* The same by the issue queue: what waits for operands. */
	processor.rob = 256;
	processor.issue_queue = 16;
	assert_true(play_hits(&script, &processor).cpi > 2 * 24. / 128);
}

/* Its last operations, of latency 50, are done before the next stretch begins. */
static void a_stretch_ends_when_all_of_it_is_done(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MULTIPLY, .writes = BIT(0) } } };
	struct processor processor = eight_wide();
	processor.units[CODE_MULTIPLY].latency = 50;
	processor.rob = 1000;
	double endless = play_hits(&script, &processor).cpi;
	assert_near(endless, 1. / 8, 0.01);
	struct core_input input = { .stretch = OPS };
	assert_near(play(&script, &processor, input, never_missed).cpi, endless + 50. / OPS, 0.01);
	processor.overlap = 1;
	assert_near(play(&script, &processor, input, never_missed).cpi, endless, 0.01);
	processor.overlap = 0;
	input.stretch = 4 * OPS; /* none ends in the two traces that are played */
	assert_near(play(&script, &processor, input, never_missed).cpi, endless, 0.01);
}

/* A multiplication, who needs it, and one that needs nothing: the next multiplication waits for the second. */
static void in_order_nothing_passes_what_waits(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MULTIPLY, .writes = BIT(0) },
					 { .class = CODE_ALU, .reads = BIT(0), .writes = BIT(1) },
					 { .class = CODE_ALU, .writes = BIT(2) } } };
	repeat(&script, 3);
	struct processor processor = eight_wide();
	processor.units[CODE_MULTIPLY].latency = 6;
	assert_near(play_hits(&script, &processor).cpi, 1. / 8, 0.02);
	processor.in_order = 1;
	assert_near(play_hits(&script, &processor).cpi, 6. / 3, 0.01);
}

/* Misses are not waited for until they are used. */
static void in_order_misses_overlap_until_they_are_used(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_LOAD,
						    .data_bytes = 8,
						    .writes = BIT(3) },
					 { .class = CODE_ALU, .writes = BIT(1) } } };
	repeat(&script, 2);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = LINE * (1 + (uint64_t)i);
	struct processor processor = eight_wide();
	processor.in_order = 1;
	struct core_input none = { 0 };
	assert_near(play(&script, &processor, none, always_memory).cpi, MEMORY / 256., 0.1);
	script.codes[1].reads = BIT(3);
	assert_near(play(&script, &processor, none, always_memory).cpi, MEMORY / 2., 0.02);
}

static void a_pointer_chase_waits_for_each_load(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MOVE,
					 .flags = CODE_LOAD,
					 .data_bytes = 8,
					 .address_reads = BIT(0),
					 .writes = BIT(0) } } };
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = LINE * (1 + (uint64_t)i * 7919 % 65536);
	struct processor processor = eight_wide();
	struct core_result result =
		play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, MEMORY, 0.001);
	assert_near(result.stack[CORE_MEMORY], MEMORY, 0.01);
	assert_near(result.mlp, 1, 0.001);
	assert_near(result.memory_lines, 1, 1e-9);
	assert_near(play_hits(&script, &processor).cpi, 4, 0.001);
	const struct core_odds l2 = { .beyond = { 1, 0, 0 } }, llc = { .beyond = { 1, 1, 0 } },
			       other = { .beyond = { 1, 1, 0 }, .transfer = 1 };
	result = play(&script, &processor, (struct core_input){ 0 }, l2);
	assert_near(result.stack[CORE_L2], 14, 0.01);
	result = play(&script, &processor, (struct core_input){ 0 }, llc);
	assert_near(result.stack[CORE_LLC], 40, 0.01);
	result = play(&script, &processor, (struct core_input){ 0 }, other);
	assert_near(result.stack[CORE_COHERENCE], 100, 0.01);
	result = play(
		&script, &processor, (struct core_input){ .memory_cycles = 300 }, always_memory);
	assert_near(result.cpi, 300, 0.001);
}

static void translations_are_waited_for(void **state)
{
	(void)state;
	struct script chain = { .codes = { { .class = CODE_MOVE,
					.flags = CODE_LOAD,
					.data_bytes = 8,
					.address_reads = BIT(0),
					.writes = BIT(0) } } };
	for (unsigned i = 0; i < OPS; i++)
		chain.ops[i].address = PROFILE_PAGE_BYTES * (1 + (uint64_t)i);
	struct processor processor = eight_wide();
	const struct core_odds walked = { .untranslated = { 1, 1 } },
			       second = { .untranslated = { 1, 0 } },
			       far = { .beyond = { 1, 1, 1 }, .untranslated = { 1, 1 } };
	struct core_result result = play(&chain, &processor, (struct core_input){ 0 }, walked);
	assert_near(result.cpi, 4, 0.001); /* there is no TLB */
	processor.tlb = (struct tlb){
		.entries = 64, .second_entries = 1024, .second_latency = 7, .walk_ns = 30
	};
	result = play(&chain, &processor, (struct core_input){ 0 }, walked);
	assert_near(result.cpi, 4 + 30, 0.001);
	assert_near(result.stack[CORE_TLB], 4 + 30, 0.01);
	result = play(&chain, &processor, (struct core_input){ 0 }, second);
	assert_near(result.cpi, 4 + 7, 0.001);
	result = play(&chain, &processor, (struct core_input){ 0 }, far);
	assert_near(result.cpi, MEMORY + 30, 0.001);
	assert_near(result.stack[CORE_MEMORY], MEMORY + 30, 0.01); /* the longer of the two */
}

static void independent_misses_fill_the_window_or_the_room_for_misses(void **state)
{
	(void)state;
	struct script script = independent_loads();
	struct processor processor = eight_wide();
	processor.rob = 64;
	struct core_result result =
		play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.mlp, 32, 0.1);
	assert_near(result.cpi, MEMORY / 64., 0.1);
	processor.levels[0].misses = 10;
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.mlp, 10, 0.02);
	assert_near(result.cpi, MEMORY / 20., 0.02);
	processor.levels[2].misses = 5;
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.mlp, 5, 0.02);
	processor.load_queue = 3;
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.mlp, 3, 0.02);
}

/* A chain of misses uses one place of those that there are, and the misses beside it the others. */
static void a_chain_of_misses_leaves_room_to_others(void **state)
{
	(void)state;
	struct script script = independent_loads();
	script.codes[1] = (struct code){ .class = CODE_MOVE,
		.flags = CODE_LOAD,
		.data_bytes = 8,
		.address_reads = BIT(3),
		.writes = BIT(3) };
	for (unsigned i = 1; i < OPS; i += 2)
		script.ops[i].address = LINE * (100000 + (uint64_t)i);
	struct processor processor = eight_wide();
	processor.levels[0].misses = 2;
	struct core_result result =
		play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, MEMORY / 2., 0.02);
}

/* Each for the next load that misses: for all loads of a chain, then for every other one. */
static void prefetches_ask_for_what_is_missed_next(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_LOAD,
						    .data_bytes = 8,
						    .address_reads = BIT(3),
						    .writes = BIT(3) },
					 { .class = CODE_ALU, .flags = CODE_PREFETCH },
					 { .class = CODE_ALU, .writes = BIT(4) } } };
	struct processor processor = eight_wide();
	for (unsigned i = 0; i < OPS; i++) {
		script.ops[i].code = i % 2 ? 2 : 0;
		script.ops[i].address = LINE * (100000 + (uint64_t)i);
	}
	struct core_result result =
		play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, MEMORY / 2., 0.02);
	for (unsigned i = 1; i < OPS; i += 2)
		script.ops[i].code = 1;
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_true(result.cpi < MEMORY / 50.);
	assert_near(result.memory_lines, 0.5, 0.02); /* they come all the same */
	for (unsigned i = 3; i < OPS; i += 4)
		script.ops[i].code = 2;
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, MEMORY / 4., 0.1);
}

static void as_many_accesses_miss_as_the_odds_say(void **state)
{
	(void)state;
	struct script script = independent_loads();
	struct processor processor = eight_wide();
	const struct core_odds odds = { .beyond = { 0.5, 0.25, 0.1 } };
	struct core_result result = play(&script, &processor, (struct core_input){ 0 }, odds);
	assert_near(result.memory_lines, 0.05, 0.03);
	/* Each line is met four times: the first touch misses as often as all four would. */
	for (unsigned i = 0; i < OPS; i += 2)
		script.ops[i].address = LINE * (1 + (uint64_t)(i / 8) * 7919 % 65536);
	result = play(&script, &processor, (struct core_input){ 0 }, odds);
	assert_near(result.memory_lines, 0.05, 0.03);
	/* More misses than lines: others take them away. */
	for (unsigned i = 0; i < OPS; i += 2)
		script.ops[i].address = LINE;
	result = play(&script, &processor, (struct core_input){ 0 }, odds);
	assert_near(result.memory_lines, 0.05, 0.03);
}

static void page_walks_are_so_many_at_a_time(void **state)
{
	(void)state;
	struct script script = independent_loads();
	for (unsigned i = 0; i < OPS; i += 2)
		script.ops[i].address = PROFILE_PAGE_BYTES * (1 + (uint64_t)i);
	struct processor processor = eight_wide();
	const struct core_odds walked = { .untranslated = { 1, 1 } };
	processor.tlb = (struct tlb){ .entries = 64, .walk_ns = 60, .walks = 2 };
	struct core_result result = play(&script, &processor, (struct core_input){ 0 }, walked);
	assert_near(result.cpi, 60. / 2 / 2, 0.02);
}

static void a_prefetched_stream_goes_at_the_speed_of_the_prefetcher(void **state)
{
	(void)state;
	struct script script = independent_loads();
	script.codes[1].reads = script.codes[1].writes = BIT(2);
	for (unsigned i = 0; i < OPS; i += 2)
		script.ops[i].address = LINE * (1 + (uint64_t)i / 2);
	struct processor processor = eight_wide();
	processor.units[CODE_ALU].latency = 20;
	processor.rob = 8;
	struct core_result result =
		play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, MEMORY / 8., 0.1);
	processor.prefetch = PREFETCH_STRIDE;
	processor.prefetch_distance = 16;
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, 20 / 2., 0.01); /* the chain beside it is slower: all is hidden */
	processor.units[CODE_ALU].latency = 1;
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, MEMORY / 32., 0.02);
	processor.memory_bytes_per_s = 1e9; /* a byte in a cycle */
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, LINE / 2., 0.02);
	processor.core_bytes_per_s = 0.5e9; /* of which one core gets half */
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, LINE, 0.02);
	const struct core_odds always_last = { .beyond = { 1, 1, 0 } };
	result = play(&script, &processor, (struct core_input){ 0 }, always_last);
	assert_near(result.cpi, 40 / 32., 0.02);
	processor.levels[2].bytes_per_s = 8e9;
	result = play(&script, &processor, (struct core_input){ 0 }, always_last);
	assert_near(result.cpi, LINE / 8. / 2, 0.02);
}

static void fused_operations_take_one_place(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_ALU,
				   .flags = CODE_LOAD,
				   .data_bytes = 8,
				   .reads = BIT(3),
				   .writes = BIT(0) | BIT(FLAGS) },
			{ .class = CODE_ALU, .reads = BIT(1) | BIT(2), .writes = BIT(FLAGS) },
			{ .class = CODE_BRANCH, .reads = BIT(FLAGS) } }
	};
	repeat(&script, 3);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = i % 3 == 0 ? 4096 : 0;
	struct processor processor = eight_wide();
	processor.dispatch_width = 4;
	assert_near(play_hits(&script, &processor).cpi, 4. / 4 / 3, 0.01);
	processor.fuses = 1;
	assert_near(play_hits(&script, &processor).cpi, 2. / 4 / 3, 0.01);
	processor.units[CODE_BRANCH].ports = 1; /* the pair takes it, and no other */
	processor.units[CODE_ALU].ports = 2;
	assert_near(play_hits(&script, &processor).cpi, 1. / 3, 0.01);
}

/* Each as long as it takes, with the loads between them behind it; a fence holds those back. */
static void atomics_do_not_overlap(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ATOMIC,
						    .flags = CODE_LOAD | CODE_STORE,
						    .data_bytes = 8 },
					 { .class = CODE_MOVE,
						 .flags = CODE_LOAD,
						 .data_bytes = 8,
						 .writes = BIT(1) } } };
	repeat(&script, 2);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096 + 64 * (i % 2);
	struct processor processor = eight_wide();
	processor.units[CODE_ATOMIC].latency = 20;
	processor.units[CODE_FENCE].latency = 20;
	assert_near(play_hits(&script, &processor).cpi, 20 / 2., 0.05);
	script.codes[0] = (struct code){ .class = CODE_FENCE };
	assert_near(play_hits(&script, &processor).cpi, (20 + 4) / 2., 0.05);
}

/* However early its line was asked for. */
static void an_atomic_operation_takes_longer_whose_line_is_not_near(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ATOMIC,
					 .flags = CODE_LOAD | CODE_STORE,
					 .data_bytes = 8 } } };
	repeat(&script, 1);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 64 * (1 + (uint64_t)i);
	const struct core_odds second = { .beyond = { 1, 0, 0 } };
	struct processor processor = eight_wide();
	processor.units[CODE_ATOMIC].latency = 20;
	struct core_result result = play(&script, &processor, (struct core_input){ 0 }, second);
	assert_near(result.cpi, 20, 0.05);
	processor.locked_miss = 5;
	assert_near(play_hits(&script, &processor).cpi, 20, 0.05);
	result = play(&script, &processor, (struct core_input){ 0 }, second);
	assert_near(result.cpi, 25, 0.05);
}

/* What waits for a chain fills the queue of operations; loads are not held up if they have their own. */
static void loads_may_wait_in_a_queue_of_their_own(void **state)
{
	(void)state;
	struct script script = independent_loads();
	script.codes[1] =
		(struct code){ .class = CODE_FP_ADD, .reads = BIT(17), .writes = BIT(17) };
	struct processor processor = eight_wide();
	processor.units[CODE_FP_ADD].latency = 4;
	processor.issue_queue = 16;
	processor.load_ports = 1;
	double joint = play(&script, &processor, (struct core_input){ 0 }, always_memory).mlp;
	processor.memory_queue = 64;
	double split = play(&script, &processor, (struct core_input){ 0 }, always_memory).mlp;
	assert_true(split >= joint);
	/* Four chains of loads wait in 8 places: the operations beside them go on. */
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = i % 2 ? 0 : 4096;
	script.codes[0].address_reads = script.codes[0].writes = BIT(1);
	script.codes[1] = (struct code){ .class = CODE_ALU, .writes = BIT(2) };
	processor.memory_queue = 8;
	assert_near(play_hits(&script, &processor).cpi, 4 / 2., 0.01);
}

static void strings_move_half_a_line_at_a_time(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_STRING,
					 .flags = CODE_STORE,
					 .data_bytes = 1,
					 .reads = BIT(0) | BIT(1),
					 .writes = BIT(1) } } };
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096 + i;
	struct processor processor = eight_wide();
	processor.store_ports = 1;
	assert_near(play_hits(&script, &processor).cpi, 1 / 32., 0.1);
}

static void a_faster_processor_is_never_slower(void **state)
{
	(void)state;
	struct script script = independent_loads();
	const struct core_odds odds = { .beyond = { 0.3, 0.2, 0.1 } };
	double last = INFINITY;
	for (unsigned window = 16; window <= 512; window *= 2) {
		struct processor processor = eight_wide();
		processor.rob = window;
		double cpi = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
		assert_true(cpi <= last * 1.001);
		last = cpi;
	}
}

static void a_class_without_traces_says_so(void **state)
{
	(void)state;
	struct profile_class classes[2] = { { .thread = 0 }, { .thread = 0, .stretch = 1 } };
	struct profile profile = { .classes = classes, .class_count = 2 };
	AUTO(core_program) struct core_program *program = NULL;
	assert_int_equal(core_program_new(&profile, OPS, 1, &program), 0);
	assert_int_equal(core_program_instructions(program, 1), 0);
	struct processor processor = eight_wide();
	AUTO(core) struct core *core = NULL;
	assert_int_equal(core_new(&processor, &core), 0);
	struct core_result result;
	struct core_input input = { 0 };
	assert_int_equal(core_play(core, program, 1, &input, &result), -ENOENT);
	processor.rob = 0;
	AUTO(core) struct core *none = NULL;
	assert_int_equal(core_new(&processor, &none), -EINVAL);
}

/* Each line is read at four places in no order, and the instruction goes on to the next one. */
static void a_stream_is_told_by_its_lines(void **state)
{
	(void)state;
	struct script script = independent_loads();
	static const unsigned places[] = { 24, 0, 48, 8 };
	for (unsigned i = 0; i < OPS; i += 2)
		script.ops[i].address = LINE * (1 + (uint64_t)i / 8) + places[i / 2 % 4];
	struct processor processor = eight_wide();
	processor.rob = 8;
	const struct core_odds one_in_four = { .beyond = { 0.25, 0.25, 0.25 } };
	double alone = play(&script, &processor, (struct core_input){ 0 }, one_in_four).cpi;
	processor.prefetch = PREFETCH_STRIDE;
	processor.prefetch_distance = 16;
	double ahead = play(&script, &processor, (struct core_input){ 0 }, one_in_four).cpi;
	assert_true(alone > MEMORY / 16.);
	assert_near(ahead, MEMORY / 16. / 8, 0.3);
	/* Of four lines in a row the first is not expected, wherever the rows are. */
	const struct core_odds always_last = { .beyond = { 1, 1, 0 } };
	struct script rows = independent_loads();
	rows.codes[0].address_reads = rows.codes[0].writes; /* each when the one before is there */
	for (unsigned i = 0; i < OPS; i += 2)
		rows.ops[i].address =
			LINE * (1 + (uint64_t)i / 2 % 4 + (uint64_t)i / 8 * 7919 % 65536 * 8);
	processor.prefetch = PREFETCH_NONE;
	double asked = play(&rows, &processor, (struct core_input){ 0 }, always_last).cpi;
	processor.prefetch = PREFETCH_STRIDE;
	double known = play(&rows, &processor, (struct core_input){ 0 }, always_last).cpi;
	assert_near(asked, 40 / 2., 1);
	assert_in_range((int)(1000 * known / asked), 300, 600);
	/* Lines in no order are not expected. */
	for (unsigned i = 0; i < OPS; i += 2)
		script.ops[i].address =
			LINE * (1 + (uint64_t)i / 8 * 7919 % 65536) + places[i / 2 % 4];
	ahead = play(&script, &processor, (struct core_input){ 0 }, one_in_four).cpi;
	assert_near(ahead, alone, 0.01 * alone);
}

/* One of two traces, which stand for ten times themselves, has an instruction that the other has not. */
static void an_instruction_of_one_trace_is_known_as_such(void **state)
{
	(void)state;
	static struct micro_op ops[2][OPS];
	struct code codes[2] = { { .class = CODE_MOVE, .flags = CODE_LOAD, .data_bytes = 8 },
		{ .class = CODE_MOVE, .flags = CODE_LOAD, .data_bytes = 8 } };
	struct micro_trace micro[2] = { { .count = OPS, .ops = ops[0], .weight = 10. * OPS },
		{ .count = OPS, .ops = ops[1], .weight = 10. * OPS } };
	struct profile_class class = { .instructions = UINT64_C(20) * OPS };
	struct profile profile = { .classes = &class,
		.class_count = 1,
		.codes = codes,
		.code_count = 2,
		.micro = micro,
		.micro_count = 2 };
	for (unsigned i = 0; i < OPS; i++)
		ops[0][i].address = ops[1][i].address = LINE;
	ops[1][7].code = ops[1][9].code = 1;
	AUTO(core_program) struct core_program *program = NULL;
	assert_int_equal(core_program_new(&profile, SIZE_MAX, 1, &program), 0);
	size_t count;
	const uint32_t *list = core_program_codes(program, 0, &count);
	const double *lone = core_program_lone(program, 0);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++)
		assert_near(1 + lone[i], list[i] == 1 ? 1 + 10 * 2 : 1, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(independent_operations_go_at_the_width),
		cmocka_unit_test(a_chain_goes_at_its_latency),
		cmocka_unit_test(chains_side_by_side_share_the_latency),
		cmocka_unit_test(the_busiest_port_is_the_limit),
		cmocka_unit_test(a_unit_that_is_not_pipelined_is_busy_for_its_interval),
		cmocka_unit_test(a_small_window_limits_what_runs_side_by_side),
		cmocka_unit_test(a_stretch_ends_when_all_of_it_is_done),
		cmocka_unit_test(in_order_nothing_passes_what_waits),
		cmocka_unit_test(in_order_misses_overlap_until_they_are_used),
		cmocka_unit_test(a_pointer_chase_waits_for_each_load),
		cmocka_unit_test(independent_misses_fill_the_window_or_the_room_for_misses),
		cmocka_unit_test(a_chain_of_misses_leaves_room_to_others),
		cmocka_unit_test(prefetches_ask_for_what_is_missed_next),
		cmocka_unit_test(as_many_accesses_miss_as_the_odds_say),
		cmocka_unit_test(translations_are_waited_for),
		cmocka_unit_test(page_walks_are_so_many_at_a_time),
		cmocka_unit_test(a_stream_is_told_by_its_lines),
		cmocka_unit_test(an_instruction_of_one_trace_is_known_as_such),
		cmocka_unit_test(a_prefetched_stream_goes_at_the_speed_of_the_prefetcher),
		cmocka_unit_test(fused_operations_take_one_place),
		cmocka_unit_test(atomics_do_not_overlap),
		cmocka_unit_test(an_atomic_operation_takes_longer_whose_line_is_not_near),
		cmocka_unit_test(loads_may_wait_in_a_queue_of_their_own),
		cmocka_unit_test(strings_move_half_a_line_at_a_time),
		cmocka_unit_test(a_faster_processor_is_never_slower),
		cmocka_unit_test(a_class_without_traces_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
