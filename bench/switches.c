/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * switches TURNS LOOPS: two threads that hand a token to one another, with LOOPS rounds of a loop of
 * arithmetic at each turn. Prints the seconds that this took, the processor seconds (with what the kernel
 * did in their time), and how often threads left a core.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

struct player {
	sem_t *mine, *other;
	long turns, loops;
	uint64_t result;
};

static double now_s(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void *play(void *argument)
{
	struct player *player = argument;
	uint64_t x = 88172645463325252u;
	for (long turn = 0; turn < player->turns; turn++) {
		while (sem_wait(player->mine) < 0)
			continue;
		for (long i = 0; i < player->loops; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		sem_post(player->other);
	}
	player->result = x;
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fputs("usage: switches TURNS LOOPS\n", stderr);
		return 2;
	}
	sem_t first, second;
	if (sem_init(&first, 0, 1) < 0 || sem_init(&second, 0, 0) < 0)
		return 1;
	struct player players[] = {
		{ &first, &second, atol(argv[1]), atol(argv[2]), 0 },
		{ &second, &first, atol(argv[1]), atol(argv[2]), 0 },
	};
	double start_s = now_s();
	pthread_t thread;
	if (pthread_create(&thread, NULL, play, &players[1]) != 0)
		return 1;
	(void)play(&players[0]);
	(void)pthread_join(thread, NULL); /* it was just created */
	double elapsed_s = now_s() - start_s;
	struct rusage usage;
	(void)getrusage(RUSAGE_SELF, &usage); /* cannot fail */
	printf("%.6f %.6f %ld\n", elapsed_s, seconds(usage.ru_utime) + seconds(usage.ru_stime),
		usage.ru_nvcsw + usage.ru_nivcsw);
	return players[0].result == players[1].result ? 0 : 1;
}
