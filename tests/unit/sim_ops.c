/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: every operation, without cores and with. */
#include "cmocka_all.h"

#include "sim_trial.h"

#include <errno.h>

static void a_mutex_is_given_in_order(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(LOCK, 0), COMPUTE(10), OP(UNLOCK, 0), EXIT };
	static const struct sim_op b[] = { COMPUTE(1), OP(LOCK, 0), COMPUTE(10), OP(UNLOCK, 0),
		EXIT };
	static const struct sim_op c[] = { COMPUTE(2), OP(LOCK, 0), COMPUTE(10), OP(UNLOCK, 0),
		EXIT };
	struct script script = { 0 };
	struct sim *sim = new_sim(&(struct sim_options){ 0 }, &script);
	uint32_t mutex;
	assert_int_equal(sim_add_mutex(sim, "m", &mutex), 0);
	add_threads(sim, &script, 3, (const struct sim_op *[]){ a, b, c });
	run_well(sim);
	assert_int_equal(sim_now(sim), 30);
	assert_int_equal(script.results[2][1].waited_ns, 9);
	assert_true(script.results[3][1].has_waited);
	assert_int_equal(script.results[3][1].waited_ns, 18);
	struct sim_object_stats stats;
	sim_object_stats(sim, SIM_MUTEX, mutex, &stats);
	assert_int_equal(stats.uses, 3);
	assert_int_equal(stats.waits, 2);
	assert_int_equal(stats.waited_ns, 27);
	assert_int_equal(stats.held_ns, 30);
	assert_int_equal(stats.max_length, 3);
	assert_true(stats.mean_length == 57.0 / 30);
	sim_free(sim);
}

static void a_free_mutex_belongs_to_who_asks_first(void **state)
{
	(void)state;
	/* On one core, b is woken at 10 but a asks again before b has the core. */
	static const struct sim_op a[] = { OP(LOCK, 0), SLEEP(10), OP(UNLOCK, 0), OP(LOCK, 0),
		COMPUTE(5), OP(UNLOCK, 0), EXIT };
	static const struct sim_op b[] = { OP(LOCK, 0), OP(UNLOCK, 0), EXIT };
	for (int is_handed = 0; is_handed < 2; is_handed++) {
		struct trial t;
		trial_begin(&t, (struct sim_options){ .cores = 1 });
		assert_int_equal(sim_add_mutex(t.sim, NULL, &t.object), 0);
		if (is_handed)
			assert_int_equal(sim_set_handover(t.sim, SIM_MUTEX, t.object), 0);
		trial_run(&t, THREADS(a, b));
		assert_int_equal(t.script.times[1][3], 10);
		assert_int_equal(t.script.results[1][3].has_waited, is_handed);
		assert_int_equal(t.script.times[2][0], is_handed ? 10 : 15);
		assert_int_equal(t.script.results[2][0].waited_ns, is_handed ? 10 : 15);
		sim_free(t.sim);
	}
}

/* a gives it back twice before b, which was woken, has their core: c, which has one of its own, comes after b. */
static void who_takes_a_mutex_free_wakes_nobody(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(LOCK, 0), SLEEP(10), OP(UNLOCK, 0), OP(LOCK, 0),
		COMPUTE(5), OP(UNLOCK, 0), COMPUTE(5), EXIT };
	static const struct sim_op b[] = { OP(LOCK, 0), COMPUTE(3), OP(UNLOCK, 0), EXIT };
	static const struct sim_op c[] = { COMPUTE(1), OP(LOCK, 0), OP(UNLOCK, 0), EXIT };
	static const uint64_t first_core = 1;
	struct trial t;
	trial_begin(&t, (struct sim_options){ .cores = 2, .scheduler = SIM_ROUND_ROBIN });
	assert_int_equal(sim_add_mutex(t.sim, NULL, &t.object), 0);
	add_threads(t.sim, &t.script, THREADS(a, b, c));
	assert_int_equal(sim_set_affinity(t.sim, 1, &first_core), 0);
	assert_int_equal(sim_set_affinity(t.sim, 2, &first_core), 0);
	run_well(t.sim);
	assert_int_equal(t.script.results[1][3].has_waited, false);
	assert_int_equal(t.script.times[2][0], 20);
	assert_int_equal(t.script.times[3][1], 23);
	sim_free(t.sim);
}

/* The same with a lock that several may read. */
static void who_writes_without_waiting_wakes_nobody(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(WRITE_LOCK, 0), SLEEP(10), OP(RW_UNLOCK, 0),
		OP(WRITE_LOCK, 0), COMPUTE(5), OP(RW_UNLOCK, 0), COMPUTE(5), EXIT };
	static const struct sim_op b[] = { OP(WRITE_LOCK, 0), COMPUTE(3), OP(RW_UNLOCK, 0), EXIT };
	static const struct sim_op c[] = { COMPUTE(1), OP(WRITE_LOCK, 0), OP(RW_UNLOCK, 0), EXIT };
	static const uint64_t first_core = 1;
	struct trial t;
	trial_begin(&t, (struct sim_options){ .cores = 2, .scheduler = SIM_ROUND_ROBIN });
	assert_int_equal(sim_add_rwlock(t.sim, NULL, false, &t.object), 0);
	add_threads(t.sim, &t.script, THREADS(a, b, c));
	assert_int_equal(sim_set_affinity(t.sim, 1, &first_core), 0);
	assert_int_equal(sim_set_affinity(t.sim, 2, &first_core), 0);
	run_well(t.sim);
	assert_int_equal(t.script.results[1][3].has_waited, false);
	assert_int_equal(t.script.times[2][0], 20);
	assert_int_equal(t.script.times[3][1], 23);
	sim_free(t.sim);
}

/* Also while it is still waking up; the writer that asks then has it after the last of them. */
static void who_waits_to_read_reads_when_the_writer_leaves(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(WRITE_LOCK, 0), COMPUTE(10), OP(RW_UNLOCK, 0),
		OP(WRITE_LOCK, 0), COMPUTE(5), OP(RW_UNLOCK, 0), EXIT };
	static const struct sim_op b[] = { COMPUTE(1), OP(READ_LOCK, 0), COMPUTE(4),
		OP(RW_UNLOCK, 0), EXIT };
	static const struct sim_op c[] = { COMPUTE(12), OP(WRITE_LOCK, 0), OP(RW_UNLOCK, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .kernel.wake = { SIM_FIXED, .a = 3 } });
	assert_int_equal(sim_add_rwlock(t.sim, NULL, false, &t.object), 0);
	trial_run(&t, THREADS(a, b, c));
	assert_int_equal(t.script.times[2][1], 13);
	assert_int_equal(t.script.times[1][3], 20);
	assert_int_equal(t.script.times[3][1], 28);
	sim_free(t.sim);
}

static void a_try_does_not_wait(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(TRY_LOCK, 0), COMPUTE(10), OP(UNLOCK, 0), EXIT };
	static const struct sim_op b[] = { COMPUTE(1), OP(TRY_LOCK, 0), OP(TRY_GET, 0),
		OP(TRY_PUT, 0), OP(TRY_PUT, 0), OP(TRY_GET, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	assert_int_equal(sim_add_mutex(t.sim, NULL, &t.object), 0);
	assert_int_equal(sim_add_queue(t.sim, NULL, 1, &t.object), 0);
	trial_run(&t, THREADS(a, b));
	static const int expected[] = { 0, -EBUSY, -EAGAIN, 0, -EAGAIN, 0 };
	for (int i = 0; i < 6; i++)
		assert_int_equal(t.script.results[2][i].status, expected[i]);
	assert_int_equal(stats_of(&t, SIM_QUEUE, 0).refused, 1);
	sim_free(t.sim);
}

static void readers_share_and_writers_do_not(void **state)
{
	(void)state;
	static const struct sim_op reader[] = { OP(READ_LOCK, 0), COMPUTE(10), OP(RW_UNLOCK, 0),
		EXIT };
	static const struct sim_op writer[] = { COMPUTE(1), OP(WRITE_LOCK, 0), COMPUTE(10),
		OP(RW_UNLOCK, 0), EXIT };
	static const struct sim_op late[] = { COMPUTE(5), OP(READ_LOCK, 0), COMPUTE(10),
		OP(RW_UNLOCK, 0), EXIT };
	for (int writers_first = 0; writers_first < 2; writers_first++) {
		struct trial t;
		trial_begin(&t, (struct sim_options){ 0 });
		assert_int_equal(sim_add_rwlock(t.sim, NULL, writers_first, &t.object), 0);
		trial_run(&t, THREADS(reader, reader, writer, late));
		assert_int_equal(t.script.times[1][1], 10);
		assert_int_equal(t.script.times[2][1], 10);
		assert_int_equal(t.script.times[3][1], writers_first ? 10 : 15);
		assert_int_equal(t.script.times[4][1], writers_first ? 20 : 5);
		sim_free(t.sim);
	}
}

static void a_barrier_lets_go_with_the_last(void **state)
{
	(void)state;
	static const struct sim_op a[] = { COMPUTE(1), OP(BARRIER, 0), COMPUTE(7), OP(BARRIER, 0),
		EXIT };
	static const struct sim_op b[] = { COMPUTE(5), OP(BARRIER, 0), COMPUTE(2), OP(BARRIER, 0),
		EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	assert_int_equal(sim_add_barrier(t.sim, NULL, 2, &t.object), 0);
	trial_run(&t, THREADS(a, b));
	assert_int_equal(sim_now(t.sim), 12);
	assert_int_equal(t.script.results[1][1].waited_ns, 4);
	assert_false(t.script.results[2][1].has_waited);
	assert_int_equal(t.script.results[2][3].waited_ns, 5);
	sim_free(t.sim);
}

static void a_condition_returns_with_its_mutex(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(LOCK, 0), COND_WAIT(0, 0, 0), COMPUTE(3),
		OP(UNLOCK, 0), EXIT };
	static const struct sim_op b[] = { COMPUTE(1), OP(LOCK, 0), OP(SIGNAL, 0), COMPUTE(4),
		OP(UNLOCK, 0), EXIT };
	static const struct sim_op c[] = { COMPUTE(20), OP(BROADCAST, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	assert_int_equal(sim_add_mutex(t.sim, NULL, &t.object), 0);
	assert_int_equal(sim_add_cond(t.sim, NULL, &t.object), 0);
	trial_run(&t, THREADS(a, a, b, c));
	assert_int_equal(t.script.times[1][1], 5); /* signalled at 1, the mutex at 5 */
	assert_int_equal(t.script.results[1][1].waited_ns, 5);
	assert_int_equal(t.script.times[2][1], 20);
	assert_int_equal(sim_now(t.sim), 23);
	sim_free(t.sim);
}

static void a_condition_gives_up_in_time(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(LOCK, 0), COND_WAIT(0, 0, 10), OP(UNLOCK, 0),
		OP(LOCK, 0), COND_WAIT(0, 0, 10), OP(UNLOCK, 0), COMPUTE(100), EXIT };
	static const struct sim_op b[] = { COMPUTE(12), OP(SIGNAL, 0), OP(SIGNAL, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	assert_int_equal(sim_add_mutex(t.sim, NULL, &t.object), 0);
	assert_int_equal(sim_add_cond(t.sim, NULL, &t.object), 0);
	trial_run(&t, THREADS(a, b));
	assert_int_equal(t.script.results[1][1].status, -ETIMEDOUT);
	assert_int_equal(t.script.times[1][1], 10);
	assert_int_equal(t.script.results[1][4].status, 0);
	assert_int_equal(t.script.times[1][4], 12);
	assert_int_equal(sim_now(t.sim), 112); /* the second timeout rings no more */
	sim_free(t.sim);
}

static void a_semaphore_counts(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(SEM_WAIT, 0), COMPUTE(10), EXIT };
	static const struct sim_op b[] = { COMPUTE(5), { .kind = SIM_SEM_POST, .amount = 2 },
		COMPUTE(1), OP(SEM_POST, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	assert_int_equal(sim_add_sem(t.sim, NULL, 1, &t.object), 0);
	trial_run(&t, THREADS(a, a, a, a, b));
	static const uint64_t times[] = { 10, 15, 15, 16 };
	for (int i = 0; i < 4; i++)
		assert_int_equal(t.script.times[i + 1][1], times[i]);
	sim_free(t.sim);
}

static void a_bounded_queue_holds_back(void **state)
{
	(void)state;
	static const struct sim_op a[] = { PUT(0, 7), PUT(0, 8), PUT(0, 9), OP(CLOSE, 0),
		PUT(0, 10), EXIT };
	static const struct sim_op b[] = { COMPUTE(5), OP(GET, 0), COMPUTE(5), OP(GET, 0),
		OP(GET, 0), OP(GET, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	assert_int_equal(sim_add_queue(t.sim, NULL, 1, &t.object), 0);
	trial_run(&t, THREADS(a, b));
	assert_int_equal(t.script.times[1][1], 5);
	assert_int_equal(t.script.times[1][2], 10);
	assert_int_equal(t.script.results[1][4].status, -EPIPE);
	static const uint64_t items[] = { 0, 7, 0, 8, 9 };
	for (int i = 1; i < 5; i += i == 1 ? 2 : 1)
		assert_int_equal(t.script.results[2][i].item, items[i]);
	assert_int_equal(t.script.results[2][5].status, -EPIPE);
	struct sim_object_stats stats = stats_of(&t, SIM_QUEUE, 0);
	assert_int_equal(stats.uses, 3);
	assert_int_equal(stats.waits, 2);
	assert_int_equal(stats.held_ns, 10); /* 7 for 5, 8 for 5, 9 for 0 */
	sim_free(t.sim);
}

static void a_disk_serves_as_many_as_it_can(void **state)
{
	(void)state;
	static const struct sim_op a[] = { { .kind = SIM_DISK, .class = 1, .amount = 2 }, EXIT };
	static const struct sim_op b[] = { { .kind = SIM_DISK, .amount = 1 }, OP(DISK, 0), EXIT };
	static const struct sim_op c[] = { COMPUTE(1),
		{ .kind = SIM_DISK, .amount = 3, .other = SIM_BACKGROUND }, COMPUTE(1), EXIT };
	static const struct sim_dist service[] = { { SIM_FIXED, .a = 10 }, { SIM_FIXED, .a = 4 } };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	const struct sim_disk_options options = {
		.parallelism = 2, .service = service, .class_count = 2
	};
	assert_int_equal(sim_add_disk(t.sim, "sda", &options, &t.object), 0);
	/* 0-4 a1, 0-10 b; c's at 1: 4-14, 10-20, 14-24; a2 behind them: 20-24. */
	trial_run(&t, THREADS(a, b, c));
	assert_int_equal(t.script.times[1][0], 24);
	assert_int_equal(t.script.times[2][0], 10);
	assert_int_equal(t.script.times[2][1], 10);
	assert_false(t.script.results[2][1].has_waited);
	assert_int_equal(t.script.times[3][1], 1);
	struct sim_object_stats stats = stats_of(&t, SIM_DISKS, 0);
	assert_int_equal(stats.uses, 6);
	assert_int_equal(stats.waits, 4);
	assert_int_equal(stats.held_ns, 4 + 10 + 30 + 4);
	assert_int_equal(stats.waited_ns, 3 + 9 + 13 + 16);
	sim_free(t.sim);
}

static void a_batch_ends_together(void **state)
{
	(void)state;
	static const struct sim_op a[] = { { .kind = SIM_DISK, .amount = 2 }, EXIT };
	static const struct sim_op b[] = { COMPUTE(1), { .kind = SIM_DISK, .amount = 1 }, EXIT };
	static const struct sim_op c[] = { COMPUTE(2),
		{ .kind = SIM_DISK, .class = 1, .amount = 1 }, EXIT };
	static const struct sim_dist service[] = { { SIM_FIXED, .a = 10 }, { SIM_FIXED, .a = 4 } };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	const struct sim_disk_options options = {
		.service = service, .class_count = 2, .order = SIM_DISK_BATCH
	};
	assert_int_equal(sim_add_disk(t.sim, "vda", &options, &t.object), 0);
	/* 0-24 a1 and, while that was served, b and c; 24-34 a2. */
	trial_run(&t, THREADS(a, b, c));
	assert_int_equal(t.script.times[1][0], 34);
	assert_int_equal(t.script.times[2][1], 24);
	assert_int_equal(t.script.times[3][1], 24);
	struct sim_object_stats stats = stats_of(&t, SIM_DISKS, 0);
	assert_int_equal(stats.uses, 4);
	assert_int_equal(stats.waits, 2);
	assert_int_equal(stats.held_ns, 24 + 10);
	assert_int_equal(stats.waited_ns, 9 + 18);
	sim_free(t.sim);
}

/* Each request of 10 is told 5 later; meanwhile the device serves others. */
static void a_latency_keeps_the_thread_only(void **state)
{
	(void)state;
	static const struct sim_op a[] = { { .kind = SIM_DISK, .amount = 2 }, EXIT };
	static const struct sim_op b[] = { COMPUTE(1), { .kind = SIM_DISK, .amount = 1 }, EXIT };
	static const struct sim_dist service = { SIM_FIXED, .a = 10 };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	const struct sim_disk_options options = {
		.service = &service, .class_count = 1, .latency_ns = 5
	};
	assert_int_equal(sim_add_disk(t.sim, "vda", &options, &t.object), 0);
	/* 0-10 a1, told at 15; 10-20 b, told at 25; 20-30 a2, told at 35. */
	trial_run(&t, THREADS(a, b));
	assert_int_equal(t.script.times[1][0], 35);
	assert_int_equal(t.script.times[2][1], 25);
	assert_int_equal(stats_of(&t, SIM_DISKS, 0).held_ns, 30);
	sim_free(t.sim);
}

static void a_limit_refuses(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(TAKE, 0), OP(TAKE, 0), OP(TAKE, 0), OP(GIVE, 0),
		OP(TAKE, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	assert_int_equal(sim_add_limit(t.sim, "descriptors", 2, &t.object), 0);
	trial_run(&t, THREADS(a));
	static const int expected[] = { 0, 0, -EMFILE, 0, 0 };
	for (int i = 0; i < 5; i++)
		assert_int_equal(t.script.results[1][i].status, expected[i]);
	assert_int_equal(stats_of(&t, SIM_LIMIT, 0).refused, 1);
	sim_free(t.sim);
}

static void a_thread_is_spawned_and_joined(void **state)
{
	(void)state;
	static const struct sim_op child[] = { COMPUTE(10), EXIT };
	static const struct sim_op a[] = { COMPUTE(1), { .kind = SIM_SPAWN, .other = 3 },
		COMPUTE(2), OP(JOIN, 2), OP(JOIN, 2), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ 0 });
	t.script.starts[3] = child;
	trial_run(&t, THREADS(a));
	assert_int_equal(t.script.results[1][1].item, 2);
	assert_int_equal(t.script.times[1][3], 11);
	assert_int_equal(t.script.results[1][3].waited_ns, 8);
	assert_false(t.script.results[1][4].has_waited);
	sim_free(t.sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mutex_is_given_in_order),
		cmocka_unit_test(a_free_mutex_belongs_to_who_asks_first),
		cmocka_unit_test(who_takes_a_mutex_free_wakes_nobody),
		cmocka_unit_test(who_writes_without_waiting_wakes_nobody),
		cmocka_unit_test(who_waits_to_read_reads_when_the_writer_leaves),
		cmocka_unit_test(a_try_does_not_wait),
		cmocka_unit_test(readers_share_and_writers_do_not),
		cmocka_unit_test(a_barrier_lets_go_with_the_last),
		cmocka_unit_test(a_condition_returns_with_its_mutex),
		cmocka_unit_test(a_condition_gives_up_in_time),
		cmocka_unit_test(a_semaphore_counts),
		cmocka_unit_test(a_bounded_queue_holds_back),
		cmocka_unit_test(a_disk_serves_as_many_as_it_can),
		cmocka_unit_test(a_batch_ends_together),
		cmocka_unit_test(a_latency_keeps_the_thread_only),
		cmocka_unit_test(a_limit_refuses),
		cmocka_unit_test(a_thread_is_spawned_and_joined),
	};
	return cmocka_run_group_tests_name("sim_ops", tests, NULL, NULL);
}
