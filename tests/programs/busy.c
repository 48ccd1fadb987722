/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads each spend 200 ms of processor time in functions that samples must find. */
#include "hold.h"

#include <pthread.h>

__attribute__((noinline)) static unsigned spend_most(unsigned seed)
{
	for (int i = 0; i < 3000000; i++)
		seed = seed * 1664525 + 1013904223;
	return seed;
}

__attribute__((noinline)) static unsigned spend_some(unsigned seed)
{
	for (int i = 0; i < 300000; i++)
		seed = seed * 22695477 + 1;
	return seed;
}

__attribute__((noinline)) static void *work(void *argument)
{
	unsigned *seed = argument;
	while (thread_seconds() < 0.2)
		*seed = spend_some(spend_most(*seed));
	return NULL;
}

int main(void)
{
	pthread_t thread;
	unsigned seeds[2] = { 1, 2 };
	check(pthread_create(&thread, NULL, work, &seeds[0]) == 0, "create");
	work(&seeds[1]);
	pthread_join(thread, NULL);
	return seeds[0] == seeds[1];
}
