/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "boost_programs.h"

#include "base/mem.h"

#include <errno.h>

enum { QUEUE_CAPACITY = 4 };
enum stage { WORK, LOCK, HELD, UNLOCK, BARRIER, SERIAL, BARRIER_2, EXIT };

/* The lengths of rounds lie below, near and above a slice of 10 ms; runs take 1 to 2 s. */
const struct shape boost_shapes[] = {
	{ .name = "barriers 1 ms, one heavy",
		.rounds = 1000,
		.pieces = 1,
		.work_ns = 1e6,
		.noise = 0.05,
		.heavy = 0.25 },
	{ .name = "barriers 30 ms, one heavy",
		.rounds = 40,
		.pieces = 1,
		.work_ns = 30e6,
		.noise = 0.05,
		.heavy = 0.25 },
	{ .name = "barriers 5 ms, the heavy wanders",
		.rounds = 240,
		.pieces = 1,
		.work_ns = 5e6,
		.noise = 0.05,
		.heavy = 0.25,
		.wander = 20 },
	{ .name = "barriers 5 ms, uneven by chance",
		.rounds = 240,
		.pieces = 1,
		.work_ns = 5e6,
		.noise = 0.2 },
	{ .name = "one lock, half saturated",
		.rounds = 20,
		.pieces = 100,
		.work_ns = 50e6,
		.noise = 0.1,
		.held_ns = 30e3 },
	{ .name = "one lock, saturated",
		.rounds = 20,
		.pieces = 100,
		.work_ns = 20e6,
		.noise = 0.1,
		.held_ns = 60e3 },
	{ .name = "sequential part 2 ms of 12",
		.rounds = 100,
		.pieces = 1,
		.work_ns = 10e6,
		.noise = 0.05,
		.serial_ns = 2e6 },
	{ .name = "sequential part 30 ms of 130",
		.rounds = 10,
		.pieces = 1,
		.work_ns = 100e6,
		.noise = 0.05,
		.serial_ns = 30e6 },
	{ .name = "pipeline, one heavy stage",
		.rounds = 1000,
		.pieces = 1,
		.work_ns = 1e6,
		.noise = 0.3,
		.heavy = 0.25,
		.is_pipeline = true },
	{ .name = "barriers 5 ms, balanced",
		.rounds = 240,
		.pieces = 1,
		.work_ns = 5e6,
		.noise = 0.01,
		.is_balanced = true },
};
const size_t boost_shape_count = ARRAY_SIZE(boost_shapes);

void program_init(
	struct program *program, const struct shape *shape, uint32_t threads, uint64_t seed)
{
	*program = (struct program){ .shape = shape, .threads = threads, .seed = seed };
	for (uint32_t i = 0; i < threads; i++)
		rng_init(&program->state[i].rng, seed * PROGRAM_THREADS_MAX + i);
}

int program_build(const struct program *program, struct sim *sim)
{
	uint32_t number;
	int code = sim_add_mutex(sim, "lock", &number);
	for (int i = 0; i < 2 && code == 0; i++)
		code = sim_add_barrier(sim, NULL, program->threads, &number);
	for (uint32_t i = 0; i + 1 < program->threads && code == 0; i++)
		code = sim_add_queue(sim, NULL, QUEUE_CAPACITY, &number);
	for (uint32_t i = 0; i < program->threads && code == 0; i++) {
		uint64_t cores = UINT64_C(1) << i;
		code = sim_add_thread(sim, NULL, &cores, &number);
	}
	return code;
}

/* All threads draw the same. */
static uint32_t heavy_thread(const struct program *program, uint32_t round)
{
	struct rng rng;
	uint32_t wander = program->shape->wander;
	rng_init(&rng, program->seed * 1000003 + (wander ? round / wander : 0));
	return (uint32_t)rng_below(&rng, program->threads);
}

static uint64_t draw_work(struct program *program, uint32_t index)
{
	const struct shape *shape = program->shape;
	struct program_thread *thread = &program->state[index];
	double work_ns = shape->work_ns / shape->pieces;
	work_ns *= 1 + shape->noise * (2 * rng_uniform(&thread->rng) - 1);
	if (shape->heavy > 0 && heavy_thread(program, thread->round) == index)
		work_ns *= 1 + shape->heavy;
	return (uint64_t)work_ns;
}

static void compute(struct sim_op *ret, uint64_t ns)
{
	ret->kind = SIM_COMPUTE;
	ret->amount = ns;
}

static void operate(struct sim_op *ret, enum sim_op_kind kind, uint32_t object)
{
	ret->kind = kind;
	ret->object = object;
}

/* GET, COMPUTE, PUT for each item; the first stage has no GET, the last no PUT. */
static void next_of_pipeline(
	struct program *program, uint32_t index, const struct sim_result *last, struct sim_op *ret)
{
	struct program_thread *thread = &program->state[index];
	bool is_first = index == 0, is_last = index + 1 == program->threads;
	bool is_over = is_first ? thread->round == program->shape->rounds
				: ret->kind == SIM_GET && last->status == -EPIPE;
	if (ret->kind == SIM_COMPUTE && !is_last) {
		operate(ret, SIM_PUT, index);
	} else if (ret->kind == SIM_CLOSE || (is_over && is_last)) {
		ret->kind = SIM_EXIT;
	} else if (is_over) {
		operate(ret, SIM_CLOSE, index);
	} else if (!is_first && ret->kind != SIM_GET) {
		operate(ret, SIM_GET, index - 1);
	} else {
		compute(ret, draw_work(program, index));
		thread->round++;
	}
}

static enum stage stage_after_work(const struct program *program, struct program_thread *thread)
{
	if (++thread->piece < program->shape->pieces)
		return WORK;
	thread->piece = 0;
	return BARRIER;
}

static enum stage stage_after_round(const struct program *program, struct program_thread *thread)
{
	return ++thread->round < program->shape->rounds ? WORK : EXIT;
}

static void next_of_rounds(struct program *program, uint32_t index, struct sim_op *ret)
{
	const struct shape *shape = program->shape;
	struct program_thread *thread = &program->state[index];
	struct sim_dist held = { .kind = SIM_EXPONENTIAL, .a = shape->held_ns };
	switch ((enum stage)thread->stage) {
	case WORK:
		compute(ret, draw_work(program, index));
		thread->stage = shape->held_ns > 0 ? LOCK : stage_after_work(program, thread);
		return;
	case LOCK:
		operate(ret, SIM_LOCK, 0);
		thread->stage = HELD;
		return;
	case HELD:
		compute(ret, sim_draw(&held, &thread->rng));
		thread->stage = UNLOCK;
		return;
	case UNLOCK:
		operate(ret, SIM_UNLOCK, 0);
		thread->stage = stage_after_work(program, thread);
		return;
	case BARRIER:
		operate(ret, SIM_BARRIER, 0);
		thread->stage = shape->serial_ns == 0 ? stage_after_round(program, thread)
				: index == 0          ? SERIAL
						      : BARRIER_2;
		return;
	case SERIAL:
		compute(ret, (uint64_t)shape->serial_ns);
		thread->stage = BARRIER_2;
		return;
	case BARRIER_2:
		operate(ret, SIM_BARRIER, 1);
		thread->stage = stage_after_round(program, thread);
		return;
	case EXIT:
		ret->kind = SIM_EXIT;
	}
}

int program_next(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)sim, (void)err;
	struct program *program = context;
	if (program->shape->is_pipeline)
		next_of_pipeline(program, tid - 1, last, ret);
	else
		next_of_rounds(program, tid - 1, ret);
	return 0;
}
