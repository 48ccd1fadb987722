/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pool_server SECONDS WORKERS: a server whose load changes twice, so that its best number of workers does. A request
 * of the first third computes, one of the second is handed around under one lock, one of the last waits for a disk
 * (that is: sleeps). There is always one more request. Prints how many were served in each third.
 */
#include <corecast/pool.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORKERS_MAX = 256, LOADS = 3, COMPUTE_STEPS = 400000, TURNS = 1000, TURN_STEPS = 40 };
enum { DISK_NS = 4000000, DISK_STEPS = 20000 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static atomic_int load; /* which third; LOADS: it is over */
static atomic_long served[LOADS];

static void compute(long steps)
{
	uint64_t value = 1;
	for (long i = 0; i < steps; i++) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(value)); /* no step may be left out */
	}
}

static void hand_around(void)
{
	for (int i = 0; i < TURNS; i++) {
		(void)pthread_mutex_lock(&shared); /* cannot fail */
		compute(TURN_STEPS);
		(void)pthread_mutex_unlock(&shared); /* cannot fail */
	}
}

static void wait_for_disk(void)
{
	const struct timespec request = { .tv_nsec = DISK_NS };
	compute(DISK_STEPS);
	(void)nanosleep(&request, NULL); /* shorter is no harm */
}

static void *work(void *context)
{
	unsigned worker = (unsigned)(uintptr_t)context;
	for (int kind; (kind = load) < LOADS;) {
		if (!corecast_pool_wait(worker, 50))
			continue;
		if (kind == 0)
			compute(COMPUTE_STEPS);
		else if (kind == 1)
			hand_around();
		else
			wait_for_disk();
		served[kind]++;
		corecast_pool_done(1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 ? atof(argv[1]) : 0;
	int workers = argc == 3 ? atoi(argv[2]) : 0;
	if (!(seconds > 0 && seconds < 1e6) || workers < 1 || workers > WORKERS_MAX) {
		fprintf(stderr, "Usage: pool_server SECONDS WORKERS\n");
		return 2;
	}
	pthread_t threads[WORKERS_MAX];
	for (int i = 0; i < workers; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0) {
			fprintf(stderr, "pool_server: cannot start thread %d\n", i);
			return 1;
		}
	double third = seconds / LOADS;
	const struct timespec pause = { .tv_sec = (time_t)third,
		.tv_nsec = (long)((third - (double)(time_t)third) * 1e9) };
	for (int i = 0; i < LOADS; i++) {
		(void)nanosleep(&pause, NULL); /* shorter is no harm */
		load++;
	}
	for (int i = 0; i < workers; i++)
		(void)pthread_join(threads[i], NULL); /* it is joinable */
	printf("%ld %ld %ld\n", served[0], served[1], served[2]);
	return 0;
}
