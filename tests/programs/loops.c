/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * loops FILE WORD: OpenMP's loops until the file has the word in it, up and down, by steps, in pieces, one within another's
 * iterations and one outside of any region. In the end, what was told to whoever tunes the program is what it counts itself.
 */
#include "has_word.h"

#include "preload/tune_page.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t told(void)
{
	const char *path = getenv(TUNE_PAGE_ENVIRONMENT);
	int fd = path ? open(path, O_RDONLY) : -1;
	struct tune_page *page =
		fd < 0 ? MAP_FAILED : mmap(NULL, TUNE_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	return page == MAP_FAILED ? 0 : __atomic_load_n(&page->iterations, __ATOMIC_RELAXED);
}

static void inner(uint64_t *sum)
{
#pragma omp parallel for schedule(dynamic, 2) num_threads(2)
	for (long i = 0; i < 7; i += 3) {
#pragma omp atomic
		(*sum)++;
	}
}

static void outer(uint64_t *sum)
{
#pragma omp for schedule(guided)
	for (int i = 0; i < 5; i++) {
#pragma omp atomic
		(*sum)++;
	}
}

static void down(uint64_t *sum)
{
#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 3)
		for (long i = 10; i > -11; i -= 4) {
#pragma omp atomic
			(*sum)++;
			inner(sum);
		}
#pragma omp for schedule(dynamic)
		for (unsigned long long i = UINT64_MAX - 2; i > UINT64_MAX - 30; i -= 5) {
#pragma omp atomic
			(*sum)++;
		}
	}
}

static void growing(uint64_t *sum, int count)
{
#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < count; i++) {
#pragma omp atomic
		(*sum)++;
	}
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;
	if (argc != 3)
		return 2;
	for (int round = 0; !has_word(argv[1], argv[2]); round++) {
		growing(&sum, round % 64);
		down(&sum);
		outer(&sum);
	}
	uint64_t seen = told();
	if (seen != sum)
		printf("%llu were told of %llu\n", (unsigned long long)seen,
			(unsigned long long)sum);
	return seen != sum;
}
