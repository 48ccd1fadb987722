/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * churn THREADS [PER_S]: starts so many threads, each when the one before has ended, beside one that works all the time; or PER_S a
 * second, which live for five milliseconds, beside none. Prints the resident memory of its parent process, in KiB, after a quarter of them and in the end.
 */
#include "hold.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_bool is_over;
static atomic_long ended;

static void *end(void *context)
{
	return context;
}

static void *live(void *context)
{
	(void)usleep(5000); /* shorter is no harm */
	ended++;
	return context;
}

static double now_s(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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

static void start_in_time(long threads, double per_s)
{
	pthread_attr_t detached;
	check(pthread_attr_init(&detached) == 0, "pthread_attr_init");
	check(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED) == 0, "detached");
	double start = now_s();
	for (long i = 1; i <= threads; i++) {
		pthread_t thread;
		while (now_s() - start < (double)i / per_s)
			(void)usleep(100); /* shorter is no harm */
		check(pthread_create(&thread, &detached, live, NULL) == 0, "pthread_create");
		if (i == threads / 4 || i == threads)
			printf("%ld\n", memory_of_parent());
	}
	while (ended < threads)
		(void)usleep(100); /* as above */
}

int main(int argc, char **argv)
{
	long threads = argc == 2 || argc == 3 ? atol(argv[1]) : 0;
	double per_s = argc == 3 ? atof(argv[2]) : 0;
	check(threads > 3 && per_s >= 0, "churn THREADS [PER_S]");
	if (per_s > 0) {
		start_in_time(threads, per_s);
		return 0;
	}
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
