/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the programs of known waits share: see waits.c for why the bound holds. */
#ifndef TESTS_PROGRAMS_HOLD_H
#define TESTS_PROGRAMS_HOLD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { HOLD_MS = 50 };

static inline void check(bool is_true, const char *what)
{
	if (!is_true) {
		fprintf(stderr, "%s failed\n", what);
		exit(1);
	}
}

static inline void sleep_ms(long ms)
{
	struct timespec duration = { ms / 1000, ms % 1000 * 1000000 };
	while (nanosleep(&duration, &duration) < 0)
		continue;
}

/* Processor time of the calling thread. */
static inline double thread_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Of another thread of this process, by its number: pthread_getcpuclockid() asks for a pthread_t. */
static inline double seconds_of(int tid)
{
	struct timespec now = { 0 };
	clockid_t clock = (clockid_t)((~(unsigned)tid << 3) | 6);
	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline bool is_asleep(int tid)
{
	char path[64];
	char state = 'R';
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	FILE *file = fopen(path, "re");
	if (file && fscanf(file, "%*d %*s %c", &state) != 1)
		state = 'R';
	if (file)
		fclose(file);
	return state == 'S';
}

/* Of a thread of this process. */
static inline bool has_ended(int tid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	return access(path, F_OK) < 0;
}

/* The thread is inside its wait and stays there for HOLD_MS more. Who sleeps for the kernel's own sake on its way there goes on soon. */
static inline void hold_asleep(int tid)
{
	double before;
	do {
		before = seconds_of(tid);
		sleep_ms(1);
	} while (!is_asleep(tid) || seconds_of(tid) > before);
	sleep_ms(HOLD_MS);
}

#endif
