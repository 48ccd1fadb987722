/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that scales: a fixed amount of arithmetic split evenly over threads that share nothing.
 * Its checksum does not depend on the number of threads.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 1024, ROUNDS = 1000, DEFAULT_THOUSANDS = 200 };

struct share {
	pthread_t thread;
	uint64_t first, end; /* items first .. end-1 */
	uint64_t sum;
};

/* The finaliser of the splitmix64 generator. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

/* A chain in which every step needs the one before: about 3 microseconds. */
static uint64_t compute(uint64_t item)
{
	uint64_t value = item + 1;
	for (int i = 0; i < ROUNDS; i++)
		value = mix(value);
	return value;
}

static void *work(void *arg)
{
	struct share *share = arg;
	uint64_t sum = 0;
	for (uint64_t i = share->first; i < share->end; i++)
		sum += compute(i);
	share->sum = sum;
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
		"Usage: scales THREADS [THOUSANDS]\n\n"
		"Computes THOUSANDS of thousands of items (default %d), split evenly over\n"
		"THREADS (1 to %d) that share nothing: it scales as far as there are cores.\n",
		DEFAULT_THOUSANDS, MAX_THREADS);
	return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "-h") == 0)
		return usage(stdout);
	long threads = argc > 1 ? parse_count(argv[1], MAX_THREADS) : 0;
	long thousands = argc > 2 ? parse_count(argv[2], 1000000) : DEFAULT_THOUSANDS;
	if (!threads || !thousands || argc > 3)
		return usage(stderr);

	static struct share shares[MAX_THREADS];
	uint64_t items = (uint64_t)thousands * 1000;
	uint64_t count = (uint64_t)threads;
	double start = now_s();
	for (uint64_t i = 0; i < count; i++) {
		shares[i].first = items / count * i;
		shares[i].end = i + 1 == count ? items : items / count * (i + 1);
		if (pthread_create(&shares[i].thread, NULL, work, &shares[i]) != 0) {
			fprintf(stderr, "scales: cannot start thread %" PRIu64 "\n", i + 1);
			return 1;
		}
	}
	uint64_t sum = 0;
	for (uint64_t i = 0; i < count; i++) {
		(void)pthread_join(shares[i].thread, NULL); /* fails only for a thread not ours */
		sum += shares[i].sum;
	}
	printf("checksum: %016" PRIx64 "\nthroughput: %.0f items/s\n", sum,
		(double)items / (now_s() - start));
	return 0;
}
