/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each variant of the calls that the preload library stands before returns, and leaves in errno, where its
 * arguments are wrong though it need not wait, where an owner has died or is in another process, and where a signal
 * comes. With and without the library the text is the same.
 */
#include "hold.h"
#include "try_call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static const struct timespec past = { 1, 0 }, wrong = { 4000000000, -1 },
			     far_wrong = { 4000000000, 1000000000 }, before_all = { -1, 0 };
static void *volatile nowhere = (void *)16; /* compilers would object */

static void init_mutex(pthread_mutex_t *ret, int type, int robust, int protocol, int shared)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	check(pthread_mutexattr_settype(&attributes, type) == 0, "type");
	check(pthread_mutexattr_setrobust(&attributes, robust) == 0, "robust");
	check(pthread_mutexattr_setprotocol(&attributes, protocol) == 0, "protocol");
	check(pthread_mutexattr_setpshared(&attributes, shared) == 0, "shared");
	check(pthread_mutex_init(ret, &attributes) == 0, "mutex_init");
	pthread_mutexattr_destroy(&attributes);
}

static void run(void *(*routine)(void *), void *argument)
{
	pthread_t thread;
	check(pthread_create(&thread, NULL, routine, argument) == 0, "create");
	check(pthread_join(thread, NULL) == 0, "join");
}

/* Nobody holds anything: only the arguments are wrong. */

static atomic_int tid;

static void *end(void *unused)
{
	atomic_store(&tid, gettid());
	return unused;
}

static pthread_t ended(void)
{
	pthread_t thread;
	atomic_store(&tid, 0);
	check(pthread_create(&thread, NULL, end, NULL) == 0, "create");
	while (atomic_load(&tid) == 0 || !has_ended(atomic_load(&tid)))
		sleep_ms(1);
	return thread;
}

static void test_arguments(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	sem_t s;
	mtx_t x;
	sem_init(&s, 0, 100);
	mtx_init(&x, mtx_timed);
	printf("-- arguments\n");
	TRY(pthread_mutex_timedlock(&m, &wrong));
	TRY(pthread_mutex_unlock(&m));
	TRY(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &wrong));
	TRY(pthread_mutex_unlock(&m));
	TRY(pthread_mutex_clocklock(&m, CLOCK_THREAD_CPUTIME_ID, &past));
	TRY(pthread_mutex_trylock(&m));
	TRY(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &wrong));
	TRY(pthread_mutex_clocklock(&m, -7, &wrong));
	TRY(pthread_mutex_unlock(&m));
	TRY(pthread_rwlock_timedrdlock(&l, &wrong));
	TRY(pthread_rwlock_timedwrlock(&l, &far_wrong));
	TRY(pthread_rwlock_trywrlock(&l));
	TRY(pthread_rwlock_timedrdlock(&l, &wrong));
	TRY(pthread_rwlock_timedwrlock(&l, &far_wrong));
	TRY(pthread_rwlock_unlock(&l));
	TRY(pthread_rwlock_clockrdlock(&l, CLOCK_PROCESS_CPUTIME_ID, &past));
	TRY(pthread_rwlock_clockwrlock(&l, CLOCK_BOOTTIME, &past));
	TRY(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &wrong));
	TRY(pthread_rwlock_clockwrlock(&l, CLOCK_REALTIME, &past));
	TRY(pthread_rwlock_unlock(&l));
	TRY(sem_timedwait(&s, &wrong));
	TRY(sem_timedwait(&s, &far_wrong));
	TRY(sem_timedwait(&s, &before_all));
	TRY(sem_clockwait(&s, CLOCK_BOOTTIME, &past));
	TRY(sem_clockwait(&s, CLOCK_MONOTONIC, &wrong));
	int left = 0;
	TRY(sem_getvalue(&s, &left));
	printf("left: %d\n", left);
	TRY(mtx_timedlock(&x, &wrong));
	pthread_mutex_trylock(&m);
	TRY(pthread_cond_clockwait(&c, &m, CLOCK_BOOTTIME, &past));
	TRY(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &wrong));
	TRY(pthread_cond_timedwait(&c, &m, &before_all));
	TRY(pthread_mutex_unlock(&m));
	pthread_t thread = ended();
	TRY(pthread_clockjoin_np(thread, NULL, CLOCK_BOOTTIME, &past));
	TRY(pthread_timedjoin_np(thread, NULL, &wrong));
	thread = ended();
	TRY(pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &past));
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	TRY(pthread_attr_setstacksize(&attributes, 1));
	TRY(pthread_attr_setstacksize(&attributes, (size_t)1 << 50));
	TRY(pthread_create(&thread, &attributes, end, NULL));
	TRY(sem_init(&s, 0, (unsigned)INT_MAX + 1));
	TRY(pthread_barrier_init(&(pthread_barrier_t){ 0 }, NULL, 0));
	sem_init(&s, 0, SEM_VALUE_MAX);
	TRY(sem_post(&s));
	TRY(nanosleep(nowhere, NULL));
	TRY(nanosleep(NULL, NULL));
	TRY(nanosleep(&wrong, NULL));
	TRY(nanosleep(&before_all, NULL));
	TRY(clock_nanosleep(CLOCK_MONOTONIC, 0, nowhere, NULL));
	TRY(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, NULL, NULL));
	TRY(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL));
	TRY(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &past, NULL));
	TRY(clock_nanosleep(77, 0, &past, NULL));
	TRY(thrd_sleep(&wrong, NULL));
	TRY(poll(nowhere, 1, 0));
	TRY(select(1, nowhere, NULL, NULL, NULL));
	TRY(read(0, nowhere, 0) >= -1);
	TRY(prctl(PR_SET_NAME, nowhere));
	TRY(syscall(-1));
	TRY(syscall(SYS_futex, nowhere, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
	TRY(open(nowhere, O_RDONLY));
	TRY(kill(-1234567, 0));
	TRY(pthread_kill(pthread_self(), 4711));
	TRY(sigqueue(getpid(), 4711, (union sigval){ 0 }));
	TRY(waitid(P_ALL, 0, NULL, 0));
	TRY(waitid(P_PID, 1, NULL, WEXITED | WNOHANG));
	TRY(epoll_wait(0, NULL, 0, 0));
}

/* Owners in other processes, owners that died. */

struct shared {
	pthread_mutex_t plain, robust, robust_pi;
	pthread_cond_t cond;
	pthread_barrier_t barrier;
	pthread_rwlock_t lock;
	sem_t sem, done;
	int value;
};

static struct shared *shared;

static void init_shared(void)
{
	pthread_condattr_t cond;
	pthread_barrierattr_t barrier;
	pthread_rwlockattr_t lock;
	shared = mmap(
		NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(shared != MAP_FAILED, "mmap");
	init_mutex(&shared->plain, PTHREAD_MUTEX_NORMAL, 0, 0, 1);
	init_mutex(&shared->robust, PTHREAD_MUTEX_ERRORCHECK, 1, 0, 1);
	init_mutex(&shared->robust_pi, PTHREAD_MUTEX_RECURSIVE, 1, PTHREAD_PRIO_INHERIT, 1);
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, 1);
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	pthread_cond_init(&shared->cond, &cond);
	pthread_barrierattr_init(&barrier);
	pthread_barrierattr_setpshared(&barrier, 1);
	pthread_barrier_init(&shared->barrier, &barrier, 2);
	pthread_rwlockattr_init(&lock);
	pthread_rwlockattr_setpshared(&lock, 1);
	pthread_rwlockattr_setkind_np(&lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&shared->lock, &lock);
	sem_init(&shared->sem, 1, 0);
	sem_init(&shared->done, 1, 0);
}

static void child(void)
{
	int last = pthread_barrier_wait(&shared->barrier);
	(void)last; /* either */
	pthread_mutex_lock(&shared->plain);
	while (shared->value == 0)
		pthread_cond_wait(&shared->cond, &shared->plain);
	pthread_mutex_unlock(&shared->plain);
	pthread_rwlock_rdlock(&shared->lock);
	pthread_rwlock_unlock(&shared->lock);
	sem_wait(&shared->sem);
	pthread_mutex_lock(&shared->robust);
	pthread_mutex_lock(&shared->robust_pi);
	pthread_mutex_lock(&shared->robust_pi);
	sem_post(&shared->done);
	for (;;)
		pause();
}

static void test_processes(void)
{
	int status = -1;
	printf("-- processes\n");
	init_shared();
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		child();
	int last = pthread_barrier_wait(&shared->barrier);
	printf("barrier: %d\n", last == 0 || last == PTHREAD_BARRIER_SERIAL_THREAD);
	TRY(pthread_mutex_lock(&shared->plain));
	shared->value = 1;
	TRY(pthread_cond_broadcast(&shared->cond));
	TRY(pthread_mutex_unlock(&shared->plain));
	TRY(pthread_rwlock_wrlock(&shared->lock));
	TRY(pthread_rwlock_unlock(&shared->lock));
	TRY(sem_post(&shared->sem));
	TRY(sem_wait(&shared->done));
	TRY(pthread_mutex_trylock(&shared->robust));
	TRY(pthread_mutex_timedlock(&shared->robust, &past));
	TRY(pthread_mutex_trylock(&shared->robust_pi));
	TRY(kill(pid, SIGKILL));
	TRY(waitpid(pid, &status, 0) == pid);
	TRY(pthread_mutex_trylock(&shared->robust));
	TRY(pthread_mutex_consistent(&shared->robust));
	TRY(pthread_mutex_lock(&shared->robust));
	TRY(pthread_mutex_unlock(&shared->robust));
	TRY(pthread_mutex_unlock(&shared->robust));
	TRY(pthread_mutex_lock(&shared->robust_pi));
	TRY(pthread_mutex_unlock(&shared->robust_pi));
	TRY(pthread_mutex_lock(&shared->robust_pi));
	TRY(pthread_mutex_trylock(&shared->robust_pi));
	TRY(pthread_mutex_timedlock(&shared->robust_pi, &past));
}

/* One who dies with it, and others who then get it by each call. */

static void *take(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static pthread_cond_t no_one = PTHREAD_COND_INITIALIZER;

static void *wait_and_take(void *mutex)
{
	struct timespec soon;
	pthread_mutex_lock(mutex);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec = soon.tv_nsec < 900000000 ? soon.tv_nsec + 10000000 : soon.tv_nsec;
	TRY(pthread_cond_timedwait(&no_one, mutex, &soon));
	TRY(pthread_mutex_unlock(mutex));
	return NULL;
}

static void test_dead_owners(int protocol)
{
	pthread_mutex_t m;
	printf("-- dead owners, %s\n", protocol == PTHREAD_PRIO_INHERIT ? "inheriting" : "plain");
	init_mutex(&m, PTHREAD_MUTEX_NORMAL, 1, protocol, 0);
	run(take, &m);
	TRY(pthread_mutex_trylock(&m));
	TRY(pthread_mutex_consistent(&m));
	TRY(pthread_mutex_unlock(&m));
	run(take, &m);
	TRY(pthread_mutex_timedlock(&m, &past));
	TRY(pthread_mutex_consistent(&m));
	TRY(pthread_mutex_unlock(&m));
	run(take, &m);
	TRY(pthread_mutex_clocklock(&m, CLOCK_REALTIME, &past));
	TRY(pthread_mutex_consistent(&m));
	TRY(pthread_mutex_unlock(&m));
	run(wait_and_take, &m);
	run(take, &m);
	run(wait_and_take, &m);
	TRY(pthread_mutex_lock(&m));
	TRY(pthread_mutex_trylock(&m));
	TRY(pthread_mutex_destroy(&m));
}

static void *contend(void *mutex)
{
	TRY(pthread_mutex_trylock(mutex));
	TRY(pthread_mutex_timedlock(mutex, &past));
	TRY(pthread_mutex_unlock(mutex) == 0 ? 0 : 1);
	return NULL;
}

static void test_kinds(void)
{
	static const struct {
		const char *name;
		int type, protocol;
	} kinds[] = {
		{ "inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT },
		{ "inheriting, error checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT },
		{ "inheriting, recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT },
		{ "adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, 0 },
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		pthread_mutex_t m;
		printf("-- %s\n", kinds[i].name);
		init_mutex(&m, kinds[i].type, 0, kinds[i].protocol, 0);
		TRY(pthread_mutex_lock(&m));
		TRY(pthread_mutex_trylock(&m));
		if (kinds[i].type != PTHREAD_MUTEX_ADAPTIVE_NP)
			TRY(pthread_mutex_timedlock(&m, &past));
		if (kinds[i].type == PTHREAD_MUTEX_ERRORCHECK ||
			kinds[i].protocol == PTHREAD_PRIO_INHERIT) {
			pthread_t thread;
			check(pthread_create(&thread, NULL, contend, &m) == 0, "create");
			check(pthread_join(thread, NULL) == 0, "join");
		}
		for (int j = 0; j < 4; j++)
			TRY(pthread_mutex_unlock(&m));
	}
}

/* Signals come while the main thread is in a call. */

static atomic_int handled;
static int main_tid;

static void handle(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

static void *interrupt(void *thread)
{
	hold_asleep(main_tid);
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

#define INTERRUPTED(call)                                                                          \
	do {                                                                                       \
		pthread_t self_ = pthread_self(), other_;                                          \
		check(pthread_create(&other_, NULL, interrupt, &self_) == 0, "create");            \
		TRY(call);                                                                         \
		check(pthread_join(other_, NULL) == 0, "join");                                    \
	} while (0)

static void test_interrupts(void)
{
	struct sigaction action = { .sa_handler = handle };
	struct timespec day = { 86400, 0 }, left = { 0, 0 };
	struct timeval day_too = { 86400, 0 };
	sigset_t none;
	int ends[2], word = 0;
	char byte;
	sem_t s;
	printf("-- interrupts\n");
	sigemptyset(&none);
	sigaction(SIGUSR1, &action, NULL);
	check(pipe(ends) == 0, "pipe");
	struct pollfd polled = { .fd = ends[0], .events = POLLIN };
	int set = epoll_create1(0);
	struct epoll_event event = { 0 };
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), number = eventfd(0, 0);
	main_tid = gettid();
	sem_init(&s, 0, 0);
	INTERRUPTED(sem_wait(&s));
	INTERRUPTED(nanosleep(&day, &left));
	printf("left: %d\n", left.tv_sec > 86000 && left.tv_sec < 86400);
	INTERRUPTED(nanosleep(&day, &day));
	printf("left: %d\n", day.tv_sec > 86000 && day.tv_sec < 86400);
	INTERRUPTED(clock_nanosleep(CLOCK_MONOTONIC, 0, &day, &left));
	INTERRUPTED(thrd_sleep(&day, &left));
	INTERRUPTED(usleep(900000000) < 0);
	INTERRUPTED(sleep(86400) > 86000);
	INTERRUPTED(read(ends[0], &byte, 1));
	INTERRUPTED(read(timer, &(uint64_t){ 0 }, 8));
	INTERRUPTED(read(number, &(uint64_t){ 0 }, 8));
	INTERRUPTED(poll(&polled, 1, -1));
	INTERRUPTED(ppoll(&polled, 1, &day, &none));
	INTERRUPTED(select(0, NULL, NULL, NULL, &day_too));
	INTERRUPTED(pselect(0, NULL, NULL, NULL, &day, &none));
	INTERRUPTED(epoll_wait(set, &event, 1, -1));
	INTERRUPTED(epoll_pwait(set, &event, 1, -1, &none));
	INTERRUPTED(pause());
	INTERRUPTED(sigsuspend(&none));
	INTERRUPTED(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
	TRY(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0));
	TRY(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){ 0, 1 }, NULL, 0));
	TRY(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &action, NULL);
	sem_post(&s);
	TRY(sem_wait(&s));
	printf("handled: %d\n", atomic_load(&handled));
}

/* Between processes. */
static void test_queues(void)
{
	struct sembuf down = { 0, -1, IPC_NOWAIT }, up = { 0, 1, 0 };
	struct {
		long type;
		char text[8];
	} message = { 1, "text" };
	printf("-- queues\n");
	int set = semget(IPC_PRIVATE, 1, 0600), queue = msgget(IPC_PRIVATE, 0600);
	TRY(semop(set, &down, 1));
	TRY(semop(set, &up, 1));
	TRY(semop(set, &down, 1));
	down.sem_flg = 0;
	TRY(semtimedop(set, &down, 1, &(struct timespec){ 0, 1000 }));
	TRY(semctl(set, 0, IPC_RMID));
	TRY(semop(set, &up, 1));
	TRY(msgrcv(queue, &message, 8, 0, IPC_NOWAIT));
	TRY(msgsnd(queue, &message, 8, 0));
	TRY(msgrcv(queue, &message, 2, 0, 0));
	TRY(msgrcv(queue, &message, 8, 0, 0));
	TRY(msgctl(queue, IPC_RMID, NULL));
	TRY(msgsnd(queue, &message, 8, 0));
	int file = open("/dev/null", O_RDONLY);
	TRY(flock(file, LOCK_EX));
	TRY(flock(file, LOCK_UN | LOCK_SH));
	TRY(lockf(-1, F_TLOCK, 0));
	TRY(fsync(file));
	TRY(pread(file, &message, 8, -1));
	TRY(pread(file, &message, 8, 5));
	TRY(pwrite(file, &message, 8, 5));
	close(file);
}

/* Little room: for stacks, and for descriptors. */

static void *use_little(void *mutex)
{
	struct timespec moment = { 0, 1000 };
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(mutex);
		sched_yield();
		pthread_mutex_unlock(mutex);
		nanosleep(&moment, NULL);
	}
	return NULL;
}

static void test_stacks(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_attr_t attributes;
	pthread_t threads[4];
	printf("-- stacks\n");
	pthread_attr_init(&attributes);
	TRY(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN));
	for (int i = 0; i < 4; i++)
		TRY(pthread_create(&threads[i], &attributes, use_little, &m));
	for (int i = 0; i < 4; i++)
		TRY(pthread_join(threads[i], NULL));
}

static void handle_aside(int number)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	(void)number;
	pthread_mutex_trylock(&m);
	pthread_mutex_unlock(&m);
	handle(number);
}

static void test_signal_stack(void)
{
	struct sigaction action = { .sa_handler = handle_aside, .sa_flags = SA_ONSTACK };
	long bytes = sysconf(_SC_MINSIGSTKSZ) + 1024;
	stack_t stack = { .ss_sp = malloc((size_t)bytes), .ss_size = (size_t)bytes };
	printf("-- signal stack\n");
	TRY(sigaltstack(&stack, NULL));
	sigaction(SIGUSR2, &action, NULL);
	for (int i = 0; i < 100; i++)
		pthread_kill(pthread_self(), SIGUSR2);
	printf("handled: %d\n", atomic_load(&handled));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_arguments();
	test_processes();
	test_dead_owners(PTHREAD_PRIO_NONE);
	test_dead_owners(PTHREAD_PRIO_INHERIT);
	test_kinds();
	test_interrupts();
	test_queues();
	test_stacks();
	test_signal_stack();
	return 9;
}
