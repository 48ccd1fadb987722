/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads that sleep by calls of their own, as locks of other languages do: 20 times 5 ms. */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void *sleep_often(void *unused)
{
	static int word;
	const struct timespec moment = { .tv_nsec = 5000000 };
	for (int i = 0; i < 20; i++)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &moment, NULL, 0);
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
