/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * phases SECONDS: an OpenMP program whose best number of threads changes half way. At first each region's work
 * divides among the threads; then all of it is done inside a critical section, a little at a time, and more
 * threads only take the line of the lock from one another. Prints the regions done in each half.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PIECES = 64, TURNS = 20000, STEPS = 4000 };

static double now_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double divided(void)
{
	double sum = 0;
#pragma omp parallel for reduction(+ : sum)
	for (int piece = 0; piece < PIECES; piece++)
		for (int i = 1; i <= TURNS; i++)
			sum += 1.0 / (i + piece);
	return sum;
}

static long contended(void)
{
	long steps = 0;
#pragma omp parallel
	for (;;) {
		long mine;
#pragma omp critical
		mine = steps < STEPS ? ++steps : 0;
		if (mine == 0)
			break;
	}
	return steps;
}

int main(int argc, char **argv)
{
	double seconds = argc == 2 ? atof(argv[1]) : 0;
	if (seconds <= 0) {
		fputs("usage: phases SECONDS\n", stderr);
		return 2;
	}
	double start = now_s();
	volatile double sink = 0;
	long done[2] = { 0, 0 };
	for (double at; (at = now_s() - start) < seconds;) {
		int half = at >= seconds / 2;
		sink = sink + (half ? (double)contended() : divided());
		done[half]++;
	}
	printf("%ld %ld\n", done[0], done[1]);
	return 0;
}
