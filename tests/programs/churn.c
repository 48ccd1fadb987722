/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * churn THREADS: starts so many threads, each when the one before has ended, beside one that works all the time.
 * Prints the resident memory of its parent process, in KiB, after a quarter of them and in the end.
 */
#include "hold.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_bool is_over;

static void *end(void *context)
{
	return context;
}

static void *work(void *context)
{
	while (!is_over)
		continue;
	return context;
}

static long memory_of_parent(void)
{
	char path[64], line[256];
	long kib = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", getppid());
	FILE *file = fopen(path, "re");
	check(file != NULL, path);
	while (fgets(line, sizeof(line), file) && sscanf(line, "VmRSS: %ld", &kib) != 1)
		continue;
	check(fclose(file) == 0, path);
	return kib;
}

int main(int argc, char **argv)
{
	long threads = argc == 2 ? atol(argv[1]) : 0;
	check(threads > 3, "churn THREADS");
	pthread_t worker, thread;
	check(pthread_create(&worker, NULL, work, NULL) == 0, "pthread_create");
	for (long i = 1; i <= threads; i++) {
		check(pthread_create(&thread, NULL, end, NULL) == 0, "pthread_create");
		check(pthread_join(thread, NULL) == 0, "pthread_join");
		if (i == threads / 4 || i == threads)
			printf("%ld\n", memory_of_parent());
	}
	is_over = true;
	check(pthread_join(worker, NULL) == 0, "pthread_join");
	return 0;
}
