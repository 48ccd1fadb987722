/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What errno is after each of the calls that the preload library stands before: after those that succeed, what it
 * was before, and after those that fail, why. With and without the library the text is the same.
 */
#include "hold.h"
#include "try_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t mutex;
static pthread_rwlock_t lock;
static pthread_spinlock_t spin;
static pthread_cond_t cond;
static pthread_barrier_t barrier;
static sem_t sem;
static mtx_t mtx;
static cnd_t cnd;
static atomic_int tid; /* of a thread that ends */
static const struct timespec past = { 1, 0 }, wrong = { 0, -1 };

static void *end(void *unused)
{
	atomic_store(&tid, gettid());
	return unused;
}

static int end_c11(void *unused)
{
	(void)unused;
	return 3;
}

static void *post(void *unused)
{
	sleep_ms(10);
	sem_post(&sem);
	return unused;
}

static void *try_taken(void *unused)
{
	TRY(pthread_mutex_trylock(&mutex));
	TRY(pthread_mutex_timedlock(&mutex, &past));
	TRY(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past));
	TRY(pthread_rwlock_tryrdlock(&lock));
	TRY(pthread_rwlock_trywrlock(&lock));
	TRY(pthread_rwlock_timedrdlock(&lock, &past));
	TRY(pthread_rwlock_timedwrlock(&lock, &past));
	TRY(pthread_spin_trylock(&spin));
	for (int i = 0; i < 100; i++) /* a loop of tries is a wait */
		(void)pthread_spin_trylock(&spin);
	TRY(pthread_spin_trylock(&spin));
	TRY(mtx_trylock(&mtx));
	TRY(mtx_timedlock(&mtx, &past));
	return unused;
}

static void test_locks(void)
{
	pthread_t thread;
	TRY(pthread_mutex_init(&mutex, NULL));
	TRY(pthread_rwlock_init(&lock, NULL));
	TRY(pthread_spin_init(&spin, 0));
	TRY(mtx_init(&mtx, mtx_timed));
	TRY(pthread_mutex_lock(&mutex));
	TRY(pthread_rwlock_wrlock(&lock));
	TRY(pthread_spin_lock(&spin));
	TRY(mtx_lock(&mtx));
	check(pthread_create(&thread, NULL, try_taken, NULL) == 0, "create");
	TRY(pthread_join(thread, NULL));
	TRY(pthread_mutex_unlock(&mutex));
	TRY(pthread_rwlock_unlock(&lock));
	TRY(pthread_spin_unlock(&spin));
	TRY(mtx_unlock(&mtx));
	TRY(pthread_rwlock_rdlock(&lock));
	TRY(pthread_rwlock_tryrdlock(&lock));
	TRY(pthread_rwlock_unlock(&lock));
	TRY(pthread_rwlock_unlock(&lock));
	TRY(pthread_mutex_trylock(&mutex));
	TRY(pthread_mutex_unlock(&mutex));
}

static void test_signals_between_threads(void)
{
	pthread_t thread;
	thrd_t c11;
	TRY(pthread_cond_init(&cond, NULL));
	TRY(pthread_barrier_init(&barrier, NULL, 1));
	TRY(sem_init(&sem, 0, 1));
	TRY(cnd_init(&cnd));
	TRY(pthread_cond_signal(&cond));
	TRY(pthread_cond_broadcast(&cond));
	TRY(cnd_signal(&cnd));
	TRY(cnd_broadcast(&cnd));
	pthread_mutex_lock(&mutex);
	TRY(pthread_cond_timedwait(&cond, &mutex, &past));
	TRY(pthread_cond_timedwait(&cond, &mutex, &wrong));
	TRY(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past));
	pthread_mutex_unlock(&mutex);
	TRY(pthread_barrier_wait(&barrier));
	TRY(sem_wait(&sem));
	TRY(sem_trywait(&sem));
	TRY(sem_timedwait(&sem, &past));
	TRY(sem_timedwait(&sem, &wrong));
	TRY(sem_clockwait(&sem, CLOCK_MONOTONIC, &past));
	TRY(sem_post(&sem));
	TRY(sem_trywait(&sem));
	TRY(pthread_create(&thread, NULL, post, NULL));
	TRY(sem_wait(&sem));
	TRY(pthread_setname_np(pthread_self(), "a name that is too long"));
	TRY(pthread_setname_np(pthread_self(), "named"));
	TRY(pthread_join(thread, NULL));
	TRY(pthread_create(&thread, NULL, end, NULL));
	while (atomic_load(&tid) == 0 || !has_ended(atomic_load(&tid)))
		sleep_ms(1);
	TRY(pthread_tryjoin_np(thread, NULL));
	TRY(pthread_timedjoin_np(pthread_self(), NULL, &past));
	TRY(thrd_create(&c11, end_c11, NULL));
	TRY(thrd_join(c11, NULL));
	TRY(prctl(PR_SET_NAME, "main"));
	TRY(prctl(-1));
	TRY(pthread_kill(pthread_self(), 0));
	TRY(pthread_kill(pthread_self(), -1));
	TRY(kill(getpid(), 0));
	TRY(kill(getpid(), -1));
}

static void test_files(void)
{
	char bytes[8] = "12345678";
	struct iovec part = { bytes, sizeof bytes };
	struct pollfd polled = { .fd = -1 };
	struct timeval at_once = { 0, 0 };
	struct epoll_event event;
	int ends[2], sockets[2];
	check(pipe2(ends, O_NONBLOCK) == 0, "pipe");
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) == 0, "socketpair");
	TRY(read(ends[0], bytes, sizeof bytes));
	TRY(write(ends[1], bytes, sizeof bytes));
	TRY(read(ends[0], bytes, sizeof bytes));
	TRY(read(-1, bytes, sizeof bytes));
	TRY(write(-1, bytes, sizeof bytes));
	TRY(readv(ends[0], &part, 1));
	TRY(writev(ends[1], &part, 1));
	TRY(recv(sockets[0], bytes, sizeof bytes, 0));
	TRY(send(sockets[1], bytes, sizeof bytes, 0));
	TRY(recvfrom(sockets[0], bytes, sizeof bytes, 0, NULL, NULL));
	TRY(sendto(sockets[1], bytes, sizeof bytes, 0, NULL, 0));
	TRY(accept(sockets[0], NULL, NULL));
	TRY(connect(sockets[0], NULL, 0));
	TRY(open("/dev/null", O_RDONLY) > 0);
	TRY(open("/no/such/file", O_RDONLY));
	TRY(open("/dev/null/file", O_RDWR | O_CREAT, 0600));
	TRY(openat(AT_FDCWD, "/dev/null", O_RDONLY) > 0);
	TRY(creat("/dev/null/file", 0600));
	TRY(poll(&polled, 1, 0));
	TRY(select(0, NULL, NULL, NULL, &at_once));
	TRY(select(-1, NULL, NULL, NULL, &at_once));
	TRY(epoll_wait(-1, &event, 1, 0));
	TRY(fsync(ends[0]));
	TRY(fdatasync(-1));
	TRY(waitpid(-1, NULL, 0));
	TRY(wait(NULL));
	TRY(nanosleep(&wrong, NULL));
	TRY(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL));
	TRY(usleep(1));
	TRY(sleep(0));
	TRY(close(ends[0]));
	TRY(close(-1));
	TRY(close(ends[0]));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_locks();
	test_signals_between_threads();
	test_files();
	return 8;
}
