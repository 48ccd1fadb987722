/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operations by kind, and those that need no other thread. */
#include "sim/engine.h"

#include <errno.h>

/* Work that a thread can be given at once: 146 years. */
#define WORK_MAX_NS TIME_MAX_NS

static int op_compute(struct sim *sim, struct sim_thread *thread)
{
	if (thread->stage == 1)
		return OP_DONE;
	if (thread->op.amount == 0)
		return OP_DONE;
	if (thread->op.amount > WORK_MAX_NS)
		return op_error(sim, thread, -EINVAL, "computes for %llu ns: the most is 146 years",
			(unsigned long long)thread->op.amount);
	thread->stage = 1;
	return cores_begin(sim, thread, thread->op.amount);
}

static int op_sleep(struct sim *sim, struct sim_thread *thread)
{
	static const struct subject sleep = { .what = WHAT_SLEEP };
	if (thread->stage == 1) {
		pass(sim, thread, NULL, &sleep);
		return OP_DONE;
	}
	thread->stage = 1;
	int code = wait_begin(sim, thread, NULL, NULL, &sleep);
	uint64_t amount = thread->op.amount < WORK_MAX_NS ? thread->op.amount : WORK_MAX_NS;
	return code < 0 ? code : timer_set(sim, thread->timer, sim->now_ns + amount) ?: OP_WAITS;
}

static int op_spawn(struct sim *sim, struct sim_thread *thread)
{
	uint32_t parent = thread->tid, tid;
	int code = thread_new(sim, NULL, parent, thread->op.other, &tid);
	if (code < 0)
		return code == -E2BIG
			       ? op_error(sim, thread_of(sim, parent), code,
					 "starts one thread too many: the most is %d", 1 << 22)
			       : code;
	thread = thread_of(sim, parent);
	thread->result.item = tid;
	thread_of(sim, tid)->affinity = thread->affinity;
	code = thread_begin(sim, thread_of(sim, tid));
	return code < 0 ? code : OP_DONE;
}

static int op_exit(struct sim *sim, struct sim_thread *thread)
{
	emit(sim, thread, EVENT_THREAD_EXIT, &(struct subject){ 0 });
	thread_set_state(sim, thread, THREAD_EXITED);
	sim->alive--;
	int code = cores_leave(sim, thread);
	if (code == 0)
		code = wake_all(sim, &thread->joiners, thread->tid);
	return code < 0 ? code : OP_WAITS;
}

/* Events without an object of the engine. */
static int op_mark(struct sim *sim, struct sim_thread *thread)
{
	static const uint8_t kinds[SIM_OP_KINDS] = {
		[SIM_REGION_BEGIN] = EVENT_REGION_BEGIN,
		[SIM_REGION_END] = EVENT_REGION_END,
		[SIM_TICK] = EVENT_TICK,
	};
	bool is_tick = thread->op.kind == SIM_TICK;
	emit(sim, thread, kinds[thread->op.kind],
		&(struct subject){ .object = is_tick ? 0 : (uint64_t)thread->op.object + 1,
			.value = is_tick ? thread->op.amount : 0 });
	return OP_DONE;
}

static int op_yield(struct sim *sim, struct sim_thread *thread)
{
	if (thread->stage == 1)
		return OP_DONE;
	thread->stage = 1;
	return cores_yield(sim, thread);
}

static int op_stop(struct sim *sim, struct sim_thread *thread)
{
	(void)thread;
	sim->is_stopped = true;
	return OP_WAITS;
}

typedef int op_function(struct sim *sim, struct sim_thread *thread);

static op_function *const functions[SIM_OP_KINDS] = {
	[SIM_COMPUTE] = op_compute,
	[SIM_LOCK] = op_lock,
	[SIM_UNLOCK] = op_unlock,
	[SIM_TRY_LOCK] = op_try_lock,
	[SIM_SPIN_LOCK] = op_spin_lock,
	[SIM_SPIN_UNLOCK] = op_spin_unlock,
	[SIM_READ_LOCK] = op_read_lock,
	[SIM_WRITE_LOCK] = op_write_lock,
	[SIM_RW_UNLOCK] = op_rw_unlock,
	[SIM_BARRIER] = op_barrier,
	[SIM_COND_WAIT] = op_cond_wait,
	[SIM_SIGNAL] = op_signal,
	[SIM_BROADCAST] = op_broadcast,
	[SIM_SEM_WAIT] = op_sem_wait,
	[SIM_SEM_POST] = op_sem_post,
	[SIM_PUT] = op_put,
	[SIM_GET] = op_get,
	[SIM_TRY_PUT] = op_put,
	[SIM_TRY_GET] = op_get,
	[SIM_CLOSE] = op_close,
	[SIM_DISK] = op_disk,
	[SIM_SLEEP] = op_sleep,
	[SIM_SPAWN] = op_spawn,
	[SIM_JOIN] = op_join,
	[SIM_EXIT] = op_exit,
	[SIM_TAKE] = op_take,
	[SIM_GIVE] = op_give,
	[SIM_REQUEST_BEGIN] = op_request_begin,
	[SIM_REQUEST_END] = op_request_end,
	[SIM_REGION_BEGIN] = op_mark,
	[SIM_REGION_END] = op_mark,
	[SIM_TICK] = op_mark,
	[SIM_YIELD] = op_yield,
	[SIM_STOP] = op_stop,
};

int op_play(struct sim *sim, struct sim_thread *thread)
{
	if ((unsigned)thread->op.kind >= SIM_OP_KINDS)
		return op_error(sim, thread, -EINVAL, "asks for operation %u, which there is not",
			(unsigned)thread->op.kind);
	return functions[thread->op.kind](sim, thread);
}

int op_timer(struct sim *sim, struct sim_thread *thread)
{
	if (thread->op.kind == SIM_COND_WAIT)
		return cond_timer(sim, thread);
	if (thread->op.kind == SIM_DISK)
		return disk_told(sim, thread);
	return wake(sim, thread->tid, 0);
}
