/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * free_locks PAIRS [BEFORE_NAP]: the main thread takes a free mutex PAIRS times, and sleeps 2 ms each BEFORE_NAP times. Then it takes a second one, for which
 * another thread comes to wait, and a third one, with which it sleeps. Nothing else takes a mutex.
 */
#include "hold.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

static pthread_mutex_t often = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t awaited = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t slept_with = PTHREAD_MUTEX_INITIALIZER;

static void take(pthread_mutex_t *mutex)
{
	check(pthread_mutex_lock(mutex) == 0, "lock");
}

static void give_back(pthread_mutex_t *mutex)
{
	check(pthread_mutex_unlock(mutex) == 0, "unlock");
}

static void *wait_for_it(void *unused)
{
	take(&awaited);
	give_back(&awaited);
	return unused;
}

int main(int argc, char **argv)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	pthread_t thread;
	const struct timespec nap = { .tv_nsec = 2000000 };
	check(argc == 2 || argc == 3, "usage: free_locks PAIRS [BEFORE_NAP]");
	long before_nap = argc == 3 ? atol(argv[2]) : 0;
	for (long i = atol(argv[1]); i > 0; i--) {
		take(&often);
		give_back(&often);
		if (before_nap > 0 && i % before_nap == 0)
			(void)nanosleep(&nap, NULL); /* a shorter one is as good */
	}
	take(&awaited);
	check(pthread_create(&thread, NULL, wait_for_it, NULL) == 0, "create");
	enum { SOMEBODY_WAITS = 2 }; /* glibc's */
	while (__atomic_load_n(&awaited.__data.__lock, __ATOMIC_RELAXED) != SOMEBODY_WAITS)
		(void)sched_yield(); /* cannot fail on Linux */
	give_back(&awaited);
	check(pthread_join(thread, NULL) == 0, "join");
	take(&slept_with);
	(void)nanosleep(&moment, NULL); /* a shorter one is as good */
	give_back(&slept_with);
	return 0;
}
