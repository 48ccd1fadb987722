/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program whose throughput peaks because of a lock. Every operation computes for itself, then
 * retires what it used, as a reclaimer of memory does: under the one lock it scans the list of every
 * thread to see whether somebody still uses it. The more threads, the longer the lock is held.
 *
 * With w of own work and k for one list, an operation holds the lock for k n: n threads reach
 * n / (w + k n) operations a second until the lock is always held, then 1 / (k n). Here w is near
 * 12 k, so that the peak is at 4 threads, or at the number of cores if that is less.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 1024, LIST_ENTRIES = 1024, ROUNDS = 1200, DEFAULT_THOUSANDS = 100 };

/* What one thread uses now: entries that the scan looks through. */
struct list {
	uint64_t entries[LIST_ENTRIES];
};

struct shared {
	pthread_mutex_t lock;
	size_t list_count;
	struct list *lists; /* one for each thread; guarded by the lock */
};

struct worker {
	pthread_t thread;
	struct shared *shared;
	uint64_t first, end; /* operations first .. end-1 */
	struct list *list;
	uint64_t sum;
	uint64_t in_use; /* items that were found in a list: none, as all items differ */
};

/* The finaliser of the splitmix64 generator; never 0 for the arguments used here. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

/* The operation's own part: a chain in which every step needs the one before. */
static uint64_t compute(uint64_t operation)
{
	uint64_t value = operation + 1;
	for (int i = 0; i < ROUNDS; i++)
		value = mix(value);
	return value;
}

/* Whether an entry of any list is `item`. Called with the lock held. */
static bool is_in_use(const struct shared *shared, uint64_t item)
{
	for (size_t i = 0; i < shared->list_count; i++)
		for (size_t j = 0; j < LIST_ENTRIES; j++)
			if (shared->lists[i].entries[j] == item)
				return true;
	return false;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	for (uint64_t operation = w->first; operation < w->end; operation++) {
		uint64_t item = compute(operation);
		w->sum += item;
		(void)pthread_mutex_lock(&w->shared->lock); /* a plain mutex: cannot fail */
		w->in_use += is_in_use(w->shared, item);
		w->list->entries[operation % LIST_ENTRIES] = item;
		(void)pthread_mutex_unlock(&w->shared->lock);
	}
	return NULL;
}

static double now_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail with this clock */
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Reads a whole number from 1 to max; 0 if it is not one. */
static long parse_count(const char *text, long max)
{
	char *end;
	long value = strtol(text, &end, 10);
	return *text && !*end && value >= 1 && value <= max ? value : 0;
}

static int usage(FILE *out)
{
	fprintf(out,
		"Usage: peaks THREADS [THOUSANDS]\n\n"
		"Does THOUSANDS of thousands of operations (default %d), split evenly over\n"
		"THREADS (1 to %d). Each takes one lock and, under it, scans a list of every\n"
		"thread: throughput peaks at a few threads and then falls.\n",
		DEFAULT_THOUSANDS, MAX_THREADS);
	return out == stdout ? 0 : 2;
}

/* Starts a worker for each list, waits for all, prints. Returns an exit status. */
static int run(struct shared *shared, struct worker *workers, uint64_t operations)
{
	uint64_t count = shared->list_count, sum = 0, in_use = 0;
	double start = now_s();
	for (uint64_t i = 0; i < count; i++) {
		struct worker *w = &workers[i];
		*w = (struct worker){ .shared = shared,
			.list = &shared->lists[i],
			.first = operations / count * i,
			.end = i + 1 == count ? operations : operations / count * (i + 1) };
		if (pthread_create(&w->thread, NULL, work, w) != 0) {
			fprintf(stderr, "peaks: cannot start thread %" PRIu64 "\n", i + 1);
			exit(1);
		}
	}
	for (uint64_t i = 0; i < count; i++) {
		(void)pthread_join(workers[i].thread, NULL); /* fails only for a thread not ours */
		sum += workers[i].sum;
		in_use += workers[i].in_use;
	}
	printf("checksum: %016" PRIx64 " (%" PRIu64 " in use)\nthroughput: %.0f operations/s\n",
		sum, in_use, (double)operations / (now_s() - start));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "-h") == 0)
		return usage(stdout);
	long threads = argc > 1 ? parse_count(argv[1], MAX_THREADS) : 0;
	long thousands = argc > 2 ? parse_count(argv[2], 1000000) : DEFAULT_THOUSANDS;
	if (!threads || !thousands || argc > 3)
		return usage(stderr);

	static struct worker workers[MAX_THREADS];
	struct shared shared = { .lock = PTHREAD_MUTEX_INITIALIZER,
		.list_count = (size_t)threads,
		.lists = calloc((size_t)threads, sizeof *shared.lists) };
	if (!shared.lists) {
		fputs("peaks: out of memory\n", stderr);
		return 1;
	}
	int status = run(&shared, workers, (uint64_t)thousands * 1000);
	free(shared.lists);
	return status;
}
