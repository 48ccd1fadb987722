/* SPDX-License-Identifier: GPL-3.0-or-later */
/* events CASE: does a known number of things that a recorder must see; prints what only it knows. */
#include "hold.h"

#include <corecast/probe.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	THREADS = 4,
	LOCKS = 1000,
	ROUNDS = 100,
	ONE_BY_ONE = 1000,
	CHILDREN = 20,
	NAMED = 20,
	TURNS = 20000,
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static bool is_set;

static void run_threads(size_t count, void *(*routine)(void *))
{
	pthread_t threads[THREADS];
	for (size_t i = 0; i < count; i++)
		check(pthread_create(&threads[i], NULL, routine, NULL) == 0, "create");
	for (size_t i = 0; i < count; i++)
		check(pthread_join(threads[i], NULL) == 0, "join");
}

static void *lock_often(void *unused)
{
	for (int i = 0; i < LOCKS; i++) {
		check(pthread_mutex_lock(&mutex) == 0, "lock");
		check(pthread_mutex_unlock(&mutex) == 0, "unlock");
	}
	return unused;
}

static void do_locks(void)
{
	run_threads(THREADS, lock_often);
}

/* Functions that lock for others, one in the other; clang would make a function that is called once part of its caller. */
static __attribute__((noinline)) int take(pthread_mutex_t *taken)
{
	int result = pthread_mutex_lock(taken);
	check(result == 0, "lock");
	return result;
}

static __attribute__((noinline)) bool take_all(void)
{
	return take(&mutex) == 0;
}

static __attribute__((noinline)) void give_back(void)
{
	check(pthread_mutex_unlock(&mutex) == 0, "unlock");
}

static void do_wrapped(void)
{
	for (int i = 0; i < LOCKS; i++) {
		check(take_all(), "lock"); /* here */
		give_back();
	}
	for (int i = 0; i < LOCKS; i++) {
		check(take_all(), "lock"); /* and here */
		give_back();
	}
	for (int i = 0; i < LOCKS; i++) {
		check(take(&mutex) == 0, "lock"); /* and here */
		give_back();
	}
	(void)lock_often(NULL);
}

/* What it does last the compiler makes a jump, after which its frame is gone. */
static __attribute__((noinline)) int lock_and_jump(void)
{
	check(pthread_mutex_lock(&mutex) == 0, "lock");
	return pthread_mutex_unlock(&mutex);
}

static void do_jumped(void)
{
	for (int i = 0; i < LOCKS; i++)
		check(lock_and_jump() == 0, "unlock"); /* here */
	for (int i = 0; i < LOCKS; i++)
		check(lock_and_jump() == 0, "unlock"); /* and here */
}

static void do_recursive(void)
{
	pthread_mutex_t own = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	for (int i = 0; i < 3; i++)
		check(pthread_mutex_lock(&own) == 0, "lock");
	for (int i = 0; i < 3; i++)
		check(pthread_mutex_unlock(&own) == 0, "unlock");
}

static void *meet_often(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		(void)pthread_barrier_wait(&barrier); /* fails only for a wrong barrier */
	return unused;
}

static void do_barriers(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	run_threads(THREADS, meet_often);
}

static void *wait_cond(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (!is_set)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void do_cond(void)
{
	pthread_t thread;
	check(pthread_create(&thread, NULL, wait_cond, NULL) == 0, "create");
	sleep_ms(HOLD_MS);
	pthread_mutex_lock(&mutex);
	is_set = true;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

static void *lock_once(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void do_one_by_one(void)
{
	for (int i = 0; i < ONE_BY_ONE; i++)
		run_threads(1, lock_once);
}

static void do_forks(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		check(pid >= 0, "fork");
		if (pid == 0) {
			lock_once(NULL);
			if (i % 2)
				_exit(0);
			exit(0);
		}
	}
	while (wait(NULL) > 0)
		continue;
}

/* Bursts of work with locks, sleeps and preemption in between. */
static void *work(void *unused)
{
	volatile uint64_t sum = 0;
	for (int i = 0; i < 400; i++) {
		for (int j = 0; j < 100000 * (1 + i % 3); j++)
			sum = sum + (uint64_t)j;
		lock_once(NULL);
		if (i % 50 == 0)
			sleep_ms(1);
	}
	return unused;
}

static void tell_cpu_time(void)
{
	struct rusage used;
	/* The kernel brings the figures up to date at ticks, and as the thread leaves its core. */
	sleep_ms(1);
	getrusage(RUSAGE_THREAD, &used);
	int64_t us = (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
		     used.ru_utime.tv_usec + used.ru_stime.tv_usec;
	printf("%d %lld\n", (int)gettid(), (long long)us);
}

static void *work_and_tell(void *unused)
{
	work(unused);
	tell_cpu_time();
	return NULL;
}

static void do_cpu(void)
{
	run_threads(THREADS, work_and_tell);
}

static void *hold_often(void *unused)
{
	volatile uint64_t sum = 0;
	for (int i = 0; i < 2 * ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		for (int j = 0; j < 100000; j++)
			sum = sum + (uint64_t)j;
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

/* As much work, but none of it in the lock. */
static void *hold_briefly(void *unused)
{
	volatile uint64_t sum = 0;
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < 1000000; j++)
			sum = sum + (uint64_t)j;
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void run_on_one_core(unsigned count, void *(*routine)(void *))
{
	cpu_set_t first;
	CPU_ZERO(&first);
	CPU_SET(sched_getcpu(), &first);
	check(sched_setaffinity(0, sizeof first, &first) == 0, "affinity");
	run_threads(count, routine);
}

/* Who gives the lock back lets others go, who want its core. */
static void do_one_core(void)
{
	run_on_one_core(THREADS, hold_often);
}

static void do_brief(void)
{
	run_on_one_core(THREADS, hold_briefly);
}

static sem_t turns[2];
static int players;

/* Each waits for the other at each turn. */
static void *take_turns(void *unused)
{
	int me = __atomic_fetch_add(&players, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < TURNS; i++) {
		check(sem_wait(&turns[me]) == 0, "wait");
		check(sem_post(&turns[1 - me]) == 0, "post");
	}
	tell_cpu_time();
	return unused;
}

static void do_turns(void)
{
	check(sem_init(&turns[0], 0, 1) == 0 && sem_init(&turns[1], 0, 0) == 0, "init");
	run_threads(2, take_turns);
}

static int inboxes[2][2];

static uint64_t clock_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void work_shortly(void)
{
	uint64_t until_ns = clock_now_ns() + 5000;
	while (clock_now_ns() < until_ns)
		continue;
}

/* The same by pipes, on one core: a poll lasts as long as the other's turn. */
static void *poll_in_turns(void *unused)
{
	int me = __atomic_fetch_add(&players, 1, __ATOMIC_RELAXED);
	char byte = 0;
	for (int i = 0; i < TURNS; i++) {
		struct pollfd inbox = { .fd = inboxes[me][0], .events = POLLIN };
		check(poll(&inbox, 1, -1) == 1 && read(inbox.fd, &byte, 1) == 1, "poll");
		work_shortly();
		check(write(inboxes[1 - me][1], &byte, 1) == 1, "write");
	}
	return unused;
}

static void do_polls(void)
{
	check(pipe(inboxes[0]) == 0 && pipe(inboxes[1]) == 0, "pipe");
	check(write(inboxes[0][1], "x", 1) == 1, "write");
	run_on_one_core(2, poll_in_turns);
}

static int ends[2];

static void *write_late(void *unused)
{
	sleep_ms(HOLD_MS);
	check(write(ends[1], "x", 1) == 1, "write");
	return unused;
}

/* One read blocks; the others, of a file that gives at once, do not. */
static void do_io(void)
{
	pthread_t thread;
	char byte;
	FILE *zero = fopen("/dev/zero", "re");
	check(zero && pipe(ends) == 0, "pipe");
	check(pthread_create(&thread, NULL, write_late, NULL) == 0, "create");
	check(read(ends[0], &byte, 1) == 1, "read");
	for (int i = 0; i < LOCKS; i++)
		check(read(fileno(zero), &byte, 1) == 1, "read");
	pthread_join(thread, NULL);
	fclose(zero);
}

static int pair[2];

static void *answer(void *unused)
{
	char bytes[8];
	check(read(pair[1], bytes, 8) == 8 && write(pair[1], bytes, 4) == 4, "answer");
	return unused;
}

static void do_pair(void)
{
	pthread_t thread;
	char bytes[8] = { 0 };
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	check(pthread_create(&thread, NULL, answer, NULL) == 0, "create");
	check(write(pair[0], bytes, 8) == 8 && read(pair[0], bytes, 4) == 4, "ask");
	pthread_join(thread, NULL);
}

/* Calls that block until another thread lets them go. */

static int blocked_tid, queue, counter, sockets[2];
static FILE *files[2];
static pid_t child;

static struct sembuf step(short by)
{
	return (struct sembuf){ .sem_op = by };
}

static void unlock_file(void)
{
	check(flock(fileno(files[1]), LOCK_UN) == 0, "unlock");
}

static void wait_for_file(void)
{
	check(flock(fileno(files[0]), LOCK_EX) == 0, "flock");
}

static void end_child(void)
{
	check(kill(child, SIGKILL) == 0, "kill");
}

static void wait_for_child(void)
{
	check(wait3(NULL, 0, NULL) == child, "wait3");
}

static void send_to_queue(void)
{
	long type = 1;
	check(msgsnd(queue, &type, 0, 0) == 0, "msgsnd");
}

static void wait_for_queue(void)
{
	long type;
	check(msgrcv(queue, &type, 0, 0, 0) == 0, "msgrcv");
}

static void count_up(void)
{
	struct sembuf up = step(1);
	check(semop(counter, &up, 1) == 0, "semop");
}

static void wait_for_count(void)
{
	struct sembuf down = step(-1);
	check(semop(counter, &down, 1) == 0, "semop");
}

static void send_packet(void)
{
	check(send(sockets[1], "x", 1, 0) == 1, "send");
}

static void wait_for_packet(void)
{
	char byte;
	struct iovec part = { &byte, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };
	check(recvmmsg(sockets[0], &message, 1, 0, NULL) == 1, "recvmmsg");
}

static void *let_go_late(void *let_go)
{
	hold_asleep(blocked_tid);
	(*(void (**)(void))let_go)();
	return NULL;
}

static void do_blocked(void)
{
	static void (*const waits[])(void) = { wait_for_file, wait_for_child, wait_for_queue,
		wait_for_count, wait_for_packet };
	static void (*wakes[])(
		void) = { unlock_file, end_child, send_to_queue, count_up, send_packet };
	for (int i = 0; i < 2; i++)
		check((files[i] = fopen("/proc/self/exe", "re")) != NULL, "open");
	check(flock(fileno(files[1]), LOCK_EX) == 0, "flock");
	queue = msgget(IPC_PRIVATE, 0600);
	counter = semget(IPC_PRIVATE, 1, 0600);
	check(queue >= 0 && counter >= 0, "msgget, semget");
	check(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0, "socketpair");
	child = fork();
	if (child == 0)
		for (;;)
			sleep_ms(1000);
	blocked_tid = (int)syscall(SYS_gettid);
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		pthread_t thread;
		check(pthread_create(&thread, NULL, let_go_late, &wakes[i]) == 0, "create");
		waits[i]();
		pthread_join(thread, NULL);
	}
	check(msgctl(queue, IPC_RMID, NULL) == 0 && semctl(counter, 0, IPC_RMID) == 0, "remove");
}

static atomic_int signalled_tid;

static void *wait_for_signal(void *unused)
{
	sigset_t set;
	int signal;
	atomic_store(&signalled_tid, (int)syscall(SYS_gettid));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	check(sigwait(&set, &signal) == 0, "sigwait");
	return unused;
}

static void do_signal(void)
{
	pthread_t thread;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	check(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "mask");
	check(pthread_create(&thread, NULL, wait_for_signal, NULL) == 0, "create");
	while (!atomic_load(&signalled_tid))
		sleep_ms(1);
	hold_asleep(atomic_load(&signalled_tid));
	check(pthread_kill(thread, SIGUSR1) == 0, "kill");
	pthread_join(thread, NULL);
}

static void note_child(int signal)
{
	(void)signal;
}

/* A child's end ends a wait for input that never comes. */
static void do_interrupted(void)
{
	sigset_t set, open;
	struct sigaction action = { .sa_handler = note_child };
	fd_set in;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	check(sigprocmask(SIG_BLOCK, &set, &open) == 0 && sigaction(SIGCHLD, &action, NULL) == 0,
		"mask");
	check(pipe(ends) == 0, "pipe");
	child = fork();
	if (child == 0) {
		sleep_ms(HOLD_MS);
		_exit(0);
	}
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	check(pselect(ends[0] + 1, &in, NULL, NULL, NULL, &open) < 0 && errno == EINTR, "pselect");
	check(waitpid(child, NULL, 0) == child, "waitpid");
}

/* Locks with calls between them that do not block; prints the least time from the first to the last. */
static void do_io_between_locks(void)
{
	char byte;
	FILE *zero = fopen("/dev/zero", "re");
	check(zero != NULL, "open");
	uint64_t first_ns = 0, last_ns = 0;
	for (int i = 0; i < LOCKS; i++) {
		last_ns = clock_now_ns();
		pthread_mutex_lock(&mutex);
		if (i == 0)
			first_ns = clock_now_ns();
		pthread_mutex_unlock(&mutex);
		for (int k = 0; k < 10; k++)
			(void)clock_now_ns();
		check(read(fileno(zero), &byte, 1) == 1, "read");
	}
	fclose(zero);
	printf("%llu\n", (unsigned long long)(last_ns - first_ns));
}

static void do_marks(void)
{
	corecast_region_begin("outer");
	corecast_region_begin("inner");
	corecast_tick(7);
	corecast_region_end("inner");
	corecast_region_end("outer");
	corecast_request_begin(42);
	corecast_request_end(42);
	check(pthread_setname_np(pthread_self(), "marker") == 0, "setname");
}

/* By their creator, before or after they begin to run; they need its lock. */
static void do_names(void)
{
	pthread_t threads[NAMED];
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < NAMED; i++) {
		char name[16];
		snprintf(name, sizeof name, "worker-%d", i);
		check(pthread_create(&threads[i], NULL, lock_once, NULL) == 0, "create");
		check(pthread_setname_np(threads[i], name) == 0, "setname");
	}
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < NAMED; i++)
		pthread_join(threads[i], NULL);
}

static void do_kill(void)
{
	do_locks();
	(void)raise(SIGKILL); /* does not return */
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "locks", do_locks },
	{ "wrapped", do_wrapped },
	{ "jumped", do_jumped },
	{ "io_between_locks", do_io_between_locks },
	{ "recursive", do_recursive },
	{ "barriers", do_barriers },
	{ "cond", do_cond },
	{ "one_by_one", do_one_by_one },
	{ "forks", do_forks },
	{ "cpu", do_cpu },
	{ "one_core", do_one_core },
	{ "brief", do_brief },
	{ "turns", do_turns },
	{ "polls", do_polls },
	{ "io", do_io },
	{ "pair", do_pair },
	{ "blocked", do_blocked },
	{ "signal", do_signal },
	{ "interrupted", do_interrupted },
	{ "marks", do_marks },
	{ "names", do_names },
	{ "kill", do_kill },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	return 2;
}
