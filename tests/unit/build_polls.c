/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of threads that look again and again, and of a workload that changes while it is recorded. */
#include "build_script.h"

enum {
	LOOK = 4,
	PUT = 6,
	CLOSE = 8,
	PAUSE_SITE = 41,
	NAP_SITE = 42,
	BEGIN_SITE = 43,
	CONDITION = 300
};

static void sleeps(struct script *s, uint32_t tid, uint64_t site, uint64_t ns)
{
	op(s, tid, EVENT_WAIT, WHAT_SLEEP, 0, site);
	s->now_ns += ns;
	op(s, tid, EVENT_PASS, WHAT_SLEEP, 0, site);
}

static size_t count_ops(const struct model *model, size_t group, enum model_op wanted)
{
	size_t count = 0;
	for (size_t i = 0; i < model->groups[group].fragment_count; i++)
		count += model->groups[group].fragments[i].op == wanted;
	return count;
}

static double run_time(struct model *model, double workers)
{
	struct model_fit fit;
	uint32_t parameter = model_find_parameter(model, "workers");
	assert_int_not_equal(parameter, MODEL_NONE);
	model->parameters[parameter].value = workers;
	assert_int_equal(model_fit_run(model, &fit), 0);
	if (!fit.is_known)
		fail_msg("%s", fit.why);
	return fit.simulated_s;
}

/* Main sleeps while two workers, whose loops have 20 turns of 0.1 ms, have not ended; or sleeps in vain after that. */
static struct model *wait_by_sleeping(int pauses_after)
{
	struct script s = begin(2);
	for (int i = 0; i < 20; i++) {
		op(&s, MAIN, EVENT_WAIT, WHAT_SLEEP, 0, PAUSE_SITE);
		for (uint32_t tid = 1; tid <= 2; tid++) {
			work(&s, tid, 100000);
			locked(&s, tid, LOCK, LOOK);
		}
		s.now_ns += 100000;
		if (i == 19)
			for (uint32_t tid = 1; tid <= 2; tid++)
				op(&s, tid, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
		op(&s, MAIN, EVENT_PASS, WHAT_SLEEP, 0, PAUSE_SITE);
	}
	for (int i = 0; i < pauses_after; i++)
		sleeps(&s, MAIN, PAUSE_SITE, 100000);
	return finish(&s, 0);
}

static void who_sleeps_until_others_have_ended_joins_them(void **state)
{
	(void)state;
	AUTO(model) struct model *model = wait_by_sleeping(0);
	assert_int_equal(count_ops(model, 0, MODEL_JOIN), 1);
	assert_int_equal(count_ops(model, 0, MODEL_LOOP), 0);
	double two = run_time(model, 2), four = run_time(model, 4);
	assert_true(four < 0.7 * two);
}

static void who_goes_on_sleeping_does_so_anyway(void **state)
{
	(void)state;
	AUTO(model) struct model *model = wait_by_sleeping(20);
	assert_int_equal(count_ops(model, 0, MODEL_LOOP), 1); /* as often as recorded */
}

static void join(struct script *s, enum event_kind kind)
{
	send(s, (struct event){ .tid = MAIN,
			.kind = (uint8_t)kind,
			.what = WHAT_JOIN,
			.flags = kind == EVENT_PASS ? EVENT_WAITED : 0,
			.site = LOOK,
			.value = 1 });
}

/* A thread sleeps again and again; main, which works for 3 ms, joins it after so many sleeps. */
static struct model *tick(int ticks, int joined_after)
{
	struct script s = begin(1);
	work(&s, MAIN, 3000000);
	for (int i = 0; i < ticks; i++) {
		if (i == joined_after)
			join(&s, EVENT_WAIT);
		sleeps(&s, 1, NAP_SITE, 100000);
	}
	op(&s, 1, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
	join(&s, EVENT_PASS);
	return finish(&s, 0);
}

static void who_ticks_until_joined_has_no_end(void **state)
{
	(void)state;
	AUTO(model) struct model *told = tick(30, 29);
	assert_int_equal(count_ops(told, 1, MODEL_LOOP), 0);
	assert_int_equal(count_ops(told, 0, MODEL_JOIN), 0);
	AUTO(model) struct model *counts = tick(30, 0);
	assert_int_equal(count_ops(counts, 1, MODEL_LOOP), 1);
	assert_int_equal(count_ops(counts, 0, MODEL_JOIN), 1);
	AUTO(model) struct model *few = tick(10, 9);
	assert_int_equal(count_ops(few, 1, MODEL_LOOP), 1);
	assert_int_equal(count_ops(few, 0, MODEL_JOIN), 1);
}

static void implied(struct script *s, enum event_kind kind)
{
	send(s, (struct event){ .tid = 1,
			.kind = (uint8_t)kind,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.site = NAP_SITE,
			.flags = EVENT_IMPLICIT });
}

static void waits_for(struct script *s, bool is_told)
{
	struct event wait = { .tid = 1,
		.kind = EVENT_WAIT,
		.what = WHAT_COND,
		.object = CONDITION,
		.site = NAP_SITE,
		.value = LOCK };
	implied(s, EVENT_RELEASE);
	send(s, wait);
	if (is_told) {
		op(s, MAIN, EVENT_PASS, WHAT_MUTEX, LOCK, PUT);
		op(s, MAIN, EVENT_RELEASE, WHAT_COND, CONDITION, PUT);
		op(s, MAIN, EVENT_RELEASE, WHAT_MUTEX, LOCK, PUT);
	}
	s->now_ns += 100000;
	wait.kind = EVENT_PASS;
	wait.flags = EVENT_WAITED | (is_told ? 0 : EVENT_TIMED_OUT);
	send(s, wait);
	implied(s, EVENT_PASS);
}

/* The same in waits under a lock, one of which main ends by a signal; it joins the thread then, or after the last. */
static struct model *tick_until_told(int ticks, int told_at)
{
	struct script s = begin(1);
	work(&s, MAIN, 3000000);
	op(&s, 1, EVENT_PASS, WHAT_MUTEX, LOCK, LOOK);
	for (int i = 0; i < ticks; i++) {
		waits_for(&s, i == told_at);
		work(&s, 1, 1000);
		if (i + 1 == ticks)
			join(&s, EVENT_WAIT);
	}
	op(&s, 1, EVENT_RELEASE, WHAT_MUTEX, LOCK, LOOK);
	op(&s, 1, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
	join(&s, EVENT_PASS);
	return finish(&s, 0);
}

static void who_waits_until_told_to_end_has_no_end(void **state)
{
	(void)state;
	AUTO(model) struct model *told = tick_until_told(30, 29);
	assert_int_equal(count_ops(told, 1, MODEL_LOOP), 0);
	assert_int_equal(count_ops(told, 1, MODEL_GET), 0);
	assert_int_equal(count_ops(told, 0, MODEL_JOIN), 0);
	AUTO(model) struct model *is_told_more = tick_until_told(30, 10);
	assert_int_equal(count_ops(is_told_more, 0, MODEL_JOIN), 1);
}

/*
 * Main puts an item each ms, 60 times, and tells the end; two workers take them, each for 3 ms, and sleep for 1 ms if there is none.
 * The end comes as another section at a place of its own.
 */
static struct model *look_for_items(bool are_counted)
{
	struct script s = begin(2);
	int items = 0, put = 0;
	uint64_t free_at[3] = { 0 };
	for (int ms = 0; ms < 100; ms++) {
		uint64_t at = (uint64_t)(ms + 1) * 1000000;
		if (put < 60) {
			locked(&s, MAIN, LOCK, PUT);
			items += are_counted;
			put++;
		} else if (put == 60) {
			locked(&s, MAIN, LOCK, CLOSE);
			put++;
		}
		for (uint32_t tid = 1; tid <= 2; tid++) {
			if (free_at[tid] > at)
				continue;
			if (free_at[tid] > 0)
				op(&s, tid, EVENT_PASS, WHAT_SLEEP, 0,
					free_at[tid] % 2 ? NAP_SITE : PAUSE_SITE);
			bool takes = are_counted ? items > 0 : (ms * 7 + (int)tid) % 3 == 0;
			locked(&s, tid, LOCK, LOOK);
			if (!takes && put > 60 && ms > 95) {
				free_at[tid] = UINT64_MAX;
				continue;
			}
			items -= takes && are_counted;
			free_at[tid] = takes ? at + 2500001 : at + 500000;
			op(&s, tid, EVENT_WAIT, WHAT_SLEEP, 0, takes ? NAP_SITE : PAUSE_SITE);
		}
		s.now_ns = at + 1000000;
	}
	return finish(&s, 2);
}

static void who_sleeps_when_there_is_nothing_takes_items(void **state)
{
	(void)state;
	AUTO(model) struct model *model = look_for_items(true);
	assert_true(count_ops(model, 0, MODEL_PUT) > 0);
	assert_true(count_ops(model, 1, MODEL_TRY_GET) > 0);
	double two = run_time(model, 2), one = run_time(model, 1);
	assert_true(one > 1.5 * two);
}

/* Three workers take one of two slots, 40 times in all, for 3 ms, and sleep for 1 ms if both are taken; then they give it back. */
static struct model *share_slots(void)
{
	struct script s = begin(3);
	int slots = 2, left = 40, working = 3;
	uint64_t free_at[4] = { 0 };
	bool has_slot[4] = { false };
	for (int ms = 0; working > 0; ms++) {
		uint64_t at = (uint64_t)(ms + 1) * 1000000;
		for (uint32_t tid = 1; tid <= 3; tid++) {
			if (free_at[tid] > at)
				continue;
			if (free_at[tid] > 0)
				op(&s, tid, EVENT_PASS, WHAT_SLEEP, 0,
					has_slot[tid] ? NAP_SITE : PAUSE_SITE);
			if (has_slot[tid]) {
				locked(&s, tid, LOCK, PUT);
				slots++;
			}
			if (left == 0 && has_slot[tid]) {
				op(&s, tid, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
				free_at[tid] = UINT64_MAX;
				working--;
				continue;
			}
			locked(&s, tid, LOCK, LOOK);
			has_slot[tid] = slots > 0;
			slots -= has_slot[tid];
			left -= has_slot[tid] && left > 0;
			free_at[tid] = at + (has_slot[tid] ? 2500000 : 500000);
			op(&s, tid, EVENT_WAIT, WHAT_SLEEP, 0,
				has_slot[tid] ? NAP_SITE : PAUSE_SITE);
		}
		s.now_ns = at + 1000000;
	}
	return finish(&s, 3);
}

static void who_sleeps_while_slots_are_taken_had_some_at_first(void **state)
{
	(void)state;
	AUTO(model) struct model *model = share_slots();
	assert_true(count_ops(model, 1, MODEL_TRY_GET) > 0);
	uint32_t slots = MODEL_NONE;
	for (uint32_t i = 0; i < model->parameter_count; i++)
		if (strstr(model->parameters[i].name, "_initial"))
			slots = i;
	assert_int_not_equal(slots, MODEL_NONE);
	assert_true(model->parameters[slots].value == 2);
	double two = run_time(model, 3);
	model->parameters[slots].value = 1;
	double one = run_time(model, 3);
	assert_true(one > 1.7 * two);
}

static void sleeps_that_items_do_not_explain_stay(void **state)
{
	(void)state;
	AUTO(model) struct model *model = look_for_items(false);
	assert_int_equal(count_ops(model, 0, MODEL_PUT), 0);
}

/* One worker gets 400 items of which those of every other of the run's `parts` may take longer. */
static struct model *items_of(uint64_t first_ns, uint64_t second_ns, int parts)
{
	struct script s = begin(1);
	for (int i = 0; i < 400; i++) {
		op(&s, MAIN, EVENT_RELEASE, WHAT_QUEUE, 500, PUT);
		op(&s, 1, EVENT_PASS, WHAT_QUEUE, 500, LOOK);
		sleeps(&s, 1, NAP_SITE,
			(i * parts / 400 % 2 ? second_ns : first_ns) + (uint64_t)(i % 7) * 1000);
	}
	return finish(&s, 1);
}

static void a_workload_that_changes_is_told(void **state)
{
	(void)state;
	AUTO(model) struct model *steady = items_of(50000, 50000, 2);
	AUTO(model) struct model *mixed = items_of(40000, 80000, 400);
	AUTO(model) struct model *changed = items_of(40000, 80000, 2);
	AUTO(model) struct model *in_phases = items_of(40000, 80000, 16);
	assert_false(has_note(steady, "changed while it was recorded"));
	assert_false(has_note(steady, "at some times") || has_note(mixed, "at some times"));
	assert_true(has_note(changed, "changed while it was recorded"));
	assert_true(has_note(in_phases, "at some times"));
}

/* Requests that come alone or, in equal parts of the run, in bursts; 400 in all. */
static struct model *requests_at(uint64_t first_ns, uint64_t second_ns, int parts)
{
	struct script s = begin(0);
	uint64_t random = 1;
	for (int i = 0; i < 400; i++) {
		random = random * 6364136223846793005U + 1442695040888963407U;
		uint64_t mean_ns = i * parts / 400 % 2 ? second_ns : first_ns;
		op(&s, MAIN, EVENT_WAIT, WHAT_IO, 0, BEGIN_SITE);
		s.now_ns += (uint64_t)((double)mean_ns *
				       -log(((double)(random >> 33) + 1) / 2147483649.0));
		op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, BEGIN_SITE);
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_REQUEST_BEGIN,
				 .value = 1 + (uint64_t)i });
		send(&s,
			(struct event){
				.tid = MAIN, .kind = EVENT_REQUEST_END, .value = 1 + (uint64_t)i });
	}
	return finish(&s, 0);
}

static void arrivals_that_change_or_come_in_bursts_are_told(void **state)
{
	(void)state;
	AUTO(model) struct model *steady = requests_at(100000, 100000, 2);
	AUTO(model) struct model *faster = requests_at(100000, 40000, 2);
	AUTO(model) struct model *bursty = requests_at(300000, 10000, 20);
	assert_false(has_note(steady, "requests came") || has_note(steady, "changed"));
	assert_true(has_note(faster, "more requests came"));
	assert_true(has_note(bursty, "bursts"));
}

/* Three threads begin 200 requests each, and one of them takes half as long for it as the others. */
static void who_has_made_its_requests_changes_no_load(void **state)
{
	(void)state;
	struct script s = begin(3);
	uint64_t number = 0;
	for (int i = 0; i < 400; i++) {
		s.now_ns += 100000;
		for (uint32_t tid = 1; tid <= 3; tid++) {
			if (tid == 1 ? i >= 200 : i % 2)
				continue;
			sleeps(&s, tid, NAP_SITE, 1000);
			send(&s, (struct event){ .tid = tid,
					 .kind = EVENT_REQUEST_BEGIN,
					 .value = ++number });
			send(&s, (struct event){
					 .tid = tid, .kind = EVENT_REQUEST_END, .value = number });
		}
	}
	AUTO(model) struct model *model = finish(&s, 3);
	assert_false(has_note(model, "fewer requests") || has_note(model, "bursts"));
}

/* A load that the program makes for itself: it begins a request after each sleep. */
static void who_begins_requests_after_sleeps_has_a_rate(void **state)
{
	(void)state;
	struct script s = begin(1);
	for (int i = 0; i < 60; i++) {
		sleeps(&s, MAIN, NAP_SITE, 200000);
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_REQUEST_BEGIN,
				 .value = 1 + (uint64_t)i });
		op(&s, MAIN, EVENT_RELEASE, WHAT_QUEUE, 500, PUT);
		op(&s, 1, EVENT_PASS, WHAT_QUEUE, 500, LOOK);
		send(&s, (struct event){
				 .tid = 1, .kind = EVENT_REQUEST_END, .value = 1 + (uint64_t)i });
	}
	AUTO(model) struct model *model = finish(&s, 1);
	uint32_t rate = model_find_parameter(model, "rate");
	assert_int_not_equal(rate, MODEL_NONE);
	struct model_fit fit;
	double recorded = model->parameters[rate].value;
	assert_int_equal(model_fit_run(model, &fit), 0);
	double slow_s = fit.simulated_s;
	model->parameters[rate].value = recorded * 2;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fit.simulated_s < 0.6 * slow_s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_sleeps_until_others_have_ended_joins_them),
		cmocka_unit_test(who_goes_on_sleeping_does_so_anyway),
		cmocka_unit_test(who_ticks_until_joined_has_no_end),
		cmocka_unit_test(who_waits_until_told_to_end_has_no_end),
		cmocka_unit_test(who_sleeps_when_there_is_nothing_takes_items),
		cmocka_unit_test(who_sleeps_while_slots_are_taken_had_some_at_first),
		cmocka_unit_test(sleeps_that_items_do_not_explain_stay),
		cmocka_unit_test(a_workload_that_changes_is_told),
		cmocka_unit_test(arrivals_that_change_or_come_in_bursts_are_told),
		cmocka_unit_test(who_begins_requests_after_sleeps_has_a_rate),
		cmocka_unit_test(who_has_made_its_requests_changes_no_load),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
