/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core model on lines of one object or row: what comes with its first, and what does not. */
#include "core_script.h"

enum { PAGE = PROFILE_PAGE_BYTES };

/* A pointer leads to an object, there to a line `lines[i]` from its first in the i-th of them, and from that to the next object. */
static struct script objects_with_lines(const int *lines, unsigned count)
{
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_LOAD,
						    .data_bytes = 8,
						    .address_reads = BIT(0),
						    .writes = BIT(0) },
					 { .class = CODE_MOVE,
						 .flags = CODE_LOAD,
						 .data_bytes = 8,
						 .address_reads = BIT(0),
						 .writes = BIT(0) } } };
	repeat(&script, 2);
	for (unsigned i = 0; i < OPS; i += 2) {
		uint64_t object = PAGE * (1 + (uint64_t)i * 7919 % 65536) + 16 * LINE;
		script.ops[i].address = object;
		script.ops[i + 1].address =
			object + (uint64_t)(int64_t)(lines[i / 2 % count] * LINE);
	}
	return script;
}

static double cycles_of_object(const int *lines, unsigned count, const struct processor *processor)
{
	struct script script = objects_with_lines(lines, count);
	return 2 * play(&script, processor, (struct core_input){ 0 }, always_memory).cpi;
}

static void a_line_that_follows_comes_with_the_first(void **state)
{
	(void)state;
	struct processor processor = eight_wide();
	assert_near(cycles_of_object((int[]){ 3 }, 1, &processor), 2 * MEMORY, 0.01);
	processor.region_ahead = 6;
	assert_near(cycles_of_object((int[]){ 3 }, 1, &processor), MEMORY + 4, 0.01);
	assert_near(cycles_of_object((int[]){ -3 }, 1, &processor), 2 * MEMORY, 0.01);
	processor.region_behind = 4;
	assert_near(cycles_of_object((int[]){ -3 }, 1, &processor), MEMORY + 4, 0.01);
	assert_near(cycles_of_object((int[]){ 7 }, 1, &processor), 2 * MEMORY, 0.01);
	assert_near(cycles_of_object((int[]){ -5 }, 1, &processor), 2 * MEMORY, 0.01);
	assert_near(cycles_of_object((int[]){ 48 }, 1, &processor), 2 * MEMORY, 0.01);
}

static void it_has_to_follow_often(void **state)
{
	(void)state;
	struct processor processor = eight_wide();
	processor.region_ahead = 6;
	assert_near(cycles_of_object((int[]){ 1, 5 }, 2, &processor), MEMORY + 4, 0.01);
	assert_near(cycles_of_object((int[]){ 1, 2, 3, 4, 5, 6 }, 6, &processor), 2 * MEMORY, 0.01);
}

/* One of two objects is in no cache: then both of its lines are not. */
static void lines_of_an_object_are_gone_together(void **state)
{
	(void)state;
	struct script script = objects_with_lines((int[]){ 3 }, 1);
	struct processor processor = eight_wide();
	const struct core_input input = { 0 };
	const struct core_odds half = { .beyond = { 1, 1, 0.5 } };
	processor.region_ahead = 6;
	assert_near(2 * play(&script, &processor, input, half).cpi, (MEMORY + 40) / 2. + 4, 0.02);
}

/* An instruction loads from two lines beside one another, of rows anywhere; what the second says leads to the next row. */
static struct script rows_of_two_lines(void)
{
	struct script script = {
		.codes = { { .class = CODE_MOVE,
				   .flags = CODE_LOAD,
				   .data_bytes = 8,
				   .address_reads = BIT(0),
				   .writes = BIT(1) },
			{ .class = CODE_ALU, .reads = BIT(1), .writes = BIT(0) } }
	};
	for (unsigned i = 0; i < OPS; i++) {
		script.ops[i].code = i % 3 == 2;
		if (i % 3 < 2)
			script.ops[i].address =
				PAGE * (1 + (uint64_t)i / 3 * 7919 % 65536) + i % 3 * LINE;
	}
	return script;
}

/* Nobody knows of a row before its first line is asked for. */
static void a_row_comes_with_its_first_line(void **state)
{
	(void)state;
	struct script script = rows_of_two_lines();
	struct processor processor = eight_wide();
	const struct core_input input = { 0 };
	processor.prefetch = PREFETCH_STRIDE;
	processor.prefetch_distance = MEMORY;
	assert_near(3 * play(&script, &processor, input, always_memory).cpi, MEMORY + 1, 0.02);
}

static void lines_of_a_row_are_gone_together(void **state)
{
	(void)state;
	struct script script = rows_of_two_lines();
	struct processor processor = eight_wide();
	const struct core_input input = { 0 };
	const struct core_odds half = { .beyond = { 1, 1, 0.5 } };
	processor.prefetch = PREFETCH_STRIDE;
	processor.prefetch_distance = MEMORY;
	processor.rob = 3; /* a row */
	assert_near(3 * play(&script, &processor, input, half).cpi, (MEMORY + 40) / 2., 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_that_follows_comes_with_the_first),
		cmocka_unit_test(it_has_to_follow_often),
		cmocka_unit_test(lines_of_an_object_are_gone_together),
		cmocka_unit_test(a_row_comes_with_its_first_line),
		cmocka_unit_test(lines_of_a_row_are_gone_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
