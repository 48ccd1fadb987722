/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/run.h"

#include "sim/sim.h"
#include "uarch/predict.h"

#include <errno.h>
#include <stdlib.h>

/* Below this a core that is asked again has not been idle: times are rounded to whole ns. */
static const uint64_t IDLE_NS = 5;

/* Instructions of a thread that have been read and not yet dispatched. */
struct ahead {
	struct micro_op ops[REFRUN_OPS];
	/* While there are any, the last one's instruction counts as work that is left. */
	size_t at, count;
};

struct running {
	const struct refrun_input *input;
	struct refmemory *memory;
	struct refcore **cores;
	struct ahead *ahead; /* by thread */
	struct sim *sim;
	uint64_t missing;
};

static int begin(void *context, struct sim *sim)
{
	((struct running *)context)->sim = sim;
	return 0;
}

static double ghz(const struct running *running)
{
	return running->input->processor->frequency_hz * 1e-9;
}

static uint64_t ns_of(const struct running *running, uint64_t cycle)
{
	return (uint64_t)((double)cycle / ghz(running));
}

/* Only what has been read is taken off. */
static void read_ahead(struct running *running, uint32_t thread, uint64_t *work)
{
	struct ahead *ahead = &running->ahead[thread];
	size_t wanted = *work < REFRUN_TURN ? (size_t)*work : REFRUN_TURN;
	size_t count = running->input->read(
		running->input->read_context, thread, wanted, ahead->ops, &ahead->count);
	ahead->at = 0;
	if (count < wanted)
		running->missing += *work - count;
	*work = count < wanted ? 1 : *work - count + 1;
}

static uint64_t duration(void *context, uint32_t thread, uint16_t stretch, uint64_t *work)
{
	struct running *running = context;
	struct refcore *core = running->cores[thread];
	struct ahead *ahead = &running->ahead[thread];
	uint64_t now_ns = sim_now(running->sim);
	(void)stretch;
	if (now_ns > ns_of(running, refcore_clock(core)) + IDLE_NS)
		refcore_advance(core, (uint64_t)((double)now_ns * ghz(running)));
	uint64_t until = (uint64_t)((double)(now_ns + 1) * ghz(running)) + 1;
	do {
		if (ahead->at == ahead->count && *work > 0)
			read_ahead(running, thread, work);
		ahead->at += refcore_run(core, running->input->codes, ahead->ops + ahead->at,
			ahead->count - ahead->at, until);
		if (ahead->at == ahead->count)
			*work -= *work > 0;
	} while (*work > 0 && refcore_clock(core) < until);
	if (*work == 0)
		refcore_drain(core);
	uint64_t until_ns = ns_of(running, refcore_clock(core));
	return until_ns > now_ns ? until_ns - now_ns : 0;
}

static void moves(void *context, uint32_t thread, uint32_t list, uint64_t work)
{
	const struct refrun_input *input = ((struct running *)context)->input;
	if (input->move)
		input->move(input->read_context, thread, list, work);
}

static int make_cores(struct running *running, struct err *err)
{
	const struct refrun_input *input = running->input;
	running->cores = calloc(input->threads, sizeof(struct refcore *));
	running->ahead = calloc(input->threads, sizeof(*running->ahead));
	if (!running->cores || !running->ahead)
		return err_set(err, -ENOMEM, "out of memory");
	int code = refmemory_new(input->processor, input->threads, &running->memory, err);
	for (uint32_t i = 0; code == 0 && i < input->threads; i++)
		code = refcore_new(input->processor, running->memory, i, input->predictors[i],
			&running->cores[i], err);
	return code;
}

static int result(const struct running *running, struct refrun_result *ret, struct err *err)
{
	struct refcore_counts *counts = calloc(running->input->threads, sizeof(*counts));
	if (!counts)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < running->input->threads; i++)
		counts[i] = refcore_counts(running->cores[i]);
	ret->cores = counts;
	ret->missing = running->missing;
	ret->memory_lines = refmemory_lines(running->memory);
	return 0;
}

/* A processor that says nothing of cores has one for each thread. */
static uint32_t cores_of(const struct refrun_input *input)
{
	return input->processor->cores ? input->processor->cores : input->threads;
}

int refrun(const struct refrun_input *input, const struct event_sink *sink,
	struct refrun_result *ret, struct err *err)
{
	struct running running = { .input = input };
	const struct processor *processor = input->processor;
	struct replay_run run = {
		.cores = cores_of(input),
		.sink = sink,
		.begin = begin,
		.begin_context = &running,
		.duration = duration,
		.moves = moves,
		.duration_context = &running,
		.operation_ns = processor->lock_cycles / 2 / processor->frequency_hz * 1e9,
		.yield_ns = (uint64_t)processor->yield_ns,
		.kernel = processor_kernel(processor),
		.transfer_ns = (uint64_t)processor->transfer_ns,
		.locks_overlap = processor->overlap,
		.transfer_spread = processor->memory_spread,
	};
	int code = input->threads > REPLAY_CORES_MAX
			   ? err_set(err, -E2BIG, "more than %d threads", REPLAY_CORES_MAX)
			   : make_cores(&running, err);
	if (code == 0)
		code = replay_run(input->replay, &run, &ret->ns, err);
	if (code == 0)
		code = result(&running, ret, err);
	for (uint32_t i = 0; running.cores && i < input->threads; i++)
		refcore_free(running.cores[i]);
	free(running.cores);
	free(running.ahead);
	refmemory_free(running.memory);
	return code;
}
