/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pool FILE WORD: six workers of a pool (corecast/pool.h) until the file has the word in it; prints which of them had
 * leave to work; each has asked for it then. Makes a file FILE.all when the last one has it.
 */
#include "base/cleanup.h"
#include "has_word.h"
#include "hold.h"

#include <corecast/pool.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { WORKERS = 6 };

static atomic_bool is_over, seen[WORKERS], has_asked[WORKERS];

static void *work(void *context)
{
	unsigned worker = (unsigned)(uintptr_t)context;
	while (!is_over) {
		bool may = corecast_pool_wait(worker, 20);
		has_asked[worker] = true;
		if (!may)
			continue;
		seen[worker] = true;
		corecast_pool_done(1);
		sleep_ms(1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];
	char all[256];
	check(argc == 3 && strlen(argv[1]) < 200, "pool FILE WORD");
	snprintf(all, sizeof all, "%s.all", argv[1]);
	for (int i = 0; i < WORKERS; i++)
		check(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0, "start");
	while (!has_word(argv[1], argv[2])) {
		AUTO_FILE FILE *told = seen[WORKERS - 1] ? fopen(all, "we") : NULL;
		sleep_ms(5);
	}
	for (int i = 0; i < WORKERS; i++)
		while (!has_asked[i])
			sleep_ms(1);
	is_over = true;
	for (int i = 0; i < WORKERS; i++)
		check(pthread_join(threads[i], NULL) == 0, "join");
	for (int i = 0; i < WORKERS; i++)
		if (seen[i])
			printf("worker %d\n", i);
	return 0;
}
