/* SPDX-License-Identifier: GPL-3.0-or-later */
/* criticality: what a semaphore is used for; timelines made by hand. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/rng.h"
#include "criticality/collect_results.h"
#include "criticality_fixture.h"

#include <math.h>

/*
 * n threads that do nothing but use one of k tokens for 1 ms, in turn: of the n, the k next in turn
 * hold one and the others wait. As a recorder inside the program tells it: nobody is said to be woken.
 */
static struct results *turns_at_tokens(uint32_t threads, uint32_t tokens)
{
	struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint32_t i = 0; i < threads; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 1);
	for (uint32_t i = 0; i < tokens; i++)
		at(a, 0, MAIN + i, EVENT_PASS, WHAT_SEM, 5);
	for (uint32_t i = tokens; i < threads; i++)
		at(a, 0, MAIN + i, EVENT_WAIT, WHAT_SEM, 5);
	uint64_t now = 0;
	for (uint32_t k = 0; k < 60; k++) {
		uint32_t holder = MAIN + k % threads, next = MAIN + (k + tokens) % threads;
		now += MS / tokens;
		at(a, now, holder, EVENT_RELEASE, WHAT_SEM, 5);
		flagged(a, now, next, EVENT_PASS, WHAT_SEM, 5, EVENT_WAITED);
		at(a, now, holder, EVENT_WAIT, WHAT_SEM, 5);
	}
	struct results *results = finish(a, now);
	analysis_free(a);
	return results;
}

static void a_semaphore_posted_by_who_took_it_is_a_lock(void **state)
{
	(void)state;
	AUTO(results) struct results *r = turns_at_tokens(4, 1);
	assert_exact(r);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_int_equal(r->findings[0].lock, 0);
	assert_int_equal(r->findings[0].thread, INDEX_NONE); /* all hold it as long */
	assert_true(r->locks[0].is_held);
	assert_int_equal(r->locks[0].acquisitions, 61);
	assert_int_equal(r->locks[0].held_ns, 60 * MS);
	assert_int_equal(r->locks[0].blame_ns, 60 * MS);
	assert_int_equal(r->locks[0].worst_ns, 15 * MS);
	assert_int_equal(r->locks[0].loss_ns, 45 * MS);
	assert_true(fabs(r->findings[0].bound - 4) < 1e-9);
}

static void one_of_two_tokens_is_a_lock_with_two_holders(void **state)
{
	(void)state;
	AUTO(results) struct results *r = turns_at_tokens(6, 2);
	assert_exact(r);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_int_equal(r->findings[0].lock, 0);
	assert_int_equal(r->findings[0].thread, INDEX_NONE);
	assert_int_equal(r->locks[0].waited_ns, 4 * 30 * MS);
	assert_int_equal(r->locks[0].blame_ns, 30 * MS);
	/* Two of six threads run: each time, half of the blame is each holder's. */
	assert_int_equal(r->locks[0].worst_ns, 5 * MS);
	/* A nanosecond is lost in rounding dt / r. */
	assert_in_range(r->locks[0].loss_ns, 20 * MS - 1, 20 * MS);
}

static void a_token_kept_through_a_sleep_costs_the_idle_time(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint32_t i = 0; i < 3; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 1);
	for (uint32_t i = 0; i < 2; i++) {
		at(a, 0, MAIN + i, EVENT_PASS, WHAT_SEM, 5);
		at(a, 0, MAIN + i, EVENT_WAIT, WHAT_SLEEP, 0);
	}
	at(a, 0, MAIN + 2, EVENT_WAIT, WHAT_SEM, 5);
	at(a, 8 * MS, MAIN, EVENT_PASS, WHAT_SLEEP, 0);
	at(a, 8 * MS, MAIN, EVENT_RELEASE, WHAT_SEM, 5);
	at(a, 8 * MS, MAIN, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	flagged(a, 8 * MS, MAIN + 2, EVENT_PASS, WHAT_SEM, 5, EVENT_WAITED);
	at(a, 8 * MS, MAIN + 2, EVENT_WAIT, WHAT_SLEEP, 0);
	at(a, 8 * MS, MAIN + 1, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	at(a, 16 * MS, MAIN + 2, EVENT_PASS, WHAT_SLEEP, 0);
	at(a, 16 * MS, MAIN + 2, EVENT_RELEASE, WHAT_SEM, 5);
	AUTO(results) struct results *r = finish(a, 16 * MS);
	assert_int_equal(r->locks[0].blame_ns, 8 * MS);
	assert_int_equal(r->locks[0].worst_ns, 4 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	/* Who sleeps for 8 ms with a token does so without. */
	assert_true(fabs(r->findings[0].bound - 2) < 1e-9);
}

/*
 * The producer makes one thing in 4 ms, the consumer uses it in 1 ms. The slots start out as tokens
 * that somebody else puts there, and who takes one never gives the same kind back.
 */
static void a_semaphore_posted_by_others_is_a_signal(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	enum { ITEMS = 5, SLOTS = 6 };
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 1);
	at(a, 0, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 1);
	at(a, 0, MAIN + 1, EVENT_WAIT, WHAT_SEM, ITEMS);
	for (uint64_t i = 1; i <= 20; i++) {
		at(a, 4 * i * MS, MAIN, EVENT_PASS, WHAT_SEM, SLOTS);
		at(a, 4 * i * MS, MAIN, EVENT_RELEASE, WHAT_SEM, ITEMS);
		flagged(a, 4 * i * MS + US, MAIN + 1, EVENT_PASS, WHAT_SEM, ITEMS, EVENT_WAITED);
		at(a, (4 * i + 1) * MS, MAIN + 1, EVENT_RELEASE, WHAT_SEM, SLOTS);
		at(a, (4 * i + 1) * MS, MAIN + 1, EVENT_WAIT, WHAT_SEM, ITEMS);
	}
	AUTO(results) struct results *r = finish(a, 81 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_PIPELINE);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
	assert_int_equal(r->locks[0].address, ITEMS);
	assert_false(r->locks[0].is_held);
	assert_int_equal(r->locks[0].acquisitions, 0);
	assert_int_equal(r->locks[0].blame_ns, (4 + 19 * 3) * MS);
}

/*
 * Who comes waits at a turnstile, which the last one opens; each opens it for the next, and one of them
 * closes it.
 */
static void a_turnstile_that_one_thread_opens_is_a_signal(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	for (uint32_t i = 0; i < 4; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 1);
	for (uint64_t round = 1; round <= 10; round++) {
		for (uint32_t i = 1; i < 4; i++)
			at(a, (10 * round - 9) * MS, MAIN + i, EVENT_WAIT, WHAT_SEM, 5);
		uint64_t now = 10 * round * MS;
		at(a, now, MAIN, EVENT_RELEASE, WHAT_SEM, 5);
		for (uint32_t i = 1; i < 4; i++) {
			flagged(a, now + i * US, MAIN + i, EVENT_PASS, WHAT_SEM, 5, EVENT_WAITED);
			at(a, now + i * US, MAIN + i, EVENT_RELEASE, WHAT_SEM, 5);
		}
		at(a, now + 4 * US, MAIN, EVENT_PASS, WHAT_SEM, 5);
		at(a, now + 4 * US, MAIN, EVENT_RELEASE, WHAT_SEM, 5);
		at(a, now + 4 * US, MAIN + 3, EVENT_PASS, WHAT_SEM, 5);
	}
	AUTO(results) struct results *r = finish(a, 100 * MS + 4 * US);
	assert_false(r->locks[0].is_held);
	assert_int_equal(r->findings[0].kind, FINDING_PIPELINE);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
}

/* A thread that takes from ever more semaphores and gives nothing back. */
static void what_is_never_given_back_is_forgotten(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 1);
	at(a, 0, MAIN, EVENT_PASS, WHAT_MUTEX, 1);
	for (uint64_t i = 1; i <= 1000; i++)
		at(a, i * US, MAIN, EVENT_PASS, WHAT_SEM, 100 + i);
	assert_true(a->blame.threads[0].count < 20);
	at(a, 1001 * US, MAIN, EVENT_RELEASE, WHAT_MUTEX, 1);
	AUTO(results) struct results *r = finish(a, 1001 * US);
	const struct result_lock *mutex = &r->locks[0];
	while (mutex->what != WHAT_MUTEX)
		mutex++;
	assert_int_equal(mutex->held_ns, 1001 * US);
}

/* Whatever they take, give back and wait for: but for idle time that does not divide by the sleepers. */
static void the_holders_shares_add_up_to_the_blame(void **state)
{
	(void)state;
	static const uint8_t kinds[] = { EVENT_WAIT, EVENT_PASS, EVENT_PASS, EVENT_RELEASE,
		EVENT_THREAD_EXIT, EVENT_RUN, EVENT_PREEMPT };
	static const uint8_t whats[] = { WHAT_SEM, WHAT_SEM, WHAT_RWLOCK, WHAT_SLEEP };
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct rng rng;
		rng_init(&rng, seed);
		AUTO(analysis)
		struct analysis *a = new_analysis((struct analysis_opts){ .needs_core = seed % 2 });
		uint64_t now = 0, sum = 0, held = 0;
		for (unsigned k = 0; k < 2000; k++) {
			now += rng_below(&rng, 4000);
			at(a, now, MAIN + (uint32_t)rng_below(&rng, 7),
				(enum event_kind)kinds[rng_below(&rng, ARRAY_SIZE(kinds))],
				(enum event_what)whats[rng_below(&rng, ARRAY_SIZE(whats))],
				rng_below(&rng, 3));
		}
		for (uint32_t i = 0; i < 7; i++)
			at(a, now, MAIN + i, EVENT_THREAD_EXIT, WHAT_NONE, 0);
		const struct blame *blame = &a->blame;
		for (size_t i = 0; i < blame->by_thread.count; i++)
			sum += blame->by_thread.items[i].held_blame;
		for (size_t i = 0; i < blame->object_count; i++) {
			held += blame->objects[i].held_blame;
			assert_int_equal(blame->objects[i].active_holders, 0);
			assert_int_equal(blame->objects[i].blocked_holders, 0);
		}
		assert_true(held > 0);
		assert_in_range(sum, held - 7 * 2000, held);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_semaphore_posted_by_who_took_it_is_a_lock),
		cmocka_unit_test(one_of_two_tokens_is_a_lock_with_two_holders),
		cmocka_unit_test(a_token_kept_through_a_sleep_costs_the_idle_time),
		cmocka_unit_test(a_semaphore_posted_by_others_is_a_signal),
		cmocka_unit_test(a_turnstile_that_one_thread_opens_is_a_signal),
		cmocka_unit_test(what_is_never_given_back_is_forgotten),
		cmocka_unit_test(the_holders_shares_add_up_to_the_blame),
	};
	return cmocka_run_group_tests_name("criticality_semaphores", tests, NULL, NULL);
}
