/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the core model says of loops: cycles of one iteration when nothing misses, for bench/dispatch.
 * Usage: dispatch_model MACHINE.yaml < LOOPS; a line has a name and the bytes of the instructions in hex with a comma
 * behind each, from the loop's first to the branch that goes back. Prints "NAME INSTRUCTIONS CYCLES".
 *
 * As llvm-mca does: all instructions of the body are executed one after the other, and no load reads what a store
 * wrote.
 */
#include "base/cleanup.h"
#include "plugin/decode.h"
#include "uarch/core.h"
#include "uarch/profile_import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 256, TRACE_MAX = 4096, INSTRUCTION_BYTES = 15 };

struct loop {
	char *name;
	struct code codes[BODY_MAX];
	size_t count;
};

static bool decode_instruction(const char *hex, uint64_t address, struct code *ret)
{
	uint8_t bytes[INSTRUCTION_BYTES];
	size_t size = strlen(hex) / 2;
	for (size_t i = 0; i < size && i < INSTRUCTION_BYTES; i++) {
		const char digits[3] = { hex[2 * i], hex[2 * i + 1], 0 };
		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	struct raw_code raw = { 0 };
	if (size == 0 || size > INSTRUCTION_BYTES || !decode(address, bytes, size, &raw, NULL))
		return false;
	*ret = profile_code(&raw);
	return true;
}

/* Cuts the line up. */
static bool read_loop(char *line, struct loop *loop)
{
	char *rest = NULL;
	loop->name = strtok_r(line, " ,\n", &rest);
	loop->count = 0;
	const char *hex;
	while ((hex = strtok_r(NULL, " ,\n", &rest))) {
		if (loop->count == BODY_MAX ||
			!decode_instruction(hex, 16 * loop->count, &loop->codes[loop->count]))
			return false;
		loop->count++;
	}
	return loop->count > 0;
}

static int play_loop(const struct loop *loop, const struct processor *processor, double *ret_cycles)
{
	static struct micro_op ops[TRACE_MAX];
	uint32_t count = (uint32_t)(1000 / loop->count + 1) * (uint32_t)loop->count;
	for (uint32_t i = 0; i < count; i++) {
		const struct code *code = &loop->codes[i % loop->count];
		bool is_memory = code->flags & (CODE_LOAD | CODE_STORE);
		ops[i] = (struct micro_op){ .code = i % (uint32_t)loop->count,
			.address = is_memory ? 0x10000 + 64 * (uint64_t)i : 0,
			.taken = i % loop->count == loop->count - 1 };
	}
	struct micro_trace micro = { .count = count, .ops = ops, .weight = count };
	struct profile_class class = { .instructions = count };
	struct profile profile = { .classes = &class,
		.class_count = 1,
		.codes = (struct code *)loop->codes,
		.code_count = loop->count,
		.micro = &micro,
		.micro_count = 1 };
	AUTO(core_program) struct core_program *program = NULL;
	AUTO(core) struct core *core = NULL;
	static struct core_odds hits[BODY_MAX];
	struct core_input input = { .odds = hits };
	struct core_result result = { 0 };
	int rc = core_program_new(&profile, count, 1, &program);
	if (rc == 0)
		rc = core_new(processor, &core);
	if (rc == 0)
		rc = core_play(core, program, 0, &input, &result);
	*ret_cycles = result.cpi * (double)loop->count;
	return rc;
}

int main(int argc, char **argv)
{
	char text[65536];
	AUTO_FILE FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	size_t length = file ? fread(text, 1, sizeof(text), file) : 0;
	AUTO_RELEASE(processor) struct processor processor = { 0 };
	struct err err = { 0 };
	if (length == 0 || processor_parse(argv[1], text, length, &processor, &err) != 0) {
		fprintf(stderr, "usage: dispatch_model MACHINE.yaml < LOOPS: %s\n", err.text);
		return 2;
	}
	static struct loop loop;
	AUTO_FREE char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, stdin) > 0) {
		double cycles = 0;
		if (!read_loop(line, &loop) || play_loop(&loop, &processor, &cycles) != 0)
			printf("%s 0 -1\n", loop.name ? loop.name : "?");
		else
			printf("%s %zu %.3f\n", loop.name, loop.count, cycles);
	}
	return 0;
}
