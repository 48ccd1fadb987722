/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/cut.h"

#include "base/map.h"
#include "base/mem.h"

#include <errno.h>

static int append_unlock(struct build_thread *thread, struct build_step lock)
{
	if (mem_grow(&thread->steps, &thread->step_capacity, thread->step_count + 1,
		    sizeof *thread->steps) < 0)
		return -ENOMEM;
	lock.op = STEP_UNLOCK;
	lock.begin_ns = thread->end_ns;
	lock.cpu_ns = lock.waited_ns = 0;
	lock.flags = 0;
	thread->steps[thread->step_count++] = lock;
	return 0;
}

/* From the last step to the first: a lock for which no unlock is left behind it was not given back. */
static int give_back(struct build_thread *thread)
{
	AUTO_RELEASE(map) struct map unlocks = { 0 }; /* of no lock yet, by object */
	for (size_t i = thread->step_count; i-- > 0;) {
		const struct build_step *step = &thread->steps[i];
		bool is_lock = step->op == STEP_LOCK || step->op == STEP_READ_LOCK;
		if (!is_lock && step->op != STEP_UNLOCK)
			continue;
		uint64_t *left;
		if (map_add(&unlocks, step->object, 0, 0, &left) < 0)
			return -ENOMEM;
		if (!is_lock)
			++*left;
		else if (*left > 0)
			--*left;
		else if (append_unlock(thread, *step) < 0)
			return -ENOMEM;
	}
	return 0;
}

int build_give_back_cut(struct build_trace *trace)
{
	int code = 0;
	for (uint32_t i = 0; i < trace->thread_count && code == 0; i++)
		if (trace->threads[i].is_cut && !trace->threads[i].goes_on)
			code = give_back(&trace->threads[i]);
	return code;
}
