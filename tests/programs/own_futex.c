/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Four threads that do all of their work under a lock of the program's own, made of a futex as other languages' are. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 40, STEPS = 400000 };
enum { FREE, TAKEN, AWAITED };

atomic_int shop_lock;
static unsigned long total;

static void take(void)
{
	int seen = FREE;
	if (atomic_compare_exchange_strong(&shop_lock, &seen, TAKEN))
		return;
	while (atomic_exchange(&shop_lock, AWAITED) != FREE)
		(void)syscall(SYS_futex, &shop_lock, FUTEX_WAIT_PRIVATE, AWAITED, NULL, NULL, 0);
}

static void give(void)
{
	if (atomic_exchange(&shop_lock, FREE) == AWAITED)
		(void)syscall(SYS_futex, &shop_lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *work(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		take();
		for (unsigned long step = 0; step < STEPS; step++)
			total += total >> 3 ^ step;
		give();
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	printf("%lx\n", total);
	return 0;
}
