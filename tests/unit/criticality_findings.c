/* SPDX-License-Identifier: GPL-3.0-or-later */
/* criticality: blame and findings; timelines made by hand. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "criticality_fixture.h"

#include <math.h>
#include <string.h>

static void start_two(struct analysis *a, uint64_t routine)
{
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, routine);
	at(a, 0, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, routine);
}

/* Four threads that do nothing but take turns at a lock, on two cores: 1 ms each, all others wait. */
static struct results *turns_at_a_lock(enum event_what what)
{
	struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	struct event name = { .kind = EVENT_NAME, .what = (uint8_t)what, .object = 5 };
	name.text = "hot";
	send(a, name);
	for (uint32_t i = 0; i < 4; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 1);
	at(a, 0, MAIN, EVENT_PASS, what, 5);
	for (uint32_t i = 1; i < 4; i++)
		at(a, 0, MAIN + i, EVENT_WAIT, what, 5);
	uint64_t now = 0;
	for (uint32_t k = 0; k < 40; k++) {
		uint32_t holder = MAIN + k % 4, next = MAIN + (k + 1) % 4;
		now += MS;
		at(a, now, holder, EVENT_RELEASE, what, 5);
		at(a, now, next, EVENT_WOKEN, what, 5);
		at(a, now, holder, EVENT_WAIT, what, 5);
		flagged(a, now, next, EVENT_PASS, what, 5, EVENT_WAITED);
	}
	struct results *results = finish(a, now);
	analysis_free(a);
	return results;
}

static void a_hot_lock_is_found_and_costs_what_it_serialises(void **state)
{
	(void)state;
	AUTO(results) struct results *r = turns_at_a_lock(WHAT_MUTEX);
	assert_exact(r);
	assert_int_equal(r->locks[0].held_ns, 40 * MS);
	assert_int_equal(r->locks[0].waited_ns, 3 * 40 * MS);
	assert_int_equal(r->locks[0].blame_ns, 40 * MS);
	assert_int_equal(r->locks[0].loss_ns, 30 * MS);
	assert_int_equal(r->locks[0].acquisitions, 41);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_string_equal(r->locks[r->findings[0].lock].name, "hot");
	assert_true(r->findings[0].is_clear);
	/* Each thread's own work is 10 of the 40 ms; two cores need 20 for all of it. */
	assert_true(fabs(r->findings[0].bound - 4) < 1e-9);
	assert_true(fabs(r->findings[0].spread - 2) < 1e-9);
}

/* One waits for 5, whose holder waits for 6 until the thread that works for 8 ms gives it back. */
static void who_waits_for_a_waiting_holder_waits_for_what_that_waits_for(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint32_t i = 0; i < 3; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 1);
	at(a, 0, MAIN, EVENT_PASS, WHAT_MUTEX, 5);
	at(a, 0, MAIN + 1, EVENT_PASS, WHAT_MUTEX, 6);
	at(a, 0, MAIN + 2, EVENT_WAIT, WHAT_MUTEX, 5);
	at(a, 0, MAIN, EVENT_WAIT, WHAT_MUTEX, 6);
	at(a, 8 * MS, MAIN + 1, EVENT_RELEASE, WHAT_MUTEX, 6);
	at(a, 8 * MS, MAIN + 1, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	at(a, 8 * MS, MAIN, EVENT_WOKEN, WHAT_MUTEX, 6);
	flagged(a, 8 * MS, MAIN, EVENT_PASS, WHAT_MUTEX, 6, EVENT_WAITED);
	at(a, 11 * MS, MAIN, EVENT_RELEASE, WHAT_MUTEX, 6);
	at(a, 11 * MS, MAIN, EVENT_RELEASE, WHAT_MUTEX, 5);
	at(a, 11 * MS, MAIN + 2, EVENT_WOKEN, WHAT_MUTEX, 5);
	flagged(a, 11 * MS, MAIN + 2, EVENT_PASS, WHAT_MUTEX, 5, EVENT_WAITED);
	AUTO(results) struct results *r = finish(a, 20 * MS);
	const struct result_lock *root = &r->locks[r->findings[0].lock];
	const struct result_lock *other = &r->locks[!r->findings[0].lock];
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_int_equal(root->address, 6);
	/* Two of three wait for 8 ms, then one of two for 3 ms; what each waited stays as it was. */
	assert_true(llabs((long long)root->loss_ns - 2 * 8 * MS / 3) < US);
	assert_true(llabs((long long)root->taken_over_ns - 8 * MS / 3) < US);
	assert_true(llabs((long long)other->loss_ns - 3 * MS / 2) < US);
	assert_int_equal(root->waited_ns, 8 * MS);
	assert_int_equal(other->waited_ns, 11 * MS);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN + 1);
}

/* Two threads of 20 ms on two cores that waited for a core for 15 of them did not wait for one another. */
static void longer_waits_for_cores_than_threads_explain_are_of_others(void **state)
{
	(void)state;
	/* The second time on two cores others were seen to have 5 ms in 10. */
	for (uint32_t round = 1; round <= 3; round++) {
		uint32_t cores = round < 3 ? round : 2;
		AUTO(analysis)
		struct analysis *a = new_analysis((struct analysis_opts){ .cores = cores,
			.others_ns = 5 * MS,
			.others_wall_ns = round < 3 ? 0 : 10 * MS });
		for (uint32_t i = 0; i < 2; i++)
			at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 1);
		for (uint32_t i = 0; i < 2; i++)
			send(a, (struct event){ .time_ns = 20 * MS,
					.tid = MAIN + i,
					.kind = EVENT_THREAD_EXIT,
					.object = 5 * MS,
					.value = 15 * MS });
		AUTO(results) struct results *r = finish(a, 20 * MS);
		/* Of one core one of them has to wait all the time. */
		double denied = round == 1 ? 10.0 / 20 : round == 2 ? 30.0 / 40 : 10.0 / 40;
		assert_true(fabs(denied_core_share(r) - denied) < 1e-9);
		/* What others did not have of it was nobody's. */
		assert_true(fabs(spared_core_share(r) - (round < 3 ? 0 : 20.0 / 40)) < 1e-9);
	}
}

static void waiting_at_a_spin_lock_is_spinning(void **state)
{
	(void)state;
	AUTO(results) struct results *r = turns_at_a_lock(WHAT_SPIN);
	assert_int_equal(r->findings[0].kind, FINDING_SPIN);
	assert_true(isnan(r->findings[0].spread));
}

/* As the kernel sees it: the waiter's WAIT, and who woke it. */
static void futex(struct analysis *a, uint64_t time_ns, uint32_t tid, enum event_kind kind,
	uint64_t object, uint32_t waker)
{
	send(a, (struct event){ .time_ns = time_ns,
			.tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_FUTEX,
			.object = object,
			.value = waker });
}

static void a_futex_is_what_it_is_used_for(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint32_t i = 0; i < 3; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 0);
	futex(a, 0, MAIN, EVENT_WAIT, 9, 0); /* for the end of MAIN + 2 */
	for (uint64_t k = 0; k < 20; k++) {
		uint32_t holder = MAIN + 1 + k % 2, other = MAIN + 2 - k % 2;
		futex(a, k * MS, other, EVENT_WAIT, 5, 0);
		futex(a, (k + 1) * MS, other, EVENT_WOKEN, 5, holder);
	}
	at(a, 20 * MS, MAIN + 2, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	futex(a, 20 * MS, MAIN, EVENT_WOKEN, 9, MAIN + 2);
	AUTO(results) struct results *r = finish(a, 20 * MS);
	assert_int_equal(r->lock_count, 2);
	assert_int_equal(r->locks[0].address, 5);
	assert_int_equal(r->locks[0].what, WHAT_FUTEX);
	assert_int_equal(r->locks[1].what, WHAT_JOIN);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_int_equal(r->findings[0].lock, 0);
	results_set_futex(r, 0, WHAT_BARRIER);
	assert_int_equal(results_find_again(r), 0);
	assert_int_equal(r->findings[0].kind, FINDING_BARRIER);
}

/* By its name it may be a pool or a signal; those who wait for it let one another go. */
static void a_semaphore_in_turn_is_a_lock_for_the_kernel_too(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	start_two(a, 0);
	for (uint64_t k = 0; k < 20; k++) {
		futex(a, k * MS, MAIN + k % 2, EVENT_WAIT, 5, 0);
		futex(a, (k + 1) * MS, MAIN + k % 2, EVENT_WOKEN, 5, MAIN + 1 - k % 2);
	}
	AUTO(results) struct results *r = finish(a, 20 * MS);
	results_set_futex(r, 0, WHAT_SEM);
	assert_int_equal(results_find_again(r), 0);
	assert_int_equal(r->locks[0].what, WHAT_SEM);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
}

/* A pool: who has made the last piece lets go whom it waited with before, and the kernel's recorder sees but a futex. */
static void a_condition_of_a_pool_is_no_lock_for_the_kernel(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	start_two(a, 0);
	futex(a, 0, MAIN + 1, EVENT_WAIT, 5, 0);
	futex(a, MS, MAIN + 1, EVENT_WOKEN, 5, MAIN);
	futex(a, MS, MAIN, EVENT_WAIT, 5, 0);
	futex(a, 20 * MS, MAIN, EVENT_WOKEN, 5, MAIN + 1);
	AUTO(results) struct results *r = finish(a, 20 * MS);
	results_set_futex(r, 0, WHAT_COND);
	assert_int_equal(results_find_again(r), 0);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN + 1);
}

/* The C library lets them wait at one word of a condition and at the next in turn. */
static void waits_that_time_out_go_on_at_the_other_word(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	start_two(a, 0);
	for (uint64_t k = 0; k < 20; k++) {
		uint32_t waiter = MAIN + k % 2;
		const struct event timed_out = { .time_ns = k * MS + 900 * US,
			.tid = waiter,
			.kind = EVENT_PASS,
			.what = WHAT_FUTEX,
			.object = 40,
			.flags = EVENT_WAITED | EVENT_TIMED_OUT };
		futex(a, k * MS, waiter, EVENT_WAIT, 40, 0);
		send(a, timed_out);
		futex(a, k * MS + 900 * US, waiter, EVENT_WAIT, 44, 0);
		futex(a, (k + 1) * MS, waiter, EVENT_WOKEN, 44, MAIN + 1 - k % 2);
	}
	AUTO(results) struct results *r = finish(a, 20 * MS);
	for (size_t i = 0; i < r->lock_count; i++)
		results_set_futex(r, i, WHAT_COND);
	assert_int_equal(results_find_again(r), 0);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_true(r->findings[0].share > 0.45);
}

/* n rounds; thread `late` takes `late_ms` to the barrier, the others 1 ms. */
static struct results *rounds_at_a_barrier(uint64_t late_ms, uint64_t others_us)
{
	struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint32_t i = 0; i < 4; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 1);
	uint64_t now = 0;
	for (unsigned round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < 3; i++)
			at(a, now + others_us * US, MAIN + i, EVENT_WAIT, WHAT_BARRIER, 5);
		now += late_ms * MS;
		flagged(a, now, MAIN + 3, EVENT_PASS, WHAT_BARRIER, 5, 0);
		for (uint32_t i = 0; i < 3; i++)
			flagged(a, now, MAIN + i, EVENT_PASS, WHAT_BARRIER, 5, EVENT_WAITED);
	}
	struct results *results = finish(a, now);
	analysis_free(a);
	return results;
}

static void the_last_at_a_barrier_is_blamed(void **state)
{
	(void)state;
	AUTO(results) struct results *r = rounds_at_a_barrier(4, 1000);
	assert_int_equal(r->locks[0].blame_ns, 30 * MS);
	assert_int_equal(r->locks[0].episodes, 10);
	assert_int_equal(r->findings[0].kind, FINDING_BARRIER);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN + 3);
	/* Without its work the others need 10 of the 40 ms; spread evenly, 17.5. */
	assert_true(fabs(r->findings[0].bound - 4) < 1e-9);
	assert_true(fabs(r->findings[0].spread - 40 / 17.5) < 1e-9);
	assert_int_equal(r->findings[0].lock, 0);
}

static void others_with_nothing_to_do_make_a_serial_phase(void **state)
{
	(void)state;
	AUTO(results) struct results *r = rounds_at_a_barrier(4, 1);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN + 3);
}

/* value: who let it go, or of a wait that there was one. */
static void team(
	struct analysis *a, uint64_t time_ns, uint32_t tid, enum event_kind kind, uint64_t value)
{
	send(a, (struct event){ .time_ns = time_ns,
			.tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_BARRIER,
			.object = 5,
			.value = value });
}

/* A team of OpenMP's: its other thread is kept between regions while main works, the last time until the end. */
static void who_keeps_a_team_waiting_between_regions_works_alone(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	start_two(a, 1);
	for (uint64_t round = 0; round < 5; round++) {
		uint64_t begin = 10 * round * MS, end = begin + 2 * MS;
		if (round > 0)
			team(a, begin, MAIN + 1, EVENT_WOKEN, MAIN);
		team(a, end - US, MAIN, EVENT_WAIT, 1);
		team(a, end, MAIN, EVENT_WOKEN, MAIN + 1);
		team(a, end, MAIN + 1, EVENT_WAIT, 1);
	}
	at(a, 50 * MS, MAIN + 1, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	AUTO(results) struct results *r = finish(a, 50 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
	assert_int_equal(r->finding_count, 1);
	/* Four times 8 ms until the next region; the last 8 ms were for no region. */
	assert_int_equal(r->locks[0].contended_ns, 4 * 8 * MS + 5 * US);
	assert_int_equal(r->locks[0].serial_ns, 4 * 8 * MS);
	assert_exact(r);
}

/* One thread works for 20 ms, then four read for 80 ms: without the first part these are left. */
static void work_spread_evenly_leaves_what_the_program_waits_for(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 1);
	for (uint32_t i = 0; i < 4; i++) {
		at(a, 20 * MS, MAIN + 1 + i, EVENT_THREAD_START, WHAT_NONE, 2);
		at(a, 20 * MS, MAIN + 1 + i, EVENT_WAIT, WHAT_IO, 3);
	}
	at(a, 20 * MS, MAIN, EVENT_WAIT, WHAT_JOIN, MAIN + 1);
	for (uint32_t i = 0; i < 4; i++)
		at(a, 100 * MS, MAIN + 1 + i, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	AUTO(results) struct results *r = finish(a, 100 * MS);
	assert_int_equal(r->idle_ns, 80 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_true(fabs(r->findings[0].bound - 1.25) < 1e-9);
	assert_true(fabs(r->findings[0].spread - 10. / 9) < 1e-9);
}

static void balanced_threads_are_not_blamed(void **state)
{
	(void)state;
	AUTO(results) struct results *r = rounds_at_a_barrier(1, 990);
	assert_int_equal(r->findings[0].kind, FINDING_NONE);
	assert_int_equal(r->finding_count, 1);
}

/* Two busy threads beside a logger on a condition, a timer, and main in join. */
static void threads_idle_by_design_are_not_blamed(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint32_t i = 0; i < 5; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, i);
	at(a, 0, MAIN, EVENT_WAIT, WHAT_JOIN, 0);
	at(a, 0, MAIN + 1, EVENT_WAIT, WHAT_COND, 5);
	at(a, 0, MAIN + 2, EVENT_WAIT, WHAT_SLEEP, 0);
	for (uint64_t i = 1; i < 100; i++) {
		at(a, i * MS, MAIN + 2, EVENT_PASS, WHAT_SLEEP, 0);
		at(a, i * MS + 20 * US, MAIN + 2, EVENT_WAIT, WHAT_SLEEP, 0);
		if (i % 10)
			continue;
		at(a, i * MS + 30 * US, MAIN + 3, EVENT_RELEASE, WHAT_COND, 5);
		flagged(a, i * MS + 30 * US, MAIN + 1, EVENT_PASS, WHAT_COND, 5, EVENT_WAITED);
		at(a, i * MS + 50 * US, MAIN + 1, EVENT_WAIT, WHAT_COND, 5);
	}
	AUTO(results) struct results *r = finish(a, 100 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_NONE);
	assert_exact(r);
}

/* The slow stage takes 4 ms for an item, the next, which waits for signals meanwhile, that time. */
static struct results *two_stages(uint64_t next_ns)
{
	struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	start_two(a, 1);
	at(a, 0, MAIN + 1, EVENT_WAIT, WHAT_COND, 5);
	for (uint64_t i = 1; i <= 20; i++) {
		at(a, 4 * i * MS, MAIN, EVENT_RELEASE, WHAT_COND, 5);
		at(a, 4 * i * MS, MAIN + 1, EVENT_WOKEN, WHAT_COND, 5);
		flagged(a, 4 * i * MS + US, MAIN + 1, EVENT_PASS, WHAT_COND, 5, EVENT_WAITED);
		at(a, 4 * i * MS + next_ns, MAIN + 1, EVENT_WAIT, WHAT_COND, 5);
	}
	struct results *results = finish(a, 81 * MS);
	analysis_free(a);
	return results;
}

static void the_slow_stage_of_a_pipeline_is_found(void **state)
{
	(void)state;
	AUTO(results) struct results *r = two_stages(MS);
	assert_int_equal(r->findings[0].kind, FINDING_PIPELINE);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
	/* Alone for 4 ms once, then for 3 of every 4: what it was waited for. */
	assert_true(llabs((long long)r->locks[0].blame_ns - (4 + 19 * 3) * MS) < US);
}

static void helpers_with_next_to_nothing_to_do_are_no_stages(void **state)
{
	(void)state;
	AUTO(results) struct results *r = two_stages(50 * US);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
}

/* Two share the work by signals; the last piece, of one of them, is 60 of the 80 ms. */
static void the_last_piece_of_work_is_no_stage(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	start_two(a, 1);
	for (uint64_t i = 1; i <= 10; i++) {
		at(a, (2 * i - 1) * MS, MAIN + 1, EVENT_WAIT, WHAT_COND, 5);
		at(a, 2 * i * MS, MAIN, EVENT_RELEASE, WHAT_COND, 5);
		flagged(a, 2 * i * MS, MAIN + 1, EVENT_PASS, WHAT_COND, 5, EVENT_WAITED);
	}
	at(a, 20 * MS, MAIN + 1, EVENT_WAIT, WHAT_COND, 5);
	at(a, 80 * MS, MAIN, EVENT_RELEASE, WHAT_COND, 5);
	flagged(a, 80 * MS, MAIN + 1, EVENT_PASS, WHAT_COND, 5, EVENT_WAITED);
	AUTO(results) struct results *r = finish(a, 80 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
}

static void a_single_thread_is_all_that_there_is(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 1);
	at(a, 10 * MS, MAIN, EVENT_WAIT, WHAT_SLEEP, 0);
	AUTO(results) struct results *r = finish(a, 11 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_true(isinf(r->findings[0].bound));
}

/*
 * Who got it from whom: four threads hand one thing round, or one of them hands out to the others; 10 ms each time. On four
 * cores, beside `busy` threads that compute until all sleep for half as long.
 */
static struct results *signals(bool is_round, bool times_out, uint32_t busy)
{
	struct analysis *a = new_analysis((struct analysis_opts){ .cores = 4 });
	for (uint32_t i = 0; i < 4 + busy; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 1);
	for (uint32_t i = 1; i < 4; i++)
		at(a, 0, MAIN + i, EVENT_WAIT, WHAT_COND, 5);
	uint64_t now = 0;
	for (uint32_t k = 0; k < 40; k++) {
		uint32_t from = is_round ? k % 4 : 0, to = is_round ? (k + 1) % 4 : 1 + k % 3;
		for (uint32_t i = 0; times_out && i < 4; i++) {
			if (i == from)
				continue;
			flagged(a, now + 9 * MS, MAIN + i, EVENT_PASS, WHAT_COND, 5,
				EVENT_WAITED | EVENT_TIMED_OUT);
			at(a, now + 9 * MS, MAIN + i, EVENT_WAIT, WHAT_COND, 5);
		}
		now += 10 * MS;
		send(a, (struct event){ .time_ns = now,
				.tid = MAIN + to,
				.kind = EVENT_WOKEN,
				.what = WHAT_COND,
				.object = 5,
				.value = MAIN + from });
		flagged(a, now, MAIN + to, EVENT_PASS, WHAT_COND, 5, EVENT_WAITED);
		at(a, now + (is_round ? 0 : MS), MAIN + (is_round ? from : to), EVENT_WAIT,
			WHAT_COND, 5);
	}
	for (uint32_t i = 0; busy > 0 && i < 4 + busy; i++)
		at(a, now, MAIN + i, EVENT_WAIT, WHAT_SLEEP, 0);
	struct results *results = finish(a, now + (busy > 0 ? now / 2 : MS));
	analysis_free(a);
	return results;
}

static void threads_that_let_one_another_go_take_turns(void **state)
{
	(void)state;
	for (int times_out = 0; times_out < 2; times_out++) {
		AUTO(results) struct results *r = signals(true, times_out, 0);
		assert_exact(r);
		assert_int_equal(r->findings[0].kind, FINDING_LOCK);
		assert_int_equal(r->locks[r->findings[0].lock].address, 5);
		/* One of four is active, and three could be besides: 3/4 of the time is lost, but for the waits that go on. */
		assert_true(r->findings[0].share > 0.7 && r->findings[0].share <= 0.75);
		assert_true(fabs(r->findings[0].bound - 4) < 0.02);
	}
}

/* Nor does it shorten the sleep of all. */
static void turns_beside_busy_cores_limit_nothing(void **state)
{
	(void)state;
	AUTO(results) struct results *r = signals(true, false, 4);
	assert_true(r->locks[0].turns_ns > 0);
	assert_int_equal(r->findings[0].kind, FINDING_NONE);
}

static void who_only_serves_others_takes_no_turns(void **state)
{
	(void)state;
	AUTO(results) struct results *r = signals(false, false, 0);
	assert_int_equal(r->locks[0].turns_ns, 0);
	assert_int_equal(r->findings[0].kind, FINDING_PIPELINE);
	assert_int_equal(r->findings[0].thread, 0);
}

/* A thread's exit says what the scheduler counted: 60 ms on a core and 10 waiting for one, of 100. */
static void what_no_event_explains_is_unseen(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	start_two(a, 0);
	at(a, 90 * MS, MAIN + 1, EVENT_WAIT, WHAT_MUTEX, 5);
	flagged(a, 100 * MS, MAIN + 1, EVENT_PASS, WHAT_MUTEX, 5, EVENT_WAITED);
	for (uint32_t tid = MAIN; tid <= MAIN + 1; tid++)
		send(a, (struct event){ .time_ns = 100 * MS,
				.tid = tid,
				.kind = EVENT_THREAD_EXIT,
				.object = 60 * MS,
				.value = 10 * MS });
	/* The scheduler's sum is that of its last tick: the thread itself knows that it always ran. */
	at(a, 100 * MS, MAIN + 2, EVENT_THREAD_START, WHAT_NONE, 0);
	send(a, (struct event){ .time_ns = 120 * MS,
			.tid = MAIN + 2,
			.kind = EVENT_THREAD_EXIT,
			.object = 16 * MS,
			.cpu_ns = 20 * MS,
			.value = 1 });
	AUTO(results) struct results *r = finish(a, 120 * MS);
	assert_int_equal(r->unseen_ns, (30 + 20) * MS);
	assert_true(fabs(results_unseen_share(r) - 50.0 / 210) < 1e-9);
}

static void one_thread_after_the_other_is_serial(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 60 * MS, MAIN, EVENT_WAIT, WHAT_JOIN, 0);
	for (uint32_t i = 1; i < 5; i++)
		at(a, 60 * MS, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 7);
	for (uint32_t i = 1; i < 5; i++)
		at(a, 90 * MS, MAIN + i, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	AUTO(results) struct results *r = finish(a, 90 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
}

/* Ten rounds of two new threads, of which one has 1 ms to do and one 4. */
static void late_threads_of_rounds_are_found(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	for (uint32_t round = 0; round < 10; round++) {
		uint64_t now = (uint64_t)round * 4 * MS;
		uint32_t quick = MAIN + 1 + 2 * round, slow = quick + 1;
		at(a, now, quick, EVENT_THREAD_START, WHAT_NONE, 7);
		at(a, now, slow, EVENT_THREAD_START, WHAT_NONE, 7);
		at(a, now, MAIN, EVENT_WAIT, WHAT_JOIN, 0);
		at(a, now + MS, quick, EVENT_THREAD_EXIT, WHAT_NONE, 0);
		at(a, now + 4 * MS, slow, EVENT_THREAD_EXIT, WHAT_NONE, 0);
		flagged(a, now + 4 * MS, MAIN, EVENT_PASS, WHAT_JOIN, 0, EVENT_WAITED);
	}
	AUTO(results) struct results *r = finish(a, 40 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->findings[0].thread, INDEX_NONE);
	/* 30 of the 40 ms one is alone: two cores could save half of that. */
	assert_true(fabs(r->findings[0].share - 15.0 / 40) < 1e-9);
	assert_true(fabs(r->findings[0].bound - 40.0 / 10) < 1e-9);
	assert_true(fabs(r->findings[0].spread - 40.0 / 25) < 1e-9);
}

/* One thread fills for 35 ms what two others then empty for 65: none is ahead of the others by a tenth. */
static void a_phase_before_as_much_work_of_others_is_serial(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	for (uint32_t i = 0; i < 3; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 0);
	for (uint32_t i = 1; i < 3; i++)
		at(a, 0, MAIN + i, EVENT_WAIT, WHAT_COND, 5);
	at(a, 35 * MS, MAIN, EVENT_RELEASE, WHAT_COND, 5);
	for (uint32_t i = 1; i < 3; i++)
		flagged(a, 35 * MS, MAIN + i, EVENT_PASS, WHAT_COND, 5, EVENT_WAITED);
	at(a, 35 * MS, MAIN, EVENT_WAIT, WHAT_JOIN, 0);
	for (uint32_t i = 1; i < 3; i++)
		at(a, 100 * MS, MAIN + i, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	AUTO(results) struct results *r = finish(a, 100 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
	assert_true(fabs(r->findings[0].share - 0.175) < 1e-9);
	assert_true(fabs(r->findings[0].spread - 1 / 0.825) < 1e-9);
}

/* A phase of 40 ms, and rounds at a barrier to which the same thread comes 2 of 6 ms after the others. */
static void a_serial_start_is_told_beside_a_barrier(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 40 * MS, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	for (uint32_t k = 0; k < 10; k++) {
		uint64_t now = (40 + 6 * (uint64_t)k) * MS;
		at(a, now + 4 * MS, MAIN + 1, EVENT_WAIT, WHAT_BARRIER, 5);
		at(a, now + 6 * MS, MAIN, EVENT_PASS, WHAT_BARRIER, 5);
		flagged(a, now + 6 * MS, MAIN + 1, EVENT_PASS, WHAT_BARRIER, 5, EVENT_WAITED);
	}
	AUTO(results) struct results *r = finish(a, 100 * MS);
	assert_int_equal(r->finding_count, 2);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_true(fabs(r->findings[0].share - 0.4) < 1e-9);
	assert_int_equal(r->findings[1].kind, FINDING_BARRIER);
	assert_int_equal(r->threads[r->findings[1].thread].tid, MAIN);
}

static void a_lock_held_through_a_sleep_is_blamed_for_the_idle_time(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	start_two(a, 0);
	at(a, 0, MAIN, EVENT_PASS, WHAT_MUTEX, 5);
	at(a, 0, MAIN + 1, EVENT_WAIT, WHAT_MUTEX, 5);
	at(a, 0, MAIN, EVENT_WAIT, WHAT_SLEEP, 0);
	at(a, 800, MAIN, EVENT_PASS, WHAT_SLEEP, 0);
	at(a, 800, MAIN, EVENT_RELEASE, WHAT_MUTEX, 5);
	at(a, 800, MAIN, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	flagged(a, 800, MAIN + 1, EVENT_PASS, WHAT_MUTEX, 5, EVENT_WAITED);
	at(a, 1000, MAIN + 1, EVENT_WAIT, WHAT_SLEEP, 0);
	at(a, 1600, MAIN + 1, EVENT_PASS, WHAT_SLEEP, 0);
	at(a, 1600, MAIN + 1, EVENT_RELEASE, WHAT_MUTEX, 5);
	AUTO(results) struct results *r = finish(a, 1600);
	assert_int_equal(r->locks[0].blame_ns, 800);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	/* Nobody's own sleep vanishes, nor the second one's 200 ns of work. */
	assert_true(fabs(r->findings[0].bound - 2) < 1e-9);
}

/* A thread that sleeps with a lock for 8 ms and without it for 1, again and again, until the others are done. */
static void who_is_paced_by_a_timer_sleeps_less_in_a_shorter_run(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	start_two(a, 0);
	for (uint64_t now = 0; now < 90 * MS; now += 9 * MS) {
		at(a, now, MAIN, EVENT_PASS, WHAT_MUTEX, 5);
		at(a, now, MAIN, EVENT_WAIT, WHAT_SLEEP, 0);
		at(a, now, MAIN + 1, EVENT_WAIT, WHAT_MUTEX, 5);
		at(a, now + 8 * MS, MAIN, EVENT_PASS, WHAT_SLEEP, 0);
		at(a, now + 8 * MS, MAIN, EVENT_RELEASE, WHAT_MUTEX, 5);
		flagged(a, now + 8 * MS, MAIN + 1, EVENT_PASS, WHAT_MUTEX, 5, EVENT_WAITED);
		at(a, now + 8 * MS, MAIN + 1, EVENT_RELEASE, WHAT_MUTEX, 5);
		at(a, now + 8 * MS, MAIN, EVENT_WAIT, WHAT_SLEEP, 0);
		at(a, now + 9 * MS, MAIN, EVENT_PASS, WHAT_SLEEP, 0);
	}
	AUTO(results) struct results *r = finish(a, 90 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	/* All but the other one's 1 ms in 9, not but what the first one slept. */
	assert_true(fabs(r->findings[0].bound - 9) < 1e-9);
}

/* Only the kernel saw it: it is not known that the holder sleeps, only that its waiter lost that time. */
static void a_futex_that_is_a_lock_costs_the_idle_time_too(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	start_two(a, 0);
	for (uint64_t k = 0; k < 10; k++) {
		uint32_t holder = MAIN + k % 2, other = MAIN + 1 - k % 2;
		at(a, k * MS, holder, EVENT_WAIT, WHAT_SLEEP, 0);
		futex(a, k * MS, other, EVENT_WAIT, 5, 0);
		at(a, (k + 1) * MS, holder, EVENT_PASS, WHAT_SLEEP, 0);
		futex(a, (k + 1) * MS, other, EVENT_WOKEN, 5, holder);
	}
	AUTO(results) struct results *r = finish(a, 10 * MS);
	results_set_futex(r, 0, WHAT_MUTEX);
	assert_int_equal(results_find_again(r), 0);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_true(isnan(r->findings[0].spread));
	results_set_futex(r, 0, WHAT_COND); /* then nobody could have come sooner */
	assert_int_equal(results_find_again(r), 0);
	assert_int_equal(r->findings[0].kind, FINDING_NONE);
}

static void an_empty_timeline_finds_nothing(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	AUTO(results) struct results *r = finish(a, 0);
	assert_int_equal(r->finding_count, 1);
	assert_int_equal(r->findings[0].kind, FINDING_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hot_lock_is_found_and_costs_what_it_serialises),
		cmocka_unit_test(a_futex_is_what_it_is_used_for),
		cmocka_unit_test(a_semaphore_in_turn_is_a_lock_for_the_kernel_too),
		cmocka_unit_test(a_condition_of_a_pool_is_no_lock_for_the_kernel),
		cmocka_unit_test(waits_that_time_out_go_on_at_the_other_word),
		cmocka_unit_test(who_waits_for_a_waiting_holder_waits_for_what_that_waits_for),
		cmocka_unit_test(longer_waits_for_cores_than_threads_explain_are_of_others),
		cmocka_unit_test(waiting_at_a_spin_lock_is_spinning),
		cmocka_unit_test(the_last_at_a_barrier_is_blamed),
		cmocka_unit_test(others_with_nothing_to_do_make_a_serial_phase),
		cmocka_unit_test(who_keeps_a_team_waiting_between_regions_works_alone),
		cmocka_unit_test(work_spread_evenly_leaves_what_the_program_waits_for),
		cmocka_unit_test(balanced_threads_are_not_blamed),
		cmocka_unit_test(threads_idle_by_design_are_not_blamed),
		cmocka_unit_test(the_slow_stage_of_a_pipeline_is_found),
		cmocka_unit_test(helpers_with_next_to_nothing_to_do_are_no_stages),
		cmocka_unit_test(the_last_piece_of_work_is_no_stage),
		cmocka_unit_test(a_single_thread_is_all_that_there_is),
		cmocka_unit_test(threads_that_let_one_another_go_take_turns),
		cmocka_unit_test(turns_beside_busy_cores_limit_nothing),
		cmocka_unit_test(who_only_serves_others_takes_no_turns),
		cmocka_unit_test(what_no_event_explains_is_unseen),
		cmocka_unit_test(one_thread_after_the_other_is_serial),
		cmocka_unit_test(late_threads_of_rounds_are_found),
		cmocka_unit_test(a_phase_before_as_much_work_of_others_is_serial),
		cmocka_unit_test(a_serial_start_is_told_beside_a_barrier),
		cmocka_unit_test(a_lock_held_through_a_sleep_is_blamed_for_the_idle_time),
		cmocka_unit_test(who_is_paced_by_a_timer_sleeps_less_in_a_shorter_run),
		cmocka_unit_test(a_futex_that_is_a_lock_costs_the_idle_time_too),
		cmocka_unit_test(an_empty_timeline_finds_nothing),
	};
	return cmocka_run_group_tests_name("criticality_findings", tests, NULL, NULL);
}
