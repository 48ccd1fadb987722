/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mutexes that the preload library takes and gives back itself, beside the C library's functions for them. */
#include "preload/plain_mutex.h"

#include "cmocka_all.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

enum { ROUNDS = 20000, THREADS = 3 };

struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	unsigned count;
	bool is_ready;
};

static void the_c_library_sees_who_has_it(void **state)
{
	(void)state;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	assert_true(plain_mutex_is(&mutex));
	assert_true(plain_mutex_take(&mutex, (uint32_t)gettid()));
	assert_int_equal(pthread_mutex_trylock(&mutex), EBUSY);
	assert_false(plain_mutex_take(&mutex, (uint32_t)gettid()));
	assert_true(plain_mutex_give(&mutex));
	assert_int_equal(pthread_mutex_lock(&mutex), 0);
	assert_false(plain_mutex_take(&mutex, (uint32_t)gettid()));
	assert_true(plain_mutex_give(&mutex));
	assert_true(plain_mutex_take(&mutex, (uint32_t)gettid()));
	assert_int_equal(pthread_mutex_unlock(&mutex), 0);
	assert_int_equal(pthread_mutex_destroy(&mutex), 0);
}

static void other_kinds_are_left_to_the_c_library(void **state)
{
	(void)state;
	static const int kinds[] = { PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		pthread_mutexattr_t attributes;
		pthread_mutex_t mutex;
		assert_int_equal(pthread_mutexattr_init(&attributes), 0);
		assert_int_equal(pthread_mutexattr_settype(&attributes, kinds[i]), 0);
		assert_int_equal(pthread_mutex_init(&mutex, &attributes), 0);
		assert_false(plain_mutex_is(&mutex));
		assert_int_equal(pthread_mutex_destroy(&mutex), 0);
		assert_int_equal(pthread_mutexattr_destroy(&attributes), 0);
	}
}

static void *lock_once(void *context)
{
	struct shared *shared = context;
	assert_int_equal(pthread_mutex_lock(&shared->mutex), 0);
	shared->count++;
	assert_int_equal(pthread_mutex_unlock(&shared->mutex), 0);
	return NULL;
}

static void it_is_kept_where_somebody_sleeps_until_it_is_free(void **state)
{
	(void)state;
	struct shared shared = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread;
	assert_true(plain_mutex_take(&shared.mutex, (uint32_t)gettid()));
	assert_int_equal(pthread_create(&thread, NULL, lock_once, &shared), 0);
	while (__atomic_load_n(&shared.mutex.__data.__lock, __ATOMIC_RELAXED) !=
		PLAIN_MUTEX_AWAITED)
		sched_yield();
	assert_false(plain_mutex_give(&shared.mutex));
	assert_int_equal(shared.mutex.__data.__owner, gettid());
	assert_int_equal(shared.count, 0);
	assert_int_equal(pthread_mutex_unlock(&shared.mutex), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(shared.count, 1);
}

/* As the preload library does: the C library's way where its own cannot. */
static void take(pthread_mutex_t *mutex)
{
	if (!plain_mutex_take(mutex, (uint32_t)gettid()))
		assert_int_equal(pthread_mutex_lock(mutex), 0);
}

static void give(pthread_mutex_t *mutex)
{
	if (!plain_mutex_give(mutex))
		assert_int_equal(pthread_mutex_unlock(mutex), 0);
}

static void *count_up(void *context)
{
	struct shared *shared = context;
	for (unsigned i = 0; i < ROUNDS; i++) {
		take(&shared->mutex);
		shared->count++;
		give(&shared->mutex);
	}
	return NULL;
}

static void both_ways_exclude_one_another(void **state)
{
	(void)state;
	struct shared shared = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_up, &shared), 0);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(shared.count, THREADS * ROUNDS);
}

static void *make_ready(void *context)
{
	struct shared *shared = context;
	take(&shared->mutex);
	shared->is_ready = true;
	assert_int_equal(pthread_cond_signal(&shared->cond), 0);
	give(&shared->mutex);
	return NULL;
}

static void a_condition_gives_it_back_and_takes_it_again(void **state)
{
	(void)state;
	struct shared shared = { .mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER };
	pthread_t thread;
	assert_true(plain_mutex_take(&shared.mutex, (uint32_t)gettid()));
	assert_int_equal(pthread_create(&thread, NULL, make_ready, &shared), 0);
	while (!shared.is_ready)
		assert_int_equal(pthread_cond_wait(&shared.cond, &shared.mutex), 0);
	give(&shared.mutex);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(shared.mutex.__data.__nusers, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_c_library_sees_who_has_it),
		cmocka_unit_test(other_kinds_are_left_to_the_c_library),
		cmocka_unit_test(it_is_kept_where_somebody_sleeps_until_it_is_free),
		cmocka_unit_test(both_ways_exclude_one_another),
		cmocka_unit_test(a_condition_gives_it_back_and_takes_it_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
