/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * endings CASE: how a thread or process may end around a wait, or inside it.
 *
 *	exit	the process exits while a thread waits since HOLD_MS
 *	kill	a wait of HOLD_MS is over, the same thread waits again, SIGKILL
 *	fork	parent and child wait HOLD_MS each
 *	exec	the process waits, then executes itself, which waits
 *	cancel	a thread is cancelled HOLD_MS after it began to wait
 *	jump	a signal handler leaves a wait by siglongjmp(); then a wait of HOLD_MS
 */
#include "hold.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t sem;
static atomic_int waiter_tid;
static atomic_int finished;
static sigjmp_buf before_wait;

static void *wait_repeatedly(void *unused)
{
	atomic_store(&waiter_tid, (int)syscall(SYS_gettid));
	for (;;) {
		check(sem_wait(&sem) == 0, "sem_wait");
		atomic_fetch_add(&finished, 1);
	}
	return unused;
}

static pthread_t start_waiter(void)
{
	pthread_t waiter;
	atomic_store(&waiter_tid, 0);
	check(sem_init(&sem, 0, 0) == 0, "sem_init");
	check(pthread_create(&waiter, NULL, wait_repeatedly, NULL) == 0, "create");
	while (atomic_load(&waiter_tid) == 0)
		sleep_ms(1);
	hold_asleep(atomic_load(&waiter_tid));
	return waiter;
}

static void finish_one_wait(void)
{
	int before = atomic_load(&finished);
	sem_post(&sem);
	while (atomic_load(&finished) == before)
		sleep_ms(1);
}

static void end_cancelled(pthread_t waiter)
{
	void *result = NULL;
	check(pthread_cancel(waiter) == 0, "cancel");
	while (pthread_tryjoin_np(waiter, &result) != 0)
		sleep_ms(1); /* not a join that waits: the test counts waits */
	check(result == PTHREAD_CANCELED, "cancelled");
}

static void run_exit(void)
{
	(void)start_waiter();
}

static void run_kill(void)
{
	(void)start_waiter();
	finish_one_wait();
	hold_asleep(atomic_load(&waiter_tid));
	fflush(stdout);
	raise(SIGKILL);
}

static void run_cancel(void)
{
	end_cancelled(start_waiter());
}

static void run_fork(void)
{
	fflush(stdout);
	pid_t child = fork();
	run_cancel();
	if (child == 0)
		exit(0);
	int status = 1;
	check(waitpid(child, &status, 0) == child && status == 0, "child");
}

static void run_exec(char *program)
{
	run_cancel();
	execl(program, program, "cancel", (char *)NULL);
}

static void jump(int number)
{
	siglongjmp(before_wait, number);
}

static void *jump_out_then_wait(void *unused)
{
	sem_t own;
	sem_init(&own, 0, 0);
	if (sigsetjmp(before_wait, 1) == 0) {
		atomic_store(&waiter_tid, (int)syscall(SYS_gettid));
		sem_wait(&own);
	}
	atomic_fetch_add(&finished, 1);
	check(sem_wait(&sem) == 0, "sem_wait");
	return unused;
}

static void run_jump(void)
{
	pthread_t waiter;
	signal(SIGUSR1, jump);
	sem_init(&sem, 0, 0);
	check(pthread_create(&waiter, NULL, jump_out_then_wait, NULL) == 0, "create");
	while (atomic_load(&waiter_tid) == 0)
		sleep_ms(1);
	hold_asleep(atomic_load(&waiter_tid));
	pthread_kill(waiter, SIGUSR1);
	while (atomic_load(&finished) == 0)
		sleep_ms(1);
	hold_asleep(atomic_load(&waiter_tid));
	sem_post(&sem);
	while (pthread_tryjoin_np(waiter, NULL) != 0)
		sleep_ms(1);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	printf("%s\n", name);
	if (strcmp(name, "exit") == 0)
		run_exit();
	else if (strcmp(name, "kill") == 0)
		run_kill();
	else if (strcmp(name, "fork") == 0)
		run_fork();
	else if (strcmp(name, "exec") == 0)
		run_exec(argv[0]);
	else if (strcmp(name, "cancel") == 0)
		run_cancel();
	else if (strcmp(name, "jump") == 0)
		run_jump();
	return 0;
}
