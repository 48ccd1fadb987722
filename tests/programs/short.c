/* SPDX-License-Identifier: GPL-3.0-or-later */
/* short COUNT: as many threads, one after the other; above 32768 the kernel may use tids again. */
#include "hold.h"

#include <pthread.h>

static void *do_nothing(void *argument)
{
	return argument;
}

int main(int argc, char **argv)
{
	check(argc == 2, "usage: short COUNT");
	for (long i = atol(argv[1]); i > 0; i--) {
		pthread_t thread;
		check(pthread_create(&thread, NULL, do_nothing, NULL) == 0, "create");
		check(pthread_join(thread, NULL) == 0, "join");
	}
	return 0;
}
