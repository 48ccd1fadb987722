/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: who has a core, and when: turns, waiting in loops, being woken, a clock that ticks. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "sim_trial.h"

#include <errno.h>

static void spinning_takes_a_core(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(SPIN_LOCK, 0), COMPUTE(10), OP(SPIN_UNLOCK, 0),
		EXIT };
	static const struct sim_op b[] = { COMPUTE(1), OP(SPIN_LOCK, 0), COMPUTE(2),
		OP(SPIN_UNLOCK, 0), EXIT };
	for (uint32_t cores = 0; cores < 3; cores += 2) {
		struct trial t;
		trial_begin(&t, (struct sim_options){ .cores = cores });
		assert_int_equal(sim_add_spin(t.sim, NULL, &t.object), 0);
		trial_run(&t, THREADS(a, b));
		assert_int_equal(sim_now(t.sim), 12);
		struct sim_thread_stats stats;
		sim_thread_stats(t.sim, 2, &stats);
		assert_int_equal(stats.ran_ns, 12);
		assert_int_equal(stats.work_ns, 3);
		assert_int_equal(stats.waited_ns, 0);
		if (cores > 0)
			assert_int_equal(
				sim_core_busy_ns(t.sim, 0) + sim_core_busy_ns(t.sim, 1), 22);
		sim_free(t.sim);
	}
}

/* As many cores as others leave; who finds one that they have not is not held up. */
static void others_have_cores_in_turns(void **state)
{
	(void)state;
	static const struct sim_op work[] = { COMPUTE(200000000), EXIT };
	static const struct {
		uint32_t cores, threads;
		double others;
		uint64_t ns;
	} expected[] = { { 1, 1, 0.5, 400000000 }, { 2, 2, 1, 400000000 }, { 2, 2, 1.5, 800000000 },
		{ 2, 1, 0.9, 200000000 }, { 4, 4, 2.4, 500000000 }, { 8, 4, 3, 200000000 } };
	for (size_t i = 0; i < 2 * ARRAY_SIZE(expected); i++) {
		struct trial t;
		trial_begin(&t, (struct sim_options){ .cores = expected[i / 2].cores,
					.others = expected[i / 2].others,
					.kernel.wakes_in_place = i % 2 });
		trial_run(&t, expected[i / 2].threads,
			(const struct sim_op *const[]){ work, work, work, work });
		uint64_t ns = expected[i / 2].ns;
		assert_in_range(sim_now(t.sim), ns / 100 * 97, ns / 100 * 105);
		sim_free(t.sim);
	}
}

static void who_spins_is_preempted_and_goes_on(void **state)
{
	(void)state;
	/* One core, quanta of 10: b spins for whole quanta while a, which holds the lock, waits for it. */
	static const struct sim_op a[] = { OP(SPIN_LOCK, 0), COMPUTE(25), OP(SPIN_UNLOCK, 0),
		EXIT };
	static const struct sim_op b[] = { OP(SPIN_LOCK, 0), COMPUTE(1), OP(SPIN_UNLOCK, 0), EXIT };
	for (int is_handed = 0; is_handed < 2; is_handed++) {
		struct trial t;
		trial_begin(&t, (struct sim_options){ .cores = 1,
					.scheduler = SIM_ROUND_ROBIN,
					.quantum = { SIM_FIXED, .a = 10 } });
		assert_int_equal(sim_add_spin(t.sim, NULL, &t.object), 0);
		if (is_handed)
			assert_int_equal(sim_set_handover(t.sim, SIM_SPIN, t.object), 0);
		trial_run(&t, THREADS(a, b));
		assert_int_equal(t.script.times[1][2], 45); /* a: 0-10, 20-30, 40-45 */
		assert_int_equal(sim_now(t.sim), 46);
		sim_free(t.sim);
	}
}

static void being_woken_takes_its_time(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(SEM_WAIT, 0), COMPUTE(10), SLEEP(5), EXIT };
	static const struct sim_op b[] = { COMPUTE(5), OP(SEM_POST, 0), EXIT };
	struct trial t;
	trial_begin(
		&t, (struct sim_options){ .kernel.wake.a = 50, .cores = 2, .kernel.switch_ns = 3 });
	assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
	trial_run(&t, THREADS(a, b));
	/* b: 3 + 5; a: woken at 8, running at 58, a switch or not. */
	assert_int_equal(t.script.times[2][1], 8);
	assert_int_equal(t.script.times[1][0], 58);
	assert_int_equal(t.script.times[1][2], 58 + 10 + 5 + 50);
	sim_free(t.sim);
}

/* a asks 3 before b gives back, and would sleep at 2 + 20; b pays for its call. What is given back after 4 was not seen taken. */
static void who_is_not_asleep_yet_goes_on_behind_its_call(void **state)
{
	(void)state;
	static const struct sim_op a[] = { COMPUTE(2), OP(LOCK, 0), COMPUTE(10), OP(UNLOCK, 0),
		EXIT };
	static const struct sim_op b[] = { OP(LOCK, 0), COMPUTE(5), OP(UNLOCK, 0), COMPUTE(50),
		EXIT };
	for (uint64_t hold_ns = 0; hold_ns < 5; hold_ns += 4) {
		struct trial t;
		trial_begin(&t, (struct sim_options){ .kernel.doze_ns = 20,
					.kernel.doze_cost_ns = 7,
					.kernel.hold_ns = hold_ns,
					.cores = 2 });
		assert_int_equal(sim_add_mutex(t.sim, NULL, &t.object), 0);
		trial_run(&t, THREADS(a, b));
		assert_int_equal(t.script.times[1][1], hold_ns > 0 ? 5 : 2 + 20);
		assert_int_equal(t.script.times[2][3], hold_ns > 0 ? 55 : 55 + 7);
		sim_free(t.sim);
	}
}

static void who_wakes_pays_for_it(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(SEM_WAIT, 0), OP(SEM_WAIT, 0), COMPUTE(10), EXIT };
	static const struct sim_op b[] = { COMPUTE(5), OP(SEM_POST, 0), COMPUTE(50),
		OP(SEM_POST, 0), COMPUTE(10), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .kernel.wake.a = 50,
				.kernel.wake_cost_ns = 7,
				.kernel.doze_ns = 20,
				.cores = 2 });
	assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
	trial_run(&t, THREADS(a, b));
	/* a waits from 0: at 5 it is not asleep yet. It waits again, sleeps, and is woken at 55. */
	assert_int_equal(t.script.times[1][0], 5);
	assert_int_equal(t.script.times[2][2], 55);
	assert_int_equal(t.script.times[2][4], 55 + 7 + 10);
	assert_int_equal(t.script.times[1][1], 55 + 50);
	sim_free(t.sim);
}

static void a_core_that_has_idled_for_long_takes_longer(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(SEM_WAIT, 0), OP(SEM_WAIT, 0), COMPUTE(10), EXIT };
	static const struct sim_op b[] = { COMPUTE(20), OP(SEM_POST, 0), COMPUTE(200),
		OP(SEM_POST, 0), COMPUTE(10), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .kernel.wake.a = 50,
				.kernel.wake_cost_ns = 7,
				.kernel.halt_ns = 100,
				.kernel.halted_wake_ns = 300,
				.kernel.halted_wake_cost_ns = 30,
				.cores = 2 });
	assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
	trial_run(&t, THREADS(a, b));
	/* Woken at 20, the core idling since 0; then at 227, since 70. */
	assert_int_equal(t.script.times[1][0], 20 + 50);
	assert_int_equal(t.script.times[2][2], 20 + 7 + 200);
	assert_int_equal(t.script.times[1][1], 227 + 300);
	assert_int_equal(t.script.times[2][4], 227 + 30 + 10);
	sim_free(t.sim);
}

/*
 * a has a core until c takes it, b's is idle from then on. c wakes a, which is sent to b's, and gives its own back before a is there:
 * the next time it is awake.
 */
static void who_is_woken_goes_where_it_is_sent(void **state)
{
	(void)state;
	static const struct sim_op a[] = { COMPUTE(10), OP(SEM_WAIT, 0), COMPUTE(10),
		OP(SEM_WAIT, 0), EXIT };
	static const struct sim_op b[] = { COMPUTE(15), EXIT };
	static const struct sim_op c[] = { COMPUTE(200), OP(SEM_POST, 0), SLEEP(80), SLEEP(80),
		SLEEP(80), SLEEP(80), SLEEP(80), OP(SEM_POST, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .kernel.wake.a = 1,
				.kernel.halt_ns = 100,
				.kernel.halted_wake_ns = 300,
				.scheduler = SIM_ROUND_ROBIN,
				.quantum = { SIM_FIXED, .a = 1000 },
				.cores = 2 });
	assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
	trial_run(&t, THREADS(a, b, c));
	assert_int_equal(t.script.times[3][1], 210);
	assert_int_equal(t.script.times[1][1], 210 + 300);
	assert_int_equal(t.script.times[3][7], 210 + 5 * 81);
	assert_int_equal(t.script.times[1][3], 210 + 5 * 81 + 1);
	sim_free(t.sim);
}

/* Each time it idles for 60, or a little longer: first halted at once, then after 20, 40 and 80. */
static void a_core_learns_how_long_it_idles(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(SEM_WAIT, 0), OP(SEM_WAIT, 0), OP(SEM_WAIT, 0),
		OP(SEM_WAIT, 0), OP(SEM_WAIT, 0), EXIT };
	static const struct sim_op b[] = { COMPUTE(60), OP(SEM_POST, 0), COMPUTE(70),
		OP(SEM_POST, 0), COMPUTE(70), OP(SEM_POST, 0), COMPUTE(70), OP(SEM_POST, 0),
		COMPUTE(400), OP(SEM_POST, 0), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .kernel.wake.a = 1,
				.kernel.halt_ns = 100,
				.kernel.halt_start_ns = 20,
				.kernel.halted_wake_ns = 10,
				.cores = 2 });
	assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
	trial_run(&t, THREADS(a, b));
	assert_int_equal(t.script.times[1][0], 60 + 10);
	assert_int_equal(t.script.times[1][1], 130 + 10);
	assert_int_equal(t.script.times[1][2], 200 + 10);
	assert_int_equal(t.script.times[1][3], 270 + 1);
	assert_int_equal(t.script.times[1][4], 670 + 10);
	sim_free(t.sim);
}

static void a_core_at_work_is_interrupted_from_another_one(void **state)
{
	(void)state;
	/* b waits for half a slice of a's, which it is owed, and then for c, on the other core. */
	static const struct sim_op a[] = { COMPUTE(1000), EXIT };
	static const struct sim_op b[] = { COMPUTE(10), OP(SEM_WAIT, 0), COMPUTE(10), EXIT };
	static const struct sim_op c[] = { COMPUTE(100), OP(SEM_POST, 0), COMPUTE(10), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .kernel.interrupt_ns = 40,
				.kernel.interrupt_cost_ns = 30,
				.cores = 2,
				.quantum = { SIM_FIXED, .a = 50 } });
	assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
	trial_run(&t, THREADS(a, c, b));
	assert_int_equal(t.script.times[3][0], 25 + 10);
	assert_int_equal(t.script.times[3][2], 100 + 40 + 10);
	assert_int_equal(t.script.times[2][2], 100 + 30 + 10);
	/* It goes on at 140 on c's core. */
	assert_int_equal(t.script.times[1][0], 1000 + 10 + 40);
	sim_free(t.sim);
}

static void waking_who_then_waits_for_a_core_takes_its_time(void **state)
{
	(void)state;
	/* b, which waits for a, has the same core: none that it could wake up, and a is not interrupted. */
	static const struct sim_op a[] = { COMPUTE(10), OP(SEM_POST, 0), COMPUTE(20), EXIT };
	static const struct sim_op b[] = { OP(SEM_WAIT, 0), COMPUTE(10), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .kernel.wake = { SIM_FIXED, .a = 50 },
				.kernel.wake_cost_ns = 9,
				.kernel.interrupt_cost_ns = 30,
				.kernel.queued_cost_ns = 7,
				.cores = 1,
				.scheduler = SIM_ROUND_ROBIN,
				.quantum = { SIM_FIXED, .a = 1000 } });
	assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
	trial_run(&t, THREADS(b, a));
	assert_int_equal(t.script.times[2][2], 10 + 7 + 20);
	assert_int_equal(t.script.times[1][1], 37 + 10);
	sim_free(t.sim);
}

/* Until the first tick, unless a thread of the kernel runs in between: then it is b's turn, which has had less. */
static void the_kernels_threads_end_a_slice_before_its_tick(void **state)
{
	(void)state;
	static const struct sim_op a[] = { COMPUTE(3900000), EXIT };
	static const struct sim_op b[] = { COMPUTE(3900000), EXIT };
	static const uint64_t brief_ns[] = { 0, 300000 };
	for (size_t i = 0; i < ARRAY_SIZE(brief_ns); i++) {
		struct trial t;
		trial_begin(&t, (struct sim_options){ .cores = 1, .kernel.brief_ns = brief_ns[i] });
		trial_run(&t, THREADS(a, b));
		uint64_t first_ns = t.script.times[1][0] < t.script.times[2][0]
					    ? t.script.times[1][0]
					    : t.script.times[2][0];
		assert_true(brief_ns[i] > 0 ? first_ns > 3900000 : first_ns == 3900000);
		assert_int_equal(sim_now(t.sim), 7800000);
		sim_free(t.sim);
	}
}

static void an_idle_core_leaves_who_ran_just_now(void **state)
{
	(void)state;
	/* c ran until 300 us and waits from 400 on, on a's core. b's core idles from 1,200 on. */
	static const struct sim_op a[] = { COMPUTE(10000000), EXIT };
	static const struct sim_op b[] = { COMPUTE(1200000), EXIT };
	static const struct sim_op c[] = { COMPUTE(300000), SLEEP(100000), COMPUTE(1000000), EXIT };
	static const struct {
		uint64_t hot_ns, ends_ns;
	} expected[] = { { 0, 2200000 }, { 800000, 2200000 }, { 1000000, 5000000 } };
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct trial t;
		trial_begin(&t,
			(struct sim_options){ .cores = 2, .kernel.hot_ns = expected[i].hot_ns });
		trial_run(&t, THREADS(c, b, a));
		assert_int_equal(t.script.times[1][2], expected[i].ends_ns);
		sim_free(t.sim);
	}
}

static void who_spins_at_an_object_is_asleep_later(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(SEM_WAIT, 0), OP(SEM_WAIT, 1), COMPUTE(10), EXIT };
	static const struct sim_op b[] = { COMPUTE(40), OP(SEM_POST, 0), COMPUTE(40),
		OP(SEM_POST, 1), EXIT };
	struct trial t;
	uint32_t other;
	trial_begin(
		&t, (struct sim_options){ .kernel.wake.a = 50, .kernel.doze_ns = 20, .cores = 2 });
	assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
	assert_int_equal(sim_add_sem(t.sim, NULL, 0, &other), 0);
	assert_int_equal(sim_set_spinning(t.sim, SIM_SEM, t.object, 41), 0);
	assert_int_equal(sim_set_spinning(t.sim, SIM_SEM, other + 1, 41), -EINVAL);
	assert_int_equal(sim_set_spinning(t.sim, SIM_DISKS, 0, 41), -EINVAL);
	trial_run(&t, THREADS(a, b));
	assert_int_equal(t.script.times[1][0], 40);
	assert_int_equal(t.script.times[1][1], 80 + 50);
	sim_free(t.sim);
}

static void an_idle_core_takes_a_thread_that_never_ran(void **state)
{
	(void)state;
	static const struct sim_op brief[] = { COMPUTE(10), EXIT },
				   lengthy[] = { COMPUTE(1000), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .cores = 2 });
	/* The third waits behind the first, the fourth behind the second, until the first core has nobody. */
	trial_run(&t, THREADS(brief, lengthy, brief, brief));
	assert_int_equal(t.script.times[3][0], 20);
	assert_int_equal(t.script.times[4][0], 30);
	sim_free(t.sim);
}

static void woken_threads_may_stay_where_they_were(void **state)
{
	(void)state;
	static const struct sim_op woken[] = { COMPUTE(1), OP(SEM_WAIT, 0), COMPUTE(10), EXIT };
	static const struct sim_op maker[] = { COMPUTE(2), { .kind = SIM_SPAWN, .other = 3 },
		COMPUTE(2), EXIT };
	static const struct sim_op waker[] = { COMPUTE(4), OP(SEM_POST, 0), COMPUTE(20), EXIT };
	struct sim_options options = { .cores = 2, .quantum = { SIM_FIXED, .a = 300 } };
	/* The waker has the core that the woken one had, the other core idles. */
	for (int in_place = 0; in_place < 2; in_place++) {
		struct trial t;
		options.kernel.wakes_in_place = in_place;
		trial_begin(&t, options);
		assert_int_equal(sim_add_sem(t.sim, NULL, 0, &t.object), 0);
		t.script.starts[3] = waker;
		trial_run(&t, THREADS(woken, maker));
		assert_int_equal(sim_core_busy_ns(t.sim, 1), in_place ? 4 : 4 + 10);
		assert_int_equal(sim_now(t.sim), in_place ? 36 : 26);
		sim_free(t.sim);
	}
}

struct turns {
	uint32_t at[4]; /* by tid: operations */
};

enum { TURN_NS = 2000, TURNS = 10000, MAKER_NS = 1000000 };

/* Threads 1 and 3 take turns; 2 makes the third, and keeps the other core meanwhile. */
static int take_turns(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)sim;
	(void)last;
	(void)err;
	static const struct sim_op maker[] = { COMPUTE(2), { .kind = SIM_SPAWN, .other = 3 },
		COMPUTE(MAKER_NS), EXIT };
	uint32_t at = ((struct turns *)context)->at[tid]++, own = tid / 3;
	const struct sim_op turn[] = { OP(SEM_WAIT, own), COMPUTE(TURN_NS), OP(SEM_POST, !own),
		COMPUTE(TURN_NS) };
	*ret = tid == 2 ? maker[at] : at < 4 * TURNS ? turn[at % 4] : (struct sim_op)EXIT;
	return 0;
}

/* How long the core that idles is busy at last. */
static uint64_t turns_elsewhere_ns(uint64_t part_ns)
{
	struct turns turns = { { 0 } };
	struct sim_program program = { .context = &turns, .next = take_turns };
	struct sim_options options = { .cores = 2,
		.scheduler = SIM_FAIR,
		.kernel.switch_ns = TURN_NS,
		.kernel.wakes_in_place = true,
		.kernel.part_ns = part_ns };
	struct sim *sim = NULL;
	uint32_t number;
	assert_int_equal(sim_new(&options, &program, &sim, NULL), 0);
	assert_int_equal(sim_add_sem(sim, NULL, 1, &number), 0);
	assert_int_equal(sim_add_sem(sim, NULL, 0, &number), 0);
	assert_int_equal(sim_add_thread(sim, NULL, NULL, &number), 0);
	assert_int_equal(sim_add_thread(sim, NULL, NULL, &number), 0);
	assert_int_equal(sim_run(sim, NULL), 0);
	uint64_t busy_ns = sim_core_busy_ns(sim, 1) - MAKER_NS;
	sim_free(sim);
	return busy_ns;
}

/* Each runs for far less than a slice: the tick comes all the same, and finds one waiting beside an idle core. */
static void a_tick_parts_those_who_take_turns_on_one_core(void **state)
{
	(void)state;
	uint64_t first_ns = turns_elsewhere_ns(0);
	assert_true(first_ns > 10 * MAKER_NS);
	uint64_t fifth_ns = turns_elsewhere_ns(18000000);
	assert_true(fifth_ns < first_ns && fifth_ns > 0);
	assert_true(turns_elsewhere_ns(10000000000) < MAKER_NS);
}

static void who_waited_long_takes_the_core_when_woken(void **state)
{
	(void)state;
	static const struct sim_op hog[] = { COMPUTE(1000), EXIT };
	static const struct sim_op waited[] = { COMPUTE(10), SLEEP(5), COMPUTE(10), EXIT };
	static const struct sim_op first[] = { COMPUTE(60), SLEEP(1), COMPUTE(10), EXIT };
	struct sim_options options = { .cores = 1, .quantum = { SIM_FIXED, .a = 300 } };
	struct trial t;
	trial_begin(&t, options);
	trial_run(&t, THREADS(hog, waited));
	/* A new thread's slice is half of one. At 160 the other one is owed 70, and is woken at 165. */
	assert_int_equal(t.script.times[2][0], 160);
	assert_int_equal(t.script.times[2][2], 175);
	assert_int_equal(t.script.times[1][0], 1020);
	sim_free(t.sim);
	trial_begin(&t, options);
	trial_run(&t, THREADS(first, hog));
	/* It owes 30 when it sleeps, and waits for the end of the other's slice, 150 from 60 on. */
	assert_int_equal(t.script.times[1][0], 60);
	assert_int_equal(t.script.times[1][2], 220);
	assert_int_equal(t.script.times[2][0], 1070);
	sim_free(t.sim);
}

/* Woken at 60, when the hog is ahead of the mean: but the waiting thread is before the woken one, and has not been woken. */
static void who_is_woken_takes_the_core_if_it_is_the_next(void **state)
{
	(void)state;
	static const struct sim_op woken[] = { COMPUTE(10), SLEEP(50), COMPUTE(10), EXIT };
	static const struct sim_op hog[] = { COMPUTE(1000), EXIT };
	static const struct sim_op waiting[] = { COMPUTE(10), EXIT };
	struct trial t;
	trial_begin(&t, (struct sim_options){ .cores = 1, .quantum = { SIM_FIXED, .a = 300 } });
	trial_run(&t, THREADS(woken, hog, waiting));
	assert_int_equal(t.script.times[3][0], 10 + 150 + 10);
	assert_int_equal(t.script.times[1][2], 180);
	assert_int_equal(t.script.times[2][0], 1030);
	sim_free(t.sim);
}

struct ticks {
	uint32_t count, limit; /* limit: fails then; 0: never */
};

static int count_tick(void *context, struct sim *sim)
{
	struct ticks *ticks = context;
	ticks->count++;
	if (ticks->count == ticks->limit)
		return -EIO;
	return sim_set_speed(sim, 0, 2);
}

static int run_with_ticks(const struct sim_op *ops, struct ticks *ticks, uint64_t *ret_ns)
{
	struct script script = { 0 };
	struct sim *sim = new_sim(&(struct sim_options){ .cores = 1 }, &script);
	uint32_t sem;
	assert_int_equal(sim_add_sem(sim, NULL, 0, &sem), 0);
	assert_int_equal(sim_add_tick(sim, 0, count_tick, ticks), -EINVAL);
	assert_int_equal(sim_add_tick(sim, 50, count_tick, ticks), 0);
	assert_int_equal(sim_add_tick(sim, 50, count_tick, ticks), -EINVAL);
	add_threads(sim, &script, 1, (const struct sim_op *[]){ ops });
	struct err err = { 0 };
	int code = sim_run(sim, &err);
	*ret_ns = sim_now(sim);
	sim_free(sim);
	return code;
}

static void a_tick_steers_by_the_clock(void **state)
{
	(void)state;
	static const struct sim_op work[] = { COMPUTE(150), EXIT };
	static const struct sim_op stuck[] = { COMPUTE(10), OP(SEM_WAIT, 0), EXIT };
	struct ticks ticks = { 0 };
	uint64_t ns;
	assert_int_equal(run_with_ticks(work, &ticks, &ns), 0);
	assert_int_equal(ns, 100); /* 50 at speed 1, 100 at 2; it is over before the second tick */
	assert_int_equal(ticks.count, 1);
	ticks = (struct ticks){ 0 };
	assert_int_equal(run_with_ticks(stuck, &ticks, &ns), -EDEADLK);
	assert_int_equal(ticks.count, 0);
	ticks = (struct ticks){ .limit = 1 };
	assert_int_equal(run_with_ticks(work, &ticks, &ns), -EIO);
	assert_int_equal(ns, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spinning_takes_a_core),
		cmocka_unit_test(others_have_cores_in_turns),
		cmocka_unit_test(who_spins_is_preempted_and_goes_on),
		cmocka_unit_test(being_woken_takes_its_time),
		cmocka_unit_test(who_is_not_asleep_yet_goes_on_behind_its_call),
		cmocka_unit_test(who_wakes_pays_for_it),
		cmocka_unit_test(a_core_that_has_idled_for_long_takes_longer),
		cmocka_unit_test(who_is_woken_goes_where_it_is_sent),
		cmocka_unit_test(a_core_learns_how_long_it_idles),
		cmocka_unit_test(a_core_at_work_is_interrupted_from_another_one),
		cmocka_unit_test(waking_who_then_waits_for_a_core_takes_its_time),
		cmocka_unit_test(the_kernels_threads_end_a_slice_before_its_tick),
		cmocka_unit_test(an_idle_core_leaves_who_ran_just_now),
		cmocka_unit_test(who_spins_at_an_object_is_asleep_later),
		cmocka_unit_test(an_idle_core_takes_a_thread_that_never_ran),
		cmocka_unit_test(woken_threads_may_stay_where_they_were),
		cmocka_unit_test(a_tick_parts_those_who_take_turns_on_one_core),
		cmocka_unit_test(who_waited_long_takes_the_core_when_woken),
		cmocka_unit_test(who_is_woken_takes_the_core_if_it_is_the_next),
		cmocka_unit_test(a_tick_steers_by_the_clock),
	};
	return cmocka_run_group_tests_name("sim_cores", tests, NULL, NULL);
}
