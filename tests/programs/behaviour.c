/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints what the functions that the preload library stands before return and leave behind, in the
 * cases where a careless wrapper would differ. With and without the library the text is the same.
 */
#include "hold.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int early_result = -1;
static atomic_int tid;

/* Before the constructors of every library. */
static void use_early(int argc, char **argv, char **environment)
{
	static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;
	(void)argc;
	(void)argv;
	(void)environment;
	early_result = pthread_mutex_lock(&early);
	if (early_result == 0)
		early_result = pthread_mutex_unlock(&early);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(
	int, char **, char **) = use_early;

static void say(const char *what, int result)
{
	printf("%s: %s\n", what, result == 0 ? "ok" : strerrorname_np(result));
}

static struct timespec soon(void)
{
	struct timespec deadline;
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_nsec += 1000000;
	if (deadline.tv_nsec >= 1000000000) {
		deadline.tv_nsec -= 1000000000;
		deadline.tv_sec++;
	}
	return deadline;
}

static void init(pthread_mutex_t *ret, int type, int robustness)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setrobust(&attributes, robustness);
	check(pthread_mutex_init(ret, &attributes) == 0, "mutex_init");
	pthread_mutexattr_destroy(&attributes);
}

static void *try_it(void *object)
{
	say("try by another", pthread_mutex_trylock(object));
	say("unlock by another", pthread_mutex_unlock(object));
	struct timespec wrong = { 0, 2000000000 };
	say("timedlock until nonsense", pthread_mutex_timedlock(object, &wrong));
	struct timespec deadline = soon();
	errno = ERANGE;
	say("timedlock", pthread_mutex_timedlock(object, &deadline));
	say("errno", errno);
	return NULL;
}

static void test_kind(const char *name, int type)
{
	pthread_mutex_t own;
	pthread_t thread;
	printf("-- %s\n", name);
	init(&own, type, PTHREAD_MUTEX_STALLED);
	say("lock", pthread_mutex_lock(&own));
	say("lock again", pthread_mutex_lock(&own));
	say("try again", pthread_mutex_trylock(&own));
	check(pthread_create(&thread, NULL, try_it, &own) == 0, "create");
	pthread_join(thread, NULL);
	for (int i = 0; i < 4; i++)
		say("unlock", pthread_mutex_unlock(&own));
}

static void *lock_and_die(void *object)
{
	pthread_mutex_lock(object);
	return NULL;
}

static void *lock_wait_and_die(void *object)
{
	pthread_mutex_lock(object);
	sem_post(&sem);
	hold_asleep((int)atomic_load(&tid));
	return NULL;
}

static void test_robust(void)
{
	pthread_mutex_t own;
	pthread_t thread;
	printf("-- robust\n");
	init(&own, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	pthread_create(&thread, NULL, lock_and_die, &own);
	pthread_join(thread, NULL);
	say("lock of the dead", pthread_mutex_lock(&own));
	say("make consistent", pthread_mutex_consistent(&own));
	say("unlock", pthread_mutex_unlock(&own));
	atomic_store(&tid, (int)syscall(SYS_gettid));
	pthread_create(&thread, NULL, lock_wait_and_die, &own);
	sem_wait(&sem);
	say("lock while the owner dies", pthread_mutex_lock(&own));
	say("unlock", pthread_mutex_unlock(&own));
	say("lock of the lost", pthread_mutex_lock(&own));
	say("try the lost", pthread_mutex_trylock(&own));
	pthread_join(thread, NULL);
}

static void test_timeouts(void)
{
	printf("-- timeouts\n");
	struct timespec deadline = soon();
	pthread_mutex_lock(&mutex);
	say("cond_timedwait", pthread_cond_timedwait(&cond, &mutex, &deadline));
	say("still owner", pthread_mutex_trylock(&mutex));
	pthread_mutex_unlock(&mutex);
	say("sem_timedwait", sem_timedwait(&sem, &deadline) < 0 ? errno : 0);
	say("sem_trywait", sem_trywait(&sem) < 0 ? errno : 0);
	sem_post(&sem);
	errno = ERANGE;
	say("sem_wait", sem_wait(&sem));
	say("errno", errno);
	say("join oneself", pthread_join(pthread_self(), NULL));
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_rwlock_wrlock(&lock);
	say("rdlock by the writer", pthread_rwlock_rdlock(&lock));
	say("wrlock by the writer", pthread_rwlock_wrlock(&lock));
	say("timedwrlock by the writer", pthread_rwlock_timedwrlock(&lock, &deadline));
	mtx_t mtx;
	mtx_init(&mtx, mtx_timed);
	mtx_lock(&mtx);
	printf("mtx_trylock: %d\n", mtx_trylock(&mtx) == thrd_busy);
	printf("mtx_timedlock: %d\n", mtx_timedlock(&mtx, &deadline) == thrd_timedout);
}

static void unlock(void *object)
{
	say("owner when cancelled", pthread_mutex_trylock(object));
	say("unlock", pthread_mutex_unlock(object));
}

static void *wait_cond(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	atomic_store(&tid, (int)syscall(SYS_gettid));
	pthread_cond_signal(&cond); /* to nobody */
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return unused;
}

static void *wait_sem(void *unused)
{
	atomic_store(&tid, (int)syscall(SYS_gettid));
	sem_wait(&sem);
	return unused;
}

static void *wait_join(void *thread)
{
	atomic_store(&tid, (int)syscall(SYS_gettid));
	pthread_join(*(pthread_t *)thread, NULL);
	return NULL;
}

static void *take_available(void *unused)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	sem_post(&sem);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	sem_wait(&sem);
	return unused;
}

static void join_cancelled(pthread_t thread)
{
	void *result = NULL;
	pthread_join(thread, &result);
	printf("cancelled: %d\n", result == PTHREAD_CANCELED);
}

static void test_cancel(const char *name, void *(*wait)(void *), void *argument)
{
	pthread_t thread;
	printf("-- cancel %s\n", name);
	atomic_store(&tid, 0);
	pthread_create(&thread, NULL, wait, argument);
	while (atomic_load(&tid) == 0)
		sleep_ms(1);
	hold_asleep(atomic_load(&tid));
	pthread_cancel(thread);
	join_cancelled(thread);
}

static void test_cancellation(void)
{
	pthread_t thread;
	test_cancel("cond", wait_cond, NULL);
	say("lock after", pthread_mutex_lock(&mutex));
	say("unlock after", pthread_mutex_unlock(&mutex));
	test_cancel("sem", wait_sem, NULL);
	pthread_create(&thread, NULL, wait_sem, NULL);
	test_cancel("join", wait_join, &thread);
	sem_post(&sem);
	say("join after", pthread_join(thread, NULL));
	printf("-- pending\n");
	pthread_create(&thread, NULL, take_available, NULL);
	join_cancelled(thread);
	say("sem_trywait", sem_trywait(&sem) < 0 ? errno : 0);
}

static void test_processes(void)
{
	int status = -1;
	printf("-- processes\n");
	fflush(stdout);
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): this is what is tested */
	pid_t child = vfork();
	if (child == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	printf("vfork: %d\n", status);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	sem_init(&sem, 0, 0);
	say("before every constructor", early_result);
	test_kind("recursive", PTHREAD_MUTEX_RECURSIVE);
	test_kind("error checking", PTHREAD_MUTEX_ERRORCHECK);
	test_robust();
	test_timeouts();
	test_cancellation();
	test_processes();
	return 7;
}
