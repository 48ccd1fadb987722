/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads that sleep in a call of the C library that nobody knows by that name: 20 times 5 ms. */
#include <pthread.h>
#include <stddef.h>
#include <sys/select.h>

int __select(int end, fd_set *in, fd_set *out, fd_set *bad, struct timeval *limit);

static void *sleep_often(void *unused)
{
	for (int i = 0; i < 20; i++) {
		struct timeval moment = { .tv_usec = 5000 };
		(void)__select(0, NULL, NULL, NULL, &moment);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, sleep_often, NULL) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		(void)pthread_join(threads[i], NULL);
	return 0;
}
