/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core model on stores: what they give to loads, and their queue. */
#include "core_script.h"

/* Eight bytes are loaded, so many of what was loaded stored. */
static struct script load_and_store(uint8_t bytes)
{
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_LOAD,
						    .data_bytes = 8,
						    .writes = BIT(0) },
					 { .class = CODE_MOVE,
						 .flags = CODE_STORE,
						 .data_bytes = bytes,
						 .reads = BIT(0) } } };
	repeat(&script, 2);
	return script;
}

static void a_load_gets_what_a_store_before_it_wrote(void **state)
{
	(void)state;
	struct script script = load_and_store(8);
	struct processor processor = eight_wide();
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096;
	assert_near(play_hits(&script, &processor).cpi, 4 / 2., 0.01);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096 + 8 * (uint64_t)i;
	/* Nothing to wait for: two stores to one line leave in a cycle, one where there is one port. */
	assert_near(play_hits(&script, &processor).cpi, 1 / 4., 0.01);
	processor.store_ports = 1;
	assert_near(play_hits(&script, &processor).cpi, 1 / 2., 0.01);
}

/* One byte is stored, eight are loaded; or four bytes beside one another. */
static void a_load_waits_for_a_store_of_some_of_its_bytes(void **state)
{
	(void)state;
	struct script script = load_and_store(1);
	struct processor processor = eight_wide();
	processor.store_forward = 5;
	processor.store_blocked = 20;
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096;
	/* The store leaves in the cycle after it has committed. */
	assert_near(play_hits(&script, &processor).cpi, (20 + 1) / 2., 0.05);
	script.codes[1].data_bytes = 8;
	assert_near(play_hits(&script, &processor).cpi, 5 / 2., 0.01);
	script.codes[0].data_bytes = script.codes[1].data_bytes = 4;
	for (unsigned i = 1; i < OPS; i += 2)
		script.ops[i].address = 4100;
	assert_near(play_hits(&script, &processor).cpi, 1 / 4., 0.01);
}

/* What a load gets is stored to another line in no cache and loaded from there, and so on; `address`: where, that load says, too. */
static double cycles_of_far_store(bool address, const struct processor *processor)
{
	struct script script = load_and_store(8);
	const struct core_odds odds = { .beyond = { 1, 1, 1 } };
	const struct core_input input = { 0 };
	for (unsigned i = 0; i < OPS; i++) {
		script.ops[i].code = i % 2 == 0; /* the store first */
		script.ops[i].address = 4096 * (1 + (uint64_t)i / 2 * 7919 % 65536);
	}
	for (unsigned i = 0; i < 2; i++)
		script.codes[i].address_reads = address ? BIT(0) : 0;
	return 2 * play(&script, processor, input, odds).cpi;
}

static void who_gets_a_stores_data_may_wait_for_the_line(void **state)
{
	(void)state;
	struct processor processor = eight_wide();
	processor.store_forward = 6;
	assert_near(cycles_of_far_store(true, &processor), 6, 0.02);
	assert_near(cycles_of_far_store(false, &processor), 6, 0.02);
	processor.forward_waits = 1;
	assert_near(cycles_of_far_store(true, &processor), MEMORY, 0.02);
	/* It is asked for when the address is known. */
	assert_near(cycles_of_far_store(false, &processor), 6, 0.1);
}

/* A word is stored, loaded and added to; in a core that renames memory the addition alone takes time. */
static void renamed_memory_takes_no_time(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_MOVE,
				   .flags = CODE_STORE,
				   .data_bytes = 8,
				   .reads = BIT(0),
				   .address_reads = BIT(1) },
			{ .class = CODE_MOVE,
				.flags = CODE_LOAD,
				.data_bytes = 8,
				.writes = BIT(0),
				.address_reads = BIT(1) },
			{ .class = CODE_ALU, .reads = BIT(0), .writes = BIT(0) } }
	};
	repeat(&script, 3);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = i % 3 == 2 ? 0 : 4096;
	struct processor processor = eight_wide();
	processor.store_forward = 20;
	assert_near(play_hits(&script, &processor).cpi, (20 + 1) / 3., 0.05);
	processor.renames_memory = 1;
	assert_near(play_hits(&script, &processor).cpi, 1 / 3., 0.02);
	script.codes[1].address_reads |= BIT(2);
	assert_near(play_hits(&script, &processor).cpi, (20 + 1) / 3., 0.05);
	processor.renames_memory = 2; /* with an index, too */
	assert_near(play_hits(&script, &processor).cpi, 1 / 3., 0.02);
	script.codes[1].address_reads = BIT(1);
	script.codes[0].data_bytes = script.codes[1].data_bytes = 2;
	assert_near(play_hits(&script, &processor).cpi, (20 + 1) / 3., 0.05);
}

/* It is added to where it is. */
static void renamed_memory_is_added_to(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ALU,
					 .flags = CODE_LOAD | CODE_STORE,
					 .data_bytes = 8,
					 .address_reads = BIT(1) } } };
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096;
	struct processor processor = eight_wide();
	processor.store_forward = 20;
	processor.renames_memory = 1;
	assert_near(play_hits(&script, &processor).cpi, 20 + 1, 0.05);
	processor.renames_memory = 2;
	assert_near(play_hits(&script, &processor).cpi, 1, 0.05);
}

/*
 * Rows of eight elements, each from the one before, the first from nowhere: a core that expects its data from the last store, too, waits
 * for that.
 */
static void a_load_waits_for_the_store_that_it_always_had_its_data_from(void **state)
{
	(void)state;
	enum { ROW = 8, EACH = 3 };
	struct script script = {
		.codes = { { .class = CODE_MOVE,
				   .flags = CODE_LOAD,
				   .data_bytes = 8,
				   .address_reads = BIT(1),
				   .writes = BIT(0) },
			{ .class = CODE_MULTIPLY, .reads = BIT(0), .writes = BIT(0) },
			{ .class = CODE_MOVE,
				.flags = CODE_STORE,
				.data_bytes = 8,
				.reads = BIT(0),
				.address_reads = BIT(1) } }
	};
	repeat(&script, EACH);
	for (unsigned i = 0; i < OPS; i++) {
		uint64_t element = i / EACH + i / EACH / ROW; /* a place before each row */
		script.ops[i].address = i % EACH == 0   ? 8192 + 8 * element
					: i % EACH == 2 ? 8200 + 8 * element
							: 0;
	}
	struct processor processor = eight_wide();
	processor.units[CODE_MULTIPLY].latency = 6;
	processor.renames_memory = 1;
	assert_true(play_hits(&script, &processor).cpi < 1);
	processor.renames_memory = 2;
	assert_near(play_hits(&script, &processor).cpi, 6. / EACH, 0.3);
}

static void the_last_address_is_one_like_others(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_ALU,
					 .flags = CODE_LOAD | CODE_STORE,
					 .data_bytes = 64 } } };
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = UINT64_MAX - 3;
	struct processor processor = eight_wide();
	assert_near(play_hits(&script, &processor).cpi, 4 + 1, 0.01); /* through memory */
}

static void stores_that_miss_fill_their_queue(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_STORE,
						    .data_bytes = 8,
						    .reads = BIT(0) },
					 { .class = CODE_ALU, .writes = BIT(2) } } };
	repeat(&script, 2);
	for (unsigned i = 0; i < OPS; i += 2)
		script.ops[i].address = LINE * (1 + (uint64_t)i * 7919 % 65536);
	struct processor processor = eight_wide();
	processor.store_queue = 20;
	struct core_result result =
		play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, MEMORY / 40., 0.05);
	assert_true(result.stack[CORE_MEMORY] > 0.9 * result.cpi);
}

/* A chain through one word, in short traces, after one that walks through more words than are carried from trace to trace. */
static void a_chain_through_memory_goes_on_in_the_next_trace(void **state)
{
	(void)state;
	enum { TRACES = 20, WALK = 400, CHAIN = 40, FORWARD = 20 };
	struct script script = load_and_store(8);
	struct micro_trace micro[TRACES] = { { .count = WALK, .ops = script.ops, .weight = 1 } };
	for (unsigned i = 0; i < WALK; i++)
		script.ops[i].address = 65536 + i / 2 * 8;
	for (unsigned i = WALK; i < OPS; i++)
		script.ops[i].address = 4096;
	for (unsigned i = 1; i < TRACES; i++)
		micro[i] = (struct micro_trace){
			.count = CHAIN, .ops = script.ops + WALK, .weight = 1e6
		};
	struct profile profile = { .classes = &script.class,
		.class_count = 1,
		.codes = script.codes,
		.code_count = 16,
		.micro = micro,
		.micro_count = TRACES };
	struct processor processor = eight_wide();
	processor.store_forward = FORWARD;
	AUTO(core_program) struct core_program *program = NULL;
	assert_int_equal(core_program_new(&profile, SIZE_MAX, 1, &program), 0);
	AUTO(core) struct core *core = NULL;
	assert_int_equal(core_new(&processor, &core), 0);
	const struct core_odds odds[2] = { never_missed, never_missed };
	struct core_result result = { 0 };
	assert_int_equal(
		core_play(core, program, 0, &(struct core_input){ .odds = odds }, &result), 0);
	assert_near(result.cpi, FORWARD / 2., 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_load_gets_what_a_store_before_it_wrote),
		cmocka_unit_test(a_load_waits_for_a_store_of_some_of_its_bytes),
		cmocka_unit_test(who_gets_a_stores_data_may_wait_for_the_line),
		cmocka_unit_test(renamed_memory_takes_no_time),
		cmocka_unit_test(renamed_memory_is_added_to),
		cmocka_unit_test(a_load_waits_for_the_store_that_it_always_had_its_data_from),
		cmocka_unit_test(the_last_address_is_one_like_others),
		cmocka_unit_test(stores_that_miss_fill_their_queue),
		cmocka_unit_test(a_chain_through_memory_goes_on_in_the_next_trace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
