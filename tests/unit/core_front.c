/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core model's front end: branches, indirect jumps, and lines of instructions that miss. */
#include "core_script.h"

/* Five dependent operations, then a branch on the last: resolved in 1 + 5 + 1 cycles. */
static struct script branches(void)
{
	struct script script = { .codes = { { .class = CODE_ALU, .writes = BIT(0) } } };
	for (unsigned i = 1; i < 5; i++)
		script.codes[i] =
			(struct code){ .class = CODE_ALU, .reads = BIT(0), .writes = BIT(0) };
	script.codes[5] = (struct code){ .class = CODE_BRANCH, .reads = BIT(0) };
	repeat(&script, 6);
	return script;
}

static void a_misprediction_costs_resolution_and_refill(void **state)
{
	(void)state;
	struct script script = branches();
	struct processor processor = eight_wide();
	const double resolution = 1 + 5 + 1;
	struct core_result result =
		play(&script, &processor, (struct core_input){ .mispredicted = 1 }, never_missed);
	assert_near(result.cpi, (resolution + FRONT_END) / 6, 0.01);
	assert_true(result.stack[CORE_BRANCH] > FRONT_END / 6.);
	double without = play_hits(&script, &processor).cpi;
	double half =
		play(&script, &processor, (struct core_input){ .mispredicted = 0.5 }, never_missed)
			.cpi;
	assert_true(half > without + 0.4 * (result.cpi - without));
	assert_true(half < without + 0.6 * (result.cpi - without));
}

/* Of two branches, the one that always goes the same way is not the one that is mispredicted. */
static void mispredictions_fall_on_branches_that_vary(void **state)
{
	(void)state;
	struct script script = branches();
	script.codes[6] = (struct code){ .class = CODE_DIVIDE, .writes = BIT(5) };
	script.codes[7] = (struct code){ .class = CODE_BRANCH, .reads = BIT(5) };
	repeat(&script, 8);
	uint32_t random = 1;
	for (unsigned i = 0; i < OPS; i++) {
		random = random * 1664525 + 1013904223;
		script.ops[i].taken = i % 8 == 7 ? random >> 31 : i % 8 == 5;
	}
	struct processor processor = eight_wide();
	processor.units[CODE_DIVIDE].latency = 40;
	struct core_input half = { .mispredicted = 0.25 };
	double slow = play(&script, &processor, half, never_missed).cpi;
	for (unsigned i = 0; i < OPS; i++) {
		random = random * 1664525 + 1013904223;
		script.ops[i].taken = i % 8 == 5 ? random >> 31 : i % 8 == 7;
	}
	double fast = play(&script, &processor, half, never_missed).cpi;
	assert_true(slow > fast + 0.5 * 30 * 0.5 / 8);
}

/* Two targets in turn: the last target never helps, the path always does. */
static void jumps_are_foretold_by_the_path(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_ALU, .writes = BIT(0) },
			{ .class = CODE_JUMP, .flags = CODE_INDIRECT, .reads = BIT(0) },
			{ .class = CODE_ALU, .writes = BIT(1) } }
	};
	for (unsigned i = 0; i < OPS; i++) {
		script.ops[i].code = i % 2 ? 1 : i / 2 % 2 ? 0 : 2;
		script.ops[i].taken = i % 2;
	}
	struct processor processor = eight_wide();
	const struct core_input of_traces = { .jumps_mispredicted = 1, .jumps_seen = 1 };
	const struct core_input half = { .jumps_mispredicted = 0.5, .jumps_seen = 1e6 };
	processor.predictor = PREDICTOR_TAGE; /* learns in a dozen jumps of 500 */
	assert_true(play(&script, &processor, of_traces, never_missed).cpi <
		    1 / 8. + 12 * (FRONT_END + 3) / 1000.);
	double slow = play(&script, &processor, half, never_missed).stack[CORE_BRANCH];
	assert_true(slow > 0.5 * 0.5 * FRONT_END && slow < 0.5 * 0.5 * (FRONT_END + 4));
	processor.predictor = PREDICTOR_BIMODAL;
	assert_true(play(&script, &processor, of_traces, never_missed).cpi > FRONT_END / 2.);
	processor.predictor = PREDICTOR_PERFECT;
	assert_near(play(&script, &processor, half, never_missed).cpi, 1 / 8., 0.01);
	/* Each goes elsewhere than the one before. */
	processor.targets = (struct targets){ .entries = 1024, .delay = 9, .computed_delay = 3 };
	assert_near(play(&script, &processor, half, never_missed).cpi, 3 / 2., 0.05);
}

/* A class with half as many branches as its traces have gets half of the mispredictions. */
static void mispredictions_are_counted_by_the_class(void **state)
{
	(void)state;
	struct script script = branches();
	struct processor processor = eight_wide();
	const struct core_input input = { .mispredicted = 0.5 };
	double stack = play(&script, &processor, input, never_missed).stack[CORE_BRANCH];
	script.class = (struct profile_class){ .instructions = 12, .mix[CODE_BRANCH] = 1 };
	double half = play(&script, &processor, input, never_missed).stack[CORE_BRANCH];
	assert_near(half, stack / 2, 0.1);
}

/* Those that are hard to foretell are in a half that stands for little: others make up the number. */
static void mispredictions_are_as_many_as_traces_stand_for(void **state)
{
	(void)state;
	struct script script = branches();
	script.codes[6] = script.codes[5];
	uint32_t random = 1;
	for (unsigned i = 0; i < OPS; i++) {
		random = random * 1664525 + 1013904223;
		script.ops[i].taken = script.ops[i].code == 5 && (i >= OPS / 2 || random >> 31);
		if (i >= OPS / 2 && script.ops[i].code == 5)
			script.ops[i].code = 6;
	}
	struct processor processor = eight_wide();
	const struct core_input input = { .mispredicted = 0.5 };
	script.first_share = 0.5;
	double even = play(&script, &processor, input, never_missed).stack[CORE_BRANCH];
	assert_true(even > 0.4 * FRONT_END / 6);
	script.first_share = 0.1;
	assert_near(play(&script, &processor, input, never_missed).stack[CORE_BRANCH], even, 0.1);
}

static void instruction_misses_cost_their_latency(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ALU, .writes = BIT(0) } } };
	struct processor processor = eight_wide();
	const struct core_input input = { .fetch_beyond = { 0.03, 0.02, 0.01 } };
	struct core_result result = play(&script, &processor, input, never_missed);
	double expected = 0.01 * (14 + 40 + MEMORY);
	assert_near(result.cpi, 1. / 8 + expected, 0.05);
	assert_near(result.stack[CORE_ICACHE], expected, 0.1);
}

/* Every tenth instruction begins a line, which comes from the second level: with one ahead, two are on their way at a time. */
static void a_front_end_that_runs_ahead_hides_misses_until_it_is_redirected(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ALU },
					 { .class = CODE_BRANCH, .reads = BIT(FLAGS) } } };
	struct processor processor = eight_wide();
	struct core_input input = { .fetches = 0.1, .fetch_beyond = { 0.1 } };
	double plain = play_hits(&script, &processor).cpi;
	processor.fetch_ahead = 20;
	assert_near(play(&script, &processor, input, never_missed).cpi, plain, 0.02);
	processor.fetch_ahead = 1;
	assert_near(play(&script, &processor, input, never_missed).cpi, (14 + 1) / 20., 0.05);
	/* One branch in a hundred, mispredicted: the refill, and a line that nobody has asked for yet. */
	processor.fetch_ahead = 20;
	for (unsigned i = 0; i < OPS; i += 100)
		script.ops[i].code = 1;
	input.mispredicted = 1;
	double resolved =
		play(&script, &processor, (struct core_input){ .mispredicted = 1 }, never_missed)
			.cpi;
	assert_near(play(&script, &processor, input, never_missed).cpi, resolved + 14 / 100., 0.05);
}

/* Every tenth instruction begins a line; chains that take longer hide that they come one by one, mispredictions show it. */
static void lines_come_one_after_another(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ALU },
					 { .class = CODE_BRANCH, .reads = BIT(FLAGS) } } };
	struct processor processor = eight_wide();
	struct core_input input = { .fetches = 0.1, .fetch_beyond = { 0.1 } };
	processor.fetch_ahead = 20;
	processor.levels[1].fetch_interval = 5;
	assert_near(play(&script, &processor, input, never_missed).cpi, 0.5, 0.02);
	processor.levels[2].fetch_interval = 9; /* of other lines */
	assert_near(play(&script, &processor, input, never_missed).cpi, 0.5, 0.02);
	input.fetch_beyond[1] = 0.1;
	assert_near(play(&script, &processor, input, never_missed).cpi, 0.9, 0.02);
	input.fetch_beyond[1] = 0;
	script.codes[0] = (struct code){ .class = CODE_ALU, .reads = BIT(0), .writes = BIT(0) };
	assert_near(play(&script, &processor, input, never_missed).cpi, 1, 0.01);
	/* A chain of a hundred cycles, and as many instructions whose lines take fifty behind the refill. */
	for (unsigned i = 0; i < OPS; i += 100)
		script.ops[i].code = 1;
	processor.front_end = 100;
	input.mispredicted = 1;
	double exposed = play(&script, &processor, input, never_missed).cpi;
	processor.levels[1].fetch_interval = 0;
	double without = play(&script, &processor, input, never_missed).cpi;
	assert_near(exposed - without, (10 * 5 - 100 / 8.) / 100, 0.1);
}

/* Seven operations and a jump. */
static void a_target_that_comes_late_holds_what_follows(void **state)
{
	(void)state;
	struct script script = { 0 };
	for (unsigned i = 0; i < 7; i++)
		script.codes[i] = (struct code){ .class = CODE_ALU, .writes = BIT(i) };
	script.codes[7] = (struct code){ .class = CODE_JUMP };
	repeat(&script, 8);
	struct processor processor = eight_wide();
	processor.fetch_ahead = 12;
	const double each = 1 / 8.;
	const struct core_input at_hand = { .fetches = each },
				late = { .fetches = each, .targets_late = { each, 0 } },
				latest = { .fetches = each, .targets_late = { each, each } };
	assert_near(play(&script, &processor, late, never_missed).cpi, 1 / 8., 0.005);
	processor.targets = (struct targets){
		.entries = 256, .delay = 3, .second_entries = 4096, .second_delay = 9
	};
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 1 / 8., 0.005);
	assert_near(play(&script, &processor, late, never_missed).cpi, (1 + 3) / 8., 0.005);
	assert_near(play(&script, &processor, latest, never_missed).cpi, (1 + 9) / 8., 0.02);
	/* Of a return it is never at hand. */
	script.codes[7].flags = CODE_INDIRECT | CODE_RETURN;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, (1 + 3) / 8., 0.005);
	/* Who waits for operands does not see it. */
	script.codes[0] =
		(struct code){ .class = CODE_MULTIPLY, .reads = BIT(0), .writes = BIT(0) };
	processor.units[CODE_MULTIPLY].latency = 7;
	assert_near(play(&script, &processor, late, never_missed).cpi, 7 / 8., 0.005);
}

/* Jumps only: one, or as many as it follows in a cycle. A late target is late either way. */
static void several_taken_branches_are_followed_in_a_cycle(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_JUMP } } };
	struct processor processor = eight_wide();
	processor.fetch_ahead = 12;
	processor.targets = (struct targets){ .entries = 256, .delay = 3 };
	const struct core_input at_hand = { .fetches = 1 },
				late = { .fetches = 1, .targets_late = { 1, 0 } };
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 1, 0.005);
	processor.targets.taken = 2;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 1 / 2., 0.005);
	assert_near(play(&script, &processor, late, never_missed).cpi, 3 + 1 / 2., 0.02);
}

/* Eight operations, the last a jump to the first: a loop. Then a second one between, of others. */
static void long_loops_have_the_front_end_to_themselves(void **state)
{
	(void)state;
	struct script script = { 0 };
	for (unsigned i = 0; i < 16; i++)
		script.codes[i] = (struct code){ .class = i % 8 < 7 ? CODE_ALU : CODE_JUMP,
			.address = 4096 + 8 * i,
			.bytes = 8,
			.writes = i % 8 < 7 ? BIT(i) : 0 };
	repeat(&script, 8);
	for (unsigned i = 7; i < OPS; i += 8)
		script.ops[i].taken = 1;
	struct processor processor = eight_wide();
	processor.fetch_ahead = 12;
	processor.targets =
		(struct targets){ .entries = 256, .delay = 3, .short_block = 8, .long_block = 2 };
	const struct core_input at_hand = { .fetches = 1 / 8. };
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 1 / 8., 0.005);
	processor.targets.short_block = 7; /* and 64 bytes */
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, (2 + 1) / 8., 0.01);
	script.codes[7].bytes = 9;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, (2 + 2) / 8., 0.01);
	repeat(&script, 16);
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 1 / 8., 0.005);
}

/* Eight operations of eight bytes in one line, or from the middle of one line to that of the next, and the last jumps. */
static void a_loop_over_two_lines_takes_two_cycles(void **state)
{
	(void)state;
	struct script script = { 0 };
	for (unsigned i = 0; i < 8; i++)
		script.codes[i] = (struct code){ .class = i < 7 ? CODE_ALU : CODE_JUMP,
			.address = 4096 + 8 * i,
			.bytes = 8,
			.writes = i < 7 ? BIT(i) : 0 };
	repeat(&script, 8);
	struct processor processor = eight_wide();
	processor.fetch_ahead = 12;
	processor.targets = (struct targets){ .entries = 256, .delay = 3, .next_line = 1 };
	const struct core_input at_hand = { .fetches = 1 / 8. };
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 1 / 8., 0.005);
	for (unsigned i = 0; i < 8; i++)
		script.codes[i].address += 32;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 2 / 8., 0.005);
	/* An instruction that lies in both is the next line's, too; as is one that comes whole behind the last. */
	for (unsigned i = 0; i < 8; i++)
		script.codes[i].address += 4;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 2 / 8., 0.005);
	processor.targets.next_line = 0;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 1 / 8., 0.005);
	/* The jump itself lies in one line, then in both. */
	processor.targets.split_branch = 2;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 1 / 8., 0.005);
	for (unsigned i = 0; i < 8; i++)
		script.codes[i].address -= 32;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 3 / 8., 0.005);
	processor.targets.split_branch = 0;
	script.codes[7].flags = CODE_INDIRECT | CODE_RETURN;
	processor.targets.computed_delay = 1;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 2 / 8., 0.005);
	processor.targets.return_delay = 2;
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 3 / 8., 0.005);
	script.codes[7].flags =
		CODE_INDIRECT; /* always to the same place: as any other jump, once it is known */
	assert_near(play(&script, &processor, at_hand, never_missed).cpi, 1 / 8., 0.15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_misprediction_costs_resolution_and_refill),
		cmocka_unit_test(mispredictions_fall_on_branches_that_vary),
		cmocka_unit_test(jumps_are_foretold_by_the_path),
		cmocka_unit_test(long_loops_have_the_front_end_to_themselves),
		cmocka_unit_test(several_taken_branches_are_followed_in_a_cycle),
		cmocka_unit_test(a_loop_over_two_lines_takes_two_cycles),
		cmocka_unit_test(mispredictions_are_counted_by_the_class),
		cmocka_unit_test(mispredictions_are_as_many_as_traces_stand_for),
		cmocka_unit_test(instruction_misses_cost_their_latency),
		cmocka_unit_test(a_front_end_that_runs_ahead_hides_misses_until_it_is_redirected),
		cmocka_unit_test(lines_come_one_after_another),
		cmocka_unit_test(a_target_that_comes_late_holds_what_follows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
