/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/pipes.h"

#include <errno.h>
#include <stdlib.h>

/* What went through an object. */
struct passage {
	uint64_t puts, gets; /* bytes */
	uint64_t put_calls, get_calls;
	uint32_t least_put, get_bytes; /* of each get; 0: none so far */
	bool is_irregular; /* gets of different sizes */
	bool is_ours; /* bytes are told of: no queue of another kind */
	uint64_t item; /* bytes; 0: no queue */
};

static bool is_of_passage(const struct build_trace *trace, const struct build_step *step)
{
	return (step->op == STEP_GET || step->op == STEP_PUT) && step->object != BUILD_NONE &&
	       trace->objects[step->object].what == WHAT_QUEUE &&
	       !trace->objects[step->object].are_signals;
}

static void count(struct passage *passage, const struct build_step *step)
{
	passage->is_ours |= step->count > 0;
	if (step->count == 0)
		return;
	if (step->op == STEP_PUT) {
		passage->puts += step->count;
		passage->put_calls++;
		if (passage->least_put == 0 || step->count < passage->least_put)
			passage->least_put = step->count;
		return;
	}
	passage->is_irregular |= passage->get_bytes > 0 && passage->get_bytes != step->count;
	passage->get_bytes = step->count;
	passage->gets += step->count;
	passage->get_calls++;
}

/* What was left in it is at most a twentieth: else reads take all that is there. */
static void decide(struct passage *passage)
{
	enum { LEFT_OF = 20 };
	uint64_t item =
		passage->least_put < passage->get_bytes ? passage->least_put : passage->get_bytes;
	bool is_whole = item > 0 && passage->puts % item == 0 && passage->gets % item == 0;
	bool is_all = passage->gets + passage->puts / LEFT_OF >= passage->puts &&
		      passage->puts + passage->gets / LEFT_OF >= passage->gets;
	if (is_whole && is_all && !passage->is_irregular)
		passage->item = item;
}

/* Whether the next step tells what came of this wait. */
static bool is_wait_for(const struct build_step *wait, const struct build_step *next)
{
	if (wait->op != STEP_IO || wait->count == EVENT_IO_FILE)
		return false;
	return wait->count == EVENT_IO_POLL ? next->op == STEP_GET : wait->site == next->site;
}

static struct build_step make_step(const struct passage *passage, struct build_step step)
{
	if (step.count > 0) {
		step.count = (uint32_t)(step.count / passage->item);
	} else if (step.op == STEP_PUT) {
		step.op = STEP_CLOSE;
		step.count = 1;
	} else {
		step.flags |= STEP_REFUSED;
		step.count = 1;
	}
	return step;
}

static void rewrite(
	struct build_trace *trace, struct build_thread *thread, const struct passage *passages)
{
	struct build_rewrite rewrite = { .thread = thread };
	uint64_t waited_ns = 0;
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step step = thread->steps[i];
		const struct build_step *next =
			i + 1 < thread->step_count ? &thread->steps[i + 1] : NULL;
		bool is_here = is_of_passage(trace, &step) && passages[step.object].is_ours;
		if (next && is_of_passage(trace, next) && passages[next->object].item > 0 &&
			is_wait_for(&step, next)) {
			waited_ns = next->op == STEP_GET ? step.waited_ns : 0;
			step.cpu_ns -= step.section < step.cpu_ns ? step.section : step.cpu_ns;
			rewrite_leave_out(&rewrite, step);
			continue;
		}
		if (is_here && passages[step.object].item == 0) {
			rewrite_leave_out(&rewrite, step);
			continue;
		}
		if (is_here) {
			step = make_step(&passages[step.object], step);
			step.waited_ns += waited_ns;
			step.begin_ns -= waited_ns;
			step.flags |= waited_ns > 0 ? STEP_WAITED : 0;
			trace->objects[step.object].is_pipe = true;
		} else if (is_of_passage(trace, &step)) {
			step.count = 1;
		}
		waited_ns = 0;
		rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
}

int build_pipes_find(struct build_trace *trace)
{
	AUTO_FREE struct passage *passages = calloc(trace->object_count + 1, sizeof *passages);
	if (!passages)
		return -ENOMEM;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++)
			if (is_of_passage(trace, &trace->threads[i].steps[j]))
				count(&passages[trace->threads[i].steps[j].object],
					&trace->threads[i].steps[j]);
	for (size_t i = 0; i < trace->object_count; i++)
		decide(&passages[i]);
	for (size_t i = 0; i < trace->thread_count; i++)
		rewrite(trace, &trace->threads[i], passages);
	return 0;
}
