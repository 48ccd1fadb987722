/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A phase in which only one thread works, in a helper that the rest of the program calls, too. */
#include "hold.h"

#include <pthread.h>

__attribute__((noinline)) static unsigned helper(unsigned seed)
{
	for (int i = 0; i < 1000000; i++)
		seed = seed * 1664525 + 1013904223;
	return seed;
}

/* The loop keeps both calls from being jumps. */
__attribute__((noinline)) static unsigned lay_out(unsigned seed, double until_s)
{
	while (thread_seconds() < until_s)
		seed = helper(seed);
	return seed;
}

static void *fill(void *argument)
{
	unsigned *seed = argument;
	while (thread_seconds() < 0.05)
		*seed = helper(*seed);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	unsigned seeds[2] = { 1, 2 };
	seeds[0] = lay_out(seeds[0], 0.3);
	check(pthread_create(&thread, NULL, fill, &seeds[1]) == 0, "create");
	pthread_join(thread, NULL);
	return seeds[0] == seeds[1];
}
