/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core model on lines that other cores write, and on stores that wait for theirs. */
#include "core_script.h"

enum { TRANSFER = 100, STORES = 20, LOCKED = 20 };

static struct script stores_to_a_line(void)
{
	struct script script = {
		.codes = { { .class = CODE_MOVE, .flags = CODE_STORE, .data_bytes = 8 } }
	};
	repeat(&script, 1);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096 + 8 * (i % 8);
	return script;
}

/* However often others write it: all that the store queue holds goes each time that the line is here. */
static void stores_that_wait_for_a_shared_line_leave_together(void **state)
{
	(void)state;
	struct script script = stores_to_a_line();
	struct processor processor = eight_wide();
	processor.transfer_ns = TRANSFER;
	processor.store_queue = STORES;
	struct core_odds odds = { .beyond = { 0.5, 0.5, 0 }, .transfer = 0.5 };
	struct core_result result = play(&script, &processor, (struct core_input){ 0 }, odds);
	/* To the other core and back, for a queue full and one or two of those behind it. */
	assert_near(result.cpi, 2. * TRANSFER / (STORES + 2), 0.1);
	assert_true(result.stack[CORE_COHERENCE] > 0.9 * result.cpi);
}

static void a_line_that_others_want_serves_so_many(void **state)
{
	(void)state;
	struct script script = stores_to_a_line();
	struct processor processor = eight_wide();
	processor.transfer_ns = TRANSFER;
	processor.store_queue = STORES;
	processor.stay = 5;
	struct core_odds odds = { .beyond = { 0.5, 0.5, 0 }, .transfer = 0.5 };
	struct core_result result = play(&script, &processor, (struct core_input){ 0 }, odds);
	assert_near(result.cpi, 2. * TRANSFER / processor.stay, 0.1);
}

static struct script locked_additions(void)
{
	struct script script = { .codes = { { .class = CODE_ATOMIC,
					 .flags = CODE_LOAD | CODE_STORE,
					 .data_bytes = 8 } } };
	repeat(&script, 1);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = 4096;
	return script;
}

/* Who comes while it is held finds it; then it is away for one transfer. */
static void a_line_that_others_want_is_held_for_a_while(void **state)
{
	(void)state;
	struct script script = locked_additions();
	struct processor processor = eight_wide();
	processor.transfer_ns = TRANSFER;
	processor.units[CODE_ATOMIC].latency = LOCKED;
	const struct core_odds odds = { .beyond = { 0.95, 0.95, 0 }, .transfer = 0.95 };
	double away = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	assert_true(away > 1.9 * TRANSFER);
	for (unsigned more = 1; more <= 5; more++) {
		processor.hold_ns = LOCKED * (more + 0.5);
		double cpi = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
		assert_near(cpi, (TRANSFER + processor.hold_ns) / (1 + more), 0.1);
	}
	processor.turn_ns = 2 * TRANSFER; /* the other core looks at it all the time */
	double cpi = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	assert_near(cpi, (2 * TRANSFER + processor.hold_ns) / 6, 0.1);
	processor.turn_ns = 0;
	processor.hold_ns = 4 * TRANSFER;
	processor.stay = 2;
	cpi = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	assert_near(cpi, (TRANSFER + processor.hold_ns) / processor.stay, 0.1);
}

/* Steps within one line tell a prefetcher nothing, and a line that was here and is gone is asked for when it is wanted. */
static void a_line_that_others_take_is_not_fetched_ahead(void **state)
{
	(void)state;
	struct script script = stores_to_a_line();
	struct processor processor = eight_wide();
	processor.transfer_ns = TRANSFER;
	processor.store_queue = STORES;
	struct core_odds odds = { .beyond = { 0.5, 0.5, 0 }, .transfer = 0.5 };
	double cpi = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	processor.prefetch = PREFETCH_STRIDE;
	processor.prefetch_distance = 16;
	assert_near(play(&script, &processor, (struct core_input){ 0 }, odds).cpi, cpi, 0.01);
}

static void a_line_goes_to_each_of_its_writers_before_it_comes_back(void **state)
{
	(void)state;
	struct script script = stores_to_a_line();
	struct processor processor = eight_wide();
	processor.cores = 4;
	processor.transfer_ns = TRANSFER;
	processor.store_queue = STORES;
	struct core_odds odds = { .beyond = { 0.95, 0.95, 0 }, .transfer = 0.95 };
	for (unsigned writers = 1; writers < 4; writers++) {
		struct core_input input = { .writers = writers };
		double cpi = play(&script, &processor, input, odds).cpi;
		assert_near(cpi, (writers + 1.) * TRANSFER / (STORES + 2), 0.1);
	}
}

/* The other core wants the line all the time: it goes there and back, and stores wait only if their queue cannot. */
static void a_store_queue_hides_what_fits_into_it_while_the_line_is_away(void **state)
{
	(void)state;
	enum { CHAIN = 10, LONG_QUEUE = 32, SHORT_QUEUE = 8 };
	struct script script = {
		.codes = { { .class = CODE_ALU, .reads = BIT(17), .writes = BIT(17) },
			{ .class = CODE_MOVE, .flags = CODE_STORE, .data_bytes = 8 } }
	};
	repeat(&script, 2);
	for (unsigned i = 1; i < OPS; i += 2)
		script.ops[i].address = 4096 + 8 * (i / 2 % 8);
	struct processor processor = eight_wide();
	processor.transfer_ns = TRANSFER;
	processor.units[CODE_ALU].latency = CHAIN;
	processor.store_queue = LONG_QUEUE;
	/* One write by the other core for each of this one. */
	struct core_odds odds = { .beyond = { 0.632, 0.632, 0 }, .transfer = 0.632 };
	double cpi = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	assert_near(cpi, CHAIN / 2., 0.01);
	processor.store_queue = SHORT_QUEUE;
	cpi = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	assert_near(cpi, 2. * TRANSFER / SHORT_QUEUE / 2, 0.02);
}

/* A line that is asked for early would be taken again before the operation's turn. */
static void an_atomic_operation_on_a_shared_line_waits_for_it(void **state)
{
	(void)state;
	struct script script = locked_additions();
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = LINE * (1 + (uint64_t)i % 2);
	struct processor processor = eight_wide();
	processor.transfer_ns = TRANSFER;
	processor.units[CODE_ATOMIC].latency = LOCKED;
	struct core_odds odds = { .beyond = { 0.5, 0.5, 0 }, .transfer = 0.5 };
	double hot = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	assert_true(hot > LOCKED + TRANSFER / 4.);
	/* Nobody takes lines that are used once. */
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = LINE * (1 + (uint64_t)i);
	double cold = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	assert_true(cold < LOCKED + TRANSFER / 8.);
	odds = (struct core_odds){ .beyond = { 0.5, 0.5, 0.5 } };
	assert_near(play(&script, &processor, (struct core_input){ 0 }, odds).cpi, LOCKED, 0.05);
}

/* Each line comes from memory, but what a load reads is still in the store queue. */
static void a_store_that_waits_for_its_line_gives_its_data_to_loads(void **state)
{
	(void)state;
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_STORE,
						    .data_bytes = 8,
						    .reads = BIT(1) },
					 { .class = CODE_MOVE,
						 .flags = CODE_LOAD,
						 .data_bytes = 8,
						 .writes = BIT(1) } } };
	repeat(&script, 2);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = LINE * (1 + (uint64_t)(i / 2) * 7919 % 65536);
	struct processor processor = eight_wide();
	processor.store_queue = 256;
	struct core_result result =
		play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, 4 / 2., 0.05);
	processor.store_forward = 10;
	result = play(&script, &processor, (struct core_input){ 0 }, always_memory);
	assert_near(result.cpi, 10 / 2., 0.05);
}

static struct script loads_and_stores(unsigned stores)
{
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_LOAD,
						    .data_bytes = 8,
						    .address_reads = BIT(1),
						    .writes = BIT(1) },
					 { .class = CODE_MOVE,
						 .flags = CODE_STORE,
						 .data_bytes = 8,
						 .reads = BIT(2) } } };
	repeat(&script, 1 + stores);
	return script;
}

/* Others have written all of it. */
static void lines_of_another_core_in_order_are_fetched_ahead(void **state)
{
	(void)state;
	enum { DISTANCE = 10 };
	struct script script = loads_and_stores(0);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = LINE * (1 + (uint64_t)i);
	struct processor processor = eight_wide();
	processor.transfer_ns = TRANSFER;
	processor.prefetch_distance = DISTANCE;
	const struct core_odds odds = { .beyond = { 1, 1, 0 }, .transfer = 1 };
	assert_near(play(&script, &processor, (struct core_input){ 0 }, odds).cpi, TRANSFER, 0.05);
	processor.prefetch = PREFETCH_STRIDE;
	assert_near(play(&script, &processor, (struct core_input){ 0 }, odds).cpi,
		(double)TRANSFER / DISTANCE, 0.05);
}

/* Who has read a line asks again to write it; who has written it has it. */
static void a_line_that_was_read_is_taken_from_the_other_core_to_be_written(void **state)
{
	(void)state;
	enum { QUEUE = 4 };
	struct script script = loads_and_stores(1);
	script.codes[0].address_reads = BIT(3);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = LINE * (1 + (uint64_t)(i / 2) * 7919 % 65536);
	struct processor processor = eight_wide();
	processor.transfer_ns = TRANSFER;
	processor.store_queue = QUEUE;
	const struct core_odds odds = { .beyond = { 1, 1, 0 }, .transfer = 1 };
	double read = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].code = i % 2 ? 0 : 1;
	double written = play(&script, &processor, (struct core_input){ 0 }, odds).cpi;
	assert_near(written, (double)TRANSFER / QUEUE / 2, 0.05);
	/* Loads of the next ones come ahead of stores. */
	assert_true(read > 1.5 * written && read < 2.1 * written);
}

/* Others have written the line before each trace touches it ten times, and not while it does: it goes there and back once. */
static void a_line_that_is_used_for_a_while_comes_once(void **state)
{
	(void)state;
	enum { TOUCHES = 10, TRACES = OPS / TOUCHES };
	struct script script = { .codes = { { .class = CODE_MOVE,
					 .flags = CODE_LOAD,
					 .data_bytes = 8,
					 .address_reads = BIT(1),
					 .writes = BIT(1) } } };
	struct micro_trace micro[TRACES];
	struct profile_class class = { .instructions = OPS };
	struct profile profile = { .classes = &class,
		.class_count = 1,
		.codes = script.codes,
		.code_count = 1,
		.micro = micro,
		.micro_count = TRACES };
	repeat(&script, 1);
	for (unsigned i = 0; i < OPS; i++)
		script.ops[i].address = LINE;
	for (unsigned i = 0; i < TRACES; i++)
		micro[i] = (struct micro_trace){
			.count = TOUCHES, .ops = script.ops + (size_t)i * TOUCHES, .weight = TOUCHES
		};
	struct processor processor = eight_wide();
	processor.transfer_ns = TRANSFER;
	double hit = play_hits(&script, &processor).cpi, odds = 1. / TOUCHES;
	const struct core_odds each = { .beyond = { odds, odds, 0 }, .transfer = odds };
	const struct core_input input = { .odds = &each };
	struct core_result result = { 0 };
	AUTO(core_program) struct core_program *program = NULL;
	AUTO(core) struct core *core = NULL;
	assert_int_equal(core_program_new(&profile, OPS, 1, &program), 0);
	assert_int_equal(core_new(&processor, &core), 0);
	assert_int_equal(core_play(core, program, 0, &input, &result), 0);
	assert_true(result.cpi > hit + TRANSFER / (double)TOUCHES);
	assert_true(result.cpi < hit + 2.2 * TRANSFER / TOUCHES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_that_wait_for_a_shared_line_leave_together),
		cmocka_unit_test(a_line_that_others_want_serves_so_many),
		cmocka_unit_test(a_line_that_others_want_is_held_for_a_while),
		cmocka_unit_test(a_line_that_others_take_is_not_fetched_ahead),
		cmocka_unit_test(a_line_goes_to_each_of_its_writers_before_it_comes_back),
		cmocka_unit_test(a_store_queue_hides_what_fits_into_it_while_the_line_is_away),
		cmocka_unit_test(an_atomic_operation_on_a_shared_line_waits_for_it),
		cmocka_unit_test(a_store_that_waits_for_its_line_gives_its_data_to_loads),
		cmocka_unit_test(lines_of_another_core_in_order_are_fetched_ahead),
		cmocka_unit_test(a_line_that_was_read_is_taken_from_the_other_core_to_be_written),
		cmocka_unit_test(a_line_that_is_used_for_a_while_comes_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
