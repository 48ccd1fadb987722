/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signal handlers that post and lock, and that interrupt waits and the recorder itself; threads that are cancelled
 * while they compute, that lock while they end, and that others start. With and without a recorder the text is
 * the same.
 */
#include "hold.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static sem_t sem, never, ticks;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int tid, handled, is_over;

static void say(const char *what, int result)
{
	printf("%s: %s\n", what, result == 0 ? "ok" : strerrorname_np(result));
}

static int errno_of(int result)
{
	return result < 0 ? errno : 0;
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	sigemptyset(&action.sa_mask);
	check(sigaction(number, &action, NULL) == 0, "sigaction");
}

static void start(pthread_t *ret, void *(*routine)(void *))
{
	atomic_store(&tid, 0);
	check(pthread_create(ret, NULL, routine, NULL) == 0, "create");
	while (atomic_load(&tid) == 0)
		sleep_ms(1);
}

static void begin(void)
{
	atomic_store(&tid, (int)syscall(SYS_gettid));
}

/* Handlers that let others go, and lock for themselves. */

static void post(int number)
{
	(void)number;
	errno = EDOM;
	sem_post(&sem);
	if (errno != EDOM)
		_exit(99);
	atomic_fetch_add(&handled, 1);
}

/* Whom a loop that waits for descriptors hears of. */
static int told[2];

/* What the recorder finds on the stack, unless it writes there first. */
static __attribute__((noinline)) void leave_no_zeros(void)
{
	volatile char left[4096];
	for (size_t i = 0; i < sizeof(left); i++)
		left[i] = 0x7f;
}

static void lock_and_tell(int number)
{
	static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	(void)number;
	if (pthread_mutex_trylock(&own) == 0)
		pthread_mutex_unlock(&own);
	leave_no_zeros();
	if (write(told[1], "", 1) != 1)
		_exit(98);
	post(number);
}

static void *wait_for_handler(void *unused)
{
	begin();
	say("posted by a handler", sem_wait(&sem));
	return unused;
}

static void test_posts(void)
{
	pthread_t waiter;
	handle(SIGUSR1, post, 0);
	start(&waiter, wait_for_handler);
	hold_asleep(atomic_load(&tid));
	errno = ERANGE;
	raise(SIGUSR1);
	pthread_join(waiter, NULL);
}

/* Each wait that a signal may interrupt: whether it ends, or goes on. */

static void *wait_interrupted(void *unused)
{
	char byte;
	int ends[2];
	struct timespec hour = { 3600, 0 };
	begin();
	say("sem_wait", errno_of(sem_wait(&never)));
	say("nanosleep", errno_of(nanosleep(&hour, &hour)));
	printf("left: %d\n", hour.tv_sec > 3000);
	check(pipe(ends) == 0, "pipe");
	say("read", errno_of((int)read(ends[0], &byte, 1)));
	say("pause", errno_of(pause()));
	printf("sleep: %d\n", sleep(3600) > 3000);
	atomic_store(&is_over, 1);
	return unused;
}

static void *wait_uninterrupted(void *unused)
{
	begin();
	say("mutex_lock", pthread_mutex_lock(&mutex));
	say("mutex_unlock", pthread_mutex_unlock(&mutex));
	atomic_store(&is_over, 1);
	return unused;
}

/* A signal may come before the wait that it is for: it is sent until all are over. */
static void interrupt(pthread_t thread)
{
	while (!atomic_load(&is_over)) {
		pthread_kill(thread, SIGUSR2);
		sleep_ms(2);
	}
	pthread_join(thread, NULL);
}

static void test_interrupts(void)
{
	pthread_t thread;
	check(pipe(told) == 0, "pipe");
	handle(SIGUSR2, lock_and_tell, 0);
	atomic_store(&is_over, 0);
	start(&thread, wait_interrupted);
	interrupt(thread);
	atomic_store(&is_over, 0);
	pthread_mutex_lock(&mutex);
	start(&thread, wait_uninterrupted);
	hold_asleep(atomic_load(&tid));
	for (int i = 0; i < 10; i++)
		pthread_kill(thread, SIGUSR2);
	pthread_mutex_unlock(&mutex);
	interrupt(thread);
}

/* A timer that interrupts a thread anywhere, also in the recorder: no post is lost. */

static atomic_int ticked;

static void tick(int number)
{
	int kept = errno;
	(void)number;
	sem_post(&ticks);
	atomic_fetch_add(&ticked, 1);
	errno = kept;
}

static void test_timer(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, no_more = { 0 };
	int taken = 0, wrong = 0;
	handle(SIGALRM, tick, SA_RESTART);
	check(setitimer(ITIMER_REAL, &often, NULL) == 0, "setitimer");
	while (atomic_load(&ticked) < 200) {
		errno = EDOM;
		pthread_mutex_lock(&mutex);
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
		wrong += errno != EDOM;
	}
	check(setitimer(ITIMER_REAL, &no_more, NULL) == 0, "setitimer");
	handle(SIGALRM, SIG_IGN, 0);
	while (sem_trywait(&ticks) == 0)
		taken++;
	printf("all posts: %d, errno kept: %d\n", taken == atomic_load(&ticked), wrong == 0);
}

/* Threads that end in other ways than by returning. */

static pthread_key_t first_key, second_key;
static atomic_int destroyed;

static void lock_when_destroyed(void *rounds)
{
	pthread_mutex_lock(&mutex);
	atomic_fetch_add(&destroyed, 1);
	pthread_mutex_unlock(&mutex);
	if ((long)rounds > 1)
		pthread_setspecific(second_key, (void *)((long)rounds - 1));
}

static void *compute(void *unused)
{
	static atomic_ulong work;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	begin();
	for (;;)
		atomic_fetch_add(&work, 1);
	return unused;
}

static void unlock(void *locked)
{
	pthread_mutex_unlock(locked);
}

static void *wait_with_mutex(void *unused)
{
	pthread_setspecific(first_key, (void *)1L);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	begin();
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return unused;
}

static void *end_with_destructors(void *unused)
{
	(void)unused;
	begin();
	pthread_setspecific(first_key, (void *)1L);
	pthread_setspecific(second_key, (void *)3L);
	pthread_exit(&mutex);
}

static void test_ends(void)
{
	pthread_t thread;
	void *result = NULL;
	check(pthread_key_create(&first_key, lock_when_destroyed) == 0, "key");
	check(pthread_key_create(&second_key, lock_when_destroyed) == 0, "key");
	start(&thread, compute);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("cancelled at once: %d\n", result == PTHREAD_CANCELED);
	start(&thread, wait_with_mutex);
	hold_asleep(atomic_load(&tid));
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("cancelled in a wait: %d\n", result == PTHREAD_CANCELED);
	start(&thread, end_with_destructors);
	pthread_join(thread, &result);
	printf("exited: %d, destroyed %d\n", result == &mutex, atomic_load(&destroyed));
	say("free after all", pthread_mutex_trylock(&mutex));
	pthread_mutex_unlock(&mutex);
}

/* Threads that the C library starts for itself, and processes. */

static void notice(union sigval value)
{
	pthread_mutex_lock(&mutex);
	*(int *)value.sival_ptr = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void test_others(void)
{
	int is_noticed = 0, status = -1;
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = notice };
	event.sigev_value.sival_ptr = &is_noticed;
	timer_t timer;
	check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
	const struct itimerspec soon = { .it_value = { 0, 1000000 } };
	check(timer_settime(timer, 0, &soon, NULL) == 0, "timer_settime");
	pthread_mutex_lock(&mutex);
	while (!is_noticed)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	printf("noticed: %d\n", is_noticed);
	timer_delete(timer);
	printf("system: %d\n", system("exit 3"));
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"exit 4", NULL };
	pid_t child = -1;
	check(posix_spawnp(&child, "sh", NULL, NULL, argv, environ) == 0, "posix_spawnp");
	printf("waitpid: %d\n", waitpid(child, &status, 0) == child);
	printf("status: %d\n", WEXITSTATUS(status));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	sem_init(&sem, 0, 0);
	sem_init(&never, 0, 0);
	sem_init(&ticks, 0, 0);
	test_posts();
	test_interrupts();
	test_timer();
	test_ends();
	test_others();
	return 6;
}
