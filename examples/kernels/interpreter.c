/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Branchy code: an interpreter with a switch of operations runs a small program for each
 * of many inputs, whose lengths differ widely; jobs are taken from an atomic counter.
 */
#include "examples/kernels/common/kernel.h"

enum { JOBS = 160000, REGISTERS = 8 };

enum operation { LOAD, MOVE, ADD, MULTIPLY, HALVE, AND, JUMP, JUMP_ZERO, JUMP_EQUAL, STOP };

struct instruction {
	uint8_t operation, a, b;
	int8_t to; /* a jump's place, or a constant */
};

struct jobs {
	size_t count, next;
	uint64_t sum;
};

/* Steps of Collatz from register 0 down to 1, and a hash of what is odd on the way, in register 3. */
static const struct instruction program[] = {
	{ LOAD, 1, 0, 1 },
	{ LOAD, 2, 0, 0 },
	{ LOAD, 3, 0, 7 },
	{ LOAD, 4, 0, 3 },
	/* 4: */ { JUMP_EQUAL, 0, 1, 16 },
	{ ADD, 2, 1, 0 },
	{ MOVE, 5, 0, 0 },
	{ AND, 5, 1, 0 },
	{ JUMP_ZERO, 5, 0, 14 },
	{ MULTIPLY, 3, 4, 0 },
	{ ADD, 3, 0, 0 },
	{ MULTIPLY, 0, 4, 0 },
	{ ADD, 0, 1, 0 },
	{ JUMP, 0, 0, 4 },
	/* 14: */ { HALVE, 0, 0, 0 },
	{ JUMP, 0, 0, 4 },
	/* 16: */ { ADD, 3, 2, 0 },
	{ STOP, 3, 0, 0 },
};

static uint64_t interpret(uint64_t input)
{
	uint64_t r[REGISTERS] = { input };
	for (const struct instruction *at = program;; at++) {
		switch ((enum operation)at->operation) {
		case LOAD:
			r[at->a] = (uint64_t)at->to;
			break;
		case MOVE:
			r[at->a] = r[at->b];
			break;
		case ADD:
			r[at->a] += r[at->b];
			break;
		case MULTIPLY:
			r[at->a] *= r[at->b];
			break;
		case HALVE:
			r[at->a] /= 2;
			break;
		case AND:
			r[at->a] &= r[at->b];
			break;
		case JUMP:
			at = program + at->to - 1;
			break;
		case JUMP_ZERO:
			if (r[at->a] == 0)
				at = program + at->to - 1;
			break;
		case JUMP_EQUAL:
			if (r[at->a] == r[at->b])
				at = program + at->to - 1;
			break;
		case STOP:
			return r[at->a];
		}
	}
}

static void work(const struct kernel *kernel, int thread, void *shared)
{
	struct jobs *jobs = (struct jobs *)shared;
	uint64_t sum = 0;
	(void)kernel;
	(void)thread;
	for (size_t job;
		(job = __atomic_fetch_add(&jobs->next, 1, __ATOMIC_RELAXED)) < jobs->count;)
		sum += interpret(job * 37 + 3);
	__atomic_fetch_add(&jobs->sum, sum, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Interprets a program (POSIX threads).");
	struct jobs jobs = { .count = kernel_scaled(&kernel, JOBS) };
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &jobs);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_mix(1, jobs.sum));
}
