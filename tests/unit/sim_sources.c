/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: where requests come from, what refuses them, and when a run is over. */
#include "cmocka_all.h"

#include "sim/sim.h"

#include <errno.h>
#include <string.h>

enum { REQUESTS_MAX = 64 };

/* Threads that take a request, work for 10 ns and end it. */
struct office {
	struct sim *sim;
	uint32_t queue, limit, source;
	bool is_lazy; /* ends no request */
	bool is_deaf; /* is told of none */
	uint64_t begin_ns[REQUESTS_MAX], end_ns[REQUESTS_MAX];
	int status[REQUESTS_MAX];
	uint32_t ended;
};

static int work(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)sim, (void)tid, (void)err;
	struct office *office = context;
	switch (ret->kind) {
	case SIM_GET:
		*ret = (struct sim_op){ .kind = SIM_COMPUTE, .amount = 10, .item = last->item };
		if (last->status == -EPIPE)
			ret->kind = SIM_EXIT;
		break;
	case SIM_COMPUTE:
		ret->kind = SIM_REQUEST_END;
		ret->amount = 0;
		if (!office->is_lazy)
			break;
		/* fallthrough */
	default:
		*ret = (struct sim_op){ .kind = SIM_GET };
	}
	return 0;
}

static void ended(void *context, uint64_t request, uint64_t begin_ns, uint64_t end_ns, int status)
{
	struct office *office = context;
	if (office->is_deaf)
		return;
	assert_in_range(request, 1, REQUESTS_MAX - 1);
	office->begin_ns[request] = begin_ns;
	office->end_ns[request] = end_ns;
	office->status[request] = status;
	office->ended++;
}

static void open_office(struct office *office, uint64_t room, uint64_t stop_ns)
{
	struct sim_options options = { .stop_ns = stop_ns };
	struct sim_program program = { .context = office, .next = work, .request_ended = ended };
	uint32_t tid;
	assert_int_equal(sim_new(&options, &program, &office->sim, NULL), 0);
	assert_int_equal(sim_add_queue(office->sim, "jobs", room, &office->queue), 0);
	assert_int_equal(sim_add_limit(office->sim, "descriptors", 3, &office->limit), 0);
	assert_int_equal(sim_add_thread(office->sim, "clerk", NULL, &tid), 0);
}

static void run_with(struct office *office, struct sim_source_options source)
{
	struct err err = { 0 };
	assert_int_equal(sim_add_source(office->sim, "door", &source, &office->source), 0);
	int code = sim_run(office->sim, &err);
	if (code < 0)
		fail_msg("%d: %s", code, err.text);
}

static void a_trace_of_arrivals_is_played(void **state)
{
	(void)state;
	static const uint64_t times[] = { 5, 5, 30 };
	struct office office = { 0 };
	open_office(&office, 0, 0);
	run_with(&office,
		(struct sim_source_options){
			.kind = SIM_ARRIVALS, .times = times, .limit = 3, .resource = SIM_NONE });
	assert_int_equal(office.ended, 3);
	static const uint64_t end_ns[] = { 15, 25, 40 };
	for (int i = 0; i < 3; i++) {
		assert_int_equal(office.begin_ns[i + 1], times[i]);
		assert_int_equal(office.end_ns[i + 1], end_ns[i]);
	}
	sim_free(office.sim);
}

static void a_full_queue_refuses_or_holds_back(void **state)
{
	(void)state;
	for (int does_wait = 0; does_wait < 2; does_wait++) {
		struct office office = { 0 };
		open_office(&office, 2, 0);
		run_with(&office, (struct sim_source_options){ .kind = SIM_BATCH,
					  .limit = 6,
					  .resource = SIM_NONE,
					  .does_wait_for_room = does_wait });
		assert_int_equal(office.ended, 6);
		struct sim_object_stats stats;
		sim_object_stats(office.sim, SIM_SOURCES, office.source, &stats);
		assert_int_equal(stats.uses, 6);
		assert_int_equal(stats.refused, does_wait ? 0 : 3);
		/* One is taken at once, two wait, three are too many. */
		for (int i = 1; i <= 6; i++)
			assert_int_equal(office.status[i], !does_wait && i > 3 ? -EAGAIN : 0);
		assert_int_equal(sim_now(office.sim), does_wait ? 60 : 30);
		sim_free(office.sim);
	}
}

static void an_exhausted_limit_refuses(void **state)
{
	(void)state;
	struct office office = { 0 };
	open_office(&office, 0, 0);
	run_with(&office, (struct sim_source_options){ .kind = SIM_INTERVALS,
				  .interval = { SIM_FIXED, .a = 4 },
				  .limit = 6,
				  .resource = office.limit });
	/* Come at 4, 8, ... 24 and leave at 14, 24, 34, ...: the fourth finds one gone, the fifth three
	   open; the sixth comes when the second leaves, which its earlier timer lets go first. */
	uint32_t refused = 0;
	for (int i = 1; i <= 6; i++)
		refused += office.status[i] == -EMFILE;
	assert_int_equal(office.status[5], -EMFILE);
	assert_int_equal(refused, 1);
	struct sim_object_stats stats;
	sim_object_stats(office.sim, SIM_LIMIT, office.limit, &stats);
	assert_int_equal(stats.refused, refused);
	assert_int_equal(stats.uses, 6 - refused);
	assert_int_equal(stats.max_length, 3);
	sim_free(office.sim);
}

static void clients_think_and_wait(void **state)
{
	(void)state;
	struct office office = { 0 };
	open_office(&office, 0, 0);
	run_with(&office, (struct sim_source_options){ .kind = SIM_CLOSED,
				  .interval = { SIM_FIXED, .a = 5 },
				  .population = 2,
				  .limit = 5,
				  .resource = SIM_NONE });
	/* Two come at 5; their next at 20 and 30; the first's third at 35. */
	static const uint64_t begin_ns[] = { 5, 5, 20, 30, 40 };
	static const uint64_t end_ns[] = { 15, 25, 35, 45, 55 };
	assert_int_equal(office.ended, 5);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(office.begin_ns[i + 1], begin_ns[i]);
		assert_int_equal(office.end_ns[i + 1], end_ns[i]);
	}
	sim_free(office.sim);
}

static void clients_that_are_refused_come_again(void **state)
{
	(void)state;
	struct office office = { 0 };
	open_office(&office, 1, 0);
	run_with(&office, (struct sim_source_options){ .kind = SIM_CLOSED,
				  .interval = { SIM_FIXED, .a = 3 },
				  .population = 4,
				  .limit = 20,
				  .resource = SIM_NONE });
	assert_int_equal(office.ended, 20);
	struct sim_object_stats stats;
	sim_object_stats(office.sim, SIM_SOURCES, office.source, &stats);
	assert_int_equal(stats.uses, 20);
	assert_true(stats.refused > 4);
	sim_free(office.sim);

	/* Held back instead, nobody is refused. */
	memset(&office, 0, sizeof office);
	open_office(&office, 1, 0);
	run_with(&office, (struct sim_source_options){ .kind = SIM_CLOSED,
				  .interval = { SIM_FIXED, .a = 3 },
				  .population = 4,
				  .limit = 20,
				  .resource = SIM_NONE,
				  .does_wait_for_room = true });
	assert_int_equal(office.ended, 20);
	assert_int_equal(sim_now(office.sim), 3 + 20 * 10); /* the clerk never rests */
	sim_free(office.sim);
}

static void requests_that_nobody_ends_are_no_deadlock(void **state)
{
	(void)state;
	struct office office = { .is_lazy = true };
	open_office(&office, 0, 0);
	run_with(&office,
		(struct sim_source_options){ .kind = SIM_BATCH, .limit = 4, .resource = SIM_NONE });
	assert_int_equal(office.ended, 0);
	assert_int_equal(sim_now(office.sim), 40);
	sim_free(office.sim);
}

static void an_endless_source_stops_in_time(void **state)
{
	(void)state;
	struct office office = { 0 };
	open_office(&office, 0, 95);
	run_with(&office, (struct sim_source_options){ .kind = SIM_INTERVALS,
				  .interval = { SIM_FIXED, .a = 20 },
				  .resource = SIM_NONE });
	assert_int_equal(sim_now(office.sim), 95);
	assert_int_equal(office.ended, 4);
	sim_free(office.sim);
}

static void a_source_without_time_is_an_error(void **state)
{
	(void)state;
	/* One client is served, the other is refused and comes again at once, for ever. */
	struct office office = { 0 };
	struct err err = { 0 };
	open_office(&office, 1, 0);
	office.is_deaf = true;
	struct sim_source_options source = {
		.kind = SIM_CLOSED, .population = 3, .resource = SIM_NONE
	};
	assert_int_equal(sim_add_source(office.sim, "door", &source, &office.source), 0);
	assert_int_equal(sim_run(office.sim, &err), -ELOOP);
	assert_string_equal(err.text,
		"at 0.000000000 s, no time passes: more than 10000000 events, "
		"the last of source 'door'");
	sim_free(office.sim);
}

static void sources_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	static const uint64_t descending[] = { 2, 1 };
	struct office office = { 0 };
	open_office(&office, 0, 0);
	const struct sim_source_options cases[] = {
		{ .kind = SIM_BATCH, .queue = 7, .resource = SIM_NONE },
		{ .kind = SIM_BATCH, .queues = 2, .resource = SIM_NONE },
		{ .kind = SIM_BATCH, .resource = 7 },
		{ .kind = SIM_POISSON, .interval = { .a = -1 }, .resource = SIM_NONE },
		{ .kind = SIM_CLOSED, .resource = SIM_NONE },
		{ .kind = SIM_ARRIVALS, .times = descending, .limit = 2, .resource = SIM_NONE },
		{ .kind = (enum sim_source_kind)77, .resource = SIM_NONE },
	};
	uint32_t number;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(sim_add_source(office.sim, NULL, &cases[i], &number), -EINVAL);
	sim_free(office.sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_of_arrivals_is_played),
		cmocka_unit_test(a_full_queue_refuses_or_holds_back),
		cmocka_unit_test(an_exhausted_limit_refuses),
		cmocka_unit_test(clients_think_and_wait),
		cmocka_unit_test(clients_that_are_refused_come_again),
		cmocka_unit_test(requests_that_nobody_ends_are_no_deadlock),
		cmocka_unit_test(an_endless_source_stops_in_time),
		cmocka_unit_test(a_source_without_time_is_an_error),
		cmocka_unit_test(sources_that_make_no_sense_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
