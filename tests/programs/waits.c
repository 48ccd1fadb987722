/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waits CASE: one thread waits, in one known call, for at least HOLD_MS milliseconds.
 *
 * That bound holds on any machine, however loaded: the main thread lets the waiter go only after it
 * saw it asleep inside the call and then slept HOLD_MS itself. A spinning waiter never sleeps: it
 * is let go when it has spent HOLD_MS of processor time since it said that it is about to spin.
 */
#include "hold.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t sem;
static mtx_t mtx;
static cnd_t cnd;
static pthread_t sleeper;
static int sleeper_pipe[2];
static bool is_ready;
static atomic_int waiter_tid;

static struct timespec far_away(clockid_t clock)
{
	struct timespec deadline;
	clock_gettime(clock, &deadline);
	deadline.tv_sec += 3600;
	return deadline;
}

/* Mutexes. */

static void take_mutex(void)
{
	check(pthread_mutex_lock(&mutex) == 0, "lock");
}

static void give_mutex(void)
{
	check(pthread_mutex_unlock(&mutex) == 0, "unlock");
}

static void wait_lock(void)
{
	take_mutex();
	give_mutex();
}

static void wait_timedlock(void)
{
	struct timespec deadline = far_away(CLOCK_REALTIME);
	check(pthread_mutex_timedlock(&mutex, &deadline) == 0, "timedlock");
	give_mutex();
}

static void wait_clocklock(void)
{
	struct timespec deadline = far_away(CLOCK_MONOTONIC);
	check(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &deadline) == 0, "clocklock");
	give_mutex();
}

static void wait_trylock(void)
{
	while (pthread_mutex_trylock(&mutex) == EBUSY)
		continue;
	give_mutex();
}

static atomic_int may_go_on;

static void wait_yield(void)
{
	while (!atomic_load(&may_go_on))
		sched_yield();
}

static void let_go_on(void)
{
	atomic_store(&may_go_on, 1);
}

/* Read-write locks, spin locks. */

static void take_write(void)
{
	check(pthread_rwlock_wrlock(&rwlock) == 0, "wrlock");
}

static void take_read(void)
{
	check(pthread_rwlock_rdlock(&rwlock) == 0, "rdlock");
}

static void give_rwlock(void)
{
	check(pthread_rwlock_unlock(&rwlock) == 0, "rwlock unlock");
}

static void wait_read(void)
{
	take_read();
	give_rwlock();
}

static void wait_write(void)
{
	take_write();
	give_rwlock();
}

static void wait_timed_read(void)
{
	struct timespec deadline = far_away(CLOCK_REALTIME);
	check(pthread_rwlock_timedrdlock(&rwlock, &deadline) == 0, "timedrdlock");
	give_rwlock();
}

static void take_spin(void)
{
	check(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0, "spin init");
	check(pthread_spin_lock(&spin) == 0, "spin lock");
}

static void give_spin(void)
{
	check(pthread_spin_unlock(&spin) == 0, "spin unlock");
}

static void wait_spin(void)
{
	check(pthread_spin_lock(&spin) == 0, "spin lock");
	give_spin();
}

/* Barriers, condition variables, semaphores. */

static void make_barrier(void)
{
	check(pthread_barrier_init(&barrier, NULL, 2) == 0, "barrier init");
}

static void meet(void)
{
	int result = pthread_barrier_wait(&barrier);
	check(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD, "barrier");
}

static void wait_cond(void)
{
	pthread_mutex_lock(&cond_mutex);
	while (!is_ready)
		check(pthread_cond_wait(&cond, &cond_mutex) == 0, "cond_wait");
	pthread_mutex_unlock(&cond_mutex);
}

static void wait_cond_timed(void)
{
	struct timespec deadline = far_away(CLOCK_REALTIME);
	pthread_mutex_lock(&cond_mutex);
	while (!is_ready)
		check(pthread_cond_timedwait(&cond, &cond_mutex, &deadline) == 0, "cond_timedwait");
	pthread_mutex_unlock(&cond_mutex);
}

static void wait_cond_clock(void)
{
	struct timespec deadline = far_away(CLOCK_MONOTONIC);
	pthread_mutex_lock(&cond_mutex);
	while (!is_ready)
		check(pthread_cond_clockwait(&cond, &cond_mutex, CLOCK_MONOTONIC, &deadline) == 0,
			"cond_clockwait");
	pthread_mutex_unlock(&cond_mutex);
}

static void signal_cond(void)
{
	pthread_mutex_lock(&cond_mutex);
	is_ready = true;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&cond_mutex);
}

static void wait_sem(void)
{
	errno = ERANGE;
	check(sem_wait(&sem) == 0 && errno == ERANGE, "sem_wait");
}

static void wait_sem_timed(void)
{
	struct timespec deadline = far_away(CLOCK_REALTIME);
	check(sem_timedwait(&sem, &deadline) == 0, "sem_timedwait");
}

static void post(void)
{
	check(sem_post(&sem) == 0, "sem_post");
}

/* Joins: of a thread that reads from a pipe. */

static void *sleep_in_read(void *unused)
{
	char byte;
	check(read(sleeper_pipe[0], &byte, 1) == 1, "read");
	return unused;
}

static void start_sleeper(void)
{
	check(pipe(sleeper_pipe) == 0, "pipe");
	check(pthread_create(&sleeper, NULL, sleep_in_read, NULL) == 0, "create");
}

static void wake_sleeper(void)
{
	check(write(sleeper_pipe[1], "", 1) == 1, "write");
}

static void wait_join(void)
{
	check(pthread_join(sleeper, NULL) == 0, "join");
}

static void wait_join_timed(void)
{
	struct timespec deadline = far_away(CLOCK_REALTIME);
	check(pthread_timedjoin_np(sleeper, NULL, &deadline) == 0, "timedjoin");
}

/* C11. */

static void take_mtx(void)
{
	check(mtx_init(&mtx, mtx_plain) == thrd_success, "mtx_init");
	check(mtx_lock(&mtx) == thrd_success, "mtx_lock");
}

static void give_mtx(void)
{
	check(mtx_unlock(&mtx) == thrd_success, "mtx_unlock");
}

static void wait_mtx(void)
{
	check(mtx_lock(&mtx) == thrd_success, "mtx_lock");
	give_mtx();
}

static void make_cnd(void)
{
	check(mtx_init(&mtx, mtx_plain) == thrd_success, "mtx_init");
	check(cnd_init(&cnd) == thrd_success, "cnd_init");
}

static void wait_cnd(void)
{
	mtx_lock(&mtx);
	while (!is_ready)
		check(cnd_wait(&cnd, &mtx) == thrd_success, "cnd_wait");
	mtx_unlock(&mtx);
}

static void signal_cnd(void)
{
	mtx_lock(&mtx);
	is_ready = true;
	cnd_signal(&cnd);
	mtx_unlock(&mtx);
}

static const struct wait_case {
	const char *name;
	void (*prepare)(void);
	void (*wait)(void);
	void (*release)(void);
	bool is_spinning;
} cases[] = {
	{ "lock", take_mutex, wait_lock, give_mutex, false },
	{ "timedlock", take_mutex, wait_timedlock, give_mutex, false },
	{ "clocklock", take_mutex, wait_clocklock, give_mutex, false },
	{ "trylock", take_mutex, wait_trylock, give_mutex, true },
	{ "yield", NULL, wait_yield, let_go_on, true },
	{ "read", take_write, wait_read, give_rwlock, false },
	{ "timed_read", take_write, wait_timed_read, give_rwlock, false },
	{ "write", take_read, wait_write, give_rwlock, false },
	{ "spin", take_spin, wait_spin, give_spin, true },
	{ "barrier", make_barrier, meet, meet, false },
	{ "cond", NULL, wait_cond, signal_cond, false },
	{ "cond_timed", NULL, wait_cond_timed, signal_cond, false },
	{ "cond_clock", NULL, wait_cond_clock, signal_cond, false },
	{ "sem", NULL, wait_sem, post, false },
	{ "sem_timed", NULL, wait_sem_timed, post, false },
	{ "join", start_sleeper, wait_join, wake_sleeper, false },
	{ "join_timed", start_sleeper, wait_join_timed, wake_sleeper, false },
	{ "mtx", take_mtx, wait_mtx, give_mtx, false },
	{ "cnd", make_cnd, wait_cnd, signal_cnd, false },
};

static void *run_waiter(void *argument)
{
	const struct wait_case *wait_case = argument;
	atomic_store(&waiter_tid, (int)syscall(SYS_gettid));
	wait_case->wait();
	return NULL;
}

static void let_it_spin(pthread_t waiter)
{
	clockid_t clock;
	struct timespec start;
	struct timespec now;
	check(pthread_getcpuclockid(waiter, &clock) == 0, "cpu clock");
	clock_gettime(clock, &start);
	do {
		sleep_ms(1);
		clock_gettime(clock, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
		 HOLD_MS);
}

static void run_case(const struct wait_case *wait_case)
{
	sem_init(&sem, 0, 0);
	if (wait_case->prepare)
		wait_case->prepare();
	pthread_t waiter;
	check(pthread_create(&waiter, NULL, run_waiter, (void *)wait_case) == 0, "create");
	while (atomic_load(&waiter_tid) == 0)
		sleep_ms(1);
	if (wait_case->is_spinning)
		let_it_spin(waiter);
	else
		hold_asleep(atomic_load(&waiter_tid));
	wait_case->release();
	/* Not a join that waits: the test counts joins. */
	while (pthread_tryjoin_np(waiter, NULL) == EBUSY)
		sleep_ms(1);
	printf("%s done\n", wait_case->name);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			run_case(&cases[i]);
			return 0;
		}
	fprintf(stderr, "usage: waits CASE\n");
	return 2;
}
