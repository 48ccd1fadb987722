/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * progress N: two threads take a lock N times in all, and write a dot whenever they have released it.
 * Whenever it is killed, the lock was taken at least as often as there are dots.
 */
#include "hold.h"

#include <pthread.h>
#include <unistd.h>

enum { WORK = 20000 };

static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;
static int remaining; /* guarded by progress_lock */

/* Whether there was something left to do. */
static bool take(void)
{
	check(pthread_mutex_lock(&progress_lock) == 0, "lock");
	bool is_left = remaining > 0;
	remaining -= is_left;
	check(pthread_mutex_unlock(&progress_lock) == 0, "unlock");
	return is_left;
}

static void *run(void *unused)
{
	while (take()) {
		check(write(STDOUT_FILENO, ".", 1) == 1, "write");
		for (volatile int i = 0; i < WORK; i++)
			continue;
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	remaining = argc == 2 ? atoi(argv[1]) : 0;
	check(remaining > 0, "progress N: reading the argument");
	for (int i = 0; i < 2; i++)
		check(pthread_create(&threads[i], NULL, run, NULL) == 0, "create");
	for (int i = 0; i < 2; i++)
		check(pthread_join(threads[i], NULL) == 0, "join");
	return 0;
}
