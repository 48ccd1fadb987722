/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads whose number can be set: pools, those that are started again and again, and OpenMP's teams. */
#include "build_script.h"

static void leave(struct script *s, uint32_t tid)
{
	op(s, tid, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
	send(s, (struct event){ .tid = MAIN,
			.kind = EVENT_PASS,
			.what = WHAT_JOIN,
			.site = 2,
			.value = tid });
}

static void threads_that_are_started_again_and_again_are_a_pool(void **state)
{
	(void)state;
	struct script s = begin(0);
	for (uint32_t wave = 0; wave < 3; wave++) {
		uint32_t first = 1 + 2 * wave;
		start(&s, first);
		start(&s, first + 1);
		work(&s, first, 80000);
		work(&s, first + 1, 80000);
		leave(&s, first);
		leave(&s, first + 1);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	assert_int_equal(model->group_count, 2);
	const struct model_fragment *spawn = fragment_of(model, 0, MODEL_SPAWN);
	const struct model_fragment *life = fragment_of(model, 1, MODEL_COMPUTE);
	assert_non_null(spawn);
	assert_non_null(life);
	assert_true(value_with(model, &spawn->count.value, 5) == 5);
	assert_true(value_with(model, &life->cpu.scale, 8) == 0.25);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fabs(fit.simulated_cpu_s / 480e-6 - 1) < 0.05);
}

/* Under no lock, between two, of which nothing tells how much there is. */
static void work_that_each_does_once_is_shared(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		locked(&s, tid, LOCK, 4);
		work(&s, tid, 900000);
		locked(&s, tid, LOCK, 6);
		work(&s, tid, 20000);
		locked(&s, tid, LOCK, 8);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	const struct model_group *group = &model->groups[1];
	double total_s = 0;
	for (size_t i = 0; i < group->fragment_count; i++) {
		const struct model_dist *cpu = &group->fragments[i].cpu;
		bool is_shared = cpu->scale.formula;
		assert_int_equal(is_shared, cpu->a.value > 100e-6);
		total_s += cpu->a.value * (is_shared ? value_with(model, &cpu->scale, 6) : 1);
	}
	assert_true(fabs(total_s - (300e-6 + 20e-6)) < 10e-6);
}

static void waves_of_different_sizes_are_no_pool(void **state)
{
	(void)state;
	struct script s = begin(0);
	for (uint32_t tid = 1, wave = 1; wave <= 3; wave++) {
		uint32_t first = tid;
		for (; tid < first + wave; tid++)
			start(&s, tid);
		for (uint32_t i = first; i < tid; i++)
			leave(&s, i);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	assert_int_equal(model_find_parameter(model, "workers"), MODEL_NONE);
}

/* Of each wave's 20 pieces of 100 us one thread takes 12 and the other one 8: what was left when it came. */
static void what_a_wave_takes_is_put_before_it(void **state)
{
	(void)state;
	enum { WAVES = 4, PIECES = 20 }; /* main is number 10 */
	struct script s = begin(0);
	for (uint32_t wave = 0; wave < WAVES; wave++) {
		uint32_t first = 1 + 2 * wave;
		start(&s, first);
		start(&s, first + 1);
		for (int i = 0; i < PIECES; i++) {
			uint32_t tid = i % 5 < 3 ? first : first + 1;
			work(&s, tid, 100000);
			locked(&s, tid, LOCK, 4);
		}
		leave(&s, first);
		leave(&s, first + 1);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	const struct model_fragment *put = fragment_of(model, 0, MODEL_PUT);
	const struct model_fragment *take = fragment_of(model, 1, MODEL_TRY_GET);
	assert_non_null(put);
	assert_non_null(take);
	assert_int_equal(put->object, take->object);
	for (double n = 1; n <= 4; n++) /* each makes its first turn without a look */
		assert_true(value_with(model, &put->count.value, n) + n == PIECES);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fabs(fit.simulated_cpu_s / (WAVES * PIECES * 100e-6) - 1) < 0.05);
}

static double threads_with(
	const struct model *model, const struct model_value *value, double threads)
{
	double parameters[8] = { 0 }, result = NAN;
	uint32_t index = model_find_parameter(model, "threads");
	assert_in_range(model->parameter_count, 1, 8);
	assert_in_range(index, 0, model->parameter_count - 1);
	parameters[index] = threads;
	assert_int_equal(model_evaluate(model, value, MODEL_NUMBER, parameters, &result, NULL), 0);
	return result;
}

/* Thread 1 starts threads 2 and 3, and then works like them. */
static void who_works_like_those_whom_it_starts_is_one_of_them(void **state)
{
	(void)state;
	struct script s = begin(1);
	for (uint32_t tid = 2; tid <= 3; tid++)
		send(&s, (struct event){ .tid = tid,
				 .kind = EVENT_THREAD_START,
				 .object = ROUTINE,
				 .site = 3,
				 .value = 1 });
	for (int i = 0; i < 40; i++)
		for (uint32_t tid = 1; tid <= 3; tid++) {
			work(&s, tid, 7000);
			locked(&s, tid, LOCK, 4);
		}
	AUTO(model) struct model *model = finish(&s, 3);
	assert_int_equal(model->group_count, 3);
	for (size_t i = 1; i < 3; i++) {
		const struct model_fragment *loop = fragment_of(model, i, MODEL_LOOP);
		assert_non_null(loop);
		assert_true(fabs(threads_with(model, &loop->count.value, 3) - 39) < 0.01);
		assert_true(fabs(threads_with(model, &loop->count.value, 6) - 19) < 0.01);
	}
}

/* The code at `site`, from which start() starts threads, is libgomp's. */
static struct script begin_team(void)
{
	struct script s = begin(0);
	send(&s, (struct event){ .tid = MAIN,
			 .kind = EVENT_NAME,
			 .what = WHAT_MODULE,
			 .object = 0,
			 .value = 4,
			 .text = "/usr/lib/libgomp.so.1" });
	start(&s, 1);
	return s;
}

/* `waker` 0: broken off. */
static void meet(struct script *s, uint32_t tid, uint64_t site, uint32_t waker)
{
	op(s, tid, EVENT_WAIT, WHAT_BARRIER, 200, site);
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_PASS,
			.what = WHAT_BARRIER,
			.object = 200,
			.site = site,
			.value = waker });
}

/* Two threads of which the first starts the other, as one of four; yields how much of its own work the first has left. */
static double check_team(const struct model *model)
{
	const struct model_fragment *spawn = fragment_of(model, 0, MODEL_SPAWN);
	const struct model_fragment *first = fragment_of(model, 0, MODEL_ARRIVE);
	const struct model_fragment *second = fragment_of(model, 1, MODEL_ARRIVE);
	assert_non_null(spawn);
	assert_non_null(first);
	assert_non_null(second);
	assert_true(threads_with(model, &spawn->count.value, 4) == 3);
	assert_true(threads_with(model, &model->objects[first->object].size, 4) == 4);
	assert_true(threads_with(model, &second->cpu.scale, 4) == 0.5);
	return threads_with(model, &first->cpu.scale, 4);
}

static void who_starts_a_team_is_part_of_it(void **state)
{
	(void)state;
	struct script s = begin_team();
	for (int i = 0; i < 20; i++) {
		work(&s, MAIN, 40000 + 80000);
		work(&s, 1, 80000);
		meet(&s, MAIN, 8, MAIN);
		meet(&s, 1, 8, MAIN);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	/* A third of what the first one does is its own, and is not shared. */
	assert_true(fabs(check_team(model) - (1 / 3.0 + 2 / 3.0 / 2)) < 0.02);
}

/* The main thread starts all others but one, and is that one itself. */
static void the_first_thread_may_be_one_of_its_threads(void **state)
{
	(void)state;
	struct script s = begin(0);
	start(&s, 1);
	for (int i = 0; i < 20; i++) {
		work(&s, MAIN, 80000);
		work(&s, 1, 80000);
		meet(&s, MAIN, 8, MAIN);
		meet(&s, 1, 8, MAIN);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	assert_true(fabs(check_team(model) - 0.5) < 0.02);
}

/* Pieces of work with a lock each, and before each a thread has come to the barrier already. */
static void tasks_are_shared_by_the_team(void **state)
{
	(void)state;
	struct script s = begin_team();
	for (int i = 0; i < 20; i++) {
		for (int task = 0; task < 10; task++) {
			uint32_t tid = task < 4 + i % 3 ? MAIN : 1;
			meet(&s, tid, 8, 0);
			work(&s, tid, 20000);
			locked(&s, tid, LOCK, 20);
		}
		meet(&s, MAIN, 8, MAIN);
		meet(&s, 1, 8, MAIN);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	uint32_t queue = MODEL_NONE;
	for (size_t i = 0; i < model->group_count; i++) {
		const struct model_fragment *ticket = fragment_of(model, i, MODEL_TRY_GET);
		assert_non_null(ticket);
		assert_true(queue == MODEL_NONE || queue == ticket->object);
		queue = ticket->object;
	}
	const struct model_object *tickets = &model->objects[queue];
	/* Ten tasks in each round; the first of each thread comes before the loop. */
	assert_true(fabs(threads_with(model, &tickets->initial, 2) - 8) < 0.2);
	assert_true(fabs(threads_with(model, &tickets->initial, 1) - 9) < 0.2);
	assert_int_equal(model->objects[tickets->refilled_by].kind, MODEL_BARRIER);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fabs(fit.simulated_cpu_s / 4e-3 - 1) < 0.05);
}

static void put_and_get(struct script *s, uint32_t maker, uint32_t taker)
{
	locked(s, maker, OTHER_LOCK, 40);
	op(s, maker, EVENT_RELEASE, WHAT_QUEUE, 500, 42);
	op(s, taker, EVENT_PASS, WHAT_QUEUE, 500, 30);
	work(s, taker, 5000);
	locked(s, taker, LOCK, 32);
}

/* Two threads make 20 items each, of which two others get 25 and 15. */
static void who_gets_what_others_make_has_as_much_work_as_they_make(void **state)
{
	(void)state;
	struct script s = begin(4);
	for (uint32_t i = 0; i < 40; i++)
		put_and_get(&s, 1 + i % 2, i % 8 < 5 ? 3 : 4);
	AUTO(model) struct model *model = finish(&s, 4);
	size_t tickets = 0; /* of makers and takers */
	for (size_t i = 0; i < model->object_count; i++) {
		const char *initial = model->objects[i].initial.formula;
		tickets += initial && strstr(initial, "(40 + own_work * 20 * (");
	}
	assert_int_equal(tickets, 2);
}

/* One of four threads of a team always works longer: its loop makes it so, and with another number of threads it is one of these. */
static void one_of_a_team_may_always_have_more(void **state)
{
	(void)state;
	struct script s = begin_team();
	for (uint32_t i = 2; i <= 4; i++)
		start(&s, i);
	for (int i = 0; i < 20; i++) {
		for (uint32_t tid = 1; tid <= 4; tid++)
			work(&s, tid, tid == 4 ? 800000 : 80000);
		work(&s, MAIN, 80000);
		meet(&s, MAIN, 8, MAIN);
		for (uint32_t tid = 1; tid <= 4; tid++)
			meet(&s, tid, 8, MAIN);
	}
	AUTO(model) struct model *model = finish(&s, 4);
	assert_int_equal(model->group_count, 2);
	const struct model_fragment *take = fragment_of(model, 1, MODEL_TRY_GET);
	assert_non_null(take);
	const struct model_fragment *alone = &model->groups[1].fragments[take->edges[0].to];
	assert_true(alone->cpu.kind != MODEL_NO_TIME && !alone->cpu.scale.formula);
	for (size_t i = 0; i < model->object_count; i++)
		if (model->objects[i].kind == MODEL_BARRIER)
			assert_true(size_of(model, &model->objects[i]) == 5);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

/* Four threads take what there is; the last of them to find nothing does something else before it ends, and only that one. */
static void the_last_of_a_pool_may_leave_another_way(void **state)
{
	(void)state;
	struct script s = begin(4);
	for (int i = 0; i < 200; i++) {
		uint32_t tid = 1 + (uint32_t)(i * 7) % 13 % 4;
		work(&s, tid, 50000);
		locked(&s, tid, LOCK, 4);
	}
	for (uint32_t tid = 1; tid <= 4; tid++)
		locked(&s, tid, LOCK, 4);
	locked(&s, MAIN, OTHER_LOCK, 12);
	locked(&s, 4, OTHER_LOCK, 8);
	AUTO(model) struct model *model = finish(&s, 4);
	const struct model_group *group = &model->groups[1];
	const struct model_fragment *draw = NULL;
	for (size_t i = 0; i < group->fragment_count && !draw; i++)
		if (group->fragments[i].edge_count == 2 && group->fragments[i].last != MODEL_NONE)
			draw = &group->fragments[i];
	assert_non_null(draw);
	assert_true(value_with(model, &draw->draws, 2) == 2);
	assert_true(value_with(model, &draw->edges[draw->last].probability, 8) == 0.125);
	size_t tickets = 0;
	for (size_t i = 0; i < group->fragment_count; i++)
		tickets += group->fragments[i].op == MODEL_TRY_GET;
	assert_int_equal(tickets, 1);
}

/* The last one to come lets a thread go, which the end of the program then cuts off before it goes on. */
static void who_is_cut_off_at_an_open_barrier_has_arrived(void **state)
{
	(void)state;
	struct script s = begin_team();
	work(&s, 1, 80000);
	op(&s, 1, EVENT_WAIT, WHAT_BARRIER, 200, 8);
	work(&s, MAIN, 100000);
	s.now_ns += 100000;
	meet(&s, MAIN, 8, MAIN);
	AUTO(model) struct model *model = finish(&s, 1);
	assert_non_null(fragment_of(model, 1, MODEL_ARRIVE));
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

/* Waits for tasks, as often as each thread happened to: nobody is told to have ended them. */
static void who_waits_for_tasks_meets_nobody(void **state)
{
	(void)state;
	struct script s = begin_team();
	for (int i = 0; i < 9; i++) {
		uint32_t tid = i < 6 ? 1 : MAIN;
		work(&s, tid, 80000);
		op(&s, tid, EVENT_WAIT, WHAT_BARRIER, 201, 12);
		send(&s, (struct event){ .tid = tid,
				 .kind = EVENT_PASS,
				 .what = WHAT_BARRIER,
				 .object = 201,
				 .site = 12,
				 .flags = EVENT_WAITED });
	}
	s.now_ns += 500000;
	meet(&s, 1, 8, MAIN);
	meet(&s, MAIN, 8, MAIN);
	AUTO(model) struct model *model = finish(&s, 1);
	size_t barriers = 0;
	for (size_t i = 0; i < model->object_count; i++)
		barriers += model->objects[i].kind == MODEL_BARRIER;
	assert_int_equal(barriers, 1);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fabs(fit.simulated_cpu_s / 720e-6 - 1) < 0.05);
}

/* The first one has a quarter of what the other has: alone it would have all. */
static void the_first_of_a_team_may_have_less_than_the_others(void **state)
{
	(void)state;
	struct script s = begin_team();
	for (int i = 0; i < 20; i++) {
		work(&s, MAIN, 20000);
		work(&s, 1, 80000);
		s.now_ns += 80000;
		meet(&s, MAIN, 8, MAIN);
		meet(&s, 1, 8, MAIN);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	const struct model_fragment *first = fragment_of(model, 0, MODEL_ARRIVE);
	const struct model_fragment *second = fragment_of(model, 1, MODEL_ARRIVE);
	assert_non_null(first);
	assert_non_null(second);
	assert_true(fabs(20 * threads_with(model, &first->cpu.scale, 1) - 100) < 0.5);
	assert_true(fabs(threads_with(model, &first->cpu.scale, 2) - 1) < 0.01);
	for (double threads = 2; threads <= 16; threads *= 2) {
		double all = 20 * threads_with(model, &first->cpu.scale, threads) +
			     (threads - 1) * 80 * threads_with(model, &second->cpu.scale, threads);
		assert_true(fabs(all - 100) < 0.5);
	}
}

/* Regions within a region, of one thread each: one more of them in every other round of the first thread. */
static void teams_of_one_meet_nobody(void **state)
{
	(void)state;
	struct script s = begin_team();
	for (int i = 0; i < 20; i++) {
		for (uint32_t j = 0; j < 3; j++) {
			uint32_t tid = j % 2 == 0 ? 1 : MAIN;
			work(&s, tid, 10000);
			if (j < 2 || i % 2 == 0)
				meet(&s, tid, 8, tid);
		}
		s.now_ns += 20000;
		meet(&s, MAIN, 12, MAIN);
		meet(&s, 1, 12, MAIN);
	}
	op(&s, 1, EVENT_WAIT, WHAT_BARRIER, 200, 12); /* until the end */
	s.now_ns += 20000;
	meet(&s, MAIN, 12, MAIN);
	AUTO(model) struct model *model = finish(&s, 1);
	size_t arrivals = 0;
	for (size_t i = 0; i < model->group_count; i++)
		for (size_t j = 0; j < model->groups[i].fragment_count; j++) {
			const struct model_fragment *fragment = &model->groups[i].fragments[j];
			bool is_arrival = fragment->op == MODEL_ARRIVE;
			assert_false(is_arrival && strstr(fragment->name, "@0x8"));
			arrivals += is_arrival;
		}
	assert_true(arrivals >= 2); /* each group's */
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fabs(fit.simulated_cpu_s / 600e-6 - 1) < 0.05);
}

/* A runtime that spins: its CPU time in a barrier is no work. */
static void who_spins_in_a_barrier_does_not_work(void **state)
{
	(void)state;
	struct script s = begin_team();
	for (int i = 0; i < 20; i++) {
		work(&s, 1, 80000);
		send(&s, (struct event){ .tid = 1,
				 .kind = EVENT_WAIT,
				 .what = WHAT_BARRIER,
				 .object = 200,
				 .site = 8,
				 .flags = EVENT_SPINS });
		work(&s, MAIN, 400000);
		work(&s, 1, 320000);
		s.now_ns += 400000;
		meet(&s, MAIN, 8, MAIN);
		send(&s, (struct event){ .tid = 1,
				 .kind = EVENT_PASS,
				 .what = WHAT_BARRIER,
				 .object = 200,
				 .site = 8,
				 .flags = EVENT_WAITED,
				 .value = MAIN });
	}
	AUTO(model) struct model *model = finish(&s, 1);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fabs(fit.simulated_cpu_s / (20 * 480e-6) - 1) < 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_are_started_again_and_again_are_a_pool),
		cmocka_unit_test(work_that_each_does_once_is_shared),
		cmocka_unit_test(waves_of_different_sizes_are_no_pool),
		cmocka_unit_test(what_a_wave_takes_is_put_before_it),
		cmocka_unit_test(who_works_like_those_whom_it_starts_is_one_of_them),
		cmocka_unit_test(who_starts_a_team_is_part_of_it),
		cmocka_unit_test(the_first_thread_may_be_one_of_its_threads),
		cmocka_unit_test(tasks_are_shared_by_the_team),
		cmocka_unit_test(who_gets_what_others_make_has_as_much_work_as_they_make),
		cmocka_unit_test(one_of_a_team_may_always_have_more),
		cmocka_unit_test(the_last_of_a_pool_may_leave_another_way),
		cmocka_unit_test(who_is_cut_off_at_an_open_barrier_has_arrived),
		cmocka_unit_test(who_waits_for_tasks_meets_nobody),
		cmocka_unit_test(the_first_of_a_team_may_have_less_than_the_others),
		cmocka_unit_test(teams_of_one_meet_nobody),
		cmocka_unit_test(who_spins_in_a_barrier_does_not_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
