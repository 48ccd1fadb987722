/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * regions FILE WORD: parallel regions until the file has the word in it; prints the thread counts that they had.
 * The region whose number of threads is named keeps it; no other has more than the program was told in the beginning, and one
 * that the program asked about has as many as it was told, of which one needs no region.
 */
#include "has_word.h"

#include <omp.h>
#include <stdbool.h>
#include <stdio.h>

enum { COUNTS = 65, NAMED = 3 };

__attribute__((noinline)) static void work(bool *seen, int threads)
{
	if (threads < COUNTS)
		seen[threads] = true;
}

int main(int argc, char **argv)
{
	bool seen[COUNTS] = { false };
	if (argc != 3)
		return 2;
	int most = omp_get_max_threads();
	while (!has_word(argv[1], argv[2])) {
		int threads = 0, named = 0;
#pragma omp parallel
#pragma omp single
		threads = omp_get_num_threads();
#pragma omp parallel num_threads(NAMED)
#pragma omp single
		named = omp_get_num_threads();
		if (named != NAMED || threads > most)
			return 1;
		int sizes[2], got = 1; /* of two arrays for the same region */
		for (int i = 0; i < 2; i++)
			sizes[i] = omp_get_max_threads();
		int told = sizes[0];
		if (told > 1) {
#pragma omp parallel
#pragma omp single
			got = omp_get_num_threads();
		}
		if (got != told || sizes[1] != told)
			return 1;
		work(seen, threads);
	}
	for (int i = 0; i < COUNTS; i++)
		if (seen[i])
			printf("%d\n", i);
	return 0;
}
