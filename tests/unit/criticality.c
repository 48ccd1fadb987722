/* SPDX-License-Identifier: GPL-3.0-or-later */
/* criticality: the account against equation 1; timelines made by hand. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/rng.h"
#include "criticality_fixture.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/*
 * The paper's figure 2: 22 ms, four threads, running 11, 16, 16 and 17 ms. All run for 6 ms (t0 and
 * t6), threads 1 to 3 for 9 of the other ms before the barrier, 2 and 3 for one, 1 and 3 for one;
 * then thread 0 runs alone.
 */
static void figure_2_of_the_paper_has_its_numbers(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint32_t tid = 0; tid < 4; tid++)
		at(a, 0, MAIN + tid, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 3 * MS, MAIN + 0, EVENT_WAIT, WHAT_MUTEX, 1);
	at(a, 6 * MS, MAIN + 1, EVENT_WAIT, WHAT_MUTEX, 1);
	at(a, 7 * MS, MAIN + 1, EVENT_WOKEN, WHAT_MUTEX, 1);
	at(a, 10 * MS, MAIN + 2, EVENT_WAIT, WHAT_MUTEX, 1);
	at(a, 11 * MS, MAIN + 2, EVENT_WOKEN, WHAT_MUTEX, 1);
	at(a, 14 * MS, MAIN + 0, EVENT_WOKEN, WHAT_MUTEX, 1);
	for (uint32_t tid = 1; tid < 4; tid++)
		at(a, 17 * MS, MAIN + tid, EVENT_WAIT, WHAT_BARRIER, 2);
	AUTO(results) struct results *r = finish(a, 22 * MS);
	static const uint64_t expected_us[] = { 6500, 5000, 5000, 5500 };
	static const uint64_t running_ms[] = { 11, 16, 16, 17 };
	for (uint32_t i = 0; i < 4; i++) {
		const struct result_thread *thread = thread_of(r, MAIN + i);
		/* Rounding to whole nanoseconds. */
		assert_true(
			fabs((double)thread->criticality_ns - 1e3 * (double)expected_us[i]) <= 1);
		assert_int_equal(thread->running_ns, running_ms[i] * MS);
	}
	assert_int_equal(r->elapsed_ns, 22 * MS);
	assert_int_equal(r->threads[0].tid, MAIN);
	assert_exact(r);
}

/* Equation 1 as it stands: all threads at each event. */
enum { NAIVE_THREADS = 12 };
struct naive {
	bool is_active[NAIVE_THREADS];
	double criticality[NAIVE_THREADS];
	double idle;
	uint64_t now;
};

static void naive_advance(struct naive *naive, uint64_t now)
{
	unsigned active = 0;
	for (unsigned i = 0; i < NAIVE_THREADS; i++)
		active += naive->is_active[i];
	double dt = (double)(now - naive->now);
	for (unsigned i = 0; i < NAIVE_THREADS; i++)
		if (naive->is_active[i])
			naive->criticality[i] += dt / active;
	if (active == 0)
		naive->idle += dt;
	naive->now = now;
}

static void random_step(struct analysis *a, struct naive *naive, struct rng *rng)
{
	unsigned i = (unsigned)rng_below(rng, NAIVE_THREADS);
	uint64_t now = naive->now + (rng_below(rng, 4) ? rng_below(rng, 100000) : 0);
	naive_advance(naive, now);
	enum event_what what = (enum event_what)(WHAT_MUTEX + rng_below(rng, 8));
	if (naive->is_active[i])
		at(a, now, MAIN + i, EVENT_WAIT, what, 1 + rng_below(rng, 3));
	else
		at(a, now, MAIN + i, rng_below(rng, 2) ? EVENT_WOKEN : EVENT_PASS, what, 1);
	naive->is_active[i] = !naive->is_active[i];
}

static void random_timelines_agree_with_equation_1_and_sum_exactly(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct rng rng;
		rng_init(&rng, seed);
		struct naive naive = { 0 };
		AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
		for (uint32_t i = 0; i < NAIVE_THREADS; i++) {
			at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 0);
			naive.is_active[i] = true;
		}
		for (unsigned k = 0; k < 3000; k++)
			random_step(a, &naive, &rng);
		naive_advance(&naive, naive.now + 12345);
		AUTO(results) struct results *r = finish(a, naive.now);
		assert_exact(r);
		assert_true(fabs((double)r->idle_ns - naive.idle) < 0.5);
		for (unsigned i = 0; i < NAIVE_THREADS; i++) {
			const struct result_thread *t = thread_of(r, MAIN + i);
			/* 3000 roundings of 2^-16 ns, and one to whole nanoseconds. */
			assert_true(fabs((double)t->criticality_ns - naive.criticality[i]) < 1.1);
			uint64_t bins = 0;
			for (unsigned b = 0; b < STRIP_BINS; b++)
				bins += thread_bin_ns(t, b);
			assert_true(fabs((double)bins - (double)t->criticality_ns) <= STRIP_BINS);
			assert_true(t->running_ns <= t->life_ns);
		}
	}
}

/* Events of every kind in an order that no program has: nothing underflows, sums stay exact. */
static void senseless_timelines_keep_the_sums(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct rng rng;
		rng_init(&rng, seed);
		struct analysis_opts opts = {
			.needs_core = seed % 3 == 0, .cores = seed % 2, .served_cores = seed % 4
		};
		if (seed % 5 == 0)
			opts.window_to_ns = 50000000;
		AUTO(analysis) struct analysis *a = new_analysis(opts);
		uint64_t now = 0;
		for (unsigned k = 0; k < 3000; k++) {
			now += rng_below(&rng, 40000);
			send(a, (struct event){ .time_ns = now,
					.tid = 1 + (uint32_t)rng_below(&rng, 9),
					.kind = (uint8_t)rng_below(&rng, EVENT_KINDS + 1),
					.what = (uint8_t)rng_below(&rng, WHAT_COUNT + 1),
					.object = rng_below(&rng, 4),
					.site = rng_below(&rng, 6),
					.value = rng_below(&rng, 9),
					.cpu_ns = rng_below(&rng, 2) * now,
					.flags = (uint16_t)rng_below(&rng, 64),
					.text = rng_below(&rng, 2) ? "name" : NULL });
		}
		AUTO(results) struct results *r = finish(a, now);
		assert_exact(r);
		for (size_t i = 0; i < r->lock_count; i++) {
			const struct result_lock *lock = &r->locks[i];
			assert_true(lock->contended_ns <= r->elapsed_ns);
			assert_true(lock->blame_ns <= 9 * r->elapsed_ns);
			assert_true(lock->loss_ns <= r->elapsed_ns);
			assert_true(lock->waited_ns <= 9 * r->elapsed_ns);
		}
		for (size_t i = 0; i < r->finding_count; i++) {
			assert_true(r->findings[i].bound >= 1);
			assert_true(r->findings[i].share <= 1.001);
		}
		assert_int_equal(results_merge(r), 0);
	}
}

static void the_order_of_simultaneous_events_does_not_matter(void **state)
{
	(void)state;
	struct results *both[2];
	for (unsigned turn = 0; turn < 2; turn++) {
		AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
		for (uint32_t i = 0; i < 3; i++)
			at(a, 0, MAIN + (turn ? 2 - i : i), EVENT_THREAD_START, WHAT_NONE, 0);
		for (uint64_t now = 7; now < 10000; now += 13) {
			bool is_wait = now / 13 % 2 == 0;
			for (uint32_t i = 0; i < 2; i++)
				at(a, now, MAIN + (turn ? 1 - i : i),
					is_wait ? EVENT_WAIT : EVENT_PASS, WHAT_COND, 5);
		}
		both[turn] = finish(a, 10007);
	}
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(thread_of(both[0], MAIN + i)->criticality_ns,
			thread_of(both[1], MAIN + i)->criticality_ns);
	results_free(both[0]);
	results_free(both[1]);
}

static void time_in_which_all_wait_is_idle(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	at(a, 100, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 400, MAIN, EVENT_WAIT, WHAT_SLEEP, 0);
	at(a, 900, MAIN, EVENT_PASS, WHAT_SLEEP, 0);
	AUTO(results) struct results *r = finish(a, 1100);
	assert_int_equal(r->elapsed_ns, 1000);
	assert_int_equal(r->idle_ns, 500);
	assert_int_equal(r->threads[0].criticality_ns, 500);
	assert_int_equal(r->threads[0].waited_ns[WHAT_SLEEP], 500);
}

/* The sleeper lets the other one go: what it slept, both did. */
static void idle_time_is_ended_by_who_goes_on_first(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	at(a, 100, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 100, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 300, MAIN + 1, EVENT_WAIT, WHAT_COND, 7);
	at(a, 400, MAIN, EVENT_WAIT, WHAT_SLEEP, 0);
	at(a, 900, MAIN, EVENT_PASS, WHAT_SLEEP, 0);
	at(a, 950, MAIN, EVENT_RELEASE, WHAT_COND, 7);
	at(a, 960, MAIN + 1, EVENT_PASS, WHAT_COND, 7);
	AUTO(results) struct results *r = finish(a, 1100);
	assert_int_equal(r->idle_ns, 500);
	assert_int_equal(thread_of(r, MAIN)->ended_idle_ns, 500);
	assert_int_equal(thread_of(r, MAIN + 1)->ended_idle_ns, 0);
}

/* Two readers from one place, one that sleeps elsewhere: the time goes to who goes on first. */
static void idle_time_goes_to_the_wait_that_ends_it(void **state)
{
	(void)state;
	enum { READ_SITE = 0x70, SLEEP_SITE = 0x90 };
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint32_t i = 0; i < 3; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 0);
	struct event wait = { .time_ns = 100, .tid = MAIN, .kind = EVENT_WAIT };
	wait.pid = MAIN;
	for (uint32_t i = 0; i < 3; i++) {
		wait.tid = MAIN + i;
		wait.what = i < 2 ? WHAT_IO : WHAT_SLEEP;
		wait.site = i < 2 ? READ_SITE : SLEEP_SITE;
		send(a, wait);
	}
	at(a, 400, MAIN, EVENT_PASS, WHAT_IO, 0);
	wait.time_ns = 500;
	wait.tid = MAIN;
	wait.what = WHAT_IO;
	wait.site = READ_SITE;
	send(a, wait);
	at(a, 1000, MAIN + 1, EVENT_PASS, WHAT_IO, 0);
	wait.time_ns = 1100;
	wait.tid = MAIN + 1;
	send(a, wait);
	at(a, 1150, MAIN + 2, EVENT_PASS, WHAT_SLEEP, 0);
	AUTO(results) struct results *r = finish(a, 1200);
	assert_int_equal(r->idle_ns, 300 + 500 + 50);
	assert_int_equal(r->idle_count, 2);
	assert_int_equal(r->idles[0].what, WHAT_IO);
	assert_int_equal(r->idles[0].site, READ_SITE);
	assert_int_equal(r->idles[0].idle_ns, 800);
	assert_int_equal(r->idles[0].count, 2);
	assert_int_equal(r->idles[1].site, SLEEP_SITE);
	assert_int_equal(r->idles[1].idle_ns, 50);
}

static void a_window_counts_only_what_is_inside(void **state)
{
	(void)state;
	struct analysis_opts opts = { .window_from_ns = 300, .window_to_ns = 600 };
	AUTO(analysis) struct analysis *a = new_analysis(opts);
	at(a, 1000, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 1000, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 1400, MAIN, EVENT_WAIT, WHAT_MUTEX, 9);
	at(a, 1900, MAIN, EVENT_PASS, WHAT_MUTEX, 9);
	AUTO(results) struct results *r = finish(a, 2500);
	assert_int_equal(r->elapsed_ns, 300);
	assert_int_equal(thread_of(r, MAIN)->criticality_ns, 50);
	assert_int_equal(thread_of(r, MAIN + 1)->criticality_ns, 250);
	assert_exact(r);
}

/* Two threads from 0 on, the second of which has no core. */
static struct analysis *begin_without_a_core(struct analysis_opts opts)
{
	struct analysis *a = new_analysis(opts);
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN + 1, EVENT_PREEMPT, WHAT_NONE, 0);
	return a;
}

static void a_thread_without_a_core_is_active_unless_asked(void **state)
{
	(void)state;
	for (unsigned needs_core = 0; needs_core < 2; needs_core++) {
		AUTO(analysis)
		struct analysis *a =
			begin_without_a_core((struct analysis_opts){ .needs_core = needs_core });
		at(a, 800, MAIN + 1, EVENT_RUN, WHAT_NONE, 0);
		at(a, 800, MAIN, EVENT_PREEMPT, WHAT_NONE, 0);
		AUTO(results) struct results *r = finish(a, 1000);
		assert_int_equal(thread_of(r, MAIN)->criticality_ns, needs_core ? 800 : 500);
		assert_exact(r);
	}
}

/* Two cores, of which others have one for the first 600 ns; then a thread waits for the other. */
static void cores_that_others_had_are_known(void **state)
{
	(void)state;
	for (unsigned needs_core = 0; needs_core < 2; needs_core++) {
		AUTO(analysis)
		struct analysis *a = begin_without_a_core(
			(struct analysis_opts){ .needs_core = needs_core, .cores = 2 });
		at(a, 600, MAIN + 1, EVENT_RUN, WHAT_NONE, 0);
		at(a, 800, MAIN, EVENT_WAIT, WHAT_MUTEX, 1);
		AUTO(results) struct results *r = finish(a, 1000);
		assert_int_equal(r->wanted_core_ns, 1800);
		assert_int_equal(r->denied_core_ns, 600);
	}
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	AUTO(results) struct results *r = finish(a, 1000);
	assert_int_equal(r->wanted_core_ns, 0); /* nobody says who had a core */
}

static void a_reused_thread_id_is_another_thread(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint64_t i = 0; i < 1000; i++) {
		at(a, 10 * i, MAIN, EVENT_THREAD_START, WHAT_NONE, 77);
		at(a, 10 * i + 6, MAIN, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	}
	AUTO(results) struct results *r = finish(a, 10000);
	assert_int_equal(r->thread_count, 1000);
	assert_int_equal(r->live_max, 1);
	assert_exact(r);
	assert_int_equal(results_merge(r), 0);
	assert_int_equal(r->group_count, 1);
	assert_int_equal(r->groups[0].count, 1000);
	assert_int_equal(r->groups[0].criticality_ns, 6000);
}

/* Names, locks, the strip's bins, findings. */
static struct results *named_results(void)
{
	struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	send(a, (struct event){ .tid = MAIN + 1,
			.kind = EVENT_NAME,
			.what = WHAT_THREAD,
			.object = MAIN + 1,
			.text = "worker" });
	at(a, 0, MAIN, EVENT_PASS, WHAT_MUTEX, 7);
	at(a, MS, MAIN + 1, EVENT_WAIT, WHAT_MUTEX, 7);
	at(a, 5 * MS, MAIN, EVENT_RELEASE, WHAT_MUTEX, 7);
	flagged(a, 5 * MS, MAIN + 1, EVENT_PASS, WHAT_MUTEX, 7, EVENT_WAITED);
	struct results *results = finish(a, 9 * MS);
	analysis_free(a);
	return results;
}

static void results_are_the_same_after_packing(void **state)
{
	(void)state;
	AUTO(results) struct results *r = named_results();
	AUTO(results) struct results *same = NULL;
	AUTO_RELEASE(strbuf) struct strbuf packed = { 0 };
	assert_int_equal(results_pack(r, &packed), 0);
	assert_int_equal(results_unpack(packed.text, packed.length, &same), 0);
	assert_int_equal(same->elapsed_ns, 9 * MS);
	assert_int_equal(same->thread_count, 2);
	assert_string_equal(thread_of(same, MAIN + 1)->name, "worker");
	assert_null(thread_of(same, MAIN)->name);
	for (uint32_t bin = 0; bin < r->bin_count; bin++)
		assert_int_equal(thread_bin_ns(thread_of(same, MAIN), bin),
			thread_bin_ns(thread_of(r, MAIN), bin));
	assert_int_equal(same->lock_count, r->lock_count);
	assert_memory_equal(same->findings, r->findings, r->finding_count * sizeof *r->findings);
	for (size_t cut = 0; cut < packed.length; cut++) {
		struct results *part = NULL;
		assert_int_equal(results_unpack(packed.text, cut, &part), -ENOMEM);
		assert_null(part);
	}
}

/* Two threads do nothing but take turns at a lock; 20 wait for something that never comes, until the program ends. */
static void threads_on_standby_hide_no_lock(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	for (uint32_t i = 0; i < 22; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 1);
	for (uint32_t i = 2; i < 22; i++)
		at(a, US, MAIN + i, EVENT_WAIT, WHAT_COND, 7);
	at(a, US, MAIN, EVENT_PASS, WHAT_MUTEX, 5);
	at(a, US, MAIN + 1, EVENT_WAIT, WHAT_MUTEX, 5);
	uint64_t now = 0;
	for (uint32_t k = 0; k < 1000; k++) {
		uint32_t holder = MAIN + k % 2, next = MAIN + !(k % 2);
		now += MS;
		at(a, now, holder, EVENT_RELEASE, WHAT_MUTEX, 5);
		at(a, now, next, EVENT_WOKEN, WHAT_MUTEX, 5);
		flagged(a, now, next, EVENT_PASS, WHAT_MUTEX, 5, EVENT_WAITED);
		at(a, now, holder, EVENT_WAIT, WHAT_MUTEX, 5);
	}
	for (uint32_t i = 2; i < 22; i++)
		flagged(a, now, MAIN + i, EVENT_PASS, WHAT_COND, 7, EVENT_WAITED);
	AUTO(results) struct results *r = finish(a, now);
	const struct result_lock *lock = &r->locks[r->findings[0].lock];
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_int_equal(lock->address, 5);
	/* One of two works, but at first, when nobody knows yet who is on standby. */
	assert_in_range(lock->loss_ns, 440 * MS, 500 * MS);
	for (size_t i = 0; i < r->lock_count; i++)
		if (r->locks[i].address == 7)
			assert_true(r->locks[i].loss_ns < 150 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figure_2_of_the_paper_has_its_numbers),
		cmocka_unit_test(random_timelines_agree_with_equation_1_and_sum_exactly),
		cmocka_unit_test(senseless_timelines_keep_the_sums),
		cmocka_unit_test(the_order_of_simultaneous_events_does_not_matter),
		cmocka_unit_test(time_in_which_all_wait_is_idle),
		cmocka_unit_test(idle_time_is_ended_by_who_goes_on_first),
		cmocka_unit_test(idle_time_goes_to_the_wait_that_ends_it),
		cmocka_unit_test(a_window_counts_only_what_is_inside),
		cmocka_unit_test(a_thread_without_a_core_is_active_unless_asked),
		cmocka_unit_test(cores_that_others_had_are_known),
		cmocka_unit_test(a_reused_thread_id_is_another_thread),
		cmocka_unit_test(results_are_the_same_after_packing),
		cmocka_unit_test(threads_on_standby_hide_no_lock),
	};
	return cmocka_run_group_tests_name("criticality", tests, NULL, NULL);
}
