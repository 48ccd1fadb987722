/* SPDX-License-Identifier: MIT */
/*
 * The definitions behind ours: what the program would have called. They are looked up when the
 * library is loaded, or by the first call when another library's constructor comes before ours.
 */
#ifndef PRELOAD_REAL_H
#define PRELOAD_REAL_H

#include "profiled.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* The C library's own, which no header shows. */
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);
char *__fgets_chk(char *to, size_t room, int size, FILE *stream);
size_t __fread_chk(
	void *restrict to, size_t room, size_t size, size_t count, FILE *restrict stream);
int __uflow(FILE *stream);
int _IO_getc(FILE *stream);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

/*
 * X(function). Those whose lookup may fail come last: real_resolve() says why. Functions that only newer C libraries have
 * may stay NULL: nobody calls them then.
 */
#define REAL_FUNCTIONS(X)                                                                          \
	X(syscall)                                                                                 \
	X(sigaction)                                                                               \
	X(signal)                                                                                  \
	X(__sysv_signal)                                                                           \
	X(pthread_mutex_lock)                                                                      \
	X(pthread_mutex_trylock)                                                                   \
	X(pthread_mutex_unlock)                                                                    \
	X(pthread_mutex_timedlock)                                                                 \
	X(pthread_rwlock_rdlock)                                                                   \
	X(pthread_rwlock_wrlock)                                                                   \
	X(pthread_rwlock_tryrdlock)                                                                \
	X(pthread_rwlock_trywrlock)                                                                \
	X(pthread_rwlock_timedrdlock)                                                              \
	X(pthread_rwlock_timedwrlock)                                                              \
	X(pthread_spin_lock)                                                                       \
	X(pthread_spin_trylock)                                                                    \
	X(pthread_barrier_wait)                                                                    \
	X(pthread_join)                                                                            \
	X(pthread_tryjoin_np)                                                                      \
	X(pthread_timedjoin_np)                                                                    \
	X(sem_wait)                                                                                \
	X(sem_trywait)                                                                             \
	X(sem_timedwait)                                                                           \
	X(mtx_lock)                                                                                \
	X(mtx_trylock)                                                                             \
	X(mtx_timedlock)                                                                           \
	X(cnd_wait)                                                                                \
	X(cnd_timedwait)                                                                           \
	X(thrd_join)                                                                               \
	X(pthread_rwlock_unlock)                                                                   \
	X(pthread_spin_unlock)                                                                     \
	X(pthread_create)                                                                          \
	X(pthread_mutex_init)                                                                      \
	X(pthread_rwlock_init)                                                                     \
	X(pthread_spin_init)                                                                       \
	X(pthread_barrier_init)                                                                    \
	X(sem_init)                                                                                \
	X(mtx_init)                                                                                \
	X(cnd_init)                                                                                \
	X(pthread_setname_np)                                                                      \
	X(sem_post)                                                                                \
	X(mtx_unlock)                                                                              \
	X(cnd_signal)                                                                              \
	X(cnd_broadcast)                                                                           \
	X(thrd_create)                                                                             \
	X(prctl)                                                                                   \
	X(sched_yield)                                                                             \
	X(nanosleep)                                                                               \
	X(clock_nanosleep)                                                                         \
	X(usleep)                                                                                  \
	X(sleep)                                                                                   \
	X(thrd_sleep)                                                                              \
	X(_exit)                                                                                   \
	X(_Exit)                                                                                   \
	X(read)                                                                                    \
	X(write)                                                                                   \
	X(readv)                                                                                   \
	X(writev)                                                                                  \
	X(recv)                                                                                    \
	X(send)                                                                                    \
	X(recvfrom)                                                                                \
	X(sendto)                                                                                  \
	X(recvmsg)                                                                                 \
	X(sendmsg)                                                                                 \
	X(accept)                                                                                  \
	X(accept4)                                                                                 \
	X(socketpair)                                                                              \
	X(shutdown)                                                                                \
	X(connect)                                                                                 \
	X(close)                                                                                   \
	X(open)                                                                                    \
	X(open64)                                                                                  \
	X(openat)                                                                                  \
	X(openat64)                                                                                \
	X(__open_2)                                                                                \
	X(__open64_2)                                                                              \
	X(__openat_2)                                                                              \
	X(__openat64_2)                                                                            \
	X(creat)                                                                                   \
	X(creat64)                                                                                 \
	X(dlclose)                                                                                 \
	X(poll)                                                                                    \
	X(ppoll)                                                                                   \
	X(select)                                                                                  \
	X(pselect)                                                                                 \
	X(epoll_wait)                                                                              \
	X(epoll_pwait)                                                                             \
	X(fsync)                                                                                   \
	X(fdatasync)                                                                               \
	X(pread)                                                                                   \
	X(pread64)                                                                                 \
	X(pwrite)                                                                                  \
	X(pwrite64)                                                                                \
	X(preadv)                                                                                  \
	X(preadv64)                                                                                \
	X(pwritev)                                                                                 \
	X(pwritev64)                                                                               \
	X(sendfile)                                                                                \
	X(sendfile64)                                                                              \
	X(recvmmsg)                                                                                \
	X(sendmmsg)                                                                                \
	X(flock)                                                                                   \
	X(lockf)                                                                                   \
	X(lockf64)                                                                                 \
	X(semop)                                                                                   \
	X(semtimedop)                                                                              \
	X(msgsnd)                                                                                  \
	X(msgrcv)                                                                                  \
	X(wait)                                                                                    \
	X(waitpid)                                                                                 \
	X(wait3)                                                                                   \
	X(wait4)                                                                                   \
	X(waitid)                                                                                  \
	X(pause)                                                                                   \
	X(sigwait)                                                                                 \
	X(sigwaitinfo)                                                                             \
	X(sigtimedwait)                                                                            \
	X(sigsuspend)                                                                              \
	X(kill)                                                                                    \
	X(sigqueue)                                                                                \
	X(pthread_kill)                                                                            \
	X(pthread_sigqueue)                                                                        \
	X(fgets)                                                                                   \
	X(fgets_unlocked)                                                                          \
	X(getline)                                                                                 \
	X(getdelim)                                                                                \
	X(__getdelim)                                                                              \
	X(fread)                                                                                   \
	X(fread_unlocked)                                                                          \
	X(fgetc)                                                                                   \
	X(getc)                                                                                    \
	X(_IO_getc)                                                                                \
	X(fgetc_unlocked)                                                                          \
	X(getc_unlocked)                                                                           \
	X(__uflow)                                                                                 \
	X(fclose)                                                                                  \
	X(__fgets_chk)                                                                             \
	X(__fread_chk)                                                                             \
	X(__read_chk)                                                                              \
	X(__recv_chk)                                                                              \
	X(__poll_chk)                                                                              \
	X(pthread_cond_wait)                                                                       \
	X(pthread_cond_timedwait)                                                                  \
	X(pthread_cond_signal)                                                                     \
	X(pthread_cond_broadcast)                                                                  \
	X(pthread_cond_init)                                                                       \
	X(pthread_mutex_clocklock)                                                                 \
	X(pthread_rwlock_clockrdlock)                                                              \
	X(pthread_rwlock_clockwrlock)                                                              \
	X(pthread_clockjoin_np)                                                                    \
	X(sem_clockwait)                                                                           \
	X(pthread_cond_clockwait)

struct real {
#define REAL_MEMBER(name) __typeof__(name) *name;
	REAL_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
	bool is_whole;
};

/* Filled once; a thread that reads it before it is whole fills it, too, with the same values. */
extern struct real real_functions;

void real_resolve(void);

static inline const struct real *real(void)
{
	if (__builtin_expect(!__atomic_load_n(&real_functions.is_whole, __ATOMIC_ACQUIRE), 0))
		real_resolve();
	return &real_functions;
}

/* Whether the C library waits by that clock. Else it refuses the call though it need not wait: it is not to be tried. */
static inline bool is_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* The same of the whole deadline, at which those for mutexes and joins look only when they wait. */
static inline bool is_deadline(clockid_t clock, const struct timespec *deadline)
{
	return is_clock(clock) && deadline && deadline->tv_nsec >= 0 &&
	       deadline->tv_nsec < 1000000000;
}

/*
 * Files of this library's own: as the C library's open() and close(), but no thread is cancelled in them, since the
 * program may be in a call that is no cancellation point. -1: it failed, see errno.
 */
static inline int own_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
}

static inline void own_close(int fd)
{
	(void)syscall(SYS_close, fd); /* what was written was checked */
}

/* For a function that is tried: what it executes is not the program's work. acquired() follows, or a wait. */
static inline const struct real *trial(void)
{
	profiled_pause();
	return real();
}

#endif
