/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * turns ROUNDS FIRST_MS SECOND_MS [WORD]: two threads of which never more than one has work. Each
 * prints "NAME TID NS": the time in which it worked while it had seen both others asleep, which is
 * a lower bound of its criticality on any machine, however loaded.
 *
 * Statically linked: nothing can be preloaded into it. With a WORD it waits for a byte on standard
 * input before it starts the threads, so that one can attach to it first.
 */
#include "hold.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

struct player {
	const char *name;
	long turn_ms;
	long rounds;
	struct player *other;
	atomic_int tid;
	sem_t turn;
	uint64_t alone_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	check(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock_gettime");
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void work_ms(long ms)
{
	uint64_t end_ns = now_ns() + (uint64_t)ms * 1000000;
	while (now_ns() < end_ns)
		continue;
}

static bool is_quiet(int tid)
{
	return is_asleep(tid) || has_ended(tid);
}

static void *play(void *argument)
{
	struct player *player = argument;
	check(prctl(PR_SET_NAME, player->name) == 0, "prctl");
	player->tid = gettid();
	for (long i = 0; i < player->rounds; i++) {
		check(sem_wait(&player->turn) == 0, "sem_wait");
		while (!is_quiet(player->other->tid) || !is_asleep(getpid()))
			continue;
		uint64_t begin_ns = now_ns();
		work_ms(player->turn_ms);
		player->alone_ns += now_ns() - begin_ns;
		check(sem_post(&player->other->turn) == 0, "sem_post");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	check(argc >= 4, "usage: turns ROUNDS FIRST_MS SECOND_MS [WORD]");
	char byte;
	if (argc > 4)
		check(read(STDIN_FILENO, &byte, 1) == 1, "read");
	static struct player first = { .name = "first" };
	static struct player second = { .name = "second" };
	first.rounds = second.rounds = atol(argv[1]);
	first.turn_ms = atol(argv[2]);
	second.turn_ms = atol(argv[3]);
	first.other = &second;
	second.other = &first;
	check(sem_init(&first.turn, 0, 0) == 0 && sem_init(&second.turn, 0, 0) == 0, "sem_init");
	pthread_t threads[2];
	check(pthread_create(&threads[0], NULL, play, &first) == 0, "create");
	check(pthread_create(&threads[1], NULL, play, &second) == 0, "create");
	while (first.tid == 0 || second.tid == 0)
		sleep_ms(1);
	check(sem_post(&first.turn) == 0, "sem_post");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("first %d %ju\nsecond %d %ju\n", first.tid, (uintmax_t)first.alone_ns, second.tid,
		(uintmax_t)second.alone_ns);
	return 0;
}
