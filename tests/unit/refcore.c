/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference simulator's core, on loops whose cycles are known. */
#include "bench/refsim/core.h"
#include "cmocka_all.h"

#include <string.h>

enum { COUNT = 10000, ALU_PORTS = 7, LINE = 64, MEMORY_NS = 100, FRONT_END = 10, L1 = 4 };

/* A core of 4 at 1 GHz (a cycle is a ns): three ALUs, two load ports, a cache of 4 KiB. */
static struct processor example(void)
{
	struct processor processor = {
		.frequency_hz = 1e9,
		.dispatch_width = 4,
		.retire_width = 4,
		.rob = 64,
		.issue_queue = 32,
		.load_queue = 32,
		.store_queue = 16,
		.front_end = FRONT_END,
		.load_ports = 3 << 3,
		.store_ports = 1 << 5,
		.instruction = { .bytes = 4096, .ways = 4, .shared_by = 1 },
		.levels = { { .bytes = 4096, .ways = 4, .latency = L1, .shared_by = 1 } },
		.level_count = 1,
		.memory_ns = MEMORY_NS,
	};
	for (int class = 0; class < CODE_CLASSES; class ++)
		processor.units[class] = (struct unit){ 1, 1, ALU_PORTS };
	processor.units[CODE_MULTIPLY] = (struct unit){ 3, 1, 2 };
	processor.units[CODE_DIVIDE] = (struct unit){ 20, 20, 1 };
	return processor;
}

struct predict_none {
	uint64_t asked;
};

static bool always_wrong(void *context, uint64_t address, bool is_taken)
{
	(void)address;
	(void)is_taken;
	((struct predict_none *)context)->asked++;
	return false;
}

/* Cycles of `count` executions of op 0 .. op_count - 1 in turn; line by line if `stride`. */
struct loop {
	struct code codes[4];
	uint32_t code_count;
	uint64_t stride;
};

static struct refcore_counts run(const struct processor *processor, const struct loop *loop,
	struct refcore_predictor predictor)
{
	AUTO(refmemory) struct refmemory *memory = NULL;
	AUTO(refcore) struct refcore *core = NULL;
	assert_int_equal(refmemory_new(processor, 1, &memory, NULL), 0);
	assert_int_equal(refcore_new(processor, memory, 0, predictor, &core, NULL), 0);
	static struct micro_op ops[COUNT];
	memset(ops, 0, sizeof(ops));
	for (uint32_t i = 0; i < COUNT; i++) {
		ops[i].code = i % loop->code_count;
		if (loop->codes[ops[i].code].flags & (CODE_LOAD | CODE_STORE))
			ops[i].address = 1 << 20 | (i / loop->code_count * loop->stride);
	}
	(void)refcore_run(core, loop->codes, ops, COUNT, UINT64_MAX);
	refcore_drain(core);
	struct refcore_counts counts = refcore_counts(core);
	uint64_t sum = 0;
	for (int part = 0; part < REFCORE_PARTS; part++)
		sum += counts.parts[part];
	assert_int_equal(sum, counts.cycles);
	assert_int_equal(counts.instructions, COUNT);
	return counts;
}

static void assert_cycles(const struct processor *processor, const struct loop *loop, double each)
{
	struct refcore_counts counts = run(processor, loop, (struct refcore_predictor){ 0 });
	double cycles = (double)counts.cycles / COUNT * loop->code_count;
	if (cycles < each * 0.97 - 0.01 || cycles > each * 1.03 + 0.05)
		fail_msg("%g cycles an iteration, %g expected", cycles, each);
}

static void a_chain_takes_its_latency(void **state)
{
	(void)state;
	struct processor processor = example();
	struct loop loop = { { { .class = CODE_MULTIPLY, .reads = 1, .writes = 1 } }, 1, 0 };
	assert_cycles(&processor, &loop, 3);
}

static void independent_operations_are_bound_by_ports_and_width(void **state)
{
	(void)state;
	struct processor processor = example();
	struct loop loop = { { { .class = CODE_ALU, .writes = 1 } }, 1, 0 };
	assert_cycles(&processor, &loop, 1 / 3.0);
	processor.units[CODE_ALU].ports = 0xff;
	assert_cycles(&processor, &loop, 1 / 4.0);
	loop.codes[0].class = CODE_DIVIDE;
	assert_cycles(&processor, &loop, 20);
}

static void pops_do_not_wait_for_one_another(void **state)
{
	(void)state;
	const uint64_t stack = UINT64_C(1) << 4;
	const struct loop loop = { .codes = { { .class = CODE_MOVE,
					   .flags = CODE_LOAD,
					   .address_reads = stack,
					   .writes = stack | 1 } },
		.code_count = 1 };
	struct processor processor = example();
	assert_cycles(&processor, &loop, 1 / 2.0); /* its two ports */
}

static void vectors_are_loaded_through_their_own_ports(void **state)
{
	(void)state;
	const uint64_t vector = UINT64_C(1) << CODE_REGISTER_VECTOR;
	struct loop loop = { .codes = { { .class = CODE_MOVE, .flags = CODE_LOAD, .writes = 1 } },
		.code_count = 1 };
	struct processor processor = example();
	processor.vector_load_ports = 1 << 3;
	processor.vector_load = 3;
	assert_cycles(&processor, &loop, 1 / 2.0);
	loop.codes[0].writes = vector;
	assert_cycles(&processor, &loop, 1);
	loop.codes[0].address_reads = vector;
	assert_cycles(&processor, &loop, L1 + 3);
}

static void in_order_nothing_passes_what_waits(void **state)
{
	(void)state;
	const struct loop loop = { .codes = { { .class = CODE_MULTIPLY, .writes = 1 },
					   { .class = CODE_ALU, .reads = 1, .writes = 2 },
					   { .class = CODE_ALU, .writes = 4 } },
		.code_count = 3 };
	struct processor processor = example();
	processor.units[CODE_ALU].ports = 5;
	assert_cycles(&processor, &loop, 1);
	processor.in_order = 1;
	assert_cycles(&processor, &loop, 3);
}

static void a_load_from_the_cache_takes_its_latency(void **state)
{
	(void)state;
	struct processor processor = example();
	struct loop loop = {
		{ { .class = CODE_MOVE, .flags = CODE_LOAD, .address_reads = 1, .writes = 1 } }, 1,
		0
	};
	assert_cycles(&processor, &loop, 4);
	loop.codes[0].address_reads = 0;
	assert_cycles(&processor, &loop, 1 / 2.0);
}

static void chased_pointers_take_memory_each(void **state)
{
	(void)state;
	struct processor processor = example();
	struct loop loop = {
		{ { .class = CODE_MOVE, .flags = CODE_LOAD, .address_reads = 1, .writes = 1 } }, 1,
		LINE
	};
	assert_cycles(&processor, &loop, MEMORY_NS);
}

static void independent_misses_overlap_up_to_the_limits(void **state)
{
	(void)state;
	struct processor processor = example();
	struct loop loop = { { { .class = CODE_MOVE, .flags = CODE_LOAD, .writes = 1 } }, 1, LINE };
	assert_cycles(&processor, &loop, (double)MEMORY_NS / 32); /* the load queue */
	processor.levels[0].misses = 10;
	assert_cycles(&processor, &loop, (double)MEMORY_NS / 10);
	processor.memory_bytes_per_s = 64e9 / 25; /* a line in 25 ns */
	assert_cycles(&processor, &loop, 25);
}

static void a_prefetcher_hides_a_stream(void **state)
{
	(void)state;
	struct processor processor = example();
	processor.prefetch = PREFETCH_STRIDE;
	processor.prefetch_distance = 16;
	struct loop loop = { { { .class = CODE_MOVE, .flags = CODE_LOAD, .writes = 1 },
				     { .class = CODE_MULTIPLY, .reads = 2, .writes = 2 },
				     { .class = CODE_MULTIPLY, .reads = 2, .writes = 2 },
				     { .class = CODE_MULTIPLY, .reads = 2, .writes = 2 } },
		4, LINE };
	assert_cycles(&processor, &loop, 9);
}

static void a_misprediction_costs_resolution_and_refill(void **state)
{
	(void)state;
	struct processor processor = example();
	struct predict_none none = { 0 };
	struct loop loop = {
		{ { .class = CODE_ALU, .writes = 1 }, { .class = CODE_BRANCH, .reads = 1 } }, 2, 0
	};
	struct refcore_counts counts =
		run(&processor, &loop, (struct refcore_predictor){ always_wrong, &none });
	assert_int_equal(none.asked, COUNT / 2);
	assert_int_equal(counts.mispredicted, COUNT / 2);
	/* Dispatched together; issued the next cycle, the branch in the one after; then the front end. */
	double each = (double)counts.cycles / (COUNT / 2.0);
	assert_true(each >= FRONT_END + 2 && each <= FRONT_END + 4);
	assert_true(counts.parts[REFCORE_BRANCH] > counts.cycles * 6 / 10);
}

static void a_store_gives_its_value_to_the_load_after_it(void **state)
{
	(void)state;
	struct processor processor = example();
	/* Load, add, store to the same word: a chain through memory. */
	struct loop loop = {
		{ { .class = CODE_ALU, .flags = CODE_LOAD | CODE_STORE, .data_bytes = 8 } }, 1, 0
	};
	struct refcore_counts counts = run(&processor, &loop, (struct refcore_predictor){ 0 });
	double each = (double)counts.cycles / COUNT;
	assert_true(each >= 5 && each <= 7); /* 4 to load, 1 to add, 1 to store */
}

static void atomic_operations_do_not_overlap(void **state)
{
	(void)state;
	struct processor processor = example();
	processor.units[CODE_ATOMIC].latency = 16;
	struct loop loop = { { { .class = CODE_ATOMIC, .flags = CODE_LOAD | CODE_STORE } }, 1, 0 };
	struct refcore_counts counts = run(&processor, &loop, (struct refcore_predictor){ 0 });
	double each = (double)counts.cycles / COUNT;
	assert_true(
		each >= 16 && each <= 18); /* their lines are there before they are the oldest */
}

/* Four lines of code and a cache for two: each comes from memory, and one ahead halves that. */
static void lines_of_instructions_are_fetched_ahead(void **state)
{
	(void)state;
	struct processor processor = example();
	processor.instruction = (struct cache){ .bytes = 2 * LINE, .ways = 2, .shared_by = 1 };
	struct loop loop = { .code_count = 4 };
	for (unsigned i = 0; i < 4; i++)
		loop.codes[i] = (struct code){ .class = CODE_ALU, .address = i * LINE };
	assert_cycles(&processor, &loop, 4 * MEMORY_NS);
	processor.fetch_ahead = 1;
	assert_cycles(&processor, &loop, 4 * MEMORY_NS / 2.0);
}

enum { ADDRESS = 1 << 20, TRANSFER = 200 };

/* Of two cores; it borrows the processor. */
static struct refmemory *memory_of_two(struct processor *processor)
{
	struct refmemory *memory = NULL;
	*processor = example();
	processor->transfer_ns = TRANSFER;
	assert_int_equal(refmemory_new(processor, 2, &memory, NULL), 0);
	return memory;
}

/* Two cores in turn: a line goes on when it has come, and comes once for all that is asked meanwhile. */
static void a_line_goes_from_core_to_core(void **state)
{
	(void)state;
	struct processor processor;
	AUTO(refmemory) struct refmemory *memory = memory_of_two(&processor);
	static const struct {
		uint32_t core;
		uint64_t asked, ready;
	} asks[] = {
		{ 0, 0, MEMORY_NS },
		{ 1, 1000, 1000 + TRANSFER },
		{ 0, 1010, 1000 + 2 * TRANSFER },
		{ 1, 1050, 1000 + TRANSFER },
		{ 1, 1250, 1000 + 3 * TRANSFER },
		{ 0, 1300, 1000 + 2 * TRANSFER },
	};
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		assert_int_equal(refmemory_access(memory, asks[i].core, ADDRESS, REFCACHE_WRITE,
					 REFMEMORY_NONE, asks[i].asked)
					 .ready,
			asks[i].ready);
	assert_true(refmemory_has_lost(memory, 0, ADDRESS));
	assert_false(refmemory_has_lost(memory, 1, ADDRESS));
}

/* It may be written when the other core has dropped its copy, and read meanwhile. */
static void a_line_that_others_read_is_not_written_at_once(void **state)
{
	(void)state;
	struct processor processor;
	AUTO(refmemory) struct refmemory *memory = memory_of_two(&processor);
	(void)refmemory_access(memory, 0, ADDRESS, REFCACHE_WRITE, REFMEMORY_NONE, 0);
	(void)refmemory_access(memory, 1, ADDRESS, REFCACHE_READ, REFMEMORY_NONE, 1000);
	static const struct {
		enum refcache_kind kind;
		uint64_t asked, ready;
	} asks[] = {
		{ REFCACHE_WRITE, 2000, 2000 + TRANSFER },
		{ REFCACHE_READ, 2010, 2010 + L1 },
		{ REFCACHE_WRITE, 2020, 2000 + TRANSFER },
		{ REFCACHE_WRITE, 2300, 2300 + L1 },
	};
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		assert_int_equal(refmemory_access(memory, 0, ADDRESS, asks[i].kind, REFMEMORY_NONE,
					 asks[i].asked)
					 .ready,
			asks[i].ready);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_takes_its_latency),
		cmocka_unit_test(independent_operations_are_bound_by_ports_and_width),
		cmocka_unit_test(pops_do_not_wait_for_one_another),
		cmocka_unit_test(vectors_are_loaded_through_their_own_ports),
		cmocka_unit_test(in_order_nothing_passes_what_waits),
		cmocka_unit_test(a_load_from_the_cache_takes_its_latency),
		cmocka_unit_test(chased_pointers_take_memory_each),
		cmocka_unit_test(independent_misses_overlap_up_to_the_limits),
		cmocka_unit_test(a_prefetcher_hides_a_stream),
		cmocka_unit_test(a_misprediction_costs_resolution_and_refill),
		cmocka_unit_test(a_store_gives_its_value_to_the_load_after_it),
		cmocka_unit_test(atomic_operations_do_not_overlap),
		cmocka_unit_test(lines_of_instructions_are_fetched_ahead),
		cmocka_unit_test(a_line_goes_from_core_to_core),
		cmocka_unit_test(a_line_that_others_read_is_not_written_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
