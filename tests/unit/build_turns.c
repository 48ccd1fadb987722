/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of threads that do jobs: one thing once in each, threads that are started when there is work, objects of each job. */
#include "build_script.h"

#include "model/graph.h"
#include "model/sample.h"

enum { DONE = 300, MEETING = 200, JOBS = 40 };

/* Whether a thread can come to the operation again without the other in between. */
static bool can_repeat(
	const struct model *model, size_t group, enum model_op wanted, enum model_op other)
{
	const struct model_group *threads = &model->groups[group];
	AUTO_FREE bool *is_reached = calloc(threads->fragment_count + 1, sizeof *is_reached);
	AUTO_FREE uint32_t *open = calloc(3 * threads->fragment_count + 3, sizeof *open);
	assert_true(is_reached && open);
	for (uint32_t from = 0; from < threads->fragment_count; from++) {
		size_t count = 0;
		if (threads->fragments[from].op != wanted)
			continue;
		memset(is_reached, 0, threads->fragment_count * sizeof *is_reached);
		for (open[count++] = from; count > 0;) {
			const struct model_fragment *f = &threads->fragments[open[--count]];
			for (uint32_t i = 0; i <= f->edge_count; i++) {
				uint32_t to = i < f->edge_count     ? f->edges[i].to
					      : f->op == MODEL_LOOP ? f->body
								    : (uint32_t)MODEL_NONE;
				if (to >= threads->fragment_count || is_reached[to])
					continue;
				is_reached[to] = true;
				if (threads->fragments[to].op == wanted)
					return true;
				if (threads->fragments[to].op != other)
					open[count++] = to;
			}
		}
	}
	return false;
}

static void lock_often(struct script *s, uint32_t tid, uint32_t *random)
{
	*random = *random * 1103515245 + 12345;
	for (uint32_t i = *random >> 16 & 3; i > 0; i--)
		locked(s, tid, LOCK, 4);
}

/* Between two meetings: locks, how often is left to chance; one post; more locks at the same place. */
static void what_is_done_once_in_a_turn_stays_so(void **state)
{
	(void)state;
	struct script s = begin(2);
	uint32_t random = 1;
	for (int i = 0; i < JOBS; i++)
		for (uint32_t tid = 1; tid <= 2; tid++) {
			op(&s, tid, EVENT_PASS, WHAT_BARRIER, MEETING, 8);
			lock_often(&s, tid, &random);
			work(&s, tid, 1000);
			op(&s, tid, EVENT_RELEASE, WHAT_SEM, DONE, 12);
			lock_often(&s, tid, &random);
			work(&s, tid, 1000);
		}
	AUTO(model) struct model *model = finish(&s, 2);
	assert_int_equal(model->group_count, 2);
	assert_non_null(fragment_of(model, 1, MODEL_POST));
	assert_false(can_repeat(model, 1, MODEL_POST, MODEL_ARRIVE));
	assert_false(can_repeat(model, 1, MODEL_ARRIVE, MODEL_POST));
	assert_true(can_repeat(model, 1, MODEL_LOCK, MODEL_ARRIVE));
}

/* How often the model's threads do it, played at `seed` with so many workers; 0: as recorded. */
static double times_played(
	const struct model *model, size_t group, enum model_op op, uint64_t seed, double workers)
{
	AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
	AUTO_FREE double *parameters = calloc(model->parameter_count + 1, sizeof *parameters);
	assert_true(row && parameters);
	for (size_t i = 0; i < model->parameter_count; i++)
		parameters[i] = model->parameters[i].value;
	if (workers > 0)
		parameters[model_find_parameter(model, "workers")] = workers;
	const struct sample_options options = {
		.model = model, .parameters = parameters, .seed = seed
	};
	struct err err;
	if (sample_run(&options, row, &err) < 0)
		fail_msg("%s", err.text);
	double times = 0;
	for (uint32_t i = 0; i < model->groups[group].fragment_count; i++)
		if (model->groups[group].fragments[i].op == op)
			times += row[graph_fragment_at(model, group, i) + GRAPH_COUNT];
	return times;
}

/* Main posts at some turns and not at others, until it ends: a walk of chance would post more or less. */
static void what_one_thread_did_in_all_is_what_it_does(void **state)
{
	(void)state;
	struct script s = begin(0);
	uint32_t random = 7;
	double posts = 0;
	for (int i = 0; i < JOBS; i++) {
		random = random * 1103515245 + 12345;
		work(&s, MAIN, 1000);
		locked(&s, MAIN, LOCK, 4);
		if (random >> 16 & 1) {
			op(&s, MAIN, EVENT_RELEASE, WHAT_SEM, DONE, 12);
			posts++;
		}
	}
	AUTO(model) struct model *model = finish(&s, 0);
	for (uint64_t seed = 1; seed <= 5; seed++) {
		assert_true(times_played(model, 0, MODEL_LOCK, seed, 0) == JOBS);
		assert_true(times_played(model, 0, MODEL_POST, seed, 0) == posts);
	}
}

/* One of two workers leaves their loop in the middle, the other one at its end. */
static void work_is_shared_by_those_who_leave_elsewhere(void **state)
{
	(void)state;
	struct script s = begin(2);
	double locks = 0;
	for (uint32_t tid = 1; tid <= 2; tid++)
		for (uint32_t i = 0; i < JOBS / tid; i++) {
			work(&s, tid, 1000);
			locked(&s, tid, LOCK, 4);
			if (tid == 2 || i + 1 < JOBS)
				locked(&s, tid, OTHER_LOCK, 6);
			locks += tid == 2 || i + 1 < JOBS ? 2 : 1;
		}
	AUTO(model) struct model *model = finish(&s, 2);
	for (double workers = 1; workers <= 4; workers++)
		assert_true(times_played(model, 1, MODEL_LOCK, 1, workers) == locks);
}

/* A worker does each of two jobs with a lock and a queue of its own, ten times: which was the last does not matter after it. */
static void a_turn_parts_only_what_is_in_turns(void **state)
{
	(void)state;
	struct script s = begin(1);
	for (uint64_t job = 0; job < 2; job++) {
		locked(&s, 1, LOCK, 4);
		for (int i = 0; i < 10; i++) {
			work(&s, 1, 1000);
			locked(&s, 1, 1000 + job, 20);
			op(&s, 1, EVENT_RELEASE, WHAT_QUEUE, 2000 + job, 24);
		}
	}
	locked(&s, 1, LOCK, 4);
	AUTO(model) struct model *model = finish(&s, 1);
	uint32_t lock = model_find_object(model, "mutex");
	size_t places = 0;
	for (uint32_t i = 0; i < model->groups[1].fragment_count; i++)
		places += model->groups[1].fragments[i].op == MODEL_LOCK &&
			  model->groups[1].fragments[i].object == lock;
	assert_int_equal(places, 1);
}

/* One thread at the first job, the next at the second. */
static void threads_that_are_started_one_by_one_are_a_pool(void **state)
{
	(void)state;
	struct script s = begin(0);
	for (uint32_t i = 0; i < JOBS; i++) {
		locked(&s, MAIN, LOCK, 20);
		if (i < 3)
			start(&s, i + 1);
		for (uint32_t tid = 1; tid <= 3 && tid <= i + 1; tid++) {
			work(&s, tid, 5000);
			locked(&s, tid, LOCK, 4);
		}
	}
	AUTO(model) struct model *model = finish(&s, 3);
	assert_int_equal(model->group_count, 2);
	const struct model_fragment *spawn = fragment_of(model, 0, MODEL_SPAWN);
	assert_non_null(spawn);
	assert_true(value_with(model, &spawn->count.value, 7) == 7);
}

static void at(struct script *s, uint32_t tid, enum event_kind kind, enum event_what what,
	uint64_t object, uint64_t value, uint16_t flags)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = (uint8_t)what,
			.flags = flags,
			.object = object,
			.site = 30 + tid,
			.value = value });
}

static void wait_for_job(struct script *s, uint64_t lock, uint64_t condition)
{
	at(s, MAIN, EVENT_PASS, WHAT_MUTEX, lock, 0, 0);
	at(s, MAIN, EVENT_RELEASE, WHAT_MUTEX, lock, 0, EVENT_IMPLICIT);
	at(s, MAIN, EVENT_WAIT, WHAT_COND, condition, lock, 0);
}

static void end_job(struct script *s, uint64_t lock, uint64_t condition)
{
	work(s, 1, 5000);
	at(s, 1, EVENT_PASS, WHAT_MUTEX, lock, 0, 0);
	at(s, 1, EVENT_RELEASE, WHAT_COND, condition, 0, EVENT_ALL);
	at(s, 1, EVENT_RELEASE, WHAT_MUTEX, lock, 0, 0);
}

/* Each job has a lock and a condition of its own; main waits for every other one, the rest are done before. */
static void conditions_of_each_job_are_one_queue(void **state)
{
	(void)state;
	struct script s = begin(1);
	for (uint64_t job = 0; job < JOBS; job++) {
		uint64_t lock = 1000 + 10 * job, condition = lock + 5;
		if (job % 2) {
			wait_for_job(&s, lock, condition);
			end_job(&s, lock, condition);
			at(&s, MAIN, EVENT_PASS, WHAT_COND, condition, 0, EVENT_WAITED);
			at(&s, MAIN, EVENT_PASS, WHAT_MUTEX, lock, 0, EVENT_IMPLICIT);
		} else {
			end_job(&s, lock, condition);
			at(&s, MAIN, EVENT_PASS, WHAT_MUTEX, lock, 0, 0);
		}
		at(&s, MAIN, EVENT_RELEASE, WHAT_MUTEX, lock, 0, 0);
	}
	AUTO(model) struct model *model = finish(&s, 1);
	size_t queues = 0;
	for (size_t i = 0; i < model->object_count; i++)
		queues += model->objects[i].kind == MODEL_QUEUE;
	assert_int_equal(queues, 1);
	assert_null(fragment_of(model, 1, MODEL_CLOSE));
	assert_false(can_repeat(model, 0, MODEL_LOCK, MODEL_GET));
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

static void io(struct script *s, enum event_kind kind, uint16_t flags)
{
	send(s, (struct event){ .tid = 1,
			.kind = (uint8_t)kind,
			.what = WHAT_IO,
			.flags = flags,
			.site = 5,
			.value = kind == EVENT_WAIT ? EVENT_IO_SIGNAL : 0 });
}

static void join(struct script *s, enum event_kind kind, uint16_t flags)
{
	send(s, (struct event){ .tid = MAIN,
			.kind = (uint8_t)kind,
			.what = WHAT_JOIN,
			.flags = flags,
			.site = 6,
			.value = 1 });
}

/* A thread waits for a signal for 50 ms; main joins it from `early_ns` before that is over. */
static struct model *signalled(uint64_t early_ns)
{
	struct script s = begin(1);
	uint64_t end_ns = s.now_ns + 50000000;
	io(&s, EVENT_WAIT, 0);
	s.now_ns = end_ns - early_ns;
	join(&s, EVENT_WAIT, 0);
	s.now_ns = end_ns;
	io(&s, EVENT_PASS, EVENT_WAITED);
	op(&s, 1, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
	join(&s, EVENT_PASS, EVENT_WAITED);
	return finish(&s, 0);
}

static void who_is_let_go_by_its_joiner_need_not_be_waited_for(void **state)
{
	(void)state;
	AUTO(model) struct model *own = signalled(100000);
	struct model_fit fit;
	assert_int_equal(model_fit_run(own, &fit), 0);
	assert_true(fit.simulated_s < 0.001);
	AUTO(model) struct model *from_outside = signalled(30000000);
	assert_int_equal(model_fit_run(from_outside, &fit), 0);
	assert_true(fit.simulated_s > 0.04);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_done_once_in_a_turn_stays_so),
		cmocka_unit_test(what_one_thread_did_in_all_is_what_it_does),
		cmocka_unit_test(work_is_shared_by_those_who_leave_elsewhere),
		cmocka_unit_test(a_turn_parts_only_what_is_in_turns),
		cmocka_unit_test(threads_that_are_started_one_by_one_are_a_pool),
		cmocka_unit_test(conditions_of_each_job_are_one_queue),
		cmocka_unit_test(who_is_let_go_by_its_joiner_need_not_be_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
