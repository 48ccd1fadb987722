/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * regions FILE WORD [kept]: parallel regions until the file has the word in it; prints the thread counts that those had which can do
 * with any (with `kept` there are none of these). Each kind that relies on how many it would have looks whether it has them.
 */
#include "has_word.h"

#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { COUNTS = 65, NAMED = 3, SET = 2, ITEMS = 60 };

struct run {
	int most; /* told in the beginning */
	int threads[COUNTS]; /* of a region: how often each of them was there */
	int done[ITEMS];
	bool has_asked; /* before two regions of asked_for() */
	bool seen[COUNTS]; /* counts of the regions that can do with any */
};

__attribute__((noinline)) static void work(bool *seen, int threads)
{
	if (threads < COUNTS)
		seen[threads] = true;
}

static void begin(struct run *run)
{
	memset(run->threads, 0, sizeof run->threads);
	memset(run->done, 0, sizeof run->done);
}

static bool is_done(const struct run *run)
{
	for (int i = 0; i < ITEMS; i++)
		if (run->done[i] != 1)
			return false;
	return true;
}

/* So many threads were in the last region. */
static int count(const struct run *run)
{
	int threads = 0;
	while (threads < COUNTS && run->threads[threads] > 0)
		threads++;
	return threads;
}

static bool divided_by_those_there(struct run *run)
{
	begin(run);
#pragma omp parallel
	{
		int me = omp_get_thread_num(), all = omp_get_num_threads();
		run->threads[me]++;
		for (int i = me; i < ITEMS; i += all)
			run->done[i]++;
	}
	work(run->seen, count(run));
	return is_done(run) && count(run) <= run->most;
}

/* Right before it the program asks, for arrays of its threads. */
static bool handed_out(struct run *run)
{
	bool is_alike = omp_get_max_threads() == run->most;
	begin(run);
#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < ITEMS; i++) {
		run->done[i]++;
#pragma omp atomic
		run->threads[omp_get_thread_num()]++;
	}
	return is_done(run) && is_alike;
}

static bool divided_before(struct run *run)
{
	begin(run);
#pragma omp parallel
	{
		int me = omp_get_thread_num();
		run->threads[me]++;
		for (int i = me; i < ITEMS; i += run->most)
			run->done[i]++;
	}
	return is_done(run) && count(run) == run->most;
}

/* As OpenBLAS: an iteration of each thread, which could wait for one another; it asks before the first of several (once it is known for that). */
static bool asked_for(struct run *run)
{
	bool is_all = true;
	for (int step = 0; step < 2 && is_all; step++) {
		if (step == 0 || !run->has_asked)
			is_all = omp_get_max_threads() == run->most;
		begin(run);
#pragma omp parallel for schedule(static)
		for (int i = 0; i < run->most; i++)
			run->threads[omp_get_thread_num()]++;
		is_all = is_all && count(run) == run->most;
	}
	run->has_asked = true;
	return is_all;
}

static bool counted(const struct run *run)
{
	int all = 0;
#pragma omp parallel
#pragma omp single
	all = omp_get_num_threads();
	return all == run->most;
}

static bool named(void)
{
	int all = 0;
#pragma omp parallel num_threads(NAMED)
#pragma omp single
	all = omp_get_num_threads();
	return all == NAMED;
}

static bool set(struct run *run)
{
	bool is_told = true;
	omp_set_num_threads(SET);
	for (int i = 0; i < 3 && is_told; i++) {
		begin(run);
#pragma omp parallel
		run->threads[omp_get_thread_num() % omp_get_num_threads()]++;
		is_told = count(run) <= SET && omp_get_max_threads() == SET;
	}
	omp_set_num_threads(run->most);
	return is_told;
}

int main(int argc, char **argv)
{
	struct run run = { .most = omp_get_max_threads() };
	if (argc < 3)
		return 2;
	bool is_kept = argc > 3;
	while (!has_word(argv[1], argv[2])) {
		if (!is_kept && !divided_by_those_there(&run))
			return 3;
		if (!is_kept && !handed_out(&run))
			return 4;
		if (!divided_before(&run))
			return 5;
		if (!is_kept && !asked_for(&run))
			return 6;
		if (!is_kept && !set(&run))
			return 7;
		if (!counted(&run))
			return 9;
		if (!named())
			return 8;
	}
	for (int i = 0; i < COUNTS; i++)
		if (run.seen[i])
			printf("%d\n", i);
	return 0;
}
