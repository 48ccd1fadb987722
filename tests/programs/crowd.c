/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * crowd threads N: N threads that are all there at the same time, each of which takes a lock 10 times.
 * crowd forks N: N processes, all there at the same time, of two such threads each.
 */
#include "hold.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOCKS = 10, MAX = 10000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_there;
static int taken; /* guarded by lock */

static void *take_lock(void *unused)
{
	(void)pthread_barrier_wait(&all_there); /* tells one that it is the last */
	for (int i = 0; i < LOCKS; i++) {
		check(pthread_mutex_lock(&lock) == 0, "lock");
		taken++;
		check(pthread_mutex_unlock(&lock) == 0, "unlock");
	}
	return unused;
}

static void run_threads(int count)
{
	static pthread_t threads[MAX];
	pthread_attr_t small;
	check(pthread_attr_init(&small) == 0, "attributes");
	check(pthread_attr_setstacksize(&small, 1 << 16) == 0, "stack size");
	check(pthread_barrier_init(&all_there, NULL, (unsigned)count) == 0, "barrier");
	for (int i = 0; i < count; i++)
		check(pthread_create(&threads[i], &small, take_lock, NULL) == 0, "create");
	for (int i = 0; i < count; i++)
		check(pthread_join(threads[i], NULL) == 0, "join");
	check(taken == count * LOCKS, "counting");
}

static void run_forks(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t child = fork();
		check(child >= 0, "fork");
		if (child == 0) {
			run_threads(2);
			_exit(0);
		}
	}
	for (int i = 0; i < count; i++) {
		int status = -1;
		check(wait(&status) > 0 && status == 0, "child");
	}
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[2]) : 0;
	check(count > 0 && count <= MAX, "crowd threads|forks N: reading the arguments");
	if (strcmp(argv[1], "threads") == 0)
		run_threads(count);
	else
		run_forks(count);
	printf("%s %d\n", argv[1], count);
	return 0;
}
