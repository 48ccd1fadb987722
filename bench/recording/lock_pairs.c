/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lock_pairs COUNT: locks and unlocks a free mutex COUNT times, and prints the nanoseconds of the
 * thread's own processor time for one pair.
 */
#include "base/number.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

static double cpu_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* cannot fail with this clock */
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint32_t count;
	if (argc != 2 || number_parse_u32(argv[1], &count) < 0 || count == 0) {
		fputs("usage: lock_pairs COUNT\n", stderr);
		return 2;
	}
	double start_ns = cpu_ns();
	for (uint32_t i = 0; i < count; i++) {
		(void)pthread_mutex_lock(&lock); /* free: cannot fail */
		(void)pthread_mutex_unlock(&lock);
	}
	printf("%.3f\n", (cpu_ns() - start_ns) / count);
	return 0;
}
