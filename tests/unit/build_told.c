/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits that no meaning explains: threads stay in step by the signals that ended them. */
#include "build_script.h"

enum { CONDITION = 300, TELLER = 1, ROUNDS = 60 };

static uint32_t next(uint32_t *random)
{
	return (*random = *random * 1103515245 + 12345) >> 16;
}

static void turn(struct script *s, uint32_t tid, uint64_t site)
{
	work(s, tid, 20000);
	locked(s, tid, LOCK, site);
}

static void waits_for(struct script *s, uint32_t tid, uint64_t cond, uint64_t site)
{
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_RELEASE,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.flags = EVENT_IMPLICIT });
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_WAIT,
			.what = WHAT_COND,
			.object = cond,
			.site = site,
			.value = LOCK });
}

/* told_ns 0: its time is over. */
static void goes_on(struct script *s, uint32_t tid, uint64_t cond, uint64_t site, uint64_t told_ns)
{
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_PASS,
			.what = WHAT_COND,
			.object = cond,
			.site = site,
			.flags = (uint16_t)(EVENT_WAITED | (told_ns ? 0 : EVENT_TIMED_OUT)),
			.woken_ns = told_ns });
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_PASS,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.site = site,
			.flags = EVENT_IMPLICIT });
	op(s, tid, EVENT_RELEASE, WHAT_MUTEX, LOCK, site + 1);
}

static void wait_begins(struct script *s, uint32_t tid)
{
	op(s, tid, EVENT_PASS, WHAT_MUTEX, LOCK, 20);
	waits_for(s, tid, CONDITION, 22);
}

static void wait_ends(struct script *s, uint32_t tid, uint64_t told_ns)
{
	goes_on(s, tid, CONDITION, 22, told_ns);
}

static uint64_t tell_with(struct script *s, uint16_t flags)
{
	op(s, TELLER, EVENT_PASS, WHAT_MUTEX, LOCK, 30);
	send(s, (struct event){ .tid = TELLER,
			.kind = EVENT_RELEASE,
			.what = WHAT_COND,
			.object = CONDITION,
			.site = 31,
			.flags = flags });
	uint64_t told_ns = s->now_ns;
	op(s, TELLER, EVENT_RELEASE, WHAT_MUTEX, LOCK, 32);
	return told_ns;
}

static uint64_t tell(struct script *s)
{
	return tell_with(s, 0);
}

static uint64_t tell_all(struct script *s)
{
	return tell_with(s, EVENT_ALL);
}

/* Main waits in a section, and is told in one after `turns` that tell nothing. */
static void wait_and_tell(struct script *s, uint32_t turns, uint64_t woken_after_ns)
{
	wait_begins(s, MAIN);
	for (; turns > 0; turns--)
		turn(s, TELLER, 30);
	uint64_t told_ns = tell(s);
	wait_ends(s, MAIN, told_ns + woken_after_ns);
}

/* Main waits twice or more, until it is told; in between it shows that it is there, or only looks. */
static struct model *wait_again(bool shows)
{
	struct script s = begin_with(&(struct build_opts){ .name = "test", .cores = 4 }, 1);
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k <= i % 3; k++) {
			wait_begins(&s, MAIN);
			work(&s, TELLER, 10000000);
			wait_ends(&s, MAIN, 0);
			if (shows)
				op(&s, MAIN, EVENT_RELEASE, WHAT_SEM, 900, 40);
		}
		wait_and_tell(&s, 0, 0);
	}
	return finish(&s, 1);
}

static void a_wait_that_is_begun_again_lasts_until_it_is_told(void **state)
{
	(void)state;
	AUTO(model) struct model *patient = wait_again(false);
	AUTO(model) struct model *busy = wait_again(true);
	assert_null(fragment_of(patient, 0, MODEL_SLEEP));
	assert_non_null(fragment_of(patient, 0, MODEL_GET));
	assert_non_null(fragment_of(busy, 0, MODEL_SLEEP));
}

/* A queue, in which the consumer waits for each item. */
static struct model *consumer(enum build_conds conds)
{
	struct script s =
		begin_with(&(struct build_opts){ .name = "test", .cores = 4, .conds = conds }, 1);
	for (int i = 0; i < ROUNDS; i++)
		wait_and_tell(&s, 0, 0);
	return finish(&s, 1);
}

static void a_meaning_can_be_left_aside(void **state)
{
	(void)state;
	AUTO(model) struct model *by_meaning = consumer(BUILD_BY_MEANING);
	AUTO(model) struct model *by_signals = consumer(BUILD_BY_SIGNALS);
	const struct model_fragment *get = fragment_of(by_meaning, 0, MODEL_GET);
	assert_non_null(get);
	assert_false(by_meaning->objects[get->object].are_signals);
	get = fragment_of(by_signals, 0, MODEL_GET);
	assert_non_null(get);
	assert_true(by_signals->objects[get->object].are_signals);
	struct model_fit fit;
	assert_int_equal(model_fit_run(by_signals, &fit), 0);
	assert_true(fit.is_known);
}

/* A queue of which two get, each waiting once: now and then another one takes what the first was woken for. */
static struct model *steal(enum build_conds conds)
{
	struct script s =
		begin_with(&(struct build_opts){ .name = "test", .cores = 4, .conds = conds }, 2);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		uint32_t waiter = i % 3 ? MAIN : 2;
		wait_begins(&s, waiter);
		uint64_t told_ns = tell(&s);
		if (i % 25 == 0) /* in vain: who waited comes back in a later round */
			locked(&s, waiter == 2 ? MAIN : 2, LOCK, 20);
		wait_ends(&s, waiter, told_ns);
	}
	return finish(&s, 2);
}

static void who_waited_in_vain_waited_for_the_signal_all_the_same(void **state)
{
	(void)state;
	AUTO(model) struct model *by_meaning = steal(BUILD_BY_MEANING);
	AUTO(model) struct model *by_signals = steal(BUILD_BY_SIGNALS);
	assert_false(has_note(by_meaning, "meaning was not found"));
	assert_true(has_note(by_signals, "meaning was not found (60)")); /* ROUNDS */
}

/* Of somebody who waits now and then, and always when he comes: perhaps he looked before, where nobody sees it. */
static void a_slow_path_can_be_left_out(void **state)
{
	(void)state;
	AUTO(model) struct model *without = consumer(BUILD_WITHOUT_SLOW_PATH);
	assert_null(fragment_of(without, 0, MODEL_GET));
	assert_null(fragment_of(without, 1, MODEL_PUT));
	assert_null(fragment_of(without, 0, MODEL_SLEEP));
	assert_true(has_note(without, "at which all who came waited (1)"));
}

static struct model *told(uint64_t woken_after_ns)
{
	struct script s = begin(1);
	uint32_t random = 1;
	for (int i = 0; i < ROUNDS; i++) {
		for (uint32_t j = next(&random) % 4; j > 0; j--)
			turn(&s, MAIN, 20);
		wait_and_tell(&s, next(&random) % 3, woken_after_ns);
		for (uint32_t j = next(&random) % 3; j > 0; j--)
			turn(&s, TELLER, 30);
	}
	return finish(&s, 1);
}

static void who_is_told_waits_for_that(void **state)
{
	(void)state;
	AUTO(model) struct model *model = told(0);
	const struct model_fragment *wait = fragment_of(model, 0, MODEL_GET);
	const struct model_fragment *signal = fragment_of(model, 1, MODEL_PUT);
	assert_non_null(wait);
	assert_non_null(signal);
	assert_int_equal(wait->object, signal->object);
	assert_true(model->objects[wait->object].are_signals);
	assert_null(fragment_of(model, 0, MODEL_SLEEP));
	assert_true(has_note(model, "wait for the signals"));
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

/* As when what ended them was not seen. */
static void other_waits_sleep(void **state)
{
	(void)state;
	AUTO(model) struct model *model = told(1);
	assert_null(fragment_of(model, 0, MODEL_GET));
	assert_non_null(fragment_of(model, 0, MODEL_SLEEP));
	assert_true(has_note(model, "sleep as long as recorded"));
}

static void at_futex(struct script *s, enum event_kind kind, uint64_t waker, uint16_t flags)
{
	send(s, (struct event){ .tid = MAIN,
			.kind = (uint8_t)kind,
			.what = WHAT_FUTEX,
			.flags = flags,
			.object = 400,
			.site = kind == EVENT_WOKEN ? 0 : 24,
			.value = waker,
			.woken_ns = kind == EVENT_PASS ? s->now_ns : 0 });
}

/* Main waits for words of the program's own, of which only the kernel's calls are seen. */
static void who_is_woken_at_a_futex_waits_for_that(void **state)
{
	(void)state;
	struct script s = begin(1);
	for (int i = 0; i < ROUNDS; i++) {
		turn(&s, MAIN, 20);
		at_futex(&s, EVENT_WAIT, 0, 0);
		turn(&s, TELLER, 30);
		work(&s, TELLER, 5000);
		s.now_ns += 5000;
		at_futex(&s, EVENT_WOKEN, TELLER, 0);
		at_futex(&s, EVENT_PASS, TELLER, EVENT_WAITED);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	const struct model_fragment *wait = fragment_of(model, 0, MODEL_GET);
	const struct model_fragment *wake = fragment_of(model, 1, MODEL_PUT);
	assert_non_null(wait);
	assert_non_null(wake);
	assert_int_equal(wait->object, wake->object);
	assert_true(model->objects[wait->object].are_signals);
	assert_null(fragment_of(model, 0, MODEL_SLEEP));
	assert_true(has_note(model, "wait for those who ended them"));
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

enum { GETTER = 1, ITEMS = 40, ROOM = 90, PUT = 60, GET = 70, FIRST = 200, SECOND = 400 };

static void mutex(
	struct script *s, uint32_t tid, uint64_t lock, enum event_kind kind, uint64_t site)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_MUTEX,
			.object = lock,
			.site = site,
			.flags = EVENT_IMPLICIT });
}

/* What a thread does from having the lock, or having waited, on. */
static void finish_section(struct script *s, uint32_t tid, uint64_t lock, uint64_t signals)
{
	op(s, tid, EVENT_RELEASE, WHAT_COND, lock + signals, 0);
	op(s, tid, EVENT_RELEASE, WHAT_MUTEX, lock, 0);
}

static void put_or_get(struct script *s, uint32_t tid, uint64_t lock)
{
	op(s, tid, EVENT_PASS, WHAT_MUTEX, lock, tid == MAIN ? PUT : GET);
	finish_section(s, tid, lock, tid == MAIN ? ITEMS : ROOM);
}

/* `tid` waits for the other one. */
static void wait_for_other(struct script *s, uint32_t tid, uint64_t lock)
{
	uint64_t site = tid == MAIN ? PUT : GET, cond = lock + (tid == MAIN ? ROOM : ITEMS);
	op(s, tid, EVENT_PASS, WHAT_MUTEX, lock, site);
	mutex(s, tid, lock, EVENT_RELEASE, site);
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_WAIT,
			.what = WHAT_COND,
			.object = cond,
			.site = site + 1,
			.value = lock });
	put_or_get(s, tid == MAIN ? GETTER : MAIN, lock);
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_PASS,
			.what = WHAT_COND,
			.object = cond,
			.site = site + 1,
			.flags = EVENT_WAITED,
			.woken_ns = s->now_ns });
	mutex(s, tid, lock, EVENT_PASS, site);
	finish_section(s, tid, lock, tid == MAIN ? ITEMS : ROOM);
}

/* Two queues of two places. The second one is never full if `is_guess`. */
static void check_queues(bool is_guess)
{
	struct script s = begin(1);
	for (int i = 0; i < 20; i++)
		for (uint64_t lock = FIRST; lock <= SECOND; lock += SECOND - FIRST) {
			wait_for_other(&s, GETTER, lock);
			if (is_guess && lock == SECOND)
				continue;
			put_or_get(&s, MAIN, lock);
			put_or_get(&s, MAIN, lock);
			wait_for_other(&s, MAIN, lock);
			put_or_get(&s, GETTER, lock);
			put_or_get(&s, GETTER, lock);
		}
	AUTO(model) struct model *model = finish(&s, 1);
	assert_int_equal(has_note(model, "queues that were never full (1)"), is_guess);
}

static void a_capacity_that_was_not_seen_is_said_to_be_a_guess(void **state)
{
	(void)state;
	check_queues(false);
	check_queues(true);
}

/* Two threads work, and are caught where they spin, or wait for a lock that is recorded. */
static struct model *spinning(uint64_t place, bool is_known)
{
	struct script s = begin(2);
	for (int i = 0; i < 20; i++) {
		work(&s, 1, 50000);
		send(&s, (struct event){ .tid = 1, .kind = EVENT_SAMPLE, .site = 0x900 });
		op(&s, 1, EVENT_PASS, WHAT_MUTEX, LOCK, 4);
		if (is_known)
			op(&s, 2, EVENT_WAIT, WHAT_MUTEX, LOCK, 6);
		send(&s, (struct event){
				 .tid = 2, .kind = EVENT_SAMPLE, .site = 0x910, .value = place });
		op(&s, 1, EVENT_RELEASE, WHAT_MUTEX, LOCK, 5);
		work(&s, 2, 50000);
		locked(&s, 2, LOCK, 6);
	}
	return finish(&s, 2);
}

static void spinning_outside_of_what_is_recorded_is_told(void **state)
{
	(void)state;
	AUTO(model) struct model *never = spinning(0, false);
	AUTO(model) struct model *unseen = spinning(0x912, false);
	AUTO(model) struct model *at_lock = spinning(0x912, true);
	assert_false(has_note(never, "threads spun"));
	assert_true(has_note(unseen, "threads spun for 50% of the CPU time (most at 0x912)"));
	assert_false(has_note(at_lock, "threads spun"));
}

/* One time in three it waits with a limit, and goes on without the lock. */
static void a_lock_that_was_not_got_in_time_is_not_held(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 60; i++) {
		work(&s, 1, 20000);
		locked(&s, 1, LOCK, 4);
		work(&s, 2, 20000);
		op(&s, 2, EVENT_WAIT, WHAT_MUTEX, LOCK, 6);
		bool is_late = i % 3 == 0;
		s.now_ns += 50000;
		send(&s, (struct event){ .tid = 2,
				 .kind = EVENT_PASS,
				 .what = WHAT_MUTEX,
				 .object = LOCK,
				 .site = 6,
				 .flags = EVENT_WAITED | (is_late ? EVENT_TIMED_OUT : 0) });
		if (!is_late)
			op(&s, 2, EVENT_RELEASE, WHAT_MUTEX, LOCK, 7);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	assert_true(fabs(fit.simulated_cpu_s / fit.measured_cpu_s - 1) < 0.1);
}

/* After each turn all who wait are told that there is room; somebody does each sixth time. */
static void signals_that_mostly_nobody_waits_for_are_calls(void **state)
{
	(void)state;
	struct script s = begin_with(
		&(struct build_opts){ .name = "test", .cores = 4, .conds = BUILD_BY_CALLS }, 1);
	uint32_t random = 1;
	for (int i = 0; i < 6 * ROUNDS; i++) {
		bool waits = next(&random) % 6 == 0;
		for (uint32_t j = next(&random) % 4; j > 0; j--)
			turn(&s, MAIN, 20);
		if (waits)
			wait_begins(&s, MAIN);
		work(&s, TELLER, 100000);
		uint64_t told_ns = tell_all(&s);
		if (waits)
			wait_ends(&s, MAIN, told_ns);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	const struct model_fragment *wait = fragment_of(model, 0, MODEL_GET);
	const struct model_fragment *signal = fragment_of(model, 1, MODEL_PUT);
	assert_non_null(wait);
	assert_non_null(signal);
	assert_true(model->objects[wait->object].are_calls);
	assert_true(signal->is_for_all);
	assert_int_equal(wait->object, signal->object);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	/* Who waits does so for a round of the teller's, and not until a draw says that he is told. */
	assert_true(fit.simulated_s < 1.2 * 6 * ROUNDS * 100e-6);
}

/* Who writes what others bring says that it has, in the section in which it then waits for more; some wait for that. */
static void who_answers_before_it_waits_for_more_does_so_in_the_model(void **state)
{
	(void)state;
	enum { MORE = 400, BRING = 50, WRITE = 60 };
	struct script s = begin(1);
	uint32_t random = 1;
	op(&s, TELLER, EVENT_PASS, WHAT_MUTEX, LOCK, WRITE);
	waits_for(&s, TELLER, MORE, WRITE + 1);
	for (int i = 0; i < 4 * ROUNDS; i++) {
		bool stays = next(&random) % 3 > 0;
		work(&s, MAIN, 30000);
		op(&s, MAIN, EVENT_PASS, WHAT_MUTEX, LOCK, BRING);
		op(&s, MAIN, EVENT_RELEASE, WHAT_COND, MORE, BRING + 1);
		uint64_t brought_ns = s.now_ns;
		if (stays)
			waits_for(&s, MAIN, CONDITION, BRING + 2);
		else
			op(&s, MAIN, EVENT_RELEASE, WHAT_MUTEX, LOCK, BRING + 3);
		goes_on(&s, TELLER, MORE, WRITE + 1, brought_ns);
		work(&s, TELLER, 100000);
		s.now_ns += 100000;
		op(&s, TELLER, EVENT_PASS, WHAT_MUTEX, LOCK, WRITE);
		op(&s, TELLER, EVENT_RELEASE, WHAT_COND, CONDITION, WRITE + 3);
		uint64_t written_ns = s.now_ns;
		waits_for(&s, TELLER, MORE, WRITE + 1);
		if (stays)
			goes_on(&s, MAIN, CONDITION, BRING + 2, written_ns);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	const struct model_group *teller = &model->groups[1];
	uint32_t answers = 0;
	for (uint32_t i = 0; i < teller->fragment_count; i++) {
		const struct model_fragment *put = &teller->fragments[i];
		if (put->op != MODEL_PUT)
			continue;
		assert_int_equal(teller->fragments[put->edges[0].to].op, MODEL_GET);
		answers++;
	}
	assert_true(answers > 0);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

static uint64_t signal_at(struct script *s, uint32_t tid, uint64_t site)
{
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_RELEASE,
			.what = WHAT_COND,
			.object = CONDITION,
			.site = site,
			.flags = EVENT_ALL });
	return s->now_ns;
}

/*
 * Main waits until two threads that it starts say that they are there, one after the other, and then lets both go on: one condition for
 * both, of which no meaning is found. Who says so does not go on by what it said: then main, or the other one, would wait for ever.
 */
static void who_waits_for_a_start_does_not_start_itself(void **state)
{
	(void)state;
	struct build_opts opts = { .name = "test", .cores = 4, .conds = BUILD_BY_SIGNALS };
	struct script s = begin_with(&opts, 0);
	work(&s, MAIN, 10000);
	start(&s, 1);
	start(&s, 2);
	op(&s, MAIN, EVENT_PASS, WHAT_MUTEX, LOCK, 50);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		waits_for(&s, MAIN, CONDITION, 52);
		s.now_ns += 20000;
		work(&s, tid, 20000);
		op(&s, tid, EVENT_PASS, WHAT_MUTEX, LOCK, 60);
		uint64_t told_ns = signal_at(&s, tid, 61);
		waits_for(&s, tid, CONDITION, 62);
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_PASS,
				 .what = WHAT_COND,
				 .object = CONDITION,
				 .site = 52,
				 .flags = EVENT_WAITED,
				 .woken_ns = told_ns });
	}
	uint64_t told_ns = signal_at(&s, MAIN, 53);
	op(&s, MAIN, EVENT_RELEASE, WHAT_MUTEX, LOCK, 54);
	for (uint32_t tid = 1; tid <= 2; tid++)
		goes_on(&s, tid, CONDITION, 62, told_ns);
	for (uint32_t tid = 1; tid <= 2; tid++)
		work(&s, tid, 900000);
	s.now_ns += 900000;
	AUTO(model) struct model *model = finish(&s, 2);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	assert_true(fabs(fit.simulated_cpu_s / 1850e-6 - 1) < 0.05);
	assert_true(fit.simulated_s < 1.2e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_answers_before_it_waits_for_more_does_so_in_the_model),
		cmocka_unit_test(signals_that_mostly_nobody_waits_for_are_calls),
		cmocka_unit_test(who_is_told_waits_for_that),
		cmocka_unit_test(who_waits_for_a_start_does_not_start_itself),
		cmocka_unit_test(other_waits_sleep),
		cmocka_unit_test(a_wait_that_is_begun_again_lasts_until_it_is_told),
		cmocka_unit_test(a_meaning_can_be_left_aside),
		cmocka_unit_test(a_slow_path_can_be_left_out),
		cmocka_unit_test(who_waited_in_vain_waited_for_the_signal_all_the_same),
		cmocka_unit_test(who_is_woken_at_a_futex_waits_for_that),
		cmocka_unit_test(a_capacity_that_was_not_seen_is_said_to_be_a_guess),
		cmocka_unit_test(spinning_outside_of_what_is_recorded_is_told),
		cmocka_unit_test(a_lock_that_was_not_got_in_time_is_not_held),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
