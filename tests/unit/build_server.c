/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of servers: requests over connections that stay, and what threads do once, for ever, or by trying. */
#include "build_script.h"

static void request(struct script *s, uint32_t tid, enum event_kind kind, uint64_t descriptor,
	uint64_t number, uint16_t flags)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_IO,
			.object = descriptor,
			.site = 20,
			.value = number,
			.flags = flags });
}

static void wait_for_input(struct script *s, uint32_t tid)
{
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_WAIT,
			.what = WHAT_IO,
			.site = 30,
			.value = EVENT_IO_POLL });
}

/*
 * Main hands four connections to two workers, each with a queue and its lock; they answer, and never end. Each serves its own
 * connections, or (`shift` 1) whichever has something next.
 */
static struct model *serve(uint64_t requests, uint64_t shift)
{
	struct script s = begin(2);
	for (uint32_t i = 0; i < 4; i++) {
		request(&s, MAIN, EVENT_REQUEST_BEGIN, 5 + i, 1 + i, 0);
		locked(&s, MAIN, LOCK + 1 + i % 2, 8);
		locked(&s, 1 + i % 2, LOCK + 1 + i % 2, 4);
	}
	for (uint64_t i = 0; i < requests; i++) {
		uint32_t tid = 1 + (uint32_t)i % 2;
		wait_for_input(&s, tid);
		work(&s, tid, 3000);
		s.now_ns += 40000;
		op(&s, tid, EVENT_PASS, WHAT_IO, 0, 30);
		uint64_t connection = 5 + (i + i / 4 * shift) % 4;
		request(&s, tid, EVENT_REQUEST_BEGIN, connection, 10 + i, EVENT_IMPLICIT);
		work(&s, tid, 9000);
		s.now_ns += 9000;
		locked(&s, tid, LOCK, 6);
		request(&s, tid, EVENT_REQUEST_END, connection, 10 + i, EVENT_IMPLICIT);
	}
	wait_for_input(&s, 1);
	wait_for_input(&s, 2);
	for (uint32_t i = 0; i < 4; i++)
		request(&s, 1 + i % 2, EVENT_REQUEST_END, 5 + i, 1 + i, 0);
	return finish(&s, 2);
}

static void requests_over_connections_have_clients_that_think(void **state)
{
	(void)state;
	AUTO(model) struct model *model = serve(400, 0);
	assert_int_equal(model->group_count, 2); /* the workers' own locks do not part them */
	assert_int_equal(model->source_count, 1);
	assert_int_equal(model->sources[0].kind, MODEL_CLOSED);
	assert_int_not_equal(model_find_parameter(model, "workers"), MODEL_NONE);
	uint32_t clients = model_find_parameter(model, "clients");
	uint32_t think = model_find_parameter(model, "think");
	assert_int_not_equal(clients, MODEL_NONE);
	assert_int_equal((int)model->parameters[clients].value, 4);
	/* Three others of 56 us each, and the wait of 41 us before its own. */
	assert_true(fabs(model->parameters[think].value / (3 * 56e-6 + 42e-6) - 1) < 0.05);
	assert_null(fragment_of(model, 1, MODEL_SLEEP));
	assert_true(fabs(model->hardware.switch_time.value - 3e-6) < 1e-8);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fit.is_open);
	assert_true(fabs(fit.simulated_per_s / fit.measured_per_s - 1) < 0.1);
}

/* With four workers each has one of the connections, and with eight four of them have none. */
static void connections_stay_with_their_threads(void **state)
{
	(void)state;
	AUTO(model) struct model *model = serve(400, 0);
	AUTO(model) struct model *shared = serve(400, 1);
	struct model_object *arrivals = &model->objects[model->sources[0].queue];
	assert_true(value_with(model, &arrivals->instances, 8) == 8);
	const struct model_value *instances = &shared->objects[shared->sources[0].queue].instances;
	assert_true(!instances->formula && instances->value == 0);
}

static void answer(struct script *s, uint64_t connection, uint64_t number)
{
	work(s, 1, 4000);
	s->now_ns += 4000;
	request(s, 1, EVENT_REQUEST_END, connection, number, EVENT_IMPLICIT);
}

/* A thread reads what has come over 1 to 3 connections, and answers then; now and then one has sent half of what it asks. */
static void who_reads_several_before_it_answers_answers_each(void **state)
{
	(void)state;
	struct script s = begin(1);
	uint64_t number = 1;
	for (uint32_t i = 0; i < 3; i++)
		request(&s, 1, EVENT_REQUEST_BEGIN, 5 + i, number++, 0);
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t first = number, count = 1 + i % 3;
		wait_for_input(&s, 1);
		s.now_ns += 20000;
		op(&s, 1, EVENT_PASS, WHAT_IO, 0, 30);
		for (uint64_t j = 0; j < count; j++) {
			work(&s, 1, 2000);
			s.now_ns += 2000;
			request(&s, 1, EVENT_REQUEST_BEGIN, 5 + j, number++, EVENT_IMPLICIT);
		}
		if (i % 150 == 100) {
			wait_for_input(&s, 1);
			s.now_ns += 20000;
			op(&s, 1, EVENT_PASS, WHAT_IO, 0, 30);
		}
		for (uint64_t j = 0; j < count; j++)
			answer(&s, 5 + j, first + j);
	}
	wait_for_input(&s, 1);
	for (uint32_t i = 0; i < 3; i++)
		request(&s, 1, EVENT_REQUEST_END, 5 + i, 1 + i, 0);
	AUTO(model) struct model *model = finish(&s, 1);
	const struct model_group *server = &model->groups[model->group_count - 1];
	size_t gets = 0, ends = 0;
	for (uint32_t i = 0; i < server->fragment_count; i++) {
		const struct model_fragment *fragment = &server->fragments[i];
		gets += fragment->op == MODEL_GET;
		ends += fragment->op == MODEL_END;
		if (fragment->op == MODEL_GET)
			assert_int_equal(server->fragments[fragment->edges[0].to].op, MODEL_END);
	}
	assert_true(gets > 0 && ends > 0);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fit.simulated_per_s > 0.75 * fit.measured_per_s);
}

enum { PIPE = 200 };

/* An item of a pipe. */
static void hand(struct script *s, uint32_t tid, enum event_kind kind)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_QUEUE,
			.object = PIPE,
			.site = 50 + kind,
			.value = 8 });
}

/*
 * Main waits for input over four connections, and tells two workers through a pipe which of them have some: they read, and
 * answer. Now and then it is the end of one, which is then opened again, or the next request is there already.
 */
static void who_waits_for_input_hands_on_requests(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (uint32_t i = 0; i < 4; i++)
		request(&s, MAIN, EVENT_REQUEST_BEGIN, 5 + i, 1 + i, 0);
	for (uint64_t i = 0; i < 400; i++) {
		uint32_t tid = 1 + (uint32_t)i % 2;
		wait_for_input(&s, MAIN);
		s.now_ns += 30000;
		op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 30);
		hand(&s, MAIN, EVENT_RELEASE);
		hand(&s, tid, EVENT_PASS);
		if (i % 150 == 100)
			continue;
		request(&s, tid, EVENT_REQUEST_BEGIN, 5 + i % 4, 10 + i, EVENT_IMPLICIT);
		work(&s, tid, 9000);
		s.now_ns += 9000;
		request(&s, tid, EVENT_REQUEST_END, 5 + i % 4, 10 + i, EVENT_IMPLICIT);
		if (i % 50 != 7)
			continue;
		request(&s, tid, EVENT_REQUEST_BEGIN, 5 + i % 4, 1000 + i, EVENT_IMPLICIT);
		work(&s, tid, 9000);
		s.now_ns += 9000;
		request(&s, tid, EVENT_REQUEST_END, 5 + i % 4, 1000 + i, EVENT_IMPLICIT);
	}
	wait_for_input(&s, MAIN);
	for (uint32_t i = 0; i < 4; i++)
		request(&s, 1 + i % 2, EVENT_REQUEST_END, 5 + i, 1 + i, 0);
	AUTO(model) struct model *model = finish(&s, 2);
	uint32_t arrivals = model->sources[0].queue;
	const struct model_fragment *arrive = fragment_of(model, 0, MODEL_GET);
	const struct model_fragment *put = fragment_of(model, 0, MODEL_PUT);
	const struct model_fragment *get = fragment_of(model, 1, MODEL_GET);
	assert_true(arrive && put && get && fragment_of(model, 1, MODEL_END));
	assert_true(arrive->object == arrivals && get->object == put->object && !put->is_plain);
	assert_null(fragment_of(model, 0, MODEL_SLEEP));
	for (uint32_t i = 0; i < model->groups[1].fragment_count; i++) {
		const struct model_fragment *fragment = &model->groups[1].fragments[i];
		assert_false(fragment->op == MODEL_GET && fragment->object == arrivals);
	}
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	assert_true(fabs(fit.simulated_per_s / fit.measured_per_s - 1) < 0.1);
}

/* One request over each connection: the connections are the requests. */
static void few_requests_over_connections_are_part_of_them(void **state)
{
	(void)state;
	struct script s = begin(0);
	request(&s, MAIN, EVENT_PASS, 3, 1024, 0); /* it lowers the limit then */
	request(&s, MAIN, EVENT_PASS, 4, 20, 0);
	for (uint64_t i = 1; i <= 50; i++) {
		wait_for_input(&s, MAIN);
		s.now_ns += 40000 + i % 7 * 20000;
		op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 30);
		request(&s, MAIN, EVENT_REQUEST_BEGIN, 5, 2 * i, 0);
		request(&s, MAIN, EVENT_REQUEST_BEGIN, 5, 2 * i + 1, EVENT_IMPLICIT);
		work(&s, MAIN, 9000);
		s.now_ns += 9000;
		request(&s, MAIN, EVENT_REQUEST_END, 5, 2 * i + 1, EVENT_IMPLICIT);
		request(&s, MAIN, EVENT_REQUEST_END, 5, 2 * i, 0);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	assert_int_equal(model->source_count, 1);
	assert_int_not_equal(model->sources[0].kind, MODEL_CLOSED);
	assert_int_not_equal(model_find_parameter(model, "rate"), MODEL_NONE);
	assert_true(fabs(model->recorded.response_s - 12e-6) < 2e-6);
	assert_int_equal(model->recorded.descriptors, 20);
}

static void pause_for(struct script *s, uint32_t tid, uint64_t ns)
{
	op(s, tid, EVENT_WAIT, WHAT_SLEEP, 0, 40);
	s->now_ns += ns;
	op(s, tid, EVENT_PASS, WHAT_SLEEP, 0, 40);
}

/* Thread 1 waits for a request, and answers it. */
static void serve_one(struct script *s, uint64_t number)
{
	wait_for_input(s, 1);
	s->now_ns += 40000 + number % 7 * 20000;
	op(s, 1, EVENT_PASS, WHAT_IO, 0, 30);
	request(s, 1, EVENT_REQUEST_BEGIN, 5, number, 0);
	work(s, 1, 9000);
	s->now_ns += 9000;
	request(s, 1, EVENT_REQUEST_END, 5, number, 0);
}

/* A server that looks now and then whether it shall end, and then takes its time for that. */
static void how_a_server_ends_is_no_part_of_serving(void **state)
{
	(void)state;
	struct script s = begin(1);
	for (uint64_t i = 1; i <= 60; i++) {
		serve_one(&s, i);
		if (i % 12 == 0)
			pause_for(&s, MAIN, 1000);
	}
	wait_for_input(&s, 1);
	pause_for(&s, MAIN, 1000);
	pause_for(&s, MAIN, 50000000);
	locked(&s, MAIN, OTHER_LOCK, 60);
	op(&s, 1, EVENT_PASS, WHAT_IO, 0, 30);
	locked(&s, 1, OTHER_LOCK, 70);
	AUTO(model) struct model *model = finish(&s, 1);
	assert_int_equal(model->source_count, 1);
	for (size_t i = 0; i < model->group_count; i++)
		assert_null(fragment_of(model, i, MODEL_LOCK));
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fit.is_open);
	assert_true(fabs(fit.simulated_per_s / fit.measured_per_s - 1) < 0.15);
}

/* Main does something sixteen times, and then waits for the signal to stop. */
static void who_waits_for_the_end_does_nothing_meanwhile(void **state)
{
	(void)state;
	struct script s = begin(1);
	wait_for_input(&s, MAIN);
	s.now_ns += 1000000;
	op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 30);
	for (int i = 0; i < 16; i++)
		locked(&s, MAIN, OTHER_LOCK, 60);
	wait_for_input(&s, MAIN);
	for (uint64_t i = 1; i <= 60; i++)
		serve_one(&s, i);
	wait_for_input(&s, 1);
	s.now_ns += 1000000;
	op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 30);
	AUTO(model) struct model *model = finish(&s, 1);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.simulated_cpu_s < 2 * fit.measured_cpu_s);
}

/* Connections that are let in by fours, when descriptors are free again. */
static void who_waited_for_descriptors_came_at_random(void **state)
{
	(void)state;
	struct script s = begin(0);
	for (uint64_t i = 1; i <= 200; i++) {
		if (i % 4 == 0) {
			send(&s, (struct event){ .tid = MAIN,
					 .kind = EVENT_TRY_FAILED,
					 .what = WHAT_IO,
					 .site = 7,
					 .value = 64 });
			s.now_ns += 1000000;
		}
		wait_for_input(&s, MAIN);
		op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 30);
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_PASS,
				 .what = WHAT_IO,
				 .site = 7,
				 .value = 64 });
		request(&s, MAIN, EVENT_REQUEST_BEGIN, 5, i, 0);
		work(&s, MAIN, 9000);
		s.now_ns += 9000;
		op(&s, MAIN, EVENT_RELEASE, WHAT_IO, 5, 8);
		request(&s, MAIN, EVENT_REQUEST_END, 5, i, 0);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	assert_int_equal(model->source_count, 1);
	assert_int_equal(model->sources[0].kind, MODEL_POISSON);
	assert_true(has_note(model, "had to wait for descriptors"));
}

/* Main accepts, and starts a thread for each connection, which answers and ends. */
static void a_thread_for_each_request_gets_it(void **state)
{
	(void)state;
	struct script s = begin(0);
	for (uint32_t i = 1; i <= 48; i++) {
		wait_for_input(&s, MAIN);
		s.now_ns += 40000 + 997 * (i % 7);
		op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 30);
		request(&s, MAIN, EVENT_REQUEST_BEGIN, 5, i, 0);
		start(&s, MAIN + i);
		work(&s, MAIN + i, 9000);
		request(&s, MAIN + i, EVENT_REQUEST_END, 5, i, 0);
		op(&s, MAIN + i, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	assert_true(fabs(fit.simulated_per_s / fit.measured_per_s - 1) < 0.2);
}

/* 50 turns, then something that is done once and takes long, then 30 turns more. */
static void what_is_done_once_is_done_in_its_place(void **state)
{
	(void)state;
	struct script s = begin(0);
	for (int i = 0; i < 80; i++) {
		work(&s, MAIN, i < 50 ? 10000 : 20000);
		s.now_ns += i < 50 ? 10000 : 20000;
		locked(&s, MAIN, LOCK, 4);
		if (i != 49)
			continue;
		work(&s, MAIN, 2000000);
		s.now_ns += 2000000;
		locked(&s, MAIN, OTHER_LOCK, 6);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	for (int i = 0; i < 3; i++) {
		struct model_fit fit;
		assert_int_equal(model_fit_run(model, &fit), 0);
		assert_true(fabs(fit.simulated_cpu_s / fit.measured_cpu_s - 1) < 0.001);
	}
}

static void nested(struct script *s, uint32_t tid, uint64_t outer, uint64_t inner, uint64_t site)
{
	op(s, tid, EVENT_PASS, WHAT_MUTEX, outer, site);
	work(s, tid, 5000);
	locked(s, tid, inner, site + 2);
	op(s, tid, EVENT_RELEASE, WHAT_MUTEX, outer, site + 1);
}

static void locks_in_both_orders_are_tries(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 40; i++) {
		nested(&s, 1, LOCK, OTHER_LOCK, 4);
		if (i % 2)
			nested(&s, 2, OTHER_LOCK, LOCK, 14);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	assert_true(has_note(model, "in an order that others do not take, and never waited (20)"));
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	assert_true(fabs(fit.simulated_cpu_s / fit.measured_cpu_s - 1) < 0.01);
}

/* A table of locks, one for each entry: who changes the table takes all of them. */
static void a_whole_table_is_locked(void **state)
{
	(void)state;
	enum { ENTRIES = 71, TABLE = 1000 };
	struct script s = begin(2);
	for (int i = 0; i < 200; i++)
		for (uint32_t tid = 1; tid <= 2; tid++)
			locked(&s, tid, TABLE + (uint64_t)(3 * i + (int)tid) % ENTRIES, 4);
	for (uint64_t i = 0; i < ENTRIES; i++)
		op(&s, 1, EVENT_PASS, WHAT_MUTEX, TABLE + i, 14);
	work(&s, 1, 5000);
	for (uint64_t i = 0; i < ENTRIES; i++)
		op(&s, 1, EVENT_RELEASE, WHAT_MUTEX, TABLE + i, 15);
	AUTO(model) struct model *model = finish(&s, 2);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	assert_true(fabs(fit.simulated_cpu_s / fit.measured_cpu_s - 1) < 0.01);
}

static void who_waits_for_ever_holds_no_mutex(void **state)
{
	(void)state;
	struct script s = begin(1);
	op(&s, 1, EVENT_PASS, WHAT_MUTEX, LOCK, 4);
	send(&s, (struct event){ .tid = 1,
			 .kind = EVENT_RELEASE,
			 .what = WHAT_MUTEX,
			 .object = LOCK,
			 .flags = EVENT_IMPLICIT });
	send(&s, (struct event){ .tid = 1,
			 .kind = EVENT_WAIT,
			 .what = WHAT_COND,
			 .object = 300,
			 .value = LOCK });
	locked(&s, MAIN, LOCK, 8);
	AUTO(model) struct model *model = finish(&s, 1);
	assert_null(fragment_of(model, 0, MODEL_JOIN)); /* it was ended with the process */
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

static void at_condition(struct script *s, uint32_t tid, enum event_kind kind, uint16_t flags)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_COND,
			.object = 300,
			.site = 40,
			.flags = flags,
			.value = kind == EVENT_WAIT ? LOCK : MAIN });
}

static void at_lock(struct script *s, uint32_t tid, enum event_kind kind, uint16_t flags)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.site = 50 + tid,
			.flags = flags });
}

/* A timer lets main put something each 2 ms, as a request that begins while it has the lock; a worker answers. */
static void what_is_put_is_the_request_that_began_with_it(void **state)
{
	(void)state;
	struct script s = begin(1);
	at_lock(&s, 1, EVENT_PASS, 0);
	for (uint64_t i = 1; i <= 100; i++) {
		at_lock(&s, 1, EVENT_RELEASE, EVENT_IMPLICIT);
		at_condition(&s, 1, EVENT_WAIT, 0);
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_WAIT,
				 .what = WHAT_IO,
				 .site = 30,
				 .value = EVENT_IO_OTHER });
		s.now_ns += 2000000;
		op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 30);
		at_lock(&s, MAIN, EVENT_PASS, 0);
		send(&s, (struct event){ .tid = MAIN, .kind = EVENT_REQUEST_BEGIN, .value = i });
		at_condition(&s, MAIN, EVENT_RELEASE, 0);
		at_lock(&s, MAIN, EVENT_RELEASE, 0);
		at_condition(&s, 1, EVENT_PASS, EVENT_WAITED);
		at_lock(&s, 1, EVENT_PASS, EVENT_IMPLICIT);
		at_lock(&s, 1, EVENT_RELEASE, 0);
		work(&s, 1, 90000);
		s.now_ns += 90000;
		send(&s, (struct event){ .tid = 1, .kind = EVENT_REQUEST_END, .value = i });
		at_lock(&s, 1, EVENT_PASS, 0);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	assert_int_equal(model->source_count, 0); /* a timer is no client */
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fit.measured_response_s > 90e-6);
	assert_true(fabs(fit.simulated_response_s / fit.measured_response_s - 1) < 0.2);
}

/* Main asks two others for parts of each request. */
static void who_ends_a_request_that_it_began_keeps_it(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (uint64_t i = 1; i <= 50; i++) {
		send(&s, (struct event){ .tid = MAIN, .kind = EVENT_REQUEST_BEGIN, .value = i });
		for (uint32_t part = 1; part <= 2; part++)
			op(&s, MAIN, EVENT_RELEASE, WHAT_QUEUE, 500 + part, 10 + part);
		for (uint32_t part = 1; part <= 2; part++) {
			op(&s, part, EVENT_PASS, WHAT_QUEUE, 500 + part, 20);
			work(&s, part, 9000);
			op(&s, part, EVENT_RELEASE, WHAT_QUEUE, 500, 21);
			op(&s, MAIN, EVENT_PASS, WHAT_QUEUE, 500, 22);
		}
		send(&s, (struct event){ .tid = MAIN, .kind = EVENT_REQUEST_END, .value = i });
	}
	AUTO(model) struct model *model = finish(&s, 2);
	const struct model_fragment *put = fragment_of(model, 0, MODEL_PUT);
	assert_non_null(put);
	assert_true(put->is_plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_over_connections_have_clients_that_think),
		cmocka_unit_test(connections_stay_with_their_threads),
		cmocka_unit_test(who_reads_several_before_it_answers_answers_each),
		cmocka_unit_test(who_waits_for_input_hands_on_requests),
		cmocka_unit_test(how_a_server_ends_is_no_part_of_serving),
		cmocka_unit_test(who_waits_for_the_end_does_nothing_meanwhile),
		cmocka_unit_test(few_requests_over_connections_are_part_of_them),
		cmocka_unit_test(who_waited_for_descriptors_came_at_random),
		cmocka_unit_test(a_thread_for_each_request_gets_it),
		cmocka_unit_test(what_is_done_once_is_done_in_its_place),
		cmocka_unit_test(locks_in_both_orders_are_tries),
		cmocka_unit_test(a_whole_table_is_locked),
		cmocka_unit_test(who_waits_for_ever_holds_no_mutex),
		cmocka_unit_test(what_is_put_is_the_request_that_began_with_it),
		cmocka_unit_test(who_ends_a_request_that_it_began_keeps_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
