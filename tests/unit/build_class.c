/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is used at one place, and of one class: locks, if each is taken whatever was taken before, and queues of which each thread of a pool has one. */
#include "build_script.h"

enum { THREADS = 2, LOCKS = 3, TURNS = 120, PLACE = 4 };

static struct model *take(bool at_random)
{
	struct script s = begin(THREADS);
	uint64_t seed = 3;
	for (uint64_t turn = 0; turn < TURNS; turn++)
		for (uint32_t tid = 1; tid <= THREADS; tid++) {
			seed = seed * 6364136223846793005U + 1442695040888963407U;
			uint64_t lock = at_random ? (seed >> 33) % LOCKS : turn % LOCKS;
			work(&s, tid, 20000);
			locked(&s, tid, LOCK + lock, PLACE);
		}
	return finish(&s, THREADS);
}

static size_t count_locks(const struct model *model)
{
	size_t count = 0;
	for (size_t i = 0; i < model->object_count; i++)
		count += model->objects[i].kind == MODEL_MUTEX;
	return count;
}

static void locks_that_are_drawn_are_one_of_several_instances(void **state)
{
	(void)state;
	AUTO(model) struct model *model = take(true);
	assert_int_equal(count_locks(model), 1);
	const struct model_fragment *lock = fragment_of(model, 1, MODEL_LOCK);
	assert_non_null(lock);
	assert_true(size_of(model, &model->objects[lock->object]) == LOCKS);
}

static void locks_that_are_taken_in_turn_stay_apart(void **state)
{
	(void)state;
	AUTO(model) struct model *model = take(false);
	assert_int_equal(count_locks(model), LOCKS);
}

/* Each worker has a pipe for what it made, from all of which main reads as they come; or main has two places for that. */
static struct model *collect(bool at_one_place)
{
	enum { PIPE = 200, MADE = 30, READ = 40 };
	struct script s = begin(THREADS);
	uint64_t seed = 3;
	for (int i = 0; i < 2 * TURNS; i++) {
		seed = seed * 6364136223846793005U + 1442695040888963407U;
		uint32_t tid = 1 + (uint32_t)(seed >> 33) % THREADS;
		work(&s, tid, 50000);
		const struct event made = { .tid = tid,
			.kind = EVENT_RELEASE,
			.what = WHAT_QUEUE,
			.object = PIPE + tid,
			.site = MADE,
			.value = 8 };
		struct event got = made;
		got.tid = MAIN;
		got.kind = EVENT_PASS;
		got.site = at_one_place ? READ : READ + tid;
		send(&s, made);
		send(&s, got);
	}
	return finish(&s, THREADS);
}

static size_t count_queues(const struct model *model)
{
	size_t count = 0;
	for (size_t i = 0; i < model->object_count; i++)
		count += model->objects[i].kind == MODEL_QUEUE &&
			 strncmp(model->objects[i].name, "work", 4) != 0;
	return count;
}

static void results_of_a_pool_that_one_thread_gets_are_one_queue(void **state)
{
	(void)state;
	AUTO(model) struct model *together = collect(true);
	AUTO(model) struct model *apart = collect(false);
	assert_int_equal(count_queues(together), 1);
	assert_int_equal(count_queues(apart), THREADS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locks_that_are_drawn_are_one_of_several_instances),
		cmocka_unit_test(locks_that_are_taken_in_turn_stay_apart),
		cmocka_unit_test(results_of_a_pool_that_one_thread_gets_are_one_queue),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
