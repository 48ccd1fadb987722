/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted: threads that wait nearly all the time because there is nothing to do for them, and that
 * must not be blamed: a timer, one that waits for a signal, and one that is handed a line to log now
 * and then. Around them the balanced computation. Fixed: without them.
 */
#include "team.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { CHUNKS = 800, CHUNK_US = 1000, TICK_NS = 100000000, CHUNKS_PER_LINE = 100, SERVICE_US = 20 };

static atomic_int next_chunk;
static atomic_bool is_over;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t log_has_line = PTHREAD_COND_INITIALIZER;
static int log_lines; /* guarded by log_lock */

static void log_line(void)
{
	(void)pthread_mutex_lock(&log_lock); /* a plain mutex: cannot fail */
	log_lines++;
	(void)pthread_cond_signal(&log_has_line);
	(void)pthread_mutex_unlock(&log_lock);
}

static void compute(struct member *member)
{
	int chunks = plant_count(member->plant, CHUNKS);
	for (int i; (i = atomic_fetch_add(&next_chunk, 1)) < chunks;) {
		member->sum += plant_work(member->plant, member->name, (uint64_t)i, CHUNK_US);
		if (i % CHUNKS_PER_LINE == 0)
			log_line();
	}
}

static void tick(struct member *member)
{
	const struct timespec pause = { 0, TICK_NS };
	while (!atomic_load(&is_over)) {
		(void)nanosleep(&pause, NULL); /* a signal only makes it shorter */
		(void)plant_work(member->plant, member->name, 0, SERVICE_US);
	}
}

static void await_signal(struct member *member)
{
	sigset_t signals;
	int number;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	(void)sigwait(&signals, &number); /* the set is valid */
	(void)plant_work(member->plant, member->name, 0, SERVICE_US);
}

static void write_log(struct member *member)
{
	(void)pthread_mutex_lock(&log_lock); /* as above */
	while (!atomic_load(&is_over)) {
		(void)pthread_cond_wait(&log_has_line, &log_lock);
		for (; log_lines > 0; log_lines--)
			(void)plant_work(member->plant, member->name, 0, SERVICE_US);
	}
	(void)pthread_mutex_unlock(&log_lock);
}

int main(int argc, char **argv)
{
	static struct team servants, workers;
	struct plant plant = plant_begin(
		argc, argv, "Threads that share the work evenly, beside three with nothing to do.");
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL); /* valid; inherited by all threads */
	if (!plant.is_fixed) {
		team_start(&servants, &plant, "timer", 0, tick);
		team_start(&servants, &plant, "signals", 0, await_signal);
		team_start(&servants, &plant, "logger", 0, write_log);
	}
	team_start_range(&workers, &plant, 0, plant.threads, "worker", compute);
	uint64_t sum = team_join(&workers);
	atomic_store(&is_over, true);
	log_line();
	(void)kill(getpid(), SIGUSR1); /* blocked: one thread waits for it, or nobody */
	(void)team_join(&servants);
	return plant_end(&plant, sum);
}
