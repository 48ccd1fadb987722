/* SPDX-License-Identifier: MIT */
/*
 * Sleeping, and input and output that blocks. Of a call that did not block nothing stays in the
 * trace: how long it blocked is its wall time less its thread's CPU time.
 */
#include "real.h"
#include "sink.h"

#include <errno.h>

static uint64_t nanoseconds(const struct timespec *duration)
{
	return (uint64_t)duration->tv_sec * 1000000000u + (uint64_t)duration->tv_nsec;
}

/* A sleeper could go on when its time was over, not when it got a core. */
#define SLEEP(duration_ns)                                                                         \
	WAIT(SINK_SLEEP, NULL);                                                                    \
	wait_.woken_ns = wait_.start_ns + (duration_ns)

EXPORT int nanosleep(const struct timespec *duration, struct timespec *left)
{
	SLEEP(nanoseconds(duration));
	return real()->nanosleep(duration, left);
}

EXPORT int clock_nanosleep(
	clockid_t clock, int flags, const struct timespec *duration, struct timespec *left)
{
	WAIT(SINK_SLEEP, NULL);
	if (!(flags & TIMER_ABSTIME))
		wait_.woken_ns = wait_.start_ns + nanoseconds(duration);
	return real()->clock_nanosleep(clock, flags, duration, left);
}

EXPORT int usleep(useconds_t microseconds)
{
	SLEEP((uint64_t)microseconds * 1000u);
	return real()->usleep(microseconds);
}

EXPORT unsigned sleep(unsigned seconds)
{
	SLEEP((uint64_t)seconds * 1000000000u);
	return real()->sleep(seconds);
}

EXPORT int thrd_sleep(const struct timespec *duration, struct timespec *left)
{
	SLEEP(nanoseconds(duration));
	return real()->thrd_sleep(duration, left);
}

/* What is waited for: a descriptor, or -1. */
#define BLOCKS(result, name, descriptor, parameters, arguments)                                    \
	EXPORT result name parameters                                                              \
	{                                                                                          \
		if (!is_tracing())                                                                 \
			return real()->name arguments;                                             \
		WAIT(SINK_IO, (const void *)(intptr_t)(descriptor));                               \
		return real()->name arguments;                                                     \
	}

BLOCKS(ssize_t, read, fd, (int fd, void *to, size_t bytes), (fd, to, bytes))
BLOCKS(ssize_t, write, fd, (int fd, const void *from, size_t bytes), (fd, from, bytes))
BLOCKS(ssize_t, readv, fd, (int fd, const struct iovec *parts, int count), (fd, parts, count))
BLOCKS(ssize_t, writev, fd, (int fd, const struct iovec *parts, int count), (fd, parts, count))
BLOCKS(ssize_t, recv, fd, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))
BLOCKS(ssize_t, send, fd, (int fd, const void *from, size_t bytes, int flags),
	(fd, from, bytes, flags))
BLOCKS(ssize_t, recvfrom, fd,
	(int fd, void *restrict to, size_t bytes, int flags, __SOCKADDR_ARG from,
		socklen_t *restrict length),
	(fd, to, bytes, flags, from, length))
BLOCKS(ssize_t, sendto, fd,
	(int fd, const void *from, size_t bytes, int flags, __CONST_SOCKADDR_ARG to,
		socklen_t length),
	(fd, from, bytes, flags, to, length))
BLOCKS(ssize_t, recvmsg, fd, (int fd, struct msghdr *message, int flags), (fd, message, flags))
BLOCKS(ssize_t, sendmsg, fd, (int fd, const struct msghdr *message, int flags),
	(fd, message, flags))
BLOCKS(int, accept, fd, (int fd, __SOCKADDR_ARG from, socklen_t *restrict length),
	(fd, from, length))
BLOCKS(int, accept4, fd, (int fd, __SOCKADDR_ARG from, socklen_t *restrict length, int flags),
	(fd, from, length, flags))
BLOCKS(int, connect, fd, (int fd, __CONST_SOCKADDR_ARG to, socklen_t length), (fd, to, length))
BLOCKS(int, poll, -1, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
BLOCKS(int, ppoll, -1,
	(struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
	(fds, count, timeout, mask))
BLOCKS(int, select, -1,
	(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
		struct timeval *restrict timeout),
	(count, in, out, other, timeout))
BLOCKS(int, pselect, -1,
	(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
		const struct timespec *restrict timeout, const sigset_t *restrict mask),
	(count, in, out, other, timeout, mask))
BLOCKS(int, epoll_wait, fd, (int fd, struct epoll_event *events, int count, int timeout),
	(fd, events, count, timeout))
BLOCKS(int, epoll_pwait, fd,
	(int fd, struct epoll_event *events, int count, int timeout, const sigset_t *mask),
	(fd, events, count, timeout, mask))
BLOCKS(int, fsync, fd, (int fd), (fd))
BLOCKS(int, fdatasync, fd, (int fd), (fd))
BLOCKS(pid_t, wait, -1, (int *status), (status))
BLOCKS(pid_t, waitpid, -1, (pid_t pid, int *status, int options), (pid, status, options))
BLOCKS(pid_t, wait4, -1, (pid_t pid, int *status, int options, struct rusage *usage),
	(pid, status, options, usage))
BLOCKS(int, waitid, -1, (idtype_t type, id_t id, siginfo_t *info, int options),
	(type, id, info, options))
BLOCKS(int, pause, -1, (void), ())
BLOCKS(int, sigwait, -1, (const sigset_t *set, int *signal), (set, signal))
BLOCKS(int, sigwaitinfo, -1, (const sigset_t *set, siginfo_t *info), (set, info))
BLOCKS(int, sigtimedwait, -1,
	(const sigset_t *set, siginfo_t *info, const struct timespec *timeout),
	(set, info, timeout))
BLOCKS(int, sigsuspend, -1, (const sigset_t *set), (set))

/* As compilers call them that check the sizes of buffers. */
BLOCKS(ssize_t, __read_chk, fd, (int fd, void *to, size_t bytes, size_t room),
	(fd, to, bytes, room))
BLOCKS(ssize_t, __recv_chk, fd, (int fd, void *to, size_t bytes, size_t room, int flags),
	(fd, to, bytes, room, flags))
BLOCKS(int, __poll_chk, -1, (struct pollfd * fds, nfds_t count, int timeout, size_t room),
	(fds, count, timeout, room))
