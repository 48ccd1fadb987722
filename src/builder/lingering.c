/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/lingering.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

enum { PARTS = 20 }; /* of which all but one have to be as expected */

/* What threads hand over through one queue. */
struct passing {
	uint64_t puts, gets; /* without a request */
	uint64_t all_puts, returned; /* returned: by threads that get from it, too */
};

static bool is_of(const struct build_step *step, enum step_op op, uint32_t queue)
{
	return step->op == op && step->object == queue && !(step->flags & STEP_REFUSED);
}

/* Whether a request ends between this get and the thread's next. */
static bool brings_request(const struct build_thread *thread, size_t get)
{
	uint32_t queue = thread->steps[get].object;
	for (size_t i = get + 1; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		if (step->op == STEP_END || step->op == STEP_FAIL)
			return true;
		if (is_of(step, STEP_GET, queue))
			return false;
	}
	return true; /* the end was not recorded */
}

/* With the lock that the same call takes then: as a place in the code it could meet the way of requests just the same. */
static void leave_out_call(struct build_thread *thread, size_t at)
{
	struct build_step *call = &thread->steps[at], *end = &thread->steps[thread->step_count];
	call->op = STEP_NOTHING;
	for (struct build_step *lock = call + 1; lock + 1 < end; lock += 2) {
		bool is_pair = lock->op == STEP_LOCK && lock[1].op == STEP_UNLOCK &&
			       lock[1].object == lock->object;
		if (!is_pair || lock->site != call->site)
			break;
		lock->op = lock[1].op = STEP_NOTHING;
	}
}

/* Counts, or leaves out, what a thread hands over through the queue without a request. */
static void pass(
	struct build_thread *thread, uint32_t queue, struct passing *passing, bool leave_out)
{
	bool has_request = false;
	uint64_t all_puts = 0, all_gets = 0;
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step *step = &thread->steps[i];
		bool puts = is_of(step, STEP_PUT, queue), gets = is_of(step, STEP_GET, queue);
		bool is_plain = puts ? !has_request : gets && !brings_request(thread, i);
		if (step->op == STEP_BEGIN || (gets && !is_plain))
			has_request = true;
		if (step->op == STEP_END || step->op == STEP_FAIL || puts)
			has_request = false;
		if (!puts && !gets)
			continue;
		all_puts += puts;
		all_gets += gets;
		passing->puts += puts && is_plain;
		passing->gets += gets && is_plain;
		if (is_plain && leave_out)
			leave_out_call(thread, i);
	}
	passing->all_puts += all_puts;
	passing->returned += all_gets > 0 ? all_puts : 0;
}

/* Whether some is put there without a request, and got so; not by who gives back what it got, as a lock of the program's own making. */
static bool are_handed_on(const struct passing *passing)
{
	uint64_t apart = passing->puts > passing->gets ? passing->puts - passing->gets
						       : passing->gets - passing->puts;
	return passing->puts > 0 && apart * PARTS <= passing->puts + passing->gets &&
	       passing->returned * PARTS <= passing->all_puts;
}

static void pass_all(
	struct build_trace *trace, uint32_t queue, struct passing *passing, bool leave_out)
{
	for (size_t i = 0; i < trace->thread_count; i++)
		pass(&trace->threads[i], queue, passing, leave_out);
}

/* Queues into which threads put requests that they began: by object. */
static void find_queues(const struct build_trace *trace, bool *ret)
{
	for (size_t i = 0; i < trace->thread_count; i++) {
		bool has_begun = false;
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			has_begun |= step->op == STEP_BEGIN;
			if (step->op != STEP_PUT || step->object >= trace->object_count)
				continue;
			ret[step->object] |= has_begun;
			has_begun = false;
		}
	}
}

int build_lingering_leave_out(struct build_trace *trace)
{
	AUTO_FREE bool *queues = calloc(trace->object_count + 1, sizeof *queues);
	if (!queues)
		return -ENOMEM;
	find_queues(trace, queues);
	for (uint32_t queue = 0; queue < trace->object_count; queue++) {
		struct passing passing = { 0 };
		if (queues[queue])
			pass_all(trace, queue, &passing, false);
		if (are_handed_on(&passing))
			pass_all(trace, queue, &(struct passing){ 0 }, true);
	}
	for (size_t i = 0; i < trace->thread_count; i++)
		rewrite_without_nothing(&trace->threads[i]);
	return 0;
}
