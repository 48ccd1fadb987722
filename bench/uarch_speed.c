/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed of the core model, and its base component beside the reference simulator's core, over made-up programs of
 * a known character. Usage: uarch_speed MACHINE.yaml...
 *
 * The reference plays the same instructions cycle by cycle, with all branches predicted and its caches warm, which the
 * model is told too. Time is CPU time, the least of three runs.
 */
#include "base/rng.h"
#include "bench/refsim/core.h"
#include "uarch/core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CODES = 256, TRACE = 1000, TRACES = 64, OPS = TRACE * TRACES, RUNS = 3, SEED = 1 };
enum { LINES = 128, FLAGS_REGISTER = 16, VECTOR_REGISTER = 17 };

/* Shares of instructions, in percent; the rest is CODE_ALU. */
struct character {
	const char *name;
	unsigned loads, stores, branches, multiplies, divides, fp;
	unsigned chained; /* percent of operands that are the last result of their kind */
};

static const struct character characters[] = {
	{ "integer", 25, 10, 18, 2, 0, 0, 40 },
	{ "chained integer", 20, 5, 10, 5, 0, 0, 90 },
	{ "wide integer", 20, 10, 8, 2, 0, 0, 5 },
	{ "loads and stores", 40, 25, 5, 0, 0, 0, 30 },
	{ "floating point", 28, 8, 5, 0, 0, 40, 40 },
	{ "chained floating point", 20, 5, 5, 0, 0, 50, 90 },
	{ "divisions", 20, 5, 10, 0, 3, 20, 30 },
};

struct program {
	struct code codes[CODES];
	struct micro_op ops[OPS];
	struct micro_trace micro[TRACES];
	struct profile_class class;
	struct profile profile;
};

static double cpu_s(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* cannot fail: it always exists */
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint8_t pick_class(const struct character *character, struct rng *rng, uint8_t *ret_flags)
{
	unsigned draw = (unsigned)rng_below(rng, 100);
	const struct {
		unsigned share;
		uint8_t class, flags;
	} choices[] = {
		{ character->loads, CODE_MOVE, CODE_LOAD },
		{ character->stores, CODE_MOVE, CODE_STORE },
		{ character->branches, CODE_BRANCH, 0 },
		{ character->multiplies, CODE_MULTIPLY, 0 },
		{ character->divides, CODE_FP_DIVIDE, 0 },
		{ character->fp / 2, CODE_FP_ADD, 0 },
		{ character->fp / 2, CODE_FP_MULTIPLY, 0 },
	};
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		if (draw < choices[i].share) {
			*ret_flags = choices[i].flags;
			return choices[i].class;
		}
		draw -= choices[i].share;
	}
	*ret_flags = 0;
	return CODE_ALU;
}

/* One loop of CODES instructions; registers as a compiler would: results are used soon, or long after. */
static void make_codes(struct program *program, const struct character *character, struct rng *rng)
{
	unsigned last[2] = { 0, VECTOR_REGISTER };
	for (size_t i = 0; i < CODES; i++) {
		struct code *code = &program->codes[i];
		*code = (struct code){ .address = 0x400000 + 4 * i, .bytes = 4 };
		uint8_t flags = 0;
		code->class = pick_class(character, rng, &flags);
		code->flags = flags;
		bool is_fp = code->class >= CODE_FP_ADD && code->class <= CODE_FP_DIVIDE;
		bool is_fp_access = code->flags && rng_below(rng, 100) < character->fp;
		unsigned base = is_fp || is_fp_access ? VECTOR_REGISTER : 0;
		unsigned target = base + (unsigned)rng_below(rng, 12);
		target += target == 4; /* not the stack pointer */
		unsigned source = base + 12 + (unsigned)rng_below(rng, 3); /* never written */
		if (rng_below(rng, 100) < character->chained)
			source = last[base > 0];
		code->data_bytes = code->flags ? 8 : 0;
		if (code->flags & CODE_LOAD)
			code->address_reads = UINT64_C(1) << (base ? 12 : source);
		else
			code->reads = UINT64_C(1)
				      << (code->class == CODE_BRANCH ? FLAGS_REGISTER : source);
		if (code->class == CODE_BRANCH || code->flags & CODE_STORE)
			continue;
		code->writes = UINT64_C(1) << target;
		if (code->class == CODE_ALU)
			code->writes |= UINT64_C(1) << FLAGS_REGISTER;
		last[base > 0] = target;
	}
}

static void make_program(struct program *program, const struct character *character)
{
	struct rng rng;
	rng_init(&rng, SEED);
	*program = (struct program){ .class = { .instructions = OPS } };
	make_codes(program, character, &rng);
	for (size_t i = 0; i < OPS; i++) {
		const struct code *code = &program->codes[i % CODES];
		program->ops[i].code = (uint32_t)(i % CODES);
		if (code->flags)
			program->ops[i].address = 0x10000 +
						  PROFILE_LINE_BYTES * rng_below(&rng, LINES) +
						  8 * rng_below(&rng, 8);
		program->ops[i].taken = code->class == CODE_BRANCH && rng_below(&rng, 2);
	}
	for (size_t i = 0; i < TRACES; i++)
		program->micro[i] = (struct micro_trace){
			.count = TRACE, .ops = program->ops + i * TRACE, .weight = TRACE
		};
	program->profile = (struct profile){ .classes = &program->class,
		.class_count = 1,
		.codes = program->codes,
		.code_count = CODES,
		.micro = program->micro,
		.micro_count = TRACES };
}

static int read_machine(const char *path, struct processor *ret)
{
	char text[65536];
	AUTO_FILE FILE *file = fopen(path, "r");
	size_t length = file ? fread(text, 1, sizeof(text), file) : 0;
	struct err err = { 0 };
	if (length == 0) {
		fprintf(stderr, "cannot read %s\n", path);
		return -1;
	}
	int rc = processor_parse(path, text, length, ret, &err);
	if (rc != 0)
		fprintf(stderr, "%s\n", err.text);
	return rc;
}

/* CPI of the reference: the second time through. */
static double reference(const struct program *program, const struct processor *processor)
{
	AUTO(refmemory) struct refmemory *memory = NULL;
	AUTO(refcore) struct refcore *core = NULL;
	struct refcore_predictor none = { 0 };
	if (refmemory_new(processor, 1, &memory, NULL) != 0 ||
		refcore_new(processor, memory, 0, none, &core, NULL) != 0)
		return NAN;
	(void)refcore_run(core, program->codes, program->ops, OPS, UINT64_MAX);
	uint64_t before = refcore_clock(core);
	(void)refcore_run(core, program->codes, program->ops, OPS, UINT64_MAX);
	return (double)(refcore_clock(core) - before) / OPS;
}

struct played {
	double cpi, seconds;
};

static int play(const struct core_program *program, const struct processor *processor,
	const struct core_odds *odds, struct played *ret)
{
	AUTO(core) struct core *core = NULL;
	int rc = core_new(processor, &core);
	struct core_input input = { .odds = odds };
	struct core_result result = { 0 };
	ret->seconds = INFINITY;
	for (int run = 0; rc == 0 && run < RUNS; run++) {
		double start = cpu_s();
		rc = core_play(core, program, 0, &input, &result);
		ret->seconds = fmin(ret->seconds, cpu_s() - start);
	}
	ret->cpi = result.cpi;
	return rc;
}

/* One line of the table. */
static int bench(const struct character *character, const struct processor *processor,
	double *sum_error, double *sum_s)
{
	static struct program program;
	make_program(&program, character);
	AUTO(core_program) struct core_program *prepared = NULL;
	double start = cpu_s();
	if (core_program_new(&program.profile, OPS, SEED, &prepared) != 0)
		return -1;
	double prepare_s = cpu_s() - start;
	static struct core_odds hits[CODES], misses[CODES];
	for (size_t i = 0; i < CODES; i++)
		misses[i] = (struct core_odds){ .beyond = { 0.1, 0.05, 0.02, 0.02 } };
	struct played hit = { 0 }, miss = { 0 };
	if (play(prepared, processor, hits, &hit) != 0 ||
		play(prepared, processor, misses, &miss) != 0)
		return -1;
	double truth = reference(&program, processor);
	double error = 100 * (hit.cpi / truth - 1);
	*sum_error += fabs(error);
	*sum_s += miss.seconds;
	printf("%-16.16s %-22s %7.3f %7.3f %+6.1f%% %7.1f %7.1f %8.1f\n", processor->name,
		character->name, truth, hit.cpi, error, 1e9 * hit.seconds / OPS,
		1e9 * miss.seconds / OPS, 1e9 * prepare_s / OPS);
	return 0;
}

int main(int argc, char **argv)
{
	const size_t count = sizeof(characters) / sizeof(characters[0]);
	double sum_error = 0, sum_s = 0;
	unsigned lines = 0;
	printf("%-16s %-22s %7s %7s %7s %7s %7s %8s\n", "machine", "program", "ref CPI", "CPI",
		"error", "hit ns", "miss ns", "make ns");
	for (int i = 1; i < argc; i++) {
		AUTO_RELEASE(processor) struct processor processor = { 0 };
		if (read_machine(argv[i], &processor) != 0)
			return 1;
		for (size_t c = 0; c < count; c++, lines++)
			if (bench(&characters[c], &processor, &sum_error, &sum_s) != 0)
				return 1;
	}
	if (lines == 0) {
		fprintf(stderr, "usage: uarch_speed MACHINE.yaml...\n");
		return 2;
	}
	printf("mean absolute error %.1f%%, %.0f points/s of %d instructions with misses\n",
		sum_error / lines, lines / sum_s, OPS);
	return 0;
}
