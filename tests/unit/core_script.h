/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs of one class and one micro-trace, played on a simple core. */
#ifndef TESTS_CORE_SCRIPT_H
#define TESTS_CORE_SCRIPT_H

#include "cmocka_all.h"
#include "uarch/core.h"

#include <math.h>

enum { OPS = 1000, FLAGS = 16, LINE = PROFILE_LINE_BYTES, MEMORY = 200, FRONT_END = 12 };
enum { ALL_PORTS = 0xff };

#define BIT(r) (UINT64_C(1) << (r))

/* A program of one class and one micro-trace, or two halves of it. */
struct script {
	struct code codes[16];
	struct micro_op ops[OPS];
	struct profile profile;
	struct micro_trace micro[2];
	double first_share; /* of the class, that the first half stands for; 0: there is one trace */
	struct profile_class class;
};

static inline struct processor eight_wide(void)
{
	struct processor processor = { .cores = 1,
		.frequency_hz = 1e9,
		.dispatch_width = 8,
		.retire_width = 8,
		.rob = 256,
		.issue_queue = 256,
		.load_queue = 256,
		.store_queue = 64,
		.front_end = FRONT_END,
		.load_ports = ALL_PORTS,
		.store_ports = ALL_PORTS,
		.port_count = 8,
		.levels = { { .bytes = 32768, .ways = 8, .latency = 4, .shared_by = 1 },
			{ .bytes = 1 << 20, .ways = 8, .latency = 14, .shared_by = 1 },
			{ .bytes = 1 << 24, .ways = 16, .latency = 40, .shared_by = 4 } },
		.level_count = 3,
		.memory_ns = MEMORY,
		.transfer_ns = 100 };
	for (unsigned i = 0; i < CODE_CLASSES; i++)
		processor.units[i] =
			(struct unit){ .latency = 1, .interval = 1, .ports = ALL_PORTS };
	return processor;
}

static const struct core_odds always_memory = { .beyond = { 1, 1, 1 } };
static const struct core_odds never_missed = { .beyond = { 0, 0, 0 } };

/* What the script takes, all accesses having the same odds. */
static inline struct core_result play(struct script *script, const struct processor *processor,
	struct core_input input, struct core_odds odds)
{
	double share = script->first_share;
	bool is_halved = share > 0;
	unsigned count = is_halved ? OPS / 2 : OPS;
	script->micro[0] = (struct micro_trace){
		.count = count, .ops = script->ops, .weight = is_halved ? share * OPS : OPS
	};
	script->micro[1] = (struct micro_trace){
		.count = count, .ops = script->ops + count % OPS, .weight = (1 - share) * OPS
	};
	script->profile = (struct profile){ .classes = &script->class,
		.class_count = 1,
		.codes = script->codes,
		.code_count = 16,
		.micro = script->micro,
		.micro_count = is_halved ? 2 : 1 };
	AUTO(core_program) struct core_program *program = NULL;
	assert_int_equal(core_program_new(&script->profile, OPS, 1, &program), 0);
	AUTO(core) struct core *core = NULL;
	assert_int_equal(core_new(processor, &core), 0);
	struct core_odds all[16];
	for (size_t i = 0; i < 16; i++)
		all[i] = odds;
	input.odds = all;
	struct core_result result = { 0 };
	assert_int_equal(core_play(core, program, 0, &input, &result), 0);
	double sum = 0;
	for (unsigned i = 0; i < CORE_COMPONENTS; i++)
		sum += result.stack[i];
	assert_true(fabs(sum - result.cpi) < 1e-9 * result.cpi);
	return result;
}

static inline struct core_result play_hits(struct script *script, const struct processor *processor)
{
	return play(script, processor, (struct core_input){ 0 }, never_missed);
}

/* Repeats the first `length` codes. */
static inline void repeat(struct script *script, unsigned length)
{
	for (unsigned i = 0; i < OPS; i++)
		script->ops[i].code = i % length;
}

/* One multiplication and two additions again and again, none of which waits for another. */
static inline struct script multiply_and_add(void)
{
	struct script script = { .codes = { { .class = CODE_MULTIPLY, .writes = BIT(0) },
					 { .class = CODE_ALU, .writes = BIT(1) },
					 { .class = CODE_ALU, .writes = BIT(2) } } };
	repeat(&script, 3);
	return script;
}

static inline void assert_near(double value, double expected, double tolerance)
{
	if (fabs(value - expected) > tolerance * expected)
		fail_msg("%g is not within %g%% of %g", value, 100 * tolerance, expected);
}

/* Loads of lines that nothing depends on; every other instruction an ALU operation. */
static inline struct script independent_loads(void)
{
	struct script script = { .codes = { { .class = CODE_MOVE,
						    .flags = CODE_LOAD,
						    .data_bytes = 8,
						    .address_reads = BIT(0),
						    .writes = BIT(1) },
					 { .class = CODE_ALU, .writes = BIT(2) } } };
	repeat(&script, 2);
	for (unsigned i = 0; i < OPS; i += 2)
		script.ops[i].address = LINE * (1 + (uint64_t)i * 7919 % 65536);
	return script;
}

#endif
