/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * omp CASE: one of two OpenMP threads waits for at least HOLD_MS milliseconds (see waits.c), in the
 * runtime of GCC, or of LLVM. Run with OMP_WAIT_POLICY=passive, so that a waiter can be seen asleep.
 * LLVM's never sleeps in locks: there it is taken to wait once it has computed for SPIN_S.
 *
 * "tasks" prints the seconds that two threads spent, less those of the tasks that they ran at the
 * end of a parallel region: all waiting is within that. In "handed_out" nobody waits for long.
 */
#include "hold.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPIN_S 0.02 /* many times what a thread does on its way to the wait */

enum { TASKS = 8, PIECES = 20 };

static atomic_int waiter_tid;

static void wait_for_waiter(void)
{
	while (atomic_load(&waiter_tid) == 0)
		sleep_ms(1);
	int tid = atomic_load(&waiter_tid);
	double begun_s = seconds_of(tid);
	while (!is_asleep(tid) && seconds_of(tid) < begun_s + SPIN_S)
		sleep_ms(1);
	sleep_ms(HOLD_MS);
}

/* True in the thread that is to wait. */
static bool is_waiter(void)
{
	if (omp_get_thread_num() == 0)
		return false;
	atomic_store(&waiter_tid, (int)syscall(SYS_gettid));
	return true;
}

static void run_barrier(void)
{
#pragma omp parallel num_threads(2)
	{
		if (!is_waiter())
			wait_for_waiter();
#pragma omp barrier
	}
}

static void run_region(void)
{
#pragma omp parallel num_threads(2)
	if (!is_waiter())
		wait_for_waiter();
}

static void run_loop(void)
{
#pragma omp parallel num_threads(2)
#pragma omp for schedule(static, 1)
	for (int i = 0; i < 2; i++)
		if (!is_waiter())
			wait_for_waiter();
}

/* PIECES iterations each, handed out one by one: in a region of its own, and within one. */
static void run_handed_out(void)
{
	static atomic_int sum;
#pragma omp parallel for num_threads(2) schedule(dynamic)
	for (int i = 0; i < PIECES; i++)
		atomic_fetch_add(&sum, i);
#pragma omp parallel num_threads(2)
#pragma omp for schedule(monotonic : dynamic)
	for (size_t i = 0; i < PIECES; i++)
		atomic_fetch_add(&sum, (int)i);
}

static void run_critical(void)
{
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 0) {
#pragma omp critical
			{
				atomic_store(&waiter_tid, -1);
				while (atomic_load(&waiter_tid) == -1)
					sleep_ms(1);
				wait_for_waiter();
			}
		} else {
			while (atomic_load(&waiter_tid) == 0)
				sleep_ms(1);
			(void)is_waiter();
#pragma omp critical
			atomic_store(&waiter_tid, 0);
		}
	}
}

static void run_lock(void)
{
	omp_lock_t lock;
	omp_init_lock(&lock);
	omp_set_lock(&lock);
#pragma omp parallel num_threads(2)
	if (is_waiter()) {
		omp_set_lock(&lock);
		omp_unset_lock(&lock);
	} else {
		wait_for_waiter();
		omp_unset_lock(&lock);
	}
}

/* Both have come to the barrier, where one of them runs a task. */
static void run_late_task(void)
{
	static atomic_int tids[2];
#pragma omp parallel num_threads(2)
	{
#pragma omp single nowait
#pragma omp task
		{
			atomic_int *other = &tids[1 - omp_get_thread_num()];
			while (atomic_load(other) == 0)
				sleep_ms(1);
			atomic_store(&waiter_tid, atomic_load(other));
			wait_for_waiter();
		}
		atomic_store(&tids[omp_get_thread_num()], (int)syscall(SYS_gettid));
#pragma omp barrier
	}
}

static void run_tasks(void)
{
	double in_tasks = 0;
	double start = omp_get_wtime();
#pragma omp parallel num_threads(2)
#pragma omp single nowait
	for (int i = 0; i < TASKS; i++) {
#pragma omp task shared(in_tasks) firstprivate(i)
		{
			double began = omp_get_wtime();
			sleep_ms(5 + i);
			double spent = omp_get_wtime() - began;
#pragma omp atomic
			in_tasks += spent;
		}
	}
	printf("%.6f\n", 2 * (omp_get_wtime() - start) - in_tasks);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "barrier", run_barrier },
	{ "region", run_region },
	{ "loop", run_loop },
	{ "handed_out", run_handed_out },
	{ "critical", run_critical },
	{ "lock", run_lock },
	{ "late_task", run_late_task },
	{ "tasks", run_tasks },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: omp CASE\n");
	return 2;
}
