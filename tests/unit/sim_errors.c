/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: programs that are wrong, and limits on the run. */
#include "cmocka_all.h"

#include "sim_trial.h"

#include <errno.h>

static void a_circle_of_locks_is_explained(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(LOCK, 0), COMPUTE(5), OP(LOCK, 1), EXIT };
	static const struct sim_op b[] = { OP(LOCK, 1), COMPUTE(6), OP(LOCK, 0), EXIT };
	static const struct sim_op idle[] = { COMPUTE(1000), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	uint32_t tid;
	assert_int_equal(sim_add_mutex(t.sim, "accounts", &t.object), 0);
	assert_int_equal(sim_add_mutex(t.sim, NULL, &t.object), 0);
	assert_int_equal(sim_add_thread(t.sim, "teller", NULL, &tid), 0);
	t.script.ops[tid] = idle;
	trial_fails(&t, THREADS(a, b), -EDEADLK,
		"deadlock at 0.000000006 s: thread 3 waits for mutex 'accounts', which thread 2 "
		"holds; "
		"thread 2 waits for mutex 1, which thread 3 holds");
}

static void a_lock_taken_twice_is_explained(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(LOCK, 0), OP(LOCK, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	assert_int_equal(sim_add_mutex(t.sim, "m", &t.object), 0);
	trial_fails(&t, THREADS(a), -EDEADLK,
		"deadlock at 0.000000000 s: thread 1 waits for mutex 'm', which thread 1 holds");
}

static void waiting_for_ever_is_explained(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(BARRIER, 0), EXIT };
	static const struct sim_op b[] = { OP(GET, 0), EXIT };
	static const struct sim_op c[] = { OP(LOCK, 0), EXIT };
	static const struct sim_op d[] = { COMPUTE(1), OP(LOCK, 0), EXIT };
	static const struct sim_op e[] = { OP(JOIN, 1), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .cores = 1 });
	assert_int_equal(sim_add_barrier(t.sim, "phase", 3, &t.object), 0);
	assert_int_equal(sim_add_queue(t.sim, "jobs", 0, &t.object), 0);
	assert_int_equal(sim_add_mutex(t.sim, NULL, &t.object), 0);
	trial_fails(&t, THREADS(a, b, c, d, e), -EDEADLK,
		"deadlock at 0.000000001 s: thread 1 waits for barrier 'phase', where 1 of 3 are; "
		"thread 2 waits for queue 'jobs', which is empty; "
		"thread 4 waits for mutex 0, which thread 3 holds and has exited; "
		"thread 5 waits for the end of thread 1");
}

/* A trial with a queue of so many places, or a semaphore at 0, that lends. */
static void begin_lending(
	struct trial *trial, enum sim_object_kind kind, uint32_t capacity, uint32_t of)
{
	trial_begin(trial, (struct sim_options){ 0 });
	if (kind == SIM_QUEUE)
		assert_int_equal(sim_add_queue(trial->sim, "jobs", capacity, &trial->object), 0);
	else
		assert_int_equal(sim_add_sem(trial->sim, "free", 0, &trial->object), 0);
	assert_int_equal(sim_set_lending(trial->sim, kind, 0, of), 0);
}

/* Others come and go for ever; who waits for a core that they have is no part of a deadlock. */
static void others_hide_no_deadlock(void **state)
{
	(void)state;
	static const struct sim_op a[] = { COMPUTE(50000000), OP(SEM_WAIT, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .cores = 1, .others = 0.5 });
	assert_int_equal(sim_add_sem(t.sim, "free", 0, &t.object), 0);
	add_threads(t.sim, &t.script, THREADS(a));
	struct err err = { 0 };
	assert_int_equal(sim_run(t.sim, &err), -EDEADLK);
	assert_in_range(sim_now(t.sim), 95000000, 110000000);
	sim_free(t.sim);
}

static void what_is_not_there_cannot_lend(void **state)
{
	(void)state;
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	assert_int_equal(sim_set_lending(t.sim, SIM_QUEUE, 0, SIM_LENT_OF), -EINVAL);
	assert_int_equal(sim_set_lending(t.sim, SIM_SEM, 0, SIM_LENT_OF), -EINVAL);
	sim_free(t.sim);
}

/* One for each thread and one of 20. */
static void what_is_missing_in_the_end_is_lent(void **state)
{
	(void)state;
	static const struct sim_op a[] = { COMPUTE(5), OP(GET, 0), EXIT };
	static const struct sim_op b[] = { OP(GET, 0), OP(GET, 0), EXIT };
	static const struct sim_op c[] = { COMPUTE(5), OP(SEM_WAIT, 0), EXIT };
	static const struct sim_op d[] = { PUT(0, 7), PUT(0, 8), PUT(0, 9), EXIT };
	struct trial t;
	begin_lending(&t, SIM_QUEUE, 0, SIM_LENT_OF);
	trial_run(&t, THREADS(a));
	assert_int_equal(t.script.times[1][1], 5);
	sim_free(t.sim);
	begin_lending(&t, SIM_QUEUE, 0, SIM_LENT_OF);
	trial_fails(&t, THREADS(b), -EDEADLK,
		"deadlock at 0.000000000 s: thread 1 waits for queue 'jobs', which is empty");
	begin_lending(&t, SIM_SEM, 0, SIM_LENT_OF);
	trial_run(&t, THREADS(c));
	assert_int_equal(t.script.times[1][1], 5);
	sim_free(t.sim);
	begin_lending(&t, SIM_QUEUE, 2, SIM_LENT_OF);
	trial_run(&t, THREADS(d));
	sim_free(t.sim);
}

static void a_queue_of_signals_lends_any_number(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(GET, 0), OP(GET, 0), COMPUTE(5), OP(GET, 0), EXIT };
	struct trial t;
	begin_lending(&t, SIM_QUEUE, 0, 0);
	trial_run(&t, THREADS(a));
	assert_int_equal(t.script.times[1][3], 5);
	sim_free(t.sim);
}

static void giving_back_what_another_holds_is_an_error(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(LOCK, 0), COMPUTE(5), EXIT };
	static const struct sim_op b[] = { COMPUTE(1), OP(UNLOCK, 0), EXIT };
	static const struct sim_op c[] = { OP(SPIN_UNLOCK, 0), EXIT };
	static const struct sim_op d[] = { OP(RW_UNLOCK, 0), EXIT };
	static const struct sim_op e[] = { COND_WAIT(0, 0, 0), EXIT };
	static const struct {
		const struct sim_op *ops;
		const char *text;
	} cases[] = {
		{ b, "at 0.000000001 s, thread 2 gives back mutex 'm', which thread 1 holds" },
		{ c, "at 0.000000000 s, thread 2 gives back spin lock 0, which nobody holds" },
		{ d, "at 0.000000000 s, thread 2 gives back read-write lock 0, which nobody "
		     "holds" },
		{ e, "at 0.000000000 s, thread 2 gives back mutex 'm', which thread 1 holds" },
	};
	for (size_t i = 0; i < 4; i++) {
		struct trial t;
		trial_begin(&t, (struct sim_options){ 0 });
		assert_int_equal(sim_add_mutex(t.sim, "m", &t.object), 0);
		assert_int_equal(sim_add_spin(t.sim, NULL, &t.object), 0);
		assert_int_equal(sim_add_rwlock(t.sim, NULL, false, &t.object), 0);
		assert_int_equal(sim_add_cond(t.sim, NULL, &t.object), 0);
		trial_fails(&t, THREADS(a, cases[i].ops), -EPERM, cases[i].text);
	}
}

static void what_is_not_there_is_an_error(void **state)
{
	(void)state;
	/* Every operation on object 99: those that have one fail, and none crashes. */
	for (int kind = 0; kind < SIM_OP_KINDS; kind++) {
		struct sim_op ops[] = {
			{ .kind = (enum sim_op_kind)kind, .object = 99, .other = 99 }, EXIT
		};
		struct trial t;
		struct err err = { 0 };
		uint32_t tid;
		trial_begin(&t, (struct sim_options){ 0 });
		assert_int_equal(sim_add_thread(t.sim, NULL, NULL, &tid), 0);
		t.script.ops[tid] = ops;
		t.script.starts[99 % SCRIPT_THREADS] = ops + 1;
		if (kind == SIM_SPAWN)
			ops[0].other = 99 % SCRIPT_THREADS;
		int code = sim_run(t.sim, &err);
		bool has_object = kind >= SIM_LOCK && kind <= SIM_DISK;
		has_object |= kind == SIM_JOIN || kind == SIM_TAKE || kind == SIM_GIVE;
		assert_int_equal(code, has_object ? -EINVAL : 0);
		sim_free(t.sim);
	}
}

static void a_loop_without_time_is_an_error(void **state)
{
	(void)state;
	struct trial t;
	static const struct sim_op a[] = { COMPUTE(1), OP(YIELD, 0), EXIT };
	trial_begin(&t, (struct sim_options){ 0 });
	t.script.hook = NULL;
	t.script.is_endless = true;
	trial_fails(&t, THREADS(a), -ELOOP,
		"at 0.000000001 s, thread 1 makes more than 10000000 operations while no time "
		"passes");
}

static void limits_on_the_run_hold(void **state)
{
	(void)state;
	static const struct sim_op a[] = { COMPUTE(10), COMPUTE(10), COMPUTE(10), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .event_limit = 2 });
	trial_fails(&t, THREADS(a), -E2BIG, "more than 2 events: the simulation was stopped");
	trial_begin(&t, (struct sim_options){ .stop_ns = 15 });
	trial_run(&t, THREADS(a));
	assert_int_equal(sim_now(t.sim), 15);
	struct sim_thread_stats stats;
	sim_thread_stats(t.sim, 1, &stats);
	assert_int_equal(stats.ran_ns, 15);
	assert_int_equal(stats.work_ns, 15);
	sim_free(t.sim);
	static const struct sim_op b[] = { COMPUTE(7), OP(STOP, 0), EXIT };
	trial_begin(&t, (struct sim_options){ 0 });
	trial_run(&t, THREADS(a, b));
	assert_int_equal(sim_now(t.sim), 7);
	sim_free(t.sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_circle_of_locks_is_explained),
		cmocka_unit_test(a_lock_taken_twice_is_explained),
		cmocka_unit_test(waiting_for_ever_is_explained),
		cmocka_unit_test(others_hide_no_deadlock),
		cmocka_unit_test(what_is_not_there_cannot_lend),
		cmocka_unit_test(what_is_missing_in_the_end_is_lent),
		cmocka_unit_test(a_queue_of_signals_lends_any_number),
		cmocka_unit_test(giving_back_what_another_holds_is_an_error),
		cmocka_unit_test(what_is_not_there_is_an_error),
		cmocka_unit_test(a_loop_without_time_is_an_error),
		cmocka_unit_test(limits_on_the_run_hold),
	};
	return cmocka_run_group_tests_name("sim_errors", tests, NULL, NULL);
}
