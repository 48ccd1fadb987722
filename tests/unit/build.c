/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of timelines that are known: what the builder must find in them. */
#include "build_script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void equal_loops_are_a_share_of_the_sum(void **state)
{
	(void)state;
	struct script s = begin(3);
	for (int i = 0; i < 20; i++)
		for (uint32_t tid = 1; tid <= 3; tid++) {
			work(&s, tid, 7000);
			locked(&s, tid, LOCK, 4);
		}
	AUTO(model) struct model *model = finish(&s, 3);
	assert_int_equal(model->group_count, 2);
	const struct model_fragment *loop = fragment_of(model, 1, MODEL_LOOP);
	assert_non_null(loop);
	assert_true(value_with(model, &loop->count.value, 3) == 19);
	assert_true(value_with(model, &loop->count.value, 1) == 59);
	assert_true(has_note(model, "own_work"));
	model->parameters[model_find_parameter(model, "own_work")].value = 1;
	assert_true(value_with(model, &loop->count.value, 6) == 19);
	model->parameters[model_find_parameter(model, "own_work")].value = 0;
	const struct model_fragment *lock = fragment_of(model, 1, MODEL_LOCK);
	assert_non_null(lock);
	assert_int_equal(lock->cpu.kind, MODEL_FIXED);
	assert_true(fabs(lock->cpu.a.value - 7.001e-6) < 1e-12);
	model_fit_run(model, &(struct model_fit){ 0 });
}

static void unequal_loops_share_tickets(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 30; i++) {
		uint32_t tid = i % 3 == 0 ? 2 : 1; /* 20 and 10 */
		work(&s, tid, 5000);
		locked(&s, tid, LOCK, 4);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	const struct model_fragment *tickets = fragment_of(model, 1, MODEL_TRY_GET);
	assert_non_null(tickets);
	const struct model_object *work_left = &model->objects[tickets->object];
	/* Each thread does one turn before it asks for more. */
	assert_true(value_with(model, &work_left->initial, 2) == 28);
	assert_true(value_with(model, &work_left->initial, 6) == 24);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	assert_true(fabs(fit.simulated_cpu_s / fit.measured_cpu_s - 1) < 0.02);
}

/* The look for more work takes long after a turn of one kind, so that its state is split by that. */
static void a_loop_that_ends_in_two_states_has_one_queue_of_tickets(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 120; i++) {
		uint32_t tid = i % 3 == 0 ? 2 : 1; /* 80 and 40 */
		bool is_long =
			i * 7 % 5 < 2 || i == 117; /* and one thread ends after such a turn */
		locked(&s, tid, is_long ? 102 : 103, is_long ? 6 : 8);
		work(&s, tid, is_long ? 50000 : 1000);
		op(&s, tid, EVENT_PASS, WHAT_MUTEX, LOCK, 4);
		work(&s, tid, is_long ? 50000 : 1000);
		op(&s, tid, EVENT_RELEASE, WHAT_MUTEX, LOCK, 5);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	size_t queues = 0;
	for (size_t i = 0; i < model->object_count; i++)
		queues += model->objects[i].kind == MODEL_QUEUE;
	assert_int_equal(queues, 1);
	size_t tries = 0;
	for (size_t i = 0; i < model->groups[1].fragment_count; i++)
		tries += model->groups[1].fragments[i].op == MODEL_TRY_GET;
	assert_true(tries > 1);
}

static void locks_that_nobody_shares_are_left_out(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 5; i++) {
		locked(&s, 1, LOCK, 4);
		locked(&s, 2, OTHER_LOCK, 4);
		locked(&s, 1, 102, 6);
		locked(&s, 2, 102, 6);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	assert_int_equal(model->group_count, 2);
	assert_int_equal(model->object_count, 1);
}

static void stages_with_locks_to_others_differ(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 5; i++) {
		locked(&s, 1, LOCK, 4);
		locked(&s, 2, OTHER_LOCK, 4);
		locked(&s, MAIN, LOCK, 6);
		locked(&s, MAIN, OTHER_LOCK, 8);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	assert_int_equal(model->group_count, 3);
	assert_int_equal(model->object_count, 2);
}

static void who_takes_from_its_own_and_from_others_is_one_kind(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 5; i++) {
		locked(&s, 1, LOCK, 4);
		locked(&s, 2, OTHER_LOCK, 4);
		locked(&s, 1, i % 2 ? LOCK : OTHER_LOCK, 6);
		locked(&s, 2, i % 2 ? OTHER_LOCK : LOCK, 6);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	assert_int_equal(model->group_count, 2);
}

static void every_tenth_time_is_a_count(void **state)
{
	(void)state;
	struct script s = begin(1);
	for (int i = 0; i < 100; i++) {
		work(&s, 1, 3000);
		locked(&s, 1, LOCK, 4);
		if (i % 10 == 9)
			locked(&s, 1, OTHER_LOCK, 6);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	bool has_nine = false;
	for (size_t i = 0; i < model->groups[1].fragment_count; i++) {
		const struct model_fragment *f = &model->groups[1].fragments[i];
		has_nine |= f->op == MODEL_LOOP && f->count.entry_count == 0 &&
			    f->count.value.value == 9;
		for (size_t j = 0; j < f->edge_count; j++) /* nothing is left to chance */
			assert_true(f->edges[j].probability.value == 1);
	}
	assert_true(has_nine);
}

static void locks_that_are_held_tell_the_same_code_apart(void **state)
{
	(void)state;
	struct script s = begin(1);
	for (int i = 0; i < 40; i++) { /* an inner lock under one of two outer ones */
		uint64_t outer = i * 7 % 5 < 2 ? LOCK : OTHER_LOCK;
		op(&s, 1, EVENT_PASS, WHAT_MUTEX, outer, outer);
		locked(&s, 1, 102, 6);
		op(&s, 1, EVENT_RELEASE, WHAT_MUTEX, outer, 9);
		work(&s, 1, 1000);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known); /* else a lock was given back by who does not hold it */
}

static void a_lock_for_each_bucket_is_one_with_instances(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (uint64_t i = 0; i < 400; i++) {
		uint32_t tid = 1 + i % 2;
		work(&s, tid, 2000);
		locked(&s, tid, LOCK + i / 2 * 7 % 16, 4);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	assert_int_equal(model->group_count, 2);
	assert_int_equal(model->object_count, 1);
	assert_true(model->objects[0].size.value == 16);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

static void a_lock_that_is_used_more_than_others_has_a_share(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (uint64_t i = 0; i < 800; i++) {
		uint32_t tid = 1 + i % 2;
		work(&s, tid, 2000);
		locked(&s, tid, LOCK + (i / 2 % 2 ? 0 : 1 + i / 4 % 15), 4);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	const struct model_object *lock = &model->objects[0];
	assert_int_equal(model->object_count, 1);
	assert_true(lock->size.value == 16);
	assert_int_equal(lock->share_count, 1);
	assert_true(lock->shares[0] == 0.5);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

static void arrive(struct script *s, uint32_t tid)
{
	op(s, tid, EVENT_PASS, WHAT_BARRIER, 200, 8);
}

/* Rounds in which thread 1 works `factor` times as long as the others. */
static struct model *rounds(double factor)
{
	struct script s = begin(4);
	for (int i = 0; i < 12; i++)
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t tid = 4 - k;
			double times = tid == 1 ? factor : 1;
			work(&s, tid, (uint64_t)(90000 * times) + (uint64_t)i * 100);
			s.now_ns += k == 0 ? 90000 : (uint64_t)(90000 * (times - 1));
			arrive(&s, tid);
		}
	return finish(&s, 4);
}

static void rounds_stay_and_their_work_is_shared(void **state)
{
	(void)state;
	AUTO(model) struct model *model = rounds(1);
	assert_int_equal(model->group_count, 2);
	const struct model_fragment *loop = fragment_of(model, 1, MODEL_LOOP);
	const struct model_fragment *barrier = fragment_of(model, 1, MODEL_ARRIVE);
	assert_non_null(loop);
	assert_non_null(barrier);
	assert_true(value_with(model, &loop->count.value, 8) == 11);
	assert_true(value_with(model, &barrier->cpu.scale, 8) == 0.5);
	assert_true(value_with(model, &model->objects[barrier->object].size, 8) == 8);
}

static void who_always_works_longer_is_another_kind(void **state)
{
	(void)state;
	AUTO(model) struct model *model = rounds(5);
	assert_int_equal(model->group_count, 3);
	const struct model_fragment *barrier = fragment_of(model, 1, MODEL_ARRIVE);
	assert_true(value_with(model, &model->objects[barrier->object].size, 7) == 8);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fabs(fit.simulated_cpu_s / (12 * 720e-6) - 1) < 0.05);
	assert_true(fabs(fit.simulated_s / (12 * 450e-6) - 1) < 0.05);
}

static struct model *drifting(uint64_t step_ns)
{
	struct script s = begin(1);
	for (uint64_t i = 0; i < 200; i++) {
		work(&s, 1, 10000 + i * step_ns);
		locked(&s, 1, LOCK, 4);
	}
	return finish(&s, 1);
}

/* Two threads that run all the time, and have `share` of it. */
static struct model *crowded(double share, struct trace_others others)
{
	struct script s =
		begin_with(&(struct build_opts){ .name = "test", .cores = 4, .others = others }, 1);
	for (int i = 0; i < 100; i++) {
		s.now_ns += 100000;
		work(&s, 1, (uint64_t)(100000 * share));
		work(&s, MAIN, (uint64_t)(100000 * share));
		locked(&s, 1, LOCK, 4);
		locked(&s, MAIN, LOCK, 6);
	}
	return finish(&s, 1);
}

static void what_others_had_of_the_cores_is_told(void **state)
{
	(void)state;
	AUTO(model) struct model *alone = crowded(1, (struct trace_others){ 0 });
	AUTO(model) struct model *shared = crowded(0.5, (struct trace_others){ 0 });
	AUTO(model) struct model *idle = crowded(0.5, (struct trace_others){ 1, 100 });
	assert_false(has_note(alone, "other programs had"));
	assert_true(has_note(shared, "other programs had 5"));
	assert_false(has_note(idle, "other programs had"));
	assert_true(has_note(shared, "locks of its own making"));
}

/* Two threads that sleep for 300 us, and are let go so much later. */
static struct model *sleeping(uint64_t late_ns)
{
	struct script s = begin(1);
	for (int i = 0; i < 100; i++) {
		op(&s, MAIN, EVENT_WAIT, WHAT_SLEEP, 0, 4);
		op(&s, 1, EVENT_WAIT, WHAT_SLEEP, 0, 5);
		uint64_t due_ns = s.now_ns += 300000;
		s.now_ns += late_ns;
		for (uint32_t tid = 0; tid <= 1; tid++)
			send(&s, (struct event){ .tid = tid ? 1 : MAIN,
					 .kind = EVENT_PASS,
					 .what = WHAT_SLEEP,
					 .site = tid ? 5 : 4,
					 .woken_ns = due_ns });
	}
	return finish(&s, 1);
}

/* A timer is late by its slack; by much more others had the core. */
static void late_timers_are_nobodys_doing(void **state)
{
	(void)state;
	AUTO(model) struct model *usual = sleeping(45000);
	AUTO(model) struct model *late = sleeping(200000);
	assert_false(has_note(usual, "other programs had"));
	assert_true(has_note(late, "other programs had"));
}

static void a_workload_that_changes_is_told(void **state)
{
	(void)state;
	AUTO(model) struct model *steady = drifting(0);
	AUTO(model) struct model *changing = drifting(100);
	assert_false(has_note(steady, "workload changed"));
	assert_true(has_note(changing, "workload changed"));
}

/* Pieces of work that take 1 or 9 times as long. */
static struct model *varying(int pieces)
{
	struct script s = begin(1);
	for (int i = 0; i < pieces; i++) {
		work(&s, 1, i % 3 == 1 ? 900000 : 100000);
		locked(&s, 1, LOCK, 4);
		locked(&s, MAIN, LOCK, 6);
	}
	return finish(&s, 1);
}

static void a_run_that_tells_little_is_called_short(void **state)
{
	(void)state;
	AUTO(model) struct model *few = varying(12);
	AUTO(model) struct model *many = varying(1200);
	assert_true(has_note(few, "the run was short"));
	assert_false(has_note(many, "the run was short"));
}

/* Main reads a file and sends it for each connection that it accepts. */
static void connections_come_from_a_source(void **state)
{
	(void)state;
	struct script s = begin(0);
	s.now_ns += 1000000000; /* before the first one comes */
	for (uint64_t i = 1; i <= 50; i++) {
		s.now_ns += 40000 + i % 7 * 20000;
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_WAIT,
				 .what = WHAT_IO,
				 .site = 3,
				 .value = EVENT_IO_ACCEPT });
		op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 3);
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_REQUEST_BEGIN,
				 .what = WHAT_IO,
				 .value = i });
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_WAIT,
				 .what = WHAT_IO,
				 .site = 5,
				 .value = EVENT_IO_FILE });
		s.now_ns += 20000;
		op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 5);
		work(&s, MAIN, 9000);
		s.now_ns += 9000;
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_REQUEST_END,
				 .what = WHAT_IO,
				 .value = i });
	}
	AUTO(model) struct model *model = finish(&s, 0);
	assert_int_equal(model->source_count, 1);
	uint32_t rate = model_find_parameter(model, "rate");
	assert_int_not_equal(rate, MODEL_NONE);
	assert_non_null(fragment_of(model, 0, MODEL_GET));
	assert_non_null(fragment_of(model, 0, MODEL_END));
	const struct model_fragment *read = fragment_of(model, 0, MODEL_IO);
	assert_non_null(read);
	assert_int_equal(model->objects[read->object].kind, MODEL_DISK);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fit.is_open);
	assert_true(fabs(fit.simulated_per_s / fit.measured_per_s - 1) < 0.1);
	assert_true(fit.measured_s < 1);
}

static void connections_that_stay_are_no_requests(void **state)
{
	(void)state;
	struct script s = begin(0);
	for (uint64_t i = 0; i < 10; i++)
		send(&s, (struct event){ .tid = MAIN,
				 .kind = i < 5 ? EVENT_REQUEST_BEGIN : EVENT_REQUEST_END,
				 .what = WHAT_IO,
				 .value = i % 5 + 1 });
	work(&s, MAIN, 5000);
	locked(&s, MAIN, LOCK, 4);
	AUTO(model) struct model *model = finish(&s, 0);
	assert_int_equal(model->source_count, 0);
	assert_null(fragment_of(model, 0, MODEL_END));
	assert_true(model->recorded.throughput_per_s == 0);
}

static void opened(struct script *s, enum event_kind kind, uint64_t site)
{
	send(s, (struct event){ .tid = MAIN,
			.kind = (uint8_t)kind,
			.what = WHAT_IO,
			.site = site,
			.value = 64 });
}

static struct model *open_often(uint32_t refusals)
{
	struct script s = begin(0);
	for (int i = 0; i < 20; i++) {
		for (int j = 0; j < 3; j++)
			opened(&s, EVENT_PASS, 7);
		for (uint32_t j = 0; j < refusals; j++)
			opened(&s, EVENT_TRY_FAILED, 7);
		work(&s, MAIN, 5000);
		for (int j = 0; j < 3; j++)
			opened(&s, EVENT_RELEASE, 8);
	}
	return finish(&s, 0);
}

static void a_limit_that_was_reached_is_modelled(void **state)
{
	(void)state;
	AUTO(model) struct model *free_ones = open_often(0);
	assert_int_equal(model_find_object(free_ones, "descriptors"), MODEL_NONE);
	AUTO(model) struct model *all_taken = open_often(1);
	uint32_t limit = model_find_object(all_taken, "descriptors");
	assert_int_not_equal(limit, MODEL_NONE);
	assert_int_equal(all_taken->objects[limit].kind, MODEL_LIMIT);
	assert_int_equal((int)size_of(all_taken, &all_taken->objects[limit]), 3);
	/* Also where one was left each time: what comes if not is known from elsewhere. */
	const struct model_group *main_group = &all_taken->groups[0];
	uint32_t takes = 0, otherwise = fragment_of(all_taken, 0, MODEL_TAKE)->otherwise;
	for (uint32_t i = 0; i < main_group->fragment_count; i++) {
		if (main_group->fragments[i].op != MODEL_TAKE)
			continue;
		takes++;
		assert_int_equal(main_group->fragments[i].otherwise, otherwise);
	}
	assert_true(takes > 1 && otherwise != MODEL_NONE);
	assert_non_null(fragment_of(all_taken, 0, MODEL_GIVE));
}

static void a_kernel_recording_is_refused(void **state)
{
	(void)state;
	struct script s = begin(1);
	struct model *model = NULL;
	struct err err;
	op(&s, 1, EVENT_WAIT, WHAT_FUTEX, 5, 0);
	op(&s, 1, EVENT_PASS, WHAT_FUTEX, 5, 0);
	assert_int_equal(sink_finish(&s.sink, s.now_ns, NULL), 0);
	assert_true(build_model(s.build, &model, &err) < 0);
	assert_non_null(strstr(err.text, "--via preload"));
	assert_null(model);
	build_free(s.build);
}

static void a_kernel_recording_can_be_forced(void **state)
{
	(void)state;
	struct build_opts opts = { .name = "test", .cores = 4, .is_forced = true };
	struct script s = begin_with(&opts, 1);
	op(&s, 1, EVENT_WAIT, WHAT_FUTEX, 5, 0);
	s.now_ns += 50000;
	op(&s, 1, EVENT_PASS, WHAT_FUTEX, 5, 0);
	AUTO(model) struct model *model = finish(&s, 1);
	const struct model_fragment *sleep = fragment_of(model, 1, MODEL_SLEEP);
	assert_non_null(sleep);
	assert_true(fabs(sleep->time.a.value - 51e-6) < 1e-9);
	assert_true(has_note(model, "futexes of which it was not seen who ended them ("));
}

/* The kernel and the library recorded together: what only the kernel saw are locks within libraries. */
static void a_lock_that_only_the_kernel_saw_is_slept_at(void **state)
{
	(void)state;
	struct script s = begin(1);
	locked(&s, 1, LOCK, 4);
	op(&s, 1, EVENT_WAIT, WHAT_FUTEX, 5, 0);
	op(&s, 1, EVENT_PASS, WHAT_FUTEX, 5, 0);
	AUTO(model) struct model *model = finish(&s, 1);
	assert_non_null(fragment_of(model, 1, MODEL_SLEEP));
	assert_true(has_note(model, "futexes of which it was not seen who ended them ("));
}

/* 100 times 10 us of work of which 2 us are the recorder's, and a section of 500 ns, all of which are. */
static void what_recording_cost_is_taken_off(void **state)
{
	(void)state;
	static const struct {
		double took_s, cpu_s; /* 1.05 ms were recorded */
		struct trace_own own;
	} cases[] = { { 0, 1050e-6, { 0 } }, { 0.84e-3, 840e-6, { 1, 1 } },
		{ 0.42e-3, 420e-6, { 0 } }, { 9, 1050e-6, { 1, 1 } }, { 0, 840e-6, { 210000, 0 } },
		{ 0, 840e-6, { 105000, 105000 } }, { 0, 1050e-6, { 1000000, 1000000 } } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct build_opts opts = {
			.name = "test", .cores = 1, .took_s = cases[i].took_s, .own = cases[i].own
		};
		struct script s = begin_with(&opts, 0);
		for (int j = 0; j < 100; j++) {
			work(&s, MAIN, 9999);
			s.now_ns += 9000;
			op(&s, MAIN, EVENT_PASS, WHAT_MUTEX, LOCK, 4);
			work(&s, MAIN, 499);
			s.now_ns -= 500;
			op(&s, MAIN, EVENT_RELEASE, WHAT_MUTEX, LOCK, 5);
		}
		AUTO(model) struct model *model = finish(&s, 0);
		struct model_fit fit;
		assert_int_equal(model_fit_run(model, &fit), 0);
		assert_true(fabs(fit.simulated_cpu_s / cases[i].cpu_s - 1) < 0.01);
		assert_int_equal(has_note(model, "what recording cost"), cases[i].cpu_s < 1050e-6);
		assert_true(fabs(fit.simulated_s / fit.measured_s - 1) < 0.15);
		assert_int_equal(has_note(model, "no less time"), i == 3);
	}
}

/* The worker has a core 5 ms after main started it, which was away for 4.9 of these, as its clock says: it works for 160 us. */
static void who_was_away_when_its_thread_began_did_not_work(void **state)
{
	(void)state;
	struct script s = begin(0);
	s.now_ns += 5000000;
	start(&s, 1);
	work(&s, MAIN, 100000);
	locked(&s, 1, LOCK, 5);
	locked(&s, MAIN, LOCK, 5);
	for (int i = 0; i < 3; i++) {
		work(&s, MAIN, 20000);
		locked(&s, MAIN, LOCK, 9);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	const struct model_recorded *run = &model->recorded;
	double had_s = run->core_utilisation * run->cores * run->duration_s;
	assert_true(fabs(had_s - 160e-6) < 1e-6);
}

/* A shell that runs two programs, one after the other: the first with a thread of its own, 20 us; the second 30 us. */
static void who_waits_for_a_process_starts_and_joins_it(void **state)
{
	(void)state;
	enum { SHELL = 1, FIRST, BESIDE, SECOND };
	const struct event events[] = {
		{ .time_ns = 1000, .pid = SHELL, .tid = SHELL, .kind = EVENT_THREAD_START },
		{ .time_ns = 2000, .pid = SHELL, .tid = SHELL, .kind = EVENT_WAIT },
		{ .time_ns = 3000,
			.pid = FIRST,
			.tid = FIRST,
			.kind = EVENT_THREAD_START,
			.value = SHELL },
		{ .time_ns = 3000,
			.pid = FIRST,
			.tid = BESIDE,
			.kind = EVENT_THREAD_START,
			.value = FIRST },
		{ .time_ns = 22900, .pid = FIRST, .tid = FIRST, .kind = EVENT_THREAD_EXIT },
		{ .time_ns = 23000, .pid = FIRST, .tid = BESIDE, .kind = EVENT_THREAD_EXIT },
		{ .time_ns = 24000, .pid = SHELL, .tid = SHELL, .kind = EVENT_PASS },
		{ .time_ns = 24000, .pid = SHELL, .tid = SHELL, .kind = EVENT_WAIT },
		{ .time_ns = 25000,
			.pid = SECOND,
			.tid = SECOND,
			.kind = EVENT_THREAD_START,
			.value = SHELL },
		{ .time_ns = 55000, .pid = SECOND, .tid = SECOND, .kind = EVENT_THREAD_EXIT },
		{ .time_ns = 56000, .pid = SHELL, .tid = SHELL, .kind = EVENT_PASS },
		{ .time_ns = 56000, .pid = SHELL, .tid = SHELL, .kind = EVENT_THREAD_EXIT },
	};
	for (uint32_t cores = 1; cores <= 2; cores++) {
		struct build *build;
		struct model *made = NULL;
		struct build_opts opts = { .name = "test", .cores = cores };
		assert_int_equal(build_new(&opts, &build), 0);
		struct event_sink sink = build_sink(build);
		for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
			struct event event = events[i];
			bool is_wait = event.kind == EVENT_WAIT || event.kind == EVENT_PASS;
			event.what = is_wait ? WHAT_IO : WHAT_NONE;
			event.value = is_wait ? EVENT_IO_CHILD : event.value;
			event.flags = event.kind == EVENT_PASS ? EVENT_WAITED : 0;
			assert_int_equal(sink_event(&sink, &event, NULL), 0);
		}
		assert_int_equal(sink_finish(&sink, 56000, NULL), 0);
		assert_int_equal(build_model(build, &made, NULL), 0);
		build_free(build);
		AUTO(model) struct model *model = made;
		assert_null(fragment_of(model, 0, MODEL_SLEEP));
		struct model_fit fit;
		assert_int_equal(model_fit_run(model, &fit), 0);
		/* The shell's own 1 us, 20 us of each of the first one's threads, 30 us. */
		assert_true(fabs(fit.simulated_s - (cores == 1 ? 71e-6 : 51e-6)) < 3e-6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_loops_are_a_share_of_the_sum),
		cmocka_unit_test(unequal_loops_share_tickets),
		cmocka_unit_test(a_loop_that_ends_in_two_states_has_one_queue_of_tickets),
		cmocka_unit_test(locks_that_nobody_shares_are_left_out),
		cmocka_unit_test(stages_with_locks_to_others_differ),
		cmocka_unit_test(who_takes_from_its_own_and_from_others_is_one_kind),
		cmocka_unit_test(every_tenth_time_is_a_count),
		cmocka_unit_test(locks_that_are_held_tell_the_same_code_apart),
		cmocka_unit_test(a_lock_for_each_bucket_is_one_with_instances),
		cmocka_unit_test(a_lock_that_is_used_more_than_others_has_a_share),
		cmocka_unit_test(rounds_stay_and_their_work_is_shared),
		cmocka_unit_test(who_always_works_longer_is_another_kind),
		cmocka_unit_test(what_others_had_of_the_cores_is_told),
		cmocka_unit_test(late_timers_are_nobodys_doing),
		cmocka_unit_test(a_workload_that_changes_is_told),
		cmocka_unit_test(a_run_that_tells_little_is_called_short),
		cmocka_unit_test(connections_come_from_a_source),
		cmocka_unit_test(connections_that_stay_are_no_requests),
		cmocka_unit_test(a_limit_that_was_reached_is_modelled),
		cmocka_unit_test(a_kernel_recording_is_refused),
		cmocka_unit_test(a_kernel_recording_can_be_forced),
		cmocka_unit_test(a_lock_that_only_the_kernel_saw_is_slept_at),
		cmocka_unit_test(what_recording_cost_is_taken_off),
		cmocka_unit_test(who_was_away_when_its_thread_began_did_not_work),
		cmocka_unit_test(who_waits_for_a_process_starts_and_joins_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
