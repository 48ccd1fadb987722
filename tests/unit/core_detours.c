/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core model behind mispredictions: which loads of the right path the wrong one has done already. */
#include "core_script.h"

/* A load from memory, and a branch on it that goes either way in turn, to where both ways go on. */
static struct script load_and_branch(void)
{
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_LOAD,
						    .data_bytes = 8,
						    .address_reads = BIT(1),
						    .writes = BIT(0) },
					 { .class = CODE_BRANCH, .reads = BIT(0) } } };
	repeat(&script, 2);
	for (unsigned i = 0; i < OPS; i++) {
		script.ops[i].address = i % 2 ? 0 : LINE * (1 + (uint64_t)i * 7919 % 65536);
		script.ops[i].taken = i / 2 % 2 && i % 2;
	}
	return script;
}

static double cpi_of(struct script *script, const struct processor *processor)
{
	return play(script, processor, (struct core_input){ .mispredicted = 1 }, always_memory).cpi;
}

static void loads_behind_are_done_early(void **state)
{
	(void)state;
	struct script script = load_and_branch();
	struct processor processor = eight_wide();
	/* One load after the other, two cycles for dispatch and branch. */
	assert_near(cpi_of(&script, &processor), (MEMORY + FRONT_END + 2) / 2., 0.02);
	/* Those that the window has a place for are on their way; then a round is a hit, a branch and the refill. */
	processor.detours = 1;
	double round = 4 + FRONT_END + 2, rounds = processor.rob / 2.;
	assert_near(cpi_of(&script, &processor), (round + MEMORY / rounds) / 2, 0.1);
	/* A small window has fewer under way. */
	processor.rob = 16;
	double cpi = cpi_of(&script, &processor);
	assert_true(cpi > MEMORY / 8. / 2 && cpi < (round + MEMORY / 8.) / 2);
}

/* A locked operation is done in its turn only, but its line has been asked for. */
static void lines_of_locked_operations_are_asked_for(void **state)
{
	(void)state;
	struct script script = load_and_branch();
	script.codes[0].class = CODE_ATOMIC;
	script.codes[0].flags = CODE_LOAD | CODE_STORE;
	struct processor processor = eight_wide();
	assert_true(cpi_of(&script, &processor) > MEMORY / 2.);
	processor.detours = 1;
	assert_true(cpi_of(&script, &processor) < MEMORY / 4.);
	/* Where it leads nobody knows before. */
	script.codes[0].address_reads = BIT(0);
	assert_true(cpi_of(&script, &processor) > MEMORY / 2.);
}

/* Between the branch and where both ways meet, one of them has an addition. */
static struct script branch_over_addition(uint64_t address_reads)
{
	struct script script = load_and_branch();
	script.codes[0].address_reads = address_reads;
	script.codes[2] = (struct code){ .class = CODE_ALU, .reads = BIT(1), .writes = BIT(1) };
	for (unsigned i = 0, part = 0; i < OPS; i++) {
		part = i % 5 == 0 ? 0 : part + 1;
		/* load, branch, addition, load, branch over it */
		static const uint32_t codes[] = { 0, 1, 2, 0, 1 };
		script.ops[i].code = codes[part];
		script.ops[i].taken = part == 4;
		script.ops[i].address =
			codes[part] == 0 ? LINE * (1 + (uint64_t)i * 7919 % 65536) : 0;
	}
	return script;
}

static void not_if_the_wrong_path_has_another_address(void **state)
{
	(void)state;
	struct processor processor = eight_wide();
	struct script script = branch_over_addition(BIT(1));
	double before = cpi_of(&script, &processor);
	processor.detours = 1;
	assert_near(cpi_of(&script, &processor), before, 0.01);
	script = branch_over_addition(BIT(3));
	assert_true(cpi_of(&script, &processor) < 0.25 * before);
}

/* Every other round has a further branch, on what has been loaded, that the wrong path does not have. */
static void what_one_has_asked_for_another_does_not_take_back(void **state)
{
	(void)state;
	struct script script = load_and_branch();
	script.codes[2] = (struct code){ .class = CODE_BRANCH, .reads = BIT(0) };
	for (unsigned i = 0; i < OPS; i++) {
		static const uint32_t codes[] = { 0, 1, 0, 1, 2 };
		script.ops[i] = (struct micro_op){ .code = codes[i % 5],
			.taken = i % 5 == 1 || (i % 5 == 4 && i % 2),
			.address =
				codes[i % 5] == 0 ? LINE * (1 + (uint64_t)i * 7919 % 65536) : 0 };
	}
	struct processor processor = eight_wide();
	assert_true(cpi_of(&script, &processor) > 2. / 5 * MEMORY);
	processor.detours = 1;
	/* Of five operations two loads, as hits, and three branches with their refills. */
	double rounds = 2. / 5 * processor.rob, refills = 3. * (FRONT_END + 2) + 2 * 4;
	assert_near(cpi_of(&script, &processor), refills / 5 + 2. / 5 * MEMORY / rounds, 0.15);
}

/* The branch goes one way only: nothing is known of the other. */
static void nothing_is_made_up(void **state)
{
	(void)state;
	struct processor processor = eight_wide();
	struct script script = load_and_branch();
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].taken = 0;
	double before = cpi_of(&script, &processor);
	processor.detours = 1;
	assert_near(cpi_of(&script, &processor), before, 1e-9);
}

/* Two functions that are called in turn, and return to the same place. */
static void calls_come_back(void **state)
{
	(void)state;
	struct script script = load_and_branch();
	script.codes[1] = (struct code){
		.class = CODE_JUMP, .flags = CODE_INDIRECT | CODE_CALL, .reads = BIT(0)
	};
	script.codes[2] = script.codes[3] = (struct code){ .class = CODE_ALU, .writes = BIT(4) };
	script.codes[4] = (struct code){ .class = CODE_JUMP, .flags = CODE_RETURN };
	for (unsigned i = 0; i < OPS; i++) {
		static const uint32_t codes[] = { 0, 1, 2, 4, 0, 1, 3, 4 };
		script.ops[i] = (struct micro_op){ .code = codes[i % 8],
			.taken = codes[i % 8] == 1 || codes[i % 8] == 4,
			.address = i % 4 ? 0 : LINE * (1 + (uint64_t)i * 7919 % 65536) };
	}
	struct processor processor = eight_wide();
	struct core_input input = { .jumps_mispredicted = 1, .jumps_seen = 1e6 };
	double before = play(&script, &processor, input, always_memory).cpi;
	assert_near(before, (MEMORY + FRONT_END + 2) / 4., 0.05);
	processor.detours = 1;
	assert_true(play(&script, &processor, input, always_memory).cpi < 0.25 * before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_behind_are_done_early),
		cmocka_unit_test(lines_of_locked_operations_are_asked_for),
		cmocka_unit_test(not_if_the_wrong_path_has_another_address),
		cmocka_unit_test(what_one_has_asked_for_another_does_not_take_back),
		cmocka_unit_test(nothing_is_made_up),
		cmocka_unit_test(calls_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
